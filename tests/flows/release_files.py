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
    "policy": [{"measure": "reidentification", "at_most": 0.4}],
}


REASON = "not what this test is about"


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
    path = folder / "release.yaml"
    path.write_text(json.dumps(release, indent=1).replace("Infinity", ".inf"))
    return path
