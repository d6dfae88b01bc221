"""Random tables and random masking steps for them: ties, gaps, repeated rows, many categories (`equal_figures.py`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from tasks.microdata.schema import Schema

GRADES = ("low", "middle", "high")
SCALES = {"nominal": "nominal", "grade": "ordinal"}  # of other columns: numeric


def draw_column(kind: str, latent: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    n = len(latent)
    match kind:
        case "nominal":
            size = int(rng.choice([2, 5, 11, 20, 200]))
            return np.array([f"place {i}" for i in range(size)])[rng.choice(size, n, p=rng.dirichlet(np.ones(size)))]
        case "grade":
            return np.array(GRADES)[np.digitize(latent, [-0.5, 0.8])]
        case "integer":
            return np.clip(40 + 15 * latent, 0, 99).astype(int)
        case "few":
            return np.clip(2 + latent, 0, 6).astype(int)
        case "skewed":
            return np.exp(8 + latent).round(1)
        case _:
            return latent * 1000


def draw_gaps(names: list[str], n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    chosen, at, share = list(rng.permutation(names)), rng.random(n), float(rng.choice([0.02, 0.2]))
    match rng.choice(["none", "none", "one", "together", "apart", "anywhere"]):
        case "one":
            return {chosen[0]: at < share}
        case "together":
            return dict.fromkeys(chosen[:2], at < share)
        case "apart":
            return {name: (i <= len(chosen) * at) & (len(chosen) * at < i + share) for i, name in enumerate(chosen)}
        case "anywhere":
            return {name: rng.random(n) < share for name in chosen}
        case _:
            return {}


def draw_table(n: int, rng: np.random.Generator) -> tuple[pa.Table, list[dict[str, Any]]]:
    """A table, and what a release file declares of its columns."""
    width = int(rng.integers(3, 8))
    latent = rng.normal(size=(n, width)) @ (np.eye(width) + 0.4)
    kinds = ["exact", *rng.choice(["exact", "skewed", "integer", "few", "nominal", "nominal", "grade"], width - 1)]
    columns = {f"{kind} {j}": draw_column(kind, latent[:, j], rng) for j, kind in enumerate(kinds)}
    gaps = draw_gaps(list(columns), n, rng)
    for extra, values in (("constant", np.full(n, 7)), ("weight", rng.uniform(1, 90, n).round(1))):
        columns |= {extra: values} if rng.random() < 0.1 else {}
    rows = np.where(rng.random(n) < rng.choice([0, 0.2, 0.9]), rng.integers(0, n // 4, n), np.arange(n))
    table = pa.table({name: pa.array(values[rows], mask=gaps.get(name)) for name, values in columns.items()})
    last = str(rng.choice(["confidential", "quasi_identifier"]))
    roles = {**dict.fromkeys(columns, "quasi_identifier"), list(columns)[width - 1]: last, "weight": "weight"}
    return table, [declare(name, roles[name]) for name in columns]


def declare(name: str, role: str) -> dict[str, Any]:
    scale = SCALES.get(name.split()[0], "numeric")
    return {"name": name, "role": role, "scale": scale} | ({"order": GRADES} if scale == "ordinal" else {})


def draw_steps(schema: Schema, n: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    """One to three steps, each of some of the attributes that it fits."""
    fit = [one for one in schema.attributes if one.is_published and one.name not in ("constant", "weight")]
    groups = {scale: [one.name for one in fit if one.scale.value in scale.split()] for scale in (
        "numeric", "numeric ordinal", "nominal ordinal")}  # fmt: skip

    def some(scale: str) -> list[str]:
        names = groups[scale]
        return sorted(rng.choice(names, int(rng.integers(1, len(names) + 1)), replace=False).tolist(), key=names.index)

    def draw_step(method: str) -> dict[str, Any]:
        match method:
            case "microaggregation":
                parts = {"records_per_part": max(n // 3, 32)} if rng.random() < 0.5 else {}  # at least 4 k
                partition = "mdav" if parts else str(rng.choice(["mdav", "randomised", "projection", "individual_ranking"]))
                given = {"k": int(rng.choice([2, 3, 8])), "partition": partition, **parts}
            case "rank_swapping" | "rank_jitter":
                given = {"window_percent": float(rng.choice([3, 10, 30]))}
            case "pram":
                return {"method": method, "attributes": some("nominal ordinal"), "retention": float(rng.choice([0.6, 0.9]))}
            case "noise":
                kind = str(rng.choice(["independent", "correlated", "variance_restoring", "multiplicative"]))
                given = {"kind": kind, "sd_percent": float(rng.choice([5, 20, 60]))}
                return {"method": method, "attributes": some("numeric"), **given}
            case "rounding":
                kind = str(rng.choice(["deterministic", "random", "controlled"]))
                return {"method": method, "bases": dict.fromkeys(some("numeric"), 5.0), "kind": kind}
            case _:
                return {"method": method, "share": 0.5}
        return {"method": method, "attributes": some("numeric ordinal"), **given}

    methods = ["microaggregation", "rank_swapping", "rank_jitter", "noise", "rounding", "sampling"]
    methods += ["pram", "pram"] if groups["nominal ordinal"] else []
    return [draw_step(str(method)) for method in rng.choice(methods, int(rng.choice([1, 1, 2, 3])))]
