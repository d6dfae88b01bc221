"""A command that the fork server runs is the command that runs by itself: same output, code, folder, rights and end."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from flows.fork_server import ask, request
from flows.fork_server.serve_forks import _read_versions

ROOT = Path(__file__).resolve().parents[2]
RELEASE = ROOT / "params/releases/anes96.yaml"
ASK_AND_START = """
import sys
from flows.fork_server import ask
{}
try:
    ask.main()
finally:
    if "flows.cli" in sys.modules:
        sys.stderr.write("by itself\\n")
"""

ASK = ASK_AND_START.format("ask._start = lambda *_: None  # no other one takes the place of the one that is tested")


def make_folder(home: Path) -> Path:
    home.mkdir(mode=0o700, exist_ok=True)
    home.chmod(0o700)
    (home / request.FOLDER).mkdir(mode=0o700)
    return home / request.FOLDER


def test_only_a_folder_that_nobody_else_can_write_is_used(tmp_path):
    home = tmp_path / "home"
    environment = {"SDCERT_HOME": str(home)}
    assert request.find_folder(environment) is None
    folder = make_folder(home)
    assert request.find_folder(environment) == folder
    for one in (home, folder):
        one.chmod(0o750)
        assert request.find_folder(environment) is None
        one.chmod(0o700)
    folder.rename(tmp_path / "other")
    folder.symlink_to(tmp_path / "other")
    assert request.find_folder(environment) is None
    assert request.find_folder({"SDCERT_HOME": str(tmp_path / ("long" * 40))}) is None


def test_what_libraries_read_when_imported_makes_another_server_and_a_key_does_not():
    first = request.digest_environment({"HOME": "/h"})
    assert request.digest_environment({"HOME": "/h", "PWD": "/x", "AWS_SECRET_ACCESS_KEY": "k", "SDCERT_HOME": "/y"}) == first
    for name in (
        "PREFECT_LOGGING_LEVEL",
        "NUMBA_DISABLE_JIT",
        "NPY_DISABLE_CPU_FEATURES",
        "PYTHONPATH",
        "TZ",
        "SDCERT_COMPILED",
        "LC_ALL",
    ):
        assert request.digest_environment({"HOME": "/h", name: "1"}) != first, name
    assert "AWS_SECRET_ACCESS_KEY" not in request.select_at_import({"AWS_SECRET_ACCESS_KEY": "k"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PREFECT_API_URL", "http://here/api"),
        ("PGPASSWORD", "word"),
        ("MLFLOW_TRACKING_TOKEN", "word"),
        ("PREFECT_SERVER_DATABASE_CONNECTION_URL", "postgresql://user:word@host/x"),
    ],
)
def test_a_command_that_has_a_secret_or_a_server_of_its_own_asks_no_fork_server(name, value):
    assert request.can_be_kept({"PATH": "/bin", "AWS_SECRET_ACCESS_KEY": "it is not given on"})
    assert not request.can_be_kept({name: value})


def test_nobody_else_is_trusted(monkeypatch):
    one, other = socket.socketpair()
    with one, other:
        assert request.is_of_this_user(one)
        monkeypatch.setattr(os, "geteuid", lambda: 4711)
        assert not request.is_of_this_user(other)


def test_what_confines_a_command_makes_another_server():
    program = "import os; from flows.fork_server import request; {}; print(request.digest_environment(os.environ))"
    found = [
        subprocess.run(
            [sys.executable, "-c", program.format(what)], capture_output=True, text=True, check=True, cwd=ROOT
        ).stdout
        for what in ("pass", "pass", "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})")
    ]
    assert found[0] == found[1]
    assert found[0] != found[2] or len(os.sched_getaffinity(0)) == 1


@pytest.mark.parametrize(
    ("text", "seconds"), [("0", 0), ("soon", None), ("12", 12), ("inf", None), ("nan", None), ("-1", None)]
)
def test_how_long_it_stays(text, seconds):
    assert request.parse_idle_seconds({request.IDLE: text}) == seconds


def test_every_file_of_the_program_is_looked_at():
    versions = _read_versions()
    for name in (
        "requirements.lock",
        "pyproject.toml",
        "tasks/attack/task.py",
        "tasks/report/views/report.css",
        "flows/cli/check.py",
        "sdcert/__init__.py",
    ):
        if (ROOT / name).exists():
            assert str(ROOT / name) in versions, name
    assert len(versions) > 600


class Commands:
    """Commands of one home, by `sdcert` as it is installed or by the command line of this process."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.folder = folder
        names = ("MLFLOW_", "PREFECT_", "PYTEST_", "COV_")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(names)}
        self.environment |= {"SDCERT_HOME": str(home), request.IDLE: "120", "PYTHONPATH": str(ROOT)}

    def begin(self, *words: object, program: str = ASK, umask: int = 0o022, **more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", program, *map(str, words)],
            env=self.environment | more,
            cwd=self.folder,
            umask=umask,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: object, **more: object) -> tuple[int, str, str]:
        process = self.begin(*words, **more)
        out, err = process.communicate(timeout=300)
        return process.returncode, out, err

    def run_forked(self, *words: object, **more: object) -> tuple[int, str, str]:
        code, out, err = self.run(*words, **more)
        assert "by itself" not in err
        return code, out, err

    def run_here(self, *words: object) -> tuple[int, str, str]:
        return self.run(*words, program="from flows.cli import main; main()")


@pytest.fixture
def commands(own, tmp_path, tmp_path_factory):
    """The commands of a home with a fork server."""
    home = tmp_path_factory.mktemp("f")  # its path is short
    folder, made = make_folder(home), Commands(home, tmp_path)
    made.environment["SDCERT_COMPILED"] = str(home / "compiled")
    environment = request.select_at_import(made.environment)
    server = subprocess.Popen(
        [sys.executable, "-P", "-m", "flows.fork_server.serve_forks", str(folder), "120"], env=environment, cwd=folder
    )
    deadline = time.monotonic() + 120
    while not (folder / request.SOCKET).exists():
        assert server.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.1)
    made.server = server
    yield made
    server.kill()
    server.wait()
    shutil.rmtree(folder)  # one that a command began to start finds no place


def children_of(process: psutil.Process) -> list[psutil.Process]:
    found = []
    for one in process.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if one.status() != psutil.STATUS_ZOMBIE:
                found.append(one)
    return found


def wait_for(found, seconds: float = 30.0):
    deadline = time.monotonic() + seconds
    while not (result := found()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return result


def leave_out_cost(ended: tuple[int, str, str]) -> tuple[int, str, str]:
    """What a command said but for the time and the memory that a run may need: they depend on what else the machine does."""
    code, out, err = ended
    return code, "".join(line for line in out.splitlines(keepends=True) if not line.startswith("  cost ")), err


def begin_forked(commands: Commands) -> tuple[subprocess.Popen[str], psutil.Process, psutil.Process]:
    """Who asks, the process that waits, and the one that runs the command; those of the command before have ended."""
    server = psutil.Process(commands.server.pid)
    wait_for(lambda: not children_of(server))
    asked = commands.begin("check", RELEASE)
    both = wait_for(lambda: (found := children_of(server)) and len(found) == 2 and found)
    waiting, worker = sorted(both, key=lambda one: one.ppid() != server.pid)
    return asked, waiting, worker


@pytest.mark.long
def test_a_forked_command_is_the_command(commands, tmp_path):
    server = psutil.Process(commands.server.pid)
    assert list(Path(commands.environment["SDCERT_COMPILED"]).rglob("*_parse_doubles*.nbi")), "it has loaded machine code"
    for words in (
        ("methods",),
        ("check", RELEASE),
        ("check", "absent.yaml"),
        ("check", "--nonsense"),
        ("verify", "absent.csv"),
    ):
        forked, here = leave_out_cost(commands.run_forked(*words)), leave_out_cost(commands.run_here(*words))
        assert forked == here, words

    (tmp_path / "table.csv").write_text("age,town\n" + "".join(f"{20 + i % 50},{'ab'[i % 2]}\n" for i in range(200)))
    assert commands.run_forked("init", "table.csv", "--output", "draft.yaml")[0] == 0
    assert (tmp_path / "draft.yaml").stat().st_mode & 0o777 == 0o644
    assert commands.run_forked("methods", umask=0o027)[0] == 0

    assert "by itself" in commands.run("methods", TZ="Asia/Tokyo")[2]
    assert "by itself" in commands.run("methods", PREFECT_API_URL="http://127.0.0.1:9/api")[2]
    (tmp_path / "prefect.toml").write_text("")
    assert "by itself" in commands.run("methods")[2]
    (tmp_path / "prefect.toml").unlink()
    commands.run_forked("methods")

    asked, waiting, worker = begin_forked(commands)
    asked.kill()
    asked.wait()
    psutil.wait_procs([waiting, worker], timeout=20)
    assert children_of(server) == [], "who kills the command kills the process that runs it"

    asked, *_ = begin_forked(commands)
    os.kill(asked.pid, signal.SIGINT)
    asked.communicate(timeout=60)
    assert asked.returncode == 130

    profile = Path(commands.environment["SDCERT_HOME"], "prefect", "profiles.toml")
    profile.write_text('active = "x"\n[profiles.x]\n')
    assert "by itself" in commands.run("methods")[2]
    profile.unlink()
    assert "by itself" in commands.run("methods", program=f"import os; os.close(0)\n{ASK}")[2]
    commands.run_forked("methods")

    asked, _, worker = begin_forked(commands)
    worker.kill()
    asked.communicate(timeout=60)
    assert asked.returncode == -signal.SIGKILL

    asked, waiting, worker = begin_forked(commands)
    waiting.kill()
    asked.communicate(timeout=60)
    assert asked.returncode in (0, ask.BROKEN), "it ran by itself where it had not begun"
    psutil.wait_procs([worker], timeout=20)
    assert not worker.is_running(), "what nobody waits for does not go on"

    server.suspend()
    assert "by itself" in commands.run("methods")[2]
    server.resume()
    commands.run_forked("methods")

    asked, *_ = begin_forked(commands)
    commands.server.kill()
    _, err = asked.communicate(timeout=60)
    assert (asked.returncode, "by itself" in err) == (0, False), "a command goes on where the fork server is killed"
    assert "by itself" in commands.run("methods")[2]

    (place := Path(commands.environment["SDCERT_HOME"], request.FOLDER, request.SOCKET)).unlink()
    for _ in range(2):
        assert "by itself" in commands.run("methods", program=ASK_AND_START.format(""))[2]
    wait_for(place.exists, 120)
    commands.run_forked("methods")
