"""anonymeter's three evaluators on one release: run by the Python of an environment that has anonymeter, and nothing of ours.

`python anonymeter_evaluators.py FOLDER`: reads `spec.json`, `members.csv`, `others.csv` and `released.csv`, and writes a
line of JSON: by evaluator its risk with the ends of its interval, and the shares of attacks that succeed on members and on
others.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from anonymeter.evaluators.inference_evaluator import InferenceEvaluator
from anonymeter.evaluators.linkability_evaluator import LinkabilityEvaluator
from anonymeter.evaluators.singling_out_evaluator import SinglingOutEvaluator

ATTEMPTS = 10_000  # to find predicates; by default ten million, hours where the rows of a release are alike


def describe(evaluator: Any) -> dict[str, float]:
    """The risk and its interval, and the plain shares of attacks that succeed."""
    risk, found = evaluator.risk(), evaluator.results()
    return {
        "risk": float(risk.value),
        "low": float(risk.ci[0]),
        "high": float(risk.ci[1]),
        "members": float(found.n_success / found.n_attacks_ori),
        "others": float(found.n_control / found.n_attacks_control),
    }


def main() -> None:
    """Evaluate the release of a folder."""
    warnings.simplefilter("ignore")  # that an attack is no better than its baseline, which the figures say
    folder = Path(sys.argv[1])
    spec = json.loads((folder / "spec.json").read_text())
    texts = dict.fromkeys(spec["texts"], str)
    members, others, released = (pd.read_csv(folder / f"{name}.csv", dtype=texts) for name in ("members", "others", "released"))
    of = {"ori": members, "syn": released, "control": others}
    np.random.seed(spec["seed"])  # pandas draws the targets from it
    found = {}
    for mode, columns in (("univariate", 1), ("multivariate", 3)):
        singling = SinglingOutEvaluator(
            **of, n_attacks=spec["attacks"], n_cols=columns, seed=spec["seed"], max_attempts=ATTEMPTS
        )
        found[f"singling out, {mode}"] = describe(singling.evaluate(mode=mode))
    both = min(len(members), len(others), spec["attacks"])
    parts = tuple(spec["parts"])
    found["linkability"] = describe(LinkabilityEvaluator(**of, aux_cols=parts, n_attacks=both).evaluate(n_jobs=1))
    inference = InferenceEvaluator(
        **of, aux_cols=spec["knows"], secret=spec["secret"], regression=spec["is_number"], n_attacks=spec["attacks"]
    )
    found["inference"] = describe(inference.evaluate(n_jobs=1))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
