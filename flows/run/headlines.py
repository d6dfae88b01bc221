"""What MLflow shows of a release beside its policy: a dozen figures under names that all releases share, and the verdict.

All is of the public edition. The other figures are in `scorecard.json`, an artifact of the run.
"""

from __future__ import annotations

from collections.abc import Iterator

from flows.run.criterion_text import describe_criterion
from tasks.microdata.estimate import Estimate
from tasks.microdata.numbers import format_two_digits
from tasks.report.attack_model import find_worst_insider, find_worst_risk
from tasks.report.content import Content
from tasks.runtime.artifacts import create_adapter
from tasks.runtime.tracking_names import AT_LEAST
from tasks.score.catalogue import MEASURES
from tasks.score.verdict import Criterion

REIDENTIFICATION = "reidentification"
RISKS = {
    "max_record": "max_record_risk",
    "records_exposed": "records_exposed",
    "value_disclosed": "linked_value_disclosed",
    "inference_excess": "inference_excess",
    "membership_auc": "membership_auc",
    "k_anonymity": "k_anonymity",
}
LOSSES = ("sse_percent", "records_absent", "cells_changed", "rank_correlation_difference", "propensity_ratio")


def compute_headlines(content: Content) -> dict[str, float]:
    """The figures by which releases are compared: of each kind of risk the worst, of each kind of loss that of the whole table.

    `policy|kept`: how many of the `policy|lines` lines the release keeps. One that was not computed has no entry.
    """
    passed = sum(one.decision == "pass" for one in content.verdict.criteria)
    found: dict[str, float] = {"policy|kept": passed, "policy|lines": len(content.verdict.criteria)}
    insider = find_worst_insider(content)
    if insider is not None:
        found[f"risk|worst_insider{AT_LEAST * insider.lower_bound}"] = insider.reidentification
    worst = {"worst_declared": find_worst_risk(content, REIDENTIFICATION)}
    worst |= {name: _find_worst(content, measure) for name, measure in RISKS.items()}
    found |= dict(_name_figures("risk", worst))
    losses = {one.measure: one for one in content.losses() if one.measure in LOSSES}
    return found | dict(_name_figures("loss", losses))


def select_tracked_figures(content: Content) -> tuple[Estimate, ...]:
    """Those that have a metric of their own: what decided a line, and what each attack finds with what is declared."""
    deciding = {one.estimate for one in content.verdict.criteria}
    declared = {one.id for one in content.figures(REIDENTIFICATION, declared=True)}
    return tuple(one for one in content.estimates if one.id in deciding | declared)


def describe_shortly(content: Content) -> str:
    """The verdict and the risk of those who know what is declared: `certified 8.3 %`."""
    worst = find_worst_risk(content, REIDENTIFICATION)
    if worst is None or worst.value is None:
        return content.verdict.verdict
    return f"{content.verdict.verdict} {'at least ' * worst.is_lower_bound}{format_two_digits(100 * worst.value)} %"


def describe_verdict(content: Content) -> str:
    """The verdict as a sentence, with the lines of the policy that were not kept."""
    lines = [describe_criterion(_as_dict(one)) for one in content.verdict.criteria if one.decision != "pass"]
    return f"{content.name}: {content.word}{': ' * bool(lines)}{'; '.join(lines)}."


def _as_dict(criterion: Criterion) -> dict[str, object]:
    plain: dict[str, object] = create_adapter(Criterion).dump_python(criterion, mode="json")
    return plain


def _find_worst(content: Content, measure: str) -> Estimate | None:
    """Of all intruders that the release declares, or of all that were tried where none of them gave one."""
    if not MEASURES[measure].by_attack:
        return next((one for one in content.figures(measure) if one.attribute is None), None)
    return content.worst(measure, declared=True) or content.worst(measure)


def _name_figures(kind: str, figures: dict[str, Estimate | None] | dict[str, Estimate]) -> Iterator[tuple[str, float]]:
    for name, one in figures.items():
        if one is not None and one.value is not None:
            yield f"{kind}|{name}{AT_LEAST * one.is_lower_bound}", one.value
