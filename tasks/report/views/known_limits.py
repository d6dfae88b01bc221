"""What no report says, whatever was released, and what every one rests on."""

from __future__ import annotations

from tasks.report.content import Content
from tasks.report.views.rows import CLASSES
from tasks.report.wording.sentence import Sentence, say

NOT_IN_LAW = "This is not a determination of anonymity in law."
_WORST = (
    'Every risk is the worst that the attacks run found with the knowledge stated; "not broken" means not broken by them. A '
    "stronger attack may exist or appear, and the release is then to be measured again."
)


def describe_scope(released: str) -> tuple[str, str]:
    """How far the figures reach. released: `this table`."""
    law = f"{NOT_IN_LAW} It says what the attacks listed found on {released}, with the knowledge stated, on the day of issue."
    return law, _WORST


def describe_rows(content: Content, every_row: str) -> Sentence:
    """What the figures count. every_row: the id of the sentence where no column joins the rows of a person."""
    if content.persons is None:
        return say(every_row)
    return say("residual.persons", rows=content.rows_in, persons=content.persons, counted=content.counts == "persons")


def describe_randomness(content: Content, undone: str) -> str:
    """Where the random choices come from. undone: what somebody does who has the seed."""
    if content.masked_elsewhere:
        tool = "by means that nobody named" if content.tool is None else f"with {content.tool}"
        made = "masked" if content.kind.has_owners else "made"
        return (
            f"The table was {made} elsewhere, {tool}. Its method and parameters are known only as they were declared; whether "
            "there was a seed, how it was drawn and who holds it is not known here."
        )
    return (
        "All random choices come from PCG64 with a secret seed of 256 bits. PCG64 is a generator for statistics, not for "
        f"cryptography. Whoever holds the seed {undone}; it is in none of the published files."
    )


def describe_editions(content: Content) -> str:
    """How exact the figures of this edition are."""
    if content.edition == "internal":
        return "This edition has figures at full precision: with the release they give exact statistics of the original."
    return (
        f"{CLASSES} Figures that together with the release would give exact statistics of the original are rounded to 2 digits "
        "and at most 3 decimals; behind each bar of a chart of the original stand at least 10 records, and tails are cut."
    )
