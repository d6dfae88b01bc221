"""Microaggregation in words."""

from __future__ import annotations

from tasks.mask.groups.microaggregation import Microaggregation
from tasks.microdata.schema import Attribute, Scale, Schema
from tasks.microdata.words import listed
from tasks.report.masks.told import Told


def told(step: Microaggregation, schema: Schema) -> Told:
    return Told(
        title=f"Microaggregation, groups of at least {step.k}",
        text=_text(step, schema),
        missing="Microaggregation groups records only with those that miss the same attributes, by the attributes they have, "
        "so every present value is masked.",
        attribute=lambda attribute: f"replaced by the {_centre(attribute)} of a group of at least {step.k} records",
    )


def _centre(attribute: Attribute) -> str:
    return "median category" if attribute.scale is Scale.ORDINAL else "mean"


def _text(step: Microaggregation, schema: Schema) -> str:
    groups = [listed(block) for block in step.groups]
    together = len(groups) == 1
    alike = "alike in them taken together" if together and len(step.groups[0]) > 1 else "alike in it"
    named = groups[0] if together else f"each of these sets of attributes by itself ({'; '.join(groups)})"
    ordinal = {schema[name].scale is Scale.ORDINAL for block in step.groups for name in block}
    centre = {
        frozenset({False}): "mean",
        frozenset({True}): "median category",
    }.get(frozenset(ordinal), "mean (ordinal codes: their median category)")
    return (
        f"In {named}, records were put into groups of at least {step.k} that are "
        f"{alike if together else 'alike in that set'}, and each value was replaced by its group's {centre}. "
        f"At least {step.k} released records share each combination of these values{'' if together else ' within a set'}."
    )
