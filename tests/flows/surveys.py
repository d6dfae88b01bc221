"""A seeded survey of 30 columns as offices have them: codes that are numbers, a weight, regions, amounts, answers."""

from __future__ import annotations

import numpy as np

from tasks.microdata.table import Microdata

CODES = {"REGION": 182, "OCCUCODE": 226, "COMPCODE": 57}


def coded_survey(rows: int = 1500, seed: int = 11) -> Microdata:
    """Whole numbers alone, but for three columns of text. Codes have gaps, and repeat."""
    rng = np.random.default_rng(seed)
    region = _codes(rng, 182, 101, 2600)[_drawn(rng, 182, rows)]
    columns: dict[str, object] = {
        "REGION": region,
        "OCCUCODE": _codes(rng, 226, 111, 9700)[_drawn(rng, 226, rows)],
        "COMPCODE": _codes(rng, 57, 10, 990)[_drawn(rng, 57, rows)],
        "WEIGHT": np.round(
            50 + 13.7 * (np.argsort(np.argsort(np.unique(region)))[np.searchsorted(np.unique(region), region)] % 10), 1
        ),
        "STATUS2": _codes(rng, 40, 3, 900)[_drawn(rng, 40, rows)],
        "AGE": rng.integers(18, 90, rows),
        "INCOME": np.round(np.exp(rng.normal(10, 0.6, rows))),
        "ASSETS": np.round(np.exp(rng.normal(11, 1.0, rows))),
        "DEBTS": np.round(np.exp(rng.normal(9, 1.2, rows))),
        "SEX": rng.integers(1, 3, rows),
        "TENURE": rng.choice(["owner", "tenant", "other"], rows),
        "MARITAL": rng.choice(["single", "married", "widowed", "divorced"], rows),
        "PARTY": rng.choice(["crimson", "azure", "viridian", "none"], rows),
    }
    latent = rng.normal(size=rows)
    for i in range(17):
        answer = 0.7 * latent + rng.normal(size=rows)
        columns[f"ANSWER{i + 1}"] = np.digitize(answer, [-1.2, -0.4, 0.4, 1.2]) + 1
    return Microdata.from_columns(columns)


def _codes(rng: np.random.Generator, count: int, low: int, high: int) -> np.ndarray:
    return np.sort(rng.choice(np.arange(low, high), count, replace=False))


def _drawn(rng: np.random.Generator, count: int, rows: int) -> np.ndarray:
    """Each at least once, the rest unevenly."""
    shares = rng.dirichlet(np.full(count, 0.7))
    return rng.permutation(np.concatenate([np.arange(count), rng.choice(count, rows - count, p=shares)]))
