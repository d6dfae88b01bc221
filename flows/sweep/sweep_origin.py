"""Where the parameters of a release come from that a sweep chose."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tasks.microdata.spec import Name, Public, Slug, Spec


class SweepOrigin(Spec):
    """The sweep from which the parameters were chosen: how many points were tried is part of what a figure is worth."""

    name: Public[Slug]
    id: Public[Name]
    points_tried: Public[Annotated[int, Field(ge=1)]]
