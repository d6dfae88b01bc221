"""A sweep with its working set in an S3-compatible place: the table that it has in a folder."""

from __future__ import annotations

import io
import json

import pyarrow.parquet as pq
import pytest
from leaks import Secrets, leaks_in, writings_of_text
from s3 import ACCOUNT, SECRET
from sweep_files import POINTS, table_of, untimed, write_sweep

from flows.sweep.working_set import WorkingSet

pytestmark = pytest.mark.slow


def table_in(url: str, name: str):
    return pq.read_table(io.BytesIO(WorkingSet(url).read(f"{name}/table.parquet")))


@pytest.mark.long
def test_a_sweep_in_a_bucket_gives_the_table_of_one_in_a_folder(bucket, sdcert, tmp_path, home, monkeypatch):
    path = write_sweep(tmp_path / "project")
    here = sdcert("sweep", path, "--workers", 2, "--json")
    assert here.code == 0, here.err
    url = f"{bucket}/sweeps"
    there = sdcert("sweep", path, "--workers", 2, "--json", "--store", url)
    assert there.code == 0, there.err
    name = json.loads(there.out)["id"]
    table = untimed(table_in(url, name))
    assert table.num_rows == 2 * POINTS
    assert table.equals(untimed(table_of(home, name)))

    before = set(WorkingSet(url).names(f"{json.loads(WorkingSet(url).read(f'{name}/sweep.json'))['base']}/results"))
    again = sdcert("sweep", path, "--workers", 2, "--json", "--store", url)
    assert again.code == 0, again.err
    assert untimed(table_in(url, name)).equals(table)
    assert set(WorkingSet(url).names(f"{json.loads(WorkingSet(url).read(f'{name}/sweep.json'))['base']}/results")) == before
    listed = sdcert("sweeps", "--store", url, "--json")
    assert [one["id"] for one in json.loads(listed.out)] == [name]
    promoted = tmp_path / "project" / "promoted.yaml"
    ran = sdcert("sweep", "promote", name, 0, "-o", promoted, "--store", url)
    assert ran.code == 0, ran.err

    (tmp_path / "told").write_text("".join(ran.out + ran.err for ran in (here, there, again, listed, ran)))
    account = Secrets()
    account.add("the account", [*writings_of_text(ACCOUNT), *writings_of_text(SECRET)])
    assert leaks_in(tmp_path, account) == []


def test_a_place_that_is_away_is_told_before_anything_is_computed(bucket, sdcert, tmp_path, monkeypatch):
    path = write_sweep(tmp_path / "project")
    missing = sdcert("sweep", path, "--store", "s3://no-such-bucket/sweeps")
    assert missing.code == 2
    assert "--store" in missing.err
    assert "cannot be written and read (FileNotFoundError)" in missing.err
    assert sdcert("sweeps", "--store", "s3://canary:4711@bucket/x").code == 2
