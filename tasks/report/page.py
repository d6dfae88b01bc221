"""The report as one HTML page that needs nothing but itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tasks.microdata.numbers import count
from tasks.microdata.words import join_with_and
from tasks.report import mask_description as masks
from tasks.report.compiled_templates import TemplateCache
from tasks.report.content import Content
from tasks.report.kinds import find_report
from tasks.report.views import (
    attacks,
    cell_members,
    concluded_rules,
    estimated,
    exceptions,
    figures,
    fully_synthetic,
    inference,
    insider_curve,
    membership,
    membership_summary,
    missing,
    model,
    origin,
    overview,
    planned_looks,
    policy_lines,
    residual,
    singling_out,
    table_risks,
)
from tasks.report.wording.meanings import MEANINGS

_TEMPLATES = "templates"
_STEERING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_MARKER = re.compile(r"<!--stamp:(\w+)-->")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What is known of a report only when it is issued.

    run: the id of the run. issued_at: with its time zone. attempts: how often the series masked this source so far, this
    one included.
    sweep, points_tried: in which sweep the parameters were chosen, and among how many candidates; None: in none that it names.
    released_file, sha256, content_address: of the released table; None where nothing was released.
    """

    run: str
    issued_at: datetime
    attempts: int
    sweep: str | None = None
    points_tried: int | None = None
    released_file: str | None = None
    sha256: str | None = None
    content_address: str | None = None

    def __post_init__(self) -> None:
        if self.issued_at.tzinfo is None:
            raise ValueError("issued_at needs a time zone")
        if (self.released_file is None) != (self.sha256 is None):
            raise ValueError("a released file and its sha256 come together")


def render_report(content: Content) -> str:
    """The report of the content's edition, complete but for the places that `stamp_page` fills.

    All texts are escaped, and a template that misses something fails. Nothing is fetched: styles stand in the page, there are
    no scripts, and the content security policy allows neither. Deterministic.
    """
    template = _create_environment().get_template("report.html")
    rooms = {
        "overview": overview,
        "policy": policy_lines,
        "looks": planned_looks,
        "attacks": attacks,
        "cell_members": cell_members,
        "concluded_rules": concluded_rules,
        "masks": masks,
        "residual": residual,
        "table_risks": table_risks,
        "exceptions": exceptions,
        "missing": missing,
        "inference": inference,
        "singling_out": singling_out,
        "membership": membership,
        "membership_summary": membership_summary,
        "nobody": fully_synthetic,
        "model": model,
        "origin": origin,
        "figures": figures,
        "insider_curve": insider_curve,
        "estimated": estimated,
    }
    return template.render(content=content, report=find_report(content), count=count, meanings=MEANINGS, **rooms)


def stamp_page(page: str, stamp: Stamp) -> str:
    """The page with run, time, attempts and released file filled in.

    The places are HTML comments: escaped text holds no `<`, so no name or category can forge one. All are filled in one pass,
    so that what is filled in is not searched again.
    Raises ValueError for a page whose places are not exactly those that are to be filled (one that was stamped before).
    """
    blocks = (
        _create_environment().get_template("stamp.html").make_module({"stamp": stamp, "when": _format_moment(stamp.issued_at)})
    )
    parts = {"line": str(blocks.line()), "table": str(blocks.table())}  # type: ignore[attr-defined]  # macros of the template
    found = _MARKER.findall(page)
    if sorted(found) != sorted(parts):
        raise ValueError(f"the page has the places {found}, not {sorted(parts)}")
    return _MARKER.sub(lambda match: parts[match[1]], page)


def create_marker(name: str) -> Markup:
    """The place of a part that is filled in later."""
    return Markup(f"<!--stamp:{name}-->")  # noqa: S704  a constant of the template, never a text of the content


def escape_directions(value: object) -> object:
    """A text whose marks that steer the direction of writing are written as their codes.

    In a name such a mark would turn the figures that stand after it: 9.96 % would be read as 69.9 %.
    """
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", value)


@cache
def _create_environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("tasks.report", _TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=escape_directions,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=TemplateCache("page"),
    )
    environment.globals["marker"] = create_marker
    environment.filters["names"] = join_with_and
    return environment


def _format_moment(moment: datetime) -> str:
    return f"{moment.day} {moment:%B %Y, %H:%M} {moment.tzname()}"
