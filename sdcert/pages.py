"""What notebooks show of results: tables, and the charts of the report in its own style."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import pandas as pd
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tasks.microdata.alignment import NoAlignment
from tasks.report.page import escape_directions

if TYPE_CHECKING:
    from sdcert.figure_tables import FigureTable
    from sdcert.frame_attacks import AttackFigures
    from sdcert.frame_scores import RehearsedVerdict
    from sdcert.masked_frames import MaskedFrame
    from tasks.report.content import Content
    from tasks.report.views.figures import Figure

ROWS = 10  # of a masked table that are shown


def render_masked_frame(masked: MaskedFrame) -> str:
    """The steps, and the first rows."""
    steps = pd.DataFrame([{"method": step["method"], "parameters": _list_parameters(step)} for step in masked.mechanism])
    return render_table("What was done", steps) + render_table(
        f"The first of {len(masked.table):,} rows", masked.table.head(ROWS)
    )


def render_figures(figures: FigureTable) -> str:
    """The figures, but for those by subgroup."""
    found = figures.to_frame()
    return render_table("Figures", found[found["subgroup"].isna()].reset_index(drop=True)[_SHOWN])


def render_verdict(verdict: RehearsedVerdict) -> str:
    """The lines of the policy, and what decided each."""
    return render_table(f"Rehearsal: {verdict.outcome}", verdict.to_frame())


def render_attack_figures(figures: AttackFigures) -> str:
    """The figures of each question that was asked, and of linkage the charts of the report in its internal edition."""
    tables = "".join(_render_kind(figures, caption, measures) for caption, measures in _KINDS)
    if not figures.results:
        return tables
    page = _create_environment().get_template("charts.html").render(figures=_draw_charts(figures))
    return tables + frame_page(page)


def _render_kind(figures: FigureTable, caption: str, measures: tuple[str, ...]) -> str:
    found = figures.to_frame()
    asked = found[found["measure"].isin(measures) & found["subgroup"].isna()]
    return "" if asked.empty else render_table(caption, asked.reset_index(drop=True)[_SHOWN])


def render_table(caption: str, table: pd.DataFrame) -> str:
    """A data frame with its caption; what stands in cells is escaped."""
    text = {name: [_format_cell(value) for value in table[name]] for name in table.columns}
    return (
        _create_environment()
        .get_template("table.html")
        .render(caption=caption, columns=list(text), rows=list(zip(*text.values(), strict=True)))
    )


def frame_page(page: str) -> str:
    """A whole page inside a notebook, apart from the notebook's own styles; it can run no script."""
    return _create_environment().get_template("frame.html").render(page=page)


_KINDS = (
    ("Re-identification", ("reidentification",)),
    ("Membership", ("membership_auc", "membership_advantage", "insider_membership_auc")),
    ("Inference", ("inference_excess", "inference_asserted")),
)
_SHOWN = ["measure", "attack", "intruder", "attribute", "value", "low", "high", "chance", "unit", "status"]


def _draw_charts(found: AttackFigures) -> tuple[Figure, ...]:
    from tasks.report.views.figures import (
        candidate_figures,
        knowledge_figures,
        precision_figures,
        subgroup_figures,
        summary_figure,
    )

    content = _create_content(found)
    summary = summary_figure(content)
    first = () if summary is None else (summary,)
    return (
        *first,
        *knowledge_figures(content),
        *candidate_figures(content),
        *precision_figures(content),
        *subgroup_figures(content),
    )


def _create_content(found: AttackFigures) -> Content:
    """What the report would be made from, as far as attacks are told of."""
    from dataclasses import replace

    from sdcert.frame_attacks import ATTACK
    from sdcert.rehearsals import create_rehearsed_release
    from tasks.report.charts.data import chart_data
    from tasks.report.content import Content
    from tasks.report.plan import ReportPlan
    from tasks.score.policy import DECLARED
    from tasks.score.verdict import Verdict

    plan, masked = create_rehearsed_release(ATTACK, found.content).report_plan, found.masked
    left = ("omit", "control_table", "policy", "epsilon_over_releases")
    content = Content(
        **{name: getattr(plan, name) for name in ReportPlan.model_fields if name not in left},
        ingest=masked.report,
        schema=found.schema,
        mechanisms=masked.mechanisms,
        attacks=tuple(replace(one, outcomes=None) for one in found.results),
        estimates=found.estimates,
        verdict=Verdict("undecided", ()),
        policy=(),
        rows_in=masked.original.n,
        rows_out=masked.masked.n,
    )
    ran = [one for one in found.results if one.outcomes is not None and one.status == "ok" and one.intruder == DECLARED]
    outcomes: dict[str, Any] = {one.attack: one.outcomes for one in ran}
    if isinstance(masked.alignment, NoAlignment):
        return content
    touched = frozenset(content.masking_targets)
    tables = (masked.original, masked.masked, masked.alignment, found.schema)
    return replace(content, charts=chart_data(*tables, touched, outcomes, "internal"))


def _list_parameters(step: dict[str, Any]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in step.items() if name != "method")


def _format_cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.4g}"
    return "" if value is None else str(value)


@cache
def _create_environment() -> Environment:
    loaders = [PackageLoader("sdcert", "templates"), PackageLoader("tasks.report", "templates")]
    environment = Environment(
        loader=ChoiceLoader(loaders),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=escape_directions,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["style"] = Markup(environment.get_template("report.css").render())  # noqa: S704  our own
    return environment
