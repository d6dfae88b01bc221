"""What holds for every command of the command line, a new one too (docs/ADD_A_COMMAND.md)."""

import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.core import TyperArgument, TyperGroup

from flows.cli import app
from flows.cli.root import ORDER

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("prefect", "mlflow", "pandas", "numpy", "pyarrow", "pydantic", "rich", "cryptography", "sklearn", "scipy", "numba")
LIST_HEAVY = f"import sys, flows.cli; print(sorted(set({HEAVY!r}) & set(sys.modules)))"


def list_commands(command, name="sdcert"):
    """Every command and group, with its full name."""
    yield name, command
    if isinstance(command, TyperGroup):
        for word, inner in command.commands.items():
            yield from list_commands(inner, f"{name} {word}")


COMMANDS = dict(list_commands(typer.main.get_command(app)))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_says_what_it_is_for(name):
    assert (COMMANDS[name].help or "").strip(), f"`{name}` has no help text: give its function a docstring"


@pytest.mark.parametrize("name", COMMANDS)
def test_arguments_and_options_say_what_they_are(name):
    silent = [one.name for one in COMMANDS[name].params if not getattr(one, "help", None)]
    assert silent == [], f"`{name}`: no help for {', '.join(silent)}"


@pytest.mark.parametrize("name", COMMANDS)
def test_options_for_scripts_have_one_name(name):
    flags = [one for one in COMMANDS[name].params if not isinstance(one, TyperArgument) and one.name == "as_json"]
    assert all(one.opts == ["--json"] for one in flags)


def test_the_command_line_imports_nothing_heavy():
    done = subprocess.run([sys.executable, "-c", LIST_HEAVY], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n", "a file of flows/cli imports these at its top: import them inside its functions"


def test_the_order_of_the_help_names_commands_that_there_are():
    named = {name.split()[1] for name in COMMANDS if len(name.split()) == 2}
    assert len(set(ORDER)) == len(ORDER)
    assert set(ORDER) <= named
