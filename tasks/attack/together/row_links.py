"""How two releases show that a row of one and a row of the other are the same person's.

Two rows are joined by what both releases show: columns that are equal for everybody who is in both must be equal, and of the
others a ratio says how much likelier two values are of one person than of two. The intruder is granted which columns these are,
and the law of the others (Gaussian in normal scores, tables of categories): the worst case, of somebody who learned it
elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy
from scipy.special import digamma, logsumexp, ndtri

from tasks.microdata.codes import joint_codes
from tasks.microdata.schema import CATEGORICAL, Schema
from tasks.microdata.table import Floats, Integers, Microdata, encode_jointly

MOSTLY = 0.5  # of the people; a column that is equal for more of them is compared by equality
MOST_CATEGORIES = 200  # of a column whose categories are compared by a table
LARGEST_CORRELATION = 0.999999
FEWEST_PAIRS = 8  # people by whom a law can be learned
MOST_TEMPERED = 2_000_000  # pairs of rows by which the power of the ratios is found
FEWEST_TEMPERED = 50  # people by whom it is found, if there are so many
LITTLE_NOISE = 1e-3  # variance that is added to normal scores, so that columns may follow from each other


class LikelihoodRatios(NamedTuple):
    """How much likelier it is that row b of one release and row a of the other are one person's than that they are two's.

    The logarithm is alone_first[b] + alone_second[a] plus the sum over f canonical pairs of first[b, k] * second[a, k]; over q
    columns that are mostly equal, of equal[code] if the codes match and unequal[j] if not; over tables, of
    table[table_first[b, j] + table_second[a, j]]. A missing value of a canonical pair counts as the middle one.
    """

    alone_first: Floats
    alone_second: Floats
    first: Floats
    second: Floats
    code_first: Integers
    code_second: Integers
    equal: Floats
    unequal: Floats
    table: Floats
    table_first: Integers
    table_second: Integers


@dataclass(frozen=True, slots=True)
class RowLinks:
    """What joins the rows of two releases.

    key_first, key_second: shapes (m,), (m',): rows of one person have the same key. n_keys: the number of keys.
    ratios: what else speaks for two rows being one person's. shared: the columns that are equal for everybody.
    """

    key_first: Integers
    key_second: Integers
    n_keys: int
    ratios: LikelihoodRatios
    shared: tuple[str, ...]

    def reverse(self) -> RowLinks:
        """The same seen from the other release."""
        one = self.ratios
        swapped = one._replace(
            alone_first=one.alone_second,
            alone_second=one.alone_first,
            first=one.second,
            second=one.first,
            code_first=one.code_second,
            code_second=one.code_first,
            table_first=one.table_second,
            table_second=one.table_first,
        )
        return RowLinks(self.key_second, self.key_first, self.n_keys, swapped, self.shared)

    @property
    def has_ratios(self) -> bool:
        found = self.ratios
        return bool(found.first.shape[1] + len(found.unequal) + found.table_first.shape[1])


def link_rows(
    first: Microdata,
    second: Microdata,
    schema: Schema,
    pairs: tuple[Integers, Integers],
    known: tuple[str, ...],
    *,
    by_person: bool = False,
) -> RowLinks:
    """What joins the rows of two releases of which `pairs` are the same people's.

    Parameters
    ----------
    first, second: m and m' released rows. schema: of the first. pairs: places of rows in both, shape (k,) each.
    known: attributes that the intruder knows: they say nothing more of two rows, given whose they are taken to be.
    by_person: is there a pseudonym that both releases share?

    Cost: O((m + m') log m) for each column. Example: the second release is the first in another order, and all rows differ:
    every key is one row.
    """
    codes, agreement = compare_columns(first, second, pairs)
    names, shared = tuple(codes), find_lasting_columns(agreement)
    columns = [codes[name] for name in shared]
    if by_person:
        columns.append(_number_people(first.n, second.n, pairs))
    key_first, key_second = key_rows(columns, (first.n, second.n))
    others = [name for name in names if name not in shared and name not in known] if len(pairs[0]) >= FEWEST_PAIRS else []
    mostly = [name for name in others if agreement[name] > MOSTLY]
    ordered = [name for name in others if name not in mostly and _has_positions(first, second, schema, name)]
    rest = [name for name in others if name not in mostly and name not in ordered]
    ratios = _create_ratios(first, second, schema, pairs, codes, agreement, (mostly, ordered, rest))
    ratios = _temper_ratios(ratios, pairs, (key_first, key_second)) if others else ratios
    n_keys = int(max(key_first.max(initial=-1), key_second.max(initial=-1))) + 1
    return RowLinks(key_first, key_second, n_keys, ratios, shared)


def compare_rows(rows: Integers, others: Integers, ratios: LikelihoodRatios) -> Floats:
    """The logarithms of the likelihood ratios of pairs of rows; rows, others: shape (e,)."""
    found = ratios.alone_first[rows] + ratios.alone_second[others]
    for k in range(ratios.first.shape[1]):
        found += ratios.first[rows, k] * ratios.second[others, k]
    for j in range(len(ratios.unequal)):
        code = ratios.code_first[rows, j]
        found += np.where(code == ratios.code_second[others, j], ratios.equal[code], ratios.unequal[j])
    for j in range(ratios.table_first.shape[1]):
        found += ratios.table[ratios.table_first[rows, j] + ratios.table_second[others, j]]
    return found


def _temper_ratios(
    ratios: LikelihoodRatios, pairs: tuple[Integers, Integers], keys: tuple[Integers, Integers]
) -> LikelihoodRatios:
    """The ratios to a power between 0 and 1: columns that follow from each other say the same, and would count several times.

    Formula in words: the power by which people in both are likeliest to have the row that they have, of all rows with the same
    key, as seen from either release. keys: shapes (m,), (m',). In large files every so many of the people count, 50 or more:
    some show how far columns follow from each other. Cost: O(2,000,000 + 50 m).
    """
    sizes = [len(key) for key in keys]
    step = -(-len(pairs[0]) // max(FEWEST_TEMPERED, MOST_TEMPERED // max(sizes))) if len(pairs[0]) else 1
    people = pairs[0][::step], pairs[1][::step]
    k = len(people[0])
    everybody = [np.arange(size) for size in sizes]
    from_first = np.repeat(people[0], sizes[1]), np.tile(everybody[1], k)
    from_second = np.tile(everybody[0], k), np.repeat(people[1], sizes[0])
    told = []
    for (one, other), size in ((from_first, sizes[1]), (from_second, sizes[0])):
        speaks = np.where(keys[0][one] == keys[1][other], compare_rows(one, other, ratios), -np.inf)
        told.append(speaks.reshape(k, size))
    own = 2 * float(compare_rows(*people, ratios).sum())

    def measure_loss(power: float) -> float:
        return float(sum(logsumexp(power * one, axis=1).sum() for one in told)) - power * own

    found = scipy.optimize.minimize_scalar(measure_loss, bounds=(0.001, 1.0), method="bounded")
    if found.fun >= measure_loss(1.0):
        return ratios
    power = float(found.x)
    return ratios._replace(
        alone_first=power * ratios.alone_first,
        alone_second=power * ratios.alone_second,
        first=power * ratios.first,
        equal=power * ratios.equal,
        unequal=power * ratios.unequal,
        table=power * ratios.table,
    )


def compare_columns(
    first: Microdata, second: Microdata, pairs: tuple[Integers, Integers]
) -> tuple[dict[str, tuple[Integers, ...]], dict[str, float]]:
    """Codes of the columns of both tables, shapes (m,), (m',), and of how many of the pairs they are equal (none: no share)."""
    names = [name for name in first.names if name in second.names]
    codes: dict[str, tuple[Integers, ...]] = {name: encode_jointly(first.column(name), second.column(name)) for name in names}
    agreement = {name: float(np.mean(one[pairs[0]] == two[pairs[1]])) for name, (one, two) in codes.items() if len(pairs[0])}
    return codes, agreement


def find_lasting_columns(agreement: dict[str, float]) -> tuple[str, ...]:
    """The columns that are equal for everybody who is in both tables."""
    return tuple(name for name, share in agreement.items() if share == 1.0)


def key_rows(columns: Sequence[tuple[Integers, ...]], sizes: tuple[int, int]) -> tuple[Integers, Integers]:
    """Numbers of the combinations of codes in the rows of two tables, of these sizes: equal ones have equal numbers."""
    keys = joint_codes([np.concatenate(column) for column in columns], sum(sizes))
    return keys[: sizes[0]], keys[sizes[0] :]


def _number_people(m: int, m_second: int, pairs: tuple[Integers, Integers]) -> tuple[Integers, Integers]:
    """Numbers of people: those in both have one, all others one of their own."""
    one, two = np.arange(m), m + np.arange(m_second)
    two[pairs[1]] = pairs[0]
    return one, two


def _has_positions(first: Microdata, second: Microdata, schema: Schema, name: str) -> bool:
    attribute = schema[name]
    text = first.is_text(name) or second.is_text(name)
    return attribute.scale not in CATEGORICAL and (attribute.order is not None if text else True)


def _create_ratios(
    first: Microdata,
    second: Microdata,
    schema: Schema,
    pairs: tuple[Integers, Integers],
    codes: dict[str, tuple[Integers, ...]],
    agreement: dict[str, float],
    columns: tuple[list[str], list[str], list[str]],
) -> LikelihoodRatios:
    mostly, ordered, rest = columns
    alone, variates = _find_canonical_pairs(first, second, schema, pairs, ordered)
    code_first, code_second, matches, begin = [], [], [np.empty(0)], 0
    for name in mostly:
        one_code, other_code = (codes[name][i] + 1 for i in (0, 1))
        shares, shares_of_pairs = _count_shares((one_code, other_code), pairs)
        likelier = np.log(shares_of_pairs / shares)
        alone = alone[0] + likelier[one_code], alone[1] + likelier[other_code]
        code_first.append(begin + one_code)
        code_second.append(begin + other_code)
        matches.append(np.log(agreement[name] / shares_of_pairs))
        begin += len(shares)
    differ = [_share_of_unequal(*codes[name]) for name in mostly]
    unequal = np.log([(1 - agreement[name]) / max(one, 1e-9) for name, one in zip(mostly, differ, strict=True)])
    tables, table_first, table_second, begin = [np.empty(0)], [], [], 0
    for name in rest:
        held, shown = codes[name]
        if max(held.max(initial=0), shown.max(initial=0)) >= MOST_CATEGORIES:
            continue
        table = _learn_table(held, shown, pairs)
        table_first.append(begin + (held + 1) * table.shape[1])
        table_second.append(shown + 1)
        tables.append(table.ravel())
        begin += table.size
    return LikelihoodRatios(
        *alone,
        *variates,
        _stack(code_first, first.n),
        _stack(code_second, second.n),
        np.concatenate(matches),
        np.asarray(unequal, dtype=np.float64),
        np.concatenate(tables),
        _stack(table_first, first.n),
        _stack(table_second, second.n),
    )


def _count_shares(codes: tuple[Integers, Integers], pairs: tuple[Integers, Integers]) -> tuple[Floats, Floats]:
    """The shares of codes in all rows of two files, above 0, and among people in both, moved towards the former.

    By the share that the degrees of freedom are of the chi-squared statistic by which they differ, and as if one more pair had
    been seen. Codes that nobody has are counted as half a row.
    """
    counts = np.bincount(np.concatenate(codes))
    shares = np.maximum(counts, 0.5) / counts.sum()
    k = len(pairs[0])
    of_pairs = np.bincount(np.concatenate([code[at] for code, at in zip(codes, pairs, strict=True)]), minlength=len(shares))
    statistic = k * float(((of_pairs / (2 * k) - shares) ** 2 / shares).sum())
    weight = 1 - min((np.count_nonzero(counts) - 1) / statistic, 1.0) if statistic > 0 else 0.0
    return shares, (weight * of_pairs / 2 + (k * (1 - weight) + 1) * shares) / (k + 1)


def _share_of_unequal(held: Integers, shown: Integers) -> float:
    """The share of all pairs of a row of one file and a row of the other whose values differ."""
    size = int(max(held.max(initial=0), shown.max(initial=0))) + 2
    one, two = (np.bincount(codes + 1, minlength=size) / len(codes) for codes in (held, shown))
    return 1.0 - float(one @ two)


def _learn_table(held: Integers, shown: Integers, pairs: tuple[Integers, Integers]) -> Floats:
    """log P(a, b | one person) / P(a) P(b), from the pairs, each expected count raised as if one more pair had been seen.

    The counts are moved towards independence by what they differ from it by chance: by the share that the degrees of freedom
    are of their chi-squared statistic. Of columns that say nothing of each other hardly anything is learned.
    """
    size = int(max(held.max(initial=0), shown.max(initial=0))) + 2
    one, two = (np.bincount(codes + 1, minlength=size) / len(codes) for codes in (held, shown))
    by_chance = np.outer(one, two)
    counts = np.zeros((size, size))
    np.add.at(counts, (held[pairs[0]] + 1, shown[pairs[1]] + 1), 1.0)
    k, seen = len(pairs[0]), by_chance > 0
    statistic = k * float(((counts / k - by_chance)[seen] ** 2 / by_chance[seen]).sum())
    freedom = (np.count_nonzero(one) - 1) * (np.count_nonzero(two) - 1)
    weight = 1 - min(freedom / statistic, 1.0) if statistic > 0 else 0.0
    joint = (weight * counts + (k * (1 - weight) + 1) * by_chance) / (k + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        table: Floats = np.where(by_chance > 0, np.log(joint / by_chance), 0.0)
    return table


def _find_canonical_pairs(
    first: Microdata, second: Microdata, schema: Schema, pairs: tuple[Integers, Integers], names: list[str]
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """What each row adds by itself to the Gaussian ratio of the normal scores, and the factors of what pairs add.

    Formula in words: for canonical variates u, v of correlation r the logarithm of the ratio is -log(1 - r^2) / 2 - (r^2 (u^2 +
    v^2) - 2 r u v) / (2 (1 - r^2)). The squared correlations are lowered by what p columns correlate by chance with p others
    (Ezekiel's adjustment). Means and variances are those of the pairs: of all rows they are others' as well, and would make the
    correlation of few pairs too large. Each row adds how much likelier it is among people in both (`_compare_with_all`): else
    two rows that are alike, and like nobody's in both, would be taken for one person's.
    """
    k, p = len(pairs[0]), len(names)
    if not names or k <= p + 2:
        return (np.zeros(first.n), np.zeros(second.n)), (np.empty((first.n, 0)), np.empty((second.n, 0)))
    one, two = (np.column_stack([_score_normally(file.positions(schema[name])) for name in names]) for file in (first, second))
    one, two = np.nan_to_num(one), np.nan_to_num(two)
    filled_one, filled_two = (scores - scores[at].mean(axis=0) for scores, at in zip((one, two), pairs, strict=True))
    white_one, white_two = _whiten(filled_one[pairs[0]]), _whiten(filled_two[pairs[1]])
    crossed = (filled_one[pairs[0]] @ white_one).T @ (filled_two[pairs[1]] @ white_two) / k
    left, found, right = np.linalg.svd(crossed)
    squared = 1 - (1 - np.minimum(found, 1.0) ** 2) * (k - 1) / (k - p - 1)
    kept = squared > 0
    r = np.minimum(np.sqrt(np.maximum(squared, 0.0)), LARGEST_CORRELATION)[kept]
    u, v = filled_one @ white_one @ left[:, kept], filled_two @ white_two @ right.T[:, kept]
    odds = r * r / (1 - r * r)
    alone = tuple(-np.log1p(-r * r).sum() / 4 - variates**2 @ odds / 2 for variates in (u, v))
    likelier = tuple(_compare_with_all(scores, at) for scores, at in zip((one, two), pairs, strict=True))
    factors = np.ascontiguousarray(u * (r / (1 - r * r))), np.ascontiguousarray(v)
    return (alone[0] + likelier[0], alone[1] + likelier[1]), factors


def _compare_with_all(scores: Floats, people: Integers) -> Floats:
    """Shape (m,): by how much a row is likelier among some people's rows than among all, a logarithm.

    Formula in words: the ratio of two Gaussian densities, to a power between one half and 1. The ratio of two rows being one
    person's, times this of the one row, is the law of the other given the first, over that of all rows; the geometric mean of
    that and of the reverse has the power one half. The other half counts as far as these people are no random sample of the
    rows: less the share that the likelihood ratio statistic expected of a random sample is of the one found. So the ratio is at
    most 1 on average over two people's rows, whoever is in both.
    """
    from scipy.stats import multivariate_normal

    some, (k, p) = scores[people], (len(people), scores.shape[1])
    laws = [(rows.mean(axis=0), np.cov(rows.T, bias=True).reshape(p, p) + LITTLE_NOISE * np.eye(p)) for rows in (some, scores)]
    of_some, of_all = (np.atleast_1d(multivariate_normal.logpdf(scores, *law)) for law in laws)
    likelier: Floats = of_some - of_all
    statistic = 2 * float(likelier[people].sum())
    by_chance = -k * float((digamma((k - np.arange(1, p + 1)) / 2) + np.log(2 / k)).sum())
    return likelier * (1 - min(by_chance / statistic, 1.0) / 2) if statistic > 0 else likelier / 2


def _score_normally(positions: Floats) -> Floats:
    """Normal scores of mid-ranks; a missing value stays missing."""
    from scipy.stats import rankdata

    present = ~np.isnan(positions)
    scores = np.full(len(positions), np.nan)
    if present.any():
        scores[present] = ndtri((rankdata(positions[present]) - 0.5) / present.sum())
    return scores


def _whiten(values: Floats) -> Floats:
    """A matrix that turns the columns (of mean 0) into uncorrelated ones of variance 1; directions without spread become 0."""
    spread, directions = np.linalg.eigh(values.T @ values / len(values))
    inverse = np.where(spread > 1e-6 * max(float(spread.max(initial=0.0)), 1e-12), 1 / np.sqrt(np.maximum(spread, 1e-12)), 0.0)
    return directions * inverse


def _stack(columns: list[Integers], n: int) -> Integers:
    return np.ascontiguousarray(np.column_stack(columns).astype(np.int64)) if columns else np.empty((n, 0), dtype=np.int64)
