"""What can be told of an SQL statement before a database reads it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from sqlparse import lexer
from sqlparse import tokens as kinds

from tasks.microdata.errors import InputError

_READING = frozenset({"SELECT", "WITH", "VALUES", "TABLE"})
ALLOWED = "one statement that reads: SELECT ..., WITH ... SELECT ..., VALUES ..., TABLE ..."


def check_statement(sql: str, where: str) -> str:
    """The statement without the semicolon at its end; InputError unless it is exactly one that reads.

    A guard against slips, in front of the read-only transaction that is the guard against everything else.
    """
    words = list(_words(sql))
    if not words:
        raise InputError("no-statement", where, "The SQL holds no statement.", ALLOWED, "write the query")
    ends = [position for position, (_, word) in enumerate(words) if word == ";"]
    if ends and ends[0] < len(words) - 1:
        raise InputError("several-statements", where, "The SQL holds more than one statement.", ALLOWED,
                         "keep one; a semicolon may stand at its end alone")  # fmt: skip
    first = next((word for _, word in words if word != "("), "")
    if first not in _READING:
        raise InputError("not-a-query", where, "The SQL statement is not one that reads a table.", ALLOWED,
                         "write a SELECT; sdcert never changes a source")  # fmt: skip
    return sql.strip() if not ends else _strip_semicolon(sql)


def is_ordered(sql: str) -> bool:
    """Does the statement itself, not one inside parentheses, say ORDER BY?"""
    outside = (part for depth, word in _words(sql) if depth == 0 for part in word.split())
    return ("ORDER", "BY") in pairwise(outside)


def _words(sql: str) -> Iterator[tuple[int, str]]:
    """Every token that is neither blank nor comment, in capitals, with the depth of parentheses around it."""
    depth = 0
    for kind, text in _tokens(sql):
        if kind in kinds.Whitespace or kind in kinds.Comment:
            continue
        depth -= text == ")"
        yield depth, text.upper() if kind not in kinds.Literal else "literal"
        depth += text == "("


def _tokens(sql: str) -> Iterator[tuple[Any, str]]:
    tokenize: Any = lexer.tokenize  # sqlparse has no types
    yield from tokenize(sql)


def _strip_semicolon(sql: str) -> str:
    pieces = list(_tokens(sql))
    end = next(position for position, (kind, text) in enumerate(pieces) if text == ";" and kind in kinds.Punctuation)
    return "".join(text for _, text in pieces[:end]).strip()
