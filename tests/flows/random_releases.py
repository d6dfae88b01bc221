"""Releases drawn at random: tables, roles, chains of masks, intruders, attacks and policies, each of which may be certified."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

Rng = np.random.Generator
ATTACKS = ("distance_linkage", "transparency", "consistency", "probabilistic_linkage")
NOISES = ("independent", "correlated", "variance_restoring")
CONFIDENTIAL = "vote"


def draw_random_release(rng: Rng) -> tuple[dict[str, Any], str]:
    """A release file as a mapping, and the text of its table."""
    table, scales = _draw_table(rng)
    known = [name for name, scale in scales.items() if name != CONFIDENTIAL]
    roles = {name: {"role": "quasi_identifier", "scale": scale} for name, scale in scales.items()}
    if CONFIDENTIAL in scales:
        roles[CONFIDENTIAL]["role"] = "confidential"
    release: dict[str, Any] = {
        "name": "drawn",
        "source": {"table": "survey.csv"},
        "key": "person",
        "attributes": roles,
        "masking": _draw_chain(rng, {name: scales[name] for name in known}),
        "intruder": {"curve": False},
        "policy": _draw_policy(rng, has_insiders=CONFIDENTIAL in scales),
    }
    if rng.random() < 0.3:
        release["intruder"]["knows"] = sorted(rng.choice(known, max(1, len(known) - 1), replace=False).tolist())
    if rng.random() < 0.2:  # those that are left out are omitted, but now and then one is forgotten
        tried = rng.choice(ATTACKS, rng.integers(1, 4), replace=False).tolist()
        release["attacks"] = [{"method": one} for one in tried]
        left_out = [one for one in ATTACKS[:3] if one not in tried and rng.random() < 0.9]
        release["omit"] = [{"attack": one, "reason": "drawn for a test"} for one in left_out]
    elif rng.random() < 0.2:
        release["omit"] = [{"attack": str(rng.choice(["transparency", "consistency"])), "reason": "drawn for a test"}]
    limited = {line["measure"] for line in release["policy"] if "intruder" not in line}
    insiders = any("intruder" in line for line in release["policy"])
    inferred = {"inference_excess", "inference_asserted"}
    if not limited & inferred and rng.random() < 0.8:
        release["inference"] = []
    kinds = {"insiders": insiders, "inference": inferred <= limited, "membership": False}
    excepted = [kind for kind, limit in kinds.items() if rng.random() < (0.2 if limit else 0.95)]
    if excepted:
        release["not_limited"] = dict.fromkeys(excepted, "drawn for a test")
    return release, table.to_csv(index=False)


def _draw_table(rng: Rng) -> tuple[pd.DataFrame, dict[str, str]]:
    n = int(rng.integers(40, 120))
    age = np.round(rng.normal(45, 15, n), int(rng.integers(0, 3)))
    columns = {
        "age": (age, "numeric"),
        "income": (np.round(rng.lognormal(7, 1, n) + 20 * age, 1), "numeric"),
        "wealth": (rng.integers(0, int(rng.integers(4, 4000)), n), "numeric"),
        "grade": (rng.integers(1, 6, n), "ordinal"),
        "town": (rng.choice(["Ulm", "Kiel", "Bonn", "Jena"], n, p=[0.5, 0.3, 0.15, 0.05]), "nominal"),
    }
    names = sorted(rng.choice(list(columns), int(rng.integers(2, len(columns) + 1)), replace=False).tolist())
    table = pd.DataFrame({"person": 1000 + np.arange(n), **{name: columns[name][0] for name in names}})
    scales = {name: columns[name][1] for name in names}
    if rng.random() < 0.8:
        table[CONFIDENTIAL] = rng.choice(["yes", "no", "other"], n, p=[0.5, 0.4, 0.1])
        scales[CONFIDENTIAL] = "nominal"
    return table, scales


def _draw_chain(rng: Rng, scales: dict[str, str]) -> list[dict[str, Any]]:
    numbers = [name for name, scale in scales.items() if scale == "numeric"]
    ranked = [name for name, scale in scales.items() if scale != "nominal"]
    words = [name for name, scale in scales.items() if scale != "numeric"]
    steps: list[dict[str, Any]] = [
        {"method": "microaggregation", "attributes": list(scales), "k": int(rng.integers(2, 25))},
    ]
    if numbers:
        steps += [
            {
                "method": "noise",
                "kind": str(rng.choice(NOISES)),
                "attributes": numbers,
                "sd_percent": float(rng.integers(5, 101)),
            },
            {"method": "microaggregation", "attributes": numbers, "k": int(rng.integers(2, 25))},
        ]
    if ranked:
        steps += [
            {"method": "rank_swapping", "attributes": ranked, "window_percent": float(rng.integers(2, 80))},
            {"method": "rank_jitter", "attributes": ranked, "window_percent": float(rng.integers(2, 80))},
        ]
    if words:
        steps.append({"method": "pram", "attributes": words, "retention": float(rng.integers(2, 10)) / 10})
    if rng.random() < 0.4:  # what most releases are certified with: everything in groups, and perhaps a step after it
        chain = [steps[0], *([steps[int(rng.integers(1, len(steps)))]] if len(steps) > 1 and rng.random() < 0.3 else [])]
    else:
        chain = [steps[place] for place in rng.choice(len(steps), int(rng.integers(1, 3)), replace=False)]
    if rng.random() < 0.2:
        chain.append({"method": "sampling", "share": 0.5})
    return chain


def _draw_policy(rng: Rng, *, has_insiders: bool) -> list[dict[str, Any]]:
    """Lines on most kinds of disclosure; each is now and then left out."""

    def limit() -> float:
        return float(rng.choice([0.05, 0.2, 0.4, 0.7, 0.9, 0.95, 0.99, 1.0], p=[0.08, 0.1, 0.15, 0.2, 0.15, 0.15, 0.12, 0.05]))

    lines = [
        {"measure": "reidentification", "at_most": limit()},
        {"measure": str(rng.choice(["records_exposed", "max_record_risk"])), "at_most": limit()},
        {"measure": "linked_value_disclosed", "at_most": limit()},
    ]
    if has_insiders:
        measure = str(rng.choice(["reidentification", "max_record_risk"]))
        lines.append({"measure": measure, "at_most": limit(), "intruder": "insider"})
    if has_insiders and rng.random() < 0.5:  # there is a confidential attribute
        lines += [{"measure": measure, "at_most": limit()} for measure in ("inference_excess", "inference_asserted")]
    kept = [line for line in lines if rng.random() < 0.95]
    return kept or lines[:1]
