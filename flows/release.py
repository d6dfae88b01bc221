"""The release file: everything a person decides about one release, composed from the parts that the stages define."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Annotated

from pydantic import Field, model_validator

from flows.sweep.sweep_origin import SweepOrigin
from tasks.attack.inference.model_answers import METHOD as MODEL_ANSWERS
from tasks.attack.inference.model_based_disclosure import DEFAULT_INFERENCE_ATTACKS, ModelBasedDisclosure
from tasks.attack.membership.methods import MembershipAttack, attack_name
from tasks.attack.methods import Attack
from tasks.attack.omissions import Omission
from tasks.attack.plan import add_omitted_attacks, default_attacks
from tasks.attack.threat import IntruderSpec, intruders
from tasks.classify.methods import ClassifyPlan
from tasks.ingest.checks.expectations import Expectation
from tasks.ingest.codebooks.codebook import Attributes
from tasks.ingest.methods import IngestPlan
from tasks.ingest.sources import SourceSpec
from tasks.mask.control import LARGEST_SHARE
from tasks.mask.external_release.adoption import AdoptionPlan, ReleasedSpec
from tasks.mask.external_release.released import Undeclared
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import Masking, Mechanism
from tasks.mask.personal_laws import is_personal
from tasks.microdata.schema import Role, Schema
from tasks.microdata.spec import Name, Public, PublicField, Reason, Slug, Spec
from tasks.report.plan import ReportPlan
from tasks.report.publication import Context, Publish
from tasks.score.catalogue import MEASURES
from tasks.score.cell_figures import CellMembersExposed
from tasks.score.declared_rules import ResultsHidden
from tasks.score.interval_disclosure import RankIntervalDisclosure, SdIntervalDisclosure
from tasks.score.kinds import NotLimited
from tasks.score.known_release import Known
from tasks.score.measures.inference import OF_CELLS
from tasks.score.measures.singling_out import SINGLING_OUT
from tasks.score.methods import ALWAYS, SelectedMeasure
from tasks.score.policy import DECLARED, Policy
from tasks.score.release_kinds import MASKED_TABLE, MODEL, SYNTHETIC_TABLE, ReleaseKind
from tasks.score.synthetic.uniques import Uniques
from tasks.train.spec import ModelSpec


class Published(Spec):
    """What is released where it is no table: a model, trained on the source or on what the masking made of it."""

    model: Public[ModelSpec]


ControlShare = Annotated[float, Field(gt=0, le=LARGEST_SHARE)]
UNIT_KEYS = {"person": Role.PERSON, "group": Role.GROUP}


def _describe_control(release: ReleaseSpec) -> dict[str, object]:
    """Where the table of other people is stays private."""
    return {} if release.control_share is None else {"control": release.control_share}


class ReleaseSpec(Spec):
    """One release: its source, what its attributes are, how it is masked, who attacks it, and what it must not exceed."""

    name: Public[Slug] = Field(description="names the release and its folder under the output folder")
    series: Public[Slug | None] = Field(None, description="releases of one source over time share it; default: the name")
    source: SourceSpec
    key: Public[Name | None] = Field(None, description="the column that identifies a unit across versions; never published")
    person: Public[Name | None] = Field(
        None, description="the column that joins the rows of one person: figures then count persons"
    )
    group: Public[Name | None] = Field(None, description="the column that joins the units of one household or enterprise")
    codebook: Name | None = Field(None, description="a codebook file (YAML), relative to the release file")
    attributes: Public[Attributes] = ()
    expect: tuple[Expectation, ...] = ()
    masking: Public[Annotated[tuple[Masking, ...], Field(min_length=1)] | None] = None
    released: Public[ReleasedSpec | None] = Field(None, description="a table that was masked elsewhere, instead of `masking`")
    release: Public[Published | None] = Field(None, description="what is released where it is no table: `{model: ...}`")
    control: Annotated[ControlShare | SourceSpec | None, PublicField(_describe_control)] = Field(
        None,
        description="the share of the records (persons) that is set aside before masking and never released, so that it can be "
        "measured whether the release tells who is in it; or a table of people of the same kind who are not in the source",
    )
    keep_row_order: Public[Reason | None] = Field(
        None, description="why the rows are published in the source's order; default: shuffled"
    )
    intruder: Public[IntruderSpec] = IntruderSpec()
    attacks: Public[Annotated[tuple[Attack, ...], Field(min_length=1)] | None] = Field(
        None, description="default: every attack that the masks must face"
    )
    membership: Public[tuple[MembershipAttack, ...] | None] = Field(
        None,
        description="attacks that tell who is in the file, or who taught the model; default: all of them if there is a "
        "`control` or a model is released, else none. Without a control they are rehearsed on random halves of the source, "
        "which is about how the release is made and not about the release",
    )
    inference: Public[tuple[ModelBasedDisclosure, ...] | None] = Field(
        None,
        description="attacks that infer confidential values; default: `model_based_disclosure`, on each that is published",
        exclude_if=lambda given: given is None,
    )
    omit: Public[tuple[Omission, ...]] = ()
    measures: Public[tuple[SelectedMeasure, ...]] = ()
    policy: Public[Policy]
    not_limited: Public[NotLimited] = Field(
        NotLimited(),
        description="kinds of disclosure that no policy line limits, each with the reason; both are signed",
    )
    policy_version: Public[Name | None] = Field(None, description="which edition of the policy this is, for the certificate")
    policy_author: Public[Name | None] = Field(
        None, description="who wrote the policy (a role or a name); who approves is another"
    )
    context: Public[Context] = Context()
    publish: Public[Publish] = Publish()
    sweep: Public[SweepOrigin | None] = Field(None, description="written by `sdcert sweep promote`; goes into the certificate")
    seed: Annotated[int, Field(ge=0)] | None = Field(None, description="a chosen seed is no secret: needs not_for_publication")
    not_for_publication: Public[bool] = False

    @model_validator(mode="after")
    def _refuse_published_seed(self) -> ReleaseSpec:
        if self.seed is not None and not self.not_for_publication:
            raise ValueError(
                "a chosen seed can be guessed and undoes the masking: add `not_for_publication: true`, or remove it"
            )
        return self

    @model_validator(mode="after")
    def _require_one_masking(self) -> ReleaseSpec:
        if self.release is None and (self.masking is None) == (self.released is None):
            raise ValueError("a release has either `masking` (steps to carry out) or `released` (a table masked elsewhere)")
        if self.released is not None and self.released.align == "key" and self.key is None:
            raise ValueError("`released.align: key` needs `key: <column>`, the column that tells the rows apart in both tables")
        return self

    @model_validator(mode="after")
    def _rows_of_nobody_are_asked_for_nobody(self) -> ReleaseSpec:
        rowwise = RankIntervalDisclosure | SdIntervalDisclosure | CellMembersExposed
        intervals = [one.measure for one in self.measures if isinstance(one, rowwise)]
        uniques = [one.measure for one in self.measures if isinstance(one, Uniques)]
        if uniques and self.kind is not SYNTHETIC_TABLE:
            raise ValueError(f"`{uniques[0]}` is measured only where the rows belong to nobody (`released: {{align: none}}`)")
        for given, what in (
            (intervals, f"`measures` asks for {', '.join(intervals)}, which compare records with their own rows"),
            (self.keep_row_order, "`keep_row_order` is about the source's order, in which no row of nobody stands"),
            (self.intruder.insiders, "`intruder.insiders` chooses insiders by whom they find, and no row here is anybody's"),
            (self.intruder.files, "the external files of the intruder are matched with the rows of their people"),
        ):
            if given and self.kind is SYNTHETIC_TABLE:
                raise ValueError(f"{what}: take it out, because the rows of this table belong to nobody (`align: none`)")
        return self

    @model_validator(mode="after")
    def _a_model_is_no_table(self) -> ReleaseSpec:
        model = self.model
        if model is None:
            return self
        defaults = {"intruder": IntruderSpec(), "publish": Publish(), "measures": (), "omit": ()}
        for name in ("released", "attacks", "inference", "keep_row_order", *defaults):
            if getattr(self, name) != defaults.get(name):
                raise ValueError(f"`{name}` is about a released table, and this file releases a model: take it out")
        if self.membership == ():
            raise ValueError("a model is attacked before it is released: take `membership: []` out")
        if model.file is not None and self.masking is not None:
            raise ValueError("`masking` comes too late for a model that was fitted already (`release.model.file`): take it out")
        if model.file is not None and self.control is None:
            raise ValueError(
                "a model that was fitted elsewhere cannot be rehearsed: nobody here knows how it was fitted. Name people who "
                "did not teach it: `control: {table: <path>}`"
            )
        if model.trained_on == "masked" and self.masking is None:
            raise ValueError("`trained_on: masked` needs `masking`, the steps that make the table it is trained on")
        if model.trained_on == "original" and self.masking is not None:
            raise ValueError("`masking` has no effect on a model that is `trained_on: original`: take one of them out")
        return self

    @model_validator(mode="after")
    def _control_has_no_member(self) -> ReleaseSpec:
        made_elsewhere = self.released is not None or (self.model is not None and self.model.file is not None)
        if made_elsewhere and isinstance(self.control, float):
            what = "model was fitted" if self.released is None else "table was made"
            raise ValueError(
                f"a share cannot be set aside any more: this {what} elsewhere from all records. Name people who are not in the "
                "source: `control: {table: <path>}`"
            )
        if self.membership and self.released is not None and self.control is None:
            raise ValueError("this table was made elsewhere: membership needs people not in it, `control: {table: <path>}`")
        strange = [spec.method for spec in self.membership_attacks if not self.kind.is_asked_by(spec)]
        if strange:
            raise ValueError(
                f"membership attack `{strange[0]}` is not one on a {self.kind.thing}, which this file releases: take it out"
            )
        ids = [attack_name(spec) for spec in self.membership_attacks] + [spec.attack_id for spec in self.attacks_to_run]
        ids += [spec.attack_id for spec in self.inference_attacks]
        repeated = [name for name, times in Counter(ids).items() if times > 1]
        if repeated:
            raise ValueError(f"two attacks are called `{repeated[0]}`: give each an `id` of its own")
        return self

    @model_validator(mode="after")
    def _unit_keys_are_what_they_say(self) -> ReleaseSpec:
        for field, role in UNIT_KEYS.items():
            declared = {attribute.name: attribute.role for attribute in self.attributes}
            name = getattr(self, field)
            if name is not None and declared.get(name) not in (None, role):
                raise ValueError(f"`{field}: {name}` contradicts the role {declared[name]} that `attributes` declares for it")
        return self

    @model_validator(mode="after")
    def _earlier_releases_can_be_kept(self) -> ReleaseSpec:
        """Frozen groups and draws per person need a key; what they keep is written by the program."""
        frozen = any(isinstance(step, Microaggregation) and step.frozen for step in self.steps)
        personal = any(is_personal(step) for step in self.steps)
        for step in self.steps:
            for name in ("kept", "personal"):
                if getattr(step, name, None) is not None:
                    raise ValueError(f"`{name}` is what the program remembers of an earlier release: take it out")
        for given, what in (
            (frozen and self.released, "a table masked elsewhere has its groups: take `frozen` out of its mechanism"),
            (frozen and self.control_share, "a control that is set aside takes people out of frozen groups: name a table"),
            (frozen and self.keep_row_order, "the row order shows who has left frozen groups: take `keep_row_order` out"),
            (
                (frozen or personal) and self.masking and not (self.key or self.person or self._has_person_role),
                "`frozen` and `draw: per_person` know people again by a key: name the column as `key`",
            ),
        ):
            if given:
                raise ValueError(what)
        return self

    @property
    def _has_person_role(self) -> bool:
        return any(attribute.role == Role.PERSON for attribute in self.attributes)

    @property
    def series_name(self) -> str:
        """The series this release belongs to."""
        return self.series or self.name

    @property
    def kind(self) -> ReleaseKind:
        """What is released."""
        if self.model is not None:
            return MODEL
        return SYNTHETIC_TABLE if self.released is not None and self.released.align == "none" else MASKED_TABLE

    @property
    def attacks_to_run(self) -> tuple[Attack, ...]:
        if not self.kind.is_table:
            return ()
        default = default_attacks(self.steps_to_face, keeps_row_order=self.keep_row_order is not None)
        return default if self.attacks is None else self.attacks

    @property
    def membership_attacks(self) -> tuple[MembershipAttack, ...]:
        if self.membership is not None:
            return self.membership
        return self.kind.membership_attacks if self.kind.is_rehearsed or self.control is not None else ()

    @property
    def inference_attacks(self) -> tuple[ModelBasedDisclosure, ...]:
        """Those that infer confidential values."""
        if not self.kind.is_table:
            return ()
        if self.inference is not None:
            return self.inference
        return DEFAULT_INFERENCE_ATTACKS

    @property
    def inference_ids(self) -> tuple[str, ...]:
        """What the attacks that infer confidential values are called; of a model the one that reads its answers."""
        return tuple(attack.attack_id for attack in self.inference_attacks) if self.kind.is_table else (MODEL_ANSWERS,)

    @property
    def policy_of_sweep(self) -> Policy:
        """The lines that a sweep decides: none on what is measured against people who are not in the release."""
        left = {one.name for one in MEASURES.values() if one.compares_people}
        return tuple(line for line in self.policy if line.measure not in left)

    @property
    def measures_to_compute(self) -> tuple[SelectedMeasure, ...]:
        """Those of the release file, and what a line of its policy on cells asks for."""
        asked = any(line.measure in OF_CELLS for line in self.policy)
        named = any(isinstance(one, CellMembersExposed) for one in self.measures)
        return (*self.measures, CellMembersExposed()) if asked and not named else self.measures

    @property
    def limits_singling_out(self) -> bool:
        """Does a policy line ask whom the released rows single out?"""
        return self.kind.is_table and any(line.measure == SINGLING_OUT.name for line in self.policy)

    @property
    def model(self) -> ModelSpec | None:
        """The model that is released, told what it is trained on; None: a table is released."""
        if self.release is None:
            return None
        spec = self.release.model
        chosen = spec.trained_on or ("original" if self.masking is None else "masked")
        return spec if spec.learner is None else spec.model_copy(update={"trained_on": chosen})

    @property
    def control_share(self) -> float | None:
        """The share that is set aside; None: nobody is, or those of the control have a table of their own."""
        return self.control if isinstance(self.control, float) else None

    @property
    def control_plan(self) -> IngestPlan | None:
        """What is needed to read the table of people who are not in the source; None: there is none."""
        if not isinstance(self.control, SourceSpec):
            return None
        return IngestPlan(source=self.control, attributes=self.attributes)

    @property
    def steps(self) -> tuple[Masking, ...]:
        """The steps that are carried out, or that are declared of a table masked elsewhere."""
        return self.masking or (self.released.mechanism if self.released is not None else ())

    @property
    def steps_to_face(self) -> tuple[Mechanism, ...]:
        """The steps that the attacks are planned for: of a table masked elsewhere also what nobody may have declared."""
        elsewhere = self.released is not None and self.kind.has_owners
        return (*self.steps, Undeclared(attributes=("undeclared",))) if elsewhere else self.steps

    @property
    def ingest_plan(self) -> IngestPlan:
        return IngestPlan(source=self.source, attributes=self.attributes, expect=self.expect)

    @property
    def adoption_plan(self) -> AdoptionPlan | None:
        """What is needed to adopt a table that was masked elsewhere; None: it is masked here."""
        if self.released is None:
            return None
        return AdoptionPlan(released=self.released, attributes=self.attributes, key=self.key)

    @property
    def classify_plan(self) -> ClassifyPlan:
        masks = tuple(step.mask_targets for step in self.steps)
        return ClassifyPlan(attributes=self.attributes, key=self.key, masks=masks, known=self.intruder.knows or ())

    @property
    def report_plan(self) -> ReportPlan:
        parts = {name: getattr(self, name) for name in ReportPlan.model_fields if name in type(self).model_fields}
        parts["intruder"] = self.intruder.model_copy(update={"files": ()})  # where they are is nobody's business
        parts["context"] = self.context.without_tables()
        known = {"control_table": self.control_plan is not None}
        elsewhere = {"masked_elsewhere": self.released is not None, "tool": self.released and self.released.tool}
        return ReportPlan(
            **{**parts, **elsewhere, "series": self.series_name, "of_nobody": self.kind is SYNTHETIC_TABLE, **known}
        )


def include_omitted_attacks(release: ReleaseSpec) -> ReleaseSpec:
    """With the required attacks that `omit` names in `attacks`. Done when a file is read: records stay as they are."""
    if release.attacks is None:
        return release
    keeps_row_order = release.keep_row_order is not None
    attacks = add_omitted_attacks(release.attacks, release.omit, release.steps_to_face, keeps_row_order=keeps_row_order)
    return release.model_copy(update={"attacks": attacks})


def collect_policy_names(release: ReleaseSpec, schema: Schema | None = None) -> Known:
    """What a policy line may name: as far as the release file alone tells, or with the schema of its table."""
    inferring = [attack.by for attack in release.inference_attacks] if release.kind.is_table else [(DECLARED,)]
    known = Known(
        attacks=tuple(attack.attack_id for attack in release.attacks_to_run),
        membership=tuple(attack_name(spec) for spec in release.membership_attacks),
        inference=release.inference_ids,
        infer=tuple(dict.fromkeys(who for by in inferring for who in by)),
        kind=release.kind,
        not_of_files=tuple(attack.attack_id for attack in release.attacks_to_run if not attack.traits.uses_external_files),
        p_percent=_list_widths(release, "rank_interval_disclosure"),
        sd_percent=_list_widths(release, "sd_interval_disclosure"),
        rules=sum(one.most_rules for one in release.measures if isinstance(one, ResultsHidden)),
        not_of_nobody=tuple(attack.attack_id for attack in release.attacks_to_run if not attack.traits.attacks_synthetic_rows),
    )
    if schema is None:
        return known
    names = (*(intruder.name for intruder in intruders(release.intruder, schema)), *release.intruder.file_holders)
    secrets = schema.find_by_role(Role.CONFIDENTIAL)
    return dataclasses.replace(known, attributes=schema.release_columns, confidential=secrets, intruders=names)


def _list_widths(release: ReleaseSpec, measure: str) -> tuple[float, ...]:
    """The widths of the intervals that one measure will be computed with."""
    specs = (one for one in (*ALWAYS, *release.measures) if isinstance(one, RankIntervalDisclosure | SdIntervalDisclosure))
    return tuple(dict.fromkeys(width for one in specs if one.measure == measure for width in one.p_percent))
