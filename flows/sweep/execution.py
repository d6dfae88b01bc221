"""The course of one sweep: points in batches (a search asks for the next one when it has seen the last), blocks, results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import Protocol

import numpy as np
import pyarrow as pa

from flows.sweep.basis import SweepBasis
from flows.sweep.blocks import Block, Candidate, Job, list_candidates, list_jobs, split_into_blocks
from flows.sweep.file import Frontier, SweepDefinition
from flows.sweep.gather import gather_table
from flows.sweep.record import SweepRecord
from flows.sweep.sweep_plan import Plan, TrialCosts, choose_samples, plan_sweep, time_samples
from flows.sweep.variants import create_release_spec
from tasks.attack.together.earlier_release import EarlierRelease
from tasks.microdata.table import Floats
from tasks.runtime.artifacts import Store
from tasks.sweep.frontier import compute_map_coordinates
from tasks.sweep.frontier_search import FrontierSearch
from tasks.sweep.points import SweepPoint
from tasks.sweep.results import Results
from tasks.sweep.views import compute_loss, compute_risk

FEW = 100  # jobs; one of them may take down every block of them
Submit = Callable[[Sequence[int]], Iterator[tuple[int, str | None]]]  # block numbers -> each with why it failed, as they end


class TrialListener(Protocol):
    """Hears how a sweep goes."""

    def report_trials(self, done: int, of: int) -> None: ...


class NothingComputed(Exception):
    """Every block of a batch failed; `code` says why, and holds no value."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class SweepExecution:
    """One sweep, from its points to its table.

    basis: what its points share. record: where its blocks are written down. lost: trials that were tried and have no result,
    and why; they are tried again when the sweep is. stopped: is this a search that ended early because of them? What it asks
    for next rests on every result so far: had it gone on, a later recovery of them would have led it elsewhere.
    """

    def __init__(self, sweep: SweepDefinition, basis: SweepBasis, record: SweepRecord) -> None:
        self.sweep, self.basis, self.record = sweep, basis, record
        self.candidates: list[Candidate] = []
        self.lost: dict[str, str] = {}
        self.held = basis.storage.read_result_seconds(basis.key)
        self.costs = TrialCosts()
        self._blocks = 0
        self._batches = self._points()
        self._next: list[Candidate] | None = None

    @property
    def seeds(self) -> int:
        return self.sweep.spec.seeds

    @property
    def earlier(self) -> tuple[EarlierRelease, ...]:
        """The earlier releases about the same persons with which points are judged."""
        counted = self.basis.count_earlier(self.sweep.base)
        return () if counted is None else tuple(Store().record(one, EarlierRelease) for one in counted.releases)

    @property
    def n_trials(self) -> int:
        """Of the whole sweep; of a search as if it found all the points that it may try."""
        known = len(self.candidates) if self._next is None else len(self.candidates) + len(self._next)
        return self.seeds * (self.sweep.n_points if isinstance(self.sweep.spec.strategy, Frontier) else known)

    @property
    def is_stopped(self) -> bool:
        return bool(self.lost) and isinstance(self.sweep.spec.strategy, Frontier)

    @property
    def complete(self) -> bool:
        """Is nothing left to compute? Known after `plan`."""
        return not self._batch()

    @property
    def n_done(self) -> int:
        """Trials that have a result, or are wrong in themselves, or were lost."""
        return sum(self._count_candidate_trials(candidate) for candidate in (*self.candidates, *(self._next or ())))

    def plan(self, workers: int, compute: Callable[[int], object]) -> Plan:
        """What is about to be done. compute: computes a block, here some few for the time they take."""
        self._catch_up()
        known = [*self.candidates, *self._batch()]
        self.costs.learn(known, self.held)
        if len(jobs := self._left(known)) > 3 * workers:
            time_samples(choose_samples(jobs, self.costs), partial(self._time_job, compute), self.costs)
        in_all = self.sweep.n_points if isinstance(self.sweep.spec.strategy, Frontier) else None
        held, left = sum(key in self.held for candidate in known for key in candidate.keys), self._left(known)
        return plan_sweep(known, left, self.costs, seeds=self.seeds, held=held, workers=workers, in_all=in_all)

    def follow(self, submit: Submit, listener: TrialListener) -> None:
        """Compute what is left, batch after batch, or until `stopped`.

        Raises NothingComputed where every block of a batch failed.
        """
        while not self.is_stopped and (new := self._batch()):
            self._compute(new, submit, listener)
            self.candidates += new
            self._next = None

    def table(self) -> pa.Table:
        return gather_table(self.candidates, self.seeds, self.basis, self.lost)

    def _catch_up(self) -> None:
        """Pass over the batches of which every result is there."""
        while (new := self._batch()) and not self._left(new):
            self.candidates += new
            self._next = None

    def _batch(self) -> list[Candidate]:
        if self._next is None:
            points = next(self._batches, ())
            self._next = list(list_candidates(points, self.basis, self.seeds, partial(create_release_spec, self.sweep)))
        return self._next

    def _points(self) -> Iterator[Sequence[SweepPoint]]:
        strategy = self.sweep.spec.strategy
        if not isinstance(strategy, Frontier):
            yield tuple(self.sweep.points())
            return
        search = FrontierSearch(self.sweep.spaces, seed=strategy.seed, size=strategy.generation)
        while len(self.candidates) < strategy.points:
            risk, loss = self._compute_risk_and_loss()
            new = search.generation([candidate.point for candidate in self.candidates], risk, loss)
            if not new:
                return
            yield new[: strategy.points - len(self.candidates)]

    def _compute_risk_and_loss(self) -> tuple[Floats, Floats]:
        """Risk and loss of every point so far."""
        if not self.candidates:
            return np.empty(0), np.empty(0)
        results = Results.from_table(self.table())
        risk, loss = compute_risk(results, self.sweep.spec.risk), compute_loss(results, self.sweep.spec.loss)
        return compute_map_coordinates(results.aggregate_seeds(risk.values), results.aggregate_seeds(loss.values))

    def _left(self, candidates: Sequence[Candidate]) -> list[Job]:
        return list_jobs(candidates, lambda key: key in self.held or key in self.lost)

    def _compute(self, new: list[Candidate], submit: Submit, listener: TrialListener) -> None:
        """All blocks; then those that failed once more, each job in a block of its own, so that one costs no other."""
        left = self._left(new)
        failures = self._round(
            self._put(split_into_blocks(left, self.costs.estimate_seconds, self._blocks)),
            submit,
            listener,
            again=len(left) <= FEW,
        )
        if not failures:
            return
        singles = (Block(self._blocks + i, (job,)) for i, job in enumerate(self._left(new)))
        self.lost |= self._round(self._put(singles), submit, listener)

    def _round(
        self, blocks: dict[int, Block], submit: Submit, listener: TrialListener, *, again: bool = False
    ) -> dict[str, str]:
        """Have blocks computed; returns the keys of those that failed, each with why.

        again: are they so few that each job can be tried alone? Else raises NothingComputed where all failed.
        """
        failures: dict[str, str] = {}
        before, of = self.n_done, self.n_trials
        listener.report_trials(before, of)
        succeeded = 0
        for number, failure in submit(list(blocks)):
            keys = blocks[number].keys
            if failure is None:
                succeeded += len(keys)
                self.held |= dict.fromkeys(keys, 0.0)
            else:
                failures |= dict.fromkeys(keys, failure)
            listener.report_trials(before + succeeded, of)
        if failures and not succeeded and not again:
            raise NothingComputed(next(iter(failures.values())))
        return failures

    def _put(self, blocks: Iterator[Block]) -> dict[int, Block]:
        made = {block.number: block for block in blocks}
        self._blocks += len(made)
        for block in made.values():
            block.put(self.basis.storage, self.record.id, self.basis.key)
        self.record.write_plan(self.n_done, list(made.values()))
        return made

    def _time_job(self, compute: Callable[[int], object], job: Job) -> dict[str, float]:
        """The seconds of the trials of one job; none where its worker died: it is tried again with the others."""
        (number, block), *_ = self._put(iter([Block(self._blocks, (job,))])).items()
        try:
            compute(number)
        except (BrokenProcessPool, MemoryError, OSError):
            return {}
        found = {row["key"]: row["seconds"] for row in self.basis.storage.rows(self.basis.key, set(block.keys))}
        self.held |= found
        return found

    def _count_candidate_trials(self, candidate: Candidate) -> int:
        if candidate.reason is not None:
            return self.seeds
        return sum(key in self.held for key in candidate.keys)
