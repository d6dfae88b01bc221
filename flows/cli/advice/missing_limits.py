"""Find what a reader would expect a policy to limit, and this one does not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pydantic import TypeAdapter

from tasks.mask.methods import Masking
from tasks.microdata.schema import Role
from tasks.report.wording.units import substitute_unit
from tasks.score.measures.membership import DECIDING
from tasks.score.policy import DECLARED, INSIDER, PolicyLine, cannot_fail

WANTED = {
    ("reidentification", DECLARED): "on the share of records that the declared intruder finds (reidentification)",
    ("reidentification", INSIDER): "on insiders, who also know one more of the published attributes",
    ("max_record_risk", DECLARED): "on the person who is easiest to find (max_record_risk)",
    ("k_anonymity", DECLARED): "on the smallest group of records that look alike (k_anonymity)",
}

UNIQUES = ("uniques_released", "replicated_uniques")
OF_NOBODY = (
    (("linked_value_disclosed",), "on the confidential values that the rows nearest to a person tell (linked_value_disclosed)"),
    (UNIQUES, "on people who are alone in the source and have a row like them (uniques_released, replicated_uniques)"),
)


def find_missing_limits(scorecard: dict[str, Any], spec: dict[str, Any]) -> list[str]:
    """Phrases that end `no limit ...`, in the order of `WANTED`; a limit that no release can break limits nothing.

    scorecard: the public one. spec: the release file as the manifest holds it. Where values move, k bounds nothing and need not
    be limited; nor need the largest risk where exposed records and known links are: one lucky guess makes it 1. Of rows that
    belong to nobody it is what can be measured there that wants a limit.
    """
    joined = any(one.get("role") == Role.PERSON for one in spec.get("attributes") or ())
    unit = None if joined else (spec.get("context") or {}).get("unit")
    if spec.get("release") is not None:
        return list(_find_missing_model_limits(spec))
    if (spec.get("released") or {}).get("align") == "none":
        return list(_find_missing_synthetic_limits(scorecard, spec))
    lines = [PolicyLine.model_validate_json(json.dumps(line)) for line in spec["policy"]]
    limited = {(line.measure, (line.intruder or DECLARED).partition(":")[0]) for line in lines if not cannot_fail(line)}
    needless = set()
    if not any((figure["intruder"] or "").startswith(f"{INSIDER}:") for figure in scorecard["estimates"]):
        needless.add(("reidentification", INSIDER))
    steps = TypeAdapter(tuple[Masking, ...]).validate_json(json.dumps(spec.get("masking") or ()))
    if any(step.moves_values for step in steps):
        needless.add(("k_anonymity", DECLARED))
    if {("records_exposed", DECLARED), ("known_reidentification", DECLARED)} <= limited:
        needless.add(("max_record_risk", DECLARED))
    know = ((spec.get("intruder") or {}).get("insiders") or {}).get("know", 1)
    more = "one more" if know == 1 else f"up to {know} more"
    wanted = ((what, words.replace("one more", more)) for what, words in WANTED.items() if what not in limited | needless)
    missing = [substitute_unit(words, unit) for _, words in wanted]
    return [*missing, *_find_certain_insider(scorecard, limited, unit)]


def _find_missing_model_limits(spec: dict[str, Any]) -> Iterator[str]:
    lines = [PolicyLine.model_validate_json(json.dumps(line)) for line in spec["policy"]]
    if not any(line.measure in DECIDING and not cannot_fail(line) for line in lines):
        yield f"on how well members of its training set are told from others ({', '.join(DECIDING)})"


def _find_missing_synthetic_limits(scorecard: dict[str, Any], spec: dict[str, Any]) -> Iterator[str]:
    lines = [PolicyLine.model_validate_json(json.dumps(line)) for line in spec["policy"]]
    limited = {line.measure for line in lines if not cannot_fail(line)}
    measured = {figure["measure"] for figure in scorecard["estimates"] if figure["value"] is not None}
    for measures, words in OF_NOBODY:
        if measured.intersection(measures) and limited.isdisjoint(measures):
            yield words


def _find_certain_insider(scorecard: dict[str, Any], limited: set[tuple[str, str]], unit: str | None) -> list[str]:
    """Somebody whom an insider finds with certainty, which no line on the declared intruder shows."""
    certain = (
        figure["intruder"].partition(":")[2]
        for figure in scorecard["estimates"]
        if figure["measure"] == "max_record_risk" and figure["value"] == 1 and (figure["intruder"] or "").startswith(INSIDER)
    )
    who = next(certain, None)
    if who is None or ("max_record_risk", INSIDER) in limited:
        return []
    found = f"an insider who also knows {who} finds with certainty (max_record_risk, intruder: insider)"
    return [f"on the {unit or 'person'} whom {found}"]
