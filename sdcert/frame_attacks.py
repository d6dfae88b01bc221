"""Attack a masked data frame as an intruder would, with the attacks of a release file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from flows.release import ReleaseSpec
from sdcert.figure_tables import FigureTable, find_worst, select_declared
from sdcert.masked_frames import MaskedFrame, RoleDeclarations, adopt, require_source
from sdcert.people_attacks import (
    AttackChoice,
    describe_choice,
    estimate_inference,
    estimate_membership,
    refuse_membership_of_nobody,
)
from sdcert.rehearsals import (
    Content,
    compute_as_stages_do,
    create_rehearsed_release,
    refuse_fields,
    relocate_to_call,
    to_plain,
)
from tasks.attack.methods import Attack, attack_records, sample_for_part
from tasks.attack.outcomes.outcome import AttackResult, sample_targets
from tasks.attack.target_looks import require_one_share
from tasks.attack.threat import Intruder, intruders, is_on_knowledge_curve
from tasks.classify.methods import classify
from tasks.mask.methods import resolve_steps
from tasks.microdata.alignment import NoAlignment
from tasks.microdata.document import Document, validate_document
from tasks.microdata.errors import InputError
from tasks.microdata.estimate import Estimate
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.randomness import stream
from tasks.microdata.schema import Schema
from tasks.microdata.spec import Spec
from tasks.score.linkage import linkage_estimates
from tasks.score.measures.linkage import REIDENTIFICATION
from tasks.score.policy import DECLARED
from tasks.score.subgroups import find_subgroups

ATTACK = "sdcert.attack"
_NOT_HERE = {
    "files": "External files are read from disk, by a release file.",
    "combine": "External files are read from disk, by a release file.",
    "insiders": "Insiders who know several columns attack in rounds, when a release file is certified.",
}


class AttackList(Spec):
    """Attacks as a release file lists them."""

    attacks: Annotated[tuple[Attack, ...], Field(min_length=1)]


@dataclass(frozen=True, slots=True, eq=False)
class AttackFigures(FigureTable):
    """What attacks on a masked data frame found: figures by measure (see `FigureTable`).

    masked: what was attacked. results: of each linkage attack and intruder, with its status and what it knows.
    about_people: of the figures those of membership and inference.
    """

    masked: MaskedFrame = field(repr=False)
    schema: Schema = field(repr=False)
    content: Content = field(repr=False)
    attacks: tuple[Attack, ...] = field(repr=False)
    results: tuple[AttackResult, ...] = field(repr=False)
    about_people: tuple[Estimate, ...] = field(repr=False, default=())

    @property
    def worst(self) -> Estimate | None:
        """The largest re-identification rate that the declared intruder reached; None: no attack gave one."""
        found = find_worst([one for one in select_declared(self.estimates) if one.measure == REIDENTIFICATION.name])
        return None if found is None or found.value is None else found

    def _repr_html_(self) -> str:
        from sdcert.pages import render_attack_figures

        return render_attack_figures(self)


def attack(
    frame: Any,
    masked: Any,
    knows: Sequence[str] | None = None,
    *,
    mechanism: Sequence[Mapping[str, Any]] | None = None,
    attacks: Sequence[str | Mapping[str, Any]] | None = None,
    membership: AttackChoice = False,
    inference: AttackChoice = False,
    insiders: bool = False,
    curve: bool = False,
    declare: RoleDeclarations | None = None,
    control: Any = None,
    **intruder: Any,
) -> AttackFigures:
    """Attack a masked data frame as `sdcert certify` does: by linkage, and if asked by membership and inference.

    frame: what was masked. masked: what `mask` or `adopt` returned, or a data frame that another tool made of it, row by row.
    knows: the attributes whose original values the declared intruder knows; default: all quasi-identifiers.
    mechanism, declare, control: of a data frame from elsewhere, as `adopt`.
    attacks: names of linkage attacks (`sdcert methods attack`), or entries as in `attacks` of a release file; default: those
        that the masking must face; `[]`: none, where membership or inference is asked.
    membership: ask who is in the table. True: by all five attacks; or their names (`sdcert methods membership`), or entries as
        in a release file. People who are not in the table are those of the `control` that `mask` or `adopt` was given. Without
        one the masking is repeated on a random half of the rows: the figures are then about the masking, and say so.
    inference: infer the confidential values that are published. True: by `model_based_disclosure`; or entries as above.
    insiders: attack also as insiders, each of whom knows one more published attribute (for inference see its field `by`).
        curve: also as intruders who know only the first 1, 2, ... of these attributes, for the chart. Both are always tried
        when a release is certified.
    intruder: other fields of `intruder` in a release file: `targets`, `records`, `participation_known`, `holds`.

    Raises InputError as a release file with these fields would, and for membership in a table masked elsewhere without a
    control. Cost: that of the attacks, by linkage half a second for 10,000 rows and two microaggregated attributes, 10 s after
    noise. Membership and inference train models or repeat the mask, and take some seconds to a minute.

    >>> import pandas as pd, sdcert as sc
    >>> df = pd.DataFrame({"age": [20, 21, 30, 31], "town": [1, 1, 2, 2]})
    >>> a = sc.attack(df, df.assign(age=[20, 20, 30, 30]), knows=["age"], attacks=["distance_linkage"])
    >>> a["reidentification"], a.worst.chance
    (0.5, 0.25)
    """
    refuse_fields(ATTACK, intruder, _NOT_HERE)
    found = _create_masked_frame(frame, masked, knows, mechanism, declare, control)
    about_people = describe_choice(ATTACK, membership=membership, inference=inference)
    if "membership" in about_people:
        refuse_membership_of_nobody(ATTACK, found)
    asked = found.content["intruder"]["knows"] if knows is None and "intruder" in found.content else knows
    threat = {**({} if asked is None else {"knows": list(asked)}), "curve": curve, **intruder}
    content = {**found.content, "intruder": threat, **about_people}
    release = create_rehearsed_release(ATTACK, content)
    with relocate_to_call(ATTACK), compute_as_stages_do():
        schema = _classify_again(found, release)
        planned = _plan_attacks(release, attacks, about_people)
        results = tuple(_run_attacks(found, release, schema, planned, insiders=insiders))
        truth = GroundTruth.create_from_tables(found.original, found.masked, schema, found.alignment)
        subgroups = find_subgroups(found.original, schema, truth.units)
        estimates = tuple(one for result in results for one in linkage_estimates(result, truth, schema, subgroups))
        figures: tuple[Estimate, ...] = ()
        if "membership" in about_people:
            figures += estimate_membership(found, release, schema, planned, insiders=insiders)
        if "inference" in about_people:
            figures += estimate_inference(found, release, schema)
    return AttackFigures((*estimates, *figures), found, schema, content, planned, results, figures)


def _plan_attacks(
    release: ReleaseSpec, attacks: Sequence[str | Mapping[str, Any]] | None, about_people: Mapping[str, Any]
) -> tuple[Attack, ...]:
    """The attacks by linkage; none where only others are asked for."""
    if attacks is None:
        return release.attacks_to_run
    return () if about_people and not attacks else read_attacks(attacks)


def read_attacks(attacks: Sequence[str | Mapping[str, Any]]) -> tuple[Attack, ...]:
    """Attacks by name, or as a release file lists them; InputError as there."""
    listed = [{"method": one} if isinstance(one, str) else to_plain(one, ATTACK) for one in attacks]
    return validate_document(AttackList, Document(Path(ATTACK), {"attacks": listed}, {})).attacks


def _create_masked_frame(
    frame: Any,
    masked: Any,
    knows: Sequence[str] | None,
    mechanism: Sequence[Mapping[str, Any]] | None,
    declare: RoleDeclarations | None,
    control: Any,
) -> MaskedFrame:
    if not isinstance(masked, MaskedFrame):
        return adopt(frame, masked, mechanism=mechanism, declare=declare, knows=knows, control=control)
    for name, given in (("mechanism", mechanism), ("declare", declare), ("control", control)):
        if given is not None:
            what, remedy = "This data frame was masked here, and its result has that already.", "give it to `mask` or `adopt`"
            raise InputError("known-mechanism", f"{ATTACK}: {name}", what, f"`{name}` of a data frame from elsewhere", remedy)
    require_source(masked, frame, ATTACK)
    return masked


def _classify_again(found: MaskedFrame, release: ReleaseSpec) -> Schema:
    """The schema, now that it is known who attacks; InputError where the table would have been masked otherwise."""
    schema = classify(found.source, release.classify_plan)
    same = schema.release_columns == found.schema.release_columns
    if not same or resolve_steps(release.steps, schema, "masking") != resolve_steps(release.steps, found.schema, "masking"):
        what = "What this intruder knows makes other columns quasi-identifiers, which the steps mask unless they name columns."
        remedy = "give `knows` to `mask` as well, or name the `attributes` of each step"
        raise InputError("other-roles", f"{ATTACK}: knows", what, "what the table was masked with", remedy)
    return schema


def _run_attacks(
    found: MaskedFrame, release: ReleaseSpec, schema: Schema, attacks: tuple[Attack, ...], *, insiders: bool
) -> Iterator[AttackResult]:
    """Every attack by every intruder, in the order of a release's plan."""
    truth = GroundTruth.create_from_tables(found.original, found.masked, schema, found.alignment)
    share = require_one_share(release.intruder.targets, "`attack`", f"{ATTACK}: targets")
    for who in _list_intruders(found, release, schema, insiders=insiders):
        targets, held = (_draw_records(found, schema, part) for part in (share * who.records, who.records))
        for spec in attacks:
            sample = sample_for_part(spec, truth.units, targets, stream(found.seed, "orbits", found.address))
            yield attack_records(
                truth,
                schema,
                found.mechanisms,
                spec,
                who,
                targets=targets,
                held=held if who.records < 1 else None,
                sample=sample,
            )


def _list_intruders(found: MaskedFrame, release: ReleaseSpec, schema: Schema, *, insiders: bool) -> Iterator[Intruder]:
    released = None if isinstance(found.alignment, NoAlignment) else found.masked.take(found.alignment.order)
    for one in intruders(release.intruder, schema, released):
        if one.name == DECLARED or is_on_knowledge_curve(one.name) or insiders:
            yield one


def _draw_records(found: MaskedFrame, schema: Schema, share: float) -> Any:
    return sample_targets(found.original, schema, share, stream(found.seed, "targets", found.address))
