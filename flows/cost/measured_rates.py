"""What the stages of a run cost, measured: the table from which the cost of other runs is judged.

Written by hand from `benchmarks/scale.py` (10,000 targets; where kinds of tables differ, of the dearer one mostly) and from the
peaks and CPU seconds of whole runs of `sdcert certify`; docs/BENCHMARKS.md shows both ("A release as its table grows"). Write
it anew when a stage becomes much faster or smaller. Report, inference and membership are judged by whole runs alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

ROWS, COLUMNS, TARGETS = 100_000, 8, 10_000  # of the table that the rates are about
PAIR_BYTES = 60.0  # 33 to 90 were measured


@dataclass(frozen=True, slots=True)
class Rate:
    """The cost of one call of a stage.

    seconds: CPU seconds for ROWS rows of COLUMNS columns, but for the targets; they grow by `exponent` with the rows, and in
    proportion to the columns. target_seconds: for TARGETS targets in such a table; they grow in proportion to the targets and
    by `target_exponent` with the rows. cell_bytes: at the peak, for each cell of the table, beyond the table itself; of attacks
    `tasks.attack.memory_needs` knows it. pairs: of records and rows that are kept at most.
    """

    seconds: float
    exponent: float = 1.0
    cell_bytes: float = 0.0
    target_seconds: float = 0.0
    target_exponent: float = 0.0
    pairs: int = 0

    def compute_bytes(self, rows: int, columns: int) -> float:
        return self.cell_bytes * rows * columns + PAIR_BYTES * min(self.pairs, rows * rows)

    def compute_seconds(self, rows: int, columns: int, targets: int = 0) -> float:
        growth = rows / ROWS
        of_rows = self.seconds * math.pow(growth, self.exponent)
        of_targets = self.target_seconds * targets / TARGETS * math.pow(growth, self.target_exponent)
        return (of_rows + of_targets) * columns / COLUMNS


BASE_BYTES = 700e6  # of a process that has imported everything and has a small table
START_BYTES = 450e6  # of a process that reads its source: the later stages are not imported
SERVER_BYTES = 350e6  # of the server of the home
TABLE_BYTES = 10.0  # of a cell in memory
OUTCOME_BYTES = 60.0  # of a target in the outcomes of one attack by one intruder
START_SECONDS = 12.0  # imports, and the server of the home
COMPILING_SECONDS = 40.0  # where no machine code is kept

INGEST_TEXT = Rate(0.22, 1.0, 70)
INGEST_TYPED = Rate(0.03, 1.1, 30)
CLASSIFY = Rate(0.05, 1.1, 30)
SCORE = Rate(0.45, 1.05, 80)
SCORE_OF_ATTACK = Rate(0.06, 1.1)
REPORT = Rate(1.5, 0.7, 60)

GROUPS_IN_PARTS = "groups in parts"
MASKS = {
    "microaggregation": Rate(1.2, 1.6, 100),
    GROUPS_IN_PARTS: Rate(1.3, 1.1, 100),
    "rank_swapping": Rate(0.1, 1.1, 25),
    "rank_jitter": Rate(0.3, 1.1, 33),
    "noise": Rate(0.1, 1.1, 40),
    "pram": Rate(0.15, 1.0, 100),
}
OTHER_MASK = Rate(0.3, 1.1, 60)

# By method, some by how links are chosen as well, and by the methods of the steps that are followed; "": any other.
ATTACKS = {
    "distance_linkage": {"": Rate(0.3, 1.0, target_seconds=0.12, target_exponent=0.1)},
    "transparency": {
        "microaggregation": Rate(0.85, 1.1, target_seconds=0.05, target_exponent=0.1),
        "rank_swapping": Rate(1.6, 1.05, target_seconds=0.1, target_exponent=0.1),
        # of noise of 20 %; 7 where a category that stays as it is narrows the search
        "noise": Rate(30.0, 1.0, target_seconds=0.5, target_exponent=1.0),
        "pram": Rate(0.5, 1.1, target_seconds=0.06, target_exponent=0.1),
        # of 10,000 targets 5 s by who knows six attributes, 11 by who knows three, who finds more rows in the window
        "rank_swapping and pram": Rate(12.0, 1.1),
        "": Rate(0.8, 1.1, target_seconds=0.1, target_exponent=0.1),
    },
    "transparency:marginals": {
        "microaggregation": Rate(0.9, 1.1, pairs=12_000_000),  # of large tables, in which only the targets' groups count
        "noise": Rate(9.0, 1.0, pairs=12_000_000),
        "": Rate(8.0, 1.0, pairs=12_000_000),
    },
    "consistency": {"": Rate(1.4, 1.1)},
    "": {"": Rate(2.0, 1.2, target_seconds=1.0, target_exponent=0.5)},
}
ATTACK_CALL = Rate(0.9, 1.1)  # by whole runs: what an attack by an intruder costs there beyond the attack itself
INFERENCE_SECONDS = 2.0  # for each attribute that is inferred, with so many people or more
INFERRED_PEOPLE = 3_000
MEMBERSHIP = Rate(8.0, 1.1, 60)
