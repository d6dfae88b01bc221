"""The frontier of a sweep: the points that no other one beats in risk and loss, and the points that keep the policy.

Less is better in both. A point dominates another if it is at most as large in both and smaller in one; equal points dominate
nobody between them, so all of them are on the frontier or none. Comparisons are exact, without a tolerance. A point with a NaN
is not on the map: it neither dominates nor is dominated, and is not on the frontier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

import numpy as np

from tasks.attack.base import AttackSpec
from tasks.attack.omissions import Omission
from tasks.attack.plan import list_required_attacks
from tasks.mask.methods import Mechanism
from tasks.microdata.estimate import Estimate
from tasks.microdata.table import Booleans, Floats, Integers
from tasks.score.attack_coverage import EARLIER, Unfollowed
from tasks.score.policy import PolicyLine
from tasks.score.reconstructed_values import estimate_reconstruction
from tasks.score.verdict import decide, is_about
from tasks.sweep.layout import decode_figure
from tasks.sweep.results import OverSeeds, Results

Region = Literal["inside", "outside", "undecided"]
Required = Mapping[str, str]  # the attacks that the steps of a point require: the method of each, by its id
NOBODY = -1


def compute_map_coordinates(risk: OverSeeds, loss: OverSeeds) -> tuple[Floats, Floats]:
    """The means over the seeds of the points that can be compared, each of shape (points,); NaN for the others.

    A point is compared if every one of its seeds gave both numbers: the mean over the seeds that came through is not the mean.
    """
    whole = risk.complete & loss.complete
    return np.where(whole, risk.mean, np.nan), np.where(whole, loss.mean, np.nan)


def find_frontier(risk: Floats, loss: Floats) -> Booleans:
    """Shape (points,): which points no other one dominates; ties are kept. Cost: O(n log n).

    Example: risks (0, 1, 1, 1), losses (1, 0, 0, 1): the first three; the last one is dominated by all of them.
    """
    known = np.flatnonzero(~(np.isnan(risk) | np.isnan(loss)))
    order = known[np.lexsort((loss[known], risk[known]))]
    risks, losses = risk[order], loss[order]
    least_before = np.concatenate(([np.inf], np.minimum.accumulate(losses)[:-1]))[: len(order)]
    group = np.flatnonzero(np.concatenate(([True], np.diff(risks) > 0))[: len(order)])
    sizes = np.diff(np.append(group, len(order)))
    found = np.zeros(len(risk), dtype=bool)
    found[order] = (losses < np.repeat(least_before[group], sizes)) & (losses == np.repeat(losses[group], sizes))
    return found


def find_dominators(risk: Floats, loss: Floats) -> Integers:
    """Shape (points,): for each dominated point a witness, else -1.

    The witness is the first point (smallest place) of the frontier that dominates it; one of the frontier always does.
    Cost: O(n log n): the dominators of a point are neighbours on the frontier, and a table of minima over 1, 2, 4, ... of them
    answers for any stretch.
    """
    members = np.flatnonzero(find_frontier(risk, loss))
    along = members[np.lexsort((members, -loss[members], risk[members]))]
    found = np.full(len(risk), NOBODY, dtype=np.int64)
    beaten = ~(np.isnan(risk) | np.isnan(loss))
    beaten[members] = False
    positions = np.flatnonzero(beaten)
    if len(positions):
        first = np.searchsorted(-loss[along], -loss[positions], side="left")
        after = np.searchsorted(risk[along], risk[positions], side="right")
        found[positions] = _find_least(along, first, after)
    return found


def _find_least(numbers: Integers, first: Integers, after: Integers) -> Integers:
    """The least of numbers[first:after], for many stretches of at least one number."""
    layers = [numbers]
    while 2 ** len(layers) <= len(numbers):
        half = 2 ** (len(layers) - 1)
        layers.append(np.minimum(layers[-1][:-half], layers[-1][half:]))
    layer = np.frexp(after - first)[1] - 1  # the largest power of two within the stretch
    least = np.empty(len(first), dtype=np.int64)
    for i in np.unique(layer):
        chosen = layer == i
        ends = layers[i][first[chosen]], layers[i][after[chosen] - 2**i]
        least[chosen] = np.minimum(*ends)
    return least


def compute_distance_behind(risk: Floats, loss: Floats) -> Floats:
    """Shape (points,): how far each point is behind the frontier; 0 on it, NaN off the map.

    Meaning: by which part of the ranges both its risk and its loss would have to fall for no point to dominate it strictly.
    Formula in words: the largest over the points f of the frontier of min((risk - risk of f) / R, (loss - loss of f) / L), R
    and L the ranges of all points on the map; a range of 0 counts as 1.
    Cost: O(n * points of the frontier).
    Example: a point that ties with one of the frontier in its risk alone is dominated at distance 0: the least step frees it.
    """
    known = ~(np.isnan(risk) | np.isnan(loss))
    far = np.where(known, 0.0, np.nan)
    ahead = find_frontier(risk, loss)
    behind = known & ~ahead
    if behind.any():
        risks, losses = ((one - np.min(one[known])) / (float(np.ptp(one[known])) or 1.0) for one in (risk, loss))
        for one in np.unique(np.column_stack((risks[ahead], losses[ahead])), axis=0):
            far[behind] = np.maximum(far[behind], np.minimum(risks[behind] - one[0], losses[behind] - one[1]))
    return far


def compute_hypervolume(risk: Floats, loss: Floats, reference: tuple[float, float]) -> float:
    """The area of what is dominated: all (risk, loss) at most `reference` that some point is at most as large as, in both.

    Meaning: how far a search has come; it never falls as points are added, and depends on the reference, which has to be stated
    beside it and to stay the same. Points beyond it in either count nothing.
    Range: 0 to the area between the reference and the origin, where no number is negative. Cost: O(n log n).
    Example: the points (0, 1) and (1, 0), reference (2, 2): 2 + 2 - 1 = 3.
    """
    inside = (risk < reference[0]) & (loss < reference[1])
    risks, losses = risk[inside], loss[inside]
    members = find_frontier(risks, losses)
    steps = np.unique(np.column_stack((risks[members], losses[members])), axis=0)
    widths = np.diff(np.append(steps[:, 0], reference[0]))
    return float(np.sum(widths * (reference[1] - steps[:, 1])))


def find_required(attacks: Iterable[AttackSpec], steps: tuple[Mechanism, ...], *, keeps_row_order: bool = False) -> Required:
    """Those of the attacks whose method the steps require.

    Example: rank swapping requires consistency, microaggregation does not; an attack called `pairs` may be by that method.
    """
    methods = list_required_attacks(steps, keeps_row_order=keeps_row_order)
    return {one.attack_id: one.method for one in attacks if one.method in methods}


def find_policy_region(
    results: Results,
    policy: tuple[PolicyLine, ...],
    required: Callable[[int], Required] | None = None,
    omit: tuple[Omission, ...] = (),
) -> tuple[Region, ...]:
    """For each point, whether it keeps every line of a policy under every one of its seeds, decided as a release would be.

    Returns per point `inside` (each trial would be certified), `outside` (one would be refused), or `undecided`: also where a
    trial has no figures. It says what a release would have been called, not what it will be: a chosen point is masked and
    measured anew.
    required: what `find_required` says of the point of this number; None: nothing is known of the steps, and every attack that
    was not followed counts as required. omit: what the release omits; of it only the attack by earlier releases counts, because
    a sweep runs all others.
    Raises InputError as `decide`. Cost: O(trials * figures that the policy is about).
    """
    asked = [name for name in results.figures if any(is_about(decode_figure(name, 0.0), line) for line in policy)]
    by_point = None if required is None else [required(int(number)) for number in results.points]
    known = [None if by_point is None else by_point[position] for position in results.position]
    trials = zip(results.all_estimates(asked), results.texts("status"), known, strict=True)
    calls = np.array([_decide_trial(policy, *trial, omit) for trial in trials], dtype=str)
    refused = np.bincount(results.position, weights=calls == "refused", minlength=results.n_points) > 0
    missed = np.bincount(results.position, weights=calls != "certified", minlength=results.n_points) > 0
    return tuple("outside" if no else "undecided" if not_yet else "inside" for no, not_yet in zip(refused, missed, strict=True))


def _decide_trial(
    policy: tuple[PolicyLine, ...],
    figures: tuple[Estimate, ...],
    status: str | None,
    required: Required | None,
    omit: tuple[Omission, ...],
) -> str:
    if status == "ok":  # where no other release counts, nothing follows from several
        lines = (line for line in policy if not any(is_about(one, line) for one in figures))
        figures = (*figures, *estimate_reconstruction(None, lines, 1))
    return decide(policy, figures, _find_unfollowed(figures, required, omit)).verdict


def _find_unfollowed(figures: tuple[Estimate, ...], required: Required | None, omit: tuple[Omission, ...]) -> Unfollowed:
    """The required attacks that were not computed: a sweep has no omissions, but for the attack by earlier releases.

    Of several attacks by one method one that gave a figure is enough, as for a release; each earlier release must be answered
    for.
    """
    idle = {(one.attack or "", one.intruder or "") for one in figures if one.status == "not_followed"}
    joint = {(attack, who) for attack, who in idle if attack.partition(":")[0] == EARLIER}
    accepted = {(attack, who) for attack, who in joint if any(one.covers(EARLIER, who) for one in omit)}
    if required is None:
        return frozenset(idle - accepted)
    ok = ((one.attack, one.intruder) for one in figures if one.status == "ok")
    answered = {(required.get(attack or ""), intruder) for attack, intruder in ok}
    alone = {(name, who) for name, who in idle if name in required and (required[name], who) not in answered}
    return frozenset(alone | (joint - accepted))
