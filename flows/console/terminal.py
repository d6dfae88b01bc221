"""The one way to write to a terminal: texts are texts.

Rich reads `[red]` in a text as a colour and `:smile:` as an emoji, and a name may hold either.
"""

from __future__ import annotations

from rich.console import Console


def terminal(*, stderr: bool = False, soft_wrap: bool = False, width: int | None = None) -> Console:
    """Standard output, or standard error, on which nothing in a text is a command."""
    return Console(stderr=stderr, soft_wrap=soft_wrap, width=width, markup=False, emoji=False, highlight=False)
