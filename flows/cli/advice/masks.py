"""How one masking step would protect more, or cost less: sentences in the words of its parameters."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, get_args

from tasks.mask.groups.partition import Partition
from tasks.microdata.escaping import escape_terminal
from tasks.microdata.words import join_with_and

_APART = "individual_ranking"
_BEST = "refined"
_ENDS = ("top", "bottom", "top_percent", "bottom_percent")
_MOST = 5  # attributes whose parameters are written out
_BY_ATTRIBUTE = {"rounding": "bases", "top_bottom_coding": "limits", "recoding": "recode"}
_SINGLE = {"max_record_risk", "records_exposed"}
_JOINTLY = "mask its attributes by microaggregation, together with the others"
_WITHOUT_GROUPS = {"rank_swapping", "rank_jitter", "reverse_mapping", "pram", "noise"}
Fields = dict[str, Any]


def attributes_of(step: Fields) -> set[str] | None:
    """The attributes a step names, in one way or another; None: those that fit it."""
    if step.get("attributes") is not None:
        return set(step["attributes"])
    if step.get("blocks"):
        return {name for names, _ in _blocks(step) for name in names}
    if step["method"] in _BY_ATTRIBUTE:
        return set(step.get(_BY_ATTRIBUTE[step["method"]]) or ())
    return set() if step["method"] == "sampling" else None


def suggest_stronger_masking(place: int, step: Fields, line: Fields) -> Iterator[str]:
    """How a step would protect more, for a line of the policy on risk. place: in the list of steps."""
    named, method = f"masking step {place + 1}", step["method"]
    if _makes_no_groups(step) and line["measure"].startswith("k_anonymity"):
        yield (
            f"{named.capitalize()} ({method}) makes no groups, so it keeps no k: {_JOINTLY}, or limit max_record_risk "
            "instead of k_anonymity."
        )
        return
    match method:
        case "microaggregation":
            yield from _larger_groups(step, named, line)
        case "rank_swapping" if line.get("attack") == "consistency":
            yield (
                f"{named.capitalize()} (rank_swapping) exchanges pairs, and whoever follows the exchanges finds them however "
                f"far values move: {_JOINTLY}."
            )
        case "rank_swapping" | "rank_jitter":
            yield f"{_sentence(_further(step, named))}, or {_JOINTLY}."
        case "pram" if line["measure"] in _SINGLE:
            yield (
                f"After {named} (pram) single people are found by luck as well: limit known_reidentification (links that can "
                f"be asserted) instead of {line['measure']}."
            )
        case "pram":
            yield (
                f"{_sentence(_exchange(step, named, 'lower'))}; or {_JOINTLY}, which hides more for the same loss (categories: "
                "each group shows its most frequent one)."
            )
        case "noise":
            yield f"Raise `sd_percent` of {named}{_now(step, 'sd_percent')}, or {_JOINTLY}."
        case "rounding":
            yield f"Raise the `bases` of {named}{_each(step, 'bases')}, or {_JOINTLY}: who rounds his own records finds them."
        case "top_bottom_coding":
            yield f"{named.capitalize()} (top_bottom_coding) hides the ends alone: {_JOINTLY}, or code more ({_ends(step)})."
        case "recoding":
            yield f"Recode into fewer categories or wider bands in {named} (`recode`), or {_JOINTLY}."
        case "sampling":
            field = _choose_sampling_field(step)
            yield (
                f"Lower `{field}` of {named}{_now(step, field)}; but who is in the sample stays as easy to "
                "find: mask the other columns more strongly as well."
            )
        case "reverse_mapping":
            yield f"{named.capitalize()} (reverse_mapping) hands values back by rank: mask more in the steps before it."
        case "pseudonyms":
            return
        case other:
            yield f"Mask more strongly in {named} ({other})."


def suggest_weaker_masking(step: Fields, named: str) -> Iterator[str]:
    """How a step would cost less. named: "masking step 2"."""
    risk = "more risk"
    match step["method"]:
        case "microaggregation":
            if _BEST in get_args(Partition) and step.get("partition", "mdav") in ("mdav", "v_mdav", "projection", "randomised"):
                yield f"write `partition: {_BEST}` in {named} (the same k for less loss)"
            yield f"lower `k` of {named} ({_sizes(step)}; {risk})"
        case "rank_swapping" | "rank_jitter":
            yield _further(step, named, back=True)
        case "pram":
            yield f"{_exchange(step, named, 'raise')}, so that fewer cells are exchanged ({risk})"
        case "noise":
            yield f"lower `sd_percent` of {named}{_now(step, 'sd_percent', risk)}"
        case "rounding":
            yield f"lower the `bases` of {named}{_each(step, 'bases', risk)}"
        case "top_bottom_coding":
            yield f"code less in {named} ({_ends(step)}; {risk})"
        case "recoding":
            yield f"recode into more categories or narrower bands in {named} ({risk})"
        case "sampling":
            yield f"raise `{_choose_sampling_field(step)}` of {named}{_now(step, _choose_sampling_field(step), risk)}"
        case "reverse_mapping":
            yield f"take {named} (reverse_mapping) out: the masked values lose less than values at their ranks"
        case "pseudonyms":
            return
        case method:
            yield f"mask less in {named} ({method}; {risk})"


def _larger_groups(step: Fields, named: str, line: Fields) -> Iterator[str]:
    needed, smallest = _compute_needed_k(line), min([k for _, k in _blocks(step)] or [step["k"]])
    if needed is not None and smallest < needed:
        whose = named if smallest == step["k"] else f"the blocks of {named}"
        yield f"Raise `k` of {whose} from {smallest} to {needed}: in a group of k alike, a guess is right once in k."
    if len(step.get("blocks") or ()) > 1:
        yield f"Group all attributes of {named} together (take `blocks` out): who combines the blocks learns more."
    if step.get("partition") == _APART and len(attributes_of(step) or "ab") > 1:
        others = " or ".join(name for name in ("mdav", _BEST) if name in get_args(Partition))
        yield (
            f"Group the attributes of {named} together (`partition: {others}`, without `blocks`): {_APART} takes each "
            "attribute by itself, and who combines them finds nearly everybody, however large k is."
        )


def _compute_needed_k(line: Fields) -> int | None:
    if line["measure"].startswith("k_anonymity"):
        return math.ceil(float(line["limit"]))
    if line["measure"] == "records_exposed":
        return 3
    if line["measure"] in {"reidentification", "max_record_risk"} and line["limit"] > 0:
        return math.ceil(1 / float(line["limit"]) - 1e-9)
    return None


def _blocks(step: Fields) -> list[tuple[list[str], int]]:
    """The attributes and the smallest group of each block; a block is a list, or a mapping with a `k` of its own."""
    found = [block if isinstance(block, dict) else {"attributes": block} for block in step.get("blocks") or ()]
    return [(list(block["attributes"]), block.get("k") or step["k"]) for block in found]


def _sizes(step: Fields) -> str:
    own = sorted({k for _, k in _blocks(step)} - {step["k"]})
    return f"now {step['k']}" + (f", and {join_with_and(list(map(str, own)))} in blocks" if own else "")


def _makes_no_groups(step: Fields) -> bool:
    return step["method"] in _WITHOUT_GROUPS or (step["method"] == "rounding" and step.get("kind") != "deterministic")


def _further(step: Fields, named: str, *, back: bool = False) -> str:
    """Move values further by the parameter of the variant, or less far."""
    field = next((name for name in ("window_percent", "p_percent", "buckets") if step.get(name) is not None), None)
    if field is None:
        return f"move values {'less far' if back else 'further'} in {named}"
    raised = (field == "buckets") == back
    return f"{'raise' if raised else 'lower'} `{field}` of {named}{_now(step, field, 'more risk' if back else '')}"


def _exchange(step: Fields, named: str, verb: str) -> str:
    """Exchange more (lower) or fewer cells (raise) by the parameter that says how often a category stays."""
    for field in ("retention", "epsilon"):
        if step.get(field) is not None:
            return f"{verb} `{field}` of {named}{_now(step, field)}"
    if step.get("warner") is not None:
        return f"{verb} `p` of `warner` in {named}{_now(step['warner'], 'p')}"
    return f"let {'less' if verb == 'lower' else 'more'} stay by the `matrix` of {named}"


def _choose_sampling_field(step: Fields) -> str:
    return "size" if step.get("size") is not None else "share"


def _ends(step: Fields) -> str:
    fields = {field for limits in (step.get("limits") or {}).values() for field in _ENDS if limits.get(field) is not None}
    return f"`limits`: {join_with_and([f'`{field}`' for field in _ENDS if field in fields])}" if fields else "`limits`"


def _now(fields: Fields, field: str, also: str = "") -> str:
    now = "" if fields.get(field) is None else f"now {fields[field]:g}"
    told = "; ".join(part for part in (now, also) if part)
    return f" ({told})" if told else ""


def _each(step: Fields, field: str, also: str = "") -> str:
    """What the step says of each attribute, where it says little."""
    each = [f"{escape_terminal(name)} {value:g}" for name, value in (step.get(field) or {}).items()]
    now = f"now {join_with_and(each)}" if 0 < len(each) <= _MOST else ""
    told = "; ".join(part for part in (now, also) if part)
    return f" ({told})" if told else ""


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]
