"""Who are the members whom an attack is surest of? By class of attributes, never by value and never by name."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tasks.microdata.interval import Interval
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Booleans, Floats, Microdata
from tasks.microdata.units import Units
from tasks.score.measures.membership import MISSING
from tasks.score.membership.intervals import share_interval
from tasks.score.subgroups import FEWEST, WIDEST_RARE, Subgroup

TOP = 0.10
FEWEST_OF_PART = f"fewer than {FEWEST} members of this part were asked about"
FEWEST_OF_TOP = f"a tenth of the members who were asked about is fewer than {FEWEST}"


def most_exposed(scores: Floats) -> Floats:
    """How much of each member is in the tenth of the members who have the highest scores.

    Members above the cut count whole, those tied at it share what is left of the tenth.

    scores: shape (m,), finite, of members alone. Returns shape (m,), from 0 to 1, with the sum m / 10. Cost: O(m log m).
    Example: 20 members, one at 3, four at 2, the others at 1: 1, 1/4 each, 0. All scores equal: 1/10 each.
    """
    room = TOP * len(scores)
    _, position, counts = np.unique(scores, return_inverse=True, return_counts=True)
    above = counts[::-1].cumsum()[::-1] - counts
    return np.asarray(np.clip((room - above) / counts, 0.0, 1.0)[position])


def estimate_share_of_most_exposed(scores: Floats, inside: Booleans) -> tuple[float, Interval]:
    """Of the tenth of the members whom an attack is surest of, the share that belongs to a part of the people.

    Meaning: beside the part's share among all members (its chance) it says whom an attack notices. In words: the sum of
    `most_exposed` over the part / (m / 10). It says nothing of whether the attack is right to be sure: `membership_auc` does.

    scores: shape (m,), finite, of members alone. inside: shape (m,): who belongs to the part.

    Returns the share with bounds, each of which errs in at most 5 %. Their law: the scores are taken as they are, and each
    member is of the part independently, with a probability that may depend on the score; the bounds are about the mean of
    these probabilities over the tenth. They are the exact ones of a share of m / 10: such a sum strays from its mean no more
    than a binomial one, and where ties are shared less; so the bounds are then wider than need be.
    Chance: over permutations of the scores the mean share is exactly the part's share among the members. Cost: O(m log m).
    Source: Hoeffding (1956) for the sum; Clopper and Pearson (1934).
    Example: 20 members, scores 3, 2, 2, 1, ..., the part is the first of all and one at 2: (1 + 1/2) / 2 = 3/4.
    """
    room = TOP * len(scores)
    hits = min(float(most_exposed(scores)[inside].sum()), room)
    return hits / room, share_interval(hits, room)


def too_few(inside: Booleans) -> str:
    """Why the share of a part is not told; empty where it is. inside: of each member who is asked about."""
    if inside.sum() < FEWEST:
        return FEWEST_OF_PART
    return FEWEST_OF_TOP if TOP * len(inside) < FEWEST else ""


def list_missing_value_subgroups(table: Microdata, schema: Schema, units: Units) -> Iterator[Subgroup]:
    """Those without a value, by quasi-identifier and confidential attribute: at least 10 units, at most half of all.

    A person with several rows belongs to them by one that has none.
    """
    for name in schema.find_by_role(Role.QUASI_IDENTIFIER, Role.CONFIDENTIAL):
        without = np.zeros(units.n_units, dtype=bool)
        without[units.of_row[table.missing(name)]] = True
        if FEWEST <= without.sum() <= WIDEST_RARE * units.n_units:
            yield Subgroup(name, MISSING, without)
