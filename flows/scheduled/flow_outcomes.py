"""What a deployed flow says of what became of its command: a state of Prefect's, a sentence without a value, an event."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from flows.notifications.events import KINDS, public_code
from flows.notifications.events import EventKind as EventKind
from flows.run.history import has_runs
from flows.scheduled.child import CommandOutcome
from tasks.runtime.settings import Home
from tasks.score.verdict_word import verdict_word

FlowState = Literal["COMPLETED", "FAILED"]
OK, WRONG_INPUT = 0, 2
AWAY = {
    *("no-server", "ledger-busy", "no-connection", "ledger-not-usable", "home", "output", "store", "store-mark"),
    *("disk-full", "not-allowed", "unfit-file"),
}
OF_THE_HOME = {
    *("lost-seed", "damaged-seed", "damaged-draw", "lost-pseudonym-key", "damaged-key", "ledger-damaged"),
    *("series-of-another-home", "store-key", "damaged-working-set", "damaged-database", "clock-behind"),
}


@dataclass(frozen=True, slots=True)
class FlowOutcome:
    """The state that a flow run ends in, and what is told of it.

    run: of the ledger's, where the command named it; due: the run whose review is due.
    """

    kind: FlowState
    name: str
    says: str
    events: tuple[EventKind, ...] = ()
    run: str | None = None
    due: str | None = None
    release: str | None = None
    series: str | None = None
    code: str | None = None


class Broke(Exception):
    """A command broke, or its process was lost: trying again may help. Holds no value."""


def interpret_common(outcome: CommandOutcome) -> FlowOutcome | None:
    """What every command has in common; None where the command itself has an answer.

    Raises Broke where trying again may help.
    """
    if outcome.timed_out:
        says = f"stopped at its limit, after {outcome.seconds / 60:.1f} minutes; nothing half-made was published"
        return FlowOutcome("FAILED", "TimedOut", f"{says}. {_details(outcome)}", ("timed_out",))
    match outcome.exit_code:
        case 0 | 1:
            return None
        case 2 if _kind(outcome) in AWAY:  # no mistake in the input, but something that does not answer just now
            raise Broke(f"{outcome.code}. {_details(outcome)}")
        case 2 if _kind(outcome) in OF_THE_HOME:  # nothing is wrong with the source, and another try does not mend it
            says = f"the home is not as it should be, and nothing was certified: {outcome.code}. {_details(outcome)}"
            return FlowOutcome("FAILED", "Failed", says, ("failed",), code=outcome.code)
        case 2:
            says = f"the input is wrong, and nothing was certified: {outcome.code or 'no code'}. {_details(outcome)}"
            return FlowOutcome("FAILED", "Quarantined", says, ("quarantined",), code=outcome.code)
        case 130:
            return FlowOutcome("FAILED", "Interrupted", f"somebody ended the command. {_details(outcome)}", ("failed",))
        case None:
            raise Broke(f"the process was lost. {_details(outcome)}")
        case code if code < 0:
            raise Broke(f"the process was ended by signal {-code} (no memory?). {_details(outcome)}")
        case code:
            raise Broke(f"the command broke (exit code {code}). {_details(outcome)}")


def interpret_certify(outcome: CommandOutcome) -> FlowOutcome:
    """Certified, refused or undecided: the machine did its work, and there is nothing to try again."""
    return interpret_common(outcome) or _verdict(_facts(outcome), outcome)


def interpret_watch(outcome: CommandOutcome) -> FlowOutcome:
    """What a look found, and what became of it. A source that cannot be reached just now is tried again."""
    facts = _facts(outcome)
    if not facts:
        return interpret_common(outcome) or _silent(outcome)
    reason, code = str(facts.get("reason")), public_code(facts.get("code"))  # a dropped file can be named after a person
    if facts.get("action") == "away" and not outcome.timed_out:
        raise Broke(f"{code or reason}. {_details(outcome)}")
    common = interpret_common(outcome)
    if common is not None:
        return _add_facts(replace(common, code=facts.get("code") or common.code), facts, f"{reason}: {code or common.says}")
    if facts.get("verdict"):
        return _verdict(facts, outcome)
    return _add_facts(FlowOutcome("COMPLETED", _camel(str(facts.get("action"))), ""), facts, reason)


def interpret_sweep(outcome: CommandOutcome) -> FlowOutcome:
    return interpret_common(outcome) or FlowOutcome("COMPLETED", "Completed", f"the sweep is complete. {_details(outcome)}")


def interpret_check(outcome: CommandOutcome) -> FlowOutcome:
    """Of `audit verify` and `store verify`: whatever they find, a person must look at."""
    if outcome.exit_code == WRONG_INPUT and _kind(outcome) == "no-ledger" and not has_runs(Home.current().root):
        return FlowOutcome("COMPLETED", "Completed", "nothing was certified in this home yet")
    common = interpret_common(outcome)
    if common is not None:
        return replace(common, name="Failed", events=("failed",)) if common.name == "Quarantined" else common
    if outcome.exit_code == OK:
        return FlowOutcome("COMPLETED", "Completed", "nothing was found")
    return FlowOutcome("FAILED", "Found", f"something is wrong. {_details(outcome)}", ("failed",))


def _verdict(facts: dict[str, Any], outcome: CommandOutcome) -> FlowOutcome:
    verdict = facts.get("verdict")
    if outcome.exit_code == OK:
        word = verdict_word("certified", facts.get("exceptions", ()))
        return _add_facts(FlowOutcome("COMPLETED", "Completed", "", ("certified",)), facts, word)
    if verdict not in ("refused", "undecided"):
        return _silent(outcome)
    return _add_facts(FlowOutcome("COMPLETED", verdict.capitalize(), "", (verdict,)), facts, f"{verdict}: nothing was released")


def _silent(outcome: CommandOutcome) -> FlowOutcome:
    raise Broke(f"the command did not say what became of the release. {_details(outcome)}")


def _add_facts(ended: FlowOutcome, facts: dict[str, Any], says: str) -> FlowOutcome:
    """What the command said of it: its run, and the events that it names itself."""
    run = facts.get("run")
    named = tuple(kind for kind in KINDS if kind in facts.get("events", ()))
    message = f"{says} (run {run})" if run else says
    ended = replace(ended, says=message, events=named or ended.events, run=run)
    return replace(ended, release=facts.get("release"), series=facts.get("series"), due=facts.get("review_due"))


def _kind(outcome: CommandOutcome) -> str:
    """Of a mistake in the input, without its place; empty where there is none."""
    return (outcome.code or "").partition(" at ")[0]


def _facts(outcome: CommandOutcome) -> dict[str, Any]:
    return outcome.json if isinstance(outcome.json, dict) else {}


def _details(outcome: CommandOutcome) -> str:
    return f"Private details: scheduled/{outcome.folder.name} in the home"


def _camel(words: str) -> str:
    return "".join(word.capitalize() for word in words.split("_"))
