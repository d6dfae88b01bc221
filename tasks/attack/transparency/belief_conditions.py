"""What was concluded of the records, as conditions on the released rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tasks.attack.neighbours.record_comparison import Comparison, create_comparison
from tasks.attack.transparency.estimated_evidence import has_many_kinds
from tasks.attack.transparency.intersection import Conditions
from tasks.attack.transparency.likelihood import create_likelihoods
from tasks.attack.transparency.searched_part import MOST_SEARCHED_WHOLE
from tasks.attack.transparency.whitening import as_if_blurred, whiten_positions
from tasks.mask.external_release.shown_digits import is_shown_as_it_is
from tasks.mask.intruder_belief import Belief, EqualTo, InInterval
from tasks.microdata.codes import find_first_rows, joint_codes, row_codes
from tasks.microdata.column_stack import ALL, stack_columns
from tasks.microdata.schema import Schema
from tasks.microdata.table import Floats, Integers, Microdata, encode_jointly


def arrange_knowledge(
    original: Microdata, masked: Microdata, schema: Schema, knows: tuple[str, ...], knowledge: Belief
) -> tuple[Comparison, Conditions]:
    """What was concluded of the records, as conditions on the distinct released rows."""
    may_estimate = has_many_kinds(len(knowledge.blurred), len(knowledge.likelihoods), len(knowledge.between))
    # estimates draw records by their place: in ascending order the same ones, however the rows of the tables stand
    sorts = may_estimate or original.n <= MOST_SEARCHED_WHOLE
    both = create_comparison(original, masked, schema, knows, "release", sorts=sorts)
    both = _ignore_randomised_attributes(both, knowledge, knows)
    return both, _conditions(knowledge, masked, schema, both)


def _ignore_randomised_attributes(both: Comparison, knowledge: Belief, knows: tuple[str, ...]) -> Comparison:
    """The comparison without the attributes of which a law is known: their distance adds nothing to it."""
    randomised = {name for likelihood in knowledge.likelihoods for name in likelihood.names}
    randomised |= {name for part in knowledge.blurred for name in part.names}
    weight = np.where([name in randomised for name in knows], 0.0, both.weight)
    return replace(both, columns=replace(both.columns, weight=weight))


def _conditions(knowledge: Belief, masked: Microdata, schema: Schema, both: Comparison) -> Conditions:
    """What is concluded, for the distinct records and the distinct released rows of the comparison."""
    record, row = _select_first_rows(both.own_of_record), _select_first_rows(both.shown_of_row)
    records, sizes = np.bincount(both.own_of_record), np.bincount(both.shown_of_row)
    options = [_options(part, knowledge.believed, masked) for part in _together(knowledge)]
    if len(both.own_of_record) > MOST_SEARCHED_WHOLE:  # rows are looked up by what tells most of them apart
        options.sort(key=lambda of_part: int(of_part[-1].max(initial=-1)), reverse=True)
    kept, positions = list[InInterval](), list[Floats]()
    for part in knowledge.between:
        shown = masked.positions(schema[part.name])
        if _excludes(part, shown):
            kept.append(part)
            positions.append(shown)
    # the laws before the intervals are stacked: making the coordinates of noise takes the most memory
    likelihoods = create_likelihoods(knowledge.likelihoods, _places(knowledge, both), record, row, records)
    return Conditions(
        begins=np.stack([begins[record] for begins, _, _, _ in options]),
        ends=np.stack([ends[record] for _, ends, _, _ in options]),
        allowed=tuple(allowed for _, _, allowed, _ in options),
        shown=np.stack([codes[row] for _, _, _, codes in options]),
        low=stack_columns([part.low for part in kept], len(records), record),
        high=stack_columns([part.high for part in kept], len(records), record),
        positions=stack_columns(positions, len(sizes), row),
        likelihoods=likelihoods,
        sizes=sizes,
    )


def _select_first_rows(codes: Integers) -> Integers | slice:
    """`find_first_rows`; where these are all rows in their order, `ALL`, which copies nothing."""
    first = find_first_rows(codes)
    return ALL if len(first) == len(codes) and bool((first[1:] > first[:-1]).all()) else first


def _excludes(part: InInterval, positions: Floats) -> bool:
    """Is any row outside the interval of any record? Else looking at it would only take time."""
    if np.isnan(part.low).any() or np.isnan(positions).any():
        return True
    ends = positions.min(initial=np.inf), positions.max(initial=-np.inf)
    return bool((part.low > ends[0]).any() or (part.high < ends[1]).any())


def _places(knowledge: Belief, both: Comparison) -> tuple[Floats, Floats]:
    """Where all records and all released rows stand, in coordinates in which all noise is independent with variance 1."""
    if not knowledge.blurred:
        return np.empty((len(both.own_of_record), 0)), np.empty((len(both.shown_of_row), 0))
    lawful = {name for likelihood in knowledge.likelihoods for name in likelihood.names} | {
        name for part in knowledge.blurred for name in part.names
    }
    lawless = {*knowledge.unclear, *(part.name for part in knowledge.bounds)} - lawful
    beside = [j for j, name in enumerate(knowledge.believed.names) if name in lawless]
    parts = [whiten_positions(part) for part in knowledge.blurred] + ([as_if_blurred(both, beside)] if beside else [])
    own, shown = (np.column_stack(of_all) if len(of_all) > 1 else of_all[0] for of_all in zip(*parts, strict=True))
    return own, shown


def _together(knowledge: Belief) -> list[EqualTo]:
    """The parts of what is shown, all that is certain joined into one; rows of small tables are looked up by the first part."""
    certain = tuple(name for part in knowledge.shown if part.certain for name in part.names)
    uncertain = [part for part in knowledge.shown if not part.certain]
    if uncertain and not certain:
        return uncertain
    return [EqualTo(certain), *uncertain]


def _options(part: EqualTo, believed: Microdata, masked: Microdata) -> tuple[Integers, Integers, Integers, Integers]:
    """Where the codes allowed for each record begin and end, those codes, and the code of each released row."""
    own, shown = _encode_rows(part.names, believed, masked)
    if part.twins is None:
        return own, own + 1, np.arange(int(max(own.max(initial=-1), shown.max(initial=-1))) + 1), shown
    pairs = find_first_rows(joint_codes([part.twins, own], believed.n))  # each once, in their order
    ends = np.cumsum(np.bincount(part.twins[pairs], minlength=int(part.twins.max(initial=-1)) + 1))
    begins = np.concatenate([[0], ends[:-1]])
    return begins[part.twins], ends[part.twins], own[pairs], shown


def _encode_rows(names: tuple[str, ...], believed: Microdata, masked: Microdata) -> tuple[Integers, Integers]:
    """Equal numbers for rows of either table that are equal in all of `names`, in the order of the rows."""
    if names and all(is_shown_as_it_is(believed.column(name), masked.column(name)) for name in names):
        codes = row_codes(masked, names)
        return codes, codes
    coded = (encode_jointly(*(_merge_zeros(table.column(name)) for table in (believed, masked))) for name in names)
    codes = joint_codes((np.concatenate(pair) for pair in coded), believed.n + masked.n)
    return codes[: believed.n], codes[believed.n :]


def _merge_zeros(column: pa.Array) -> pa.Array:
    """0.0 in place of -0.0, which numbers that were computed can differ in."""
    return pc.add(column, 0.0) if pa.types.is_floating(column.type) else column
