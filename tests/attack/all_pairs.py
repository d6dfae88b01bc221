"""What is found where noise was added, in plain numpy over all pairs of records and rows."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from tasks.attack.neighbours.distances import compute_record_distance
from tasks.attack.transparency.belief_conditions import arrange_knowledge
from tasks.attack.transparency.best_images import intersect_conditions
from tasks.attack.transparency.image_posterior import posterior
from tasks.attack.transparency.scores import score_images
from tasks.attack.transparency.transparency import follow_steps, link_by_mechanism
from tasks.mask.categories.pram import Pram
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.mask.noise.noise import Noise
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.errors import InputError, NotApplicable
from tasks.microdata.schema import Scale
from tasks.microdata.table import Microdata

NOMINAL = {"u": Scale.NOMINAL, "v": Scale.NOMINAL}


def noise(*names, kind="independent", percent=20.0):
    return Noise(method="noise", kind=kind, sd_percent=percent, attributes=names)


def pram(*names, retention=0.8):
    return Pram(method="pram", attributes=names, retention=retention)


SWAP = RankSwapping(method="rank_swapping", attributes=("z",), window_percent=10.0)
CHAINS = {
    "noise": (noise("x", "y"),),
    "little noise": (noise("x", "y", "z", percent=1.0),),
    "much noise": (noise("x", percent=100.0),),
    "correlated": (noise("x", "y", kind="correlated"),),
    "factors": (noise("x", "y", kind="multiplicative"), SWAP),
    "pram": (pram("u", "v"),),
    "pram and noise": (pram("u", "v"), noise("x", "y", percent=5.0)),
    "noise and pram": (noise("x", "y"), pram("u", retention=0.5)),
    "noise and swaps": (noise("x"), SWAP),
    "pram and swaps": (pram("u", "v"), SWAP),
    "groups and noise": (Microaggregation(method="microaggregation", attributes=("y", "z"), k=3), noise("x")),
    "noise twice": (noise("x", "y"), noise("x", percent=10.0), pram("v")),
}


def made(n, seed, *, gaps, whole):
    """Numbers of which many are equal if they are whole, a constant, two categories; gaps, and pairs of equal records."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n, 3)) * [4.0, 30.0, 2.0]
    values = np.rint(values) if whole else values.round(6)
    if gaps and n > 20:
        values[rng.random((n, 3)) < 0.1] = np.nan
        values[:4] = np.arange(4)[:, np.newaxis] * [1.0, 20.0, 2.0] - [2.0, 3.0, 1.0]
    table = dict(zip("xyz", values.T, strict=True))
    table["u"], table["v"] = (["abcdefgh"[i] for i in rng.integers(0, k, n)] for k in (5, 2))
    table["same"] = [1.0] * n
    twice = np.where(np.arange(n) % 7 == 6, np.arange(n) - 1, np.arange(n)) if n > 20 else np.arange(n)
    return {name: [column[i] for i in twice] for name, column in table.items()}


def prepare(table, chain, n, seed, *, gaps=False, whole=False, knows=None, unseen=False):
    """What is concluded of the records, or None where the step cannot be applied to such a table."""
    original, schema = table(made(n, seed, gaps=gaps, whole=whole), scales=NOMINAL)
    steps = CHAINS[chain]
    try:
        done = mask(original, schema, steps, seed=seed.to_bytes(32, "big"), path=())
    except InputError:
        return None
    released = done.data
    if unseen:  # a category that no record can show
        columns = {name: released.column(name).to_pylist() for name in released.names}
        columns["u"][0] = "never seen"
        released = Microdata.from_columns(columns)
    knows = tuple(knows or original.names)
    try:
        belief = follow_steps(original, released, schema, done.mechanisms, knows)
        both, conditions = arrange_knowledge(original, released, schema, knows, belief)
    except NotApplicable:
        return None
    return (original, released, schema, done.mechanisms, knows), both, conditions


def pairs(conditions):
    """Shapes (r, c): may the record show the row, and the logarithm of the probability."""
    r, c = conditions.begins.shape[1], conditions.shown.shape[1]
    laws = conditions.likelihoods
    meets = np.ones((r, c), dtype=bool)
    for begins, ends, allowed, shown in zip(
        conditions.begins, conditions.ends, conditions.allowed, conditions.shown, strict=True
    ):
        meets &= np.array([np.isin(shown, allowed[begin:end]) for begin, end in zip(begins, ends, strict=True)])
    for low, high, position in zip(conditions.low.T, conditions.high.T, conditions.positions.T, strict=True):
        inside = (low[:, np.newaxis] <= position) & (position <= high[:, np.newaxis])
        meets &= np.where(np.isnan(low)[:, np.newaxis], np.isnan(position), inside)
    chance = np.zeros((r, c))
    for own, shown in zip(laws.own_at.T, laws.shown_at.T, strict=True):
        chance += laws.log_probability[own[:, np.newaxis] + shown]
    for own, shown in zip(laws.own_coordinates.T, laws.shown_coordinates.T, strict=True):
        chance -= (own[:, np.newaxis] - shown) ** 2 / 2
    meets &= chance > -np.inf
    return meets, np.where(meets, chance, -np.inf)


def check(both, conditions, searching):
    """The evidence, the sizes of the sets and the best rows, against all pairs."""
    meets, chance = pairs(conditions)
    records = conditions.likelihoods.records
    with np.errstate(divide="ignore"):
        evidence = logsumexp(chance, axis=0, b=records[:, np.newaxis])
    if not conditions.likelihoods.any:  # then all possible rows are alike
        evidence, chance = np.zeros(len(evidence)), np.where(meets, 0.0, -np.inf)
    whole = score_images(conditions)
    finite = np.isfinite(evidence)
    found = whole.evidence[whole.position]
    np.testing.assert_array_equal(np.isfinite(found), finite)
    np.testing.assert_allclose(found[finite], evidence[finite], rtol=1e-12, atol=3e-12)
    starts, classes, sizes, (few_starts, members) = intersect_conditions(both, conditions, whole, searching=searching, few=9)
    np.testing.assert_array_equal(sizes, (meets @ conditions.sizes) * searching)
    ratio = np.where(meets, chance - np.where(finite, evidence, 0.0), -np.inf)
    for i in np.flatnonzero(searching):
        best = np.flatnonzero(meets[i] & (ratio[i] >= ratio[i].max() - 1e-9))
        apart = [compute_record_distance(both.own[i], both.shown[row], both.nominal, both.weight, np.inf) for row in best]
        nearest = best[np.array(apart) <= min(apart, default=0.0) * (1 + 1e-9)]
        assert sorted(classes[starts[i] : starts[i + 1]]) == nearest.tolist()
        listed = np.flatnonzero(meets[i]).tolist() if 0 < sizes[i] <= 9 else []
        assert sorted(members[few_starts[i] : few_starts[i + 1]]) == listed
    return ratio


def check_posterior(links, ratio, conditions):
    """The probabilities of all pairs, the largest, and the sum of squares."""
    r, c = ratio.shape
    with np.errstate(divide="ignore"):
        weight = np.exp(ratio - ratio.max(axis=1, keepdims=True)) / np.maximum(-np.expm1(ratio), 1e-12)
    totals = weight @ conditions.sizes
    shares = weight / np.where(totals > 0, totals, 1.0)[:, np.newaxis]
    held = posterior(links)
    record, row = (np.unique(kinds, return_index=True)[1] for kinds in (links.search_class, links.found_class))
    asked = held.compute_probabilities(np.repeat(record, c), np.tile(row, r)).reshape(r, c)
    np.testing.assert_allclose(asked, shares, rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(held.largest[:-1], shares.max(axis=1), rtol=1e-8)
    np.testing.assert_allclose(held.squares[:-1], (shares**2) @ conditions.sizes, rtol=1e-8)


def compare_with_pairs(table, chain, n, seed, **how):
    prepared = prepare(table, chain, n, seed, **how)
    if prepared is None:
        return False
    files, both, conditions = prepared
    ratio = check(both, conditions, np.random.default_rng(seed).random(len(both.own)) < 0.7)
    if conditions.likelihoods.any and (ratio > -np.inf).any(axis=1).all():
        check_posterior(link_by_mechanism(*files)[0], ratio, conditions)
    return True
