"""Names from a release file or a table, made harmless for a terminal or a comment."""

from __future__ import annotations

HARMLESS = "\u00a0\u202f"  # spaces that do not break a line: between a number and its unit


def escape_terminal(text: str) -> str:
    """The text with everything that does not print (line breaks, escapes, marks that reverse the line) written as its code.

    Example: a line break is `\\n`, U+202E is `\\u202e`; spaces, letters of any language and emoji stay.
    """
    return "".join(character if character.isprintable() or character in HARMLESS else _code(character) for character in text)


def _code(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
