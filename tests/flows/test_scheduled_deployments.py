"""`prefect.yaml`: the one of the project deploys as it reads, and what Prefect would pass over in silence is refused."""

import json
from datetime import UTC, datetime

import pytest
import yaml
from outcomes import ROOT

from flows.scheduled.deployments import for_prefect, load_deployments
from tasks.microdata.errors import InputError

OURS = load_deployments(ROOT / "prefect.yaml")
ONE = {"name": "weekly", "entrypoint": "flows.scheduled.flows.verify_trail"}


@pytest.fixture
def written(tmp_path):
    def write(*deployments, text=None):
        path = tmp_path / "prefect.yaml"
        path.write_text(json.dumps({"deployments": deployments}) if text is None else text)
        return path

    return write


def refused(path) -> InputError:
    with pytest.raises(InputError) as error:
        load_deployments(path)
    return error.value


@pytest.mark.parametrize("one", OURS.deployments, ids=lambda one: one.name)
def test_each_deployment_of_the_project_names_a_flow_that_takes_its_parameters(one):
    from prefect.flows import load_flow_from_entrypoint
    from prefect.server.schemas.schedules import CronSchedule

    flow = load_flow_from_entrypoint(one.entrypoint, use_placeholder_flow=False)
    taken = flow.validate_parameters(one.parameters)
    assert taken.keys() >= one.parameters.keys()
    assert "sdcert" in one.tags
    assert one.concurrency_limit.limit == 1
    for schedule in one.schedules:
        CronSchedule(cron=schedule.cron, timezone=schedule.timezone)


def test_prefect_reads_the_project_s_file_as_we_do():
    """It reads YAML 1.1: an unquoted slug `off` would be a boolean there."""
    theirs = yaml.safe_load((ROOT / "prefect.yaml").read_text())
    ours = yaml.safe_load(for_prefect(OURS, ROOT))
    assert [one["name"] for one in theirs["deployments"]] == [one["name"] for one in ours["deployments"]]
    for one, other in zip(theirs["deployments"], ours["deployments"], strict=True):
        assert [{"active": True, **schedule} for schedule in one["schedules"]] == other["schedules"]
        assert all(isinstance(schedule["slug"], str) for schedule in one["schedules"])
        assert one["concurrency_limit"] == other["concurrency_limit"]


def test_what_publishes_or_takes_hours_is_active_only_when_somebody_says_so():
    active = {one.name for one in OURS.deployments if any(schedule.active for schedule in one.schedules)}
    assert active == {"audit-verify", "store-verify"}


def test_paths_are_relative_to_the_file_wherever_it_is_read_from(written, tmp_path, monkeypatch):
    (tmp_path / "release.yaml").write_text("name: x")
    parameters = {"release": "release.yaml", "output": "out", "limit_minutes": 5, "tell": ["slack-webhook/sdcert-a"]}
    path = written({**ONE, "entrypoint": "flows.scheduled.flows.certify_release", "parameters": parameters})
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    (one,) = load_deployments(path).deployments
    assert one.parameters == {**parameters, "release": str(tmp_path / "release.yaml"), "output": str(tmp_path / "out")}
    monkeypatch.chdir(tmp_path)
    assert load_deployments(path.relative_to(tmp_path)).deployments == (one,)


def test_prefect_is_given_the_folder_of_the_file_and_our_tag(written, tmp_path):
    content = yaml.safe_load(for_prefect(load_deployments(written(ONE)), tmp_path))
    assert content["pull"] == [{"prefect.deployments.steps.set_working_directory": {"directory": str(tmp_path)}}]
    assert content["deployments"][0]["tags"] == ["sdcert"]
    assert content["deployments"][0]["concurrency_limit"] == {"limit": 1, "collision_strategy": "CANCEL_NEW"}


def schedule(text: str) -> str:
    return (
        f"deployments:\n  - name: weekly\n    entrypoint: flows.scheduled.flows.verify_trail\n    schedules:\n      - {text}\n"
    )


WRONG = [
    (schedule("{slug: off, cron: '* * * * *'}"), "line 5"),
    (schedule("{slug: 'weekly', corn: '* * * * *'}"), "did you mean `cron`"),
    (schedule("{cron: '* * * * *'}"), "slug"),
    (schedule("{slug: a, cron: '1 * * * *'}\n      - {slug: a, cron: '2 * * * *'}"), "same slug"),
    (json.dumps({"deployments": [ONE, ONE]}), "same name"),
    (json.dumps({"deployments": [{**ONE, "concurrency_limit": {"limit": 0}}]}), "concurrency_limit"),
    (json.dumps({"deployments": [{**ONE, "parameters": {"release": "absent.yaml"}}]}), "no such file"),
    (json.dumps({"deployments": []}), "deployments"),
]


@pytest.mark.parametrize(("text", "says"), WRONG, ids=[says for _, says in WRONG])
def test_what_prefect_would_pass_over_is_refused_with_its_line(written, text, says):
    assert says in str(refused(written(text=text)))


def test_the_flows_of_deployments_are_named_by_module_and_hide_no_package():
    """By file, Prefect's loader would put the folder on the path, where `flows.py` hides the package `flows`."""
    assert all(":" not in one.entrypoint for one in OURS.deployments)


def test_a_moment_is_the_next_one_of_the_cron():
    from prefect.client.schemas.schedules import CronSchedule

    from flows.scheduled.server_client import _dates

    (found,) = _dates(CronSchedule(cron="30 1 * * *", timezone="UTC"))
    assert (found.hour, found.minute) == (1, 30)
    assert found > datetime.now(UTC)


def test_texts_arrive_as_written(written, tmp_path):
    """Signs of every plane, and words that YAML 1.1 takes for something else."""
    texts = ["x 🙂 ä 名", "\\ud83d\\ude42", "\\🙂", "\u2028\x85", "off", "1:30", "1_000", "0o7", "=", "~", "2026-01-01"]
    found = load_deployments(written(*({**ONE, "name": f"n{i}", "description": text} for i, text in enumerate(texts))))
    ours = yaml.safe_load(for_prefect(found, tmp_path))
    assert [one["description"] for one in ours["deployments"]] == [one.description for one in found.deployments] == texts


@pytest.mark.parametrize("pool", ["a/b", "a%b", "a&b", "<a>"])
def test_a_pool_whose_name_prefect_refuses_is_refused(written, pool):
    assert "work_pool.name" in refused(written({**ONE, "work_pool": {"name": pool}})).where


@pytest.mark.parametrize("name", ["command", "env", "working_dir", "env.PATH"])
def test_variables_of_a_job_that_choose_code_are_refused(written, name):
    error = refused(written({**ONE, "work_pool": {"job_variables": {name: "id"}}}))
    assert "job_variables" in error.where
    assert f"a run may not choose {name}" in str(error)
