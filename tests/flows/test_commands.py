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


NO_JSON = {
    "approve": "an act of a person; `audit show --json` prints what was signed",
    "revoke": "an act of a person; `audit show --json` prints what was signed",
    "keys create": "an act of a person; `keys list --json` prints the keys",
    "keys rotate": "an act of a person; `keys list --json` prints the keys",
    "keys revoke": "an act of a person; `keys list --json` prints the keys",
    "keys clock": "an act of a person; `audit verify --json` lists it",
    "keys export": "its output is a key or a document of trust",
    "audit export": "its output is a document, a table, or JSON lines",
    "audit witness": "its output is a document that others read by `audit verify`",
    "audit prove": "its output is a proof in JSON",
    "init": "writes a file; `check --json` says what is in it",
    "sweep promote": "writes a file; `check --json` says what is in it",
    "quarantine retry": "changes one thing, and `quarantine list --json` says what is left",
    "tell add": "asks a person; `tell list --json` prints the receivers",
    "tell remove": "changes one thing; `tell list --json` prints the receivers",
    "tell test": "sends a message, and its exit code is the result",
    "serve": "runs until it is ended",
    "mlflow": "runs until it is ended",
}


def test_each_command_prints_json_or_has_a_reason_not_to():
    inner = {name.removeprefix("sdcert "): one for name, one in COMMANDS.items() if not isinstance(one, TyperGroup)}
    without = {name for name, one in inner.items() if not any(option.name == "as_json" for option in one.params)}
    assert without == set(NO_JSON), "give the command `as_json: JsonOption` (flows/cli/json_output.py), or a reason above"


def test_the_command_line_imports_nothing_heavy():
    done = subprocess.run([sys.executable, "-c", LIST_HEAVY], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n", "a file of flows/cli imports these at its top: import them inside its functions"


def test_the_order_of_the_help_names_commands_that_there_are():
    named = {name.split()[1] for name in COMMANDS if len(name.split()) == 2}
    assert len(set(ORDER)) == len(ORDER)
    assert set(ORDER) <= named
