"""A small survey and its release file, for tests that run the whole chain."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np

ROWS = 80
WRITTEN: set[Path] = set()  # tables that tests wrote as inputs
CANARY = {"person_id": 990017, "age": 77.25, "income": 918273.5, "town": 4455667, "vote": "zanzibar-quux"}
CANARY_LINE = ",".join(str(value) for value in CANARY.values())


def survey(rows: int = ROWS, *, canary: bool = False) -> str:
    rng = np.random.default_rng(1)
    lines = ["person_id,age,income,town,vote"]
    for i in range(rows):
        age, income, town = rng.integers(18, 90) + 0.25, rng.integers(100, 9000) * 100.5, rng.integers(1000, 900000)
        lines.append(f"{1000 + i},{age},{income},{town},{'yes' if rng.random() < 0.4 else 'no'}")
    if canary:
        lines.append(CANARY_LINE)
    return "\n".join(lines) + "\n"


RELEASE: dict[str, Any] = {
    "name": "survey",
    "source": {"table": "survey.csv"},
    "key": "person_id",
    "attributes": {
        "age": {"role": "quasi_identifier", "scale": "numeric"},
        "income": {"role": "quasi_identifier", "scale": "numeric"},
        "town": {"role": "quasi_identifier", "scale": "numeric"},
        "vote": {"role": "confidential", "scale": "nominal"},
    },
    "masking": [{"method": "microaggregation", "attributes": ["age", "income", "town"], "k": 5}],
    "intruder": {"curve": False},
    "inference": [],
    "policy": [{"measure": "reidentification", "at_most": 0.4}],
}

HARDLY_COMPILED: dict[str, Any] = {  # for tests of changed code, after which everything is compiled anew
    "masking": [{"method": "noise", "kind": "independent", "attributes": ["age", "income", "town"], "sd_percent": 50}],
    "attacks": [{"method": "distance_linkage"}],
    "omit": [{"attack": "transparency", "reason": "the changed code is in other files"}],
    "policy": [{"measure": "reidentification", "at_most": 1.0}],
}


REASON = "not what this test is about"


def answer_as_proposed(prompt: str) -> str:
    """What is typed where a question is put: what it proposes, or a reason where it proposes nothing."""
    return "" if "[1]" in prompt else REASON


OF_TABLE = ("insiders", "inference", "membership")


def with_every_kind(release: dict[str, Any]) -> dict[str, Any]:
    """The release with a limit or a reason for each kind of disclosure; lines that its own policy lacks come last."""
    policy = list(release["policy"])
    if "model" in (release.get("release") or {}):
        reasons: tuple[str, ...] = ("inference",)
    elif (release.get("released") or {}).get("align") == "none":
        by_membership = any(line["measure"].startswith("membership_a") for line in policy)
        reasons = ("inference",) if by_membership else ("membership", "inference")
        limited = {line["measure"] for line in policy if line.get("at_most", 1) < 1}
        needed = not by_membership and "linked_value_disclosed" not in limited
        policy += [{"measure": "linked_value_disclosed", "at_most": 0.999}] if needed else []
    elif release.get("not_for_publication"):
        reasons = ("identity", *OF_TABLE)
    else:
        reasons = OF_TABLE
        declared = [
            line for line in policy if line.get("intruder", "declared") == "declared" and "accept_other_attacks" not in line
        ]
        limited = {line["measure"] for line in declared if line.get("at_most", 1) < 1}
        policy += [{"measure": "reidentification", "at_most": 0.999}] if limited.isdisjoint(RATES) else []
        policy += [{"measure": "records_exposed", "at_most": 0.999}] if limited.isdisjoint(TAILS) else []
    if release.get("inference") == [] and ("model" in (release.get("release") or {}) or _infers(policy)):
        release = {name: value for name, value in release.items() if name != "inference"}
    return {**release, "policy": policy, "not_limited": release.get("not_limited", dict.fromkeys(reasons, REASON))}


def _infers(policy: list[dict[str, Any]]) -> bool:
    return any("inference" in line["measure"] for line in policy)


RATES = {"reidentification", "known_links", "known_reidentification"}
TAILS = {"records_exposed", "max_record_risk"}


def write_release(folder: Path, change: dict[str, Any] | None = None, *, text: str | None = None) -> Path:
    """Write the survey and its release file, some top-level fields changed (None removes one); returns the release file.

    JSON is YAML: the file is read as any other.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "survey.csv").write_text(survey() if text is None else text)
    WRITTEN.add(folder / "survey.csv")
    release = copy.deepcopy(RELEASE)
    for name, value in (change or {}).items():
        release[name] = value
        if value is None:
            del release[name]
    if (
        release.get("policy")
        and isinstance(release["policy"], list)
        and all(isinstance(line, dict) for line in release["policy"])
    ):
        release = with_every_kind(release)
    path = folder / "release.yaml"
    path.write_text(json.dumps(release, indent=1).replace("Infinity", ".inf"))
    return path
