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


@pytest.mark.parametrize(
    ("n", "part", "measured"),  # bytes at the peak of the attack on six numbers with 10,000 targets
    [
        (1_000_000, 1_000, 427e6),
        (1_000_000, 100_000, 427e6),
        (1_000_000, 500_000, 501e6),
        (1_000_000, 10**9, 675e6),
        (200_000, 100_000, 107e6),
        (10_000_000, 100_000, 3.5e9),
    ],
)
def test_groups_in_parts_take_more_the_larger_the_parts_are(n, part, measured):
    step = GROUPS.model_copy(update={"records_per_part": part})
    assert measured < estimate_attack_bytes(TRANSPARENCY, (step,), n, 6) < 1.8 * measured


def test_of_a_large_table_groups_decide():
    assert select_costly_steps((GROUPS, NOISE), 30_000) == (GROUPS, NOISE)
    assert select_costly_steps((GROUPS, NOISE), 30_001) == (GROUPS,)
    assert select_costly_steps((SWAPS, NOISE), 30_001) == (SWAPS, NOISE)


def test_ten_million_records_leave_room_for_one_transparency_attack_beside_distance_linkage():
    sixteen = 16e9
    large, small = (estimate_attack_bytes(spec, (SWAPS,), 10**7, 8) for spec in (TRANSPARENCY, DISTANCE))
    assert large + small < sixteen < 2 * large
