"""Linkage as a membership attack: whoever is linked well was among the originals."""

from __future__ import annotations

from typing import Literal, assert_never

import numpy as np

from tasks.attack.membership.scored import MembershipScores
from tasks.attack.outcomes.links import Links
from tasks.microdata.errors import NotApplicable
from tasks.microdata.spec import Public, Slug, Spec
from tasks.microdata.table import Floats, Integers


class LinkageScore(Spec):
    """Parameters of the attack by the scores of a linkage attack.

    id: what the attack is called in figures and policy lines; default: the method's name.
    of: id of the linkage attack. score: of its links the `distance` to the nearest row, the `margin` by which the next row that
        differs from it is farther, or the `probability` of the likeliest row.
    """

    method: Public[Literal["linkage_score"]]
    id: Public[Slug | None] = None
    of: Public[Slug] = "distance_linkage"
    score: Public[Literal["distance", "margin", "probability"]] = "margin"


def score_by_links(links: Links, targets: Integers, spec: LinkageScore) -> MembershipScores:
    """Score each target by how good its link is: minus the squared distance, the margin, or the largest probability.

    Meaning: a linkage attack that was given members and others finds rows for all of them; how good these are tells who has a
    row of their own.

    links: of an attack in which the targets searched among the released rows, and which used of nobody, least of all of the
    targets, who is who: a learned distance or supervised weights have to be learned from other people.
    targets: shape (t,), places among the searching records.

    Returns scores without a threshold. Raises NotApplicable where the attack has no such score. Chance 1/2 for AUC.
    Example: a release of the originals as they are: members have distance 0.
    """
    scores = _compute_scores(links, targets, spec)
    if scores is None:
        raise NotApplicable(f"the links of `{spec.of}` have no {spec.score}")
    return MembershipScores(scores, None, "calibration")


def _compute_scores(links: Links, targets: Integers, spec: LinkageScore) -> Floats | None:
    match spec.score:
        case "distance":
            return None if links.least is None else np.asarray(-links.least[links.search_class[targets]])
        case "margin":
            return _margins(links, targets)
        case "probability":
            return None if links.posterior is None else links.posterior.compute_guess_probabilities(targets)
        case _:
            assert_never(spec.score)


def _margins(links: Links, targets: Integers) -> Floats | None:
    """(d2 - d1) / (|d1| + |d2|), of squared distances. Unlike in `Links.margins` equal rows are no doubt: nobody is named."""
    if links.least is None or links.runner_up is None:
        return None
    first, second = (of[links.search_class[targets]] for of in (links.least, links.runner_up))
    far = np.isinf(second)
    last = np.where(far, 1.0, second)
    sums = np.abs(first) + np.abs(last)
    return np.where(far, 1.0, (last - first) / np.where(sums > 0, sums, 1.0))
