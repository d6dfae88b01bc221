"""What the stages of a run cost, measured: the table from which the cost of other runs is judged.

Written by hand from `benchmarks/scale.py` (numbers and categories, 10,000 targets) and from the peaks of whole runs of
`sdcert certify`; docs/BENCHMARKS.md shows both. Measure again and change it when a stage becomes much faster or smaller.
"""

from __future__ import annotations

from dataclasses import dataclass

ROWS, COLUMNS, TARGETS = 100_000, 8, 10_000  # of the table that the rates are about


@dataclass(frozen=True, slots=True)
class Rate:
    """The cost of one call of a stage.

    seconds: CPU seconds for ROWS rows of COLUMNS columns, but for the targets; they grow by `exponent` with the rows, and in
    proportion to the columns. target_seconds: for TARGETS targets in such a table; they grow in proportion to the targets and
    by `target_exponent` with the rows. cell_bytes: at the peak, for each cell of the table, beyond the table itself.
    """

    seconds: float
    exponent: float = 1.0
    cell_bytes: float = 0.0
    target_seconds: float = 0.0
    target_exponent: float = 0.0

    def compute_seconds(self, rows: int, columns: int, targets: int = 0) -> float:
        growth = rows / ROWS
        of_rows = self.seconds * growth**self.exponent
        of_targets = self.target_seconds * targets / TARGETS * growth**self.target_exponent
        return (of_rows + of_targets) * columns / COLUMNS


BASE_BYTES = 700e6  # of a process that has imported everything and has a small table
START_BYTES = 450e6  # of a process that reads its source: the later stages are not imported
SERVER_BYTES = 350e6  # of the server of the home
TABLE_BYTES = 10.0  # of a cell in memory
OUTCOME_BYTES = 60.0  # of a target in the outcomes of one attack by one intruder
START_SECONDS = 18.0  # imports, and the server of the home
COMPILING_SECONDS = 40.0  # where no machine code is kept

INGEST_TEXT = Rate(1.0, 1.0, 180)
INGEST_TYPED = Rate(0.15, 1.0, 60)
CLASSIFY = Rate(0.25, 1.0, 40)
SCORE = Rate(0.9, 1.15, 90)
SCORE_OF_ATTACK = Rate(0.05, 1.1)
REPORT = Rate(2.0, 0.5, 60)

GROUPS_IN_PARTS = "groups in parts"
MASKS = {
    "microaggregation": Rate(1.4, 1.6, 60),
    GROUPS_IN_PARTS: Rate(1.4, 1.05, 60),
    "rank_swapping": Rate(0.1, 1.1, 30),
    "rank_jitter": Rate(0.2, 1.1, 30),
    "noise": Rate(0.1, 1.0, 30),
    "pram": Rate(0.1, 1.0, 30),
}
OTHER_MASK = Rate(0.2, 1.1, 60)

# An attack that follows the steps costs what the most expensive of them asks for.
ATTACKS = {
    "distance_linkage": {"": Rate(0.5, 1.1, 80, 0.3, 0.1)},
    "transparency": {
        "microaggregation": Rate(1.5, 1.6, 100, 0.1, 0.1),
        "rank_swapping": Rate(1.0, 1.1, 100, 0.5, 0.5),
        "noise": Rate(2.0, 1.1, 150, 20.0, 1.0),
        "pram": Rate(0.5, 1.0, 100, 0.1, 0.1),
        "": Rate(1.0, 1.1, 100, 0.5, 0.5),
    },
    "consistency": {"": Rate(5.0, 1.2, 150)},
    "": {"": Rate(2.0, 1.2, 100, 1.0, 0.5)},
}
INFERENCE_SECONDS = 3.0  # for each attribute that is inferred, with the people of `train_at_most` or fewer
INFERRED_PEOPLE = 3_000
MEMBERSHIP = Rate(3.0, 1.1, 60)
