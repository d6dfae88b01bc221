"""How alike two texts are, by string similarity: for names that are written in more than one way.

Texts are compared as an intruder would who cleans their files first: Unicode in its compatibility form (NFKC), capitals and
small letters alike (casefold), spaces at the ends left out and others joined. Accents count.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal, Self

import numpy as np
import pyarrow as pa
import scipy
from pydantic import Field
from rapidfuzz.distance import OSA, JaroWinkler, Levenshtein
from rapidfuzz.process import cdist

from tasks.microdata.errors import InputError, NotFollowed
from tasks.microdata.spec import Spec
from tasks.microdata.table import Floats, Integers

LONGEST = 256  # characters of a text: the time for a pair grows with their product
MOST_TEXT_PAIRS = 400_000_000  # of distinct texts of one attribute: some 20 s
MOST_ALIKE = 20_000_000  # pairs of distinct texts that are alike: 160 MB
_PAIRS_OF_A_BLOCK = 1 << 21

SimilarityMeasure = Literal["jaro_winkler", "levenshtein", "damerau_levenshtein"]
_NAMES = {"jaro_winkler": "Jaro and Winkler", "levenshtein": "Levenshtein", "damerau_levenshtein": "Damerau and Levenshtein"}
_SCORERS: dict[str, Callable[..., float]] = {
    "jaro_winkler": JaroWinkler.normalized_similarity,
    "levenshtein": Levenshtein.normalized_similarity,
    "damerau_levenshtein": OSA.normalized_similarity,
}


class Similar(Spec):
    """The two texts are at least so similar, 0 to 1, after capitals, spaces and forms of Unicode are made alike.

    measure: `jaro_winkler`: characters in common near each other, and a common beginning; `levenshtein`: 1 - the number of
        characters to insert, delete or replace, over the longer text's length; `damerau_levenshtein`: two neighbours that are
        exchanged count as one.
    """

    rule: Literal["similar"]
    measure: SimilarityMeasure = "jaro_winkler"
    at_least: Annotated[float, Field(gt=0, le=1)]

    def __str__(self) -> str:
        return f"similar by {_NAMES[self.measure]} from {self.at_least:g} on"


@dataclass(frozen=True, slots=True)
class Alike:
    """Which texts are alike, for the rules that ask for similarity.

    first: shape (rules,): where the rule's own texts begin in `starts`; -1 for rules that ask something else.
    starts, shown: own text x of rule e is alike shown[starts[first[e] + x]:starts[first[e] + x + 1]], ascending.
    sizes: shape (rules, 2): numbers of own and shown texts, 0 for the other rules.
    """

    first: Integers
    starts: Integers
    shown: Integers
    sizes: Integers

    @classmethod
    def create_from_matrices(cls, tables: list[scipy.sparse.csr_array | None]) -> Self:
        """tables: of each rule which own texts (rows) are alike which shown ones, None for rules that ask something else."""
        first, starts, shown, last = [], [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)], 0
        for table in tables:
            first.append(-1 if table is None else sum(map(len, starts)))
            if table is not None:
                table.sort_indices()
                starts.append(table.indptr.astype(np.int64) + last)
                shown.append(table.indices.astype(np.int64))
                last += table.nnz
        sizes = np.array([(0, 0) if table is None else table.shape for table in tables], dtype=np.int64).reshape(-1, 2)
        return cls(np.array(first, dtype=np.int64), np.concatenate(starts), np.concatenate(shown), sizes)

    def swap_sides(self) -> Alike:
        """The same, seen from the other file."""
        return Alike.create_from_matrices(
            [None if first < 0 else self._table(e).T.tocsr() for e, first in enumerate(self.first.tolist())]
        )

    def _table(self, e: int) -> scipy.sparse.csr_array:
        begin, (own, shown) = int(self.first[e]), self.sizes[e].tolist()
        starts = self.starts[begin : begin + own + 1]
        entries = self.shown[starts[0] : starts[-1]]
        return scipy.sparse.csr_array((np.ones(len(entries), dtype=np.bool_), entries, starts - starts[0]), shape=(own, shown))


def alike_texts(own: pa.Array, shown: pa.Array, rule: Similar, location: str) -> tuple[Floats, Floats, scipy.sparse.csr_array]:
    """Number the texts of both files from 1 on, 0 for a missing one, and say which of them are alike.

    Formula in words: similarity(own text, shown text) >= at_least, by rapidfuzz, over the distinct cleaned texts; two missing
    ones are alike, and a missing one is alike no other. An empty text is a text, alike to empty ones alone.
    Returns the numbers, shapes (n,) and (m,), and which own numbers (rows) are alike which shown ones (columns).

    Raises InputError for what is no text, or a text of more than 256 characters; NotFollowed for more than 400 million pairs
    of distinct texts, or 20 million alike. Cost: about 50 ns for each pair of short texts; memory that of the alike ones.
    Source: Winkler (1990), Levenshtein (1966); Jaro and Winkler as splink does (the beginning counts from 0.7 on, 0.1 for each
    of 4 characters).
    """
    sides = [_normalise_column(column, location) for column in (own, shown)]
    names = [sorted({text for text in side if text is not None}) for side in sides]
    n_pairs = len(names[0]) * len(names[1])
    if n_pairs > MOST_TEXT_PAIRS:
        raise NotFollowed(
            f"{n_pairs:,} pairs of different texts are too many to compare by similarity ({MOST_TEXT_PAIRS:,} at most): "
            "compare the attribute by `exact`"
        )
    numbers = [_number_texts(side, known) for side, known in zip(sides, names, strict=True)]
    return numbers[0], numbers[1], _similar(names[0], names[1], rule)


def _similar(own: list[str], shown: list[str], rule: Similar) -> scipy.sparse.csr_array:
    rows, columns, found = [np.zeros(1, dtype=np.int64)], [np.zeros(1, dtype=np.int64)], 1
    at_a_time = max(_PAIRS_OF_A_BLOCK // max(len(shown), 1), 1)
    for begin in range(0, len(own) if shown else 0, at_a_time):
        scores = cdist(
            own[begin : begin + at_a_time],
            shown,
            scorer=_SCORERS[rule.measure],
            score_cutoff=rule.at_least,
            dtype=np.float64,
        )
        some, others = np.nonzero(scores >= rule.at_least)
        rows.append(some + begin + 1)
        columns.append(others + 1)
        found += len(some)
        if found > MOST_ALIKE:
            raise NotFollowed(f"more than {MOST_ALIKE:,} pairs of different texts are {rule}: ask for more similarity")
    at = np.concatenate(rows), np.concatenate(columns)
    return scipy.sparse.csr_array((np.ones(len(at[0]), dtype=np.bool_), at), shape=(len(own) + 1, len(shown) + 1))


def _normalise_column(column: pa.Array, location: str) -> list[str | None]:
    if not pa.types.is_string(column.type) and column.null_count < len(column):
        what, remedy = "similarity is asked for of values that are no texts", "compare numbers by `within`, codes by `exact`"
        raise InputError("no-text", location, what, "an attribute of text in both files", remedy, str(column.type))
    texts = [None if text is None else normalise_text(text) for text in column.to_pylist()]
    longest = max((len(text) for text in texts if text is not None), default=0)
    if longest > LONGEST:
        what = f"a text of {longest:,} characters is too long to be compared by similarity"
        raise InputError("text-too-long", location, what, f"at most {LONGEST} characters", "compare it by `exact`", longest)
    return texts


def normalise_text(text: str) -> str:
    """The text as it is compared. Example: a decomposed ` Jose\\u0301  MARIA ` becomes `josé maria`."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(folded.split())


def _number_texts(texts: list[str | None], known: list[str]) -> Floats:
    number = {text: i for i, text in enumerate(known, start=1)}
    return np.array([0 if text is None else number[text] for text in texts], dtype=np.float64)
