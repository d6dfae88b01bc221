"""What anonymeter, another tool for the three tests of the Article 29 Working Party, counts on the same people.

For comparison alone. Its attacks are ours too, and weaker than ours: its linkability asks whether two halves of a person have
one nearest row, and not whether that row is the person's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tasks.attack.inference.experiment import InferenceExperiment
from tasks.attack.inference.inputs import has_order
from tasks.attack.inference.outcomes import ProtocolCounts, ProtocolTest
from tasks.microdata.schema import MEASURED, Schema
from tasks.microdata.table import Booleans, Floats, Integers, Microdata, encode_jointly

ATTACKS, ATTEMPTS, COLUMNS = 500, 10_000, 3
TOLERANCE = 0.05  # of a number that is guessed
_BLOCK = 1 << 22  # pairs whose distances are computed at once
_NEVER_ZERO = 1e-12


@dataclass(frozen=True, slots=True)
class _ScaledColumn:
    """One attribute of the released rows and of the people: numbers from 0 to 1 together, or codes."""

    rows: Floats
    people: Floats
    is_number: bool


def count_by_protocol(
    experiment: InferenceExperiment,
    people: Microdata,
    schema: Schema,
    knows: tuple[str, ...],
    secrets: tuple[str, ...],
    rng: np.random.Generator,
) -> tuple[ProtocolCounts, ...]:
    """The counts of each test.

    Formula in words: a distance is the sum over attributes of |a - b| of numbers scaled to [0, 1], and of 1 where categories
    differ or a value is missing. *Inference*: the value of the nearest row is the secret, or within 5 % of itself.
    *Linkability*: the nearest row by every other known attribute is the nearest by the remaining ones. *Singling out*:
    predicates that isolate one released row (a value that one row has, the end of a scale; or three attributes of a row, each
    number as "at least" if it is above the median, else "at most") isolate exactly one person.

    people: the records as the release would write them, in the order of the experiment. knows: of them. secrets: that the
    intruder does not know. Returns nothing where nobody is known who is not in the release.
    We differ: people are counted once each and not drawn; singling out is tried on as many members as others, where it fits a
    curve to allow for their numbers; of equally near rows a random one counts; a guessed number may be negative.
    Cost: O(n m) a known attribute. Source: Giomi et al. (2023), anonymeter 1.1.
    """
    member = experiment.is_member[experiment.units.of_row]
    if member.all() or not member.any():
        return ()
    rows = experiment.rows.take(rng.permutation(experiment.rows.n))  # of equally near rows the first is taken
    columns = {name: _encode(rows, people, schema, name) for name in rows.names if name in people.names}
    known = [columns[name] for name in knows if name in columns]
    found = [*_count_singling_out(list(columns.values()), member, rng)]
    if len(known) > 1:
        same = _find_nearest(known[::2]) == _find_nearest(known[1::2])
        found.append(_count("linkability", None, same, member))
    for name in secrets if known else ():
        others = [columns[one] for one in knows if one in columns and one != name]
        if name in columns and others:
            right = _is_right(columns[name], rows, people, name, _find_nearest(others), schema)
            found.append(_count("inference", name, right, member))
    return tuple(found)


def _encode(rows: Microdata, people: Microdata, schema: Schema, name: str) -> _ScaledColumn:
    if has_order(schema[name], (rows, people)):
        both = rows.positions(schema[name]), people.positions(schema[name])
        together = np.concatenate(both)
        present = together[~np.isnan(together)]
        low, high = (present.min(), present.max()) if len(present) else (0.0, 0.0)
        shown, asked = ((values - low) / ((high - low) or 1.0) for values in both)
        return _ScaledColumn(shown, asked, is_number=True)
    shown, asked = (
        np.where(codes < 0, np.nan, codes.astype(np.float64))
        for codes in encode_jointly(rows.column(name), people.column(name))
    )
    return _ScaledColumn(shown, asked, is_number=False)


def _find_nearest(columns: list[_ScaledColumn]) -> Integers:
    """Shape (n,): the row that is nearest to each person."""
    n, m = len(columns[0].people), len(columns[0].rows)
    nearest = np.empty(n, dtype=np.int64)
    step = max(_BLOCK // m, 1)
    for begin in range(0, n, step):
        some = slice(begin, begin + step)
        total = np.zeros((len(range(*some.indices(n))), m))
        for one in columns:
            apart = np.abs(one.people[some, None] - one.rows[None, :])
            apart = apart if one.is_number else (apart != 0).astype(np.float64)
            unknown = np.isnan(one.people[some])[:, None] | np.isnan(one.rows)[None, :]
            total += np.where(unknown, 1.0, apart)
        nearest[some] = total.argmin(axis=1)
    return nearest


def _is_right(of: _ScaledColumn, rows: Microdata, people: Microdata, name: str, nearest: Integers, schema: Schema) -> Booleans:
    guesses, truth = of.rows[nearest], of.people
    both_missing = np.isnan(guesses) & np.isnan(truth)
    if schema[name].scale in MEASURED and of.is_number:
        guesses, truth = rows.positions(schema[name])[nearest], people.positions(schema[name])
        right = np.abs(guesses - truth) / (np.abs(guesses) + _NEVER_ZERO) <= TOLERANCE
    else:
        right = guesses == truth
    return np.asarray(right | both_missing)


def _count_singling_out(columns: list[_ScaledColumn], member: Booleans, rng: np.random.Generator) -> Iterator[ProtocolCounts]:
    inside, outside = np.flatnonzero(member), np.flatnonzero(~member)
    size = min(len(inside), len(outside))
    sides = rng.permutation(inside)[:size], rng.permutation(outside)[:size]
    tests: dict[ProtocolTest, Iterator[_Predicate]] = {
        "singling out by one attribute": _list_single_predicates(columns, rng),
        "singling out by three attributes": _draw_predicates(columns, rng),
    }
    for test, predicates in tests.items():
        tried, isolating = 0, [0, 0]
        for predicate in predicates:
            tried += 1
            for side, people in enumerate(sides):
                isolating[side] += _count_matches(predicate, people) == 1
            if tried == ATTACKS:
                break
        if tried:
            yield ProtocolCounts(
                test=test,
                attribute=None,
                people=size,
                members=tried,
                successes=isolating[0],
                others=tried,
                successes_of_others=isolating[1],
            )


_Condition = tuple[_ScaledColumn, Literal["at most", "at least", "is", "missing"], float]
_Predicate = tuple[_Condition, ...]


def _matches(values: Floats, condition: Literal["at most", "at least", "is", "missing"], bound: float) -> Booleans:
    match condition:
        case "at most":
            return np.asarray(values <= bound)
        case "at least":
            return np.asarray(values >= bound)
        case "is":
            return np.asarray(values == bound)
        case "missing":
            return np.isnan(values)


def _count_matches(predicate: _Predicate, people: Integers | None = None) -> int:
    """How many of some people fulfil all conditions; None: of the released rows."""
    held: Booleans | None = None
    for column, condition, bound in predicate:
        values = column.rows if people is None else column.people[people]
        one = _matches(values, condition, bound)
        held = one if held is None else held & one
    return 0 if held is None else int(held.sum())


def _list_single_predicates(columns: list[_ScaledColumn], rng: np.random.Generator) -> Iterator[_Predicate]:
    """Values that one released row has, and the ends of scales where one row has them, in random order."""
    listed: list[_Predicate] = []
    for one in columns:
        present = one.rows[~np.isnan(one.rows)]
        values, counts = np.unique(present, return_counts=True)
        listed += [((one, "is", float(value)),) for value in values[counts == 1]]
        if one.is_number and len(values):
            listed += [((one, "at most", float(values[0])),), ((one, "at least", float(values[-1])),)]
        listed.append(((one, "missing", 0.0),))
    for place in rng.permutation(len(listed)):
        if _count_matches(listed[place]) == 1:
            yield listed[place]


def _draw_predicates(columns: list[_ScaledColumn], rng: np.random.Generator) -> Iterator[_Predicate]:
    """Predicates over three attributes of a random row that isolate it, each of them once."""
    medians = [float(np.nanmedian(one.rows)) if one.is_number and not np.isnan(one.rows).all() else 0.0 for one in columns]
    seen = set()
    for _ in range(ATTEMPTS):
        row = int(rng.integers(len(columns[0].rows)))
        chosen = np.sort(rng.permutation(len(columns))[:COLUMNS])
        predicate = tuple(_describe_cell(columns[place], row, medians[place]) for place in chosen)
        key = tuple((int(place), condition, bound) for place, (_, condition, bound) in zip(chosen, predicate, strict=True))
        if key not in seen and _count_matches(predicate) == 1:
            seen.add(key)
            yield predicate


def _describe_cell(column: _ScaledColumn, row: int, median: float) -> _Condition:
    value = float(column.rows[row])
    if np.isnan(value):
        return column, "missing", 0.0
    if not column.is_number:
        return column, "is", value
    return column, "at least" if value > median else "at most", value


def _count(test: ProtocolTest, attribute: str | None, hits: Booleans, member: Booleans) -> ProtocolCounts:
    return ProtocolCounts(
        test=test,
        attribute=attribute,
        people=int(member.sum()),
        members=int(member.sum()),
        successes=int(hits[member].sum()),
        others=int((~member).sum()),
        successes_of_others=int(hits[~member].sum()),
    )
