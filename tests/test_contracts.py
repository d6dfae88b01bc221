"""Each contract of the house is shown to fail on a planted fault."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent

FAULTS = {
    "science imports prefect": ("tasks/mask/partitions/mdav.py", "import prefect", "Science knows no Prefect"),
    "science imports mlflow": ("tasks/score/loss.py", "import mlflow", "Science knows no Prefect"),
    "science imports the runtime": (
        "tasks/attack/neighbours/nearest.py",
        "import tasks.runtime.settings",
        "Science knows no Prefect",
    ),
    "science imports a task": ("tasks/score/methods.py", "import tasks.attack.task", "Only flows import a task.py"),
    "a stage imports a later one": (
        "tasks/mask/methods.py",
        "import tasks.attack.outcomes.guesses",
        "No stage imports a later one",
    ),
    "a task imports a later stage": ("tasks/ingest/task.py", "import tasks.score.methods", "No stage imports a later one"),
    "the ground floor imports a stage": (
        "tasks/microdata/table.py",
        "import tasks.ingest.sources",
        "No stage imports a later one",
    ),
    "the wording imports a view": (
        "tasks/report/wording/names.py",
        "import tasks.report.views.rows",
        "The words of the report know no view",
    ),
    "a flow imports the library": ("flows/limits.py", "import sdcert.frames", "No stage imports a later one"),
    "a stage imports the library": ("tasks/score/loss.py", "import sdcert.frames", "No stage imports a later one"),
    "the library imports a task": ("sdcert/frames.py", "import tasks.mask.task", "Only flows import a task.py"),
    "a stage imports the flows": ("tasks/report/page.py", "import flows.release", "No stage imports a later one"),
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("copy")
    for name in ("flows", "sdcert", "tasks"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(BIN / "lint-imports"), "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env={"PYTHONPATH": str(folder)}, check=False)


def test_the_house_as_it_stands(copy):
    done = lint(copy)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_import_is_found(copy, fault):
    file, line, contract = FAULTS[fault]
    path = copy / file
    before = path.read_text()
    path.write_text(f"{before}\n\n{line}\n")
    try:
        done = lint(copy)
    finally:
        path.write_text(before)
    assert done.returncode != 0
    assert any(contract in kept and "BROKEN" in kept for kept in done.stdout.splitlines()), done.stdout


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("ruff", "check", "--no-cache", "fault.py"), "import os\n"),
        (("mypy", "--strict", "fault.py"), "def double(x):\n    return 2 * x\n"),
    ],
)
def test_the_other_linters_see_a_fault(tmp_path, words, fault):
    (tmp_path / "fault.py").write_text(fault)
    command = [str(BIN / words[0]), *words[1:]]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 1


def test_the_type_checker_reads_the_calls_with_swapped_arguments():
    """In strict mode it fails where one of the errors that they ignore is not there."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    assert settings["strict"] is True
    assert set(settings["files"]) >= {"flows", "tasks", "tests/swapped_arguments.py"}
    assert (ROOT / "tests" / "swapped_arguments.py").read_text().count("# type: ignore") >= 5


def test_no_file_is_longer_than_400_lines():
    files = [path for room in ("flows", "sdcert", "tasks", "tests") for path in (ROOT / room).rglob("*.py")]
    assert files
    assert [str(path) for path in files if len(path.read_text().splitlines()) > 400] == []


def test_the_schemas_are_fresh():
    from flows.schemas import FOLDER, create_schemas

    for name, content in create_schemas().items():
        assert (FOLDER / name).read_bytes() == content, f"params/schema/{name} is stale: run `make schema`"
