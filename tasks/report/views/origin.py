"""Who masked the table, in which order its rows stand, and who is not in it."""

from __future__ import annotations

from collections.abc import Iterator

from tasks.microdata.numbers import count, format_share
from tasks.microdata.schema import Scale
from tasks.microdata.words import join_with_and
from tasks.report.content import Content
from tasks.report.mask_description import describe_mask


def summarise_masking(content: Content) -> str:
    """One line for the head of the report: what was done to which attributes."""
    steps = [
        ": ".join(filter(None, [describe_mask(step, content.schema).title, join_with_and(step.target_attributes)]))
        for step in content.mechanisms
    ]
    done = "; then ".join(steps) or "nothing was masked"
    if not content.masked_elsewhere:
        return f"{done}."
    tool = "by means that nobody named" if content.tool is None else f"with {content.tool}"
    if content.of_nobody:
        return f"Made elsewhere, {tool}; its rows belong to nobody: {join_with_and(content.masking_targets)}."
    return f"Elsewhere, {tool}. As declared: {done}."


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


def describe_table_origin(content: Content) -> Iterator[str]:
    """Sentences on where the masked table comes from, its digits, its order, and the records that are not in it."""
    if content.of_nobody:
        tool = "by a tool that nobody named" if content.tool is None else f"with {content.tool}"
        yield (
            f"This table was made elsewhere, {tool}; here it was attacked and measured as it came. How it was made is not "
            "known here, and whether that was differentially private neither."
        )
    elif content.masked_elsewhere:
        tool = "by a tool that nobody named" if content.tool is None else f"with {content.tool}"
        yield (
            f"This table was masked elsewhere, {tool}; here it was attacked and measured as it came. The method and its "
            "parameters are known only as they were declared, and nobody here knows a seed."
        )
    elif any(content.schema[name].scale is Scale.NUMERIC for name in content.masking_targets):
        yield "Masked numbers are published with as many decimals as the source shows."
    order = "a random order" if content.keep_row_order is None else f"the source's order: {content.keep_row_order}"
    yield f"The rows are in {order.rstrip('.')}."
    if content.control is not None:
        part = format_share(content.control / content.rows_read)
        of = f"{count(content.control)} of {count(content.rows_read)} rows of the source ({part})"
        yield f"{of} were set aside before masking."
    if content.absent > 0:
        part = format_share(content.absent / content.rows_in)
        yield f"{count(content.absent)} of {count(content.rows_in)} records of the source ({part}) are not in the release."
