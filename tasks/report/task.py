"""The cached task of the stage: everything a release is described by in, two pages and the public content out.

What changes with every run (its id, the time, the count of attempts) is not in them: the flow stamps it on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from tasks.attack.membership.methods import MembershipResult
from tasks.attack.outcomes.outcome import AttackResult
from tasks.ingest.methods import IngestReport
from tasks.mask.categories.marginals import estimate_shares
from tasks.mask.categories.promise import epsilon_of_a_record, randomisations
from tasks.mask.methods import Mechanism
from tasks.microdata.alignment import RowAlignment, read_alignment
from tasks.microdata.schema import Schema
from tasks.microdata.table import Microdata
from tasks.microdata.units import units_of
from tasks.report.charts.data import ChartData, chart_data, drawn_by
from tasks.report.charts.editions import Edition
from tasks.report.charts.membership import Membership, membership
from tasks.report.content import Content, public_edition
from tasks.report.page import render
from tasks.report.plan import ReportPlan
from tasks.report.publication import refuse_formulas
from tasks.runtime.artifacts import Ref, Store
from tasks.runtime.caching import stage
from tasks.runtime.records import Produced
from tasks.score.estimates import Score
from tasks.score.policy import DECLARED
from tasks.train.card import ModelCard

NOT_TOLD = ("omit", "control_table")  # as they stand in the release file
ROOMS = ("report", "score", "attack", "train", "mask", "classify", "ingest")


@stage("report", rooms=ROOMS)
def write_report(
    plan: str,
    data: str,
    validation: str,
    schema: str,
    masked: str,
    released: str,
    alignment: str,
    mechanisms: str,
    results: list[Produced],
    score: str,
    members: list[Produced],
    people: Produced,
    control: str,
) -> Produced:
    """Write both editions. members: what the membership attacks said of the people.

    Returns `page` and `content` (public), and `internal`, the page that must stay private.
    """
    store = Store()
    wanted = store.record(Ref(plan), ReportPlan)
    measured = store.record(Ref(score), Score)
    source, attributes = store.table(Ref(data)), store.record(Ref(schema), Schema)
    table = store.table(Ref(released))
    refuse_formulas(table, wanted.publish)
    steps = store.record(Ref(mechanisms), tuple[Mechanism, ...])
    full = replace(
        _described(store, wanted, measured, source, validation, attributes, steps, members, control, rows_out=table.n),
        omitted=wanted.omit,
        attacks=tuple(store.record(Ref(produced["result"]), AttackResult) for produced in results),
        randomised=randomisations(source, attributes, steps),
        epsilon_of_a_record=epsilon_of_a_record(source, attributes, steps),
        estimated_shares=tuple(estimate_shares(table, source, attributes, steps)),
    )
    rows = read_alignment(store.table(Ref(alignment)), source.n)
    drawn = partial(_charts, store, full, source, store.table(Ref(masked)), rows, results)
    curves = partial(_curves, store, full, source, members, people)
    return _written(store, full, lambda edition: replace(drawn(edition), membership=curves(edition)))


@stage("report model", rooms=ROOMS)
def write_model_report(
    plan: str,
    data: str,
    validation: str,
    schema: str,
    mechanisms: str,
    card: str,
    score: str,
    members: list[Produced],
    people: Produced,
    control: str,
) -> Produced:
    """Write both editions of the report on a model. Returns as `write_report`."""
    store = Store()
    wanted = store.record(Ref(plan), ReportPlan)
    measured, model = store.record(Ref(score), Score), store.record(Ref(card), ModelCard)
    source, attributes = store.table(Ref(data)), store.record(Ref(schema), Schema)
    steps = store.record(Ref(mechanisms), tuple[Mechanism, ...])
    described = _described(
        store, wanted, measured, source, validation, attributes, steps, members, control, rows_out=model.rows
    )
    full = replace(described, model=model)
    curves = partial(_curves, store, full, source, members, people)
    return _written(store, full, lambda edition: ChartData(edition=edition, membership=curves(edition)))


def _described(
    store: Store,
    plan: ReportPlan,
    measured: Score,
    source: Microdata,
    validation: str,
    schema: Schema,
    steps: tuple[Mechanism, ...],
    members: list[Produced],
    control: str,
    *,
    rows_out: int,
) -> Content:
    """What there is to say of a release, be it a table or a model."""
    units = units_of(source, schema)
    outside = store.table(Ref(control)).n if control else None
    return Content(
        **{name: getattr(plan, name) for name in ReportPlan.model_fields if name not in NOT_TOLD},
        ingest=store.record(Ref(validation), IngestReport),
        schema=schema,
        mechanisms=steps,
        attacks=(),
        estimates=measured.estimates,
        verdict=measured.verdict,
        membership=tuple(store.record(Ref(produced["result"]), MembershipResult) for produced in members),
        control=None if plan.control_table else outside,
        outside=outside if plan.control_table else None,
        rows_in=source.n,
        rows_out=rows_out,
        persons=units.n_units if units.counts == "persons" else None,
    )


def _written(store: Store, full: Content, drawn: Callable[[Edition], ChartData]) -> Produced:
    content = public_edition(full, drawn("public"))
    internal = replace(full, charts=drawn("internal"))
    pages = {"page": store.put_page(render(content)), "internal": store.put_page(render(internal))}
    return {**pages, "content": store.put_record(content)}


def _charts(
    store: Store,
    content: Content,
    source: Microdata,
    masked: Microdata,
    rows: RowAlignment,
    results: list[Produced],
    edition: Edition,
) -> ChartData:
    ran = [(produced, result) for produced, result in zip(results, content.attacks, strict=True) if result.status == "ok"]
    outcomes = {one.attack: store.table(Ref(produced["outcomes"])) for produced, one in ran if one.intruder == DECLARED}
    return chart_data(source, masked, rows, content.schema, frozenset(content.masked), outcomes, edition)


def _curves(
    store: Store, content: Content, source: Microdata, members: list[Produced], people: Produced, edition: Edition
) -> tuple[Membership, ...]:
    """The curve of each membership attack that ran: its scores of those who were asked about, and who of them is a member."""
    asked = [(result.attack, one) for result, one in zip(content.membership, members, strict=True) if "scores" in one]
    if not asked:
        return ()
    frame = store.table(Ref(people["frame"]))
    member, target = (frame.floats(name) == 1 for name in ("member", "target"))
    rule = drawn_by(source, content.schema, edition)
    return tuple(
        membership(attack, store.table(Ref(one["scores"])).floats("score"), member[target], rule) for attack, one in asked
    )
