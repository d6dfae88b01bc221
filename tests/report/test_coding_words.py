"""Coding, rounding and recoding in words: enough for who uses the data, and no value or category of the table."""

from __future__ import annotations

import pytest

from tasks.mask.coding.recoding import Recoding
from tasks.mask.coding.rounding import Rounding
from tasks.mask.coding.top_bottom_coding import TopBottomCoding
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.report.mask_description import describe_mask

SCHEMA = Schema(tuple(Attribute(name, Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared") for name in ("age", "town")))


def all_words(step):
    words = describe_mask(step, SCHEMA)
    of_attributes = [words.attribute(SCHEMA[name]) for name in step.explicit_attributes]
    return " ".join([words.title, words.text, words.missing, *words.analysts, *of_attributes, step.rule, str(step.public())])


@pytest.mark.parametrize(
    ("step", "said", "unsaid"),
    [
        (
            TopBottomCoding(method="top_bottom_coding", limits={"age": {"top": 83, "bottom_percent": 2.0, "publish": "mean"}}),
            ["the top and the bottom 2 percent published as the mean", "tobit"],
            ["83"],
        ),
        (
            Recoding(
                method="recoding",
                recode={
                    "age": {"intervals": [31, 47], "values": [25, 33, 61]},
                    "town": {"map": {"Girona": "Catalonia"}, "others": {"become": "elsewhere"}},
                },
            ),
            ["in age 3 bands, each published as a stated value inside the band", "categories joined"],
            ["31", "47", "25", "33", "61", "Girona", "Catalonia", "elsewhere"],
        ),
        (
            Rounding(method="rounding", kind="random", bases={"age": 5, "town": 500}),
            ["age to multiples of 5 and town to multiples of 500", "unbiased"],
            [],
        ),
    ],
)
def test_what_is_said_and_what_is_not(step, said, unsaid):
    words = all_words(step)
    assert [phrase for phrase in said if phrase not in words] == []
    assert [value for value in unsaid if value in words] == []
