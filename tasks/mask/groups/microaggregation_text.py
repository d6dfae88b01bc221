"""Microaggregation in words: for who uses the data, and for who looks for a way to mask more or less."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tasks.mask.groups.group_aggregates import Aggregate
from tasks.mask.groups.partition_choice import NAMES
from tasks.mask.mask_text import MaskText
from tasks.mask.shared_advice import MORE_RISK, Fields
from tasks.microdata.words import join_with_and

if TYPE_CHECKING:
    from tasks.mask.groups.microaggregation import Microaggregation

Aggregates = Mapping[str, Aggregate]  # what replaces the values of each attribute

# benchmarks/transparency.py --only groups: Census, all 13 attributes known, k = 3, 10, 25; apart: in pairs of attributes
JOINTLY = "the repeated partition finds 33, 10 and 4 % of the records, the nearest mean of a randomised one 29, 8 and 3 %"
APART = (
    "repeated partitions of pairs of attributes find 99.7 to 100 % of the records, nearest means of randomised ones 97 to 100"
)
_CENTRES = {"plurality": "most frequent category"}
_SPREAD = (
    "Within groups nothing varies any more: variances computed from the released values are mostly too small, where means are "
    "published by what was lost (see the losses), and correlations of masked attributes tend to be too large."
)


def describe_microaggregation(step: Microaggregation, aggregates: Aggregates) -> MaskText:
    sizes = {k for _, k in step.groups}
    by = "" if step.partition == "mdav" else f" by {NAMES[step.partition]}"
    return MaskText(
        title=f"Microaggregation{by}, groups of at least {min(sizes)}",
        text=_text(step, aggregates),
        missing="Microaggregation groups records only with those that miss the same attributes, by the attributes they have, "
        "so every present value is masked.",
        attribute=lambda attribute: (
            f"replaced by the {_centre(aggregates[attribute.name])} of a group of at least "
            f"{_size(step, attribute.name)} records"
        ),
        analysts=_for_analysts(step, aggregates),
    )


def _for_analysts(step: Microaggregation, aggregates: Aggregates) -> tuple[str, ...]:
    to_mean = [name for name in step.target_attributes if aggregates[name] == "mean"]
    others = [name for name in step.target_attributes if name not in to_mean]
    kept = f"The means of {join_with_and(to_mean)} are kept, but for the rounding of the published values."
    not_kept = (
        f"In {join_with_and(others)} a median or a most frequent category stands for a group: neither means nor "
        "frequencies are kept "
        "exactly."
    )
    return (_SPREAD, *((kept,) if to_mean else ()), *((not_kept,) if others else ()))


def _centre(aggregate: Aggregate) -> str:
    return _CENTRES.get(aggregate, aggregate)


def _size(step: Microaggregation, name: str) -> int:
    return next(k for names, k in step.groups if name in names)


def _text(step: Microaggregation, aggregates: Aggregates) -> str:
    sizes = list(dict.fromkeys(k for _, k in step.groups))
    together, singly = len(step.groups) == 1, all(len(names) == 1 for names, _ in step.groups)
    several = (
        " (by set: " + ", ".join(f"{k} in {join_with_and(names)}" for names, k in step.groups) + ")" if len(sizes) > 1 else ""
    )
    least = f"{min(sizes)}{several}"
    alike = "alike in it" if singly else "alike in them taken together" if together else "alike in that set"
    shared = "each of its values" if singly else "each combination of these values" + ("" if together else " within a set")
    named = join_with_and(step.groups[0][0]) if together else _sets(step)
    of_series = f"{_describe_parts(step)}{_describe_nesting(step)}{_describe_frozen_groups(step)}"
    return (
        f"In {named}, records were put into groups of at least {least} that are "
        f"{alike}, and each value was replaced by its group's {_centres(step, aggregates)}. "
        f"After this step at least {min(sizes)} records shared {shared}.{of_series}"
    )


def _describe_parts(step: Microaggregation) -> str:
    if step.records_per_part is None:
        return ""
    return f" Before that the records were split into parts of at most {step.records_per_part:,} near ones."


def _describe_frozen_groups(step: Microaggregation) -> str:
    if not step.frozen:
        return ""
    return (
        " People who were in an earlier release of the series show what they showed there, also where their values have "
        "changed or they have left since; people who are new were grouped among themselves."
    )


def _describe_nesting(step: Microaggregation) -> str:
    if step.nested_in is None:
        return ""
    return (
        f" Each group is made of whole groups of at least {step.nested_in}: a release of the same records in those groups and "
        "this one tell together no more than that one alone."
    )


def _sets(step: Microaggregation) -> str:
    if all(len(names) == 1 for names, _ in step.groups):
        return f"each of {join_with_and(step.target_attributes)} by itself"
    return f"each of these sets of attributes by itself ({'; '.join(join_with_and(names) for names, _ in step.groups)})"


def _centres(step: Microaggregation, aggregates: Aggregates) -> str:
    kinds = list(dict.fromkeys(_centre(aggregates[name]) for name in step.target_attributes))
    if len(kinds) == 1:
        return kinds[0]
    words = {
        "median category": "ordinal codes: their median category",
        "most frequent category": "categories: the most frequent",
    }
    first, *rest = sorted(kinds, key=lambda kind: kind in words)
    return f"{first} ({'; '.join(words.get(kind, kind) for kind in rest)})"


def describe_repeatable_partition(step: Microaggregation) -> str:
    """What an intruder gains who repeats the partition, and what would take it from them."""
    jointly = len(step.groups) == 1 and len(step.target_attributes) > 1
    left = (
        "is left with each record's own group"
        if len(step.groups) == 1
        else "intersects each record's own groups, after which little is left to guess"
    )
    gain = (
        "A randomised partition would take this from them, and little of the risk: on the Census table of the literature "
        f"{JOINTLY}"
        if jointly
        else "Where many attributes are known, grouping them jointly would help, and randomising the partition would not: on "
        f"the Census table of the literature {APART}"
    )
    return (
        f"The partition of {join_with_and(step.target_attributes)} draws nothing at random: who holds all records in "
        f"them repeats it and {left}. "
        f"{gain} (groups of 3, 10 and 25; all 13 attributes known)."
    )


def suggest_larger_groups(step: Fields, named: str, line: Fields, attributes: set[str] | None) -> Iterator[str]:
    """How the step would protect more. attributes: those that it names; None: those that fit it."""
    needed, smallest = _compute_needed_k(line), min([k for _, k in list_blocks(step)] or [step["k"]])
    if needed is not None and smallest < needed:
        whose = named if smallest == step["k"] else f"the blocks of {named}"
        most = step.get("records_per_part")
        parts = f", and `records_per_part` to {4 * needed}" if most is not None and most < 4 * needed else ""
        yield f"Raise `k` of {whose} from {smallest} to {needed}{parts}: in a group of k alike, a guess is right once in k."
    if len(step.get("blocks") or ()) > 1:
        yield f"Group all attributes of {named} together (take `blocks` out): who combines the blocks learns more."
    if step.get("partition") == "individual_ranking" and len(attributes or "ab") > 1:
        yield (
            f"Group the attributes of {named} together (`partition: mdav or refined`, without `blocks`): "
            "individual_ranking takes each attribute by itself, and who combines them finds nearly everybody, however large "
            "k is."
        )


def _compute_needed_k(line: Fields) -> int | None:
    if line["measure"].startswith("k_anonymity"):
        return math.ceil(float(line["limit"]))
    if line["measure"] == "records_exposed":
        return 3
    if line["measure"] in {"reidentification", "max_record_risk"} and line["limit"] > 0:
        return math.ceil(1 / float(line["limit"]) - 1e-9)
    return None


def list_blocks(step: Fields) -> list[tuple[list[str], int]]:
    """The attributes and the smallest group of each block; a block is a list, or a mapping with a `k` of its own."""
    found = [block if isinstance(block, dict) else {"attributes": block} for block in step.get("blocks") or ()]
    return [(list(block["attributes"]), block.get("k") or step["k"]) for block in found]


def _sizes(step: Fields) -> str:
    own = sorted({k for _, k in list_blocks(step)} - {step["k"]})
    return f"now {step['k']}" + (f", and {join_with_and(list(map(str, own)))} in blocks" if own else "")


def suggest_smaller_groups(step: Fields, named: str) -> Iterator[str]:
    """How the step would cost less."""
    if step.get("records_per_part") is not None:
        yield f"raise `records_per_part` of {named}, or take it out (the same k for less loss)"
    if step.get("partition", "mdav") in ("mdav", "v_mdav", "projection", "randomised"):
        yield f"write `partition: refined` in {named} (the same k for less loss)"
    yield f"lower `k` of {named} ({_sizes(step)}; {MORE_RISK})"
