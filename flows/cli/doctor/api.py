"""What `sdcert doctor` says of a Prefect server that is up: does it refuse who has no password, and pages of other origins?

Whoever may use its API has commands run as the user of its worker.
"""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from flows.cli.doctor.home import OTHERS, Finding, fail, fine, warn
from flows.scheduled.deployments import JOB_VARIABLES, TAG
from tasks.runtime.server_guard import (
    ADDRESS,
    FOLDER,
    PASSWORD_FILE,
    authorization,
    credentials,
    password_for,
    read_served_address,
)
from tasks.runtime.settings import Home

TOPIC = "server"
SECONDS_TO_ANSWER = 10
FOREIGN = "https://sdcert.invalid"
UNREADABLE = (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError)
CLOSE = "let `sdcert serve` start the server; for one of yours set PREFECT_SERVER_API_AUTH_STRING (OPERATIONS.md)"
START_AGAIN = "start `sdcert serve` again, which puts it right; on a server of yours edit the base job template of the pool"


def api_address() -> str | None:
    """The server that PREFECT_API_URL names, or that `sdcert serve` of this home uses."""
    return os.environ.get(ADDRESS) or read_served_address(Home.current().root)


@contextmanager
def api_client(address: str) -> Iterator[httpx.Client]:
    """A client with the credentials of the server, and with its token against forged requests where it wants one."""
    password = password_for(address, Home.current().root)
    who = credentials() if password is None else authorization(password)
    with httpx.Client(base_url=f"{address.rstrip('/')}/", headers=who, timeout=SECONDS_TO_ANSWER) as client:
        client.headers.update(_token(client))
        yield client


def check_api() -> Iterator[Finding]:
    """Nothing where no server is up: another finding says that one is named and does not answer."""
    address = api_address()
    if not address:
        return
    try:
        with httpx.Client(base_url=f"{address.rstrip('/')}/", timeout=SECONDS_TO_ANSWER) as stranger:
            yield from _check_stranger(stranger)
        with api_client(address) as client:
            yield from _check_known(client)
    except UNREADABLE as error:
        says = f"how the Prefect server is guarded could not be looked at ({type(error).__name__})"
        yield warn(TOPIC, says, "see the line on prefect")
    yield from _password_file()


def _check_stranger(stranger: httpx.Client) -> Iterator[Finding]:
    if stranger.get("admin/version").is_success:
        says = "the Prefect server answers without a password: who reaches it can run commands as the user of its worker"
        yield fail(TOPIC, says, CLOSE)
    else:
        yield fine(TOPIC, "the Prefect server answers nobody without its password")
    asked = {"Origin": FOREIGN, "Access-Control-Request-Method": "POST"}
    if stranger.options("deployments/filter", headers=asked).headers.get("access-control-allow-origin") in ("*", FOREIGN):
        says = "web pages of every origin may use the Prefect server"
        yield fail(TOPIC, says, f"{CLOSE}, and PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS to its own address")


def _check_known(client: httpx.Client) -> Iterator[Finding]:
    if client.get("admin/version").status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
        yield fail(TOPIC, "the Prefect server refuses the password that is at hand", "set PREFECT_API_AUTH_STRING to its own")
        return
    if _TOKEN not in client.headers and not client.headers.get("Authorization", "").startswith("Bearer"):
        says = "the Prefect server does not ask for a token against forged requests"
        yield warn(TOPIC, says, "set PREFECT_SERVER_API_CSRF_PROTECTION_ENABLED=true where it is started")
    answer = client.post("deployments/filter", json={"deployments": {"tags": {"all_": [TAG]}}, "limit": 200})
    answer.raise_for_status()
    for name in sorted({one["work_pool_name"] for one in answer.json() if one.get("work_pool_name")}):
        pool = client.get(f"work_pools/{name}").raise_for_status().json()
        if chosen := list_free_choices(pool["base_job_template"]):
            says = f"runs of the work pool {name} may choose their {', '.join(chosen)}"
            yield fail(TOPIC, says, START_AGAIN) if pool["type"] == "process" else warn(TOPIC, says, START_AGAIN)


def list_free_choices(template: dict[str, Any]) -> list[str]:
    """What a run may choose that decides which code runs. Without a template Prefect lets it choose all."""
    if not template:
        return ["command"]
    configured = template.get("job_configuration", {})
    return sorted(name for name, value in configured.items() if name not in JOB_VARIABLES and "{{" in str(value))


def _password_file() -> Iterator[Finding]:
    path = Home.current().root / FOLDER / PASSWORD_FILE
    if path.is_file() and stat.S_IMODE(path.stat().st_mode) & OTHERS:
        yield fail(TOPIC, f"others can read the password of the Prefect server ({path})", "start `sdcert serve` again")


_TOKEN = "Prefect-Csrf-Token"  # noqa: S105  # the name of a header


def _token(client: httpx.Client) -> dict[str, str]:
    """The headers against forged requests, as Prefect's own client asks for them; none where the server wants none."""
    asker = str(uuid.uuid4())
    answer = client.get("csrf-token", params={"client": asker})
    content = answer.json() if answer.is_success else None
    return {_TOKEN: content["token"], "Prefect-Csrf-Client": asker} if isinstance(content, dict) else {}
