"""Many processes that append at once, and processes that are killed while they do."""

import os
import random
import resource
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from ledgers import appender, began, copied, filled, new_key, short, trusting, write_private

from tasks.audit.ledger.ledger import Ledger
from tasks.audit.ledger.ledger_verification import verify_ledger

KEY = new_key()
NAMES = {"write": os, "fsync": os, "ftruncate": os, "replace": Path}


@dataclass
class Child:
    """A copy of this process that does some work and tells of it through a pipe."""

    pid: int
    pipe: int

    @classmethod
    def doing(cls, work: Callable[[int], object]) -> "Child":
        """work: is given the pipe to write to."""
        read, write = os.pipe()
        pid = os.fork()
        if pid:
            os.close(write)
            return cls(pid, read)
        try:
            work(write)
            os._exit(0)
        finally:
            os._exit(1)

    def told(self) -> bytes:
        """All that it has told, once it has ended."""
        with os.fdopen(self.pipe, "rb") as pipe:
            return pipe.read()

    def ended(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def runs_of(ledger: Ledger) -> dict[int, str]:
    entries = [ledger.entry(line.first_byte, len(line.content)) for line in ledger.lines()]
    return {entry.index: entry.event.run for entry in entries if entry.event.kind == "began"}


def acknowledged(output: bytes) -> dict[int, str]:
    """The whole lines that a process wrote, each after its append returned."""
    lines = [line.split() for line in output.decode().splitlines(keepends=True) if line.endswith("\n")]
    return {int(index): name for index, name in lines}


@pytest.mark.slow
def test_processes_at_once_leave_one_chain_of_all_their_entries(tmp_path):
    ledger, pem = Ledger(tmp_path / "ledger"), write_private(KEY, tmp_path / "key.pem")
    processes = [appender(ledger.folder, pem, 50, f"p{n}") for n in range(3)]
    outputs = [process.communicate(timeout=300)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * 3
    written = [acknowledged(output) for output in outputs]
    assert sum(map(len, written)) == 150
    assert {index: name for one in written for index, name in one.items()} == runs_of(ledger)
    assert set(runs_of(ledger).values()) == {f"p{n}-{i}" for n in range(3) for i in range(50)}
    found = verify_ledger(ledger, trusting(KEY))
    assert (found.findings, found.notes, found.entries) == ((), (), 151)


def appending(ledger: Ledger, name: str) -> Callable[[int], None]:
    def work(pipe: int) -> None:
        for n in range(10_000):
            appended = ledger.append(began(f"{name}-{n}"), KEY)
            os.write(pipe, f"{appended.index} {name}-{n}\n".encode())

    return work


def kill_often(ledger: Ledger, times: int) -> None:
    """Kill two appending processes at random moments, again and again; what they were told must be there, and stay."""
    rng, told = random.Random(times), {}
    for number in range(times):
        children = [Child.doing(appending(ledger, f"{side}{number}")) for side in "ab"]
        first = os.read(children[0].pipe, 1 << 16)  # it appends by now
        time.sleep(rng.uniform(0, 0.03))
        for child in children:
            os.kill(child.pid, signal.SIGKILL)
            time.sleep(rng.uniform(0, 0.01))
        for child, heard in zip(children, (first, b""), strict=True):
            told |= acknowledged(heard + child.told())
            assert child.ended() == -signal.SIGKILL
        there = runs_of(ledger)
        assert told.items() <= there.items()
    assert len(told) >= times
    ledger.append(short(0), KEY)
    found = verify_ledger(ledger, trusting(KEY))
    assert (found.findings, found.entries) == ((), len(runs_of(ledger)) + 2)
    assert list(ledger.folder.glob(".*.tmp")) == []


def test_no_acknowledged_entry_is_lost_by_five_kills(tmp_path):
    kill_often(Ledger(tmp_path / "ledger"), 5)


@pytest.mark.long
def test_no_acknowledged_entry_is_lost_by_fifty_kills(tmp_path):
    kill_often(Ledger(tmp_path / "ledger"), 50)


def dying(name: str, n: int) -> None:
    """Let the n-th call of a function of the system end this process; a write is done by half."""
    real, calls = getattr(NAMES[name], name), [0]

    def call(*words: object) -> object:
        calls[0] += 1
        if calls[0] == n:
            if name == "write":
                real(words[0], words[1][: len(words[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*words)

    setattr(NAMES[name], name, call)


@pytest.mark.parametrize("tail", [b"", b"torn"])
@pytest.mark.parametrize("call", NAMES)
def test_a_kill_at_each_call_of_the_system_leaves_the_ledger_usable(tmp_path, call, tail):
    """The moments that chance does not find: before every call, and in the middle of a write."""
    ledger, ends = filled(tmp_path / "ledger", KEY, 3), []
    with ledger.path.open("ab") as file:
        file.write(tail)
    for n in range(1, 9):
        trial = copied(ledger, tmp_path / "trial")
        child = Child.doing(lambda pipe, trial=trial, n=n: (dying(call, n), trial.append(short(9), KEY)))
        child.told()
        ends.append(child.ended())
        before = verify_ledger(trial, trusting(KEY))
        assert {finding.what for finding in before.findings} <= {"torn"}
        assert before.entries in ((4,) if ends[-1] == 0 else (3, 4))
        assert trial.append(short(5), KEY).index == before.entries
        assert verify_ledger(trial, trusting(KEY)).findings == ()
    assert set(ends) == ({0, -signal.SIGKILL} if tail or call != "ftruncate" else {0})


def test_a_kill_while_a_line_is_cut_off_leaves_a_tail_that_is_set_aside(tmp_path):
    """The disk is full in the middle of a line, and the process dies before it could cut the line off."""
    ledger = filled(tmp_path / "ledger", KEY, 3)

    def work(_: int) -> None:
        dying("ftruncate", 1)
        resource.setrlimit(resource.RLIMIT_FSIZE, (ledger.path.stat().st_size + 100, resource.RLIM_INFINITY))
        ledger.append(short(9), KEY)

    assert Child.doing(work).ended() == -signal.SIGKILL
    assert [finding.what for finding in verify_ledger(ledger, trusting(KEY)).findings] == ["torn"]
    assert ledger.append(short(4), KEY).index == 3
    assert [path.stat().st_size for path in ledger.folder.glob("torn-*")] == [100]
