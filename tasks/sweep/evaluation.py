"""Attack and measure one masked table in many ways, as a sweep does with each of its points."""

from __future__ import annotations

import hashlib
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tasks.attack.insiders import compute_rate
from tasks.attack.methods import Attack, attack_records, resolve_ground_truth, sample_for_part
from tasks.attack.outcomes.outcome import AttackResult, sample_targets, sample_unit_rows
from tasks.attack.target_looks import require_one_share
from tasks.attack.threat import Intruder, IntruderSpec, find_larger_insiders, intruders
from tasks.mask.methods import Masking, MaskResult, mask
from tasks.microdata.alignment import Alignment, invert_permutation
from tasks.microdata.errors import InputError
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.randomness import stream
from tasks.microdata.schema import Schema
from tasks.microdata.table import Integers, Microdata
from tasks.microdata.units import Units, find_units
from tasks.score.methods import SelectedMeasure, score
from tasks.score.policy import DECLARED
from tasks.sweep.joint_evaluation import CountedEarlier, JointEvaluation
from tasks.sweep.layout import StoredFigure, TrialStatus, encode_figures


@dataclass(frozen=True, slots=True)
class FileHolder:
    """Somebody who has an external file, and the name under which its table is kept."""

    intruder: Intruder
    table: str


@dataclass(frozen=True, slots=True)
class Trial:
    """What is done to one masked table: who attacks it and how, and what is measured besides what always is."""

    key: str
    attacks: tuple[Attack, ...]
    intruder: IntruderSpec
    measures: tuple[SelectedMeasure, ...] = ()
    holders: tuple[FileHolder, ...] = ()


@dataclass(frozen=True, slots=True)
class TrialGroup:
    """The trials that share one masked table. seed: the number of a sweep's seed, 0 upwards."""

    masking: tuple[Masking, ...]
    seed: int
    trials: tuple[Trial, ...]
    keeps_row_order: bool = False


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What became of one trial.

    status: `skipped`: wrong in itself (k above the number of rows); `failed`: it should have run and did not.
    reason: a code and a place, or what an attack by the declared intruder says of itself (one by another is told by the status
    of its figures); no value of the table. None where status is `ok`.
    figures: what is kept of each figure, by its id (`layout.encode_figures`). seconds: its share of the masking, and its own.
    """

    key: str
    status: TrialStatus
    reason: str | None
    figures: dict[str, StoredFigure] = field(default_factory=dict)
    seconds: float = 0.0


def derive_seed(number: int) -> bytes:
    """The 32 bytes of a sweep's seed. Everybody can compute them: nothing that was masked with them is published."""
    return hashlib.sha256(f"sweep seed {number}".encode()).digest()


@dataclass(frozen=True, slots=True)
class ExternalFiles:
    """The tables of the external files by their names, and what gives a table the address that names its random numbers."""

    tables: Mapping[str, Microdata]
    address: Callable[[Microdata], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedBefore:
    """What was released before about the same persons, as far as it matters to a group of trials.

    earlier: the releases that count. secret: the secret of the series for draws per person; None: they are drawn anew.
    """

    earlier: CountedEarlier
    secret: bytes | None = None


def evaluate(
    table: Microdata,
    schema: Schema,
    group: TrialGroup,
    *,
    source: str,
    files: ExternalFiles | None = None,
    before: ReleasedBefore | None = None,
) -> list[TrialResult]:
    """Mask a table once, let every intruder attack it once in each way that some trial asks for, and score each trial.

    table: the source, as ingest leaves it. source: its content address, which names its streams of random numbers: a release
    with the same masking and a seed of the same 32 bytes gives the same masked table, and with the same attacks the same
    figures. Left out is the knowledge curve of the report, whose figures decide nothing. files: those of the trials' holders.
    before: the earlier releases about the same persons, with which the table is attacked as well; None: none counts.

    Returns one row per trial, in their order. Nothing that a trial meets is raised, but for what another attempt may mend
    (MemoryError, OSError). Cost: one masking, one attack per distinct attack and intruder, one scoring per trial; for
    each intruder an attack with the earlier releases, one more on the rows of each, and of 2 to 6 one more without each.
    """
    started = time.perf_counter()
    try:
        runner = _TrialRunner.from_group(table, schema, group, source, files, before)
    except (MemoryError, OSError):
        raise
    except Exception as error:
        seconds = (time.perf_counter() - started) / len(group.trials)
        return [_create_empty_result(trial, error, seconds) for trial in group.trials]
    shared = (time.perf_counter() - started) / len(group.trials)
    return [_row(runner, trial, shared) for trial in group.trials]


def _row(runner: _TrialRunner, trial: Trial, shared: float) -> TrialResult:
    started = time.perf_counter()
    try:
        results = tuple(runner.results(trial))
        figures = runner.figures(results, trial)
    except (MemoryError, OSError):
        raise
    except Exception as error:
        return _create_empty_result(trial, error, shared + time.perf_counter() - started)
    failed = [f"{one.attack}: {one.reason}" for one in results if one.status == "failed" and one.intruder == DECLARED]
    seconds = shared + time.perf_counter() - started
    return TrialResult(
        trial.key, "failed" if failed else "ok", f"attack-failed: {failed[0]}" if failed else None, figures, seconds
    )


def _create_empty_result(trial: Trial, error: Exception, seconds: float) -> TrialResult:
    """A trial without figures. The words of an exception may hold a value of the table: code and place alone are kept."""
    if isinstance(error, InputError):
        return TrialResult(trial.key, "skipped", error.public, {}, seconds)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return TrialResult(trial.key, "failed", f"{type(error).__name__} in {frame.name}, line {frame.lineno}", {}, seconds)


@dataclass(frozen=True)
class _TrialRunner:
    """One masked table, and the attacks on it that were run."""

    table: Microdata
    schema: Schema
    source: str
    seed: bytes
    done: MaskResult
    alignment: Alignment
    files: ExternalFiles | None = None
    attacked: dict[tuple[Attack, Intruder, float, str], AttackResult] = field(default_factory=dict)
    truths: dict[FileHolder | None, GroundTruth] = field(default_factory=dict)
    joint: JointEvaluation | None = None

    @classmethod
    def from_group(
        cls,
        table: Microdata,
        schema: Schema,
        group: TrialGroup,
        source: str,
        files: ExternalFiles | None,
        before: ReleasedBefore | None,
    ) -> _TrialRunner:
        seed, secret = derive_seed(group.seed), None if before is None else before.secret
        done = mask(table, schema, group.masking, seed=seed, path=("mask", source), secret=secret)
        order = np.arange(done.data.n, dtype=np.int64) if group.keeps_row_order else done.order
        alignment = Alignment(done.record, invert_permutation(order), table.n)
        joint = None
        if before is not None:
            others = before.earlier.select_others(source, done.data)
            joint = JointEvaluation(table, schema, done, alignment, others, seed)
        return cls(table, schema, source, seed, done, alignment, files, joint=joint)

    @cached_property
    def units(self) -> Units:
        return find_units(self.table, self.schema)

    def results(self, trial: Trial) -> Iterator[AttackResult]:
        """Every attack by every intruder, in the order of a release's plan."""
        share = require_one_share(trial.intruder.targets, "a sweep")
        rates: dict[str, float] = {}
        yield from self._run_attacks(intruders(trial.intruder, self.schema), trial, rates, share)
        for holder in trial.holders:
            for spec in trial.attacks:
                yield self._run_attack(spec, holder.intruder, share, holder)
        while larger := find_larger_insiders(trial.intruder, self.schema, rates):
            yield from self._run_attacks(larger, trial, rates, share)

    def _run_attacks(
        self, who: tuple[Intruder, ...], trial: Trial, rates: dict[str, float], share: float
    ) -> Iterator[AttackResult]:
        """Every attack by these intruders; `rates` then has the largest re-identification rate of each."""
        for intruder in who:
            for spec in trial.attacks:
                result = self._run_attack(spec, intruder, share)
                rates[intruder.name] = max(compute_rate(result.outcomes), rates.get(intruder.name, 0.0))
                yield result
            if self.joint is not None:  # insiders are chosen by what this release tells alone
                yield from self.joint.attack(intruder, share)

    def figures(self, results: tuple[AttackResult, ...], trial: Trial) -> dict[str, StoredFigure]:
        masked, mechanisms = self.done.data, self.done.mechanisms
        found = score(
            *(self.table, masked, self.schema, mechanisms, results, trial.measures),
            alignment=self.alignment,
            n_targets=self.units.n_units,
            files={holder.intruder.name: self._create_truth(holder) for holder in trial.holders},
            joined=None if self.joint is None else self.joint.judge(),
        )
        return encode_figures(found if self.joint is None else (*found, *self.joint.estimate_values()))

    def _run_attack(self, spec: Attack, intruder: Intruder, share: float, holder: FileHolder | None = None) -> AttackResult:
        asked = (spec, intruder, share, "" if holder is None else holder.table)
        if asked not in self.attacked:
            self.attacked[asked] = attack_records(
                *(self._create_truth(holder), self.schema, self.done.mechanisms, spec, intruder),
                targets=self._targets(share * intruder.records) if holder is None else self._targets_in_file(holder, share),
                held=self._targets(intruder.records) if intruder.records < 1 else None,
                sample=self._sample(spec, self._targets(share * intruder.records)),
            )
        return self.attacked[asked]

    def _sample(self, spec: Attack, targets: Integers) -> Integers | None:
        return sample_for_part(spec, self.units, targets, stream(self.seed, "orbits", self.source))

    def _targets(self, share: float) -> Integers:
        return sample_targets(self.table, self.schema, share, stream(self.seed, "targets", self.source))

    @property
    def _files(self) -> ExternalFiles:
        if self.files is None:
            raise ValueError("a trial has holders of external files, which were not given")
        return self.files

    def _create_truth(self, holder: FileHolder | None) -> GroundTruth:
        if holder not in self.truths:
            own = GroundTruth.create_from_tables(self.table, self.done.data, self.schema, self.alignment)
            if holder is not None:
                own = resolve_ground_truth(own, self.schema, holder.intruder, self._files.tables[holder.table])
            self.truths[holder] = own
        return self.truths[holder]

    def _targets_in_file(self, holder: FileHolder, share: float) -> Integers:
        runner = self._create_truth(holder)
        if share >= 1:
            return np.arange(runner.original.n, dtype=np.int64)
        return sample_unit_rows(runner.units, share, stream(self.seed, "targets", self._files.address(runner.original)))


def drop_curve_and_files(intruder: IntruderSpec) -> IntruderSpec:
    """The intruder without the knowledge curve, which no sweep computes, and external files, of which `Trial.holders` tells."""
    return intruder.model_copy(update={"curve": False, "files": (), "combine": ()})
