"""The cards of the first screen: which lines, in which order, and on which scale."""

from __future__ import annotations

from dataclasses import replace

from tasks.report.views import overview
from tasks.score.policy import PolicyLine
from tasks.score.verdict import decide


def cards(content, *lines):
    return overview.create_tiles(replace(content, policy=lines, verdict=decide(lines, content.estimates)))


KEPT = (
    PolicyLine(measure="sse_percent", at_most=80.0),
    PolicyLine(measure="k_anonymity", at_least=9.0),
    PolicyLine(measure="reidentification", at_most=0.12),
    PolicyLine(measure="records_exposed", at_most=0.04),
    PolicyLine(measure="max_record_risk", at_most=1.0),
)
INSIDER = PolicyLine(measure="reidentification", at_most=0.99, intruder="insider")


def test_lines_that_are_kept_stand_by_their_nearness_to_the_limit(certified):
    shown = [card.title for card in cards(certified, *KEPT)]
    assert shown == ["Maximum record risk", "k-anonymity", "Re-identification rate", "Records exposed"]


def test_a_broken_line_comes_first_and_an_insiders_line_is_always_shown(certified):
    broken = PolicyLine(measure="sse_percent", at_most=5.0)
    shown = cards(certified, *KEPT[1:], INSIDER, broken)
    assert [card.title for card in shown] == [
        "Information loss (SSE)", "Maximum record risk", "k-anonymity", "Re-identification rate",
    ]  # fmt: skip
    assert shown[-1].who == "insider who also knows PID, transparency attack"


def test_no_broken_line_gives_way_to_an_insiders_line(certified):
    broken = [PolicyLine(measure="sse_percent", at_most=limit) for limit in (1.0, 2.0, 3.0, 4.0)]
    shown = cards(certified, INSIDER, *broken)
    assert [card.decision for card in shown] == ["fail"] * 4 + ["pass"]


def test_zero_at_a_limit_of_zero_is_at_its_limit(certified):
    none = tuple(replace(one, value=0.0, low=0.0, high=0.0) if one.measure == "records_exposed" else one
                 for one in certified.estimates)  # fmt: skip
    content = replace(certified, estimates=none)
    zero = PolicyLine(measure="records_exposed", at_most=0.0)
    assert cards(content, KEPT[2], zero)[0].title == "Records exposed"


def test_bars_are_shares_of_one_hundred_percent(certified):
    alike, rate, loss = cards(certified, *KEPT[:3])
    assert (round(rate.bar.value, 2), rate.bar.limit, round(rate.bar.chance, 2)) == (9.53, 12.0, 0.11)
    assert (alike.bar, loss.bar) == (None, None)
