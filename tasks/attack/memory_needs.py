"""How much memory an attack takes at its peak: measured (docs/BENCHMARKS.md, "A release as its table grows"), not proved.

Attacks run side by side by it, and `sdcert check` tells it before a run. Measure anew when an attack becomes much smaller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tasks.attack.base import AttackSpec
from tasks.attack.transparency.searched_part import MOST_SEARCHED_WHOLE
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import Masking, Mechanism

# By the method of the attack, and that of the step that it follows; "": any other. In parts: of a quarter of the table or less.
_CELL_BYTES: Mapping[str, Mapping[str, float]] = {
    "distance_linkage": {"": 50.0},
    "transparency": {"noise": 150.0, "microaggregation in parts": 85.0, "": 120.0},
    "consistency": {"": 110.0},
    "": {"": 240.0},
}


def estimate_attack_bytes(spec: AttackSpec, steps: Sequence[Masking | Mechanism], n: int, known: int) -> float:
    """At the peak of an attack, beyond the tables. n: records, or rows if these are more; known: attributes of the intruder."""
    by_step = _CELL_BYTES.get(spec.method, _CELL_BYTES[""])
    names = [_name_step(step, n) for step in select_costly_steps(steps, n)]
    return max((by_step.get(name, by_step[""]) for name in names), default=by_step[""]) * n * known


def _name_step(step: Masking | Mechanism, n: int) -> str:
    part = step.records_per_part if isinstance(step, Microaggregation) else None
    return step.method if part is None or part > n / 4 else f"{step.method} in parts"


def select_costly_steps(steps: Sequence[Masking | Mechanism], n: int) -> tuple[Masking | Mechanism, ...]:
    """The steps by which the cost of following them goes: of a large table the groups, of which only the targets' count."""
    grouped = tuple(step for step in steps if isinstance(step, Microaggregation) and step.no_attack_reason is None)
    return grouped if grouped and n > MOST_SEARCHED_WHOLE else tuple(steps)
