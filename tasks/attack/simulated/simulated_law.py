"""The attack by a simulated law: the intruder masks their own copy many times, and learns what the steps do to a record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tasks.attack.base import AttackContext, AttackDescription, AttackFindings, AttackTraits, Files
from tasks.attack.descriptions import DataKnowledge
from tasks.attack.linkage.pair_marginals import MOST_PAIRS_JOINTLY
from tasks.attack.mechanism_attack import MechanismAttack, NameSet, prepare_following, take_known_sample
from tasks.attack.neighbours.record_comparison import Comparison, create_comparison
from tasks.attack.outcomes.bounded import OnlyBounded
from tasks.attack.outcomes.links import Links
from tasks.attack.simulated.column_law import JUDGE
from tasks.attack.simulated.joint_law import JointLaw, learn_joint_law, list_likely_pairs
from tasks.attack.simulated.likely_pairs import EQUAL, LikelyPairs
from tasks.attack.simulated.maskings import Simulation, simulate_maskings
from tasks.mask.methods import Mechanism
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.errors import NotApplicable, NotFollowed
from tasks.microdata.schema import Schema
from tasks.microdata.spec import Public
from tasks.microdata.table import Floats, Integers, Microdata

MOST_PAIRS = 900_000_000  # of a record and a row: 30,000 of each
MOST_EXCHANGED = 20_000  # records of which exchanges are followed
MOST_JUDGED = 8_000  # records of which all show whether following exchanges finds more
PILOT = 2_000  # of more records so many show whether following exchanges would find more
MOST_ROWS_OF_A_RECORD = 600
WANTED_PAIRS = 8_000_000  # that are weighed together; more where many are as likely
NOT_EXCHANGED = (
    f"exchanges tell more than a simulated law that cannot follow them: it needs all of at most {MOST_EXCHANGED:,} records"
)
REMARK = "; the law of all steps together is estimated from simulated maskings (heuristic: no bound is proven)"


class SimulatedLaw(MechanismAttack):
    """Parameters of the attack by a simulated law. id: what it is called in figures and policy lines; default: the method."""

    about = AttackDescription(
        title="Simulated law",
        infers="masks the originals many times by the same steps, learns from that what becomes of a record, and takes the "
        "likeliest row, no row being two records' (heuristic: the likelihood is estimated)",
        note="; answers any chain of steps",
        knows_of_data="the original values of the known attributes, of all records",
        knows_of_masking="the steps and their parameters, not the seed",
        parameters="id",
        holder=None,
        is_worst_case=False,
        has_probabilities=False,
        required_by="nobody",
        required_form="",
    )

    method: Public[Literal["simulated_law"]]

    @property
    def rule(self) -> str:
        return self.about.infers

    @property
    def traits(self) -> AttackTraits:
        return AttackTraits(
            searches_originals=False,
            scale_by=None,
            assigns_together=True,
            depends_on_others=True,
            needs_originals=True,
            uses_external_files=False,
            needs_all_records=None,
            reads_similar_rows=False,
            attacks_synthetic_rows=False,
            is_required_form=True,
            sample_size=None,
        )

    def describe_known_data(self, known: DataKnowledge) -> str:
        return known.describe(own_file=False)

    def list_unfollowed(self, files: Files, *, present: Integers | None, n_records: int) -> NameSet:
        return frozenset()

    def explain_gap(self, mechanisms: tuple[Mechanism, ...], names: tuple[str, ...]) -> str:
        return ""

    def run(self, context: AttackContext) -> AttackFindings:
        how = prepare_following(context)
        present, known = how["present"], take_known_sample(context.files, how["present"])
        if known is None or present is None:
            links = link_by_simulated_law(*context.files, present=present, n_records=how["n_records"])
            return AttackFindings(links, REMARK)
        n = context.truth.original.n
        try:
            links = link_by_simulated_law(*known)
        except OnlyBounded as answer:
            raise replace(answer, links=answer.links.expand_links(present, n)) from None
        return AttackFindings(links.expand_links(present, n), REMARK)


@dataclass(frozen=True, slots=True)
class LearnedRelease:
    """A release, an intruder's records beside it, and the law that they learned. both: distinct records and rows."""

    both: Comparison
    law: JointLaw
    simulation: Simulation


def learn_release(
    original: Microdata,
    masked: Microdata,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    knows: tuple[str, ...],
    *,
    n_masked: int | None = None,
) -> LearnedRelease:
    """Learn the law of the steps by simulated maskings of `original`, for these records and the released rows.

    Meaning: the law is a heuristic estimate. n_masked: as `simulate_maskings`.

    Raises NotApplicable where the intruder knows no attribute, NotFollowed for more than 900,000,000 pairs of a record and a
    row, and as `simulate_maskings`.
    """
    if not knows:
        raise NotApplicable("the intruder knows no published attribute")
    if original.n * masked.n > MOST_PAIRS:
        raise NotFollowed(f"more than {MOST_PAIRS:,} pairs of records and rows are too many for a simulated law")
    both = create_comparison(original, masked, schema, knows, "release")
    simulation = simulate_maskings(original, masked, schema, mechanisms, knows, n_masked=n_masked)
    law = learn_joint_law(simulation, both.own_of_record[simulation.order], both.shown_of_row)
    return LearnedRelease(both, law, simulation)


def link_by_simulated_law(
    original: Microdata,
    masked: Microdata,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    knows: tuple[str, ...],
    *,
    present: Integers | None = None,
    n_records: int | None = None,
) -> Links:
    """Link each record to the row that is most probably its own, by a law learned from simulated maskings.

    Formula in words: P(row | record) is the product over the attributes of a density of the displacement (by value, rank or
    logarithm, whichever tells simulated images apart best) or of a probability, and of a Gaussian copula of the displacements.
    After rank swapping, both sides of an exchange speak for each other (`exchanges`), where this finds more in a simulated
    masking.
    Belief propagation over all records and rows then says how probable each pair is where no row is two records'; ties share.

    present: the records that the intruder knows to be released; the others have no links. n_records: of the source.
    Raises NotFollowed for too many likely pairs, OnlyBounded where exchanges would tell more and are not followed (the intruder
    does not hold all records, or there are too many), and as `learn_release`.
    Cost: O(r c) for r distinct records and c distinct rows.
    Example: two records 0 and 10, noise of standard deviation 1, rows 0.4 and 9.2: each record is linked to the row near it.
    """
    release = learn_release(original, masked, schema, mechanisms, knows)
    both = release.both
    wanted = min(MOST_ROWS_OF_A_RECORD, max(WANTED_PAIRS // max(len(both.own), 1), 1))
    starts, rows, scores = list_likely_pairs(release.law.tables, wanted, MOST_PAIRS_JOINTLY)
    if not len(starts):
        raise NotFollowed(f"more than {MOST_PAIRS_JOINTLY:,} pairs are equally likely: the law tells too few apart")
    counts = np.bincount(both.own_of_record)
    if present is not None:
        counts = np.bincount(both.own_of_record[present], minlength=len(counts))
    n_common = _count_common(original, masked, present, n_records)
    pairs = LikelyPairs(starts, rows, scores, counts, np.bincount(both.shown_of_row), n_common)
    swapped = any(isinstance(step, RankSwapping) for step in mechanisms)
    can_follow = n_records in (None, original.n) and original.n <= MOST_EXCHANGED
    context = (original, masked, schema, mechanisms, knows)
    if swapped and can_follow and _would_find_exchanges(release, *context, certain=present is not None):
        chance = pairs.follow_exchanges(_numbers(both.own), _numbers(both.shown))
    else:
        chance = pairs.compute_chances(pairs.compute_evidence())
    largest = np.maximum.reduceat(np.append(chance, 0.0), starts[:-1]) * (np.diff(starts) > 0)
    owner = np.repeat(np.arange(len(counts)), np.diff(starts))
    chosen = (chance >= largest[owner] * (1 - EQUAL)) & (counts[owner] > 0)
    begins = np.append(0, np.cumsum(np.bincount(owner[chosen], minlength=len(counts))))
    links = Links(both.shown_of_row, both.own_of_record, begins, rows[chosen])
    if present is not None:
        links = replace(links, search_class=both.own_of_record[present]).expand_links(present, original.n)
    if swapped and not can_follow and _would_find_exchanges(release, *context, certain=present is not None):
        raise OnlyBounded(NOT_EXCHANGED, links, remark=REMARK)
    return links


def _count_common(original: Microdata, masked: Microdata, present: Integers | None, n_records: int | None) -> int:
    """How many rows belong to the intruder's records, as far as they can know."""
    if present is not None:
        return min(len(present), masked.n)
    share = original.n / (n_records or original.n)
    return max(min(round(masked.n * share), original.n, masked.n), 1)


def _would_find_exchanges(
    release: LearnedRelease,
    original: Microdata,
    masked: Microdata,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    knows: tuple[str, ...],
    *,
    certain: bool,
) -> bool:
    """Does following exchanges find more, among all records or, of many, some? certain: do they know who is released?"""
    if original.n <= MOST_JUDGED:
        return _finds_exchanges(release, certain=certain)
    some = original.take(release.simulation.order[:: -(-original.n // PILOT)])  # whatever the order of the table
    return _finds_exchanges(learn_release(some, masked, schema, mechanisms, knows), certain=certain)


def _finds_exchanges(release: LearnedRelease, *, certain: bool) -> bool:
    """Does following exchanges find more in a simulated masking, whose truth the intruder knows?"""
    columns, kept = release.simulation.columns, release.simulation.kept[JUDGE]
    starts, rows, scores = list_likely_pairs(release.law.judge, MOST_ROWS_OF_A_RECORD, MOST_PAIRS_JOINTLY)
    if not len(starts):
        return False
    n_rows = int(kept.sum())
    searching = kept if certain else np.ones_like(kept)
    pairs = LikelyPairs(starts, rows, scores, searching.astype(np.int64), np.ones(n_rows, dtype=np.int64), n_rows)
    row = np.where(kept, np.cumsum(kept) - 1, -1)
    own = np.column_stack([one.own for one in columns])
    shown = np.column_stack([one.images[JUDGE, kept] for one in columns])
    followed = pairs.follow_exchanges(_numbers(own), _numbers(shown), rounds=2)
    return pairs.count_hits(followed, row) > pairs.count_hits(pairs.compute_chances(pairs.compute_evidence()), row)


def _numbers(values: Floats) -> Floats:
    """Shape (d, k): by attribute, a missing value below all others."""
    return np.where(np.isnan(values), -1e300, values).T.copy()
