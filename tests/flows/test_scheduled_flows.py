"""The flows of deployments: one state, one message to those who want to know, and another try only where it may help."""

from dataclasses import replace
from pathlib import Path

import pytest
from prefect.exceptions import ParameterTypeError

from flows.scheduled.child import CommandOutcome
from tasks.microdata.errors import InputError

CERTIFIED = {"run": "20261121T093000Z-1f2e3d", "release": "survey", "verdict": "certified"}


@pytest.fixture
def flows(home, prefect, monkeypatch):
    """The module of flows; nothing is waited for between tries."""
    from flows.scheduled import flows

    monkeypatch.setattr(flows, "FIRST_DELAY_SECONDS", 0.01)
    return flows


@pytest.fixture
def commands(flows, monkeypatch):
    """`commands(outcome, ...)`: what the commands come to, in order; returns those that were run."""
    ran = []

    def answer(*outcomes):
        left = list(outcomes)

        def run(words, **known):
            ran.append((list(words), known))
            outcome = left.pop(0)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        monkeypatch.setattr(flows, "run_in_process", run)
        return ran

    return answer


@pytest.fixture
def told(flows, monkeypatch):
    events = []
    monkeypatch.setattr(flows, "notify_outcome", lambda kind, **known: events.append((kind, known)))
    return events


def outcome(code, content=None) -> CommandOutcome:
    return CommandOutcome(code, False, 1.0, content, Path("/home/scheduled/x"))


def ended(flow, *arguments, **parameters):
    state = flow(*arguments, return_state=True, **parameters)
    return state.type.value, state.name


def test_a_certified_release(flows, commands, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = commands(outcome(0, CERTIFIED))
    assert ended(flows.certify_release, "r.yaml", output="out", limit_minutes=2, tell=["slack-webhook/sdcert-a"]) == (
        "COMPLETED",
        "Completed",
    )
    ((words, known),) = ran
    assert words == ["certify", str(tmp_path / "r.yaml"), "--output", str(tmp_path / "out"), "--json"]
    assert known["limit_seconds"] == 120
    assert known["asked_by"]["flow_run"]
    ((kind, facts),) = told
    assert kind == "certified"
    assert facts["blocks"] == ["slack-webhook/sdcert-a"]
    assert (facts["run"], facts["release"]) == (CERTIFIED["run"], "survey")


def test_what_broke_is_tried_again_and_what_was_refused_is_not(flows, commands, told):
    refused = outcome(1, {**CERTIFIED, "verdict": "refused"})
    ran = commands(outcome(3), OSError(28, "No space left on device"), refused, refused)
    assert ended(flows.certify_release, "r.yaml") == ("COMPLETED", "Refused")
    assert len(ran) == 3
    assert [kind for kind, _ in told] == ["refused"]


CHOSEN = [
    ("certify_release", {"release": "/etc/passwd"}),
    ("certify_release", {"release": "--refresh"}),
    ("certify_release", {"release": "r.yaml", "output": "/etc"}),
    ("watch_series", {"watch": "../w.yaml"}),
    ("sweep_file", {"sweep": "-o"}),
]


@pytest.mark.parametrize(("name", "parameters"), CHOSEN)
def test_a_path_outside_the_served_folder_and_an_option_run_nothing(flows, commands, told, name, parameters):
    ran = commands()
    state = getattr(flows, name)(**parameters, return_state=True)
    assert (state.type.value, state.name, ran) == ("FAILED", "Failed", [])
    assert "nothing was run" in state.message
    assert "/etc" not in state.message
    ((kind, facts),) = told
    assert (kind, facts["code"].partition(" at ")[0]) == ("failed", "parameter")


def test_after_the_last_try_it_has_failed_and_is_told_once(flows, commands, told):
    ran = commands(*[outcome(3)] * 9)
    assert ended(flows.watch_series, "w.yaml", retries=2) == ("FAILED", "Failed")
    assert len(ran) == 3
    assert [kind for kind, _ in told] == ["failed"]


def test_a_wrong_home_is_not_tried_again(flows, commands, told):
    ran = commands(*[InputError("home", "SDCERT_HOME", "cannot be used", "a folder", "set it")] * 9)
    assert ended(flows.verify_trail) == ("FAILED", "Failed")
    assert len(ran) == 1


def test_no_value_of_an_error_reaches_the_server(flows, commands, told):
    commands(*[ValueError("zanzibar-quux")] * 9)
    state = flows.sweep_file("s.yaml", retries=1, return_state=True)
    assert "zanzibar" not in state.model_dump_json()
    assert state.message.startswith("process: ValueError in run, line ")


def test_telling_never_changes_how_a_run_ended(flows, commands, monkeypatch):
    commands(replace(outcome(2), code="no-such-column at r.yaml: key"))
    monkeypatch.setattr(flows, "find_runs_of_flow", lambda *_: 1 / 0)
    assert ended(flows.certify_release, "r.yaml") == ("FAILED", "Quarantined")


WRONG = [{"limit_minutes": 0}, {"limit_minutes": "soon"}, {"retries": -1}, {"tell": "me"}, {"tell": ["x/y"] * 21}]


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_parameter_is_refused(flows, wrong):
    with pytest.raises(ParameterTypeError):
        flows.verify_trail(**wrong)


def test_a_path_has_a_limit_of_length(flows):
    with pytest.raises(ParameterTypeError):
        flows.certify_release("x" * 1025)


def test_tries_come_ever_later(flows, commands, told, monkeypatch):
    """Half a minute, one, two: counted out when the number of tries is known, and not when the task is defined."""
    monkeypatch.setattr(flows, "FIRST_DELAY_SECONDS", 30)
    commands(outcome(0, {}))
    given = []
    with_options = flows.run_command.with_options
    monkeypatch.setattr(flows.run_command, "with_options", lambda **o: given.append(with_options(**o)) or given[0])
    flows.sweep_file("s.yaml", retries=3)
    assert given[0].retry_delay_seconds == [30, 60, 120]


def test_each_message_names_the_run_that_it_is_about(flows, commands, told):
    facts = {**CERTIFIED, "series": "surveys", "action": "certify", "reason": "new", "verdict": "refused"}
    commands(outcome(1, {**facts, "review_due": "20251121T093000Z-aaaaaa", "events": ["refused", "review_due"]}))
    assert ended(flows.watch_series, "w.yaml") == ("COMPLETED", "Refused")
    about = {kind: known["run"] for kind, known in told}
    assert about == {"refused": CERTIFIED["run"], "review_due": "20251121T093000Z-aaaaaa"}
