"""The cached task of the stage: table in, schema out."""

from __future__ import annotations

from tasks.classify.methods import ClassifyPlan, classify
from tasks.classify.outputs import ClassifyOutputs
from tasks.microdata.refs import RecordRef, TableRef
from tasks.runtime.artifacts import Store
from tasks.runtime.stages import stage


@stage("classify", rooms=("classify", "ingest"))
def classify_attributes(data: TableRef, plan: RecordRef[ClassifyPlan]) -> ClassifyOutputs:
    """Decide what each attribute is, and refuse what must not be published."""
    store = Store()
    return {"schema": store.put_record(classify(store.table(data), store.record(plan, ClassifyPlan)))}
