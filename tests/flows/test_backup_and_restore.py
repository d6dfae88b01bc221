"""A backup taken while a run goes on, the machine wiped, the home restored: it verifies, and its runs can be replayed."""

from __future__ import annotations

import json
import shutil

import pytest
from outcomes import newest_manifest
from prefect.blocks.notifications import SlackWebhook
from prefect_servers import prefect_server
from release_files import write_release

pytestmark = pytest.mark.slow
RUNS = "select run_uuid, status from runs order by run_uuid"
SECRET = "https://127.0.0.1/T0KEN-of-the-webhook-77bb"


@pytest.fixture
def outside(tmp_path_factory):
    """Where the backup goes: all else of a test is searched for secrets, and it holds them."""
    folder = tmp_path_factory.mktemp("backups")
    yield folder
    shutil.rmtree(folder)


def test_what_was_backed_up_verifies_and_is_replayed(certify, sdcert, process, home, tmp_path, outside):
    ran, manifest = certify()
    assert ran.code == 0, ran.err
    path = write_release(tmp_path / "project", {"name": "another"})
    going_on = process("-m", "flows.cli", "certify", path, "--output", tmp_path / "releases")
    backed_up = sdcert("backup", "-o", outside / "backup.tar", "--json")
    assert backed_up.code == 0, backed_up.err
    _, err = going_on.communicate(timeout=300)
    assert going_on.returncode == 0, err
    entries = json.loads(backed_up.out)["entries"]
    assert entries >= 4

    shutil.rmtree(home)
    restored = sdcert("restore", outside / "backup.tar", "--json")
    assert restored.code == 0, restored.err
    assert json.loads(restored.out)["entries"] == entries
    verified = sdcert("audit", "verify")
    assert verified.code == 0, verified.out + verified.err
    stored = sdcert("store", "verify")
    assert stored.code == 0, stored.out + stored.err
    replayed = sdcert("audit", "replay", manifest["run"])
    assert replayed.code == 0, replayed.out + replayed.err
    file = tmp_path / "releases" / manifest["release"] / manifest["run"] / "released.csv"
    assert sdcert("verify", file).code == 0

    draw = manifest["draw"]
    again, _ = certify()
    assert again.code == 0, again.err
    assert newest_manifest()["draw"] == draw
    assert sdcert("audit", "verify").code == 0


@pytest.mark.long
def test_databases_on_postgresql_come_back_from_their_dumps(certify, sdcert, postgres, home, outside, monkeypatch):
    mlflow, audit = postgres.new("mlflow"), postgres.new("audit")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", postgres.url(database=mlflow))
    monkeypatch.setenv("SDCERT_INDEX_URL", postgres.url(database=audit))
    ran, manifest = certify()
    assert ran.code == 0, ran.err
    tracked = postgres.rows(mlflow, RUNS)
    assert [status for _, status in tracked] == ["FINISHED"]
    backed_up = sdcert("backup", "-o", outside / "backup.tar")
    assert backed_up.code == 0, backed_up.err
    postgres.program("pg_dump", "-Fc", "-f", str(outside / "mlflow.dump"), mlflow)

    shutil.rmtree(home)
    for name in (mlflow, audit):
        postgres.wipe(name)
    postgres.program("pg_restore", "-d", mlflow, str(outside / "mlflow.dump"))
    for words in (
        ("restore", outside / "backup.tar"),
        ("audit", "verify"),
        ("store", "verify"),
        ("audit", "replay", manifest["run"]),
    ):
        ran = sdcert(*words)
        assert ran.code == 0, ran.out + ran.err
    assert postgres.rows(mlflow, RUNS) == tracked
    assert sdcert("audit", "find", "--json").code == 0
    again, _ = certify()
    assert again.code == 0, again.err
    assert "tracking" not in again.err
    assert len(postgres.rows(mlflow, RUNS)) == 2
    assert postgres.rows(mlflow, "select count(*) from registered_model_aliases where alias = 'certified'") == [(1,)]


@pytest.mark.long
def test_the_server_of_prefect_comes_back_from_its_dump(postgres, outside, tmp_path, home):
    from prefect import flow, get_client
    from prefect.settings import PREFECT_API_URL, temporary_settings

    pytest.importorskip("asyncpg")
    prefect = postgres.new("prefect")
    address, known = postgres.url("asyncpg", prefect), {"certify-survey"}
    with prefect_server(tmp_path / "before", address) as api, temporary_settings({PREFECT_API_URL: api}):
        SlackWebhook(url=SECRET).save("sdcert-stewards")
        with get_client(sync_client=True) as client:
            client.create_deployment(client.create_flow(flow(name="probe")(_nothing)), *known)
        assert {name for (name,) in postgres.rows(prefect, "select name from deployment")} == known
    assert SECRET not in postgres.dump(prefect), "it is encrypted"
    postgres.program("pg_dump", "-Fc", "-f", str(outside / "prefect.dump"), prefect)
    postgres.wipe(prefect)
    postgres.program("pg_restore", "-d", prefect, str(outside / "prefect.dump"))
    with prefect_server(tmp_path / "after", address) as api, temporary_settings({PREFECT_API_URL: api}):
        assert SlackWebhook.load("sdcert-stewards").url.get_secret_value() == SECRET
        with get_client(sync_client=True) as client:
            assert {one.name for one in client.read_deployments()} == known


def _nothing() -> None:
    return None
