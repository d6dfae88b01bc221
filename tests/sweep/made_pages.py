"""Tables of sweeps made by a law of risk and loss, for the tests of the page: any number of points, nobody's data."""

from __future__ import annotations

import math

import numpy as np

from tasks.score.policy import PolicyLine
from tasks.sweep.layout import TrialRow, create_sweep_table
from tasks.sweep.page.page_data import SweepDescription
from tasks.sweep.results import Results
from tasks.sweep.views import FigureLoss, WorstRisk

METHODS = {"mdav": "microaggregation", "swap": "rank_swapping", "noise": "noise", "pram": "pram"}
ATTRIBUTES = tuple(f"A{i}" for i in range(6))
WORST = "reidentification|transparency|declared"
LINKED = "reidentification|distance_linkage|declared"


def line(point, pipeline="mdav", seed=0, *, risk=None, linked=None, loss=None, reason=None, status=None, axes=None, **figures):
    """One trial: with a risk, or without figures and with a reason."""
    found = {WORST: risk, LINKED: risk if linked is None else linked, "sse_percent": loss, **figures}
    kept = {} if risk is None else {name.replace("__", "|"): value for name, value in found.items() if value is not None}
    given = status or ("ok" if risk is not None else "skipped")
    axes = {"masking[0].k": 3} if axes is None else axes
    return TrialRow(
        point=point, pipeline=pipeline, seed=seed, axes=axes, status=given, reason=reason, figures=kept, seconds=0.1
    )


def results(*lines):
    return Results.from_table(create_sweep_table(lines))


def synthetic(n, seeds=3, attributes=ATTRIBUTES):
    """n points of four pipelines: microaggregation is best, swapping is found out by the transparency attack alone."""
    rng = np.random.default_rng(n)
    return results(*(trial for point in range(n) for trial in _trials(point, n, seeds, attributes, rng)))


def _trials(point, n, seeds, attributes, rng):
    pipeline, strength = list(METHODS)[point % 4], (point // 4 + 0.5) / (n / 4)
    axes = {"intruder.targets": 1.0, **_axes(pipeline, strength, point // 4)}
    if pipeline == "mdav" and point % 28 == 0 and strength > 0.5:
        reason = f"k = {axes['masking[0].k']} is more than the records of the smallest stratum"
        return [line(point, pipeline, seed, reason=reason, axes=axes) for seed in range(seeds)]
    return [_trial(point, pipeline, seed, axes, strength, attributes, rng.normal(0, 0.05, 4)) for seed in range(seeds)]


def _axes(pipeline, strength, turn):
    if pipeline == "mdav" and turn % 2:
        return {
            "masking[0].k": int(2 + 98 * strength),
            "masking[0].partition": "v_mdav",
            "masking[0].gamma": 0.2 + 0.3 * (turn // 2 % 4),
        }
    return {
        "mdav": {"masking[0].k": int(2 + 98 * strength), "masking[0].partition": "mdav"},
        "swap": {"masking[0].p_percent": round(50**strength, 3)},
        "noise": {"masking[0].scale": round(0.01 * 200**strength, 4), "masking[0].correlated": bool(turn % 2)},
        "pram": {"masking[0].retention": round(1 - 0.9 * strength, 3)},
    }[pipeline]


def _trial(point, pipeline, seed, axes, strength, attributes, shaken):
    linked = min(1.0, (0.7 * math.exp(-3.5 * strength) + 0.01) * (1 + shaken[0]) * (0.75 if pipeline == "swap" else 1))
    seen = {"mdav": linked, "swap": 0.35 + 0.6 * linked, "noise": 1.2 * linked, "pram": 1.3 * linked}[pipeline]
    intervals = min(1.0, 0.9 * math.exp(-2 * strength) * (1 + shaken[1]))
    loss = 100 * strength**1.3 * {"mdav": 0.6, "swap": 0.55, "noise": 1, "pram": 1.1}[pipeline] * (1 + shaken[2])
    of_attributes = {f"rank_interval_disclosure__{name}__p_percent=5": intervals for name in attributes}
    beside = {
        "k_anonymity": float(axes.get("masking[0].k", 1)),
        "il1s": loss / 220,
        "correlation_difference": loss / 900,
        **of_attributes,
    }
    return line(point, pipeline, seed, risk=min(1.0, seen), linked=linked, loss=loss, axes=axes, **beside)


def told(**changed):
    usual = {
        "name": "census-2001",
        "id": "20261121T200000Z-4f1c2a",
        "base": "params/releases/census.yaml",
        "strategy": "a grid",
        "seeds": 3,
        "began_at": "2026-11-21 19:20 UTC",
        "written_at": "2026-11-21 20:01 UTC",
        "methods": METHODS,
        "risk": WorstRisk(),
        "loss": FigureLoss(measure="sse_percent"),
        "policy": (PolicyLine(measure="reidentification", at_most=0.12), PolicyLine(measure="sse_percent", at_most=40)),
        "sensitivity": False,
        "release_of": lambda number: (
            f"# point {number}\nname: census-point\nmasking:\n  - {{method: microaggregation, k: {number}}}"
        ),
    }
    return SweepDescription(**{**usual, **changed})
