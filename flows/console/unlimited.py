"""What a reader would expect a policy to limit, and this one does not."""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter

from tasks.mask.methods import Masking
from tasks.score.policy import DECLARED, INSIDER, PolicyLine, cannot_fail

WANTED = {
    ("reidentification", DECLARED): "on the share of records that the declared intruder finds (reidentification)",
    ("reidentification", INSIDER): "on insiders, who also know one more of the published attributes",
    ("max_record_risk", DECLARED): "on the person who is easiest to find (max_record_risk)",
    ("k_anonymity", DECLARED): "on the smallest group of records that look alike (k_anonymity)",
}


def unlimited(scorecard: dict[str, Any], spec: dict[str, Any]) -> list[str]:
    """Phrases that end `no limit ...`, in the order of `WANTED`; a limit that no release can break limits nothing.

    scorecard: the public one. spec: the release file as the manifest holds it. Where values move, k bounds nothing and need not
    be limited; nor need the largest risk where exposed records and known links are: one lucky guess makes it 1.
    """
    lines = [PolicyLine.model_validate_json(json.dumps(line)) for line in spec["policy"]]
    limited = {(line.measure, (line.intruder or DECLARED).partition(":")[0]) for line in lines if not cannot_fail(line)}
    needless = set()
    if not any((figure["intruder"] or "").startswith(f"{INSIDER}:") for figure in scorecard["estimates"]):
        needless.add(("reidentification", INSIDER))
    steps = TypeAdapter(tuple[Masking, ...]).validate_json(json.dumps(spec.get("masking") or ()))
    if any(step.values_move for step in steps):
        needless.add(("k_anonymity", DECLARED))
    if {("records_exposed", DECLARED), ("known_reidentification", DECLARED)} <= limited:
        needless.add(("max_record_risk", DECLARED))
    missing = [words for what, words in WANTED.items() if what not in limited | needless]
    return [*missing, *_found_for_certain(scorecard, limited)]


def _found_for_certain(scorecard: dict[str, Any], limited: set[tuple[str, str]]) -> list[str]:
    """Somebody whom an insider finds with certainty, which no line on the declared intruder shows."""
    certain = (
        figure["intruder"].partition(":")[2]
        for figure in scorecard["estimates"]
        if figure["measure"] == "max_record_risk" and figure["value"] == 1 and (figure["intruder"] or "").startswith(INSIDER)
    )
    who = next(certain, None)
    if who is None or ("max_record_risk", INSIDER) in limited:
        return []
    return [f"on the person whom an insider who also knows {who} finds with certainty (max_record_risk, intruder: insider)"]
