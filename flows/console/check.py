"""`sdcert check`: what a release file would do, and how its table would be classified."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import flows.environment  # noqa: F401  # a private home and no telemetry, before the libraries are imported
from flows.console.parameters import describe_method
from flows.console.release_warnings import list_release_warnings
from flows.console.terminal import terminal
from flows.console.wide import tell_many_columns
from flows.questions import NOT_LIMITED, OpenQuestion, extract_questions
from tasks.microdata.document import read_document
from tasks.microdata.errors import InputError, NotApplicable
from tasks.microdata.escaping import escape_terminal
from tasks.microdata.schema import Role

if TYPE_CHECKING:
    from flows.release import ReleaseSpec
    from tasks.attack.membership.methods import AnyModelAttack, AnyTableAttack
    from tasks.attack.threat import Intruder
    from tasks.mask.methods import Masking, Mechanism
    from tasks.microdata.schema import Attribute, Schema
    from tasks.microdata.table import Microdata
    from tasks.train.spec import ModelSpec


_DECIDED = {"declared": "declared", "pipeline": "found from the column"}


def print_plan(path: Path) -> int:
    """Say what a release file would do, and how its table would be classified. Reads its tables; masks and writes nothing.

    Raises InputError as `load_release`, and for what a run would refuse when it has read the tables.
    """
    from flows.release import load_draft, locate_error

    console = terminal(soft_wrap=True)

    def say(text: str) -> None:
        console.print(escape_terminal(text))

    _, questions = extract_questions(read_document(path))
    try:
        release = load_draft(path)
        try:
            examined = _examine_tables(release, questions)
        except InputError as error:
            raise locate_error(error, path) from None
    except InputError:
        _say_open(say, path, questions)
        raise

    say(f"Plan of release {release.name} (series {release.series_name}), {examined.rows:,} rows from {examined.source}")
    say("")
    source, *rest = plan(release, examined.intruders)
    for stage, what in (source, *examined.files, *rest, *_insiders(release, examined)):
        say(f"  {stage:<9} {what}")
    say("")
    say("Attributes:")
    for attribute in examined.schema.attributes:
        fate = _fate(attribute, examined, release)
        say(f"  {attribute.name:<20} {attribute.role:<17} {attribute.scale:<9} {fate} ({_DECIDED[attribute.decided_by]})")
    unmasked = [] if release.model is not None else _warn_unmasked_keys(examined)
    for note in (*examined.notes, *unmasked, *list_release_warnings(release, examined.schema, examined.asked)):
        say(f"warning: {note}")
    say("")
    _say_open(say, path, questions)
    say(f"{path}: the release file fits its table; nothing was masked or written")
    return 0


def _say_open(say: Callable[[str], None], path: Path, questions: tuple[OpenQuestion, ...]) -> None:
    """What a person has still to decide, and how."""
    if not questions:
        return
    say("Open questions (nothing is certified before they are answered):")
    for one in questions:
        say(f"  {one.about}: {one.question}")
    say(f"  answer them with `sdcert check --answer {shlex.quote(str(path))}`, or edit the file and delete `decide`")
    say("")


def _fate(attribute: Attribute, examined: _Examination, release: ReleaseSpec) -> str:
    masked = "masked" if attribute.name in examined.masked else "unmasked"
    if not attribute.is_published:
        return "published as a keyed pseudonym" if attribute.name in examined.pseudonymised else "not published"
    if release.model is not None:
        return f"{masked}; not published, a model may be taught by it"
    return "masked" if masked == "masked" else "published unmasked"


@dataclass(frozen=True, slots=True)
class _Examination:
    """What reading the tables of a release file told."""

    source: str
    rows: int
    schema: Schema
    masked: frozenset[str]
    pseudonymised: frozenset[str]
    intruders: tuple[Intruder, ...]
    notes: tuple[str, ...]
    files: tuple[tuple[str, str], ...] = ()
    asked: int | None = None


def _warn_unmasked_keys(examined: _Examination) -> list[str]:
    """A warning for quasi-identifiers that no mask touches."""
    keys = examined.schema.find_by_role(Role.QUASI_IDENTIFIER)
    open_ = [name for name in keys if name not in examined.masked]
    if not open_:
        return []
    listed = ", ".join(open_)
    return [
        f"published as they are although an intruder may know them: {listed}; name them in a mask, or declare what they are"
    ]


def _left(data: Microdata, schema: Schema, control: float | None) -> Microdata:
    """As many rows as are left to be masked where a control is set aside; which ones a run draws."""
    import numpy as np

    from tasks.mask.control import set_aside
    from tasks.microdata.units import units_of

    if control is None:
        return data
    rest, _ = set_aside(units_of(data, schema), control, rng=np.random.default_rng(0))
    return data.take(rest)


def _examine_tables(release: ReleaseSpec, questions: tuple[OpenQuestion, ...]) -> _Examination:
    from flows.limits import refuse_silence
    from flows.release import collect_policy_names
    from tasks.attack.linkage.holding import apply_holdings
    from tasks.attack.omissions import refuse_unknown_intruders
    from tasks.attack.threat import intruders
    from tasks.classify.methods import classify
    from tasks.ingest.methods import ingest_raw_table
    from tasks.ingest.released_table import ingest_released_table
    from tasks.ingest.sources import read
    from tasks.mask.categories.advice import better_matrices
    from tasks.mask.external_release.adoption import adopt
    from tasks.mask.methods import refuse_unfit, resolve_steps
    from tasks.mask.pseudonyms import Pseudonyms
    from tasks.score.local_privacy import refuse_limit_without_pram
    from tasks.score.policy import check_policy

    raw = read(release.source)
    tell_many_columns(raw.table.num_columns)
    found = ingest_raw_table(raw, release.ingest_plan)
    schema = classify(found.data, release.classify_plan)
    known = collect_policy_names(release, schema)
    check_policy(release.policy, known)
    refuse_unknown_intruders(release.omit, known.intruders or ())
    refuse_limit_without_pram(release.policy, schema, release.steps)
    if not any(question.alone and question.place[0] == "policy" for question in questions):  # a line is still to be written
        open_kinds = {str(question.place[1]): question.question for question in questions if question.place[0] == NOT_LIMITED}
        answered = release.not_limited.model_copy(update=open_kinds)
        refuse_silence(release.model_copy(update={NOT_LIMITED: answered}), schema, found.data)
    published, notes = found.data.select(schema.release_columns), found.report.notes
    steps = resolve_steps(release.masking or (), schema, "masking")
    refuse_unfit(_left(found.data, schema, release.control_share), schema, steps)
    notes = (*notes, *better_matrices(found.data, schema, steps))
    mechanisms: tuple[Mechanism, ...] = steps
    if release.adoption_plan is not None:
        given = ingest_released_table(release.adoption_plan.create_reading_plan(schema))
        adopted = adopt(found.data, schema, release.adoption_plan, given.data, given.notes)
        mechanisms, published, notes = adopted.mechanisms, adopted.data, (*notes, *adopted.notes)
    if release.model is not None:
        _refuse_unfit_model(release.model, found.data, schema, steps)
    files, told = _files(release, found.data, schema)
    outside = _people_outside(release, found.data, schema)
    people: list[tuple[str, str]] = []
    if outside is not None and release.control_plan is not None:
        people = [("control", f"{release.control_plan.source.label}: {outside.n:,} rows of people who are not in the source")]
    who: tuple[Intruder, ...] = ()
    if release.model is None:
        who = intruders(release.intruder, schema, None if release.is_fully_synthetic else published)
        apply_holdings(found.data, schema, release.intruder.holds)
    masked = frozenset(name for step in mechanisms for name in step.target_attributes)
    replaced = frozenset(name for step in steps if isinstance(step, Pseudonyms) for name in step.attributes)
    plan_of_files = tuple(("ingest", f"{name}, {what}") for name, what in (*people, *((one.name, what) for one, what in files)))
    who = (*who, *(holder for holder, _ in files))
    asked = _count_membership_targets(release, found.data, schema, outside)
    return _Examination(found.report.source, found.data.n, schema, masked, replaced, who, (*notes, *told), plan_of_files, asked)


def _refuse_unfit_model(spec: ModelSpec, data: Microdata, schema: Schema, steps: tuple[Masking, ...]) -> None:
    """InputError for a model that cannot be trained on the table, or read from its file."""
    from tasks.attack.membership.shadow_training import as_asked
    from tasks.train.examples import coding_of, coding_of_file, refuse_rare_classes
    from tasks.train.model import answers_of, refuse_silent
    from tasks.train.rare import refuse_rare_categories
    from tasks.train.skops_file import classes_of, frame_of, read_model
    from tasks.train.spec import WHERE, file_content

    if spec.learner is not None:
        with suppress(NotApplicable):
            trained_on = as_asked(data, schema, steps)
            refuse_rare_classes(coding_of(spec, schema, trained_on).examples(trained_on), spec)
        return
    model = read_model(file_content(spec), f"{WHERE}.file")
    coding = coding_of_file(spec, schema, frame_of(model), classes_of(model), data)
    examples = coding.examples(data)
    refuse_rare_classes(examples, spec)
    refuse_rare_categories(model, examples.frame)
    refuse_silent(spec, answers_of(model, coding.classes), examples.frame, "the source")


def _people_outside(release: ReleaseSpec, original: Microdata, schema: Schema) -> Microdata | None:
    """People who are not in the source, where the release file names a table of them."""
    from tasks.ingest.external import relocate_errors
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
    from tasks.microdata.units import units_of

    if not release.membership_attacks:
        return None
    units = units_of(original, schema)
    if outside is not None:
        others = units_of(outside, schema).n_units
        return count_targets(units.n_units, others, units.n_units + others)
    share = release.control_share
    others = units.n_units // 2 if share is None else refuse_small_control(units, share)
    return count_targets(units.n_units - others, others, units.n_units)


def _files(release: ReleaseSpec, original: Microdata, schema: Schema) -> tuple[list[tuple[Intruder, str]], tuple[str, ...]]:
    """Who holds an external file of the intruder, and what there is in it; and notes."""
    from tasks.attack.linkage.external import plan_of
    from tasks.attack.linkage.file_alignment import refuse_unfit_file
    from tasks.attack.threat import holders
    from tasks.ingest.external import read_external, read_file

    specs = release.intruder.files
    plans = [plan_of(file, i, original, schema, release.attributes) for i, file in enumerate(specs)]
    found = [read_external(read_file(plan), plan) for plan in plans]
    said: list[tuple[Intruder, str]] = []
    for one, spec, read in zip(
        holders(release.intruder, schema, tuple(read.data.names for read in found)), specs, found, strict=True
    ):
        if one.file is not None:
            matched = refuse_unfit_file(original, schema, read.data, one.file)
            there = f"{matched.n_in_source:,} of {matched.n_persons:,} {matched.counts} are in the source"
            said.append((one, f"{spec.label}: {', '.join(one.knows)}; {there}"))
    return said, tuple(note for read in found for note in read.notes)


def plan(release: ReleaseSpec, intruders: tuple[Intruder, ...]) -> list[tuple[str, str]]:
    """The stages of a release, each with what it will do, one line a part."""
    from tasks.score.kinds import KINDS

    order = "shuffled" if release.keep_row_order is None else f"in the source's order: {release.keep_row_order}"
    expected = f"; {_format_count(len(release.expect), 'expectation')}" if release.expect else ""
    rows = [("ingest", f"{release.source.label}{expected}")]
    declared = f"{_format_count(len(release.attributes), 'attribute')} declared; every other one by its evidence"
    rows.append(("classify", declared if release.attributes else "every attribute by its evidence"))
    if release.control_share is not None:
        rows.append(("control", f"{100 * release.control_share:.3g} % set aside at random, and never released"))
    rows += [("mask", describe_method(step)) for step in release.masking or ()]
    if release.released is not None:
        method = "; ".join(map(describe_method, release.released.mechanism)) or "by a method that is not declared"
        whose = f"aligned by {release.released.align}; masked {method}"
        whose = "fully synthetic: its rows belong to nobody" if release.is_fully_synthetic else whose
        rows.append(("mask", f"taken from {release.released.label}, {whose}"))
    if release.model is not None:
        rows.append(("train", _model_in_words(release.model)))
    if intruders:
        rows.append(("intruder", _describe_declared_intruder(intruders[0], release.intruder.targets)))
    names = _join_intruder_names([intruder.name for intruder in intruders], several=release.intruder.insiders is not None)
    rows += [("attack", f"{describe_method(attack)} by {names}") for attack in release.attacks_to_run]
    asks = "who is in the file" if release.model is None else "who taught the model"
    rows += [("attack", f"{_asking_in_words(attack)} on {asks}") for attack in release.membership_attacks]
    rows += [
        ("attack", f"{omission.attack} is omitted{_format_intruder_suffix(omission.intruder)}: {omission.reason}")
        for omission in release.omit
    ]
    added = "".join(f"; {describe_method(measure)}" for measure in release.measures)
    rows.append(("score", f"the measures that always run{added}"))
    rows += [("policy", _line_in_words(line)) for line in release.policy]
    reasons = ((kind, reason) for kind in KINDS if (reason := release.not_limited.reason(kind)) is not None)
    rows += [("policy", f"{kind} is not limited: {reason}") for kind, reason in reasons]
    released = f"released.{release.publish.format}" if release.model is None else "model.skops"
    shown_rows = f"; rows {order}" if release.model is None else ""
    rows.append(("report", f"{released} and certificate.json (if certified{shown_rows}), report.html, scorecard.json"))
    return rows


def _asking_in_words(attack: AnyModelAttack | AnyTableAttack) -> str:
    """A membership attack; without a number of shadow models where it uses none."""
    from tasks.attack.membership.methods import AnyTableAttack, teaching

    idle = not isinstance(attack, AnyTableAttack) and teaching(attack) is None
    return describe_method(attack, without=("shadows",) if idle else ())


def _model_in_words(spec: ModelSpec) -> str:
    if spec.learner is None:
        return f"nothing: the model in {Path(str(spec.file)).name} is released as it is, which predicts {spec.target}"
    return f"{describe_method(spec.learner)} on the {spec.trained_on} table, to predict {spec.target}"


def _describe_declared_intruder(declared: Intruder, targets: float) -> str:
    """What the declared intruder knows, holds of it and of how many records; insiders hold the original values of as many."""
    from tasks.attack.linkage.holding import describe_holdings

    whose = "all records" if declared.records == 1 else f"{100 * declared.records:.3g} % of the records, drawn at random"
    told = [f"knows {', '.join(declared.knows)} of {whose}"]
    if declared.holds:
        told.append(
            f"holds {describe_holdings(declared.holds)} instead of the original values, in linkage (insiders: the originals)"
        )
    if targets < 1:
        told.append(f"{100 * targets:.3g} % of these records are scored")
    if not declared.participation_known:
        told.append("does not know who is in the release")
    return "; ".join(told)


def _insiders(release: ReleaseSpec, examined: _Examination) -> list[tuple[str, str]]:
    """How many insiders will attack, and which of them are chosen by what others find, where they may know several columns."""
    from tasks.attack.insiders import count_greedy_sets, largest_complete_size
    from tasks.attack.threat import INSIDER_ROLES

    if release.intruder.insiders is None or not examined.intruders:
        return []
    know, columns = release.intruder.insiders_know, examined.schema.find_by_role(*INSIDER_ROLES)
    complete, later = largest_complete_size(know, len(columns)), count_greedy_sets(know, len(columns))
    n = later + sum(one.name.startswith("insider:") for one in examined.intruders)
    told = f"{n} will attack, who know up to {know} of {len(columns)} other published columns: "
    if not later:
        return [("insiders", f"{told}all sets of up to {know}")]
    every = "every single column" if complete == 1 else f"all sets of up to {complete}"
    return [
        ("insiders", f"{told}{every}, then {later} greedy sets, the worst so far and one more column; not proven the worst")
    ]


def _join_intruder_names(intruders: list[str], *, several: bool) -> str:
    """The intruders by name; those of the knowledge curve as one, and so are insiders who know `several` columns."""
    from tasks.attack.insiders import SEPARATOR

    larger = [name for name in intruders if several and name.startswith("insider:") and SEPARATOR in name]
    fewer = sum(name.startswith("knowing:") for name in intruders)
    named = [name for name in intruders if not name.startswith("knowing:") and name not in larger]
    told = [f"{len(larger)} insiders who know several columns"] if larger else []
    told += [f"and by who knows 1 to {fewer} of the declared intruder's attributes"] if fewer else []
    return ", ".join([*named, *told])


def _format_count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _line_in_words(line: Any) -> str:
    given = line.model_dump(mode="json", exclude_none=True)
    limit = f"at most {given.pop('at_most')}" if "at_most" in given else f"at least {given.pop('at_least')}"
    measure = given.pop("measure")
    rest = ", ".join(f"{key} {value}" for key, value in given.items())
    return f"{measure} {limit}{', ' + rest if rest else ''}"


def _format_intruder_suffix(intruder: str | None) -> str:
    return "" if intruder is None else f" for {intruder}"
