"""The measure of local differential privacy of the masking steps. Function: `tasks/score/local_privacy.py`."""

from __future__ import annotations

from tasks.score.measure import Measure

EPSILON = Measure(
    name="epsilon",
    function="tasks.score.local_privacy.epsilon",
    unit="epsilon",
    better="lower",
    about="table_and_attribute",
    chance="none",
    rounding="exact",
    says=(
        "local differential privacy of the PRAM steps, without `attribute` added up over the attributes of a record "
        "that they draw anew: no released category is more than e^epsilon times as probable under one true category as "
        "under another; it is about those steps, not about the release"
    ),
    title="Epsilon of the PRAM steps",
    sentence=(
        "No released category is more than e^epsilon times as probable under one true category as under another; for a "
        "record the sum over the attributes that PRAM draws anew. It is about those steps, not about the release."
    ),
    infinite_without_value=True,
)
