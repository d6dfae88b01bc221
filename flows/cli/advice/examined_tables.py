"""What reading the tables of a release file tells `sdcert check`, which refuses what a run would refuse then."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flows.cli.terminal import tell_many_columns
from tasks.microdata.errors import NotApplicable

if TYPE_CHECKING:
    from flows.questions import OpenQuestion
    from flows.release import ReleaseSpec
    from tasks.attack.threat import Intruder
    from tasks.audit.series.past_releases import PastRelease
    from tasks.ingest.table_size import TableSize
    from tasks.mask.methods import Masking, Mechanism
    from tasks.microdata.schema import Schema
    from tasks.microdata.table import Microdata
    from tasks.train.spec import ModelSpec


@dataclass(frozen=True, slots=True)
class Examination:
    """What reading the tables of a release file told. units, counts: how many records, or persons, are masked, and which."""

    source: str
    size: TableSize
    units: int
    counts: str
    schema: Schema
    masked: frozenset[str]
    pseudonymised: frozenset[str]
    intruders: tuple[Intruder, ...]
    notes: tuple[str, ...]
    files: tuple[tuple[str, str], ...] = ()
    asked: int | None = None
    inferred: tuple[int, int] | None = None
    isolated: tuple[int, int] | None = None
    earlier: tuple[PastRelease, ...] = ()


def _set_control_aside(data: Microdata, schema: Schema, control: float | None) -> Microdata:
    """As many rows as are left to be masked where a control is set aside; which ones a run draws."""
    import numpy as np

    from tasks.mask.control import set_aside
    from tasks.microdata.units import find_units

    if control is None:
        return data
    rest, _ = set_aside(find_units(data, schema), control, rng=np.random.default_rng(0))
    return data.take(rest)


def examine_tables(release: ReleaseSpec, questions: tuple[OpenQuestion, ...]) -> Examination:
    """Read the tables and classify the source; InputError as a run raises it when it has read them. Masks nothing."""
    from flows.cli.advice.compared_people import count_inferred_people, count_people_singled_out
    from flows.cli.earlier_text import find_earlier_releases
    from flows.limits import refuse_silence
    from flows.questions import NOT_LIMITED
    from flows.release import collect_policy_names
    from tasks.attack.linkage.holding import apply_holdings
    from tasks.attack.omissions import refuse_unknown_intruders
    from tasks.attack.threat import intruders
    from tasks.classify.methods import classify
    from tasks.ingest.methods import ingest_raw_table
    from tasks.ingest.released_table import ingest_released_table
    from tasks.ingest.sources import read
    from tasks.ingest.table_size import TableSize
    from tasks.mask.categories.matrix_advice import better_matrices
    from tasks.mask.external_release.adoption import adopt
    from tasks.mask.methods import refuse_unfit, resolve_steps
    from tasks.mask.pseudonyms import Pseudonyms
    from tasks.microdata.units import find_units
    from tasks.score.hidden_results import check_hidden_results
    from tasks.score.local_privacy import refuse_limit_without_pram
    from tasks.score.policy import check_policy

    raw = read(release.source, as_numbers=True)
    tell_many_columns(raw.table.num_columns)
    found = ingest_raw_table(raw, release.ingest_plan)
    schema = classify(found.data, release.classify_plan)
    known = collect_policy_names(release, schema)
    check_policy(release.policy, known)
    refuse_unknown_intruders(release.omit, known.intruders or ())
    refuse_limit_without_pram(release.policy, schema, release.steps)
    check_hidden_results(release.measures, found.data, schema)
    if not any(question.alone and question.location[0] == "policy" for question in questions):  # a line is still to be written
        open_kinds = {
            str(question.location[1]): question.question for question in questions if question.location[0] == NOT_LIMITED
        }
        answered = release.not_limited.model_copy(update=open_kinds)
        refuse_silence(release.model_copy(update={NOT_LIMITED: answered}), schema, found.data)
    published, notes = found.data.select(schema.release_columns), found.report.notes
    steps = resolve_steps(release.masking or (), schema, "masking")
    to_be_masked = _set_control_aside(found.data, schema, release.control_share)
    refuse_unfit(to_be_masked, schema, steps)
    notes = (*notes, *better_matrices(found.data, schema, steps))
    mechanisms: tuple[Mechanism, ...] = steps
    if release.adoption_plan is not None:
        given = ingest_released_table(release.adoption_plan.create_reading_plan(schema))
        adopted = adopt(found.data, schema, release.adoption_plan, given.data, given.notes)
        mechanisms, published, notes = adopted.mechanisms, adopted.data, (*notes, *adopted.notes)
    if release.model is not None:
        _refuse_unfit_model(release.model, found.data, schema, steps)
    files, text = _create_file_holders(release, found.data, schema)
    outside = _find_people_outside(release, found.data, schema)
    people: list[tuple[str, str]] = []
    if outside is not None and release.control_plan is not None:
        people = [("control", f"{release.control_plan.source.label}: {outside.n:,} rows of people who are not in the source")]
    who: tuple[Intruder, ...] = ()
    if release.kind.is_table:
        who = intruders(release.intruder, schema, published if release.kind.has_owners else None)
        apply_holdings(found.data, schema, release.intruder.holds)
    masked = frozenset(name for step in mechanisms for name in step.target_attributes)
    replaced = frozenset(name for step in steps if isinstance(step, Pseudonyms) for name in step.attributes)
    plan_of_files = tuple(("ingest", f"{name}, {what}") for name, what in (*people, *((one.name, what) for one, what in files)))
    who = (*who, *(holder for holder, _ in files))
    asked = _count_membership_targets(release, found.data, schema, outside)
    earlier = find_earlier_releases(release, found.data, schema)
    notes = (*notes, *text)
    inferred = count_inferred_people(release, found.data, schema, outside)
    isolated = count_people_singled_out(release, found.data, schema, outside)
    units = find_units(to_be_masked, schema)
    return Examination(
        source=found.report.source,
        size=TableSize(found.data.n, len(found.data.names), raw.as_text),
        units=units.n_units,
        counts=units.counts,
        schema=schema,
        masked=masked,
        pseudonymised=replaced,
        intruders=who,
        notes=notes,
        files=plan_of_files,
        asked=asked,
        inferred=inferred,
        isolated=isolated,
        earlier=earlier,
    )


def _refuse_unfit_model(spec: ModelSpec, data: Microdata, schema: Schema, steps: tuple[Masking, ...]) -> None:
    """InputError for a model that cannot be trained on the table, or read from its file."""
    from tasks.attack.membership.shadow_training import as_asked
    from tasks.train.examples import create_encoder, create_encoder_for_file, refuse_rare_classes
    from tasks.train.rare import refuse_rare_categories
    from tasks.train.skops_file import list_classes, list_feature_names, read_model
    from tasks.train.spec import MODEL_LOCATION, read_model_file
    from tasks.train.training import create_predictor, refuse_silent

    if spec.learner is not None:
        with suppress(NotApplicable):
            trained_on = as_asked(data, schema, steps)
            refuse_rare_classes(create_encoder(spec, schema, trained_on).examples(trained_on), spec)
        return
    model = read_model(read_model_file(spec), f"{MODEL_LOCATION}.file")
    coding = create_encoder_for_file(spec, schema, list_feature_names(model), list_classes(model), data)
    examples = coding.examples(data)
    refuse_rare_classes(examples, spec)
    refuse_rare_categories(model, examples.frame)
    refuse_silent(spec, create_predictor(model, coding.classes), examples.frame, "the source")


def _find_people_outside(release: ReleaseSpec, original: Microdata, schema: Schema) -> Microdata | None:
    """People who are not in the source, where the release file names a table of them."""
    from tasks.ingest.external_table import relocate_errors
    from tasks.ingest.methods import ingest
    from tasks.mask.control import harmonise_control

    plan = release.control_plan
    if plan is None:
        return None
    with relocate_errors("control"):
        read = ingest(plan)
    return harmonise_control(original, read.data, schema, release.key)


def _count_membership_targets(
    release: ReleaseSpec, original: Microdata, schema: Schema, outside: Microdata | None
) -> int | None:
    """How many members, and as many others, attacks on membership ask about; None: there are no such attacks."""
    from tasks.attack.membership.frame import count_targets
    from tasks.mask.control import refuse_small_control
    from tasks.microdata.units import find_units

    if not release.membership_attacks:
        return None
    units = find_units(original, schema)
    if outside is not None:
        others = find_units(outside, schema).n_units
        return count_targets(units.n_units, others, units.n_units + others)
    share = release.control_share
    others = units.n_units // 2 if share is None else refuse_small_control(units, share)
    return count_targets(units.n_units - others, others, units.n_units)


def _create_file_holders(
    release: ReleaseSpec, original: Microdata, schema: Schema
) -> tuple[list[tuple[Intruder, str]], tuple[str, ...]]:
    """Somebody who has an external file of the intruder, and what there is in it; and notes."""
    from tasks.attack.file_holders import hold_files
    from tasks.attack.linkage.external_files import plan_file
    from tasks.ingest.external_table import read_external, read_external_table

    specs = release.intruder.files
    plans = [plan_file(file, i, original, schema, release.attributes) for i, file in enumerate(specs)]
    found = [read_external(read_external_table(plan), plan) for plan in plans]
    lines: list[tuple[Intruder, str]] = []
    labels = (*(spec.label for spec in specs), *(" + ".join(one.files) for one in release.intruder.combine))
    held = hold_files(release.intruder, original, schema, tuple(read.data for read in found))
    for label, one in zip(labels, held, strict=True):
        there = f"{one.match.n_in_source:,} of {one.match.n_persons:,} {one.match.counts} are in the source"
        lines.append((one.holder, f"{label}: {', '.join(one.holder.knows)}; {there}"))
    return lines, tuple(note for read in found for note in read.notes)
