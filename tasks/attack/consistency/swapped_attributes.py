"""Which attributes were exchanged in pairs, what an intruder has to know to use that, and where the values are shown."""

from __future__ import annotations

from collections.abc import Callable

from tasks.mask.methods import Mechanism, bound_shown_values, infer_belief
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.mask.sampling import Sampling
from tasks.mask.value_bounds import ValueBounds
from tasks.microdata.schema import Schema
from tasks.microdata.table import Integers, Microdata
from tasks.microdata.units import person_key


def find_exchanged(
    original: Microdata,
    masked: Microdata,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    knows: tuple[str, ...],
    *,
    present: Integers | None = None,
    n_records: int | None = None,
) -> dict[str, ValueBounds | None]:
    """The attributes that somebody can use as exchanged who knows `knows`, and where the values are shown that were exchanged.

    None: as they were before the exchange, and these are known. Bounds: within which the value of each record is shown,
    whoever got it; where the exchange was not the last step on the attribute, or the values before it are not known for sure.
    They are asked for by somebody who holds all records of a complete release. Parameters: as `link_by_consistency`.
    """
    own_records, of_whom = original.select(knows), person_key(original, schema)

    def is_certain_before(position: int, name: str) -> bool:
        before = infer_belief(own_records, masked, schema, mechanisms[:position], present, n_records=n_records, persons=of_whom)
        return before.is_certain((name,))

    exact = select_exchanged_attributes(mechanisms, knows, is_certain_before)
    found: dict[str, ValueBounds | None] = dict.fromkeys(exact)
    if masked.n != original.n or n_records not in (None, original.n) or any(isinstance(one, Sampling) for one in mechanisms):
        return found
    for name in select_swapped_attributes(mechanisms, knows):
        if name not in found:
            position = find_last_swap(mechanisms, name)
            bounds = bound_shown_values(own_records, masked, schema, mechanisms, position, name, persons=of_whom)
            if bounds is not None:
                found[name] = bounds
    return {name: found[name] for name in knows if name in found}


def find_last_swap(mechanisms: tuple[Mechanism, ...], name: str) -> int:
    """The place of the last step that exchanged values of the attribute."""
    steps = (i for i, step in enumerate(mechanisms) if isinstance(step, RankSwapping) and name in step.target_attributes)
    return max(steps)


def select_swapped_attributes(mechanisms: tuple[Mechanism, ...], knows: tuple[str, ...]) -> tuple[str, ...]:
    """The known attributes that some step exchanged in pairs."""
    swapped = {name for step in mechanisms if isinstance(step, RankSwapping) for name in step.target_attributes}
    return tuple(name for name in knows if name in swapped)


def select_exchanged_attributes(
    mechanisms: tuple[Mechanism, ...], knows: tuple[str, ...], is_certain_before: Callable[[int, str], bool]
) -> tuple[str, ...]:
    """The known attributes whose values changed hands in pairs in the last step on them, and are known before it.

    is_certain_before: are all values of an attribute known after so many of the steps?
    """
    steps = {name: [position for position, step in enumerate(mechanisms) if name in step.target_attributes] for name in knows}
    return tuple(
        name
        for name, positions in steps.items()
        if positions
        and isinstance(mechanisms[positions[-1]], RankSwapping)
        and (len(positions) == 1 or is_certain_before(positions[-1], name))
    )


def is_sampled_after(mechanisms: tuple[Mechanism, ...], name: str) -> bool:
    """Were records left out after the last step on an attribute?"""
    last = max(position for position, step in enumerate(mechanisms) if name in step.target_attributes)
    return any(isinstance(step, Sampling) for step in mechanisms[last:])
