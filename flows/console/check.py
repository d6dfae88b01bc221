"""`sdcert check`: what a release file would do, and how its table would be classified."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

import flows.environment  # noqa: F401  # a private home and no telemetry, before the libraries are imported
from flows.console.inert import shown
from flows.console.parameters import with_parameters
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Role

if TYPE_CHECKING:
    from flows.release import ReleaseSpec
    from tasks.mask.methods import Mechanism
    from tasks.microdata.schema import Schema
    from tasks.microdata.table import Microdata


_DECIDED = {"declared": "declared", "pipeline": "found from the column"}


def print_plan(path: Path) -> int:
    """Say what a release file would do, and how its table would be classified. Reads its tables; masks and writes nothing."""
    from flows.release import load_release, located

    release = load_release(path)
    try:
        examined = _examined(release)
    except InputError as error:
        raise located(error, path) from None
    console = Console(soft_wrap=True)

    def say(text: str) -> None:
        console.print(shown(text), highlight=False, markup=False)

    say(f"Plan of release {release.name} (series {release.lineage}), {examined.rows:,} rows from {examined.source}")
    say("")
    source, *rest = plan(release, examined.intruders)
    for stage, what in (source, *examined.files, *rest):
        say(f"  {stage:<9} {what}")
    say("")
    say("Attributes:")
    for attribute in examined.schema.attributes:
        masked = attribute.name in examined.masked
        hidden = "published as a keyed pseudonym" if attribute.name in examined.pseudonymised else "not published"
        fate = hidden if not attribute.published else "masked" if masked else "published unmasked"
        say(f"  {attribute.name:<20} {attribute.role:<17} {attribute.scale:<9} {fate} ({_DECIDED[attribute.decided_by]})")
    for note in (*examined.notes, *_unmasked_keys(examined)):
        say(f"warning: {note}")
    say("")
    say(f"{path}: the release file fits its table; nothing was masked or written")
    return 0


@dataclass(frozen=True, slots=True)
class _Examined:
    """What reading the tables of a release file told."""

    source: str
    rows: int
    schema: Schema
    masked: frozenset[str]
    pseudonymised: frozenset[str]
    intruders: list[str]
    notes: tuple[str, ...]
    files: tuple[tuple[str, str], ...] = ()


def _unmasked_keys(examined: _Examined) -> list[str]:
    """A warning for quasi-identifiers that no mask touches."""
    keys = examined.schema.with_role(Role.QUASI_IDENTIFIER)
    open_ = [name for name in keys if name not in examined.masked]
    if not open_:
        return []
    listed = ", ".join(open_)
    return [
        f"published as they are although an intruder may know them: {listed}; name them in a mask, or declare what they are"
    ]


def _examined(release: ReleaseSpec) -> _Examined:
    from flows.release import known_of
    from tasks.attack.threat import intruders
    from tasks.classify.methods import classify
    from tasks.ingest.methods import ingest
    from tasks.mask.categories.advice import better_matrices
    from tasks.mask.elsewhere.adoption import adopt
    from tasks.mask.methods import refuse_unfit, resolved_steps
    from tasks.mask.pseudonyms import Pseudonyms
    from tasks.score.policy import check_policy

    found = ingest(release.ingest_plan)
    schema = classify(found.data, release.classify_plan)
    check_policy(release.policy, known_of(release, schema))
    published, notes = found.data.select(schema.published), found.report.notes
    steps = resolved_steps(release.masking or (), schema, "masking")
    refuse_unfit(found.data, schema, steps)
    notes = (*notes, *better_matrices(found.data, schema, steps))
    mechanisms: tuple[Mechanism, ...] = steps
    if release.adoption_plan is not None:
        adopted = adopt(found.data, schema, release.adoption_plan)
        mechanisms, published, notes = adopted.mechanisms, adopted.data, (*notes, *adopted.notes)
    files, told = _files(release, found.data, schema)
    names = [*(intruder.name for intruder in intruders(release.intruder, schema, published)), *files]
    masked = frozenset(name for step in mechanisms for name in step.masked)
    replaced = frozenset(name for step in steps if isinstance(step, Pseudonyms) for name in step.attributes)
    plan_of_files = tuple(("ingest", f"{name}, {what}") for name, what in files.items())
    return _Examined(found.report.source, found.data.n, schema, masked, replaced, names, (*notes, *told), plan_of_files)


def _files(release: ReleaseSpec, original: Microdata, schema: Schema) -> tuple[dict[str, str], tuple[str, ...]]:
    """What there is in each external file of the intruder, by who holds it; and notes."""
    from tasks.attack.linkage.external import plan_of
    from tasks.attack.linkage.whose import refuse_unfit_file
    from tasks.attack.threat import holders
    from tasks.ingest.external import read_external, read_file

    specs = release.intruder.files
    plans = [plan_of(file, i, original, schema, release.attributes) for i, file in enumerate(specs)]
    found = [read_external(read_file(plan), plan) for plan in plans]
    said: dict[str, str] = {}
    for one, spec, read in zip(
        holders(release.intruder, schema, tuple(read.data.names for read in found)), specs, found, strict=True
    ):
        if one.file is not None:
            matched = refuse_unfit_file(original, schema, read.data, one.file)
            there = f"{matched.n_in_source:,} of {matched.n_persons:,} {matched.counts} are in the source"
            said[one.name] = f"{spec.label}: {', '.join(one.knows)}; {there}"
    return said, tuple(note for read in found for note in read.notes)


def plan(release: Any, intruders: list[str]) -> list[tuple[str, str]]:
    """The stages of a release, each with what it will do, one line a part."""
    order = "shuffled" if release.keep_row_order is None else f"in the source's order: {release.keep_row_order}"
    rows = [("ingest", f"{release.source.label}; {_counted(len(release.expect), 'expectation')}")]
    rows.append(("classify", f"{_counted(len(release.attributes), 'attribute')} declared; every other one by its evidence"))
    rows += [("mask", with_parameters(step)) for step in release.masking or ()]
    if release.released is not None:
        declared = "; ".join(map(with_parameters, release.released.mechanism)) or "by a method that is not declared"
        rows.append(("mask", f"taken from {release.released.label}, aligned by {release.released.align}; masked {declared}"))
    rows += [("attack", f"{with_parameters(attack)} by {_listed(intruders)}") for attack in release.attacks_to_run]
    rows += [("attack", f"{omission.attack} is omitted: {omission.reason}") for omission in release.omit]
    added = "".join(f"; {with_parameters(measure)}" for measure in release.measures)
    rows.append(("score", f"the measures that always run{added}"))
    rows += [("policy", _line_in_words(line)) for line in release.policy]
    rows.append(
        (
            "report",
            f"released.{release.publish.format} and certificate.json (if certified; rows {order}), report.html, scorecard.json",
        )
    )
    return rows


def _listed(intruders: list[str]) -> str:
    """The intruders by name, those of the knowledge curve as one."""
    named = [name for name in intruders if not name.startswith("knowing:")]
    fewer = len(intruders) - len(named)
    return ", ".join([*named, *([f"and by who knows 1 to {fewer} of the declared intruder's attributes"] if fewer else [])])


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _line_in_words(line: Any) -> str:
    given = line.model_dump(mode="json", exclude_none=True)
    limit = f"at most {given.pop('at_most')}" if "at_most" in given else f"at least {given.pop('at_least')}"
    measure = given.pop("measure")
    rest = ", ".join(f"{key} {value}" for key, value in given.items())
    return f"{measure} {limit}{', ' + rest if rest else ''}"
