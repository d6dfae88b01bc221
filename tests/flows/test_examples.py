"""`sdcert examples`, and what a wheel carries of the files that the program reads from the root of a checkout."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from flows.cli import run

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted(path.relative_to(ROOT) for path in (ROOT / "params").rglob("*") if path.is_file())
SOURCES = ("flows", "sdcert", "tasks")


def test_the_examples_are_written_and_left_alone(tmp_path, capsys):
    assert run(["examples", "--to", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [str(tmp_path / path) for path in EXAMPLES]
    assert all((tmp_path / path).read_bytes() == (ROOT / path).read_bytes() for path in EXAMPLES)
    assert run(["examples", "--to", str(tmp_path)]) == 0
    first, second = (tmp_path / path for path in EXAMPLES[:2])
    first.unlink()
    second.write_text("edited")
    assert run(["examples", "--to", str(tmp_path)]) == 2
    assert (first.exists(), second.read_text()) == (False, "edited")


def test_another_package_of_the_same_name_is_said(tmp_path):
    (tmp_path / "tasks.py").write_text("")
    code = "import sys; sys.path.append(sys.argv[1]); import sdcert; sdcert.mask"
    done = subprocess.run([sys.executable, "-c", code, str(ROOT)], cwd=tmp_path, capture_output=True, text=True, check=False,
                          env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"})  # fmt: skip
    assert done.returncode == 1
    assert f"ImportError: sdcert needs its own package `tasks` in {ROOT}" in done.stderr


@pytest.mark.slow
def test_a_wheel_holds_what_the_program_reads_and_runs_without_the_checkout(tmp_path):
    """Built in a copy, because setuptools leaves folders where it builds; unpacked, it runs from an empty folder."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout.split("\0")  # fmt: skip
    named = [name for name in listed if name and name.split("/")[0] not in ("tests", "docs", "benchmarks")]
    for name in named:
        if (ROOT / name).is_file():
            (tmp_path / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "copy" / name).write_bytes((ROOT / name).read_bytes())
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(tmp_path), "."]
    subprocess.run(build, cwd=tmp_path / "copy", check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        held = set(opened.namelist())
        opened.extractall(tmp_path / "installed")
    modules = {name for name in named if name.split("/")[0] in SOURCES}
    carried = {f"sdcert/project/{name}" for name in ("requirements.lock", "prefect.yaml", *map(Path.as_posix, EXAMPLES))}
    assert held >= modules | carried

    empty = tmp_path / "empty"
    empty.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed"), "SDCERT_HOME": str(tmp_path / "home")}

    def ask(code: str) -> str:
        return subprocess.run([sys.executable, "-c", code], cwd=empty, env=environment, capture_output=True, text=True,
                              check=True).stdout  # fmt: skip

    places = "from tasks.runtime.provenance import lock_file; import sdcert; print(lock_file(), sdcert.InputError.__module__)"
    assert ask(places).split() == [str(tmp_path / "installed/sdcert/project/requirements.lock"), "tasks.microdata.errors"]
    ask("from flows.cli import run; assert run(['examples']) == 0")
    assert all((empty / path).is_file() for path in EXAMPLES)
    ask("from flows.cli import run; assert run(['check', 'params/releases/anes96.yaml', '--json']) == 0")
