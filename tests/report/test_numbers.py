"""Numbers for people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.microdata.numbers import count, format_against_limit, format_limit, format_share, format_with_unit, number

SHARES = st.floats(0, 1, allow_nan=False)


def plain(text: str) -> str:
    return text.replace("\u202f", " ").replace("\u2212", "-")


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0 %"), (1, "100 %"), (0.0011, "0.11 %"), (0.08, "8.0 %"), (0.0996, "9.96 %"), (0.292, "29.2 %"), (0.5, "50 %"),
     (0.99999, "over 99.9 %"), (0.00001, "under 0.01 %")],
)  # fmt: skip
def test_shares(value, shown):
    assert plain(format_share(value)) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0"), (944, "944"), (12345.6, "12,346"), (5.6922, "5.69"), (0.051, "0.051"), (1e-9, "under 0.0001"), (-1.25, "-1.25")],
)
def test_numbers(value, shown):
    assert plain(number(value)) == shown


def test_units():
    assert plain(format_with_unit(8.1, "percent")) == "8.1 %"
    assert plain(format_with_unit(10.0, "records")) == "10 records"
    assert plain(format_with_unit(1.0, "records")) == "1 record"
    assert plain(format_with_unit(0.25, "sd")) == "0.25 sd"
    assert plain(format_with_unit(0.25, "correlation")) == "0.25"
    assert plain(format_limit(0.15, "share")) == "15 %"
    assert plain(format_limit(40.0, "percent")) == "40 %"
    assert plain(format_limit(0.123456, "sd")) == "0.123456 sd"
    assert count(20190) == "20,190"


@pytest.mark.parametrize(
    ("value", "limit", "unit", "shown"),
    [(0.1504, 0.15, "share", "15.04 %"), (0.15, 0.15, "share", "15 %"), (0.14, 0.15, "share", "14 %"),
     (9.999, 10.0, "records", "9.999 records"), (40.04, 40.0, "percent", "40.04 %")],
)  # fmt: skip
def test_a_figure_beside_its_limit_shows_its_side(value, limit, unit, shown):
    assert plain(format_against_limit(value, limit, unit)) == shown


@given(SHARES, SHARES)
def test_no_figure_is_shown_on_the_wrong_side_of_its_limit(value, limit):
    shown, bound = (
        plain(text).removesuffix(" %") for text in (format_against_limit(value, limit, "share"), format_limit(limit, "share"))
    )
    if not shown.startswith(("under", "over")) and abs(value - limit) > 1e-9:
        assert (float(shown) > float(bound)) == (value > limit)
        assert (float(shown) < float(bound)) == (value < limit)


@given(SHARES.filter(lambda value: 0 < value < 1))
def test_nothing_is_rounded_to_none_or_all(value):
    assert plain(format_share(value)) not in ("0 %", "0.0 %", "100 %")
