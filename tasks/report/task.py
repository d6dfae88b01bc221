"""The cached task of the stage: everything a release is described by in, the page and its content out.

What changes with every run (its id, the time, the count of attempts) is not in them: the flow stamps it on.
"""

from __future__ import annotations

from tasks.attack.outcome import AttackResult
from tasks.ingest.methods import IngestReport
from tasks.mask.methods import Mechanism
from tasks.microdata.schema import Schema
from tasks.report.content import Content, public_edition
from tasks.report.page import render
from tasks.report.plan import ReportPlan
from tasks.runtime.artifacts import Ref, Store
from tasks.runtime.caching import Produced, stage
from tasks.score.estimates import Score


@stage("report", rooms=("report", "score", "attack", "mask", "ingest"))
def write_report(
    plan: str, data: str, validation: str, schema: str, released: str, mechanisms: str, results: list[Produced], score: str
) -> Produced:
    """Write the public edition. Returns `page` and `content`."""
    store = Store()
    wanted = store.record(Ref(plan), ReportPlan)
    measured = store.record(Ref(score), Score)
    content = public_edition(
        Content(
            name=wanted.name,
            series=wanted.series,
            not_for_publication=wanted.not_for_publication,
            context=wanted.context,
            publish=wanted.publish,
            ingest=store.record(Ref(validation), IngestReport),
            schema=store.record(Ref(schema), Schema),
            mechanisms=store.record(Ref(mechanisms), tuple[Mechanism, ...]),
            intruder=wanted.intruder,
            attacks=tuple(store.record(Ref(produced["result"]), AttackResult) for produced in results),
            omitted=wanted.omit,
            estimates=measured.estimates,
            verdict=measured.verdict,
            policy=wanted.policy,
            rows_in=store.table(Ref(data)).n,
            rows_out=store.table(Ref(released)).n,
        )
    )
    return {"page": store.put_page(render(content)), "content": store.put_record(content)}
