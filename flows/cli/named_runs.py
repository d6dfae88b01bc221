"""Which run a command means: by its id, the beginning of that, or the name of its release."""

from __future__ import annotations

from typing import Any

from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal
from tasks.microdata.suggestion import did_you_mean

_SHOWN = 5


def find_finished_run(name: str, known: list[dict[str, Any]], where: str) -> dict[str, Any]:
    """The manifest of the run that a name means: its id, the only one that begins so, or the newest of that release.

    known: newest first. where: the command, for messages. Raises InputError where none or several are meant, and for a run
    without a verdict.
    """
    from flows.run.history import compute_run_status

    exact = [m for m in known if m["run"] == name]
    of_release = [m for m in known if m["release"] == name]
    begins = [m for m in known if name and m["run"].startswith(name)]
    if not exact and not of_release and len(begins) > 1:
        label = ", ".join(m["run"] for m in begins[:_SHOWN])
        raise InputError("ambiguous-run", where, f"{len(begins)} runs begin so.", label, "write more of the id", name)
    chosen = next(iter(exact or of_release or begins), None)
    if chosen is None:
        names = [n for m in known for n in (m["run"], m["release"])]
        raise InputError("no-such-run", where, "There is no such run or release in this home.",
                         "a run id, its beginning, or the name of a release", did_you_mean(name, names, "see `sdcert runs`"),
                         name)  # fmt: skip
    status = compute_run_status(chosen)
    if not chosen.get("verdict"):
        earlier = next((m["run"] for m in of_release if m.get("verdict")), None)
        remedy = f"certify it again, or take an earlier run: {earlier}" if earlier else "certify it again"
        what = f"Run {chosen['run']} of {escape_terminal(chosen['release'])} has no figures: it is {_describe_status(status)}."
        raise InputError("unfinished-run", where, what, "finished runs; `sdcert runs` shows which", remedy, name)
    return chosen


def _describe_status(status: str) -> str:
    return {"running": "still running", "killed": "ended by force", "failed": "failed"}.get(status, status)
