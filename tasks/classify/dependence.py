"""What undoes a mask: published unmasked columns that are functions of masked ones.

Found are copies, one-to-one recodings and functions in either direction, (near-)perfect rank correlation, sums and differences
of two columns, and exact linear identities of more. What holds among masked columns alone, or among unmasked ones alone, tells
an intruder nothing about a mask. A finding has to be more than luck: at least ten rows, and a chance under one in a million
that an unrelated column would agree as well.

Not found: products and ratios, functions of several columns that are not linear, dependence that holds in part of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.linalg import qr
from scipy.special import gammaln
from scipy.stats import rankdata

from tasks.microdata.schema import Role, Scale, Schema
from tasks.microdata.table import Booleans, Floats, Integers, Microdata, shared_codes

Relation = Literal["copy", "one_to_one", "function_of_masked", "masked_is_function", "rank_correlation", "sum", "linear"]

HOLDS = 0.99  # the share of rows in which a relation has to hold
LUCK = 1e-6
ENOUGH_ROWS = 10
RELATIVE_TOLERANCE = 1e-4  # of sums; published totals are rounded
EXACT_TOLERANCE = 1e-7  # of linear identities
_SCREEN_ROWS, _FIRST_SCREEN_ROWS, _SCREEN_TIED, _SLACK = 20_000, 512, 50, 0.04
_NO_WEIGHT = 1e-6
_LEFT_OF_MAJORITY = 0.05


@dataclass(frozen=True, slots=True)
class Dependence:
    """One relation between masked and published unmasked columns.

    share: of the rows that could show the relation, how many do; the size of the rank correlation. identity: the sum in words.
    """

    relation: Relation
    masked: tuple[str, ...]
    unmasked: tuple[str, ...]
    share: float
    identity: str = ""

    def in_words(self) -> str:
        masked, unmasked = " and ".join(self.masked), " and ".join(self.unmasked)
        match self.relation:
            case "copy":
                return f"{unmasked} is a copy of {masked} (in {self.share:.2%} of the rows)"
            case "one_to_one":
                return f"{unmasked} is a one-to-one recoding of {masked} (in {self.share:.2%} of the rows)"
            case "function_of_masked":
                return f"{unmasked} is a function of {masked} (in {self.share:.2%} of the rows)"
            case "masked_is_function":
                return f"{masked} is a function of {unmasked} (in {self.share:.2%} of the rows)"
            case "rank_correlation":
                return f"{unmasked} has the order of {masked} (rank correlation {self.share:.4f} in size)"
            case "sum":
                return f"{self.identity} (in {self.share:.2%} of the rows; masked: {masked})"
            case "linear":
                return f"{unmasked} and {masked} are linked by a linear identity (in {self.share:.2%} of the rows)"


@dataclass(frozen=True, slots=True)
class _Column:
    """One column for the search.

    codes: 0.. for the values, missing -1. mode: the most frequent code. numbers: missing NaN; None for unordered text.
    summable: stored as numbers, and not constant.
    """

    name: str
    values: pa.Array
    codes: Integers
    mode: int
    numbers: Floats | None
    summable: bool


def find_dependences(data: Microdata, schema: Schema, masked: Sequence[str]) -> tuple[Dependence, ...]:
    """The relations by which published unmasked columns undo the mask of `masked` columns.

    Parameters
    ----------
    data: n rows. schema: says which columns are published, and which is the group or person: what is shared inside one counts
        once. masked: names of published columns; the other published ones are the unmasked.

    Returns
    -------
    At most one dependence per pair, then sums of two, then at most one linear identity of more columns; an unmasked column
    found in one is not searched again in the next. Empty where nothing is masked, nothing unmasked, or under ten rows.

    Cost: candidates are screened on up to 20,000 rows and confirmed on all: for m masked and u unmasked columns m u pairs, and
    of order (m + u)^3 sums on 512 rows. 1,000,000 rows with 3 + 3 columns take about 2 s.
    """
    unmasked = [name for name in schema.published if name not in masked]
    if not masked or not unmasked or data.n < ENOUGH_ROWS:
        return ()
    hidden, shown = ([_column(data, schema, name) for name in names] for names in (masked, unmasked))
    screen, clusters = _screen(data.n), _clusters(data, schema)
    found = [_pair(m, u, screen, clusters) for m, u in product(hidden, shown)]
    pairs = tuple(dependence for dependence in found if dependence is not None)
    left = _without(shown, pairs)
    sums = _sums(hidden, left, screen[:_FIRST_SCREEN_ROWS])
    return pairs + sums + _linear(hidden, _without(left, sums), screen)


def _without(columns: Sequence[_Column], found: Sequence[Dependence]) -> list[_Column]:
    taken = {name for dependence in found for name in dependence.unmasked}
    return [column for column in columns if column.name not in taken]


def _column(data: Microdata, schema: Schema, name: str) -> _Column:
    attribute, values = schema[name], data.column(name)
    (codes,) = shared_codes(values)
    counts = np.bincount(codes[codes >= 0], minlength=1)
    ordered = attribute.scale is Scale.ORDINAL and attribute.order is not None
    numbers = data.floats(name) if not data.is_text(name) else data.positions(attribute) if ordered else None
    return _Column(name, values, codes, int(counts.argmax()), numbers, not data.is_text(name) and len(counts) > 1)


def _screen(n: int) -> Integers:
    """Up to 20,000 rows spread over the table without regard to its order: those with the smallest hash of their number."""
    mixed = np.arange(n, dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.argsort(mixed ^ (mixed >> np.uint64(31)), kind="stable")[:_SCREEN_ROWS].astype(np.int64)


def _clusters(data: Microdata, schema: Schema) -> Integers | None:
    shared = (*schema.with_role(Role.GROUP), *schema.with_role(Role.PERSON))
    return shared_codes(data.column(shared[0]))[0] if shared else None


def _pair(masked: _Column, unmasked: _Column, screen: Integers, clusters: Integers | None) -> Dependence | None:
    def found(relation: Relation, share: float) -> Dependence:
        return Dependence(relation, (masked.name,), (unmasked.name,), share)

    if (copied := _copied(masked, unmasked)) is not None:
        return found("copy", copied)
    forward = _determined(masked.codes, unmasked.codes, screen, clusters)
    backward = _determined(unmasked.codes, masked.codes, screen, clusters)
    if forward is not None and backward is not None:
        return found("one_to_one", min(forward, backward))
    if (correlated := _rank_correlated(masked, unmasked, screen)) is not None:
        return found("rank_correlation", correlated)
    if forward is not None:
        return found("function_of_masked", forward)
    return None if backward is None else found("masked_is_function", backward)


def _copied(a: _Column, b: _Column) -> float | None:
    """Share of equal values, over the rows where not both columns show their most frequent value; None under 0.99, or by luck.

    Where a is not at its most frequent value, independent draws of b equal it with chance at most the share of b's second.
    """
    if a.values.type == b.values.type:
        equal = np.asarray(pc.fill_null(pc.equal(a.values, b.values), False).to_numpy(zero_copy_only=False), dtype=bool)
    elif a.summable and b.summable:
        equal = np.asarray(a.numbers == b.numbers)
    else:
        return None
    telling = (a.codes >= 0) & (b.codes >= 0) & ((a.codes != a.mode) | (b.codes != b.mode))
    off_mode = (a.codes >= 0) & (b.codes >= 0) & (a.codes != a.mode)
    counts = np.bincount(b.codes[b.codes >= 0], minlength=b.mode + 1)
    second = float(np.delete(counts, b.mode).max(initial=0) / max(counts.sum(), 1))
    return _share_if_holding(equal[telling]) if _is_no_luck(equal[off_mode], second) else None


def _is_no_luck(holds: Booleans, chance: float) -> bool:
    """Would rows that hold with at most this chance each, independently, hold so often with chance under one in a million?"""
    if len(holds) == 0 or chance == 0:
        return False
    return bool(_log_luck(len(holds), int((~holds).sum()), len(holds), chance) <= np.log(LUCK))


def _share_if_holding(holds: Booleans) -> float | None:
    if len(holds) < ENOUGH_ROWS:
        return None
    share = float(holds.mean())
    return share if share >= HOLDS else None


def _determined(x: Integers, y: Integers, screen: Integers, clusters: Integers | None) -> float | None:
    """Share of rows in which y is a function of x, over the rows whose x occurs again; None if it is none, or may be luck.

    In words: give each x its most frequent y; at most 1 % of the rows with a repeated x may differ, and at most 5 % of what
    guessing the most frequent y would miss. If q is the share of the most frequent y and r the number of repeats, independent
    draws of y do as well with chance at most (ways to choose the exceptions) * q^r, which must be under one in a million.
    """
    if len(screen) < len(x):
        tied, errors, *_ = _repeats(x[screen], y[screen], None)
        if tied >= _SCREEN_TIED and errors > (1 - HOLDS + _SLACK) * tied:
            return None
    tied, errors, repeats, majority = _repeats(x, y, clusters)
    if tied < ENOUGH_ROWS or errors > min(1 - HOLDS, _LEFT_OF_MAJORITY * (1 - majority)) * tied:
        return None
    return None if _log_luck(tied, errors, repeats, majority) > np.log(LUCK) else 1 - errors / tied


def _log_luck(rows: int, errors: int, repeats: int, chance: float) -> float:
    """Logarithm of a bound: (ways to choose the errors among the rows) * chance^(repeats - errors)."""
    ways = errors * (1 + np.log(rows / errors)) if errors else 0.0
    return float(ways + (repeats - errors) * np.log(chance))


def _repeats(x: Integers, y: Integers, clusters: Integers | None) -> tuple[int, int, int, float]:
    """Rows whose x occurs again; those of them off their x's most frequent y; repeats of an x; share of the most frequent y."""
    both = (x >= 0) & (y >= 0)
    if not both.any():
        return 0, 0, 0, 1.0
    width = int(y[both].max()) + 1
    pair = x[both] * width + y[both]
    pair = pair if clusters is None else _once_per_cluster(pair, clusters[both])
    values, counts = np.unique(pair, return_counts=True)
    starts = np.flatnonzero(np.diff(values // width, prepend=-1))
    totals, biggest = np.add.reduceat(counts, starts), np.maximum.reduceat(counts, starts)
    again = totals > 1
    tied, errors = int(totals[again].sum()), int((totals - biggest)[again].sum())
    return tied, errors, int((totals - 1).sum()), float(np.bincount(pair % width).max() / len(pair))


def _once_per_cluster(pair: Integers, cluster: Integers) -> Integers:
    order = np.lexsort((pair, cluster))
    first = np.ones(len(order), dtype=bool)
    first[1:] = (np.diff(pair[order]) != 0) | (np.diff(cluster[order]) != 0)
    return pair[order][first]


def _rank_correlated(a: _Column, b: _Column, screen: Integers) -> float | None:
    """|Spearman| over the rows where both have a value; None under 0.99, or by luck.

    A random order of b, whose values occur c1, c2, ... times, agrees with that of a with chance c1! c2! ... / n!.
    """
    if a.numbers is None or b.numbers is None:
        return None
    times = np.bincount(b.codes[(a.codes >= 0) & (b.codes >= 0)])
    if np.log(2) + gammaln(times + 1).sum() - gammaln(times.sum() + 1) > np.log(LUCK):
        return None
    if len(screen) < len(a.numbers) and _spearman(a.numbers[screen], b.numbers[screen]) < HOLDS - _SLACK:
        return None
    strength = _spearman(a.numbers, b.numbers)
    return strength if strength >= HOLDS else None


def _spearman(a: Floats, b: Floats) -> float:
    both = ~(np.isnan(a) | np.isnan(b))
    if both.sum() < ENOUGH_ROWS:
        return 0.0
    x, y = rankdata(a[both]), rankdata(b[both])
    x, y = x - x.mean(), y - y.mean()
    scale = float(np.sqrt((x @ x) * (y @ y)))
    return abs(float(x @ y)) / scale if scale > 0 else 0.0


def _sums(hidden: Sequence[_Column], shown: Sequence[_Column], screen: Integers) -> tuple[Dependence, ...]:
    """Triples with a + b = c that hold masked and unmasked columns; differences are sums read the other way."""
    n_hidden = sum(column.summable for column in hidden)
    columns = [column for column in (*hidden, *shown) if column.summable]
    if n_hidden == 0 or n_hidden == len(columns):
        return ()
    sample = np.stack([column.numbers[screen] for column in columns if column.numbers is not None], axis=1)
    found = []
    for a, b in combinations(range(len(columns)), 2):
        for c in _candidates(sample, a, b):
            share = _sum_share(columns[a], columns[b], columns[c]) if 0 < sum(i < n_hidden for i in (a, b, c)) < 3 else None
            if share is not None:
                words = f"{columns[c].name} = {columns[a].name} + {columns[b].name}"
                found.append(replace(_named("sum", columns, (a, b, c), n_hidden, share), identity=words))
    return tuple(found)


def _candidates(sample: Floats, a: int, b: int) -> list[int]:
    holds = _is_sum(sample[:, [a]], sample[:, [b]], sample)
    complete = ~np.isnan(sample[:, [a]] + sample[:, [b]] + sample)
    enough = complete.sum(axis=0) >= ENOUGH_ROWS
    passing = ~enough | (holds.sum(axis=0) >= (HOLDS - _SLACK) * complete.sum(axis=0))
    return [int(c) for c in np.flatnonzero(passing) if c not in (a, b)]


def _is_sum(a: Floats, b: Floats, c: Floats) -> Booleans:
    size = np.maximum(np.maximum(np.abs(a), np.abs(b)), np.abs(c))
    return np.asarray(np.abs(c - (a + b)) <= RELATIVE_TOLERANCE * size)


def _sum_share(a: _Column, b: _Column, c: _Column) -> float | None:
    """Share of rows with a + b = c; None unless it is 0.99, also where a is not 0 and where b is not 0, and no luck.

    Where a + b is not 0, independent draws of c equal it with chance at most the share of c's most frequent other value.
    """
    if a.numbers is None or b.numbers is None or c.numbers is None:
        return None
    complete = ~np.isnan(a.numbers + b.numbers + c.numbers)
    x, y, z = (column[complete] for column in (a.numbers, b.numbers, c.numbers))
    holds = _is_sum(x, y, z)
    counts = np.bincount(c.codes[complete][z != 0], minlength=1)
    if not _is_no_luck(holds[x + y != 0], float(counts.max() / max(len(z), 1))):
        return None
    if _share_if_holding(holds[x != 0]) is None or _share_if_holding(holds[y != 0]) is None:
        return None
    return _share_if_holding(holds)


def _named(relation: Relation, columns: Sequence[_Column], places: Sequence[int], n_hidden: int, share: float) -> Dependence:
    masked = tuple(columns[i].name for i in sorted(places) if i < n_hidden)
    return Dependence(relation, masked, tuple(columns[i].name for i in sorted(places) if i >= n_hidden), share)


def _linear(hidden: Sequence[_Column], shown: Sequence[_Column], screen: Integers) -> tuple[Dependence, ...]:
    """The exact linear identity between masked and unmasked columns, if there is one.

    The two sets span subspaces of the centred columns; a canonical correlation of 1 is a direction that both share. It is then
    computed on all complete rows and has to hold in 0.99 of them. As many rows as columns are spent on the weights; in the
    others, independent draws of the unmasked side agree with chance at most the share of its most frequent value.
    """
    left, right = ([c for c in columns if c.summable and c.numbers is not None] for columns in (hidden, shown))
    if not left or not right:
        return ()
    columns = [*left, *right]
    rows = np.stack([c.numbers for c in columns if c.numbers is not None], axis=1)
    rows = rows[~np.isnan(rows).any(axis=1)] if np.isnan(rows).any() else rows
    sample = rows[screen] if len(rows) > len(screen) else rows
    if len(sample) < ENOUGH_ROWS + 3 * len(columns):
        return ()
    centre, scale = sample.mean(axis=0), sample.std(axis=0)
    scale[scale == 0] = 1.0
    weights = _shared_direction((sample - centre) / scale, len(left))
    if weights is None:
        return ()
    parts = (rows - centre) / scale * weights
    holds = np.abs(parts.sum(axis=1)) <= EXACT_TOLERANCE * np.abs(parts).sum(axis=1)
    shown_side = np.unique(np.round(parts[:, len(left) :].sum(axis=1), 9), return_counts=True)[1]
    if not _is_no_luck(holds[len(columns) :], float(shown_side.max() / len(rows))):
        return ()
    places = np.flatnonzero(np.abs(weights) > _NO_WEIGHT * np.abs(weights).max()).tolist()
    share = _share_if_holding(holds)
    return () if share is None else (_named("linear", columns, places, len(left), share),)


def _shared_direction(z: Floats, n_left: int) -> Floats | None:
    """Shape (p,): weights under which the left and the right columns of z cancel; None where no direction is shared."""
    (left, on_left), (right, on_right) = _basis(z[:, :n_left]), _basis(z[:, n_left:])
    u, correlations, vt = np.linalg.svd(left.T @ right)
    if len(correlations) == 0 or correlations[0] < 1 - _NO_WEIGHT**2:
        return None
    return np.concatenate([on_left @ u[:, 0], -on_right @ vt[0]])


def _basis(z: Floats) -> tuple[Floats, Floats]:
    """An orthonormal basis of the columns of z, and the weights (columns of z -> basis)."""
    q, r, pivot = qr(z, mode="economic", pivoting=True)
    rank = int((np.abs(np.diag(r)) > _NO_WEIGHT * abs(r[0, 0])).sum()) if r[0, 0] else 0
    weights: Floats = np.zeros((z.shape[1], rank))
    weights[pivot[:rank]] = np.linalg.inv(r[:rank, :rank])
    return np.asarray(q[:, :rank], dtype=np.float64), weights
