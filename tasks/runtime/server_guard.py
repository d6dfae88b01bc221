"""The guard of the Prefect servers that this program starts: a password made for each start, and no page of another origin.

Whoever may use the API of a server with a worker has commands run as the user of that worker. So the API asks for a password
(Prefect calls it the auth string), which travels in environments, and lies in one private file while `sdcert serve` runs.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
from pathlib import Path

from tasks.microdata.regular_files import LARGEST_NOTE, read_file, read_text_file
from tasks.runtime.files import write_whole

ADDRESS, CLIENT, SERVER = "PREFECT_API_URL", "PREFECT_API_AUTH_STRING", "PREFECT_SERVER_API_AUTH_STRING"
CLOUD_KEY = "PREFECT_API_KEY"
FOLDER, PASSWORD_FILE, STATE_FILE = "serve", "auth-string", "state.json"
NO_ORIGIN = "none"  # no page has this origin


def guard_servers(home: Path) -> None:
    """Give this process, and what it starts, the password of the Prefect server that it will use.

    Where `PREFECT_API_URL` names no server, one will be started for this process alone: it gets a new password. Where it names
    the one that `sdcert serve` of this home started, its password is read. Other servers are the user's, and so are their
    passwords. A password for servers that the user has set stays.
    """
    address = os.environ.get(ADDRESS)
    if not address:
        os.environ.update(create_server_settings(os.environ.get(SERVER) or os.environ.get(CLIENT) or new_password()))
    elif (password := password_for(address, home)) is not None:
        os.environ[CLIENT] = password


def password_for(address: str, home: Path) -> str | None:
    """The password of the server at this address, where nobody has set one, and it is the one that this home serves."""
    if os.environ.get(CLIENT) or os.environ.get(CLOUD_KEY) or address.rstrip("/") != read_served_address(home):
        return None
    return read_served_password(home)


def new_password() -> str:
    """A user and a password of 256 bits, as Prefect writes both."""
    return f"sdcert:{secrets.token_urlsafe(32)}"


def create_server_settings(password: str, root: str = "") -> dict[str, str]:
    """What a server must find in its environment. root: where its pages are, which then ask that address and no other."""
    origins = (root, root.replace("127.0.0.1", "localhost")) if root else (NO_ORIGIN,)  # a browser may name it in either way
    pages = {"PREFECT_SERVER_UI_API_URL": f"{root}/api"} if root else {}
    return {
        **pages,
        SERVER: password,
        CLIENT: password,
        "PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS": ",".join(origins),
        "PREFECT_SERVER_API_CSRF_PROTECTION_ENABLED": "true",
        "PREFECT_CLIENT_CSRF_SUPPORT_ENABLED": "true",
    }


def credentials() -> dict[str, str]:
    """The header with which Prefect's own client says who it is."""
    key, password = os.environ.get(CLOUD_KEY), os.environ.get(CLIENT)
    if password:
        return authorization(password)
    return {"Authorization": f"Bearer {key}"} if key else {}


def authorization(password: str) -> dict[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(password.encode()).decode()}"}


def keep_password(home: Path, password: str) -> Path:
    """Write the password of a served home into its private file; returns the file."""
    path = home / FOLDER / PASSWORD_FILE
    write_whole(path, password.encode())
    return path


def read_served_password(home: Path) -> str | None:
    """The password of the server that `sdcert serve` of this home started; None where there is none."""
    try:
        return read_text_file(home / FOLDER / PASSWORD_FILE, LARGEST_NOTE) or None
    except (OSError, ValueError):
        return None


def read_served_address(home: Path) -> str | None:
    """The API that `sdcert serve` of this home uses; None where it does not run, or ended without a word."""
    try:
        return f"{json.loads(read_file(home / FOLDER / STATE_FILE, LARGEST_NOTE))['address']}/api"
    except (OSError, ValueError, KeyError, TypeError):
        return None
