"""Microaggregation in words."""

from __future__ import annotations

from tasks.mask.groups.microaggregation import Microaggregation, aggregate_of
from tasks.mask.groups.partition import NAMES
from tasks.microdata.schema import Attribute, Schema
from tasks.microdata.words import join_with_and
from tasks.report.masks.mask_text import MaskText

_CENTRES = {"plurality": "most frequent category"}
_SPREAD = (
    "Within groups nothing varies any more: variances computed from the released values are mostly too small, where means are "
    "published by what was lost (see the losses), and correlations of masked attributes tend to be too large."
)


def describe_microaggregation(step: Microaggregation, schema: Schema) -> MaskText:
    sizes = {k for _, k in step.groups}
    by = "" if step.partition == "mdav" else f" by {NAMES[step.partition]}"
    return MaskText(
        title=f"Microaggregation{by}, groups of at least {min(sizes)}",
        text=_text(step, schema),
        missing="Microaggregation groups records only with those that miss the same attributes, by the attributes they have, "
        "so every present value is masked.",
        attribute=lambda attribute: (
            f"replaced by the {_centre(step, attribute)} of a group of at least {_size(step, attribute.name)} records"
        ),
        analysts=_for_analysts(step, schema),
    )


def _for_analysts(step: Microaggregation, schema: Schema) -> tuple[str, ...]:
    to_mean = [name for name in step.target_attributes if aggregate_of(step, schema[name]) == "mean"]
    others = [name for name in step.target_attributes if name not in to_mean]
    kept = f"The means of {join_with_and(to_mean)} are kept, but for the rounding of the published values."
    not_kept = (
        f"In {join_with_and(others)} a median or a most frequent category stands for a group: neither means nor "
        "frequencies are kept "
        "exactly."
    )
    return (_SPREAD, *((kept,) if to_mean else ()), *((not_kept,) if others else ()))


def _centre(step: Microaggregation, attribute: Attribute) -> str:
    aggregate = aggregate_of(step, attribute)
    return _CENTRES.get(aggregate, aggregate)


def _size(step: Microaggregation, name: str) -> int:
    return next(k for names, k in step.groups if name in names)


def _text(step: Microaggregation, schema: Schema) -> str:
    sizes = list(dict.fromkeys(k for _, k in step.groups))
    together, singly = len(step.groups) == 1, all(len(names) == 1 for names, _ in step.groups)
    several = (
        " (by set: " + ", ".join(f"{k} in {join_with_and(names)}" for names, k in step.groups) + ")" if len(sizes) > 1 else ""
    )
    least = f"{min(sizes)}{several}"
    alike = "alike in it" if singly else "alike in them taken together" if together else "alike in that set"
    shared = "each of its values" if singly else "each combination of these values" + ("" if together else " within a set")
    named = join_with_and(step.groups[0][0]) if together else _sets(step)
    return (
        f"In {named}, records were put into groups of at least {least} that are "
        f"{alike}, and each value was replaced by its group's {_centres(step, schema)}. "
        f"After this step at least {min(sizes)} records shared {shared}."
    )


def _sets(step: Microaggregation) -> str:
    if all(len(names) == 1 for names, _ in step.groups):
        return f"each of {join_with_and(step.target_attributes)} by itself"
    return f"each of these sets of attributes by itself ({'; '.join(join_with_and(names) for names, _ in step.groups)})"


def _centres(step: Microaggregation, schema: Schema) -> str:
    kinds = list(dict.fromkeys(_centre(step, schema[name]) for name in step.target_attributes))
    if len(kinds) == 1:
        return kinds[0]
    words = {
        "median category": "ordinal codes: their median category",
        "most frequent category": "categories: the most frequent",
    }
    first, *rest = sorted(kinds, key=lambda kind: kind in words)
    return f"{first} ({'; '.join(words.get(kind, kind) for kind in rest)})"
