"""Report the results of a sweep at its end: on the terminal, or as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tasks.microdata.words import join_with_and

if TYPE_CHECKING:
    from flows.sweep.execution import SweepExecution
    from flows.sweep.finish import SweepResult

Say = Callable[[str], None]
_NAMED = 10
_MARKS = {"inside": "+", "outside": " ", "undecided": "?"}


def print_sweep_result(say: Say, execution: SweepExecution, found: SweepResult, problem: str | None) -> None:
    """Say what came of a sweep. problem: what went wrong with its tracking."""
    say("")
    counts = ", ".join(f"{count:,} {status}" for status, count in sorted(found.counts.items()))
    say(f"{execution.record.id}: {found.points:,} points, {sum(found.counts.values()):,} trials: {counts}")
    _print_reasons(say, found.reasons)
    say("")
    if found.on_the_map:
        _say_frontier(say, execution, found)
    else:
        say("No point has both a risk and a loss, so there is no map and no frontier.")
        _print_reasons(say, found.nowhere)
    _say_warnings(say, execution, problem)
    say("")
    for name in found.written:
        say(f"  {execution.basis.storage.url.rstrip('/')}/{execution.record.id}/{name}")
    say("  (private: exact figures of the source)")
    if found.frontier:
        best = found.nearest_to_policy
        point, why = ("POINT", "") if best is None else (best.point, "  (keeps the policy, and loses least of those)")
        say(f"  to go on with a point: sdcert sweep promote {execution.record.id} {point} -o NAME.yaml{why}")


def _say_frontier(say: Say, execution: SweepExecution, found: SweepResult) -> None:
    say(f"The frontier: {len(found.frontier):,} of {found.on_the_map:,} points that have both figures; no other beats them.")
    say(f"  risk: {found.risk}; loss: {found.loss}; means over the seeds")
    keeping = sum(one.policy == "inside" for one in found.frontier)
    say(f"  + keeps every line of the policy of {execution.sweep.base.name} under every seed: {keeping:,} of them")
    for one in found.frontier[: 3 * _NAMED]:
        values = ", ".join(f"{path}={value}" for path, value in one.parameters.items())
        figures = f"risk {one.risk:<10.5g} loss {one.loss:<10.5g}"
        say(f"  {_MARKS[one.policy]} point {one.point:>6}  {figures} {one.pipeline}: {values}")
    if len(found.frontier) > 3 * _NAMED:
        say(f"  and {len(found.frontier) - 3 * _NAMED:,} more; --json lists them")


def _print_reasons(say: Say, reasons: Any) -> None:
    for reason, count in list(reasons.items())[:_NAMED]:
        say(f"  {count:>6,}  {reason}")


def _say_warnings(say: Say, execution: SweepExecution, problem: str | None) -> None:
    base = execution.sweep.base
    if left := sorted({line.measure for line in base.policy} - {line.measure for line in base.policy_of_sweep}):
        say(f"warning: a sweep leaves limits on {join_with_and(left)} to the certification of a point")
    if execution.lost:
        again = "the same command tries them again"
        if execution.is_stopped:
            again = f"the search stopped there, because what it tries next rests on every result; {again} and goes on"
        say(f"warning: {len(execution.lost):,} trials were lost with their workers; {again}")
    if problem is not None:
        say(f"warning: MLflow: {problem}; the sweep itself is complete, and the same command records it again")


def as_dict(execution: SweepExecution, found: SweepResult) -> dict[str, Any]:
    """What `--json` prints."""
    members = [
        {
            "point": one.point,
            "pipeline": one.pipeline,
            "parameters": one.parameters,
            "risk": one.risk,
            "loss": one.loss,
            "keeps_policy": {"inside": True, "outside": False}.get(one.policy),
        }
        for one in found.frontier
    ]
    return {
        "id": execution.record.id,
        "name": execution.sweep.spec.name,
        "points": found.points,
        "trials": dict(found.counts),
        "reasons": dict(found.reasons),
        "nowhere": dict(found.nowhere),
        "lost": len(execution.lost),
        "stopped": execution.is_stopped,
        "risk": found.risk,
        "loss": found.loss,
        "frontier": members,
        "folder": f"{execution.basis.storage.url.rstrip('/')}/{execution.record.id}",
        "written": list(found.written),
        "judged_with": [
            {"name": one.name, "release": one.release, "attacked": one.tables is not None, "reason": one.reason}
            for one in execution.earlier
        ],
    }
