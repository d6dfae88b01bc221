"""What an attack says as masses on sets of released rows, and which answers no belief function is compatible with.

Source: Torra (2013), deliverable D11.2 of Data without Boundaries, definitions 2 to 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tasks.attack.outcomes.links import Links, Posterior
from tasks.microdata.errors import AttackFailed
from tasks.microdata.table import Booleans, Floats, Integers, Microdata

_TOLERANCE = 1e-6  # of a sum of probabilities
_MOST_PAIRS = 1 << 18  # whose probabilities are added up
MassesOn = Literal["sound sets", "guesses", "single rows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthMasses:
    """What one attack grants the true rows of its targets.

    on: what the masses stand on. belief, plausibility, pignistic: means over the targets. median, ninth_decile, largest: of the
    pignistic values. half: the share of the targets whose pignistic value is one half or more.
    """

    on: MassesOn
    belief: float
    plausibility: float
    pignistic: float
    median: float
    ninth_decile: float
    largest: float
    half: float


def compute_masses(outcomes: Microdata, *, one_row_each: bool = True) -> tuple[TruthMasses, ...]:
    """Belief, plausibility and pignistic value of the true rows, for each way in which an attack says something of them.

    Meaning: of a set of t rows that cannot be told apart the whole mass of 1 stands on the set. The belief in a row of it is 1
    if t = 1, else 0; its plausibility is 1; its pignistic value, the mass shared among the rows, is 1/t. A sound set has the
    true row of everybody who is released; a set of guesses may lack it, and then all three are 0. Probabilities are masses on
    single rows, where the three are one number; what is missing from 1 stands on "not released".

    outcomes: one row for each target, as `compute_outcomes` makes them. one_row_each: has nobody several rows? Else the sizes
    of sound sets tell no pignistic value of a person, and they are left out.
    Returns nothing without targets. Example: guesses of 1, 2 and 4 rows, the truth in the first two: belief 1/3, plausibility
    2/3, pignistic (1 + 1/2 + 0) / 3.
    """
    if not outcomes.n:
        return ()
    found = []
    sizes = outcomes.floats("sound_candidates")
    if one_row_each and not np.isnan(sizes).any():
        there = outcomes.floats("in_release") == 1
        pignistic = np.where(there, 1 / np.maximum(sizes, 1), 0.0)
        found.append(_summarise("sound sets", there & (sizes == 1), there.astype(np.float64), pignistic))
    credit = outcomes.floats("credit")
    found.append(_summarise("guesses", credit == 1, outcomes.floats("among_nearest"), credit))
    if "posterior" in outcomes.names:
        own = outcomes.floats("posterior")
        found.append(_summarise("single rows", own, own, own))
    return tuple(found)


def refuse_incompatible(links: Links, targets: Integers, present: Integers, n_rows: int) -> None:
    """Raise AttackFailed for an answer that is no pignistic distribution of any belief function over the rows.

    Masses are not negative and add up to 1, and so do pignistic values, over the rows and "not released"; the empty set has no
    mass. A sound set of somebody who is released has a row.

    targets: whom the links were made for; present: those of them who are released, where they search the rows. n_rows: of the
    release. Probabilities are added up over all rows for as many targets as make 2^18 pairs, evenly spread; those of the
    guesses are looked at for all.
    Cost: 2^18 probabilities at most, and those of one target at least.
    """
    if links.sound_sizes is not None:
        empty = links.sound_sizes[links.search_class[present]] < 1
        if empty.any():
            raise AttackFailed(
                f"the set that is called sound has no row for {100 * float(empty.mean()):.3g} % of those who are released"
            )
    if links.posterior is not None and len(targets):
        _refuse_improper(links.posterior, targets, n_rows)


def _refuse_improper(posterior: Posterior, targets: Integers, n_rows: int) -> None:
    some = targets[np.linspace(0, len(targets) - 1, min(len(targets), max(1, _MOST_PAIRS // max(n_rows, 1)))).astype(np.int64)]
    pairs = posterior.compute_probabilities(np.repeat(some, n_rows), np.tile(np.arange(n_rows), len(some)))
    for values in (pairs, posterior.compute_guess_probabilities(targets)):
        wrong = ~((values >= -_TOLERANCE) & (values <= 1 + _TOLERANCE))  # NaN is wrong, too
        if wrong.any():
            raise AttackFailed("the attack gave probabilities that are not between 0 and 1: no belief function has them")
    most = float(pairs.reshape(len(some), n_rows).sum(axis=1).max(initial=0.0))
    if most > 1 + _TOLERANCE:
        raise AttackFailed(f"the probabilities of one record add up to {most:.6g} over the rows: no belief function has them")


def _summarise(on: MassesOn, belief: Floats | Booleans, plausibility: Floats, pignistic: Floats) -> TruthMasses:
    median, ninth_decile, largest = np.quantile(pignistic, (0.5, 0.9, 1.0)).tolist()
    return TruthMasses(
        on=on,
        belief=float(np.mean(belief)),
        plausibility=float(np.mean(plausibility)),
        pignistic=float(np.mean(pignistic)),
        median=median,
        ninth_decile=ninth_decile,
        largest=largest,
        half=float(np.mean(pignistic >= 0.5)),
    )
