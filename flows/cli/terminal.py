"""The only way to write to a terminal, and to ask at one: names from files are shown as plain text, whatever they contain.

Rich reads `[red]` in a text as a colour and `:smile:` as an emoji, and a name may hold either.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from tasks.audit.signing.pem import AskPassphrase

WIDTH_OF_PIPES = 100
MANY_COLUMNS = 300
SECONDS_A_COLUMN = 0.02  # of reading and checking one, on one core of 2020; attacks come on top of that


def terminal(*, stderr: bool = False, soft_wrap: bool = False, width: int | None = None) -> Console:
    """Standard output, or standard error, on which nothing in a text is a command. In a notebook too it is a stream: Rich would
    make each line an output of the cell, in HTML.
    """
    from rich.console import Console

    return Console(
        stderr=stderr,
        soft_wrap=soft_wrap,
        width=width,
        markup=False,
        emoji=False,
        highlight=False,
        force_jupyter=False,
    )


def console() -> Console:
    """Standard output, as wide as the terminal, or as COLUMNS or a hundred where it is piped."""
    return terminal(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDTH_OF_PIPES)


def trim_table(out: Console, table: Table) -> Iterator[Text]:
    """The lines of a table without the blanks that fill it up to the right."""
    from rich.text import Text

    with out.capture() as captured:
        out.print(table)
    for content in captured.get().splitlines():
        line = Text.from_ansi(content)
        line.rstrip()
        yield line


def tell_many_columns(columns: int) -> None:
    """Say on stderr, before the work begins, roughly how long a table of many columns takes; nothing about others."""
    if columns > MANY_COLUMNS:
        minutes = max(1, round(columns * SECONDS_A_COLUMN / 60))
        text = f"about {minutes} minute{'s' * (minutes > 1)}, or several times as long on a busy machine"
        then = "Masks and attacks take longer still. Wait, or publish fewer columns."
        sys.stderr.write(f"{columns:,} columns: reading and checking them takes {text}. {then}\n")
        sys.stderr.flush()


def find_passphrase_prompt() -> AskPassphrase | None:
    """Asks for the passphrase of a key, where somebody is there to answer."""
    return _ask_hidden if sys.stdin.isatty() else None


def _ask_hidden(question: str) -> str:
    return str(typer.prompt(question, hide_input=True, err=True))
