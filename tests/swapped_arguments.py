"""Calls of stages with wrong arguments, for the type checker alone; nobody runs them.

`make lint` checks this file with the code: in strict mode an ignored error that is not there is an error itself.
"""

from __future__ import annotations

from tasks.classify.methods import ClassifyPlan
from tasks.classify.task import classify_attributes
from tasks.mask.task import Steps, mask_table
from tasks.microdata.refs import RecordRef, TableRef
from tasks.microdata.schema import Schema


def call_stages(data: TableRef, plan: RecordRef[ClassifyPlan], schema: RecordRef[Schema], steps: RecordRef[Steps]) -> None:
    classify_attributes.bind(data, plan)
    classify_attributes.bind(plan, data)  # type: ignore[arg-type]  # swapped or of another type
    classify_attributes.bind(data)  # type: ignore[call-arg]  # one is missing
    mask_table.bind(data, schema, steps, "draw", "shuffled", None)
    mask_table.bind(data, steps, schema, "draw", "shuffled", None)  # type: ignore[arg-type]  # swapped or of another type
    mask_table.bind("", schema, steps, "draw", "shuffled", None)  # type: ignore[arg-type]  # swapped or of another type
    mask_table.bind(data, schema, steps, "draw", "sorted", None)  # type: ignore[arg-type]  # swapped or of another type
