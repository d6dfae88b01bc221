"""The cached task of the stage: everything a release is described by in, two pages and the public content out.

What changes with every run (its id, the time, the count of attempts) is not in them: the flow stamps it on.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tasks.attack.outcomes.outcome import AttackResult
from tasks.ingest.methods import IngestReport
from tasks.mask.categories.marginals import estimated_shares
from tasks.mask.categories.promise import epsilon_of_a_record, randomisations
from tasks.mask.methods import Mechanism
from tasks.microdata.alignment import Alignment
from tasks.microdata.schema import Schema
from tasks.microdata.table import Microdata
from tasks.microdata.units import units_of
from tasks.report.charts.data import ChartData, chart_data
from tasks.report.charts.editions import Edition
from tasks.report.content import Content, public_edition
from tasks.report.page import render
from tasks.report.plan import ReportPlan
from tasks.report.publication import refuse_formulas
from tasks.runtime.artifacts import Ref, Store
from tasks.runtime.caching import Produced, stage
from tasks.score.estimates import Score
from tasks.score.policy import DECLARED


@stage("report", rooms=("report", "score", "attack", "mask", "classify", "ingest"))
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
) -> Produced:
    """Write both editions. Returns `page` and `content` (public), and `internal`, the page that must stay private."""
    store = Store()
    wanted = store.record(Ref(plan), ReportPlan)
    measured = store.record(Ref(score), Score)
    source, attributes = store.table(Ref(data)), store.record(Ref(schema), Schema)
    units, table = units_of(source, attributes), store.table(Ref(released))
    refuse_formulas(table, wanted.publish)
    steps = store.record(Ref(mechanisms), tuple[Mechanism, ...])
    full = Content(
        **{name: getattr(wanted, name) for name in ReportPlan.model_fields if name != "omit"},
        omitted=wanted.omit,
        ingest=store.record(Ref(validation), IngestReport),
        schema=attributes,
        mechanisms=steps,
        attacks=tuple(store.record(Ref(produced["result"]), AttackResult) for produced in results),
        estimates=measured.estimates,
        verdict=measured.verdict,
        rows_in=source.n,
        rows_out=table.n,
        randomised=randomisations(source, attributes, steps),
        epsilon_of_a_record=epsilon_of_a_record(source, attributes, steps),
        estimated_shares=tuple(estimated_shares(table, source, attributes, steps)),
        persons=units.n_units if units.counts == "persons" else None,
    )
    rows = Alignment.of_table(store.table(Ref(alignment)), source.n)
    drawn = partial(_charts, store, full, source, store.table(Ref(masked)), rows, results)
    content = public_edition(full, drawn("public"))
    internal = replace(full, charts=drawn("internal"))
    pages = {"page": store.put_page(render(content)), "internal": store.put_page(render(internal))}
    return {**pages, "content": store.put_record(content)}


def _charts(
    store: Store,
    content: Content,
    source: Microdata,
    masked: Microdata,
    rows: Alignment,
    results: list[Produced],
    edition: Edition,
) -> ChartData:
    ran = [(produced, result) for produced, result in zip(results, content.attacks, strict=True) if "outcomes" in produced]
    outcomes = {one.attack: store.table(Ref(produced["outcomes"])) for produced, one in ran if one.intruder == DECLARED}
    return chart_data(source, masked, rows, content.schema, frozenset(content.masked), outcomes, edition)
