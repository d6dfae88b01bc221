"""What is told of probabilistic linkage beside its links: classes and error rates, weights, the patterns that tell most."""

from __future__ import annotations

from dataclasses import dataclass, replace

Three = tuple[float | None, float | None, float | None]
MOST_SHOWN = 5  # patterns at most
OF_A_BAR = 10  # records that stand behind what is public
_TEN = 9.5  # ten, of a share that was rounded to two digits


@dataclass(frozen=True, slots=True)
class Weight:
    """How alike one attribute is (`said`), how probable that is among matches (m) and among all pairs (u).

    bits: log2 m/u, what it adds to the evidence of a match; None where no match is so. In what may be published m is None (and
    bits too, but in a pattern) where fewer than ten matches stand behind it.
    """

    attribute: str
    said: str
    m: float | None
    u: float
    bits: float | None


@dataclass(frozen=True, slots=True)
class PatternEvidence:
    """One pattern, from the odds of a match before a look to those after, in bits: before + its weights + together = after.

    together: what the attributes say jointly beyond their sum, 0 without interactions. match: the probability of a match, as
    the model says. pairs, records: how many pairs show it, of how many records of the intruder.
    """

    before: float
    weights: tuple[Weight, ...]
    together: float
    after: float
    match: float
    pairs: int
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """P(LP|U), the share of pairs that are no matches and are linked, and P(NP|M), that of matches which are not linked."""

    false_links: float | None
    missed: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """Linked, clerical and not linked pairs.

    link_from, drop_to: LT and NLT, weights in bits; None: no pattern is linked, or none is not linked. asked: what the release
    file allows; expected: what the model says that the thresholds give; actual: what they gave.
    matches, others: of the true pairs and of all others the shares that are linked, clerical and not linked; in what may be
        published None for fewer than ten of them.
    precision: the share of the linked pairs that are matches; None where none is linked, or it would tell such a share.
    """

    link_from: float | None
    drop_to: float | None
    asked: Rates
    expected: Rates
    actual: Rates
    matches: Three
    others: Three
    precision: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbableFacts:
    """Of one intruder's attack. None of it is a policy's, but the chance is that of its figures.

    estimate, kept: as in the release file; kept is None where m is not estimated from an assumption.
    n_pairs, n_matches: pairs that were compared; true ones that the intruder expects among them. steps: of the estimation.
    present: the mean over the intruder's records of the sum of r(b): 1 where they know that their rows are in the release.
    claimed: the mean of the largest r(b). squares: the mean of the sum of r(b)^2, the mean posterior at the truth if the model
    were right.
    chance, chance_at_truth: where m is read off who is who, what the same model earns by 20 permuted truths; else None.
    dealt_out: the mean of r(b) at the own rows if the released rows were dealt out anew (`posterior_outcomes.chance_at_truth`).
    weights: every level of every attribute that occurs. classes: None where nobody can say which pairs are true.
    telling: the patterns that tell most, of the declared intruder alone.
    jointly: is r(b) that of all records together, no row for two of them, and not of each record by itself? Then `claimed` is
        the mean of r(b) at the assigned rows.
    """

    estimate: str
    kept: float | str | None
    n_pairs: int
    n_matches: float
    steps: int
    present: float
    claimed: float
    squares: float
    chance: float | None = None
    chance_at_truth: float | None = None
    weights: tuple[Weight, ...] = ()
    classes: Classes | None = None
    telling: tuple[PatternEvidence, ...] = ()
    jointly: bool = False
    dealt_out: float | None = None

    @property
    def public_summary(self) -> ProbableFacts:
        """What may be published: two digits of what is counted on the original, nothing that fewer than ten stand behind.

        The numbers of records and rows are published anyway, and with them n_pairs and n_matches.
        """
        shown = (one for one in self.telling if one.records >= OF_A_BAR)
        return replace(
            self,
            present=_two(self.present),
            claimed=_two(self.claimed),
            squares=_two(self.squares),
            chance=_two_or_none(self.chance),
            chance_at_truth=_two_or_none(self.chance_at_truth),
            dealt_out=_two_or_none(self.dealt_out),
            weights=tuple(self._protect_weight(one) for one in self.weights),
            classes=None if self.classes is None else self._protect_classes(self.classes),
            telling=tuple(_round_evidence(one) for one in shown),
        )

    def _protect_weight(self, one: Weight) -> Weight:
        rounded = _round_weight(one)
        return rounded if self._is_of_ten(rounded.m, self.n_matches) else replace(rounded, m=None, bits=None)

    def _protect_classes(self, one: Classes) -> Classes:
        counts = (self.n_matches, self.n_pairs - self.n_matches)
        false, missed = (
            self._protect_share(one.actual.false_links, counts[1]),
            self._protect_share(one.actual.missed, counts[0]),
        )
        linked = self._protect_share(one.matches[0], counts[0]), self._protect_share(one.others[0], counts[1])
        return Classes(
            link_from=_tenth(one.link_from),
            drop_to=_tenth(one.drop_to),
            asked=one.asked,
            expected=_round_rates(one.expected),
            actual=Rates(false_links=false, missed=missed),
            matches=self._protect_shares(one.matches, counts[0]),
            others=self._protect_shares(one.others, counts[1]),
            precision=_two_or_none(one.precision) if None not in linked else None,
        )

    def _protect_shares(self, shares: Three, of: float) -> Three:
        return self._protect_share(shares[0], of), self._protect_share(shares[1], of), self._protect_share(shares[2], of)

    def _protect_share(self, share: float | None, of: float) -> float | None:
        return _two_or_none(share) if self._is_of_ten(share, of) else None

    def _is_of_ten(self, share: float | None, of: float) -> bool:
        return share is not None and (share == 0 or share * of >= _TEN)


def _round_weight(one: Weight) -> Weight:
    return Weight(one.attribute, one.said, _two_or_none(one.m), _two(one.u), _tenth(one.bits))


def _round_evidence(one: PatternEvidence) -> PatternEvidence:
    return PatternEvidence(
        before=round(one.before, 1),
        weights=tuple(_round_weight(weight) for weight in one.weights),
        together=round(one.together, 1),
        after=round(one.after, 1),
        match=_two(one.match),
        pairs=int(_two(one.pairs)),
        records=int(_two(one.records)),
    )


def _round_rates(one: Rates) -> Rates:
    false, missed = (_two_or_none(rate) for rate in (one.false_links, one.missed))
    return Rates(false_links=false, missed=missed)


def _two_or_none(number: float | None) -> float | None:
    return None if number is None else _two(number)


def _two(number: float) -> float:
    return float(f"{number:.1e}")


def _tenth(bits: float | None) -> float | None:
    return None if bits is None else round(bits, 1)
