"""What `results` holds of the trials of a sweep, brought together in one table."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from flows.sweep.basis import SweepBasis
from flows.sweep.blocks import Candidate
from tasks.sweep.layout import StoredFigure, TrialRow, TrialStatus, create_sweep_table

OutcomesByKey = Mapping[str, "TrialOutcome"]
LOST: TrialStatus = "failed"
GONE = "no-result: what was computed is not there any more; the same command computes it again"


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """One result. figures: packed, because ten thousand dictionaries of some hundred figures each would fill the memory."""

    status: TrialStatus
    reason: str | None
    figures: Packed
    seconds: float


class Packed(Mapping[str, StoredFigure]):
    """A read-only mapping whose keys are shared with others of the same kind."""

    __slots__ = ("_places", "_values")

    def __init__(self, positions: dict[str, int], values: tuple[StoredFigure, ...]) -> None:
        self._places, self._values = positions, values

    def __getitem__(self, key: str) -> StoredFigure:
        return self._values[self._places[key]]

    def get(self, key: str, default: Any = None) -> Any:
        position = self._places.get(key)
        return default if position is None else self._values[position]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def read_outcomes(basis: SweepBasis, wanted: set[str]) -> dict[str, TrialOutcome]:
    """The results of these keys, as far as there are any."""
    shared: dict[tuple[str, ...], dict[str, int]] = {}
    found: dict[str, TrialOutcome] = {}
    for row in basis.storage.rows(basis.key, wanted):
        figures = json.loads(row["figures"])
        names = tuple(sys.intern(name) for name in figures)
        positions = shared.setdefault(names, {name: position for position, name in enumerate(names)})
        found[row["key"]] = TrialOutcome(
            row["status"], row["reason"], Packed(positions, tuple(figures.values())), row["seconds"]
        )
    return found


def create_trial_rows(
    candidates: Iterable[Candidate], seeds: int, found: OutcomesByKey, lost: Mapping[str, str]
) -> Iterator[TrialRow]:
    """One line per trial, also where there is no result: the mean over the other seeds would pass for the point's.

    lost: why a key has no result although it was tried.
    """
    for candidate in candidates:
        for seed in range(seeds):
            result = _result(candidate, seed, found, lost)
            yield TrialRow(
                point=candidate.point.number,
                pipeline=candidate.point.pipeline,
                seed=seed,
                axes=dict(candidate.point.values),
                status=result.status,
                reason=result.reason,
                figures=result.figures,
                seconds=result.seconds,
            )


def gather_table(candidates: Sequence[Candidate], seeds: int, basis: SweepBasis, lost: Mapping[str, str]) -> pa.Table:
    """The table of a sweep whose candidates were tried, or are wrong in themselves: one row per trial."""
    found = read_outcomes(basis, {key for candidate in candidates for key in candidate.keys})
    return create_sweep_table(list(create_trial_rows(candidates, seeds, found, lost)))


def _result(candidate: Candidate, seed: int, found: OutcomesByKey, lost: Mapping[str, str]) -> TrialOutcome:
    nothing = Packed({}, ())
    if candidate.reason is not None:
        return TrialOutcome("skipped", candidate.reason, nothing, 0.0)
    key = candidate.keys[seed]
    return found.get(key) or TrialOutcome(LOST, lost.get(key, GONE), nothing, 0.0)
