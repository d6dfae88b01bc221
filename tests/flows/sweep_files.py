"""A small sweep over the survey of `release_files`, for tests that run sweeps."""

from __future__ import annotations

import copy
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from release_files import ROWS, write_release

MASKED = ["age", "income", "town"]
SWEEP: dict[str, Any] = {
    "name": "survey-sweep",
    "base": "release.yaml",
    "pipelines": [
        {
            "name": "mdav",
            "masking": [{"method": "microaggregation", "attributes": MASKED, "k": 3}],
            "axes": {"masking[0].k": {"values": [2, 5, 10 * ROWS]}},
        },
        {
            "name": "swap",
            "masking": [{"method": "rank_swapping", "attributes": MASKED, "window_percent": 5}],
            "axes": {"masking[0].window_percent": {"values": [10, 40]}},
        },
    ],
    "seeds": 2,
}
POINTS, SKIPPED = 5, 1


def write_sweep(folder: Path, change: dict[str, Any] | None = None, **release: Any) -> Path:
    """Write the survey, its release file and the sweep file, top-level fields of either changed; returns the sweep file."""
    write_release(folder, release)
    path = folder / "sweep.yaml"
    path.write_text(json.dumps({**copy.deepcopy(SWEEP), **(change or {})}, indent=1))
    return path


def table_of(home: Path, name: str) -> pa.Table:
    """The table that a sweep left."""
    return pq.read_table(io.BytesIO((home / "sweeps" / name / "table.parquet").read_bytes()))


def untimed(table: pa.Table) -> pa.Table:
    return table.drop_columns(["seconds"])
