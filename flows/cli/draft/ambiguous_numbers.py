"""Number columns that may not be measurements: codes (a mean of them names nothing) and survey weights.

What is proposed of them never computes a value that the source does not have; the question says what else they could be.
"""

from __future__ import annotations

import json
from typing import Literal

from tasks.classify.evidence import ROWS_PER_CODE, ColumnEvidence, is_code_name, is_weight_name
from tasks.mask.groups.block import MOST_CATEGORIES
from tasks.microdata.table import Microdata

NumberKind = Literal["weight", "code", "many codes", "few codes", "code or number"]
GAPS = 0.5  # a column with fewer than this share of the whole numbers between its ends has gaps
WEIGHT_QUESTION = (
    "is this the sampling weight of a survey? Then write `role: weight`: it is published as it is, and whoever knows one finds "
    "its record more easily. Is it a measurement, like the weight of a body? Then write "
    "`role: quasi_identifier, scale: numeric`. As proposed it is not published"
)
CODE_QUESTION = (
    "do these numbers only name things (a code)? Then keep it: a group of records shows its most frequent code. If they "
    "measure something, write `scale: numeric`: a group shows the mean"
)
MANY_CODES_QUESTION = (
    f"do these numbers only name things (a code)? More than {MOST_CATEGORIES} codes fit no group: as proposed they are not "
    "published. To publish them, write `role: quasi_identifier, scale: nominal` and join them by their first digits, "
    "as the first step of `masking`: `{{method: recoding, recode: {{{name}: {{group: {{digits: 1}}}}}}}}`. If they measure "
    "something, write `role: quasi_identifier, scale: numeric`: a group shows the mean"
)
CODE_OR_NUMBER_QUESTION = (
    "do these numbers measure something (an amount, a count)? Then write `scale: numeric`: a group shows the mean. Do they "
    "only name things (a code)? Then {names}. As proposed a group shows its median, which is a value that exists"
)


def classify_numbers(data: Microdata, facts: ColumnEvidence) -> NumberKind | None:
    """What a column of numbers may be instead of a measurement; None where nothing speaks for that.

    Meaning: a mean of codes is a code that may not exist. A name tells a code or a weight; without one, whole numbers tell it
    that repeat (each in four rows on average) and leave out most of the numbers between their ends.
    Example: 226 codes of occupations between 111 and 9622 in 4,000 rows.
    """
    if facts.kind not in {"integer", "double"} or facts.n_distinct < 2:
        return None
    if is_weight_name(facts.name) and facts.positive:
        return "weight"
    if not facts.whole:
        return None
    if is_code_name(facts.name):
        return "few codes" if facts.few_codes else "code" if facts.n_distinct <= MOST_CATEGORIES else "many codes"
    repeats = facts.n_present >= ROWS_PER_CODE * facts.n_distinct
    return "code or number" if repeats and not facts.few_codes and _has_gaps(data, facts) else None


def create_question(kind: NumberKind, facts: ColumnEvidence) -> str:
    """What only a person can know of such a column."""
    match kind:
        case "weight":
            return WEIGHT_QUESTION
        case "code" | "few codes":
            return CODE_QUESTION
        case "many codes":
            return MANY_CODES_QUESTION.format(name=json.dumps(facts.name, ensure_ascii=False))
        case "code or number":
            fits = facts.n_distinct <= MOST_CATEGORIES
            return CODE_OR_NUMBER_QUESTION.format(names="write `scale: nominal`" if fits else "write `role: withheld`")


def _has_gaps(data: Microdata, facts: ColumnEvidence) -> bool:
    numbers = data.floats(facts.name)[~data.missing(facts.name)]
    return facts.n_distinct < GAPS * (float(numbers.max()) - float(numbers.min()) + 1)
