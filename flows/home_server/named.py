"""Ask a Prefect server that the user names, before anything depends on it."""

from __future__ import annotations

import os

from tasks.microdata.errors import InputError

SECONDS_TO_CONNECT, SECONDS_TO_ANSWER = 10, 60


def check_named_server() -> None:
    """InputError where `PREFECT_API_URL` names a Prefect server that does not answer, or that refuses our password."""
    import httpx

    from tasks.runtime.failures import CREDENTIALS
    from tasks.runtime.server_guard import credentials

    address = os.environ.get("PREFECT_API_URL")
    if not address:
        return
    shown_address = CREDENTIALS.sub("://***@", address)
    patience = httpx.Timeout(SECONDS_TO_CONNECT, read=SECONDS_TO_ANSWER)  # a busy server is slow to answer
    try:
        httpx.get(f"{address.rstrip('/')}/health", timeout=patience).raise_for_status()
        asked = httpx.get(f"{address.rstrip('/')}/admin/version", headers=credentials(), timeout=patience)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        what = f"no Prefect server answers there ({type(error).__name__})"
        remedy = "start it (`sdcert serve`), correct the address, or unset PREFECT_API_URL for the server of the home"
        raise InputError("no-server", "PREFECT_API_URL", what, "the address of a Prefect API", remedy, shown_address) from None
    if asked.status_code == httpx.codes.UNAUTHORIZED:
        what = "the Prefect server asks for a password, and the one in PREFECT_API_AUTH_STRING (if any) is not its own"
        remedy = "set PREFECT_API_AUTH_STRING: `sdcert serve` keeps it in the file serve/auth-string of its home"
        raise InputError("no-server", "PREFECT_API_AUTH_STRING", what, "the password of the server", remedy, shown_address)
