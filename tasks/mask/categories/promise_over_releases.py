"""What the promises of several releases about the same persons add up to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tasks.mask.categories.pram import Pram
from tasks.mask.categories.promise import INFINITE, Epsilon, compute_unit_epsilon
from tasks.mask.methods import Mechanism
from tasks.mask.personal_draws import list_values
from tasks.microdata.schema import Schema
from tasks.microdata.table import Integers, Microdata, encode_jointly
from tasks.microdata.units import find_units


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomisedTable:
    """One of several releases. source: its records before masking. mechanisms: with their attributes resolved.

    record: shape (n,): the row in `source` of each record of the newest release, -1 where it has none. series: draws per person
    are the same in all releases of one; empty where no other release shares them.
    """

    source: Microdata
    schema: Schema
    mechanisms: tuple[Mechanism, ...]
    record: Integers
    series: str = ""


def add_epsilons(releases: Sequence[RandomisedTable]) -> Epsilon:
    """An upper bound of the epsilon of a person who is in all of the releases.

    Formula in words: the sum over releases of `compute_record_epsilon`, times the most rows that a person has in it. What was
    drawn per person counts once for each different value that a record of the newest release had, for the same value shows the
    same draw. Infinite where a release publishes a column that no PRAM step draws anew: nothing bounds what that tells.
    Pseudonyms are no such column: they tell whose row it is, which is granted here.

    Cost: O(n) for each step that draws per person.
    Source: docs/SCIENCE.md section 5a. Example: randomised response with epsilon 1 in two releases: 2; if both drew it per
    person, and nobody's value changed: 1.
    """
    total, personal = 0.0, dict[tuple[str, str, tuple[str, ...]], list[tuple[float, RandomisedTable]]]()
    for one in releases:
        steps = [step for step in one.mechanisms if isinstance(step, Pram)]
        if not {name for step in steps for name in step.target_attributes} >= set(one.schema.release_columns):
            return INFINITE
        rows = int(find_units(one.source, one.schema).rows().sizes.max(initial=0))
        for step, names in ((each, names) for each in steps for names in each.units):
            epsilon = rows * compute_unit_epsilon(one.source, one.schema, step, names)
            if step.personal is None or not one.series:
                total += epsilon
            else:
                personal.setdefault((one.series, step.personal.key, names), []).append((epsilon, one))
    for (_, _, names), shared in personal.items():
        total += max(epsilon for epsilon, _ in shared) * _count_draws(names, [one for _, one in shared])
    return INFINITE if np.isinf(total) else float(total)


def _count_draws(names: tuple[str, ...], releases: Sequence[RandomisedTable]) -> int:
    """The most different values that a record of the newest release had."""
    codes = encode_jointly(*(pa.array(list_values([one.source.column(name) for name in names])) for one in releases))
    shown = np.sort([np.where(one.record >= 0, own[one.record], -1) for one, own in zip(releases, codes, strict=True)], axis=0)
    new = (shown >= 0) & np.vstack([np.ones((1, shown.shape[1]), dtype=bool), shown[1:] != shown[:-1]])
    return int(new.sum(axis=0).max(initial=0))
