"""What pages with a script share: their templates, and a content security policy that allows one script and one style."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def create_environment(package: str, folder: str) -> Environment:
    """Templates of that folder, and the shared ones of the report: `paged_table.js`, `paged_table.css`, `report.css`."""
    loader = ChoiceLoader([PackageLoader(package, folder), PackageLoader("tasks.report", "templates")])
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def render_page(environment: Environment, name: str, *, json: str, drawing: dict[str, str] | None = None, **parts: Any) -> str:
    """The page `name` with its script, its style and its data inside, so that it fetches nothing.

    json: the data, without any `<`. drawing: constants for the script.
    """
    style, script = (environment.get_template(f"{name}.{kind}").render(**(drawing or {})) for kind in ("css", "js"))
    policy = (
        f"default-src 'none'; style-src {_format_csp_hash(style)}; script-src {_format_csp_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    inside = {"style": Markup(style), "script": Markup(script), "json": Markup(json)}  # noqa: S704  ours, or escaped by the caller
    return environment.get_template(f"{name}.html").render(policy=policy, **inside, **parts)


def _format_csp_hash(content: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
