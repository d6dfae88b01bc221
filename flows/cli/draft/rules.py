"""What a first release file proposes for a table: the role and scale of each column, the masks, the policy; with the reasons.

The careful guess everywhere: who is not told otherwise takes a column for known to an intruder and masks it. Reasons hold names
and counts, never a value. What only a person can decide is said so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from flows.cli.advice.cost_text import ENOUGH_TARGETS, RECORDS_PER_PART
from flows.cli.draft.cells import Reading
from flows.cli.draft.column_proposals import DraftColumn, DraftEntry, draft_column
from flows.cli.draft.disclosure_limits import (
    MEMBERSHIP,
    InferenceLimits,
    MembershipLimit,
    limit_inference,
    propose_membership_limit,
)
from flows.cli.draft.expected import Expected, estimate_effects
from flows.cli.draft.loss_limits import MARGIN, propose_loss_lines
from flows.cli.draft.start import GENERAL, Start
from flows.questions import DECIDE
from tasks.attack.threat import INSIDER_ROLES
from tasks.classify.dependence import find_dependences
from tasks.classify.finding import Dependence, create_dependence_column, screen_rows
from tasks.classify.methods import refuse_incomparable
from tasks.classify.pairs import pair_dependence
from tasks.microdata.codes import joint_codes
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Role, Scale, Schema
from tasks.microdata.table import Integers, Microdata

SHARE_FOUND_BY_INSIDERS = 0.3
SMALLEST_K = 2
ALWAYS_HOLDS = 0.9999  # less is a likeness that analysts want, and both columns are masked
LARGE_TABLE = 100_000  # rows; with more, the draft says what makes a run shorter
SHARE_OF_ROWS = 4  # k is at most a fourth of the rows
MOST_COMPARED = 80  # columns; every pair of them is compared
SAME = ("copy", "one_to_one", "rank_correlation")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseDraft:
    """A release file before it is written down.

    control: the share of the people to set aside; None: nobody. not_limited: kinds of disclosure that no line limits, each with
    the question why.
    """

    name: str
    source: dict[str, str]
    columns: tuple[DraftColumn, ...]
    masking: tuple[DraftEntry, ...]
    policy: tuple[DraftEntry, ...]
    start: Start = GENERAL
    control: float | None = None
    not_limited: tuple[tuple[str, str], ...] = ()

    @property
    def questions(self) -> tuple[tuple[str, str], ...]:
        """What it is about (a column, the measure of a line of the policy, a kind of disclosure), and what is asked.

        In the order of the file.
        """
        of_columns = ((column.name, question) for column in self.columns for question in column.decide)
        of_lines = (
            (step.fields.get("measure", "policy"), step.fields[DECIDE]) for step in self.policy if DECIDE in step.fields
        )
        return (*of_columns, *of_lines, *self.not_limited)


def draft_release(
    data: Microdata, readings: Mapping[str, Reading], *, name: str, source: dict[str, str], start: Start = GENERAL
) -> ReleaseDraft:
    """Propose a release file for a table.

    Parameters
    ----------
    data: the table as ingest reads it. readings: how the text of a column is written, where ingest had to be told; by name.
    name: of the release. source: as it will stand in the file. start: the limits to start from.

    Raises InputError where no column can be masked, because there is nothing that a policy could be about, and for a column
    whose numbers cannot be compared.
    """
    columns = tuple(draft_column(data, column, readings.get(column, Reading())) for column in data.names)
    _refuse_incomparable(data, columns)
    columns = _mark_dependents_derived(data, _mark_equivalents_derived(data, columns))
    k = max(SMALLEST_K, min(start.k, data.n // SHARE_OF_ROWS))
    columns = _withhold_rare_gaps(data, columns, k)
    grouped = [column for column in columns if column.groupable]
    if not grouped:
        rows = f"{data.n:,} row{'' if data.n == 1 else 's'}"
        raise InputError("nothing-to-mask", "sdcert init TABLE", f"No column of the table ({rows}) could be masked.",
                         "a table with at least one column that a person could be known by, and that varies",
                         "see `sdcert methods mask`, and write the release file by hand")  # fmt: skip
    expected = estimate_effects(data, columns, k)
    drafted = tuple(_flag_unmasked_column(_withhold_identifying_weight(column, expected, k, start)) for column in columns)
    membership = propose_membership_limit(
        data, _create_schema(drafted), [column.name for column in drafted if column.groupable], k
    )
    control = None if membership is None else membership.control
    inference = limit_inference(data, drafted, control)
    policy = _propose_policy(data, drafted, k, expected, start, inference, membership)
    masking = (_propose_grouping(grouped, k, start, data.n),)
    asked = {"inference": inference.question, "membership": None if control else MEMBERSHIP}
    return ReleaseDraft(
        name=name,
        source=source,
        columns=drafted,
        masking=masking,
        policy=policy,
        start=start,
        control=control,
        not_limited=tuple((kind, question) for kind, question in asked.items() if question is not None),
    )


def _withhold_identifying_weight(column: DraftColumn, expected: Expected | None, k: int, start: Start) -> DraftColumn:
    """A survey weight that tells records apart although they look alike is not published, unless a person says so."""
    if column.attribute.role is not Role.WEIGHT or column.facts.n_distinct < 2:
        return column
    limit = _compute_insider_limit(k, start)
    found = 1.0 if expected is None else expected.insiders_find(column.name)
    if MARGIN * found <= limit:
        return column
    why = f"who also knows the weight would find about {found:.0%} of the records, so it is not published"
    question = (
        "can the analyses do without this weight? Then keep it so. Else write `role: weight` (it is published as it is: then "
        f"also allow insiders more than {limit:.0%}, or coarsen it at the source), or `role: quasi_identifier, scale: numeric` "
        "(it is masked with the others, and estimates with it are off)"
    )
    return replace(column.change_attribute(why, role=Role.WITHHELD), decide=(question,), hints=())


def _compute_insider_limit(k: int, start: Start) -> float:
    return max(SHARE_FOUND_BY_INSIDERS, _compute_first_limit(k, start))


def _refuse_incomparable(data: Microdata, columns: Sequence[DraftColumn]) -> None:
    """As a run would, before a number is compared with another; the file that could say more of the column is not there yet."""
    try:
        refuse_incomparable(data, _create_schema(columns), "columns")
    except InputError as error:
        raise replace(
            error, remedy="change its unit at the source, or take the column out; then run `sdcert init` again"
        ) from None


def _flag_unmasked_column(column: DraftColumn) -> DraftColumn:
    if not column.is_quasi_identifier or column.groupable:
        return column
    return replace(
        column,
        decide=(*column.decide, "NOT MASKED: no mask here fits it; mask it, coarsen it at the source, or do not publish it"),
    )


def _create_schema(columns: Sequence[DraftColumn]) -> Schema:
    return Schema(tuple(column.attribute for column in columns))


def _mark_derived(columns: tuple[DraftColumn, ...], name: str, sources: tuple[str, ...], why: str) -> tuple[DraftColumn, ...]:
    drafted = f"{why}: published, it would undo the mask"
    hints = ("if that is a coincidence, mask it with the others instead",)
    return tuple(
        replace(column.as_derived(sources, drafted), decide=(), hints=hints) if column.name == name else column
        for column in columns
    )


def _mark_equivalents_derived(data: Microdata, columns: tuple[DraftColumn, ...]) -> tuple[DraftColumn, ...]:
    """Of columns that say the same, the first is kept: two masked forms of one column tell more than one."""
    known = [column.name for column in columns if column.is_quasi_identifier and column.facts.n_distinct > 2]
    if len(known) > MOST_COMPARED:
        return columns
    schema, rows = _create_schema(columns), screen_rows(data.n)
    coded = {name: create_dependence_column(data, schema, name) for name in known}
    gone: set[str] = set()
    for first, second in combinations(known, 2):
        found = None if {first, second} & gone else pair_dependence(coded[first], coded[second], rows, None)
        if found is not None and found.relation in SAME and found.share >= ALWAYS_HOLDS:
            gone.add(second)
            columns = _mark_derived(columns, second, (first,), _describe_relation(found))
    return columns


def _mark_dependents_derived(data: Microdata, columns: tuple[DraftColumn, ...]) -> tuple[DraftColumn, ...]:
    for _ in columns:
        masked = [column.name for column in columns if column.groupable]
        found = find_dependences(data, _create_schema(columns), masked)
        if not found:
            return columns
        columns = _mark_derived(columns, found[0].unmasked[0], found[0].masked, _describe_relation(found[0]))
    return columns


def _describe_relation(found: Dependence) -> str:
    match found.relation:
        case "copy":
            return f"a copy of `{found.masked[0]}`"
        case "one_to_one":
            return f"another coding of `{found.masked[0]}`"
        case "rank_correlation":
            return f"it has the order of `{found.masked[0]}`"
        case _:
            return found.describe()


def _withhold_rare_gaps(data: Microdata, columns: tuple[DraftColumn, ...], k: int) -> tuple[DraftColumn, ...]:
    """Records are grouped among those with the same gaps: a column whose gaps leave fewer than k of them is not published.

    Grouping such columns apart is no way out: two partitions intersect, and next to nobody is hidden in what is left.
    """
    gaps = {column.name: data.missing(column.name).astype(np.int64) for column in columns if column.groupable}
    left = [name for name, gap in gaps.items() if gap.any()]
    dropped: list[str] = []
    while left and _count_smallest_pattern([gaps[name] for name in left], data.n) < k:
        dropped.append(
            max(left, key=lambda name: _count_smallest_pattern([gaps[other] for other in left if other != name], data.n))
        )
        left.remove(dropped[-1])
    return tuple(_withhold_column(column) if column.name in dropped else column for column in columns)


def _withhold_column(column: DraftColumn) -> DraftColumn:
    scale = column.attribute.scale
    why = "too few rows share its gaps to hide among each other, so it is not published"
    fill = "write the gaps as a category of their own" if column.categorical else "fill the gaps"
    question = (
        f"{fill}, or leave those rows out, at the source; then write "
        f"`role: quasi_identifier, scale: {scale}` and add it to the microaggregation, or leave it unpublished"
    )
    return replace(column.change_attribute(why, role=Role.WITHHELD), decide=(), hints=(question,))


def _count_smallest_pattern(gaps: list[Integers], n: int) -> int:
    return int(np.bincount(joint_codes(gaps, n)).min())


def _compute_first_limit(k: int, start: Start) -> float:
    """The limit of the first policy line: that of the start, or what groups of k can keep in a small table."""
    return max(start.share, float(np.ceil(100 / k)) / 100)


def _propose_grouping(columns: Sequence[DraftColumn], k: int, start: Start, rows: int) -> DraftEntry:
    """One step for all columns: whoever knows them all is still left with a group; two partitions would intersect."""
    each = f"so many records that look alike leave an intruder one chance in {k}; a smaller k keeps more and protects less."
    shorter = (
        f"If `sdcert check` says that the run takes too long: `records_per_part: {RECORDS_PER_PART}` here groups the "
        f"records in parts, and `intruder: {{targets: {ENOUGH_TARGETS / rows:.1g}}}` at the top of the file attacks a sample."
    )
    why = (
        "Records are put into groups of at least k that are alike, and each value is replaced by that of its group "
        f"({_describe_replacements(columns)}). All columns are grouped together: whoever knows them all is "
        "still left with a group.",
        f"k = {k}: {each if k == start.k else 'a fourth of the rows; a table this small hides nobody well.'}",
        *([shorter] if rows > LARGE_TABLE else []),
    )
    return DraftEntry({"method": "microaggregation", "attributes": [column.name for column in columns], "k": k}, why)


def _describe_replacements(columns: Sequence[DraftColumn]) -> str:
    scales = {column.attribute.scale for column in columns}
    drafted = {
        "numbers: the mean": Scale.NUMERIC in scales,
        "dates and times: the mean": bool({Scale.DATE, Scale.TIME} & scales),
        "ordered codes: the median category": Scale.ORDINAL in scales,
        "categories: the most frequent": any(column.categorical for column in columns),
    }
    return "; ".join(words for words, there in drafted.items() if there)


def _propose_policy(
    data: Microdata,
    columns: tuple[DraftColumn, ...],
    k: int,
    expected: Expected | None,
    start: Start,
    inference: InferenceLimits,
    membership: MembershipLimit | None,
) -> tuple[DraftEntry, ...]:
    limit = _compute_first_limit(k, start)
    risk = max(start.risk, limit)
    first = f"Somebody who knows all quasi-identifiers of everybody finds at most {limit:.0%} of the people."
    easiest = f"The person who is easiest to find is found with a chance of {risk:.0%} at most."
    lines = [
        DraftEntry(
            {"measure": "reidentification", "at_most": limit}, (first, *((f"{start.source}.",) if k == start.k else ()))
        ),
        DraftEntry({"measure": "max_record_risk", "at_most": risk}, (easiest,)),
    ]
    if k > SMALLEST_K:  # of two, everybody is found with a chance of one half
        exposed = "Nobody is found with a chance of one half or more."
        lines.append(DraftEntry({"measure": "records_exposed", "at_most": 0.0}, (exposed,)))
    if all(column.groupable for column in columns if column.is_quasi_identifier):
        at_least = min(5, k) if start is GENERAL else k
        why = f"Every released record looks like at least {at_least - 1} others on all quasi-identifiers together."
        lines.append(DraftEntry({"measure": "k_anonymity", "at_least": at_least}, (why,)))
    if any(column.attribute.role in INSIDER_ROLES for column in columns):
        why = "Somebody who also knows one more published column (an insider) may find more, but no more than this."
        lines.append(
            DraftEntry(
                {"measure": "reidentification", "at_most": _compute_insider_limit(k, start), "intruder": "insider"}, (why,)
            )
        )
    lines += inference.lines
    lines += [] if membership is None else [membership.line]
    return (
        *lines,
        *propose_loss_lines(
            data, [column for column in columns if column.groupable], expected, has_control=membership is not None
        ),
    )
