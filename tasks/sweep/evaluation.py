"""One masked table, attacked and measured in many ways: what a sweep does with each of its points."""

from __future__ import annotations

import hashlib
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tasks.attack.methods import Attack, attack
from tasks.attack.outcomes.outcome import AttackResult, drawn_targets
from tasks.attack.threat import Intruder, IntruderSpec, intruders
from tasks.mask.methods import Masked, Masking, mask
from tasks.microdata.alignment import Alignment
from tasks.microdata.errors import InputError
from tasks.microdata.randomness import stream
from tasks.microdata.schema import Schema
from tasks.microdata.table import Integers, Microdata
from tasks.microdata.units import Units, units_of
from tasks.score.methods import Measure, score
from tasks.score.policy import DECLARED
from tasks.sweep.layout import Kept, TrialStatus, kept


@dataclass(frozen=True, slots=True)
class Trial:
    """What is done to one masked table: who attacks it and how, and what is measured besides what always is."""

    key: str
    attacks: tuple[Attack, ...]
    intruder: IntruderSpec
    measures: tuple[Measure, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """The trials that share one masked table. seed: the number of a sweep's seed, 0 upwards."""

    masking: tuple[Masking, ...]
    seed: int
    trials: tuple[Trial, ...]
    keeps_row_order: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one trial.

    status: `skipped`: wrong in itself (k above the number of rows); `failed`: it should have run and did not.
    reason: a code and a place, or what an attack by the declared intruder says of itself (one by another is told by the status
    of its figures); no value of the table. None where status is `ok`.
    figures: what is kept of each figure, by its id (`layout.kept`). seconds: its share of the masking, and its own.
    """

    key: str
    status: TrialStatus
    reason: str | None
    figures: dict[str, Kept] = field(default_factory=dict)
    seconds: float = 0.0


def seed_of_number(number: int) -> bytes:
    """The 32 bytes of a sweep's seed. Everybody can compute them: nothing that was masked with them is published."""
    return hashlib.sha256(f"sweep seed {number}".encode()).digest()


def evaluate(table: Microdata, schema: Schema, group: Group, *, source: str) -> list[Row]:
    """Mask a table once, let every intruder attack it once in each way that some trial asks for, and score each trial.

    table: the source, as ingest leaves it. source: its content address, which names its streams of random numbers: a release
    with the same masking and a seed of the same 32 bytes gives the same masked table, and with the same attacks the same
    figures. Left out is the knowledge curve of the report, whose figures decide nothing.

    Returns one row per trial, in their order. Nothing that a trial meets is raised, but for what another attempt may mend
    (MemoryError, OSError). Cost: one masking, one attack per distinct attack and intruder, one scoring per trial.
    """
    started = time.perf_counter()
    try:
        scene = _Scene.of(table, schema, group, source)
    except (MemoryError, OSError):
        raise
    except Exception as error:
        seconds = (time.perf_counter() - started) / len(group.trials)
        return [_unanswered(trial, error, seconds) for trial in group.trials]
    shared = (time.perf_counter() - started) / len(group.trials)
    return [_row(scene, trial, shared) for trial in group.trials]


def _row(scene: _Scene, trial: Trial, shared: float) -> Row:
    started = time.perf_counter()
    try:
        results = tuple(scene.results(trial))
        figures = scene.figures(results, trial.measures)
    except (MemoryError, OSError):
        raise
    except Exception as error:
        return _unanswered(trial, error, shared + time.perf_counter() - started)
    failed = [f"{one.attack}: {one.reason}" for one in results if one.status == "failed" and one.intruder == DECLARED]
    seconds = shared + time.perf_counter() - started
    return Row(trial.key, "failed" if failed else "ok", f"attack-failed: {failed[0]}" if failed else None, figures, seconds)


def _unanswered(trial: Trial, error: Exception, seconds: float) -> Row:
    """A trial without figures. The words of an exception may hold a value of the table: code and place alone are kept."""
    if isinstance(error, InputError):
        return Row(trial.key, "skipped", error.public, {}, seconds)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return Row(trial.key, "failed", f"{type(error).__name__} in {frame.name}, line {frame.lineno}", {}, seconds)


@dataclass(frozen=True)
class _Scene:
    """One masked table, and the attacks on it that were run."""

    table: Microdata
    schema: Schema
    source: str
    seed: bytes
    done: Masked
    alignment: Alignment
    attacked: dict[tuple[Attack, Intruder, float], AttackResult] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Microdata, schema: Schema, group: Group, source: str) -> _Scene:
        seed = seed_of_number(group.seed)
        done = mask(table, schema, group.masking, seed=seed, path=("mask", source))
        order = np.arange(done.data.n, dtype=np.int64) if group.keeps_row_order else done.order
        return cls(table, schema, source, seed, done, Alignment(done.record, np.argsort(order), table.n))

    @cached_property
    def units(self) -> Units:
        return units_of(self.table, self.schema)

    def results(self, trial: Trial) -> Iterator[AttackResult]:
        """Every attack by every intruder, in the order of a release's plan."""
        for intruder in intruders(trial.intruder, self.schema):
            for spec in trial.attacks:
                yield self._attacked(spec, intruder, trial.intruder.targets)

    def figures(self, results: tuple[AttackResult, ...], measures: tuple[Measure, ...]) -> dict[str, Kept]:
        masked, mechanisms = self.done.data, self.done.mechanisms
        found = score(
            *(self.table, masked, self.schema, mechanisms, results, measures),
            alignment=self.alignment,
            n_targets=self.units.n_units,
        )
        return kept(found)

    def _attacked(self, spec: Attack, intruder: Intruder, share: float) -> AttackResult:
        asked = (spec, intruder, share)
        if asked not in self.attacked:
            masked, mechanisms = self.done.data, self.done.mechanisms
            self.attacked[asked] = attack(
                *(self.table, masked, self.schema, mechanisms, spec, intruder),
                alignment=self.alignment,
                targets=self._targets(share),
            )
        return self.attacked[asked]

    def _targets(self, share: float) -> Integers:
        return drawn_targets(self.table, self.schema, share, stream(self.seed, "targets", self.source))


def without_curve(intruder: IntruderSpec) -> IntruderSpec:
    """The intruder without the knowledge curve and external files, which no sweep computes: two that differ in them are one."""
    return intruder.model_copy(update={"curve": False, "files": ()})
