"""A served home, tried by another user of the machine and by a page of another origin; and what its password lets one do."""

from __future__ import annotations

import functools
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import pytest
from leaks import leaks_of_test
from postgres import free_port
from prefect_servers import asked
from release_files import write_release
from serving import Serving, deployment, served, until
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tasks.runtime.server_guard import authorization

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
NOBODY = 65534
CHOSEN = [{"command": "/bin/sh -c 'touch {mark}'"}, {"env": {"PATH": "{mark}"}}, {"working_dir": "/"}]
ATTACK = """async ([api, page]) => {
  const told = {};
  const tell = async (name, asked) => {
    try { told[name] = await asked() } catch (error) { told[name] = 'refused: ' + error.name }
  };
  const json = {method: 'POST', headers: {'content-type': 'application/json'}, body: '{}'};
  await tell('read', async () => (await fetch(api + '/deployments/filter', json)).text());
  await tell('token', async () => (await fetch(api + '/csrf-token?client=x')).text());
  await tell('simple', async () => (await fetch(api + '/deployments/filter', {method: 'POST', body: '{}'})).text());
  await tell('sent', async () => (await fetch(page, {method: 'POST', mode: 'no-cors', body: '{}'})).type);
  return told;
}"""


@pytest.fixture(scope="module")
def serving(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guarded")
    write_release(folder / "good")
    good = deployment("good", "certify_release", release="good/release.yaml", limit_minutes=15, retries=0)
    with served(folder, good, deployment("trail", "verify_trail", limit_minutes=15, retries=0)) as one:
        yield one
    assert leaks_of_test(folder) == []


def told_to_nobody(*words: object) -> str:
    """What curl says to the user `nobody`."""
    if os.geteuid() != 0 or shutil.which("curl") is None:
        pytest.skip("only root can try it as another user, with curl")
    command = [shutil.which("curl"), "--silent", "--max-time", "60", "--write-out", "\n%{http_code}", *map(str, words)]
    ran = subprocess.run(command, user=NOBODY, group=NOBODY, extra_groups=[], env={}, cwd="/", capture_output=True, check=False)
    return ran.stdout.decode()


def posted(url: str, content: object, **headers: str) -> list[str]:
    lines = [
        word for name, value in {"Content-Type": "application/json", **headers}.items() for word in ("-H", f"{name}: {value}")
    ]
    return ["-X", "POST", *lines, "-d", json.dumps(content), url]


def test_another_user_neither_reads_nor_runs_anything(serving: Serving):
    before, api = len(serving.runs("good")), serving.api
    run = f"{api}/deployments/{serving.deployment('good')['id']}/create_flow_run"
    made_up = {"Prefect-Csrf-Token": "x", "Prefect-Csrf-Client": "x"}
    tried = [
        posted(run, {"job_variables": CHOSEN[0], "state": {"type": "SCHEDULED"}}),
        posted(run, {}, **made_up),
        posted(run, {}, **made_up, Authorization="Basic c2RjZXJ0Og=="),
        posted(f"{api}/deployments/filter", {}),
        posted(f"{api}/deployments/filter", {}, Host="evil.example/api/health"),
        [f"{api}/csrf-token?client=x"],
        [f"{api}/admin/settings"],
        [f"{api}/work_pools/sdcert"],
        ["--path-as-is", f"{api}/health/../work_pools/sdcert"],
    ]
    answers = [told_to_nobody(*one) for one in tried]
    assert [one for one in answers if one.rpartition("\n")[2] not in ("401", "403", "404", "400")] == []
    assert not [one for one in answers if "sdcert" in one]
    assert len(serving.runs("good")) == before


def test_another_user_cannot_read_the_password(serving: Serving):
    path = serving.home / "serve" / "auth-string"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert serving.password not in told_to_nobody(f"file://{path}")
    shown = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True).stdout
    assert serving.password.partition(":")[2] not in shown


@pytest.mark.parametrize("path", ["events/in", "events/out", "logs/out", "task_runs/subscriptions/scheduled"])
def test_no_stream_is_open_without_the_password(serving: Serving, path: str):
    address = serving.api.replace("http", "ws")
    with connect(f"{address}/{path}", subprotocols=["prefect"]) as stream:
        stream.send(json.dumps({"type": "auth", "token": "sdcert:guess"}))
        with pytest.raises(ConnectionClosed):
            stream.recv(60)


@pytest.mark.parametrize("chosen", CHOSEN)
def test_with_the_password_too_a_run_chooses_nothing_that_chooses_code(serving: Serving, tmp_path: Path, chosen):
    before, mark = len(serving.runs("trail")), tmp_path / "ran"
    content = {"job_variables": json.loads(json.dumps(chosen).replace("{mark}", str(mark))), "state": {"type": "SCHEDULED"}}
    with pytest.raises(httpx.HTTPStatusError, match="was unexpected"):
        serving.ask("POST", f"deployments/{serving.deployment('trail')['id']}/create_flow_run", content)
    assert len(serving.runs("trail")) == before
    assert not mark.exists()


def test_with_the_password_too_a_run_names_no_file_outside_the_served_folder(serving: Serving, tmp_path: Path):
    outside = write_release(tmp_path)
    path = f"deployments/{serving.deployment('good')['id']}/create_flow_run"
    run = serving.ask("POST", path, {"parameters": {"release": str(outside)}})["id"]
    kind, name, says = serving.ended(run)
    assert (kind, name) == ("FAILED", "Failed")
    assert says.startswith("nothing was run: parameter `release`: the file lies outside the folder that is served")
    assert serving.ledger_of(run) == []


def test_a_served_run_certifies_and_its_password_is_in_no_file_but_its_own(serving: Serving):
    run = serving.begin("good")
    assert serving.ended(run, 600)[:2] == ("COMPLETED", "Completed")
    assert [one["verdict"] for one in serving.ledger_of(run)] == ["certified"]
    word, header = serving.password.partition(":")[2], authorization(serving.password)["Authorization"].split()[1]
    files = [path for path in serving.folder.rglob("*") if path.is_file()]
    holding = [path for path in files if any(one.encode() in path.read_bytes() for one in (word, header))]
    assert holding == [serving.home / "serve" / "auth-string"]
    assert any(path.name == "prefect.db" for path in files)
    assert word not in serving.log


def test_doctor_finds_the_server_guarded(serving: Serving):
    for named in ({}, {"PREFECT_API_URL": serving.api}):
        told = serving.sdcert("doctor", "--json", **named)
        found = [one for one in json.loads(told.stdout)["findings"] if one["topic"] in ("server", "schedules")]
        assert [one["status"] for one in found] == ["ok", "ok"], found


def test_a_command_of_another_home_is_told_that_a_password_is_wanted(serving: Serving, tmp_path: Path):
    named = {"PREFECT_API_URL": serving.api, "SDCERT_HOME": str(tmp_path / "other")}
    ran = serving.sdcert("certify", serving.folder / "good" / "release.yaml", "--output", tmp_path / "out", **named)
    assert ran.returncode == 2
    assert "PREFECT_API_AUTH_STRING" in ran.stderr
    assert "Traceback" not in ran.stderr


# in a browser


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """The address of a page of another origin, on this machine."""
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "index.html").write_text("<title>elsewhere</title>")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}/"
        server.shutdown()


def test_a_page_of_another_origin_creates_no_run_and_reads_nothing(serving: Serving, elsewhere, browser):
    run = f"{serving.api}/deployments/{serving.deployment('good')['id']}/create_flow_run"
    before = len(serving.runs("good"))
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(elsewhere)
        told = page.evaluate(ATTACK, [serving.api, run])
    assert {told[name] for name in ("read", "token", "simple")} == {"refused: TypeError"}
    assert told["sent"] == "opaque"  # it may be sent, and the server refuses it
    assert len(serving.runs("good")) == before


def test_who_has_the_password_signs_in_to_the_pages(serving: Serving, browser):
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{serving.port}/")
        page.locator("input[type=password]").fill(serving.password)
        page.keyboard.press("Enter")
        page.wait_for_url("**/dashboard*", timeout=120_000)
        page.get_by_text("Logout").first.wait_for(timeout=120_000)


# MLflow's pages


@pytest.fixture(scope="module")
def mlflow(serving):
    """The address of MLflow's pages on the served home."""
    port, word = free_port(), {"SDCERT_MLFLOW_PASSWORD": "me:word"}
    command = [sys.executable, "-m", "flows.cli", "mlflow", "--port", str(port)]
    with (serving.folder / "mlflow.log").open("wb") as log:
        process = subprocess.Popen(command, env=serving.environment_of(**word), cwd=serving.folder, stdout=log, stderr=log)
        try:
            address = f"http://127.0.0.1:{port}"
            until(lambda: httpx.get(address, timeout=10).status_code == httpx.codes.UNAUTHORIZED, 300)
            yield address
        finally:
            process.terminate()
            process.wait(60)


def test_mlflow_s_pages_are_closed_to_another_user_and_to_other_pages(mlflow, elsewhere, browser):
    for path in ("", "/health", "/ajax-api/2.0/mlflow/experiments/search?max_results=5", "/get-artifact?path=x&run_uuid=x"):
        assert told_to_nobody(f"{mlflow}{path}").endswith("\n401")
    asked = "async address => { try { return await (await fetch(address)).text() } catch (error) { return error.name } }"
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(elsewhere)
        assert page.evaluate(asked, f"{mlflow}/ajax-api/2.0/mlflow/experiments/search?max_results=5") == "TypeError"


def test_who_has_the_password_sees_the_runs(mlflow, browser):
    with browser.new_context(http_credentials={"username": "me", "password": "word"}) as context:
        page = context.new_page()
        page.goto(f"{mlflow}/#/experiments")
        page.get_by_text("survey").first.wait_for(timeout=120_000)


@pytest.mark.long
def test_the_password_is_another_one_at_the_next_start_and_gone_when_it_ends(serving: Serving):
    first = serving.password
    assert serving.stop() == 0, serving.log
    assert not (serving.home / "serve" / "auth-string").exists()
    serving.start()
    assert serving.password != first
    with pytest.raises(httpx.HTTPStatusError):
        asked(serving.api, "POST", "deployments/filter", {}, password=first)
    assert serving.deployment("good")
