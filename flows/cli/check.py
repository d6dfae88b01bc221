"""`sdcert check`: what a release file would do; `--upgrade` and `--answer` write into the file."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.json_output import JsonOption, write_json
from flows.cli.root import ReleaseFileArgument, app
from flows.cli.terminal import terminal
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal

if TYPE_CHECKING:
    from flows.cli.advice.examined_tables import Examination
    from flows.questions import OpenQuestion
    from flows.release import ReleaseSpec
    from tasks.microdata.schema import Attribute

_DECIDED = {"declared": "declared", "pipeline": "found from the column"}


@app.command()
def check(
    release: ReleaseFileArgument,
    answer: Annotated[
        bool,
        typer.Option("--answer", help="first ask the open questions of the file one by one, and write the answers into it"),
    ] = False,
    upgrade: Annotated[
        bool,
        typer.Option(
            "--upgrade",
            help="write the lines that the policy lacks into the file, as open questions, which --answer then asks",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """What a release file would do, and what is still to be decided. Reads the table, and masks nothing."""
    import flows.environment  # noqa: F401  # a private home and no telemetry, before the libraries are imported

    if as_json and (answer or upgrade):
        what, remedy = "Questions are asked in words, not as JSON.", "answer them first, then run `sdcert check --json`"
        raise InputError("json-and-questions", "sdcert check --json", what, "without --answer and --upgrade", remedy)
    if upgrade:
        from flows.cli.draft.upgrade import upgrade as upgrade_file

        upgrade_file(release)
        if not answer:
            return 0

    if answer:
        from flows.cli.draft.answer import answer_questions

        answer_questions(release)

    return print_plan(release, as_json=as_json)


def print_plan(path: Path, *, as_json: bool = False) -> int:
    """Say what a release file would do, and how its table would be classified. Reads its tables; masks and writes nothing.

    Raises InputError as `load_release`, and for what a run would refuse when it has read the tables.
    """
    import flows.environment  # noqa: F401  # a private home and no telemetry, before the libraries are imported
    from flows.cli.earlier_text import count_earlier_attacks, describe_earlier_releases, warn_of_denial
    from flows.cli.plan_text import describe_looks, describe_plan

    # isort: split
    from flows.cli.advice.compared_people import describe_decidable_limits
    from flows.cli.advice.cost_text import describe_cost, describe_cost_fields, list_cost_warnings
    from flows.cli.advice.examined_tables import examine_tables
    from flows.cli.advice.release_warnings import list_release_warnings
    from flows.cost.run_cost import estimate_run
    from flows.questions import extract_questions
    from flows.release_file import load_draft, locate_error
    from tasks.microdata.document import read_document

    console = terminal(soft_wrap=True)

    def say(text: str) -> None:
        console.print(escape_terminal(text))

    _, questions = extract_questions(read_document(path))
    try:
        release = load_draft(path)
        try:
            examined = examine_tables(release, questions)
        except InputError as error:
            raise locate_error(error, path) from None
    except InputError:
        if not as_json:
            _say_open(say, path, questions)
        raise

    later = _list_later_insiders(release, examined)
    knows = (*(len(intruder.knows) for intruder in examined.intruders), *later)
    joined = count_earlier_attacks(release, examined.earlier, examined.intruders, len(later))
    cost = estimate_run(release, examined.size, knows, joined, examined.units)
    source, *rest = describe_plan(release, examined.intruders)
    plan = (
        source,
        *examined.files,
        *rest,
        *_describe_insiders(release, examined),
        *describe_looks(release.intruder.targets, release.intruder.records, examined.units, examined.counts),
        *describe_decidable_limits(examined.inferred, examined.isolated),
        *describe_earlier_releases(release, examined.earlier),
        *describe_cost(cost, counts=examined.counts),
    )
    fates = {one.name: _describe_treatment(one, examined, release) for one in examined.schema.attributes}
    warnings = (
        *examined.notes,
        *(_warn_unmasked_keys(examined) if release.kind.is_table else ()),
        *warn_of_denial(release, examined.earlier),
        *list_release_warnings(release, examined.schema, examined.asked, examined.inferred, examined.isolated, examined.units),
        *list_cost_warnings(release, cost),
    )
    if as_json:
        shown = [
            {"name": one.name, "role": one.role, "scale": one.scale, "treatment": fates[one.name], "decided_by": one.decided_by}
            for one in examined.schema.attributes
        ]
        write_json(
            {
                "release": release.name,
                "series": release.series_name,
                "rows": examined.size.rows,
                "plan": [{"stage": stage, "what": what} for stage, what in plan],
                "cost": describe_cost_fields(cost),
                "attributes": shown,
                "warnings": list(warnings),
                "open_questions": [{"about": one.about, "question": one.question} for one in questions],
            }
        )
        return 0
    say(f"Plan of release {release.name} (series {release.series_name}), {examined.size.rows:,} rows from {examined.source}")
    say("")
    for stage, what in plan:
        say(f"  {stage:<9} {what}")
    say("")
    say("Attributes:")
    for attribute in examined.schema.attributes:
        fate = f"{fates[attribute.name]} ({_DECIDED[attribute.decided_by]})"
        say(f"  {attribute.name:<20} {attribute.role:<17} {attribute.scale:<9} {fate}")
    for note in warnings:
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


def _describe_treatment(attribute: Attribute, examined: Examination, release: ReleaseSpec) -> str:
    masked = "masked" if attribute.name in examined.masked else "unmasked"
    if not attribute.is_published:
        return "published as a keyed pseudonym" if attribute.name in examined.pseudonymised else "not published"
    if not release.kind.is_table:
        return f"{masked}; not published, a model may be taught by it"
    return "masked" if masked == "masked" else "published unmasked"


def _warn_unmasked_keys(examined: Examination) -> list[str]:
    """A warning for quasi-identifiers that no mask touches."""
    from tasks.microdata.schema import Role

    keys = examined.schema.find_by_role(Role.QUASI_IDENTIFIER)
    open_ = [name for name in keys if name not in examined.masked]
    if not open_:
        return []
    listed = ", ".join(open_)
    return [
        f"published as they are although an intruder may know them: {listed}; name them in a mask, or declare what they are"
    ]


def _list_later_insiders(release: ReleaseSpec, examined: Examination) -> tuple[int, ...]:
    """How many attributes each insider knows who is chosen by what others find."""
    from tasks.attack.insiders import list_greedy_sizes
    from tasks.attack.threat import INSIDER_ROLES
    from tasks.microdata.schema import Role

    if release.intruder.insiders is None or not examined.intruders:
        return ()
    keys, columns = (len(examined.schema.find_by_role(*roles)) for roles in ((Role.QUASI_IDENTIFIER,), INSIDER_ROLES))
    return tuple(keys + size for size in list_greedy_sizes(release.intruder.insiders_know, columns))


def _describe_insiders(release: ReleaseSpec, examined: Examination) -> list[tuple[str, str]]:
    """How many insiders will attack, and which of them are chosen by what others find, where they may know several columns."""
    from tasks.attack.insiders import largest_complete_size
    from tasks.attack.threat import INSIDER_ROLES

    if release.intruder.insiders is None or not examined.intruders:
        return []
    know, columns = release.intruder.insiders_know, examined.schema.find_by_role(*INSIDER_ROLES)
    complete, later = largest_complete_size(know, len(columns)), len(_list_later_insiders(release, examined))
    n = later + sum(one.name.startswith("insider:") for one in examined.intruders)
    text = f"{n} will attack, who know up to {know} of {len(columns)} other published columns: "
    if not later:
        return [("insiders", f"{text}all sets of up to {know}")]
    every = "every single column" if complete == 1 else f"all sets of up to {complete}"
    return [
        ("insiders", f"{text}{every}, then {later} greedy sets, the worst so far and one more column; not proven the worst")
    ]
