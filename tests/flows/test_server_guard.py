"""A Prefect server that this program starts: who has no password, and a page of another origin, get nothing from it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate, WorkPoolUpdate
from prefect.exceptions import PrefectHTTPStatusError
from prefect.workers.process import ProcessWorker

from flows.cli.doctor import api
from flows.cli.mlflow import Guarded
from flows.scheduled.deployments import JOB_VARIABLES, Deployment, Deployments
from flows.scheduled.file_access import SERVED, FileAccess
from flows.scheduled.server_client import JOB_TEMPLATE, prepare_pools
from tasks.microdata.errors import InputError
from tasks.runtime.server_guard import authorization

FOREIGN = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
CHOOSES_CODE = [{"command": "id"}, {"env": {"PATH": "/tmp"}}, {"env.PATH": "/tmp"}, {"working_dir": "/tmp"}]  # noqa: S108  # never opened


@pytest.fixture
def client(home, prefect):
    with get_client(sync_client=True) as one:
        yield one


# the temporary server of a run


@pytest.mark.parametrize("asked", [("GET", "admin/version"), ("GET", "csrf-token?client=x"), ("POST", "deployments/filter")])
def test_the_temporary_server_answers_nobody_without_its_password(prefect, asked):
    method, path = asked
    for headers in ({}, {"Prefect-Csrf-Token": "x", "Prefect-Csrf-Client": "x"}, authorization("sdcert:guess")):
        answer = httpx.request(method, f"{prefect}/{path}", json={} if method == "POST" else None, headers=headers, timeout=60)
        assert answer.status_code in (401, 403), answer.text


def test_the_temporary_server_lets_no_page_of_another_origin_read_or_ask(prefect):
    for method in ("OPTIONS", "POST", "GET"):
        answer = httpx.request(method, f"{prefect}/deployments/filter", headers=FOREIGN, timeout=60)
        assert "access-control-allow-origin" not in answer.headers
        assert answer.status_code >= 400


# the work pool


def pool(name: str) -> Deployments:
    one = {"name": "a", "entrypoint": "flows.scheduled.flows.verify_trail", "work_pool": {"name": name}}
    return Deployments(deployments=(Deployment.model_validate(one),))


def test_a_pool_that_we_make_lets_a_run_choose_nothing_that_chooses_code(client):
    name = f"pool-{uuid4()}"
    prepare_pools(pool(name), ours=False)
    made = client.read_work_pool(name)
    assert (made.type, made.base_job_template) == ("process", JOB_TEMPLATE)
    assert set(JOB_TEMPLATE["job_configuration"]) == set(JOB_TEMPLATE["variables"]["properties"]) == set(JOB_VARIABLES)
    assert api.list_free_choices(JOB_TEMPLATE) == []


@pytest.mark.parametrize("template", [{}, ProcessWorker.get_default_base_job_template()], ids=["none", "Prefect's"])
def test_a_pool_of_an_older_version_is_put_right(client, template):
    name = f"pool-{uuid4()}"
    client.create_work_pool(WorkPoolCreate(name=name, type="process", base_job_template=template))
    assert "command" in api.list_free_choices(template)
    prepare_pools(pool(name), ours=False)
    assert client.read_work_pool(name).base_job_template == JOB_TEMPLATE


def test_a_pool_that_somebody_changed_is_put_right_on_our_server_and_left_on_theirs(client):
    name, changed = f"pool-{uuid4()}", ProcessWorker.get_default_base_job_template()
    changed["variables"]["properties"]["command"]["default"] = "id"
    client.create_work_pool(WorkPoolCreate(name=name, type="process"))
    client.update_work_pool(name, WorkPoolUpdate(base_job_template=changed))
    prepare_pools(pool(name), ours=False)
    assert client.read_work_pool(name).base_job_template == changed
    prepare_pools(pool(name), ours=True)
    assert client.read_work_pool(name).base_job_template == JOB_TEMPLATE


def test_with_the_password_too_no_run_chooses_its_command(client):
    name = f"pool-{uuid4()}"
    prepare_pools(pool(name), ours=True)
    flow = client.create_flow_from_name(name)
    deployment = client.create_deployment(flow_id=flow, name=name, work_pool_name=name)
    for chosen in CHOOSES_CODE:
        with pytest.raises(PrefectHTTPStatusError, match="was unexpected"):
            client.create_flow_run_from_deployment(deployment, job_variables=chosen)
    assert client.create_flow_run_from_deployment(deployment, job_variables={"stream_output": False}).id


# the parameters of a run


@pytest.fixture
def folders(tmp_path):
    """A served folder with links, a file and an output that prefect.yaml states elsewhere, and what it does not state."""
    folder = tmp_path / "served"
    (folder / "params").mkdir(parents=True)
    for path in (folder / "params" / "a.yaml", tmp_path / "stated.yaml", tmp_path / "other.yaml"):
        path.write_text("name: x")
    (folder / "inside.yaml").symlink_to("params/a.yaml")
    (folder / "outside.yaml").symlink_to(tmp_path / "other.yaml")
    (folder / "round.yaml").symlink_to("round.yaml")
    (folder / "elsewhere").symlink_to(tmp_path)
    return folder


@pytest.fixture
def served(folders, tmp_path, monkeypatch):
    """What the worker of `sdcert serve` is told."""
    stated = {"release": str(tmp_path / "stated.yaml"), "output": str(tmp_path / "published")}
    one = {"name": "a", "entrypoint": "flows.scheduled.flows.certify_release", "parameters": stated}
    told = FileAccess.from_deployments(Deployments(deployments=(Deployment.model_validate(one),)), folders)
    monkeypatch.setenv(SERVED, told.as_variable())
    assert FileAccess.current() == told
    return told


INSIDE = [
    "params/a.yaml",
    "inside.yaml",
    "./params/../params/a.yaml",
    "absent.yaml",
    "{folder}/params/a.yaml",
    "{up}/stated.yaml",
]
OUTSIDE = ["/etc/passwd", "../other.yaml", "{up}/other.yaml", "outside.yaml", "elsewhere/other.yaml", "round.yaml"]
NO_PATHS = ["--output", "-o", "", " ", "a\0b", "a\nb"]


@pytest.mark.parametrize("value", INSIDE)
def test_a_file_in_the_served_folder_or_stated_by_prefect_yaml_is_taken(served, tmp_path, value):
    given = value.format(folder=served.folder, up=tmp_path)
    assert Path(served.file("release", given)) == served.folder / given


@pytest.mark.parametrize("value", [*OUTSIDE, *NO_PATHS])
def test_a_file_outside_the_served_folder_and_an_option_are_refused(served, tmp_path, value):
    with pytest.raises(InputError) as error:
        served.file("release", value.format(up=tmp_path))
    assert error.value.public == "parameter at release"
    assert error.value.value is None


@pytest.mark.parametrize("value", ["releases", "a/b", "{up}/published", "{up}/published/more"])
def test_an_output_in_the_served_folder_or_below_a_stated_one_is_taken(served, tmp_path, value):
    assert Path(served.output("output", value.format(up=tmp_path))).is_absolute()


@pytest.mark.parametrize("value", ["/tmp", "..", "elsewhere", "{up}/published-2", "{up}/published/../x", *NO_PATHS])  # noqa: S108  # never opened
def test_an_output_elsewhere_is_refused(served, tmp_path, value):
    with pytest.raises(InputError, match=r"outside the one that is served|no path"):
        served.output("output", value.format(up=tmp_path))


@pytest.mark.parametrize("name", ["private/keys/store.key", "private/runs", "private"])
def test_a_private_folder_in_the_served_one_is_neither_read_nor_written(served, name, monkeypatch):
    monkeypatch.setenv("SDCERT_HOME", str(served.folder / "private"))
    with pytest.raises(InputError, match="outside the folder that is served"):
        served.file("release", name)
    with pytest.raises(InputError, match="outside the one that is served"):
        served.output("output", name)
    assert served.file("release", "private-2.yaml")


def test_a_worker_started_by_hand_serves_its_working_directory(tmp_path, monkeypatch):
    monkeypatch.delenv(SERVED, raising=False)
    monkeypatch.chdir(tmp_path)
    assert FileAccess.current() == FileAccess(tmp_path.resolve())


# MLflow's pages


async def inner(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"runs"})


OWN = "http://127.0.0.1:5000"
MINE = authorization("me:word")
ASKED = [
    ({}, 401),
    (authorization("me:wort"), 401),
    (MINE, 200),
    ({**MINE, "Host": "localhost:5000"}, 200),
    ({**MINE, "Origin": OWN}, 200),
    ({**MINE, "Origin": "http://localhost:5000"}, 200),
    ({**MINE, "Origin": "http://localhost:5001"}, 403),
    ({**MINE, "Origin": "null"}, 403),
    ({**MINE, "Origin": "http://evil.example"}, 403),
    ({**MINE, "Host": "evil.example:5000"}, 403),
    ({"Host": "evil.example:5000"}, 403),
]


@pytest.mark.parametrize(("headers", "status"), ASKED)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_mlflow_s_pages_are_for_who_has_the_password_and_for_no_other_origin(headers, status, method):
    import asyncio

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app=Guarded(inner, OWN, "me:word"))
        async with httpx.AsyncClient(transport=transport, base_url=OWN) as client:
            return await client.request(method, "/", headers=headers)

    answer = asyncio.run(ask())
    assert answer.status_code == status
    assert (answer.text == "runs") == (status == 200)
    assert ("www-authenticate" in answer.headers) == (status == 401)
    assert "access-control-allow-origin" not in answer.headers


# doctor

DEPLOYED = [{"work_pool_name": "sdcert", "name": "a", "updated": datetime.now(UTC).isoformat()}]


def examined(monkeypatch, *, asks_password=True, origin=None, token=True, template=JOB_TEMPLATE, kind="process", takes=True):
    """What doctor says of a server that behaves so."""

    def answer(request: httpx.Request) -> httpx.Response:
        path, known = request.url.path.removeprefix("/api/"), "Authorization" in request.headers and takes
        if request.method == "OPTIONS":
            return httpx.Response(200, headers={} if origin is None else {"access-control-allow-origin": origin})
        if asks_password and not known:
            return httpx.Response(401)
        if path == "csrf-token":
            return httpx.Response(200, json={"token": "t"}) if token else httpx.Response(422, json={})
        if request.method == "POST" and token and request.headers.get("Prefect-Csrf-Token") != "t":
            return httpx.Response(403)
        if path == "deployments/filter":
            return httpx.Response(200, json=DEPLOYED)
        return httpx.Response(200, json={"base_job_template": template, "type": kind})

    asked = httpx.Client
    monkeypatch.setattr(httpx, "Client", lambda **known: asked(**known, transport=httpx.MockTransport(answer)))
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    monkeypatch.setenv("PREFECT_API_AUTH_STRING", "me:word")
    return [(one.status, one.says) for one in api.check_api()]


def test_doctor_is_content_with_a_server_that_is_guarded(home, monkeypatch):
    assert [status for status, _ in examined(monkeypatch)] == ["ok"]


OPEN = [
    ({"asks_password": False}, "fail", "answers without a password"),
    ({"origin": "*"}, "fail", "every origin"),
    ({"origin": api.FOREIGN}, "fail", "every origin"),
    ({"token": False}, "warn", "forged requests"),
    ({"takes": False}, "fail", "refuses the password"),
    ({"template": ProcessWorker.get_default_base_job_template()}, "fail", "choose their command, env, working_dir"),
    ({"template": {}}, "fail", "choose their command"),
    ({"template": ProcessWorker.get_default_base_job_template(), "kind": "docker"}, "warn", "choose their command"),
]


@pytest.mark.parametrize(("server", "status", "says"), OPEN)
def test_doctor_says_what_is_open(home, monkeypatch, server, status, says):
    found = examined(monkeypatch, **server)
    assert [one for one, text in found if says in text] == [status], found
    assert not [text for _, text in found if "me:word" in text]


def test_doctor_looks_at_the_file_of_the_password(home, monkeypatch):
    (home / "serve").mkdir(parents=True)
    (home / "serve" / "auth-string").write_text("a:b")
    (home / "serve" / "auth-string").chmod(0o644)
    assert "others can read the password" in json.dumps(examined(monkeypatch))


def test_doctor_says_nothing_of_a_server_where_none_is_up(home, monkeypatch):
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    assert list(api.check_api()) == []
