"""What sampling weights and group keys reveal: strata, sizes, single records. Counts and shares, never a value."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from tasks.microdata.codes import find_first_rows, joint_codes
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Floats, Integers, Microdata, encode_jointly
from tasks.microdata.value_ranks import rank_values

NOTABLE = 0.05  # how far above chance a share is before it is told


def weight_reveals(data: Microdata, schema: Schema) -> dict[str, tuple[str, ...]]:
    """What the weights and the groups of a table reveal, as sentences that hold counts and shares alone.

    Of a weight: how many different ones there are, how many rows have one of their own (published, it singles them out), and
    which published attributes it tells: the share of rows whose weight occurs with one value of the attribute only, against the
    same after a random permutation of the attribute. Of a group key, which is not published: how large the groups are, and how
    many rows are alone in theirs; a size can be recognised where the release shows it.

    A missing weight or group is left out; a missing value of an attribute is a value of its own.
    Returns the sentences of each weight and group by its name; empty where there are no such attributes.
    Cost: O(n log n) for each pair of a weight and an attribute.
    Example: one weight for all rows: it singles nobody out and tells nothing.
    """
    texts = {name: weight_in_words(data, schema, name) for name in schema.find_by_role(Role.WEIGHT)}
    return texts | {name: (group_in_words(data, name),) for name in schema.find_by_role(Role.GROUP)}


def weight_in_words(data: Microdata, schema: Schema, name: str) -> tuple[str, ...]:
    """What one weight reveals."""
    (weight,) = encode_jointly(data.column(name))
    present = weight >= 0
    sizes = np.bincount(weight[present])
    if not len(sizes):
        return ()
    alone = int((sizes == 1).sum())
    counted = f"the weight `{name}` has {len(sizes):,} different values in {int(present.sum()):,} rows"
    singled = f"{alone:,} rows ({alone / present.sum():.1%}) have one that no other row has"
    texts = [one for one in schema.release_columns if one != name]
    shares = {one: compute_determined_share(weight[present], encode_jointly(data.column(one))[0][present]) for one in texts}
    tells = [
        f"{one} (for {share:.0%} of the rows, by chance {chance:.0%})"
        for one, (share, chance) in shares.items()
        if share > chance + NOTABLE
    ]
    revealed = f"the weight `{name}` tells {', '.join(tells)}" if tells else f"the weight `{name}` tells no other attribute"
    return f"{counted}; {singled}", revealed


def group_in_words(data: Microdata, name: str) -> str:
    """How large the groups of a key are."""
    (group,) = encode_jointly(data.column(name))
    sizes = np.bincount(group[group >= 0])
    if not len(sizes):
        return f"no row has a group of `{name}`"
    alone = int((sizes == 1).sum())
    return (
        f"the {len(sizes):,} groups of `{name}` have {int(sizes.min()):,} to {int(sizes.max()):,} rows, {sizes.mean():.1f} on "
        f"average; {alone:,} rows ({alone / sizes.sum():.1%}) are alone in theirs"
    )


def compute_determined_share(weight: Integers, values: Integers) -> tuple[float, float]:
    """The share of rows whose weight occurs with one value only, and the same on average over all permutations of the values.

    weight, values: codes, shape (n,), n >= 1; equal codes are equal.
    Formula in words, of the second: for f rows of one weight, the chance that f rows drawn without replacement show one value,
    the sum over the values of C(c, f) / C(n, f), c being how often a value occurs; weighted by f / n.
    Returns two shares in [0, 1]. Rows that are alone with their weight count in both.
    Example: all weights differ: both are 1, so that the weight tells nothing that being unique does not.
    """
    group, value = rank_values(weight)[0], rank_values(values)[0]
    sizes = np.bincount(group)
    pairs = joint_codes([group, value], len(weight))
    single = np.bincount(group[find_first_rows(pairs)]) == 1
    counts, multiplicity = np.unique(sizes, return_counts=True)
    by_chance = [_all_alike(int(size), np.bincount(value)) for size in counts]
    expected = float((counts * multiplicity * np.array(by_chance)).sum() / len(weight))
    return float(sizes[single].sum() / len(weight)), expected


def _all_alike(size: int, counts: Integers) -> float:
    """The chance that so many rows drawn without replacement show one value, which occur `counts` times."""
    enough = counts[counts >= size].astype(np.float64)
    logs = _log_choose(enough, size) - _log_choose(np.array([counts.sum()], dtype=np.float64), size)
    return float(np.exp(logs).sum())


def _log_choose(n: Floats, k: int) -> Floats:
    found: Floats = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return found
