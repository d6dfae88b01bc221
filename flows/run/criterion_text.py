"""Describe one line of a policy and what became of it, for a terminal, a table and Prefect's interface."""

from __future__ import annotations

from typing import Any


def describe_criterion(line: dict[str, Any]) -> str:
    """`reidentification 0.082 (limit at most 0.15), by transparency`; a lower bound: `reidentification at least 0.37; ...`"""
    from tasks.microdata.estimate import BOUND_CONFIDENCE, name_bound

    value = "has no figure" if line["deciding_value"] is None else f"{line['deciding_value']:.4g}"
    sure = name_bound(line.get("bound_confidence") or BOUND_CONFIDENCE)
    end = f" ({sure})" if line["deciding_bound"] in ("low", "high") else ""
    if line.get("lower_bound"):
        value, end = f"at least {value}", ""
    of = f" of {line['attribute']}" if line["attribute"] else ""
    found = "attack" if line["deciding_value"] is None else "found by"
    by = f", {found} {', '.join(filter(None, (line['attack'], line['intruder'])))}" if line["attack"] else ""
    note = f" ({line['caution']})" if line.get("caution") else ""
    return f"{line['measure']}{of} {value}{end}; limit {line['direction'].replace('_', ' ')} {line['limit']:g}{by}{note}"
