"""Calibration check: where nothing can be found, no attack finds more, or less, than chance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tasks.attack.methods import Attack
from tasks.sweep.calibration.calibration_findings import LEVEL, CalibrationFinding, Effort
from tasks.sweep.calibration.random_pairings import complete_to_square, compute_pairing_credit, run_permutation_test
from tasks.sweep.calibration.worlds import World

N_RECORDS = 30
MakeWorld = Callable[[np.random.Generator], World]


def finds_nothing(
    subject: str, setting: str, spec: Attack, make: MakeWorld, effort: Effort, rng: np.random.Generator
) -> tuple[CalibrationFinding]:
    """Attack one table for each seed in which nobody's row is their own, and compare the credit with random pairings.

    The expected credit is 1 over the records of each table (times the share of them that is released); each attack must also
    say so itself.
    """
    matrices, total, wrong = [], 0.0, 0
    for one in rng.spawn(effort.seeds):
        by_attack = compute_pairing_credit(make(one), spec)
        matrix = complete_to_square(by_attack.matrix)
        matrices.append(matrix)
        total += float(by_attack.credit.sum())
        wrong += abs(by_attack.result.chance - matrix.mean()) > 1e-9
    permutation = run_permutation_test(matrices, total, rng)
    p = min(permutation.above, permutation.below)
    n = effort.seeds * len(matrices[0])
    finding = CalibrationFinding(
        kind="null",
        subject=subject,
        scene=setting,
        trials=effort.seeds,
        found=total / n,
        expected=permutation.expected / n,
        p=p,
        holds=p >= LEVEL and not wrong,
        reason=_reason(permutation.above, permutation.below, wrong),
    )
    return (finding,)


def _reason(above: float, below: float, wrong: int) -> str | None:
    if above < LEVEL:
        return "it finds more than chance where there is nothing to be found"
    if below < LEVEL:
        return "it finds less than chance: its credit is not scored as its links say"
    return f"the chance it states is not that of its links in {wrong} tables" if wrong else None
