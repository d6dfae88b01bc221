"""Sampling in words."""

from __future__ import annotations

from tasks.mask.sampling import Sampling
from tasks.microdata.schema import Role, Schema
from tasks.microdata.words import join_with_and
from tasks.report.masks.mask_text import MaskText
from tasks.report.wording.numbers import SPACE, count, number


def describe_sampling(step: Sampling, schema: Schema) -> MaskText:
    persons = bool(schema.find_by_role(Role.PERSON))
    who, whose = ("persons", ", each with all rows or none") if persons else ("records", "")
    kept = f"{count(step.size)} {who}" if step.size is not None else f"{number(100 * (step.share or 0))}{SPACE}% of the {who}"
    kind = "simple" if step.by is None else "stratified"
    return MaskText(
        title=f"{kind.capitalize()} random sample of {kept}" + ("" if step.by is None else f", by {join_with_and(step.by)}"),
        text=(
            f"A random sample of {kept} was drawn without replacement{whose}; the others are not in the release. "
            f"{_strata(step)}"
            "Where a person is in the release, sampling hides nothing of him or her. The losses compare each released row with "
            "its own original: that a sample differs from the whole by chance is not in them."
        ),
        missing="",
        attribute=lambda _: "as it is",
        analysts=(*_weighting(step, schema, who), *_errors(step, persons=persons)),
    )


def _strata(step: Sampling) -> str:
    if step.by is None:
        return ""
    divided = "in proportion to their numbers" if step.allocation == "proportional" else "in equal numbers"
    return f"Each combination of values of {join_with_and(step.by)} was sampled by itself: {divided}, each at least one. "


def _weighting(step: Sampling, schema: Schema, who: str) -> tuple[str, ...]:
    weights = schema.find_by_role(Role.WEIGHT)
    where = "" if step.by is None else f"within each combination of {join_with_and(step.by)} "
    told = (
        f"Totals and counts of the source need a factor: {where}the number of {who} in the source over their number in the "
        "release."
    )
    if step.by is not None and step.allocation == "equal":
        told += (
            " Means need it too: small strata have as many rows here as large ones. The numbers in the source are not in the "
            "release: the publisher has them."
        )
    elif step.share is not None:
        told += f" It is about {number(1 / step.share)}."
    if not weights:
        return (told,)
    return (
        f"{told} The weights in {join_with_and(weights)} are those of the source and were not changed: multiply them by it.",
    )


def _errors(step: Sampling, *, persons: bool) -> tuple[str, ...]:
    if persons:
        return (
            "Standard errors: those of a sample of clusters, as the rows of a person came or were left out together"
            f"{'' if step.by is None else ', drawn in strata'}; with one row to a person those of a sample of rows.",
        )
    if step.by is not None:
        return ("Standard errors: those of a stratified sample, the finite population correction 1 - m/n in each stratum.",)
    return (
        "As estimates of the source's means, the released means have a standard error of s * sqrt((1 - m/n) / m), s being the "
        "standard deviation and m of n the number sampled.",
    )
