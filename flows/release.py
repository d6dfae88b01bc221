"""The release file: everything a person decides about one release, composed from the parts that the stages define."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator

from tasks.attack.methods import Attack
from tasks.attack.threat import Intruder, IntruderSpec, Omission, attack_id, check_attacks, default_attacks, intruders
from tasks.classify.methods import ClassifyPlan
from tasks.ingest.codebook import Attributes
from tasks.ingest.expectations import Expectation
from tasks.ingest.methods import IngestPlan
from tasks.ingest.sources import SourceSpec
from tasks.mask.methods import Masking, resolved, targets
from tasks.microdata.document import read_document, validated
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Schema
from tasks.microdata.spec import Name, Slug, Spec
from tasks.report.plan import ReportPlan
from tasks.report.publication import Context, Publish
from tasks.score.interval_disclosure import RankIntervalDisclosure
from tasks.score.methods import ALWAYS, Measure
from tasks.score.policy import Known, Policy, check_policy


class ReleaseSpec(Spec):
    """One release: its source, what its attributes are, how it is masked, who attacks it, and what it must not exceed."""

    name: Slug = Field(description="names the release and its folder under the output folder")
    series: Slug | None = Field(None, description="releases of one source over time share it; default: the name")
    source: SourceSpec
    key: Name | None = Field(None, description="the column that identifies a unit across versions; never published")
    attributes: Attributes = ()
    expect: tuple[Expectation, ...] = ()
    masking: Annotated[tuple[Masking, ...], Field(min_length=1)]
    intruder: IntruderSpec = IntruderSpec()
    attacks: Annotated[tuple[Attack, ...], Field(min_length=1)] | None = Field(
        None, description="default: every attack that the masks must face"
    )
    omit: tuple[Omission, ...] = ()
    measures: tuple[Measure, ...] = ()
    policy: Policy
    context: Context = Context()
    publish: Publish = Publish()
    seed: Annotated[int, Field(ge=0)] | None = Field(None, description="a chosen seed is no secret: needs not_for_publication")
    not_for_publication: bool = False

    @model_validator(mode="after")
    def _chosen_seed_is_for_rehearsal(self) -> ReleaseSpec:
        if self.seed is not None and not self.not_for_publication:
            raise ValueError(
                "a chosen seed can be guessed and undoes the masking: add `not_for_publication: true`, or remove it"
            )
        return self

    @property
    def lineage(self) -> str:
        """The series this release belongs to."""
        return self.series or self.name

    @property
    def attacks_to_run(self) -> tuple[Attack, ...]:
        return self.attacks if self.attacks is not None else default_attacks(self.masking, self.omit)

    @property
    def ingest_plan(self) -> IngestPlan:
        return IngestPlan(source=self.source, attributes=self.attributes, expect=self.expect)

    @property
    def classify_plan(self) -> ClassifyPlan:
        masks = tuple(targets(step) for step in self.masking)
        return ClassifyPlan(attributes=self.attributes, key=self.key, masks=masks, known=self.intruder.knows or ())

    @property
    def report_plan(self) -> ReportPlan:
        parts = {name: getattr(self, name) for name in ReportPlan.model_fields if name != "series"}
        return ReportPlan(series=self.lineage, **parts)

    def public_content(self) -> dict[str, Any]:
        """The spec as plain values for the tracking server: without the seed, the place of the source, and its categories."""
        left_out: Any = {"seed": True, "source": True, "expect": True, "attributes": {"__all__": {"order", "missing"}}}
        content: dict[str, Any] = self.model_dump(mode="json", by_alias=True, exclude=left_out, exclude_none=True)
        return content


def load_release(path: Path) -> ReleaseSpec:
    """Read and check a release file without touching its data. InputError says what is wrong, where, and what to do."""
    document = read_document(path)
    release = validated(ReleaseSpec, document)
    try:
        check_attacks(release.attacks_to_run, release.omit, release.masking)
        check_policy(release.policy, known_of(release))
    except InputError as error:
        raise located(error, path) from None
    resolved = release.source.resolved(path.parent)
    return release.model_copy(update={"source": resolved})


def located(error: InputError, path: Path) -> InputError:
    """The error with the release file and its line, where it speaks of a field of that file."""
    place = tuple(int(step) if step.isdigit() else step for step in re.findall(r"[^.\[\]: ]+", error.where))
    if not place or place[0] not in ReleaseSpec.model_fields:
        return error
    line = read_document(path).line_of(place)
    return dataclasses.replace(error, where=f"{path}, line {line}: {error.where}")


def known_of(release: ReleaseSpec, schema: Schema | None = None) -> Known:
    """What a policy line may name: as far as the release file alone tells, or with the schema of its table."""
    intervals = (measure for measure in (*ALWAYS, *release.measures) if isinstance(measure, RankIntervalDisclosure))
    widths = tuple(dict.fromkeys(width for measure in intervals for width in measure.p_percent))
    attacks = tuple(attack_id(attack) for attack in release.attacks_to_run)
    if schema is None:
        return Known(attacks=attacks, p_percent=widths)
    names = tuple(intruder.name for intruder in intruders_of(release, schema))
    return Known(attacks=attacks, p_percent=widths, attributes=schema.published, intruders=names)


def intruders_of(release: ReleaseSpec, schema: Schema) -> tuple[Intruder, ...]:
    """Everybody who attacks the release: the declared intruder, then each insider."""
    steps = tuple(resolved(step, schema, f"masking[{i}]") for i, step in enumerate(release.masking))
    return intruders(release.intruder, schema, steps)


def schema_of_release_files() -> dict[str, Any]:
    """The JSON schema that editors use; params/schema/release.json holds it, and a test says when it is stale."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **ReleaseSpec.model_json_schema(by_alias=True)}
