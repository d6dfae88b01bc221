"""The strongest association rules of a table, from what is published and not confidential to a confidential value.

Categories are items as they are. Numbers, dates, times and ordinal attributes of many values are cut at their quartiles; a part
begins and ends with a value that occurs, and the first and the last part have no outer end. All rules of few conditions are
counted, so that none is missed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tasks.microdata.errors import InputError
from tasks.microdata.schema import MEASURED, Attribute, Role, Scale, Schema
from tasks.microdata.suggestion import did_you_mean
from tasks.microdata.table import Floats, Integers, Microdata, write_plain_texts
from tasks.score.declared_rules import Condition, Rule, RuleSearch, RuleValue, ValueInterval
from tasks.score.rule_counts import ROUNDING_ERROR, reach_limits

MOST_CANDIDATES = 1_000_000  # rules that are counted: some seconds of 100,000 rows
MANY_VALUES = 10  # an ordinal attribute of more values is cut at quartiles
QUARTILES = (0.25, 0.5, 0.75)
WHERE = "measures: results_hidden.find"


@dataclass(frozen=True, slots=True)
class _CodedAttribute:
    """An attribute as items: row i has item `codes[i]`; -1: none that enough rows have."""

    name: str
    codes: Integers
    items: tuple[Condition, ...]

    def count_items(self) -> Integers:
        """Shape (items,): how many rows have each."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.items))


@dataclass(frozen=True, slots=True)
class _FoundRules:
    """Rules over one set of attributes, as arrays of one length: cells of conditions, values, and their counts."""

    conditions: tuple[_CodedAttribute, ...]
    secret: _CodedAttribute
    cells: Integers
    values: Integers
    antecedent: Integers
    both: Integers

    def create_rule(self, i: int) -> Rule:
        places = np.unravel_index(self.cells[i], tuple(len(one.items) for one in self.conditions))
        given = tuple((one.name, one.items[int(place)]) for one, place in zip(self.conditions, places, strict=True))
        # the values are those of the source, which may be longer than what a release file may hold
        return Rule.model_construct(antecedent=given, consequent=((self.secret.name, self.secret.items[self.values[i]]),))


@dataclass(frozen=True, slots=True)
class _SearchSpace:
    conditions: tuple[_CodedAttribute, ...]
    secrets: tuple[_CodedAttribute, ...]

    def count_candidates(self, most_conditions: int) -> int:
        """How many rules of at most so many conditions there are."""
        by_size = [1] + [0] * most_conditions  # elementary symmetric polynomials of the numbers of items
        for one in self.conditions:
            for size in range(most_conditions, 0, -1):
                by_size[size] += by_size[size - 1] * len(one.items)
        return sum(by_size[1:]) * sum(len(one.items) for one in self.secrets)


def find_rules(source: Microdata, schema: Schema, search: RuleSearch, where: str = WHERE) -> tuple[Rule, ...]:
    """The strongest rules of a table that reach both limits and say more than what everybody knows, the strongest first.

    A rule has at most `items_at_most` - 1 conditions, on published attributes that are neither confidential nor a weight, and
    concludes on one confidential attribute. Its confidence is above the share of all rows with that value (lift above 1).
    Stronger is: of larger confidence, then of larger support, then of fewer conditions; then what stands first in the table.
    A missing value meets no condition. A rule that only narrows a stronger one counts for itself.
    Raises InputError as `check_search` does. Cost: O(n) for each set of attributes, at most `MOST_CANDIDATES` rules.
    Source: Agrawal, Imielinski and Swami (1993).
    """
    space = _create_space(source, schema, search, where)
    groups = list(_search(space, source.n, search))
    if not groups:
        return ()
    both = np.concatenate([one.both for one in groups])
    confidence = both / np.concatenate([one.antecedent for one in groups])
    group = np.repeat(np.arange(len(groups)), [len(one.both) for one in groups])
    place = np.concatenate([np.arange(len(one.both)) for one in groups])
    sizes = np.array([len(one.conditions) for one in groups])[group]
    strongest = np.lexsort((sizes, -both, -confidence))[: search.rules_at_most]
    return tuple(groups[group[i]].create_rule(int(place[i])) for i in strongest)


def check_search(search: RuleSearch, source: Microdata, schema: Schema, where: str = WHERE) -> None:
    """Refuse a search that this source does not allow. where: of `find` in the release file.

    Raises InputError for a name in `about` that is no published confidential attribute, where there is none at all, and for
    more candidate rules than `MOST_CANDIDATES`. Cost: O(n log n) for each attribute.
    """
    _create_space(source, schema, search, where)


def format_rule(rule: Rule) -> str:
    """A rule in one line. Example: `age <= 34, educ = 2 -> vote = 1`."""
    sides = (", ".join(_format_condition(*one) for one in side) for side in (rule.antecedent, rule.consequent))
    return " -> ".join(sides)


def _format_condition(name: str, condition: Condition) -> str:
    if not isinstance(condition, ValueInterval):
        return f"{name} = {' or '.join(map(str, condition))}"
    if condition.at_least is None:
        return f"{name} <= {condition.at_most}"
    return (
        f"{name} >= {condition.at_least}"
        if condition.at_most is None
        else (f"{name} from {condition.at_least} to {condition.at_most}")
    )


def _create_space(source: Microdata, schema: Schema, search: RuleSearch, where: str) -> _SearchSpace:
    published = [one for one in schema.attributes if one.is_published]
    secret = [one.name for one in published if one.role is Role.CONFIDENTIAL]
    wanted = secret if search.about is None else search.about
    for name in (one for one in wanted if one not in secret):
        raise InputError(
            code="unknown-attribute",
            where=f"{where}.about",
            what="no published confidential attribute has this name, so that no rule can conclude on it",
            allowed=", ".join(secret) or "none: no confidential attribute is published",
            remedy=did_you_mean(name, secret, "take it out, or declare `role: confidential`"),
            value=name,
        )
    if not secret:
        what, allowed = "no confidential attribute is published, so that no rule can be found", "a release that has one"
        raise InputError("no-confidential", where, what, allowed, "declare `role: confidential`, or take the entry out")
    least = search.min_support * source.n - ROUNDING_ERROR
    known = [one for one in published if one.role not in (Role.CONFIDENTIAL, Role.WEIGHT)]
    conditions = (_keep_frequent(_encode(source, one), least) for one in known)
    secrets = (_keep_frequent(_encode(source, schema[name]), least) for name in dict.fromkeys(wanted))
    space = _SearchSpace(tuple(one for one in conditions if one.items), tuple(one for one in secrets if one.items))
    _refuse_many(space.count_candidates(search.items_at_most - 1), search, where)
    return space


def _refuse_many(candidates: int, search: RuleSearch, where: str) -> None:
    if candidates <= MOST_CANDIDATES:
        return
    fewer = "write a smaller `items_at_most`, " if search.items_at_most > 2 else ""
    raise InputError(
        code="too-many-candidates",
        where=where,
        what=f"{candidates:,} rules would have to be counted",
        allowed=f"at most {MOST_CANDIDATES:,} candidate rules",
        remedy=f"{fewer}fewer attributes in `about`, or a larger `min_support`, which leaves fewer categories",
        value=candidates,
    )


def _search(space: _SearchSpace, n: int, search: RuleSearch) -> Iterator[_FoundRules]:
    for size in range(1, search.items_at_most) if space.secrets else ():  # where nothing is concluded nothing is counted
        for conditions in itertools.combinations(space.conditions, size):
            joint = _join_codes(conditions, n)
            cells = int(np.prod([len(one.items) for one in conditions]))
            antecedent = np.bincount(joint[joint >= 0], minlength=cells)
            for secret in space.secrets:
                found = _search_cells(joint, antecedent, secret, conditions, search)
                if len(found.both):
                    yield found


def _join_codes(conditions: tuple[_CodedAttribute, ...], n: int) -> Integers:
    """Shape (n,): the cell of each row over the items of all attributes; -1 where it has none of one of them."""
    joint, complete = np.zeros(n, dtype=np.int64), np.ones(n, dtype=bool)
    for one in conditions:
        joint = joint * len(one.items) + one.codes
        complete &= one.codes >= 0
    return np.where(complete, joint, -1)


def _search_cells(
    joint: Integers,
    antecedent: Integers,
    secret: _CodedAttribute,
    conditions: tuple[_CodedAttribute, ...],
    search: RuleSearch,
) -> _FoundRules:
    n, width = len(joint), len(secret.items)
    counted = (joint >= 0) & (secret.codes >= 0)
    pairs = joint[counted] * width + secret.codes[counted]
    both = np.bincount(pairs, minlength=len(antecedent) * width).reshape(-1, width)
    wide = antecedent[:, None]
    strong = reach_limits(n, wide, both, search.min_support, search.min_confidence)
    cells, values = np.nonzero(strong & (both * n > wide * secret.count_items()))
    return _FoundRules(conditions, secret, cells, values, antecedent[cells], both[cells, values])


def _keep_frequent(coded: _CodedAttribute, least: float) -> _CodedAttribute:
    """The same with those items alone that so many rows have, and none that all rows have: it is a condition of nothing."""
    counts = coded.count_items()
    kept = (counts > 0) & (counts >= least) & (counts < len(coded.codes))
    numbers = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)  # the last is that of -1
    items = tuple(item for item, stays in zip(coded.items, kept, strict=True) if stays)
    return _CodedAttribute(coded.name, numbers[coded.codes], items)


def _encode(table: Microdata, attribute: Attribute) -> _CodedAttribute:
    column = table.column(attribute.name)
    values = pc.unique(column.drop_null())
    has_positions = not pa.types.is_boolean(column.type) and (not table.is_text(attribute.name) or attribute.order is not None)
    many = attribute.scale is Scale.ORDINAL and len(values) > MANY_VALUES
    if has_positions and (many or attribute.scale in MEASURED):
        return _cut_at_quartiles(attribute.name, column, table.positions(attribute))
    ordered = values.take(pc.sort_indices(values))
    codes = pc.fill_null(pc.index_in(column, value_set=ordered), -1)
    items: tuple[Condition, ...] = tuple((str(text),) for text in write_plain_texts(ordered))
    return _CodedAttribute(attribute.name, np.array(codes.to_numpy(zero_copy_only=False), dtype=np.int64), items)


def _cut_at_quartiles(name: str, column: pa.Array, positions: Floats) -> _CodedAttribute:
    known = ~np.isnan(positions)
    if not known.any():
        return _CodedAttribute(name, np.full(len(positions), -1, dtype=np.int64), ())
    cuts = np.unique(np.quantile(positions[known], QUARTILES, method="inverted_cdf"))
    parts = np.searchsorted(cuts, positions, side="left")  # a part ends with its cut
    codes = np.where(known, parts, -1).astype(np.int64)
    last = int(codes.max())
    items = tuple(_create_interval(column, positions, np.flatnonzero(codes == part), part, last) for part in range(last + 1))
    return _CodedAttribute(name, codes, items)


def _create_interval(column: pa.Array, positions: Floats, rows: Integers, part: int, last: int) -> ValueInterval:
    low, high = rows[np.argmin(positions[rows])], rows[np.argmax(positions[rows])]
    at_least = None if part == 0 and last > 0 else _write_value(column, int(low))
    at_most = None if part == last else _write_value(column, int(high))
    return ValueInterval.model_construct(at_least=at_least, at_most=at_most)


def _write_value(column: pa.Array, row: int) -> RuleValue:
    """A value as a release file would have it: a number, or a text."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        number: RuleValue = column[row].as_py()
        return number
    return str(write_plain_texts(column.slice(row, 1))[0])
