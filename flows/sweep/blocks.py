"""Points become trials, trials that share a masked table become groups, and groups become blocks of a few seconds of work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from flows.release import ReleaseSpec
from flows.sweep.basis import SweepBasis
from flows.sweep.continuation import CONTINUATION, Continuation
from flows.sweep.program_digest import compute_program_digest
from flows.sweep.working_set import WorkingSet
from tasks.microdata.canonical import canonical
from tasks.microdata.errors import InputError
from tasks.sweep.evaluation import Trial, TrialGroup, drop_curve_and_files
from tasks.sweep.points import SweepPoint

SECONDS_PER_BLOCK = 2.0  # what a kill may lose, per worker
MOST_GROUPS = 500
GROUP: TypeAdapter[TrialGroup] = TypeAdapter(TrialGroup)
TRIAL: TypeAdapter[Trial] = TypeAdapter(Trial)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One point with the keys of its trials, one per seed. reason: why it has none. continuation: of earlier releases."""

    point: SweepPoint
    keys: tuple[str, ...] = ()
    reason: str | None = None
    schema: str = ""
    group: TrialGroup | None = None
    continuation: Continuation | None = None

    def groups(self) -> Iterator[tuple[str, TrialGroup]]:
        """Per seed its key, and the one trial of the point with that seed."""
        if self.group is None:
            return
        made, trial = self.group, self.group.trials[0]
        for seed, key in enumerate(self.keys):
            yield key, TrialGroup(made.masking, seed, (Trial(key, *_list_attack_parts(trial)),), made.keeps_row_order)


@dataclass(frozen=True, slots=True)
class Job:
    """A group to be computed. pipeline: that of its first trial, by which its cost is judged.

    continuation: what its trials share with earlier releases; None: nothing.
    """

    pipeline: str
    schema: str
    group: TrialGroup
    continuation: Continuation | None = None

    def serialise(self) -> dict[str, Any]:
        found = {"schema": self.schema, "group": GROUP.dump_python(self.group, mode="json", by_alias=True)}
        return found if self.continuation is None else found | {"continuation": _serialise_continuation(self.continuation)}


@dataclass(frozen=True, slots=True)
class Block:
    """Jobs that one task computes. number: its place among the blocks of this sweep."""

    number: int
    jobs: tuple[Job, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(trial.key for job in self.jobs for trial in job.group.trials)

    def put(self, storage: WorkingSet, sweep: str, base: str) -> None:
        """Write down what the block consists of: all that a worker needs to know besides the table."""
        content = {"base": base, "made_by": compute_program_digest(), "jobs": [job.serialise() for job in self.jobs]}
        storage.put_json(block_name(sweep, self.number), content)


def block_name(sweep: str, number: int) -> str:
    return f"{sweep}/blocks/{number}.json"


def list_candidates(
    points: Iterable[SweepPoint], basis: SweepBasis, seeds: int, variant: Callable[[SweepPoint], ReleaseSpec]
) -> Iterator[Candidate]:
    """The points as releases; one that is wrong in itself has a reason and no trials. What is asked of all is kept once."""
    alike: dict[bytes, Trial] = {}
    for point in points:
        try:
            yield _create_candidate(point, basis, seeds, variant(point), alike)
        except InputError as error:
            yield Candidate(point, reason=error.public)


def _create_candidate(
    point: SweepPoint, basis: SweepBasis, seeds: int, release: ReleaseSpec, alike: dict[bytes, Trial]
) -> Candidate:
    schema = basis.schema_of(release.classify_plan)
    masking, continuation = basis.finder.prepare(release, basis.read_schema(release))
    trial = Trial(
        "",
        release.attacks_to_run,
        drop_curve_and_files(release.intruder),
        release.measures_to_compute,
        basis.holders_of(release),
    )
    trial = alike.setdefault(TRIAL.dump_json(trial, by_alias=True), trial)
    group = TrialGroup(masking, 0, (trial,), release.keep_row_order is not None)
    asked = canonical({"base": basis.key, **Job(point.pipeline, schema, group, continuation).serialise()})
    keys = tuple(basis.digest(b"%d:%b" % (seed, asked)) for seed in range(seeds))
    return Candidate(point, keys, None, schema, group, continuation)


def list_jobs(candidates: Iterable[Candidate], held: Callable[[str], bool]) -> list[Job]:
    """What is left to compute, trials that share a masked table together; a trial that two points share is there once."""
    together: dict[Any, tuple[Candidate, TrialGroup, dict[str, Trial]]] = {}
    for candidate in candidates:
        for key, group in candidate.groups():
            if held(key):
                continue
            masked = (candidate.schema, _serialise_masking(group), group.keeps_row_order, group.seed, candidate.continuation)
            entry = together.setdefault(masked, (candidate, group, {}))
            entry[2].setdefault(key, group.trials[0])
    return [
        Job(
            first.point.pipeline,
            first.schema,
            TrialGroup(group.masking, group.seed, tuple(trials.values()), group.keeps_row_order),
            first.continuation,
        )
        for first, group, trials in together.values()
    ]


def split_into_blocks(jobs: Iterable[Job], seconds: Callable[[Job], float], first: int) -> Iterator[Block]:
    """The jobs in their order, in blocks of about `SECONDS_PER_BLOCK` of work."""
    gathered: list[Job] = []
    cost = 0.0
    for job in jobs:
        gathered.append(job)
        cost += seconds(job)
        if cost >= SECONDS_PER_BLOCK or len(gathered) == MOST_GROUPS:
            yield Block(first, tuple(gathered))
            first, gathered, cost = first + 1, [], 0.0
    if gathered:
        yield Block(first, tuple(gathered))


def _serialise_continuation(continuation: Continuation) -> dict[str, Any]:
    found: dict[str, Any] = CONTINUATION.dump_python(continuation, mode="json", by_alias=True)
    return found


def _serialise_masking(group: TrialGroup) -> str:
    return "\n".join(step.model_dump_json(by_alias=True) for step in group.masking)


def _list_attack_parts(trial: Trial) -> tuple[Any, ...]:
    return trial.attacks, trial.intruder, trial.measures, trial.holders
