"""What a run of a release will cost: CPU time and memory by stage, judged by rates that were measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from flows.cost import measured_rates as rates
from flows.cost.measured_rates import Rate
from flows.release import ReleaseSpec
from tasks.attack.insiders import list_set_sizes
from tasks.attack.memory_needs import estimate_attack_bytes, select_costly_steps
from tasks.attack.methods import Attack
from tasks.attack.target_looks import TargetLooks, find_largest_share, plan_looks
from tasks.attack.threat import INSIDER_ROLES
from tasks.ingest.table_size import TableSize
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import Masking, Mechanism
from tasks.microdata.schema import Role
from tasks.runtime.memory_gate import ATTACKS_AT_ONCE

FASTEST, SLOWEST = 0.6, 2.5  # times what was estimated


@dataclass(frozen=True, slots=True)
class StageCost:
    """One stage, or one attack by all its intruders.

    seconds: if all planned looks at targets are taken. peak_bytes: of the whole process while it runs. alone_bytes: where
    memory is short, so that attacks run one after the other; default: as much. first_seconds: if the first look decides;
    default: as long.
    """

    name: str
    seconds: float
    peak_bytes: float
    alone_bytes: float | None = None
    first_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class RunCost:
    """Of one run on a table of this size, of which `targets` records are attacked by `attacks` attacks and intruders.

    units: the records, or persons, who could be attacked. lacks: what comes on top, because no rate of it is known. knows: as
    `estimate_run` was given it.
    """

    size: TableSize
    units: int
    targets: int
    attacks: int
    stages: tuple[StageCost, ...]
    lacks: tuple[str, ...] = ()
    knows: tuple[int, ...] | None = None

    @property
    def memory_bytes(self) -> float:
        """Of the run and the server of the home, at the peak, where attacks run side by side."""
        return max(stage.peak_bytes for stage in self.stages) + rates.SERVER_BYTES

    @property
    def least_memory_bytes(self) -> float:
        """The same where attacks run one after the other, as they do where memory is short (`tasks.runtime.memory_gate`)."""
        peaks = (stage.peak_bytes if stage.alone_bytes is None else stage.alone_bytes for stage in self.stages)
        return max(peaks) + rates.SERVER_BYTES

    @property
    def seconds(self) -> float:
        """CPU seconds, without the compilation of machine code."""
        return rates.START_SECONDS + sum(stage.seconds for stage in self.stages)

    @property
    def slowest(self) -> StageCost:
        return max(self.stages, key=lambda stage: stage.seconds)

    def find_bounds(self, cores: int, pace: float = 1.0) -> tuple[float, float]:
        """The least and the most seconds that the run may take; only attacks run side by side, and the first look may decide.

        pace: how many times as long as where the rates were measured this machine takes for the same work.
        """
        at_once, least = min(ATTACKS_AT_ONCE, max(cores, 1)), rates.START_SECONDS
        for stage in self.stages:
            seconds = stage.seconds if stage.first_seconds is None else stage.first_seconds
            least += seconds / at_once if stage.name.startswith("attack") else seconds
        return FASTEST * pace * least, SLOWEST * pace * self.seconds


def estimate_run(
    release: ReleaseSpec,
    size: TableSize,
    knows: tuple[int, ...] | None = None,
    with_earlier: int = 0,
    units: int | None = None,
) -> RunCost:
    """The cost of a release of a table.

    knows: of each intruder, how many attributes they know; None: judged by what the release file declares. with_earlier: how
    many attacks join the release with earlier ones; they are counted, and what they cost is not known. units: the records, or
    persons, who are masked; None: all rows but those that are set aside as a control.
    """
    known = (count_known_attributes(release, size.columns) if knows is None else knows) if release.kind.is_table else ()
    units = round(size.rows * (1 - (release.control_share or 0.0))) if units is None else units
    targets = [round(units * share * release.intruder.records) for share in _list_shares(release.intruder.targets)]
    plan = release.attacks_to_run
    stages = (
        *_list_making(release, size),
        *_list_attacks(release, size, known, targets),
        *_list_other_attacks(release, size),
        *_list_describing(size, targets[-1], len(plan) * len(known)),
    )
    lacks = (*_list_unknown(release), *(["attacks together with earlier releases"] if with_earlier else []))
    return RunCost(size, units, targets[-1], len(plan) * len(known) + with_earlier, stages, lacks, knows)


def _list_shares(targets: float | TargetLooks) -> tuple[float, ...]:
    """The share that is attacked at each planned look; the one share where none are planned."""
    return tuple(look.share for look in plan_looks(targets)) or (find_largest_share(targets),)


def count_known_attributes(release: ReleaseSpec, columns: int) -> tuple[int, ...]:
    """How many attributes each intruder knows, as far as the release file says: what it does not declare counts as known.

    Also those who are chosen by what others find.
    """
    roles = Counter(attribute.role for attribute in release.attributes)
    keys = roles[Role.QUASI_IDENTIFIER] + max(columns - len(release.attributes), 0) + roles[None]
    declared = max(keys if release.intruder.knows is None else len(release.intruder.knows), 1)
    others = sum(roles[role] for role in INSIDER_ROLES)
    insiders = list_set_sizes(release.intruder.insiders_know, others)
    return (declared, *(keys + size for size in insiders), *(range(1, declared) if release.intruder.curve else ()))


def _list_unknown(release: ReleaseSpec) -> Iterator[str]:
    """What costs time or memory for which there is no rate."""
    if not release.kind.is_table:
        yield "the training of models"
    if release.control_plan is not None:
        yield "the control table"
    if release.intruder.files:
        yield "external files"
    if release.limits_singling_out:
        yield "singling out"
    yield from (attack.attack_id for attack in release.attacks_to_run if attack.method not in rates.ATTACKS)


def _list_making(release: ReleaseSpec, size: TableSize) -> Iterator[StageCost]:
    read = rates.INGEST_TEXT if size.is_text else rates.INGEST_TYPED
    held = rates.START_BYTES + size.cells * rates.TABLE_BYTES
    yield StageCost("ingest", read.compute_seconds(size.rows, size.columns), held + size.cells * read.cell_bytes)
    yield _create_stage("classify", rates.CLASSIFY, size, 1)
    for step in release.masking or ():
        columns = len(step.explicit_attributes or ()) or size.columns
        rate = _find_mask_rate(step)
        seconds = rate.compute_seconds(size.rows, columns)
        yield StageCost(f"mask ({step.method})", seconds, _hold(size) + rate.compute_bytes(size.rows, columns))


def _find_mask_rate(step: Mechanism) -> Rate:
    in_parts = isinstance(step, Microaggregation) and step.records_per_part is not None
    return rates.MASKS.get(rates.GROUPS_IN_PARTS if in_parts else step.method, rates.OTHER_MASK)


def _list_attacks(release: ReleaseSpec, size: TableSize, known: tuple[int, ...], targets: Sequence[int]) -> Iterator[StageCost]:
    """targets: how many records each look attacks; all attacks run anew at each."""
    for attack in release.attacks_to_run:
        rate = _find_attack_rate(attack, release.steps, size.rows)
        calls = len(known) * rates.ATTACK_CALL.compute_seconds(size.rows, rates.COLUMNS)
        asked = [size.rows if attack.traits.depends_on_others else n for n in targets]
        looks = [calls + sum(rate.compute_seconds(size.rows, columns, n) for columns in known) for n in asked]
        pairs = rate.compute_bytes(size.rows, size.columns)
        cells = (estimate_attack_bytes(attack, release.steps, size.rows, columns) for columns in known)
        peaks = sorted((pairs + one for one in cells), reverse=True)
        held = _hold(size)
        most, alone = held + sum(peaks[:ATTACKS_AT_ONCE]), held + sum(peaks[:1])
        yield StageCost(f"attack ({attack.attack_id})", sum(looks), most, alone, looks[0])


def _find_attack_rate(attack: Attack, steps: Sequence[Masking | Mechanism], rows: int) -> Rate:
    """That of the step that costs most; of large tables that of groups, where only those of the targets are looked at."""
    steps = select_costly_steps(steps, rows)
    weighed = f"{attack.method}:{getattr(attack, 'matching', '')}"
    known: Mapping[str, Rate] = rates.ATTACKS.get(weighed) or rates.ATTACKS.get(attack.method) or rates.ATTACKS[""]
    methods = {step.method for step in steps}
    found = [rate for names, rate in known.items() if names and methods.issuperset(names.split(" and "))] or [known[""]]
    return max(found, key=lambda rate: rate.compute_seconds(rates.ROWS, rates.COLUMNS, rates.TARGETS))


def _list_other_attacks(release: ReleaseSpec, size: TableSize) -> Iterator[StageCost]:
    share = min(size.rows / rates.INFERRED_PEOPLE, 1.0)
    secrets = sum(attribute.role == Role.CONFIDENTIAL for attribute in release.attributes)
    rehearsed = 1 if release.control is not None else 2
    if release.inference_attacks and secrets:
        seconds = rates.INFERENCE_SECONDS * secrets * rehearsed * share * len(release.inference_attacks)
        yield StageCost("attack (inference)", seconds, _hold(size))
    for attack in release.membership_attacks:
        yield _create_stage(f"attack ({attack.method})", rates.MEMBERSHIP, size, 1)


def _list_describing(size: TableSize, targets: int, attacks: int) -> Iterator[StageCost]:
    outcomes = targets * attacks * rates.OUTCOME_BYTES
    score = _create_stage("score", rates.SCORE, size, 1)
    more = attacks * rates.SCORE_OF_ATTACK.compute_seconds(size.rows, rates.COLUMNS)
    yield StageCost("score", score.seconds + more, score.peak_bytes + outcomes)
    report = _create_stage("report", rates.REPORT, size, 1)
    yield StageCost("report", report.seconds, report.peak_bytes + outcomes)


def _create_stage(name: str, rate: Rate, size: TableSize, calls: int) -> StageCost:
    seconds = calls * rate.compute_seconds(size.rows, size.columns)
    return StageCost(name, seconds, _hold(size) + rate.cell_bytes * size.cells)


def _hold(size: TableSize) -> float:
    """What a process holds when the source is read: the source, the masked and the released table."""
    return rates.BASE_BYTES + 3 * rates.TABLE_BYTES * size.cells
