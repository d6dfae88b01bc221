"""Describe the intruders, and the strongest among them, for the certificate."""

from __future__ import annotations

from collections.abc import Iterable

from tasks.microdata.estimate import Estimate
from tasks.report.content import Content, extract_extra_knowledge
from tasks.report.predicate import NOT_ASSESSED, AttackModel, InsiderClaim, NotAssessed, Texts
from tasks.report.views.insider_curve import find_complete_size
from tasks.report.views.planned_looks import create_looks_claim
from tasks.score.catalogue import MEASURES
from tasks.score.measures.linkage import MAX_RECORD_RISK, REIDENTIFICATION


def build_attack_model(content: Content) -> AttackModel:
    """Who attacked, and what the strongest of them found, as the certificate says it."""
    ran = [result for result in content.attacks if result.status == "ok"]
    insiders = dict.fromkeys(extract_extra_knowledge(result.intruder) for result in content.attacks)
    most, average = (find_worst_risk(content, measure) for measure in (MAX_RECORD_RISK.name, REIDENTIFICATION.name))
    return AttackModel(
        declared_knows=content.intruder_knowledge,
        participation_known=content.kind.is_table and content.intruder.participation_known,
        targets=content.share_of_targets,
        looks=create_looks_claim(content),
        records=content.intruder.records,
        insiders=tuple(name for name in insiders if name),
        maximum_risk=_read_value(most),
        maximum_risk_is_lower_bound=_is_bound(most),
        average_risk=_read_value(average),
        average_risk_is_lower_bound=_is_bound(average),
        direction=_list_distinct(result.direction for result in ran),
        scale=_list_distinct(result.scale_by for result in ran),
        credit=_list_distinct(result.credit_rule for result in ran),
        worst_insider=find_worst_insider(content),
        insiders_know=content.intruder.insiders_know,
        insiders_all_sets_up_to=find_complete_size(content),
    )


def find_worst_insider(content: Content) -> InsiderClaim | None:
    """The figure of the insider who finds most; None: no insider gave one."""
    worst = content.worst(REIDENTIFICATION.name, declared=False)
    if worst is None or worst.value is None:
        return None
    return InsiderClaim(
        intruder=worst.intruder or "",
        attack=worst.attack or "",
        reidentification=worst.value,
        lower_bound=worst.is_lower_bound,
    )


def find_worst_risk(content: Content, measure: str) -> Estimate | None:
    """The largest figure of a measure for those who know what the release declares: its intruder, or the holder of a file."""
    declared = True if MEASURES[measure].by_attack else None
    found = (content.worst(measure, declared=declared), content.worst_of_files(measure))
    return content.largest(one for one in found if one is not None)


def _read_value(figure: Estimate | None) -> float | NotAssessed:
    return NOT_ASSESSED if figure is None or figure.value is None else figure.value


def _is_bound(figure: Estimate | None) -> bool:
    return figure is not None and figure.is_lower_bound


def _list_distinct(texts: Iterable[str | None]) -> Texts | NotAssessed:
    return tuple(dict.fromkeys(text for text in texts if text is not None)) or NOT_ASSESSED
