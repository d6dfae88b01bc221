"""Distance to the closest record: whoever has a near twin in the release was among the originals."""

from __future__ import annotations

from typing import Literal

from tasks.attack.membership.scored import MembershipScores
from tasks.attack.neighbours.distances import euclidean
from tasks.attack.neighbours.nearest import Search
from tasks.attack.neighbours.record_comparison import ScaleBy, create_comparison
from tasks.microdata.errors import NotApplicable
from tasks.microdata.schema import Schema
from tasks.microdata.spec import Public, Slug, Spec
from tasks.microdata.table import Integers, Microdata


class ClosestRecord(Spec):
    """Parameters of the attack by the distance to the closest record (DCR).

    id: what the attack is called in figures and policy lines; default: the method's name.
    scale_by: as for `distance_linkage`; `original` are the targets.
    """

    method: Public[Literal["closest_record"]]
    id: Public[Slug | None] = None
    scale_by: Public[ScaleBy] = "release"


def score_by_closest_record(
    original: Microdata, targets: Integers, released: Microdata, schema: Schema, spec: ClosestRecord, knows: tuple[str, ...]
) -> MembershipScores:
    """Score each target by minus its squared distance to the nearest released row.

    Meaning: a synthetic or masked table that stays near its originals stays nearer to them than to people who were set aside.
    The distance is that of `distance_linkage`, scaled as linkage is.

    original: the table that the targets are rows of, members and others. knows: published attributes, at least one.

    Returns scores <= 0, without a threshold. Chance 1/2 for AUC. Raises NotApplicable where nothing is known or released,
    InputError as `create_comparison`. Cost: as `Search.nearest`.
    Example: a release of the originals as they are: members have 0.
    """
    check_known(released, knows)
    both = create_comparison(original.take(targets), released, schema, knows, spec.scale_by)
    least = Search(both.own, both.shown, both.columns, euclidean(len(knows))).nearest().least
    return MembershipScores(-least[both.own_of_record], None, "calibration")


def check_known(released: Microdata, knows: tuple[str, ...]) -> None:
    """Raises NotApplicable where there is nothing to compare."""
    if not knows:
        raise NotApplicable("the intruder knows no published attribute")
    if not released.n:
        raise NotApplicable("no row is released")
