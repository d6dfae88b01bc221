"""Law ratio: is the release likelier with this record among its originals than without it, by the law of the mask?"""

from __future__ import annotations

from typing import Literal

import numpy as np

from tasks.attack.membership.closest_record import check_known
from tasks.attack.membership.frame import Frame
from tasks.attack.membership.scored import MembershipScores
from tasks.attack.simulated.simulated_law import REMARK
from tasks.attack.transparency.presence import compare_with_absence
from tasks.mask.external_release.released import FalseDeclaration, Synthetic
from tasks.mask.methods import Mechanism
from tasks.microdata.errors import NotApplicable, NotFollowed
from tasks.microdata.schema import Schema
from tasks.microdata.spec import Public, Slug, Spec
from tasks.microdata.table import Microdata

LEAST = -1000.0  # of a log-likelihood ratio: a record that no released row can come from


class LawRatio(Spec):
    """Parameters of the attack by the likelihood ratio of the masking steps.

    id: what the attack is called in figures and policy lines; default: the method's name.
    """

    method: Public[Literal["law_ratio"]]
    id: Public[Slug | None] = None


def score_by_law_ratio(
    original: Microdata,
    frame: Frame,
    released: Microdata,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    knows: tuple[str, ...],
) -> MembershipScores:
    """Score each target by how much likelier the release is with their record than without, as `compare_with_absence` says.

    Meaning: the intruder knows the masking steps and their parameters, as the transparency attack does, and not the seed.

    original: the table of the frame's units; all its people are held by the intruder, members or not. mechanisms: the steps.
    knows: published attributes, at least one.

    Returns log-likelihood ratios of at least -1000, without a threshold. Chance 1/2 for AUC. Raises NotApplicable where nothing
    is known, released or masked, or the rows are nobody's; NotFollowed where the declared steps
    did not make the table. Other errors and cost: as `compare_with_absence`.
    Example: a release of the originals as they are, all different: members have the highest scores, others -1000.
    """
    check_known(released, knows)
    if not mechanisms:
        raise NotApplicable("no step changed a value, so that there is no law")
    if any(isinstance(step, Synthetic) for step in mechanisms):
        raise NotApplicable("the rows belong to nobody, so that no law leads from a record to its row")
    for step in mechanisms:
        if isinstance(step, FalseDeclaration):
            raise NotFollowed(step.reason)
    source = np.flatnonzero(~frame.control[frame.units.of_row])
    found = compare_with_absence(original, released, schema, mechanisms, knows, source=source, members=frame.member_rows)
    scores = np.maximum(found.values[frame.target_rows], LEAST)
    remark = REMARK if found.is_simulated else found.estimates
    return MembershipScores(scores, None, "calibration", lost=found.lost, remark=remark)
