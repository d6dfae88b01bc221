"""What probabilistic linkage says beside its links: probabilities worth chance where nothing is there, counted anew, and true
where the model is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from tasks.attack.outcomes.outcome import AttackResult
from tasks.attack.probabilistic.estimation import link_by_probability
from tasks.attack.probabilistic.linkage_summary import ProbableFacts
from tasks.attack.probabilistic.probabilistic_linkage import ProbabilisticLinkage
from tasks.mask.categories.pram import Pram
from tasks.microdata.errors import AttackFailed
from tasks.microdata.estimate import Estimate
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.schema import Scale
from tasks.microdata.table import Floats, Microdata
from tasks.score.linkage import linkage_estimates
from tasks.score.measures.linkage import POSTERIOR_AT_TRUTH
from tasks.sweep.calibration.calibration_findings import LEVEL, CalibrationFinding, CalibrationKind, Effort
from tasks.sweep.calibration.null_checks import MakeWorld
from tasks.sweep.calibration.posterior_checks import ALLOWED, FEWEST, TABLES, compute_difference_p_value
from tasks.sweep.calibration.random_pairings import complete_to_square, run_attack, run_permutation_test
from tasks.sweep.calibration.worlds import Steps, World, create_schema, create_shuffled_alignment, make_masked_world, mask_data

RECORDS = 40  # of a table that is counted anew
COUNTED = 10
PEOPLE = 400
SIZES = (8, 6, 5, 4)  # how many values each attribute has, all equally frequent
RETENTION = 0.7


def posterior_finds_nothing(
    subject: str, setting: str, spec: ProbabilisticLinkage, make: MakeWorld, effort: Effort, rng: np.random.Generator
) -> tuple[CalibrationFinding]:
    """Tables in which nobody's row is their own: the posterior at the truth against random pairings, and its stated chance."""
    matrices, total, wrong = [], 0.0, 0
    for one in rng.spawn(effort.seeds):
        world = make(one)
        figure = _get_posterior_at_truth(world, run_attack(world, spec))
        matrix = complete_to_square(posterior_matrix(world, spec))
        matrices.append(matrix)
        total += (figure.value or 0.0) * world.original.n
        wrong += abs((figure.chance or 0.0) - float(matrix.mean())) > 1e-9
    permutation = run_permutation_test(matrices, total, rng)
    p, n = min(permutation.above, permutation.below), effort.seeds * len(matrices[0])
    reason = "it gives the truth other than chance would" if p < LEVEL else None
    if wrong:
        reason = f"the chance it states is not that of its probabilities in {wrong} tables"
    return (_finding("null", subject, setting, effort.seeds, total / n, permutation.expected / n, p, reason),)


def reads_nothing_off(
    subject: str, setting: str, spec: ProbabilisticLinkage, make: MakeWorld, effort: Effort, rng: np.random.Generator
) -> tuple[CalibrationFinding, ...]:
    """Where m is read off who is who of nobody's own rows: rate and posterior are what their stated chances say, on average."""
    worlds = [make(one) for one in rng.spawn(max(effort.seeds // 2, 2))]
    results = [run_attack(world, spec) for world in worlds]
    facts = [_require_facts(result) for result in results]
    truths = [_get_posterior_at_truth(*one).value or 0.0 for one in zip(worlds, results, strict=True)]
    rates = [_mean(result, "credit") for result in results]
    pairs = (
        ("the rate", rates, [one.chance or 0.0 for one in facts]),
        ("the posterior", truths, [one.chance_at_truth or 0.0 for one in facts]),
    )
    return tuple(_judge_stated_chance(subject, f"{setting}, {what}", found, chance) for what, found, chance in pairs)


def posterior_is_recounted(
    subject: str, spec: ProbabilisticLinkage, steps: Steps, effort: Effort, rng: np.random.Generator
) -> tuple[CalibrationFinding]:
    """The posterior at the truth of some small tables against a loop over all pairs, by the weights that the attack tells."""
    apart_by = []
    for one in rng.spawn(min(effort.seeds, COUNTED)):
        world = make_masked_world(RECORDS, steps, one)
        result = run_attack(world, spec)
        slowly = math.fsum(_slowly(world, _require_facts(result))) / RECORDS
        apart_by.append(abs((_get_posterior_at_truth(world, result).value or 0.0) - slowly))
    worst = max(apart_by)
    reason = None if worst <= 1e-9 else f"it is {worst:.3g} off what counting all pairs gives"
    same = sum(one <= 1e-9 for one in apart_by) / len(apart_by)
    return (_finding("recount", subject, "posterior at the truth", len(apart_by), same, 1.0, None, reason),)


def claims_of_the_model_hold(
    subject: str, setting: str, spec: ProbabilisticLinkage, effort: Effort, rng: np.random.Generator
) -> tuple[CalibrationFinding, ...]:
    """Attributes that agree independently of each other, masked by PRAM: the guesses are right as often as they claim.

    On real data they are not: there this is not promised.
    """
    hits, at_truth = [], []
    for one in rng.spawn(max(effort.seeds // TABLES, FEWEST)):
        world = independent_codes(one)
        result = run_attack(world, spec)
        facts = _require_facts(result)
        hits.append((_mean(result, "credit"), facts.claimed))
        at_truth.append((_mean(result, "posterior"), facts.squares))
    message = "the intruder is not right as often as their model claims"
    pairs = (("hits against the largest posterior", hits), ("posterior at the truth against sum of squares", at_truth))
    return tuple(_judge_claims(f"{subject}, {what}", setting, np.array(both), message) for what, both in pairs)


def independent_codes(rng: np.random.Generator) -> World:
    """Records of independent, uniform codes, each kept with the same probability."""
    names = tuple("abcd")
    data = Microdata.from_columns({name: rng.integers(0, size, PEOPLE) for name, size in zip(names, SIZES, strict=True)})
    schema = create_schema(dict.fromkeys(names, Scale.CODE))
    done = mask_data(data, schema, (Pram(method="pram", attributes=names, retention=RETENTION),), rng)
    return World(data, done.data, schema, done.mechanisms, create_shuffled_alignment(PEOPLE, rng), names)


def posterior_matrix(world: World, spec: ProbabilisticLinkage) -> Floats:
    """Shape (n, m): r(b) of every record over the masked rows, of an intruder who knows that their records are there."""
    found = link_by_probability(
        *(world.original, world.masked, world.schema, spec, world.knows),
        n_common=world.masked.n,
        matches=(world.alignment.record, np.arange(world.masked.n)),
        participation_known=True,
    )
    return np.array([found.distribution.compute_row_probabilities(i) for i in range(world.original.n)])


def _get_posterior_at_truth(world: World, result: AttackResult) -> Estimate:
    if result.outcomes is None:
        raise AttackFailed(result.reason or "it did not run")
    setting = GroundTruth.create_from_tables(world.original, world.masked, world.schema, world.alignment)
    return next(one for one in linkage_estimates(result, setting, world.schema) if one.measure == POSTERIOR_AT_TRUTH.name)


def _require_facts(result: AttackResult) -> ProbableFacts:
    if result.probable is None:
        raise AttackFailed(result.reason or "it did not run")
    return result.probable


def _mean(result: AttackResult, column: str) -> float:
    return 0.0 if result.outcomes is None else float(result.outcomes.floats(column).mean())


def _slowly(world: World, facts: ProbableFacts) -> Iterator[float]:
    """r of each record's own row: products of m/u of the first level that holds, attribute by attribute."""
    tables = [[table.column(name).to_pylist() for name in world.knows] for table in (world.original, world.masked)]
    ranges = [_range(column) for column in tables[1]]
    for i in range(world.original.n):
        ratios = [
            math.prod(
                _ratio(facts, name, own[i], shown[j], wide)
                for name, own, shown, wide in zip(world.knows, *tables, ranges, strict=True)
            )
            for j in range(world.masked.n)
        ]
        yield ratios[i] / math.fsum(ratios)


def _range(column: list[object]) -> float:
    numbers = [one for one in column if isinstance(one, int | float)]
    return float(max(numbers) - min(numbers)) if numbers else 0.0


def _ratio(facts: ProbableFacts, name: str, own: object, shown: object, wide: float) -> float:
    weights = [one for one in facts.weights if one.attribute == name]
    first = next(one for one in weights if one.said == "not alike" or _holds(one.said, own, shown, wide))
    return (first.m or 0.0) / first.u


def _holds(message: str, own: object, shown: object, wide: float) -> bool:
    if message == "equal":
        return own == shown
    if not isinstance(own, int | float) or not isinstance(shown, int | float):
        return own is None and shown is None
    return abs(own - shown) <= wide * float(message.split()[1]) / 100


def _judge_stated_chance(subject: str, setting: str, found: list[float], chance: list[float]) -> CalibrationFinding:
    from scipy.stats import ttest_1samp

    differences = np.array(found) - np.array(chance)
    p = float(ttest_1samp(differences, 0.0).pvalue) if np.ptp(differences) > 0 else float(abs(differences[0]) < 1e-9)
    reason = None if p >= LEVEL else "the chance it states is not what it earns where nothing is to be found"
    return _finding("null", subject, setting, len(found), float(np.mean(found)), float(np.mean(chance)), p, reason)


def _judge_claims(subject: str, setting: str, pairs: Floats, message: str) -> CalibrationFinding:
    found, claimed = (float(one) for one in pairs.mean(axis=0))
    p = compute_difference_p_value(pairs[:, 0] - pairs[:, 1], ALLOWED * claimed)
    return _finding("posterior", subject, setting, len(pairs), found, claimed, p, None if p >= LEVEL else message)


def _finding(
    kind: CalibrationKind,
    subject: str,
    setting: str,
    trials: int,
    found: float,
    expected: float,
    p: float | None,
    reason: str | None,
) -> CalibrationFinding:
    return CalibrationFinding(
        kind=kind, subject=subject, scene=setting, trials=trials, found=found, expected=expected, p=p, holds=reason is None,
        reason=reason,
    )  # fmt: skip
