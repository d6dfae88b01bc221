"""`sdcert serve` with Prefect, MLflow and the index of the ledger on PostgreSQL, which goes away for a minute."""

import time
from datetime import UTC, datetime

import pytest
from served_home import (
    a_server_killed_in_mid_run_loses_no_run,
    every_ending_is_on_the_server_in_the_audit_trail_and_in_mlflow,
    served_with_every_ending,
    the_next_schedule_goes_on,
)

pytestmark = [pytest.mark.long, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def serving(postgres, tmp_path_factory):
    prefect, mlflow, audit = (postgres.new(name) for name in ("prefect", "mlflow", "audit"))
    environment = {
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": postgres.url("asyncpg", prefect),
        "MLFLOW_TRACKING_URI": postgres.url(database=mlflow),
        "SDCERT_INDEX_URL": postgres.url(database=audit),
    }
    with served_with_every_ending(tmp_path_factory.mktemp("served"), **environment) as one:
        yield one


def test_every_ending_is_on_the_server_in_the_audit_trail_and_in_mlflow(serving, monkeypatch):
    every_ending_is_on_the_server_in_the_audit_trail_and_in_mlflow(serving, monkeypatch)


def test_a_server_killed_in_mid_run_loses_no_run(serving):
    a_server_killed_in_mid_run_loses_no_run(serving)


def test_a_database_stopped_for_a_minute_loses_no_run(serving, postgres):
    began, run = datetime.now(UTC), serving.begin("slow")
    serving.child_of(run)
    postgres.stop()
    time.sleep(60)
    postgres.start()
    assert serving.ended(run, 600)[:2] == ("COMPLETED", "Completed")
    assert serving.verdicts_of(run)[0] == "certified"
    the_next_schedule_goes_on(serving, began)
