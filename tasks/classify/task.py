"""The cached task of the stage: table in, schema out."""

from __future__ import annotations

from tasks.classify.methods import ClassifyPlan, classify
from tasks.runtime.artifacts import Ref, Store
from tasks.runtime.caching import stage
from tasks.runtime.records import Produced


@stage("classify", rooms=("classify", "ingest"))
def classify_attributes(data: str, plan: str) -> Produced:
    """Decide what each attribute is, and refuse what must not be published. Returns `schema`."""
    store = Store()
    return {"schema": store.put_record(classify(store.table(Ref(data)), store.record(Ref(plan), ClassifyPlan)))}
