"""Which attributes were exchanged in pairs, and what an intruder has to know to use that."""

from __future__ import annotations

from collections.abc import Callable

from tasks.mask.methods import Mechanism, infer_belief
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.mask.sampling import Sampling
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
) -> tuple[str, ...]:
    """The attributes that somebody can use as exchanged who knows `knows`. Parameters: as `link_by_consistency`."""

    def is_certain_before(position: int, name: str) -> bool:
        own_records, of_whom = original.select(knows), person_key(original, schema)
        before = infer_belief(own_records, masked, schema, mechanisms[:position], present, n_records=n_records, persons=of_whom)
        return before.is_certain((name,))

    return select_exchanged_attributes(mechanisms, knows, is_certain_before)


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
