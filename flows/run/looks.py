"""Name the stages of planned looks at targets, say what each look came to, and check that they went as planned."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tasks.attack.target_looks import TargetLook, TargetLooks, plan_looks
from tasks.microdata.refs import RecordRef
from tasks.runtime.artifacts import Store
from tasks.score.look_decisions import LookOutcome

_OF_LOOK = re.compile(r"\), (look \d+ of \d+)$")
_ENDINGS = {
    "decided": "every line on targets is decided, ends here",
    "broken": "a line is broken, ends here",
    "undecidable": "undecided, and more targets cannot show the line to be kept, ends here",
    "exhausted": "undecided, and this was the last look",
    "open": "undecided, goes on",
}


def name_look(look: TargetLook | None) -> str:
    """What is put behind the name of a stage that is repeated at each look: `, look 2 of 4`; nothing where none are planned."""
    return "" if look is None else f", {look.name}"


def find_look_of_stage(stage: str) -> str | None:
    """The look that the stage of an attack is of; it is also the name of the stage that decides after it. None: of none."""
    found = _OF_LOOK.search(stage)
    return None if found is None else found[1]


def describe_look(outcome: LookOutcome) -> str:
    """`look 2 of 4: 4,642 records attacked: undecided, goes on`."""
    return f"{outcome.look.name}: {outcome.targets:,} {outcome.counts} attacked: {_ENDINGS[outcome.state]}"


def went_as_planned(targets: float | TargetLooks, ended: TargetLook | None, stages: Mapping[str, Any]) -> bool:
    """Were the looks those that the release file plans, each followed by the next one only while a line was open?

    ended: the look whose figures decide. stages: as the recorder of a run has them.
    """
    planned = plan_looks(targets)
    if ended is None or ended not in planned:
        return ended is None and not planned
    outcomes = [_read_outcome(stages, look) for look in planned[: ended.number]]
    taken = [one is not None and one.look == look for one, look in zip(outcomes, planned, strict=False)]
    states = [None if one is None else one.state for one in outcomes]
    return all(taken) and states[-1] != "open" and all(state == "open" for state in states[:-1])


def _read_outcome(stages: Mapping[str, Any], look: TargetLook) -> LookOutcome | None:
    done = stages.get(look.name)
    return None if done is None else Store().record(RecordRef(done["produced"]["outcome"]), LookOutcome)
