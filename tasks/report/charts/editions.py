"""What a chart may show of the original, in each edition."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from tasks.score.figure_rounding import FEW, round_significant

Edition = Literal["public", "internal"]
_RECORDS_A_STEP = 5


@dataclass(frozen=True, slots=True)
class DrawingRule:
    """How finely a distribution is drawn.

    bars: the most that a measured scale is cut into. least: records of the original that stand behind each bar.
    exact: are shares drawn as they are?
    """

    bars: int
    least: int
    exact: bool


RULES: dict[Edition, DrawingRule] = {
    "public": DrawingRule(bars=12, least=10, exact=False),
    "internal": DrawingRule(bars=24, least=3, exact=True),
}


def compute_bar_share(count: int, total: int, rule: DrawingRule) -> float:
    """The share that a bar shows.

    In the public edition it is rounded to 2 significant digits, and to steps of at least 5 records: for a small table two
    digits would be the exact count. A bar of 10 records is never rounded to nothing.
    Example: 13 of 944 are 1 % (steps of 1 %); 13 of 20,190 are 0.05 % (steps of 0.05 %).
    """
    if rule.exact or count == 0:
        return count / total
    step = choose_rounding_step(total)
    return round_significant(round(count / total / step) * step, FEW)


def choose_rounding_step(total: int) -> float:
    """The smallest of ..., 0.01, 0.02, 0.05, 0.1, ... that is worth 5 records; 1 for fewer than 5."""
    power = 10.0 ** math.floor(math.log10(_RECORDS_A_STEP / total))
    return min(1.0, next(power * one for one in (1, 2, 5, 10) if power * one * total >= _RECORDS_A_STEP))
