"""How much likelier a release is with a record among its originals than without, by the law of the masking steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.attack.simulated.presence import compare_by_simulation
from tasks.attack.transparency.belief_conditions import arrange_knowledge
from tasks.attack.transparency.estimated_evidence import describe_estimates
from tasks.attack.transparency.image_posterior import sum_weights
from tasks.attack.transparency.image_trees import compute_reach
from tasks.attack.transparency.scores import score_images
from tasks.attack.transparency.transparency import follow_steps, why_lost
from tasks.mask.methods import Mechanism
from tasks.microdata.errors import NotApplicable, NotFollowed
from tasks.microdata.schema import Schema
from tasks.microdata.table import Floats, Integers, Microdata
from tasks.microdata.words import join_with_and


@dataclass(frozen=True, slots=True)
class PresenceRatios:
    """Log-likelihood ratios. values: shape (n,), finite, or -inf where no released row can be the record's image.

    lost: of which attributes the law was lost, as a reason; the ratios are then those of a part of the attack. None: of none.
    is_simulated: by a law learned from simulated maskings, which is heuristic. estimates: what is to be said of sums that were
    estimated (`describe_estimates`).
    """

    values: Floats
    lost: str | None
    is_simulated: bool = False
    estimates: str = ""


def compare_with_absence(
    held: Microdata,
    released: Microdata,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    knows: tuple[str, ...],
    *,
    source: Integers,
    members: Integers,
) -> PresenceRatios:
    """The log-likelihood ratio of the release with each record among its originals and without, shape (n,).

    Meaning: with the record, one released row, nobody knows which, is its image by the law of the steps; without it, that row
    is the image of somebody else.
    Formula in words: the logarithm of the mean over the released rows of P(row | record) / q(row), q the mean of P(row | other)
    over all other records that are held. Attributes of which nothing can be concluded are left out. If the law of one was lost,
    the law of all is learned from simulated maskings (`compare_by_simulation`).

    held: the people whom the intruder holds, all published attributes of them; who is in the release they need not know.
    source: the records of the table that was masked; members: those of them whose rows are released. Both ascending, and both
    only show why an attribute cannot be followed: because groups depend on all of these records, which the intruder does not
    know, or because sdcert lost the law of a random step. knows: published attributes, at least one.

    Raises NotApplicable where nothing can be concluded of any attribute, NotFollowed where a lost law is why and simulation
    does not answer either, AttackFailed as `follow_steps`.
    Cost: where there is a law that of `image_trees` with noise, else O(n m d), for n distinct records and m distinct rows. Of
    each sum at most 1e-12 is left out.
    Example: columns that no step touched, 100 held, 50 rows: whose values no row shows has -inf; who shares them with one other
    and has one such row, ln(99 / 50).
    """
    followed, belief = knows, follow_steps(held, released, schema, mechanisms, knows, n_records=len(source))
    while belief.unclear:
        followed = tuple(name for name in followed if name not in belief.unclear)
        if not followed:
            break
        belief = follow_steps(held, released, schema, mechanisms, followed, n_records=len(source))
    present = np.searchsorted(source, members) if len(members) < len(source) else None
    lost = _find_lost(held.take(source), released, schema, mechanisms, tuple(set(knows) - set(followed)), present)
    reason = None
    if lost:
        wanted = tuple(name for name in knows if name in followed or name in lost)
        try:
            ratios = compare_by_simulation(held, released, schema, mechanisms, wanted, n_masked=len(source))
        except NotFollowed as error:
            reason = f"{why_lost(mechanisms, lost)} ({error.reason})"
            if not followed:
                raise NotFollowed(reason) from error
        else:
            return PresenceRatios(ratios, None, is_simulated=True)
    if not followed:
        what = f"what the steps did to {join_with_and(knows)} depends on who is in the release"
        raise NotApplicable(f"{what}, which somebody who asks for this does not know")
    both, conditions = arrange_knowledge(held, released, schema, followed, belief)
    whole = score_images(conditions, without_laws=True)
    totals, _, _ = sum_weights(whole, True, np.ones(len(both.own), dtype=bool), compute_reach(released.n))
    ratios = totals[both.own_of_record] + np.log((held.n - 1) / released.n)
    return PresenceRatios(ratios, reason, estimates=describe_estimates(whole.levels))


def _find_lost(
    source: Microdata,
    released: Microdata,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    unclear: tuple[str, ...],
    present: Integers | None,
) -> tuple[str, ...]:
    """Those of some attributes that were randomised first of all, or that even somebody could not follow who holds the whole
    source and knows who is released.
    """
    if not unclear:
        return ()
    first = {name: step.randomness for step in reversed(mechanisms) for name in step.target_attributes}
    hidden = follow_steps(source, released, schema, mechanisms, released.names, present=present).unclear
    return tuple(name for name in released.names if name in unclear and (first.get(name, "none") != "none" or name in hidden))
