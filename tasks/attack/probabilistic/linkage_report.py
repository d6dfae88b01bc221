"""What the attack says of itself, by who is who: the evaluator's account, of which the intruder sees the estimate alone."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from tasks.attack.probabilistic.estimation import Estimated
from tasks.attack.probabilistic.fellegi_sunter import Interactions, fit_supervised_model
from tasks.attack.probabilistic.levels import Ladders, default_ladder
from tasks.attack.probabilistic.linkage_summary import MOST_SHOWN, Classes, PatternEvidence, ProbableFacts, Rates, Weight
from tasks.attack.probabilistic.match_posterior import compute_pattern_posterior
from tasks.attack.probabilistic.one_to_one_posterior import OneToOnePosterior
from tasks.attack.probabilistic.parameters import ProbabilisticParameters
from tasks.attack.probabilistic.patterns import compute_patterns, records_showing
from tasks.attack.probabilistic.waterfall import Waterfall, riskiest
from tasks.microdata.ground_truth import RecordPairs
from tasks.microdata.randomness import SEED_BYTES, stream
from tasks.microdata.schema import Schema
from tasks.microdata.table import Floats

PERMUTATIONS = 20
_CANDIDATES = 3 * MOST_SHOWN  # patterns, of which some are shown by few records
_FEWEST = 3  # pairs and records of a pattern that the internal edition shows


def summarise_linkage(
    found: Estimated, spec: ProbabilisticParameters, schema: Schema, matches: RecordPairs, *, presence: float, in_full: bool
) -> ProbableFacts:
    """What is told beside the links. presence: as for the distribution. in_full: with the patterns that tell most."""
    both, model = found.both, found.model
    of_class = both.record_counts / len(both.own_of_record)
    present, claimed, squares = (
        float(of_class @ one) for one in (found.distribution.present, found.distribution.largest, found.distribution.squares)
    )
    chances = (
        compute_supervised_chance(found, spec.interactions_of(both.names), matches, presence) if spec.knows_who_is_who else None
    )
    level_names = _words(both.names, schema, spec.compare or ())
    telling = tuple(_telling(found, level_names)) if in_full else ()
    return ProbableFacts(
        estimate=spec.estimate,
        kept=spec.assumed.kept if spec.estimate == "tied" else None,
        n_pairs=found.patterns.n_pairs,
        n_matches=model.prevalence * found.patterns.n_pairs,
        steps=model.steps,
        present=present,
        claimed=claimed,
        squares=squares,
        chance=None if chances is None else chances[0],
        chance_at_truth=None if chances is None else chances[1],
        weights=tuple(_weights(found, level_names)),
        classes=_classes(found, spec, matches) if len(matches.records) else None,
        telling=telling,
        jointly=isinstance(found.distribution, OneToOnePosterior),
    )


def compute_supervised_chance(
    found: Estimated, interactions: Interactions, matches: RecordPairs, presence: float, *, permutations: int = PERMUTATIONS
) -> tuple[float, float]:
    """What m read off who is who earns where nobody's row is their own: mean credit, and mean posterior at the truth.

    Means over all the intruder's records, released or not, and over draws of other rows for those that are. The order of
    neither file counts: equal records stand for each other. Cost: that of `permutations` distributions.
    """
    both, patterns = found.both, found.patterns
    rng = stream(bytes(SEED_BYTES), "permuted truths", str(patterns.n_pairs))
    own = np.sort(both.own_of_record[matches.records])
    one_of_each = tuple(np.unique(side, return_index=True)[1] for side in (both.own_of_record, both.shown_of_row))
    records, everybody = one_of_each[0][own], one_of_each[1][np.sort(both.shown_of_row)]
    credit = at_truth = 0.0
    for _ in range(permutations):
        rows = rng.permutation(everybody)[: len(records)]
        model = fit_supervised_model(patterns, patterns.count_occurrences(compute_patterns(both, records, rows)), interactions)
        shares = compute_pattern_posterior(both, patterns, model.log_ratio, presence=presence)
        credit += math.fsum(shares.links.guesses(records).credit(rows))
        at_truth += math.fsum(shares.compute_probabilities(records, rows))
    n = permutations * len(both.own_of_record)
    return credit / n, at_truth / n


def _classes(found: Estimated, spec: ProbabilisticParameters, true: RecordPairs) -> Classes:
    counts, decision = found.classify_true_pairs(true.records, true.rows), found.decision
    matches, others = (np.array(one) / max(sum(one), 1) for one in (counts.matches, counts.others))
    return Classes(
        link_from=decision.link_from if math.isfinite(decision.link_from) else None,
        drop_to=decision.drop_to if math.isfinite(decision.drop_to) else None,
        asked=Rates(false_links=spec.false_links_of(found.model.prevalence), missed=spec.missed),
        expected=Rates(false_links=decision.false_links, missed=decision.missed),
        actual=Rates(false_links=counts.false_links, missed=counts.miss_rate),
        matches=_three(matches),
        others=_three(others),
        precision=counts.precision,
    )


def _three(shares: Floats) -> tuple[float, float, float]:
    return float(shares[0]), float(shares[1]), float(shares[2])


def _words(names: tuple[str, ...], schema: Schema, ladders: Ladders | tuple[()]) -> dict[tuple[str, int], str]:
    """What each level of each attribute says, from the most alike down to 0."""
    given = dict(ladders)
    level_names = {(name, 0): "not alike" for name in names}
    for name in names:
        ladder = given.get(name) or default_ladder(schema[name])
        level_names |= {(name, len(ladder) - position): str(rule) for position, rule in enumerate(ladder)}
    return level_names


def _weights(found: Estimated, level_names: dict[tuple[str, int], str]) -> Iterator[Weight]:
    for j, name in enumerate(found.both.names):
        u = found.model.u[j]
        for level in reversed(np.flatnonzero(u > 0).tolist()):
            yield _weight(name, level_names[name, level], float(found.model.m[j][level]), float(u[level]))


def _weight(attribute: str, level_names: str, m: float, u: float) -> Weight:
    return Weight(attribute, level_names, m, u, math.log2(m / u) if m > 0 and u > 0 else None)


def _telling(found: Estimated, level_names: dict[tuple[str, int], str]) -> Iterator[PatternEvidence]:
    """The patterns of three pairs or more that tell most, as far as three records or more show them."""
    if not 0 < found.model.prevalence < 1:
        return
    patterns, model = found.patterns, found.model
    shown = riskiest(patterns, model, most=_CANDIDATES, fewest_pairs=_FEWEST)
    numbers = np.array([one.number for one in shown], dtype=np.int64)
    for one, records in zip(shown, records_showing(found.both, numbers).tolist(), strict=True):
        if records >= _FEWEST and math.isfinite(one.after):
            yield _create_pattern_evidence(found, one, level_names, records)


def _create_pattern_evidence(
    found: Estimated, one: Waterfall, level_names: dict[tuple[str, int], str], records: int
) -> PatternEvidence:
    positions = {name: j for j, name in enumerate(found.both.names)}
    weights = tuple(
        _weight(
            step.attribute,
            level_names[step.attribute, step.level],
            *(float(side[positions[step.attribute]][step.level]) for side in (found.model.m, found.model.u)),
        )
        for step in one.steps
    )
    together = one.together if math.isfinite(one.together) else 0.0
    return PatternEvidence(one.before, weights, together, one.after, one.match, one.pairs, records)
