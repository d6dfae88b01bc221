"""docs/ADD_A_COMMAND.md is true: its two files, added to a copy of the project, are a command that works and is checked."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from followed_pages import ROOT, copy_project, run_tests

PAGE = (ROOT / "docs" / "ADD_A_COMMAND.md").read_text()
FILES = {path: f"{text}\n" for path, text in re.findall(r"```python\n# (\S+)\n(.*?)\n```", PAGE, re.DOTALL)}
COMMAND, TEST = "flows/cli/size.py", "tests/flows/test_size.py"


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """A copy of the project in which the steps of the page were followed."""
    folder = tmp_path_factory.mktemp("copy")
    copy_project(folder, "tests/flows/test_commands.py")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


def run_python(copy: Path, *words: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(copy), "SDCERT_HOME": str(copy / "home")}
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)


def run_sdcert(copy: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return run_python(copy, "-c", "from flows.cli import main; main()", *words)


def test_the_page_touches_two_files():
    assert list(FILES) == [COMMAND, TEST]


def test_the_command_is_there(copy):
    (copy / "staff.csv").write_text("age,pay\n31,10\n54,12\n")
    done = run_sdcert(copy, "size", "staff.csv")
    assert (done.returncode, done.stdout) == (0, "2 rows, 2 columns\n"), done.stderr
    assert "\n  size        How many rows and columns a table has." in run_sdcert(copy, "--help").stdout


def test_its_test_and_those_of_all_commands_pass(copy):
    done = run_tests(copy, TEST, "tests/flows/test_commands.py")
    assert done.returncode == 0, done.stdout


def test_the_file_is_as_the_project_writes_files(copy):
    done = run_python(copy, "-m", "ruff", "check", "--no-cache", *FILES)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("taken", "put", "failing"),
    [
        ('    """How many rows and columns a table has. Reads the table and changes nothing."""\n', "", "says_what_it_is_for"),
        pytest.param(
            'help="a table (CSV, Parquet, ...), or dataset:NAME", ', "", "arguments_and_options", marks=pytest.mark.long
        ),
        ("import typer\n", "import pandas as pd\nimport typer\n", "imports_nothing_heavy"),
    ],
    ids=["no help text", "an argument without help", "a heavy import"],
)
def test_a_command_that_lacks_something_fails_a_test_that_names_it(copy, taken, put, failing):
    text = FILES[COMMAND]
    assert taken in text
    (copy / COMMAND).write_text(text.replace(taken, put))
    try:
        done = run_tests(copy, "tests/flows/test_commands.py")
    finally:
        (copy / COMMAND).write_text(text)
    assert done.returncode == 1
    failures = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    assert failures
    assert all(failing in line for line in failures)
    assert "sdcert size" in done.stdout or "pandas" in done.stdout
