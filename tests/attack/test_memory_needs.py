"""What an attack is judged to take in memory goes by the step that costs most, and in proportion to the table."""

import pytest

from tasks.attack.consistency.consistency import Consistency
from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.memory_needs import estimate_attack_bytes, select_costly_steps
from tasks.attack.transparency.transparency import Transparency
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.noise.noise import Noise
from tasks.mask.ranks.rank_swapping import RankSwapping

SWAPS = RankSwapping(method="rank_swapping", attributes=("a",), window_percent=5)
NOISE = Noise(method="noise", attributes=("b",), kind="independent", sd_percent=20)
GROUPS = Microaggregation(method="microaggregation", attributes=("c",), k=3)
DISTANCE, TRANSPARENCY = DistanceLinkage(method="distance_linkage"), Transparency(method="transparency")
CONSISTENCY = Consistency(method="consistency")


@pytest.mark.parametrize("spec", [DISTANCE, TRANSPARENCY, CONSISTENCY])
def test_it_grows_in_proportion_to_the_cells_that_are_known(spec):
    assert estimate_attack_bytes(spec, (SWAPS,), 60, 4) == 4 * estimate_attack_bytes(spec, (SWAPS,), 30, 2)


def test_the_costliest_step_decides():
    alone = [estimate_attack_bytes(TRANSPARENCY, (step,), 1000, 2) for step in (SWAPS, NOISE)]
    assert alone[0] < alone[1] == estimate_attack_bytes(TRANSPARENCY, (SWAPS, NOISE), 1000, 2)


def test_groups_in_parts_take_half_of_the_memory_of_groups_of_all_records():
    parts = GROUPS.model_copy(update={"records_per_part": 1000})
    whole, in_parts = (estimate_attack_bytes(TRANSPARENCY, (step,), 10**6, 6) for step in (GROUPS, parts))
    assert whole > 578e6 and 290e6 < in_parts < 0.6 * whole  # measured: docs/BENCHMARKS.md


def test_of_a_large_table_groups_decide():
    assert select_costly_steps((GROUPS, NOISE), 30_000) == (GROUPS, NOISE)
    assert select_costly_steps((GROUPS, NOISE), 30_001) == (GROUPS,)
    assert select_costly_steps((SWAPS, NOISE), 30_001) == (SWAPS, NOISE)


def test_ten_million_records_leave_room_for_one_transparency_attack_beside_distance_linkage():
    sixteen = 16e9
    large, small = (estimate_attack_bytes(spec, (SWAPS,), 10**7, 8) for spec in (TRANSPARENCY, DISTANCE))
    assert large + small < sixteen < 2 * large
