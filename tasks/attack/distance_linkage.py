"""Distance-based record linkage: each record is linked to the nearest, ties shared."""

from __future__ import annotations

from typing import Literal

from tasks.attack.comparison import ScaleBy, compare
from tasks.attack.links import Links
from tasks.attack.nearest import nearest
from tasks.microdata.errors import NotApplicable
from tasks.microdata.schema import Schema
from tasks.microdata.spec import Slug, Spec
from tasks.microdata.table import Microdata


class DistanceLinkage(Spec):
    """Parameters of distance-based linkage.

    id: what the attack is called in figures and policy lines; default: the method's name.
    scale_by: whose standard deviations scale the differences: the release's, the original's, or each file's own.
    direction: `to_release`: each known record looks for its released row, as in the scenario; `to_original`: each released
        row looks for its record.
    """

    method: Literal["distance_linkage"]
    id: Slug | None = None
    scale_by: ScaleBy = "release"
    direction: Literal["to_release", "to_original"] = "to_release"


def link_by_distance(
    original: Microdata, masked: Microdata, schema: Schema, spec: DistanceLinkage, knows: tuple[str, ...]
) -> Links:
    """Link each record to all records at the least distance.

    Meaning: the plainest intruder, who knows some attributes of each record and nothing of how the table was masked.
    Formula in words: the squared distance of `comparison` over the known attributes, by the stated scale; all records within
    a relative 1e-9 of the least squared distance are linked, and share the credit.

    Parameters
    ----------
    original, masked: tables of n rows each; the order of their rows is not used.
    knows: the attributes the intruder knows; published, at least one.

    Returns the links of all records of the searching file. A tie of t earns 1/t, so that guessing earns 1/n on average.
    Raises NotApplicable if the intruder knows nothing, InputError as `compare` does. Cost: as `nearest`.
    Source: Torra, Abowd, Domingo-Ferrer (2006) and D11.2, section 2.3. Done otherwise than there: nearest records are shared
    instead of the first being taken, and both files are scaled by the release. Example: on a constant release all rows tie.
    """
    if not knows:
        raise NotApplicable("the intruder knows no published attribute")
    both = compare(original, masked, schema, knows, spec.scale_by)
    if spec.direction == "to_release":
        return Links(both.shown_of_row, both.own_of_record, *nearest(both.own, both.shown, both.nominal, both.weight))
    return Links(both.own_of_record, both.shown_of_row, *nearest(both.shown, both.own, both.nominal, both.weight))
