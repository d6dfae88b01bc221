import os
import signal
import subprocess
import sys

import pytest

from tasks.runtime.files import append_line, hold_file_lock, try_lock, write_whole


def test_a_write_that_fails_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    path = tmp_path / "f"
    write_whole(path, b"old")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["f"]


APPEND = """
import sys; from pathlib import Path; from tasks.runtime.files import append_line
for i in range(50): append_line(Path(sys.argv[1]), f"{sys.argv[2]}-{i}-" + "x" * 200)
"""
HOLD = """
import sys, time; from pathlib import Path; from tasks.runtime.files import try_lock
held = try_lock(Path(sys.argv[1])); print("held", flush=True); time.sleep(60)
"""


def test_lines_of_several_processes_do_not_mix(tmp_path):
    path = tmp_path / "lines"
    writers = [subprocess.Popen([sys.executable, "-c", APPEND, path, str(who)]) for who in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    lines = path.read_text().splitlines()
    assert sorted(lines) == sorted(f"{who}-{i}-" + "x" * 200 for who in range(3) for i in range(50))


def test_a_torn_line_is_closed_before_the_next(tmp_path):
    path = tmp_path / "lines"
    path.write_bytes(b"whole\ntor")
    append_line(path, "next")
    assert path.read_text() == "whole\ntor\nnext\n"


def test_a_lock_is_free_again_when_its_holder_is_killed(tmp_path):
    path = tmp_path / "lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"held\n"
    assert try_lock(path) is None
    with pytest.raises(TimeoutError), hold_file_lock(path, timeout_seconds=0.2):
        pass
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with hold_file_lock(path, timeout_seconds=5):
        assert try_lock(path) is None
