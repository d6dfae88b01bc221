"""Words that masks share when they say how a step would protect more, or cost less."""

from __future__ import annotations

from typing import Any

from tasks.microdata.escaping import escape_terminal
from tasks.microdata.words import join_with_and

Fields = dict[str, Any]  # a masking step, or a line of the policy, as a run recorded it

JOINTLY = "mask its attributes by microaggregation, together with the others"
MORE_RISK = "more risk"
_MOST = 5  # attributes whose parameters are written out


def state_value(fields: Fields, field: str, also: str = "") -> str:
    """` (now 5; more risk)`: what a parameter is now."""
    now = "" if fields.get(field) is None else f"now {fields[field]:g}"
    return _join_in_brackets(now, also)


def state_values(step: Fields, field: str, also: str = "") -> str:
    """` (now age 5 and pay 500)`: what a step says of each attribute, if it says little."""
    each = [f"{escape_terminal(name)} {value:g}" for name, value in (step.get(field) or {}).items()]
    return _join_in_brackets(f"now {join_with_and(each)}" if 0 < len(each) <= _MOST else "", also)


def suggest_distance(step: Fields, named: str, *, back: bool = False) -> str:
    """Move values further by the parameter of the variant, or less far (`back`)."""
    field = next((name for name in ("window_percent", "p_percent", "buckets") if step.get(name) is not None), None)
    if field is None:
        return f"move values {'less far' if back else 'further'} in {named}"
    raised = (field == "buckets") == back
    return f"{'raise' if raised else 'lower'} `{field}` of {named}{state_value(step, field, MORE_RISK if back else '')}"


def begin_sentence(text: str) -> str:
    """The text with a capital letter at its beginning."""
    return text[0].upper() + text[1:]


def _join_in_brackets(*parts: str) -> str:
    written = "; ".join(part for part in parts if part)
    return f" ({written})" if written else ""
