"""The cached task of the stage: everything a release is described by in, two pages and the public content out.

What changes with every run (its id, the time, the count of attempts) is not in them: the flow stamps it on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from tasks.attack.inference.outcomes import InferenceOutputs, InferenceResult
from tasks.attack.membership.methods import MembershipResult
from tasks.attack.outcomes.outcome import AttackResult
from tasks.attack.outputs import AttackOutputs, MembershipOutputs, PeopleOutputs
from tasks.attack.singling_out.outcomes import SinglingOutOutputs, SinglingOutResult
from tasks.attack.threat import is_on_knowledge_curve
from tasks.ingest.methods import IngestReport
from tasks.mask.categories.original_shares import estimate_shares
from tasks.mask.categories.promise import compute_record_epsilon, randomisations
from tasks.mask.outputs import Mechanisms
from tasks.microdata.alignment import RowAlignment, read_alignment
from tasks.microdata.refs import RecordRef, TableRef
from tasks.microdata.schema import Schema
from tasks.microdata.table import Microdata
from tasks.microdata.units import find_units
from tasks.report.charts.data import ChartData, chart_data, create_chart_rule
from tasks.report.charts.editions import Edition
from tasks.report.charts.roc_chart import RocChart, create_roc_chart
from tasks.report.content import Content, public_edition
from tasks.report.outputs import ReportOutputs
from tasks.report.page import render_report
from tasks.report.plan import ReportPlan
from tasks.report.publication import refuse_formulas
from tasks.runtime.artifacts import Store
from tasks.runtime.stages import stage
from tasks.score.policy import DECLARED
from tasks.score.release_figures import Score
from tasks.train.card import ModelCard

NOT_PUBLISHED = ("omit", "control_table")  # as they stand in the release file
ROOMS = ("report", "score", "attack", "train", "mask", "classify", "ingest")


@stage("report", rooms=ROOMS)
def write_report(
    plan: RecordRef[ReportPlan],
    data: TableRef,
    validation: RecordRef[IngestReport],
    schema: RecordRef[Schema],
    masked: TableRef,
    released: TableRef,
    alignment: TableRef,
    mechanisms: RecordRef[Mechanisms],
    results: list[AttackOutputs],
    score: RecordRef[Score],
    members: list[MembershipOutputs],
    people: PeopleOutputs | None,
    control: TableRef | None,
    inferred: list[InferenceOutputs] | None = None,
    isolated: list[SinglingOutOutputs] | None = None,
) -> ReportOutputs:
    """Write both editions.

    members: what the membership attacks said of the people. inferred: what inference attacks found. isolated: whom predicates
    single out.
    """
    store = Store()
    wanted = store.record(plan, ReportPlan)
    measured = store.record(score, Score)
    source, attributes = store.table(data), store.record(schema, Schema)
    table = store.table(released)
    refuse_formulas(table, wanted.publish)
    steps = store.record(mechanisms, Mechanisms)
    full = replace(
        _create_content(store, wanted, measured, source, validation, attributes, steps, members, control, rows_out=table.n),
        omitted=wanted.omit,
        attacks=tuple(store.record(produced["result"], AttackResult) for produced in results),
        inference=tuple(store.record(produced["result"], InferenceResult) for produced in inferred or ()),
        singling_out=tuple(store.record(one["result"], SinglingOutResult).describe_alone() for one in isolated or ()),
        randomised=randomisations(source, attributes, steps),
        epsilon_of_a_record=compute_record_epsilon(source, attributes, steps),
        estimated_shares=tuple(estimate_shares(table, source, attributes, steps)),
    )
    rows = read_alignment(store.table(alignment), source.n)
    drawn = partial(_create_charts, store, full, source, store.table(masked), rows, results)
    curves = partial(_create_roc_curves, store, full, source, members, people)
    return _write_report(store, full, lambda edition: replace(drawn(edition), membership=curves(edition)))


@stage("report model", rooms=ROOMS)
def write_model_report(
    plan: RecordRef[ReportPlan],
    data: TableRef,
    validation: RecordRef[IngestReport],
    schema: RecordRef[Schema],
    mechanisms: RecordRef[Mechanisms],
    card: RecordRef[ModelCard],
    score: RecordRef[Score],
    members: list[MembershipOutputs],
    people: PeopleOutputs,
    control: TableRef | None,
    inferred: list[InferenceOutputs],
) -> ReportOutputs:
    """Write both editions of the report on a model."""
    store = Store()
    wanted = store.record(plan, ReportPlan)
    measured, model = store.record(score, Score), store.record(card, ModelCard)
    source, attributes = store.table(data), store.record(schema, Schema)
    steps = store.record(mechanisms, Mechanisms)
    described = _create_content(
        store, wanted, measured, source, validation, attributes, steps, members, control, rows_out=model.rows
    )
    told = tuple(store.record(produced["result"], InferenceResult) for produced in inferred)
    full = replace(described, model=model, inference=told)
    curves = partial(_create_roc_curves, store, full, source, members, people)
    return _write_report(store, full, lambda edition: ChartData(edition=edition, membership=curves(edition)))


def _create_content(
    store: Store,
    plan: ReportPlan,
    measured: Score,
    source: Microdata,
    validation: RecordRef[IngestReport],
    schema: Schema,
    steps: Mechanisms,
    members: list[MembershipOutputs],
    control: TableRef | None,
    *,
    rows_out: int,
) -> Content:
    """What there is to say of a release, be it a table or a model."""
    units = find_units(source, schema)
    outside = None if control is None else store.table(control).n
    return Content(
        **{name: getattr(plan, name) for name in ReportPlan.model_fields if name not in NOT_PUBLISHED},
        ingest=store.record(validation, IngestReport),
        schema=schema,
        mechanisms=steps,
        attacks=(),
        estimates=measured.estimates,
        verdict=measured.verdict,
        look=measured.look,
        membership=tuple(store.record(produced["result"], MembershipResult) for produced in members),
        control=None if plan.control_table else outside,
        outside=outside if plan.control_table else None,
        rows_in=source.n,
        rows_out=rows_out,
        persons=units.n_units if units.counts == "persons" else None,
    )


def _write_report(store: Store, full: Content, drawn: Callable[[Edition], ChartData]) -> ReportOutputs:
    content = public_edition(full, drawn("public"))
    internal = replace(full, charts=drawn("internal"))
    page, private = store.put_page(render_report(content)), store.put_page(render_report(internal))
    return {"page": page, "internal": private, "content": store.put_record(content)}


def _create_charts(
    store: Store,
    content: Content,
    source: Microdata,
    masked: Microdata,
    rows: RowAlignment,
    results: list[AttackOutputs],
    edition: Edition,
) -> ChartData:
    ran = [(produced, result) for produced, result in zip(results, content.attacks, strict=True) if result.status == "ok"]
    outcomes = {one.attack: store.table(produced["outcomes"]) for produced, one in ran if one.intruder == DECLARED}
    others: dict[str, dict[str, Microdata]] = {}
    for produced, one in ran:
        if edition == "internal" and one.intruder != DECLARED and not is_on_knowledge_curve(one.intruder):
            others.setdefault(one.attack, {})[one.intruder] = store.table(produced["outcomes"])
    return chart_data(source, masked, rows, content.schema, frozenset(content.masking_targets), outcomes, edition, others)


def _create_roc_curves(
    store: Store,
    content: Content,
    source: Microdata,
    members: list[MembershipOutputs],
    people: PeopleOutputs | None,
    edition: Edition,
) -> tuple[RocChart, ...]:
    """The curve of each membership attack that ran: its scores of those who were asked about, and who of them is a member."""
    asked = [(result.attack, one) for result, one in zip(content.membership, members, strict=True) if "scores" in one]
    if not asked or people is None:
        return ()
    frame = store.table(people["frame"])
    member, target = (frame.floats(name) == 1 for name in ("member", "target"))
    rule = create_chart_rule(source, content.schema, edition)
    return tuple(
        create_roc_chart(attack, store.table(one["scores"]).floats("score"), member[target], rule) for attack, one in asked
    )
