"""What a first release file proposes for a table: the role and scale of each column, the masks, the policy; with the reasons.

The careful guess everywhere: who is not told otherwise takes a column for known to an intruder and masks it. Reasons hold names
and counts, never a value. What only a person can decide is said so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from flows.console.draft_cells import Reading
from flows.console.draft_columns import Drafted, drafted
from tasks.attack.threat import INSIDER_ROLES
from tasks.classify.dependence import find_dependences
from tasks.classify.finding import Dependence, column_of, screen_rows
from tasks.classify.pairs import pair_dependence
from tasks.mask.images import joint_codes
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Role, Scale, Schema
from tasks.microdata.table import Integers, Microdata

K = 10
K_BESIDE_EXCHANGE = 20
SHARE_FOUND = 0.1  # what the first policy line allows
SMALLEST_K = 2
ALWAYS_HOLDS = 0.9999  # less is a likeness that analysts want, and both columns are masked
MOST_EPSILON = 3.0
SHARE_OF_ROWS = 4  # k is at most a fourth of the rows
MOST_COMPARED = 80  # columns; every pair of them is compared
CELLS_CHANGED = 0.5  # the limit of the loss, unless the drafted epsilon changes more
SAME = ("copy", "one_to_one", "rank_correlation")


@dataclass(frozen=True, slots=True)
class Step:
    """One entry of a list in the draft, and why it is there."""

    fields: dict[str, Any]
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A release file before it is written down."""

    name: str
    source: dict[str, str]
    columns: tuple[Drafted, ...]
    masking: tuple[Step, ...]
    policy: tuple[Step, ...]


def draft_of(data: Microdata, readings: Mapping[str, Reading], *, name: str, source: dict[str, str]) -> Draft:
    """Propose a release file for a table.

    Parameters
    ----------
    data: the table as ingest reads it. readings: how the text of a column is written, where ingest had to be told; by name.
    name: of the release. source: as it will stand in the file.

    Raises InputError where no column can be masked: there is nothing that a policy could be about.
    """
    columns = tuple(drafted(data, column, readings.get(column, Reading())) for column in data.names)
    columns = _without_what_undoes_masks(data, _without_equivalents(data, columns))
    wanted = K_BESIDE_EXCHANGE if any(column.exchangeable for column in columns) else K
    k = max(SMALLEST_K, min(wanted, data.n // SHARE_OF_ROWS))
    columns = _without_rare_gaps(data, columns, k)
    limit = _share_found(columns, k)
    masking = tuple(_steps(columns, data.n, k, limit))
    if not masking:
        raise InputError("nothing-to-mask", "sdcert init TABLE", "No column of the table could be masked.",
                         "a table with at least one column that a person could be known by, and that varies",
                         "see `sdcert methods mask`, and write the release file by hand")  # fmt: skip
    masked = {name for step in masking for name in step.fields["attributes"]}
    told = tuple(_told(column, masked) for column in columns)
    return Draft(name=name, source=source, columns=told, masking=masking, policy=_policy(data, told, masking, k, limit))


def _told(column: Drafted, masked: set[str]) -> Drafted:
    if not column.known:
        return column
    if column.name in masked:
        return column
    return replace(
        column,
        decide=(*column.decide, "NOT MASKED: no mask here fits it; mask it, coarsen it at the source, or do not publish it"),
    )


def _schema(columns: Sequence[Drafted]) -> Schema:
    return Schema(tuple(column.attribute for column in columns))


def _derived(columns: tuple[Drafted, ...], name: str, sources: tuple[str, ...], why: str) -> tuple[Drafted, ...]:
    told = f"{why}: published, it would undo the mask"
    decide = ("if that is a coincidence, mask it with the others instead",)
    return tuple(
        replace(column.as_derived(sources, told), decide=decide) if column.name == name else column for column in columns
    )


def _without_equivalents(data: Microdata, columns: tuple[Drafted, ...]) -> tuple[Drafted, ...]:
    """Of columns that say the same, the first is kept: two masked forms of one column tell more than one."""
    known = [column.name for column in columns if column.known and column.facts.n_distinct > 2]
    if len(known) > MOST_COMPARED:
        return columns
    schema, rows = _schema(columns), screen_rows(data.n)
    coded = {name: column_of(data, schema, name) for name in known}
    gone: set[str] = set()
    for first, second in combinations(known, 2):
        found = None if {first, second} & gone else pair_dependence(coded[first], coded[second], rows, None)
        if found is not None and found.relation in SAME and found.share >= ALWAYS_HOLDS:
            gone.add(second)
            columns = _derived(columns, second, (first,), _shown_relation(found))
    return columns


def _without_what_undoes_masks(data: Microdata, columns: tuple[Drafted, ...]) -> tuple[Drafted, ...]:
    for _ in columns:
        masked = [column.name for column in columns if column.groupable or column.exchangeable]
        found = find_dependences(data, _schema(columns), masked)
        if not found:
            return columns
        columns = _derived(columns, found[0].unmasked[0], found[0].masked, _shown_relation(found[0]))
    return columns


def _shown_relation(found: Dependence) -> str:
    match found.relation:
        case "copy":
            return f"a copy of `{found.masked[0]}`"
        case "one_to_one":
            return f"another coding of `{found.masked[0]}`"
        case "rank_correlation":
            return f"it has the order of `{found.masked[0]}`"
        case _:
            return found.in_words()


def _without_rare_gaps(data: Microdata, columns: tuple[Drafted, ...], k: int) -> tuple[Drafted, ...]:
    """Records are grouped among those with the same gaps: a column whose gaps leave fewer than k of them is not published.

    Grouping such columns apart is no way out: two partitions intersect, and next to nobody is hidden in what is left.
    """
    gaps = {column.name: data.missing(column.name).astype(np.int64) for column in columns if column.groupable}
    left = [name for name, gap in gaps.items() if gap.any()]
    dropped: list[str] = []
    while left and _smallest_pattern([gaps[name] for name in left], data.n) < k:
        dropped.append(max(left, key=lambda name: _smallest_pattern([gaps[other] for other in left if other != name], data.n)))
        left.remove(dropped[-1])
    return tuple(_withheld(column) if column.name in dropped else column for column in columns)


def _withheld(column: Drafted) -> Drafted:
    scale = column.attribute.scale
    why = "too few rows share its gaps to hide among each other, so it is not published"
    question = (
        "fill the gaps or leave those rows out at the source; then write "
        f"`role: quasi_identifier, scale: {scale}` and add it to the microaggregation, or leave it unpublished"
    )
    return replace(column.changed(why, role=Role.WITHHELD), decide=(question,))


def _smallest_pattern(gaps: list[Integers], n: int) -> int:
    return int(np.bincount(joint_codes(gaps, n)).min())


def _share_found(columns: tuple[Drafted, ...], k: int) -> float:
    """The limit of the first policy line: one in ten, or what groups of k can keep in a small table."""
    reachable = (2 if any(column.exchangeable for column in columns) else 1) / k
    return max(SHARE_FOUND, float(np.ceil(100 * reachable)) / 100)


def _steps(columns: tuple[Drafted, ...], n: int, k: int, limit: float) -> list[Step]:
    grouped = [column.name for column in columns if column.groupable]
    exchanged = [column.name for column in columns if column.exchangeable]
    steps = [_grouping(grouped, k)] if grouped else []
    return [*steps, _exchanging(exchanged, k if grouped else n, limit)] if exchanged else steps


def _grouping(names: list[str], k: int) -> Step:
    told = {
        K: "ten records that look alike leave an intruder one chance in ten; a smaller k keeps more and protects less.",
        K_BESIDE_EXCHANGE: "twenty, because the categories below tell the members of a group apart to some degree.",
    }
    why = (
        "numbers and ordered codes: records are put into groups of at least k that are alike, and each value is replaced by "
        "that of its group (numbers: the mean; codes: the median category).",
        f"k = {k}: {told.get(k, 'a fourth of the rows; a table this small hides nobody well.')}",
    )
    return Step({"method": "microaggregation", "attributes": names, "k": k}, why)


def _exchanging(names: list[str], group: int, limit: float) -> Step:
    """The odds of a record against each of its group are multiplied by at most e^epsilon per column.

    So the right one of a group of g is believed with at most E / (E + g - 1), E = e^(sum of the epsilons): E is solved for.
    """
    total = float(np.log(limit * (group - 1) / (1 - limit)))
    epsilon = min(MOST_EPSILON, max(0.01, float(np.floor(100 * total / len(names))) / 100))
    why = (
        "categories without an order: each cell is exchanged at random for any category; epsilon says how seldom (0: at random "
        "altogether; each column multiplies an intruder's odds by at most e^epsilon).",
        f"epsilon = {epsilon:g}: as much as the first line of the policy allows. With two categories a cell keeps its own with "
        f"a chance of {_kept(epsilon, 2):.0%}, with eight {_kept(epsilon, 8):.0%}. A larger epsilon keeps more, protects less.",
    )
    return Step({"method": "pram", "attributes": names, "epsilon": epsilon}, why)


def _kept(epsilon: float, categories: int) -> float:
    return float(np.exp(epsilon) / (np.exp(epsilon) + categories - 1))


def _policy(data: Microdata, columns: tuple[Drafted, ...], masking: tuple[Step, ...], k: int, limit: float) -> tuple[Step, ...]:
    first = f"Somebody who knows all quasi-identifiers of everybody finds at most {limit:.0%} of the people."
    lines = [Step({"measure": "reidentification", "at_most": limit}, (first,))]
    if any(step.fields["method"] == "pram" for step in masking):
        why = "Nobody can be pointed at with certainty. (A line on single people would count lucky guesses at exchanged cells.)"
        lines.append(Step({"measure": "known_reidentification", "at_most": 0.0}, (why,)))
    else:
        why = "The person who is easiest to find stays at one chance in three."
        lines.append(Step({"measure": "max_record_risk", "at_most": max(0.34, limit)}, (why,)))
        lines.append(
            Step({"measure": "records_exposed", "at_most": 0.0}, ("Nobody is found with a chance of one half or more.",))
        )
    if _one_group_of_all(columns, masking):
        at_least = min(5, k)
        why = f"Every released record looks like at least {at_least - 1} others on all quasi-identifiers together."
        lines.append(Step({"measure": "k_anonymity", "at_least": at_least}, (why,)))
    if any(column.attribute.role in INSIDER_ROLES for column in columns):
        why = "Somebody who also knows one more published column (an insider) may find more, but no more than this."
        lines.append(Step({"measure": "reidentification", "at_most": max(0.3, limit), "intruder": "insider"}, (why,)))
    return (*lines, _loss(data, columns, masking))


def _one_group_of_all(columns: tuple[Drafted, ...], masking: tuple[Step, ...]) -> bool:
    masked = set(masking[0].fields["attributes"])
    alone = len(masking) == 1 and masking[0].fields["method"] == "microaggregation"
    return alone and all(column.name in masked for column in columns if column.known)


def _loss(data: Microdata, columns: tuple[Drafted, ...], masking: tuple[Step, ...]) -> Step:
    grouped = {name for step in masking if step.fields["method"] == "microaggregation" for name in step.fields["attributes"]}
    if any(c.name in grouped and c.attribute.scale is Scale.NUMERIC for c in columns):
        why = "And the table must still be worth something: at most this percentage of the variation of the numbers is lost."
        return Step({"measure": "sse_percent", "at_most": 40}, (why, "Choose it from what the table is for."))
    why = "And the table must still be worth something: at most this share of the masked cells differs from the original."
    limit, expected = _cells_changed(data, columns, masking)
    told = "Choose it from what the table is for."
    if limit > CELLS_CHANGED:
        told = (
            f"The masks above are expected to change about {expected:.0%} of them. If that is too much, raise `epsilon` (more "
            "risk), publish fewer columns, or give categories an order and group them; then lower this limit."
        )
    return Step({"measure": "cells_changed", "at_most": limit}, (why, told))


def _cells_changed(data: Microdata, columns: tuple[Drafted, ...], masking: tuple[Step, ...]) -> tuple[float, float]:
    """A limit that the masks can keep, and the share of cells that they are expected to change."""
    facts = {column.name: column.facts for column in columns}
    epsilons = {name: step.fields.get("epsilon") for step in masking for name in step.fields["attributes"]}
    shares = [
        _share_grouped(data, name)
        if epsilon is None
        else facts[name].n_present / data.n * (1 - _kept(epsilon, facts[name].n_distinct))
        for name, epsilon in epsilons.items()
    ]
    expected = float(np.mean(shares))
    chance = 4 * float(np.sqrt(expected * (1 - expected) / (data.n * len(shares))))
    return min(1.0, max(CELLS_CHANGED, float(np.ceil(20 * (expected + chance))) / 20)), expected


def _share_grouped(data: Microdata, name: str) -> float:
    """The share of cells that differ if everybody is given the median: smaller groups are nearer to their members."""
    values = data.floats(name)[~data.missing(name)]
    median = np.sort(values)[(len(values) - 1) // 2]
    return float((values != median).sum()) / data.n
