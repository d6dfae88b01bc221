"""A process that is kept: whatever hangs in it is ended at its limit, and nothing of it outlives who asked for it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

import psutil
import pytest
from outcomes import ROOT

from flows.scheduled.process_tree import ProcessTree
from flows.scheduled.supervisor import MARK, find_marked_processes
from tasks.runtime.servers import orphans

WAIT = "import time; time.sleep(600)"
DEAF = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); {WAIT}"
# one loop of native code that gives the interpreter up only when it ends: a signal's handler waits for it
NATIVE = "import sys; print('native', flush=True); pow(7, 10**9)"
CHILDREN = f"""
import subprocess, sys
subprocess.Popen([sys.executable, "-c", {DEAF!r}])
subprocess.Popen([sys.executable, "-c", {DEAF!r}], start_new_session=True)
subprocess.Popen([sys.executable, "-c", "import os, time\\nif os.fork() == 0: time.sleep(600)"])
print("three", flush=True)
{WAIT}
"""


@pytest.fixture
def kept(tmp_path):
    """`kept(code, ...)`: Python code as a kept process; ended after the test."""
    started = []

    def start(code: str, *, limit: float | None = None, grace: float = 0.3, **options: object) -> ProcessTree:
        one = ProcessTree(
            [sys.executable, "-S", "-c", code],
            environment=dict(os.environ),
            out=tmp_path / "out",
            err=tmp_path / "err",
            limit_seconds=limit,
            grace_seconds=grace,
            **options,
        )
        started.append(one)
        return one

    yield start
    for one in started:
        one.stop()
        assert find_marked_processes(one.mark) == []


def until(condition, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def said(tmp_path: Path, text: str) -> bool:
    return (tmp_path / "out").exists() and text in (tmp_path / "out").read_text()


@pytest.mark.parametrize("code", [0, 1, 3])
def test_an_exit_code_is_told_as_it_was(kept, code):
    ending = kept(f"raise SystemExit({code})").wait(90)
    assert (ending.exit_code, ending.stopped) == (code, None)


def test_a_signal_is_told_as_its_negative_number(kept):
    ending = kept("import os; os.kill(os.getpid(), 11)").wait(90)
    assert (ending.exit_code, ending.stopped) == (-signal.SIGSEGV, None)


def test_what_cannot_be_started_is_told(tmp_path):
    absent = ProcessTree(
        ["/no/such/program"],
        environment=dict(os.environ),
        out=tmp_path / "out",
        err=tmp_path / "err",
        limit_seconds=1,
        grace_seconds=1,
    )
    ending = absent.wait(90)
    assert (ending.exit_code, ending.stopped) == (None, "not started")


@pytest.mark.slow
@pytest.mark.parametrize("code", [WAIT, DEAF, NATIVE, CHILDREN], ids=["sleeps", "deaf", "native", "children"])
def test_the_limit_ends_what_hangs_and_all_that_it_started(kept, code):
    one = kept(code, limit=0.8)
    ending = one.wait(90)
    assert ending.stopped == "limit"
    assert ending.exit_code in (-signal.SIGTERM, -signal.SIGKILL)
    assert find_marked_processes(one.mark) == []


def test_who_listens_has_the_grace_to_end_in_order(kept, tmp_path):
    code = "import signal, sys\ndef end(*_): print('in order', flush=True); sys.exit(5)\nsignal.signal(15, end)\nsignal.pause()"
    ending = kept(code, limit=0.5, grace=10).wait(90)
    assert (ending.exit_code, ending.stopped) == (5, "limit")
    assert said(tmp_path, "in order")


def test_a_stopped_process_is_killed_too(kept):
    ending = kept("import os; os.kill(os.getpid(), 19)", limit=0.5).wait(90)
    assert (ending.exit_code, ending.stopped) == (-signal.SIGKILL, "limit")


def test_what_it_left_behind_is_ended_with_it_unless_it_is_to_go_on(kept):
    code = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {WAIT!r}], start_new_session=True)"
    ended = kept(code)
    assert ended.wait(90).exit_code == 0
    assert find_marked_processes(ended.mark) == []
    left = kept(code, leave=True)
    assert left.wait(90).exit_code == 0
    (survivor,) = [one for one in find_marked_processes(left.mark) if one.pid != left._keeper.pid]
    assert survivor.pid not in {one.pid for one in orphans()}
    assert (left.alive, left.guarding) == (False, True)
    left.stop()
    assert find_marked_processes(left.mark) == []


def test_asked_for_its_end_it_ends(kept, tmp_path):
    one = kept(DEAF)
    until(lambda: said(tmp_path, "deaf"))
    one.ask()
    assert one.wait(90).stopped == "asked"


def test_a_keeper_that_is_killed_takes_nothing_with_it(kept, tmp_path):
    """Its own child dies with it (on Linux), the rest by the mark."""
    one = kept(CHILDREN)
    until(lambda: said(tmp_path, "three") and len(find_marked_processes(one.mark)) >= 5)
    keeper = psutil.Process(one._keeper.pid)
    keeper.kill()
    ending = one.wait(90)
    assert (ending.exit_code, ending.stopped) == (None, "keeper lost")
    assert find_marked_processes(one.mark) == []


ASKS = f"""
import os, pathlib, sys
from flows.scheduled.process_tree import ProcessTree
folder = pathlib.Path(sys.argv[1])
one = ProcessTree([sys.executable, "-S", "-c", {CHILDREN!r}], environment=dict(os.environ), out=folder / "out",
                  err=folder / "err", limit_seconds=600, grace_seconds=0.3)
print(one.mark, flush=True)
one.wait()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_who_asked_however_they_die(tmp_path, number):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    asks = subprocess.Popen([sys.executable, "-c", ASKS, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=environment)
    mark = asks.stdout.readline().strip()
    try:
        until(lambda: said(tmp_path, "three") and len(find_marked_processes(mark)) >= 5)
        asks.send_signal(number)
        asks.wait()
        until(lambda: find_marked_processes(mark) == [])
    finally:
        asks.kill()
        for process in find_marked_processes(mark):
            process.kill()


def test_a_process_kept_by_a_kept_one_belongs_to_both(kept, tmp_path):
    argument = f"sys.argv[1:] = [{str(tmp_path / 'inner')!r}]"
    one = kept(f"import sys; sys.path = {[str(ROOT), *sys.path]!r}; {argument}\n{ASKS}")
    (tmp_path / "inner").mkdir()
    until(lambda: said(tmp_path / "inner", "three"))
    inner = next(iter((tmp_path / "out").read_text().split()))
    until(
        lambda: (
            {process.pid for process in find_marked_processes(inner)}
            < {process.pid for process in find_marked_processes(one.mark)}
        )
    )
    one.stop()
    assert find_marked_processes(inner) == []


@pytest.mark.slow
def test_output_is_private_and_bounded_and_its_end_is_kept(kept, tmp_path):
    most = 200_000
    kept("for i in range(100_000): print(i, 'x' * 20)", most_bytes=most).wait(90)
    parts = [tmp_path / "out", tmp_path / "out.1"]
    assert all(part.stat().st_mode & 0o777 == 0o600 and part.stat().st_size <= most + (1 << 16) for part in parts)
    assert parts[0].read_text().splitlines()[-1].startswith("99999 ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.1"]


def test_output_that_cannot_be_written_stops_nobody(tmp_path):
    one = ProcessTree(
        [sys.executable, "-S", "-c", "print('x' * 1_000_000, flush=True)"],
        environment=dict(os.environ),
        out=Path("/dev/full"),
        err=tmp_path / "err",
        limit_seconds=20,
        grace_seconds=1,
    )
    assert one.wait(90).exit_code == 0


def test_the_process_kept_can_be_interrupted_as_any_other(kept):
    """Signals that its keeper does not heed must not reach it as ignored."""
    ending = kept(
        "import signal; assert signal.getsignal(2) is signal.default_int_handler; assert signal.getsignal(1) == 0"
    ).wait(90)
    assert ending.exit_code == 0


# run_in_process


@pytest.fixture
def child(home):
    from flows.scheduled import child

    return child


def test_a_command_runs_in_this_home_and_says_what_it_prints(child, home, monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", "")
    outcome = child.run_in_process(["doctor", "--json"], limit_seconds=120)
    assert outcome.exit_code == 0, outcome
    assert not outcome.timed_out and outcome.seconds > 0
    assert outcome.folder.parent == home / "scheduled"
    assert {"findings", "failed"} <= outcome.json.keys()


def test_a_wrong_command_line_is_exit_code_2_and_prints_no_json(child):
    outcome = child.run_in_process(["certify", "--nonsense"], limit_seconds=60)
    assert (outcome.exit_code, outcome.json) == (2, None)
    assert "nonsense" in (outcome.folder / "stderr").read_text()
    assert outcome.code is None


@pytest.mark.slow
def test_a_mistake_in_the_input_is_told_by_its_code_alone(child, tmp_path):
    (tmp_path / "release.yaml").write_text("name: secret-value\nsource: {table: absent.csv}\nkind: secret-value\n")
    outcome = child.run_in_process(["check", str(tmp_path / "release.yaml")], limit_seconds=60)
    assert outcome.exit_code == 2
    assert outcome.code == f"release-file at {tmp_path / 'release.yaml'}, line 3: kind"
    assert "secret-value" not in outcome.code


def test_the_limit_of_a_command(child, monkeypatch, tmp_path):
    monkeypatch.setattr(child, "create_child_environment", lambda *_: {**os.environ, "PYTHONPATH": str(tmp_path)})
    (tmp_path / "flows").mkdir()
    (tmp_path / "flows" / "cli.py").write_text(WAIT)
    outcome = child.run_in_process(["certify"], limit_seconds=1, grace_seconds=1)
    assert (outcome.exit_code, outcome.timed_out) == (None, True)


def test_what_ends_well_while_it_is_asked_to_end_has_not_timed_out(child, monkeypatch, tmp_path):
    monkeypatch.setattr(child, "create_child_environment", lambda *_: {**os.environ, "PYTHONPATH": str(tmp_path)})
    (tmp_path / "flows").mkdir()
    code = "import signal, sys\ndef end(*_): print('{}', flush=True); sys.exit(1)\nsignal.signal(15, end)\nsignal.pause()"
    (tmp_path / "flows" / "cli.py").write_text(code)
    outcome = child.run_in_process(["certify"], limit_seconds=1, grace_seconds=10)
    assert (outcome.exit_code, outcome.timed_out, outcome.json) == (1, False, {})


def test_a_command_does_not_take_itself_for_the_flow_run_that_asked(child):
    environment = {
        "PREFECT__FLOW_RUN_ID": "a",
        "PREFECT__DEPLOYMENT_NAME": "b",
        "PREFECT_API_URL": "http://127.0.0.1:4200/api",
        "PYTHONPATH": f"/elsewhere{os.pathsep}{ROOT}",
        "SDCERT_SIGNING_PASSPHRASE": "kept",
    }
    made = child.create_child_environment(environment, {"deployment": "weekly", "flow_run": "f"})
    assert not [name for name in made if name.startswith("PREFECT__")]
    assert made["PREFECT_API_URL"] == environment["PREFECT_API_URL"]
    assert made["PYTHONPATH"].split(os.pathsep) == [str(ROOT), "/elsewhere"]
    assert (made["SDCERT_ASKED_BY_DEPLOYMENT"], made["SDCERT_ASKED_BY_FLOW_RUN"]) == ("weekly", "f")
    assert made["SDCERT_SIGNING_PASSPHRASE"] == "kept"


def test_the_ledger_names_the_deployment_that_asked(home, monkeypatch):
    from flows.run.run_entries import identify_requester

    monkeypatch.setenv("SDCERT_ASKED_BY_DEPLOYMENT", "weekly")
    monkeypatch.setenv("SDCERT_ASKED_BY_FLOW_RUN", "0199-f")
    assert (identify_requester().deployment, identify_requester().flow_run) == ("weekly", "0199-f")


def test_what_was_printed_a_month_ago_is_removed(child, home):
    old, young = home / "scheduled" / "old", home / "scheduled" / "young"
    for folder in (old, young):
        folder.mkdir(parents=True)
        (folder / "stdout").write_text("{}")
    long_ago = time.time() - 31 * 86_400
    os.utime(old, (long_ago, long_ago))
    child.run_in_process(["--version"], limit_seconds=60)
    assert not old.exists() and young.exists()


def test_a_flow_run_whose_process_is_gone_is_known(home):
    from flows.scheduled.command_requests import CommandRequest, find_lost_requests

    folders = [home / "scheduled" / name for name in ("here", "gone", "another")]
    for folder in folders:
        folder.mkdir(parents=True)
    one, two, three = (str(uuid4()) for _ in range(3))
    here = CommandRequest.here(one, "weekly", folders[0])
    here.remember()
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    gone = CommandRequest(two, "weekly", ended.pid, "1", 1.0, "gone")
    another = CommandRequest(three, None, here.process, f"{here.started}0", here.at, "another")  # its id is used again
    gone.remember()
    another.remember()
    (home / "scheduled" / "broken").mkdir()
    (home / "scheduled" / "broken" / "asked-by.json").write_text(json.dumps({"flow_run": 1}))
    assert {one.flow_run for one in find_lost_requests()} == {two, three}
    gone.forget()
    assert {one.flow_run for one in find_lost_requests()} == {three}


def test_a_clock_that_is_set_makes_no_living_flow_run_a_lost_one(home, monkeypatch):
    """psutil counts from the boot, which moves when the clock of the day is set."""
    import psutil

    from flows.scheduled.command_requests import CommandRequest, find_lost_requests
    from tasks.runtime import processes, servers

    folder = home / "scheduled" / "here"
    folder.mkdir(parents=True)
    CommandRequest.here(str(uuid4()), "weekly", folder).remember()
    monkeypatch.setenv(processes.OWNER, f"{os.getpid()}:{processes.read_process_start(os.getpid())}")
    with subprocess.Popen([sys.executable, "-S", "-c", WAIT]) as process:
        try:
            booted = psutil._pslinux.boot_time()
            monkeypatch.setattr(psutil._pslinux, "boot_time", lambda: booted + 3600)
            assert list(find_lost_requests()) == []
            assert process.pid not in {one.pid for one in servers.orphans(os.environ.get("SDCERT_HOME"))}
        finally:
            process.kill()


def test_a_flow_run_whose_command_goes_on_for_its_grace_is_not_lost_yet(home):
    from flows.scheduled.command_requests import CommandRequest, find_lost_requests

    (home / "scheduled" / "gone").mkdir(parents=True)
    flow_run = str(uuid4())
    CommandRequest(flow_run, "weekly", 2**22 + 1, "1", 1.0, "gone").remember()
    with subprocess.Popen(
        [sys.executable, "-S", "-c", WAIT], env={**os.environ, "SDCERT_ASKED_BY_FLOW_RUN": flow_run}
    ) as command:
        try:
            assert list(find_lost_requests()) == []
        finally:
            command.kill()
    assert [one.flow_run for one in find_lost_requests()] == [flow_run]


def test_the_mark_is_no_part_of_another_one(monkeypatch):
    monkeypatch.setenv(MARK, "abcdef")
    with subprocess.Popen([sys.executable, "-S", "-c", WAIT]) as process:
        try:
            assert process.pid in {one.pid for one in find_marked_processes("abcdef")}
            assert find_marked_processes("abc") == []
        finally:
            process.kill()


def test_the_empty_mark_is_on_no_process():
    assert find_marked_processes("") == []
