"""`sdcert`: the command line. Exit codes: 0 certified, 1 not certified, 2 wrong input, 3 something broke, 130 interrupted.

What the system refuses (no room on a disk, no right to a file) is a sentence and 2, whatever it was refused to.

Prefect, MLflow and the science are imported by the command that needs them, so that `--help` answers at once.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import io
import os
import pkgutil
import secrets
import sys
import threading
from contextlib import suppress
from typing import Annotated, Any, NoReturn, cast

import typer
from typer.core import TyperGroup

from flows.cli.root import app
from tasks.microdata.errors import InputError, StorageUnreachable

OBJECTS_PER_COLLECTION = 10_000  # Python's own 700 cost a seventh of the time of a command, most of which is imports
CERTIFIED, NOT_CERTIFIED, WRONG_INPUT, BROKEN, INTERRUPTED = 0, 1, 2, 3, 130
_ENDED_BY_TYPER = (["--install-completion"], ["--show-completion"])  # when all went well, by `sys.exit(0)`

for _module in pkgutil.iter_modules(__path__):  # each adds its command to `app`
    if not _module.name.startswith("_"):
        importlib.import_module(f"{__name__}.{_module.name}")


def _print_version(asked: bool) -> None:
    if asked:
        import importlib.metadata

        typer.echo(f"sdcert {importlib.metadata.version('sdcert')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    """Certify releases of statistical microdata."""


@functools.cache
def build_command() -> TyperGroup:
    """All commands, groups and options. Built once a process (0.1 CPU s): forked commands find it built."""
    return cast("TyperGroup", typer.main.get_command(app))


def main() -> None:
    """Entry point: run a command and turn whatever happens into one of the five exit codes."""
    gc.set_threshold(OBJECTS_PER_COLLECTION)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name that the terminal's encoding has no letters for
    if "_SDCERT_COMPLETE" in os.environ:  # a shell asks what it may offer
        app(prog_name="sdcert")
    code = run(sys.argv[1:])
    if code == INTERRUPTED and threading.active_count() > 1:
        _end_process(code)
    sys.exit(code)


def _end_process(code: int) -> NoReturn:
    """Without waiting for threads, as Python does: an attack that is being computed may take many minutes."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # there is none, or its reader is gone
            stream.flush()
    os._exit(code)


def run(arguments: list[str]) -> int:
    """Run a command line; returns the exit code. Errors go to stderr, one message, without a traceback."""
    try:
        alone = arguments == [] or arguments in [[group.name] for group in app.registered_groups]
        words = [*arguments, *(["--help"] if alone else [])]
        code: Any = build_command()(args=words, prog_name="sdcert", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        return _report_interruption()
    except BrokenPipeError:
        return _handle_closed_output(arguments)
    except (Exception, SystemExit) as error:
        return explain(error, arguments)
    if code == INTERRUPTED:  # typer turns Ctrl-C into this code by itself
        return _report_interruption()
    return code if isinstance(code, int) else CERTIFIED


def _handle_closed_output(arguments: list[str]) -> int:
    """The reader of the output is gone. Whoever asked for a verdict and did not read it is not told that it is good."""
    sys.stdout = None  # nothing may be flushed at exit
    verdict = arguments[:1] in (["certify"], ["verify"]) or arguments[1:2] == ["verify"]  # audit verify, store verify
    return BROKEN if verdict else CERTIFIED


def _report_interruption() -> int:
    sys.stderr.write("interrupted: a release folder appears whole or not at all; what was computed is kept for the next run\n")
    return INTERRUPTED


def explain(error: BaseException, arguments: list[str]) -> int:
    """Say what went wrong on stderr and return the exit code that it deserves."""
    real = getattr(error, "cause", None) or error
    if _is_from_interruption(error):
        return _report_interruption()
    if isinstance(real, SystemExit) and not real.code and arguments[:1] in _ENDED_BY_TYPER:
        return CERTIFIED
    if isinstance(real, SystemExit):  # rich says 1 where the reader of a pipe is gone; Prefect answers SIGTERM with another
        return _handle_closed_output(arguments) if real.code == 1 else _report_interruption()
    if isinstance(real, InputError):
        return _report_input_error(real)
    if isinstance(real, StorageUnreachable):
        sys.stderr.write(f"error: {real}\n  to do:   run again when it answers; what was finished is kept\n")
        return BROKEN
    if hasattr(real, "format_message"):  # a wrong command line: click's UsageError, which typer carries in its own copy
        see = _find_help(arguments)
        from tasks.microdata.escaping import escape_terminal

        message = "\n".join(map(escape_terminal, real.format_message().splitlines()))
        sys.stderr.write(f"error: {message}\n  to do:   {see}\n")
        return WRONG_INPUT
    from tasks.runtime.failures import write_private_trace
    from tasks.runtime.refusals import find_system_refusal
    from tasks.runtime.settings import Home, prepare_environment

    refused = find_system_refusal(error, Home.current().root)
    if refused is not None:
        return _report_input_error(refused)
    token = getattr(error, "token", None) or secrets.token_hex(8)
    try:
        home = prepare_environment()
        if not (home.root / "failures" / f"{token}.txt").exists():
            write_private_trace("command", token, real)
        details = f"{home.root / 'failures' / token}.txt (private: may hold source values)"
    except (OSError, InputError):
        details = "the private folder cannot be written, so no details were kept"
    sys.stderr.write(
        f"error: something broke in the program ({type(real).__name__})\n"
        f"  details: {details}\n"
        "  to do:   run again; if it happens again, report it with the details that hold no value\n"
    )
    return BROKEN


def _is_from_interruption(error: BaseException | None) -> bool:
    """Python 3.11 turns Ctrl-C into a RuntimeError where it comes while a class is made, as during an import."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _report_input_error(error: InputError) -> int:
    from flows.scheduled.command_requests import note_code

    note_code(error.public)
    sys.stderr.write(f"error: {error}\n")
    return WRONG_INPUT


def _find_help(arguments: list[str]) -> str:
    """Where a wrong command line finds help: the command it named, or the list of those there are."""
    command: Any = build_command()
    words = ["sdcert"]
    for word in arguments:
        if isinstance(command, TyperGroup) and word in command.commands:
            command = command.commands[word]
            words.append(word)
    see = f"see `{' '.join(words)} --help`"
    if not isinstance(command, TyperGroup):
        return see
    return f"the commands are {', '.join(command.list_commands(typer.Context(command)))}; {see}"
