"""The masking steps of a release in words: what each step says of itself, and of its strata."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tasks.mask.mask_text import MaskText
from tasks.mask.step import MaskStep
from tasks.microdata.schema import Schema
from tasks.microdata.words import join_with_and
from tasks.report.wording.sentence import say


def describe_mask(step: MaskStep, schema: Schema) -> MaskText:
    """One masking step in words."""
    whole = step.describe(schema)
    if step.strata is None:
        return whole
    title = say("masks.title_in_strata", title=whole.title, strata=step.strata)
    return replace(whole, title=title, text=say("masks.in_strata", text=whole.text, strata=step.strata))


def for_analysts(steps: Iterable[MaskStep], schema: Schema) -> tuple[tuple[str, str], ...]:
    """How an analysis can correct for the steps: the attributes of each, and what is to be done; each piece of advice once."""
    advice = (
        (join_with_and(step.target_attributes) or "The whole table", " ".join(describe_mask(step, schema).analysts))
        for step in steps
    )
    return tuple(dict.fromkeys((whose, sentences) for whose, sentences in advice if sentences))
