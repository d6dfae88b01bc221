"""The proof that no parameters link more: combinatorial Benders.

Records that cannot all be linked make a set C of which at least one is lost: sum over C of K_i >= 1. The least weight of
records that meets all such sets found so far bounds the loss from below; those kept by such a choice are asked whether they
can be linked together; if not, that gives new sets, and if they can, the choice is the optimum.

Sources: D11.2, section 3.1, for the problem; Codato and Fischetti (2006), "Combinatorial Benders' cuts for
mixed-integer linear programming", Operations Research 54(4), for the method. Done otherwise: many sets come from one choice
(the records are asked again without one of the set just found), fractional choices find sets first, and every set carries
multipliers that are checked against the files (`Infeasibility.holds`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import scipy

from tasks.attack.learned.constraint_rows import Problem
from tasks.attack.learned.features import clip_to_cone, negative_direction
from tasks.attack.learned.learned_neighbours import count_links, nearest_others
from tasks.attack.learned.multistart_search import inside, project_semidefinite
from tasks.attack.learned.separation import Infeasibility, RowPool
from tasks.microdata.table import Booleans, Floats, Integers

INTEGRAL = 1e-6
ASKED = 3  # times about each choice, each time in another order
_CUT_SHORT = 1  # scipy's status where a solver reached its limit
WORTH_WHILE = 0.1  # records by which the fractional bound must move


@dataclass(frozen=True, slots=True)
class Proof:
    """The best parameters known, the weight they link, the weight that no parameters exceed, and the reasons.

    seconds: CPU time. ended: by itself, not by its time; else bound > linked.
    """

    parameters: Floats
    linked: float
    bound: float
    reasons: tuple[Infeasibility, ...]
    seconds: float
    ended: bool

    @property
    def proven(self) -> bool:
        return self.bound <= self.linked + INTEGRAL


def improve_and_prove(
    of: Problem, start: Floats, bounds: Floats, *, seconds: float, rng: np.random.Generator, definite: bool = False
) -> Proof:
    """Improve and prove parameters until the bound is reached or CPU seconds are over.

    start: the best parameters known (`local_search`). bounds: `cone` of the kind; definite: matrices must be positive definite.
    """
    return _Proof(of, start, bounds, rng, definite).run(seconds)


class _Proof:
    def __init__(self, of: Problem, start: Floats, bounds: Floats, rng: np.random.Generator, definite: bool) -> None:
        self.of, self.rng, self.definite = of, rng, definite
        self.parameters, self.linked = start, self._weight(start)
        self.pool = RowPool(of, nearest_others(of, start, 15), bounds, start)
        self.reasons: dict[tuple[int, ...], Infeasibility] = {}
        self.bound = float(of.weight.sum())
        self.began, self.allowed, self.cut_short = time.process_time(), 0.0, False

    def _weight(self, parameters: Floats) -> float:
        return self.of.worth(count_links(self.of, parameters))

    @property
    def _left(self) -> float:
        return self.began + self.allowed - time.process_time()

    @property
    def _is_done(self) -> bool:
        return self.bound <= self.linked + INTEGRAL or self._left <= 0

    def run(self, seconds: float) -> Proof:
        self.allowed = seconds
        self._alone()
        self._ask(self.of.weight > 0, np.zeros(len(self.of.weight)))
        self._add_fractional_cuts()
        while not self._is_done:
            lost = self._choice(integral=True)
            if self._is_done or not sum(self._ask(lost < 0.5, lost) for _ in range(ASKED)):
                break
        used = time.process_time() - self.began
        bound, reasons = max(self.bound, self.linked), tuple(self.reasons.values())
        ended = bound <= self.linked + INTEGRAL or (self._left > 0 and not self.cut_short)
        return Proof(self.parameters, self.linked, bound, reasons, used, ended)

    def _alone(self) -> None:
        """Records that can never be linked."""
        for i in np.flatnonzero(self.of.weight > 0):
            if self._left <= 0:
                return
            alone = np.zeros(len(self.of.weight), dtype=bool)
            alone[i] = True
            reason = self.pool.together(alone)[1]
            if reason is not None:
                self.reasons[reason.records] = reason

    def _add_fractional_cuts(self) -> None:
        """Sets that the fractional optimum violates, until they hardly move it."""
        idle, least = 0, 0.0
        while not self._is_done and idle < 3:
            lost = self._choice(integral=False)
            loss = float(lost @ self.of.weight)
            idle, least = (0, loss) if loss > least + WORTH_WHILE else (idle + 1, least)
            for threshold in (0.0, *(0.9 * self.rng.random(3))):
                self._ask((lost <= threshold + INTEGRAL) & (self.of.weight > 0), lost, most=8)

    def _choice(self, *, integral: bool) -> Floats:
        """The cheapest choice of lost records that meets every reason, shape (q,); an integral one lowers the bound."""
        q, reasons = len(self.of.weight), list(self.reasons)
        if not reasons:
            return np.zeros(q)
        ends = np.cumsum([0] + [len(records) for records in reasons])
        meets = scipy.sparse.csr_matrix((np.ones(ends[-1]), np.concatenate(reasons), ends), shape=(len(reasons), q))
        answer = scipy.optimize.milp(
            self.of.weight,
            constraints=scipy.optimize.LinearConstraint(meets, 1, np.inf),
            integrality=np.full(q, float(integral)),
            bounds=scipy.optimize.Bounds(0, 1),
            options={"time_limit": max(self._left, 0.1)},
        )
        self.cut_short |= answer.status == _CUT_SHORT  # the solver's limit is of the clock, ours of the processor
        least = answer.mip_dual_bound if integral else answer.fun
        self._lower(least)
        return np.ones(q) if answer.x is None else np.where(self.of.weight > 0, answer.x, 1.0)

    def _lower(self, least_loss: float | None) -> None:
        if least_loss is None:
            return
        if np.all(self.of.weight == np.round(self.of.weight)):
            least_loss = np.ceil(least_loss - INTEGRAL)
        self.bound = min(self.bound, float(self.of.weight.sum() - least_loss))

    def _ask(self, kept: Booleans, lost: Floats, most: int = 40) -> bool:
        """Can the kept records be linked together? Else find reasons, leaving out a record of each. Returns: anything new?"""
        known = len(self.reasons)
        for _ in range(most):
            reason = self._against(kept)
            if reason is None or self._left <= 0:
                break
            order = np.array(sorted(reason.records, key=lambda i: -lost[i] + 1e-3 * self.rng.random()))
            reason = self.pool.shrink_reason(reason, order)
            self.reasons[reason.records] = reason
            kept = kept.copy()
            kept[self.rng.choice(reason.records)] = False
        return len(self.reasons) > known

    def _against(self, kept: Booleans) -> Infeasibility | None:
        """The reason why the kept records cannot be linked together, None if they can, by the rows of all pairs."""
        while self._left > 0:
            point, reason = self.pool.together(kept)
            if reason is not None or not self._add_violated_rows(self.pool.parameters(point), kept):
                return reason
        return None

    def _find_unlinked_records(self, parameters: Floats, kept: Booleans) -> Booleans:
        """Which of the kept records parameters do not link. Keeps the best parameters seen."""
        links = count_links(self.of, parameters)
        worth = self.of.worth(links)
        if worth > self.linked + INTEGRAL and (not self.definite or negative_direction(parameters) is None):
            self._keep(clip_to_cone(self.of.kind, parameters, self.of.how.d))
        broken: Booleans = kept & ((links.nearer > 0) | (links.equal > self.of.twins))
        return broken

    def _keep(self, parameters: Floats) -> None:
        worth = self._weight(parameters)
        if worth > self.linked:
            self.parameters, self.linked = parameters, worth

    def _add_violated_rows(self, parameters: Floats, kept: Booleans) -> bool:
        """Take in rows, and bounds, that parameters break; returns: has the question to be asked again?"""
        of = self.of
        missing = negative_direction(parameters) if self.definite else None
        if missing is not None:
            self.pool.bind(missing)
            nearest = project_semidefinite(parameters)
            return bool(self._find_unlinked_records(inside(of, nearest), kept).any())
        broken = self._find_unlinked_records(parameters, kept)
        others: Integers = np.where(broken[:, None], nearest_others(of, parameters, 3), -1)
        return self.pool.add(others) > 0
