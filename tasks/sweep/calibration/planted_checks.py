"""Where a share of the records can be found for certain and the rest not at all, an attack finds that share and chance."""

from __future__ import annotations

import numpy as np

from tasks.attack.methods import Attack
from tasks.sweep.calibration.calibration_findings import LEVEL, CalibrationFinding, Effort
from tasks.sweep.calibration.random_pairings import compute_pairing_credit, run_permutation_test
from tasks.sweep.calibration.worlds import Steps, make_planted_world

N = 60
CERTAIN = 20  # tables are enough where nothing is left to chance


def finds_what_is_there(
    subject: str, setting: str, spec: Attack, steps: Steps, share: float, effort: Effort, rng: np.random.Generator
) -> tuple[CalibrationFinding]:
    """Attack one table for each seed in which a share of the records keep a unique key; the rest's rows are dealt out.

    Everybody of the share must be found, and of the rest as many as random pairings among them would: together
    share + (1 - share) * chance. With a share of 1 everybody is found.
    """
    blocks, total, of_rest, missed = [], 0.0, 0.0, 0.0
    tables = effort.seeds if share < 1 else min(effort.seeds, CERTAIN)
    for one in rng.spawn(tables):
        world, known = make_planted_world(N, share, steps, one)
        by_attack = compute_pairing_credit(world, spec)
        credit, rest = by_attack.credit, np.setdiff1d(np.arange(N), known)
        blocks.append(by_attack.matrix[np.ix_(rest, rest)])
        total += float(credit.sum())
        of_rest += float(credit[rest].sum())
        missed += float((1 - credit[known]).sum())
    permutation = run_permutation_test(blocks, of_rest, rng) if blocks[0].size else None
    p = None if permutation is None else min(permutation.above, permutation.below)
    n = tables * N
    finding = CalibrationFinding(
        kind="planted",
        subject=subject,
        scene=setting,
        trials=tables,
        found=total / n,
        expected=round(share * N) / N + (0.0 if permutation is None else permutation.expected / n),
        p=p,
        holds=missed <= 1e-9 and (p is None or p >= LEVEL),
        reason=_reason(missed, p),
    )
    return (finding,)


def _reason(missed: float, p: float | None) -> str | None:
    if missed > 1e-9:
        return f"records that can be found for certain were not found (credit of {missed:.3g} missing)"
    return None if p is None or p >= LEVEL else "of those who cannot be found it does not find what chance would"
