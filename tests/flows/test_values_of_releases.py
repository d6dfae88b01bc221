"""The stage that solves the equations of several releases, as a release runs it (2 s)."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from flows.kinds.base import ReleaseJob
from flows.kinds.masked_table import reconstruct
from flows.release import ReleaseSpec
from flows.run.stage_runner import MaskingArtifacts
from tasks.attack.together.earlier_release import EarlierRelease, EarlierTables
from tasks.attack.together.value_reconstruction import ReconstructionResult
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.outputs import Mechanisms
from tasks.microdata.alignment import Alignment, NoAlignment
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.runtime.artifacts import Store

DATA = Microdata.from_columns({"x": [1.0, 3.0, 7.0, 2.0], "row": [10, 20, 30, 40]})
SCHEMA = Schema(tuple(Attribute(name, Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared") for name in DATA.names))
STEPS = (Microaggregation(method="microaggregation", attributes=("x",), k=2),)
POLICY = [{"measure": "values_reconstructed", "at_most": 0.1}]
MASKING = [{"method": "microaggregation", "attributes": ["x"], "k": 2}]
PLAIN = {"name": "example", "source": {"table": "people.csv"}, "masking": MASKING, "policy": POLICY}


class Runner:
    """Computes each stage here and now."""

    def __init__(self):
        self.ran = []

    def run(self, name, call):
        self.ran.append(name)
        return call.compute()


def store_release(groups, *, data=DATA, nobodys=False):
    """The tables of a release whose groups are given, by the fields of `EarlierTables`."""
    store, order = Store(), np.arange(data.n)
    means = np.bincount(groups, weights=data.floats("x")) / np.bincount(groups)
    rows = NoAlignment(order, data.n) if nobodys else Alignment.complete_in(order)
    return {
        "data": store.put_table(data),
        "masked": store.put_table(data.replace_column("x", pa.array(means[groups]))),
        "alignment": store.put_table(rows.as_table()),
        "schema": store.put_record(SCHEMA),
        "mechanisms": store.put_record(STEPS, Mechanisms),
    }


def create_earlier(groups, record, **more):
    persons = Store().put_table(Microdata.from_columns({"record": pa.array(record, pa.int64())}))
    return EarlierTables(**store_release(groups, **more), persons=persons)


@pytest.fixture
def job():
    parts = store_release([0, 0, 0, 1])
    masked = MaskingArtifacts(
        draw="draw",
        data=parts["data"],
        control=None,
        schema=parts["schema"],
        table={name: parts[name] for name in ("masked", "alignment", "mechanisms")},
        mechanisms=parts["mechanisms"],
    )
    release = ReleaseSpec.model_validate_json(json.dumps(PLAIN))
    return ReleaseJob(Runner(), release, {}, masked, [], None)


def run(job, *earlier):
    job = replace(job, earlier=tuple(Store().put_record(one) for one in earlier))
    found = reconstruct(job)
    return None if found is None else Store().record(found, ReconstructionResult)


def test_nothing_runs_without_an_earlier_release(job):
    assert run(job) is None
    assert job.runner.ran == []


def test_the_equations_of_both_are_solved(job):
    # {1, 2}, {3, 4}, then {1, 2, 3}, {4}
    found = run(job, EarlierRelease(name="run-1", release="old", tables=create_earlier([0, 0, 1, 1], [0, 1, 2, 3])))
    assert (found.n, found.any_reconstructed, found.releases, found.unread) == (4, 2, ("run-1",), ())
    assert job.runner.ran == ["reconstruction"]


def test_a_person_who_is_new_is_no_row_of_the_old_release(job):
    old = DATA.take(np.array([0, 1, 3]))
    tables = create_earlier([0, 0, 1], [0, 1, None, 2], data=old)
    assert run(job, EarlierRelease(name="run-1", release="old", tables=tables)).any_reconstructed == 2


def test_what_cannot_be_read_is_told_and_rows_of_nobody_are_no_means(job):
    gone = EarlierRelease(name="run-2", release="old", reason="its table was deleted")
    nobodys = EarlierRelease(name="run-1", release="made", tables=create_earlier([0, 0, 1, 1], [0, 1, 2, 3], nobodys=True))
    found = run(job, gone, nobodys)
    assert (found.unread, found.releases, found.any_reconstructed) == (("run-2",), (), 0)
