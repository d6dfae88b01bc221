"""What a sweep file says: a base release, pipelines with their axes, and how points are chosen among them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from flows.release import ReleaseSpec
from tasks.microdata.document import Document
from tasks.microdata.public_paths import SpecPath
from tasks.microdata.spec import Name, Public, Slug, Spec
from tasks.sweep.axes import AxisSpec
from tasks.sweep.points import LARGEST, Space, SweepPoint, grid, n_points, random
from tasks.sweep.views import FigureLoss, LossView, RiskView, WorstRisk

Axes = Annotated[dict[Name, AxisSpec], Field(default_factory=dict, max_length=20)]
Seed = Annotated[int, Field(ge=0, lt=2**64)]
Budget = Annotated[int, Field(ge=1, le=LARGEST)]


class Grid(Spec):
    """Every combination of the values of the axes."""

    method: Public[Literal["grid"]] = "grid"


class Random(Spec):
    """So many points drawn at random, the same for the same seed."""

    method: Public[Literal["random"]]
    points: Public[Budget]
    seed: Public[Seed] = 0


class Frontier(Spec):
    """A search for the points of least risk and least loss (NSGA-II), generation by generation.

    points: how many are tried in all. generation: how many at a time.
    """

    method: Public[Literal["frontier"]]
    points: Public[Budget]
    generation: Public[Annotated[int, Field(ge=4, le=10_000)]] = 60
    seed: Public[Seed] = 0


class PipelineSpec(Spec):
    """One way of masking, with the parameters that vary.

    masking: the steps, as in a release file; what an axis gives may be left out. Default: those of the base release.
    axes: a path into the release (`masking[0].k`, `intruder.targets`) and its values.
    """

    name: Slug
    masking: Annotated[tuple[dict[str, Any], ...], Field(min_length=1)] | None = None
    axes: Axes


class SweepSpec(Spec):
    """Many candidates for one release, followed to risk and loss.

    base: a release file, relative to this one; it brings the source, the attributes, the intruder, the policy, the measures.
    axes: common to all pipelines. seeds: each point is masked with so many. risk, loss: what the two sides of the picture are.
    """

    name: Public[Slug]
    base: Name
    pipelines: Annotated[tuple[PipelineSpec, ...], Field(min_length=1, max_length=100)]
    axes: Axes
    seeds: Public[Annotated[int, Field(ge=1, le=1000)]] = 1
    strategy: Public[Annotated[Grid | Random | Frontier, Field(discriminator="method")]] = Grid()
    risk: Public[RiskView] = WorstRisk()
    loss: Public[LossView] = FigureLoss(measure="sse_percent")

    @model_validator(mode="after")
    def _names_are_distinct(self) -> SweepSpec:
        names = [pipeline.name for pipeline in self.pipelines]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"two pipelines are called `{twice}`: give each a name of its own")
        return self


@dataclass(frozen=True, slots=True)
class Template:
    """What the points of one pipeline have in common.

    content: the parts that a sweep varies, as files have them; axes: none of them is in it yet. folder: that of the file which
    the masking stands in: mapping files are relative to it. location: of the pipeline in the sweep file.
    """

    pipeline: str
    content: Mapping[str, Any]
    folder: Path
    location: SpecPath


@dataclass(frozen=True, slots=True)
class SweepDefinition:
    """A sweep file that was read and checked, with the release that it starts from.

    spaces, templates: one per pipeline, in the order of the file. document, base_document: the files as they were written.
    """

    spec: SweepSpec
    base: ReleaseSpec
    spaces: tuple[Space, ...]
    templates: tuple[Template, ...]
    document: Document
    base_document: Document

    @property
    def n_points(self) -> int:
        """How many points will be tried; of a frontier, at most."""
        strategy = self.spec.strategy
        return n_points(self.spaces, None if isinstance(strategy, Grid) else strategy.points)

    def points(self) -> Iterator[SweepPoint]:
        """The points of a grid or random sweep. ValueError for a frontier, whose points come from what was found before."""
        match self.spec.strategy:
            case Grid():
                return grid(self.spaces)
            case Random(points=points, seed=seed):
                return random(self.spaces, points, seed)
        raise ValueError("the points of a frontier search are not known before it runs")

    def template(self, pipeline: str) -> Template:
        return next(template for template in self.templates if template.pipeline == pipeline)

    def space(self, pipeline: str) -> Space:
        return next(space for space in self.spaces if space.pipeline == pipeline)

    def export_files(self) -> dict[str, str]:
        """What `promote` needs of both files: where they stood, and their content as JSON in the order of the files.

        A chosen seed is left out, with the `not_for_publication` that it asks for.
        """
        chosen = ("seed", "not_for_publication") if self.base.seed is not None else ()
        base = {name: part for name, part in self.base_document.content.items() if name not in chosen}
        paths = {"file_path": str(self.document.path.absolute()), "base_path": str(self.base_document.path.absolute())}
        return {"file": json.dumps(self.document.content), "base": json.dumps(base), **paths}
