"""What `sdcert check` says of the cost of a run, in words."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from flows.cost.measured_rates import COMPILING_SECONDS
from flows.cost.run_cost import RunCost, estimate_run
from flows.release import ReleaseSpec
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.microdata.compiled import CACHE
from tasks.microdata.words import join_with_and
from tasks.runtime.memory_left import find_memory_left

LONG_SECONDS = 2 * 3600.0
ENOUGH_TARGETS = 10_000
RECORDS_PER_PART = 100_000
WORTH = 0.9  # of the cost: what saves less is not advised
SORT_SECONDS = 0.019  # of 200,000 numbers, where the rates were measured
_SORTED_NUMBERS, _TIMES = 200_000, 5


def describe_cost(cost: RunCost, pace: float | None = None, counts: str = "records") -> list[tuple[str, str]]:
    """Rows for the plan: who is attacked, and what the run will need.

    pace: default: measured now, in 0.1 s. counts: what its units are.
    """
    rows = []
    if cost.attacks:
        whom = f"all {cost.targets:,}" if cost.targets >= cost.units else f"{cost.targets:,} of {cost.units:,}"
        rows.append(("targets", f"{whom} {counts} are attacked, in {cost.attacks} combinations of attack and intruder"))
    bounds = cost.find_bounds(os.cpu_count() or 1, compare_machine() if pace is None else pace)
    compiling = "" if any(CACHE.glob("*")) else f"; compiling machine code takes {format_duration(COMPILING_SECONDS)} more"
    share = cost.slowest.seconds / cost.seconds
    most = f"most of it for {cost.slowest.name}" if share > 0.5 else f"{cost.slowest.name} takes longest"
    text = f"about {format_bounds(*bounds)} on this machine, {most}; about {_describe_memory(cost)} of memory"
    lacks = f"; not counted: {join_with_and(cost.lacks)}" if cost.lacks else ""
    return [*rows, ("cost", f"{text}, both estimated{compiling}{lacks}")]


def list_cost_warnings(release: ReleaseSpec, cost: RunCost) -> Iterator[str]:
    """Warnings of `sdcert check`: too little memory on this machine, or hours."""
    left = find_memory_left()
    if left is not None and cost.least_memory_bytes > left:
        yield warn_of_memory(cost, left)
    if cost.seconds > LONG_SECONDS:
        yield f"the run may take {format_duration(cost.seconds)} or more; {advise_less(release, cost)}"


def _describe_memory(cost: RunCost) -> str:
    least, most = format_memory(cost.least_memory_bytes), format_memory(cost.memory_bytes)
    return most if least == most else f"{most}, or {least} if attacks wait for each other,"


def warn_of_memory(cost: RunCost, left: float) -> str:
    return f"the run may need about {format_memory(cost.least_memory_bytes)} of memory, and {format_memory(left)} are there"


def advise_less(release: ReleaseSpec, cost: RunCost) -> str:
    """What would make the run smaller or shorter, and how much so."""
    ways = []
    for what, changed in _list_changes(release, cost):
        less = estimate_run(changed, cost.size, cost.knows, units=cost.units)
        if less.seconds < WORTH * cost.seconds or less.memory_bytes < WORTH * cost.memory_bytes:
            ways.append(f"{what} (then about {format_duration(less.seconds)} and {format_memory(less.memory_bytes)})")
    return "; ".join([*ways, "publish fewer columns: fewer insiders then make the run smaller and shorter"])


def _list_changes(release: ReleaseSpec, cost: RunCost) -> Iterator[tuple[str, ReleaseSpec]]:
    """Changes of a release file that keep what it masks and who attacks."""
    if cost.targets > ENOUGH_TARGETS:
        share = float(f"{ENOUGH_TARGETS / cost.units:.1g}")
        what = f"`intruder.targets: {share:g}` attacks {share * cost.units:,.0f} records instead of {cost.targets:,}"
        yield what, release.model_copy(update={"intruder": release.intruder.model_copy(update={"targets": share})})
    groups = [one for one in release.masking or () if isinstance(one, Microaggregation) and one.records_per_part is None]
    if groups and cost.size.rows > 2 * RECORDS_PER_PART:
        parts = {"records_per_part": RECORDS_PER_PART}
        steps = tuple(one.model_copy(update=parts) if one in groups else one for one in release.masking or ())
        what = f"`records_per_part: {RECORDS_PER_PART}` of microaggregation groups a large table in parts"
        yield what, release.model_copy(update={"masking": steps})


def describe_cost_fields(cost: RunCost, pace: float | None = None) -> dict[str, Any]:
    """The same for `--json`."""
    least, most = cost.find_bounds(os.cpu_count() or 1, compare_machine() if pace is None else pace)
    return {
        "columns": cost.size.columns,
        "targets": cost.targets,
        "attacks": cost.attacks,
        "memory_bytes": round(cost.memory_bytes),
        "seconds": [round(least), round(most)],
        "slowest": cost.slowest.name,
        "not_counted": list(cost.lacks),
    }


def compare_machine() -> float:
    """How many times as long as where the rates were measured this machine takes: 0.25, 0.5, 1, 2 or 4, judged by a sort."""
    numbers, best = np.random.default_rng(0).random(_SORTED_NUMBERS), float("inf")
    for _ in range(_TIMES):
        begin = time.process_time()
        np.sort(numbers, kind="stable")  # the others are quick where the processor has wide registers, and attacks are not
        best = min(best, time.process_time() - begin)
    return float(2.0 ** np.clip(np.round(np.log2(best / SORT_SECONDS)), -2, 2))


def format_bounds(least: float, most: float) -> str:
    """`3 to 10 minutes`, in the unit of the larger."""
    size, unit = next((one for one in _UNITS if most >= one[0] * _FEWEST), _UNITS[-1])
    low, high = (float(f"{one / size:.1g}") for one in (least, most))
    return f"{low:g} to {high:g} {unit}" if low < high else f"{high:g} {unit}"


_UNITS = ((86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))
_FEWEST = 1.5  # of a unit


def format_duration(seconds: float) -> str:
    return format_bounds(seconds, seconds)


def format_memory(size: float) -> str:
    """`850 MB`, `2.7 GB`: two digits that mean something."""
    if size >= 1e9:
        return f"{size / 1e9:,.2g} GB" if size < 1e11 else f"{size / 1e9:,.0f} GB"
    return f"{float(f'{size / 1e6:.2g}'):g} MB"
