"""The mixed integer programme of the papers, all pairs at once: a cross-check of the search and the proof on small files.

Minimise sum of K_i subject to D_ij . p + C_i K_i >= margin for all j, K_i in {0, 1}, p in its cone and in a box.

Source: D11.2, section 3.1, (6) to (9), table 1. Done otherwise: "> 0" there needs a margin and parameters of
bounded size, or p = 0 would do; the constant C, there said to be a distance, is the least big number that frees a record, one
for each. What the solver says is linked is counted again (`recount`): big constants and tolerances have been seen to lie.
"""

from __future__ import annotations

import numpy as np
import pulp

from tasks.attack.learned.constraint_rows import ConstraintRows, Problem, create_constraint_rows
from tasks.attack.learned.features import LearnedDistanceKind, cone
from tasks.microdata.table import Floats

MARGIN = 1e-5  # of rows of length 1 and parameters within [-1, 1]
TOLERANCE = 1e-9


def solve(of: Problem, *, metric: bool = False, time_limit: float = 60.0) -> tuple[Floats, bool]:
    """The parameters that link the most by the programme, and whether the solver says they are optimal.

    HiGHS where highspy is installed, else the CBC that comes with PuLP. Cost: q (f - 1) rows; for a few dozen records.

    Raises ValueError for positive definite forms, which no linear programme describes.
    """
    if metric and of.kind is LearnedDistanceKind.BILINEAR:
        raise ValueError("positive definite forms are not described by a linear programme")
    q, f = len(of.searching), len(of.found)
    everybody = np.broadcast_to(np.arange(f), (q, f)).copy()
    rows = create_constraint_rows(of, everybody)
    programme, p = _programme(of, rows, cone(of.kind, of.how.d, metric=metric) / rows.unit)
    programme.solve(_solver(time_limit))
    if programme.sol_status not in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible):
        raise ValueError(f"the solver found nothing: {pulp.LpStatus[programme.status]}")
    point = np.array([variable.value() for variable in p])
    return point / rows.unit, programme.sol_status == pulp.LpSolutionOptimal


def _programme(of: Problem, rows: ConstraintRows, bounds: Floats) -> tuple[pulp.LpProblem, list[pulp.LpVariable]]:
    programme = pulp.LpProblem("linkage", pulp.LpMinimize)
    least = -1.0 if of.kind in (LearnedDistanceKind.BILINEAR, LearnedDistanceKind.CHOQUET_2ADDITIVE) else 0.0
    p = [pulp.LpVariable(f"p{k}", least, 1.0) for k in range(of.parameters)]
    lost = [pulp.LpVariable(f"K{i}", cat=pulp.LpBinary) for i in range(len(of.searching))]
    programme += pulp.lpSum(float(weight) * loss for weight, loss in zip(of.weight, lost, strict=True))
    for i, loss in enumerate(lost):
        own = rows.d[rows.starts[i] : rows.starts[i + 1]]
        for row in own:
            enough = MARGIN + float(np.abs(row).sum())
            programme += _sum(row, p) + enough * loss >= MARGIN
    for bound in bounds:
        programme += _sum(bound, p) >= 0
    return programme, p


def _sum(row: Floats, p: list[pulp.LpVariable]) -> pulp.LpAffineExpression:
    return pulp.lpSum(float(value) * variable for value, variable in zip(row, p, strict=True) if value != 0)


def _solver(time_limit: float) -> pulp.LpSolver:
    highs = pulp.HiGHS(
        msg=False, timeLimit=time_limit, gapRel=0.0, mip_feasibility_tolerance=TOLERANCE, primal_feasibility_tolerance=TOLERANCE
    )
    return highs if highs.available() else pulp.PULP_CBC_CMD(msg=False, timeLimit=time_limit, gapRel=0.0)
