"""Calibration check: figures without chance equal a count by hand, record by record, from the definitions."""

from __future__ import annotations

import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import ceil, floor

import numpy as np

from tasks.attack.methods import Attack
from tasks.attack.outcomes.outcome import AttackResult
from tasks.microdata.estimate import Estimate
from tasks.microdata.schema import CATEGORICAL, MEASURED, Attribute
from tasks.score.linkage import EXPOSED_FROM
from tasks.score.methods import score
from tasks.sweep.calibration.calibration_findings import CalibrationFinding, Effort
from tasks.sweep.calibration.random_pairings import PairingCredit, compute_pairing_credit
from tasks.sweep.calibration.worlds import Steps, World, make_masked_world

N = 36  # the narrower interval reaches no rank to either side, the wider one
TABLES = 10
P_PERCENT = (5.0, 10.0)  # at which disclosure is always measured
RateWithChance = tuple[float, float | None]  # a figure, and its chance
Number = float | None


def figures_are_true(
    subject: str, spec: Attack, steps: Steps, effort: Effort, rng: np.random.Generator
) -> tuple[CalibrationFinding]:
    """Compare linkage, interval disclosure and equal values of some small tables with a plain recount, to the last bits.

    At most ten tables: nothing is left to chance.
    """
    agreeing: list[tuple[str, bool]] = []
    for one in rng.spawn(min(effort.seeds, TABLES)):
        world = make_masked_world(N, steps, one)
        by_attack = compute_pairing_credit(world, spec)
        found = {figure.id: figure for figure in _score_attack(world, by_attack.result)}
        agreeing.extend((name, _agrees(found[name], expected)) for name, expected in recount_figures(world, by_attack))
    return (_finding(subject, agreeing),)


def recount_figures(world: World, by_attack: PairingCredit) -> Iterator[tuple[str, RateWithChance]]:
    """The figures of a complete release by their definitions, each with its id; slow."""
    credit = np.diag(by_attack.matrix)
    by = f"{by_attack.result.attack}|{by_attack.result.intruder}"
    permuted = by_attack.result.chance_kind == "permutation"  # of draws, which no plain count repeats
    yield f"reidentification|{by}", (sum(credit) / len(credit), by_attack.result.chance if permuted else 1 / len(credit))
    yield f"records_exposed|{by}", (sum(one >= EXPOSED_FROM for one in credit) / len(credit), None)
    yield f"max_record_risk|{by}", (max(credit), None)
    yield f"truth_among_nearest|{by}", (sum(one > 0 for one in credit) / len(credit), None)
    for attribute in world.schema.select({name: None for step in world.steps for name in step.target_attributes}):
        yield from _recount_disclosure(world, attribute)


def _recount_disclosure(world: World, attribute: Attribute) -> Iterator[tuple[str, RateWithChance]]:
    name = attribute.name
    truth, shown = (table.column(name).to_pylist() for table in (world.original, world.masked))
    yield f"same_value_disclosure|{name}", _rate(truth, shown, lambda x, y: x == y)
    if attribute.scale in CATEGORICAL:
        return
    ranked = sorted(x for x in truth if x is not None)
    for p in P_PERCENT:
        width = Fraction(str(p)) * len(ranked) // 200
        yield f"rank_interval_disclosure|{name}|p_percent={p:g}", _rate(truth, shown, _create_rank_rule(ranked, int(width)))
        if attribute.scale in MEASURED:
            reach = p / 100 * statistics.stdev(ranked)
            yield f"sd_interval_disclosure|{name}|p_percent={p:g}", _rate(truth, shown, _create_sd_rule(reach))


def _rate(truth: list[Number], shown: list[Number], discloses: Callable[[float, float], bool]) -> RateWithChance:
    """The share of the records whose own row discloses their value, and that of all pairs of a record and a row."""
    pairs = [(x, y) for x, y in zip(truth, shown, strict=True) if x is not None]
    own = sum(y is not None and discloses(x, y) for x, y in pairs)
    every = sum(y is not None and discloses(x, y) for x, _ in pairs for _, y in pairs)
    return own / len(pairs), every / len(pairs) ** 2


def _create_rank_rule(ranked: list[float], width: int) -> Callable[[float, float], bool]:
    def discloses(x: float, y: float) -> bool:
        middle = (bisect_left(ranked, y) + bisect_right(ranked, y) - 1) / 2  # of its places, or between its neighbours
        first, last = max(ceil(middle - width), 0), min(floor(middle + width), len(ranked) - 1)
        return first < len(ranked) and last >= 0 and ranked[first] <= x <= ranked[last]

    return discloses


def _create_sd_rule(reach: float) -> Callable[[float, float], bool]:
    return lambda x, y: y - reach <= x <= y + reach


def _score_attack(world: World, result: AttackResult) -> tuple[Estimate, ...]:
    tables = (world.original, world.masked, world.schema, world.steps)
    return score(*tables, (result,), (), alignment=world.alignment, n_targets=world.original.n)


def _agrees(figure: Estimate, expected: RateWithChance) -> bool:
    found = (figure.value, figure.chance, figure.low, figure.high)
    value, chance = expected
    return all(
        (one is None) == (other is None) and abs((one or 0.0) - (other or 0.0)) <= 1e-12
        for one, other in zip(found, (value, chance, value, value), strict=True)
    )


def _finding(subject: str, agreeing: list[tuple[str, bool]]) -> CalibrationFinding:
    wrong = [name.split("|")[0] for name, same in agreeing if not same]
    reason = f"{len(wrong)} of {len(agreeing)} figures differ from a plain recount: {', '.join(sorted(set(wrong)))}"
    return CalibrationFinding(
        kind="recount",
        subject=subject,
        scene="figures of linkage, interval disclosure and equal values",
        trials=len(agreeing),
        found=1 - len(wrong) / len(agreeing),
        expected=1.0,
        holds=not wrong,
        reason=reason if wrong else None,
    )
