"""Who masked the table, in which order its rows stand, and who is not in it."""

from __future__ import annotations

from collections.abc import Iterator

from tasks.microdata.numbers import count
from tasks.microdata.schema import Scale
from tasks.microdata.words import join_with_and
from tasks.report.content import Content
from tasks.report.mask_description import describe_mask
from tasks.report.wording.sentence import Sentence, say


def summarise_masking(content: Content) -> Sentence:
    """One line for the head of the report: what was done to which attributes."""
    if content.masked_elsewhere and content.of_nobody:
        return say("origin.making", names=content.masking_targets, tool=content.tool)
    steps = [(describe_mask(step, content.schema).title, step.target_attributes) for step in content.mechanisms]
    return say("origin.masking", steps=steps, elsewhere=content.masked_elsewhere, tool=content.tool)


def describe_table_briefly(content: Content) -> tuple[tuple[str, str], ...]:
    """Beside the verdict: what was done to which attributes, which are as they were, and what was left out."""
    unmasked, left_out = list_unmasked_attributes(content), join_with_and(list_unpublished_columns(content))
    if left_out and content.absent > 0:
        left_out += f"; {count(content.absent)} of {count(content.rows_in)} records"
    return (
        ("Masked" if content.kind.has_owners else "Origin", summarise_masking(content)),
        *([("As it is", join_with_and(unmasked))] if unmasked else []),
        *([("Left out", left_out)] if left_out else []),
    )


def count_released_rows(content: Content) -> tuple[str, str]:
    return "Rows released", f"{count(content.rows_out)}{'' if content.is_certified else ' would be'}"


def list_unmasked_attributes(content: Content) -> tuple[str, ...]:
    """The published attributes that no step touched."""
    return tuple(name for name in content.schema.release_columns if name not in content.masking_targets)


def list_unpublished_columns(content: Content) -> tuple[str, ...]:
    """The columns of the source of which the release holds nothing."""
    return tuple(
        name for name in content.schema.names if name not in (*content.schema.release_columns, *content.pseudonym_columns)
    )


def describe_table_origin(content: Content) -> Iterator[Sentence]:
    """Sentences on where the masked table comes from, its digits, its order, and the records that are not in it."""
    if content.of_nobody:
        yield say("origin.made_elsewhere", tool=content.tool)
    elif content.masked_elsewhere:
        yield say("origin.masked_elsewhere", tool=content.tool)
    elif any(content.schema[name].scale is Scale.NUMERIC for name in content.masking_targets):
        yield say("origin.decimals")
    yield say("origin.row_order", kept=content.keep_row_order)
    if content.control is not None:
        yield say("origin.set_aside", control=content.control, rows=content.rows_read)
    if content.absent > 0:
        yield say("origin.absent", absent=content.absent, rows=content.rows_in)
