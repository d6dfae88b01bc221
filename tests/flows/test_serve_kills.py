"""Kill -9 of runs, workers and all at once: each run ends once or is told, and the release that it left is not doubled.

How many kills and which: SDCERT_TEST_KILLS (2, on each database) and SDCERT_TEST_SEED; `kills.py` is the same by hand.
"""

import os
import random

import pytest
from kills import kill_again_and_again, kinds
from leaks import leaks_of_test

KILLS, SEED = int(os.environ.get("SDCERT_TEST_KILLS", "2")), int(os.environ.get("SDCERT_TEST_SEED", "1"))
FIRST = {  # what no other test of a served home kills
    "sqlite": [("run and worker", "PENDING"), ("everything", "PENDING")],
    "postgresql": [("run and worker", "PENDING"), ("worker", "PENDING")],
}
SECONDS_A_KILL = 900

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200 + KILLS * SECONDS_A_KILL)]


@pytest.mark.parametrize("database", FIRST)
def test_whatever_is_killed_each_run_ends_once_or_is_told(tmp_path, database):
    rng = random.Random(SEED)
    wanted = [*FIRST[database], *kinds(KILLS, rng)][:KILLS]
    found = kill_again_and_again(tmp_path, database, wanted, SEED)
    outcomes = {(one.victim, one.moment, one.wait): one.outcome for one in found}
    assert len(found) == KILLS
    assert set(outcomes.values()) <= {"once", "once, told and run again", "told"}, outcomes
    assert leaks_of_test(tmp_path) == []
