"""What an attack can find at most of all records, where only some of them were attacked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.attack.outcomes.links import Links
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.table import Booleans

MOST_OF_EXPOSED = 2  # rows that look alike leave whoever they belong to a credit of one half at least


@dataclass(frozen=True, slots=True, kw_only=True)
class CreditBounds:
    """Upper bounds on the credits of all records, those included that were not attacked.

    mean, largest: of the credits. exposed: the share of records whose credit may be one half or more.
    """

    mean: float
    largest: float
    exposed: float


def compute_credit_bounds(truth: GroundTruth, links: Links) -> CreditBounds:
    """Bounds that follow from which released rows look alike to the intruder, whatever the attack prefers among the others.

    Meaning: who cannot tell k rows apart has no more than one chance in k of pointing at the right one.
    Formula in words: a guess is a set of whole classes of rows that look alike, and a tie of t rows earns 1/t; the own row is
    in a class of k rows, so that t is at least k wherever it is among the guesses. A record that is not released has credit 0.

    truth: of records, each a unit. links: of records to released rows; `found_class` says which rows look alike.

    Returns bounds in [0, 1], which no record of the source exceeds; 1 where some row is unlike all others.
    Cost: O(n). Source: the risk of k-anonymity, Samarati and Sweeney (1998), here by what one intruder knows.

    Example: groups of three rows that look alike in all that the intruder knows: no credit is above 1/3, and nobody is exposed.
    """
    own = truth.own_row
    alike = np.bincount(links.found_class)[links.found_class[own[own >= 0]]]
    if not len(alike):
        return CreditBounds(mean=0.0, largest=0.0, exposed=0.0)
    few: Booleans = alike <= MOST_OF_EXPOSED
    sizes, times = np.unique(alike, return_counts=True)
    return CreditBounds(
        mean=min(float(np.nextafter((times / sizes).sum() / len(own), 1.0)), 1.0),
        largest=1 / int(sizes[0]),
        exposed=int(few.sum()) / len(own),
    )
