"""What the report says of masks that no transparency attack answers, and of partitions that can be repeated."""

from __future__ import annotations

import pytest

from tasks.mask.external_release.released import Undeclared
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.pseudonyms import Pseudonyms
from tasks.mask.sampling import Sampling


def micro(**more):
    return Microaggregation(method="microaggregation", attributes=("age", "income"), k=3, **more)


@pytest.mark.parametrize(
    "step",
    [
        micro(partition="randomised"),
        Sampling(method="sampling", share=0.5),
        Pseudonyms(method="pseudonyms", attributes=("passport",)),
        Undeclared(attributes=("age",)),
    ],
)
def test_a_mask_that_nothing_answers_says_so(step):
    told = step.describe_knowledge()
    assert told.startswith(f"No transparency attack answers {step.rule}: ")
    assert step.no_attack_reason in told


def test_what_a_randomised_partition_would_give():
    together = micro().describe_knowledge()
    assert "age and income draws nothing at random" in together
    assert "is left with each record's own group" in together
    assert "the nearest mean of a randomised one 29, 8 and 3 %" in together
    for apart in (micro(partition="individual_ranking"), micro(blocks=(("age",), ("income",)))):
        told = apart.describe_knowledge()
        assert "intersects each record's own groups" in told
        assert "grouping them jointly would help, and randomising the partition would not" in told
    single = Microaggregation(method="microaggregation", attributes=("age",), k=3).describe_knowledge()
    assert "grouping them jointly" in single
    assert "own group." in single
