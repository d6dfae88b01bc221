"""Density ratio: whoever stands where the release is denser than the population was among the originals."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from tasks.attack.membership.closest_record import check_known
from tasks.attack.membership.scored import MembershipScores
from tasks.attack.neighbours.distances import compute_record_distance
from tasks.attack.neighbours.record_comparison import ScaleBy, create_comparison
from tasks.microdata.compiled import njit
from tasks.microdata.errors import NotApplicable
from tasks.microdata.schema import Schema
from tasks.microdata.spec import Public, Slug, Spec
from tasks.microdata.table import Booleans, Floats, Integers, Microdata

LEAST = 1e-9  # squared standard deviations; nearer is equal

_MISSING = dict.fromkeys(("queries", "searched"), "a missing value, which `compute_record_distance` asks for")


class DensityRatio(Spec):
    """Parameters of the attack by the ratio of two densities.

    id: what the attack is called in figures and policy lines; default: the method's name.
    neighbours: the k of the two nearest-neighbour estimates. scale_by: as for `distance_linkage`.
    """

    method: Public[Literal["density_ratio"]]
    id: Public[Slug | None] = None
    neighbours: Public[Annotated[int, Field(ge=1, le=1000)]] = 1
    scale_by: Public[ScaleBy] = "release"


def score_by_density_ratio(
    original: Microdata,
    targets: Integers,
    reference: Integers,
    released: Microdata,
    schema: Schema,
    spec: DensityRatio,
    knows: tuple[str, ...],
) -> MembershipScores:
    """Score each target by how much denser the release is about it than a reference of the same population.

    Meaning: being near to the release says little of an ordinary person, whom everybody is near to; so the distance is compared
    with that to records which are not the target's. Formula in words: ln (r_reference^2 / r_release^2), r the distance to the
    k-th nearest row, which is a density to the power -1/d of the k-nearest-neighbour estimate; squares below 1e-9 count as
    that. A constant factor of the sizes of both files changes no order and is left out.

    original: the table that targets and reference are rows of. reference: records that the intruder has, none of them a
    target's; they need not know which of them were among the originals. knows: published attributes, at least one.

    Returns scores without a threshold; 0 where both are equally far. Chance 1/2 for AUC.
    Raises NotApplicable where nothing is known, or either file has fewer than k rows; InputError as `create_comparison`.
    Cost: O(t (m + r) d), less where the first attributes tell rows apart; memory O(k).
    Source: Loftsgaarden and Quesenberry (1965) for the estimate of a density by neighbours; DOMIAS (van Breugel et al. 2023)
    for the ratio, there of densities that are learned.
    Example: a release of the originals as they are: members have the highest scores.
    """
    check_known(released, knows)
    k = spec.neighbours
    if min(len(reference), released.n) < k:
        raise NotApplicable(f"the {k} nearest of fewer rows do not exist")
    both = create_comparison(original.take(np.concatenate([targets, reference])), released, schema, knows, spec.scale_by)
    asked = both.own[both.own_of_record[: len(targets)]]
    elsewhere = np.bincount(both.own_of_record[len(targets) :], minlength=len(both.own))
    shown = np.bincount(both.shown_of_row, minlength=len(both.shown))
    to_reference = kth_distance(asked, both.own, elsewhere, k, both.nominal, both.weight)
    to_release = kth_distance(asked, both.shown, shown, k, both.nominal, both.weight)
    return MembershipScores(np.log((to_reference + LEAST) / (to_release + LEAST)), None, "calibration")


@njit(missing=_MISSING)
def kth_distance(queries: Floats, searched: Floats, counts: Integers, k: int, nominal: Booleans, weight: Floats) -> Floats:
    """Shape (q,): the squared distance to the k-th nearest of the records, of which record c is there counts[c] times."""
    found = np.empty(len(queries))
    least = np.empty(k)
    for i in range(len(queries)):
        least[:] = np.inf
        for c in range(len(searched)):
            if counts[c] > 0:
                distance = compute_record_distance(queries[i], searched[c], nominal, weight, least[k - 1])
                _keep(least, distance, counts[c])
        found[i] = least[k - 1]
    return found


@njit
def _keep(least: Floats, distance: float, times: int) -> None:
    """Put a distance among the least, which ascend, so many times, as long as it is below the last."""
    for _ in range(times):
        if distance >= least[-1]:
            return
        at = len(least) - 1
        while at > 0 and least[at - 1] > distance:
            least[at] = least[at - 1]
            at -= 1
        least[at] = distance
