"""The mask repeated on what it released: an intruder who knows it learns how far it moves people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tasks.attack.inference.inputs import encode_each_input, has_order
from tasks.mask.methods import Masking, mask
from tasks.mask.sampling import Sampling
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Schema
from tasks.microdata.table import Floats, Integers, Microdata

FLOOR = 1e-3  # of a standard deviation: no mask is taken to move people less far
MOST_CHANGED = 0.99  # chance of another category, over that of the same one: it is never taken to be larger

Spreads = dict[str, tuple[float, float]]  # by attribute, of its first column and of the others


@dataclass(frozen=True, slots=True)
class RepeatedMask:
    """The released rows that teach, masked once more.

    rows: what the repeated mask published. record: shape (rows,): which released row each was.
    """

    rows: Microdata
    record: Integers


def repeat_mask(
    released: Microdata, schema: Schema, steps: tuple[Masking, ...], *, seed: bytes, path: tuple[str, ...]
) -> RepeatedMask | None:
    """What the mask makes of rows that it has already masked.

    Meaning: the intruder knows the steps and their parameters, and not what they drew. Between a released row and its twice-
    masked form lies what lies between a person and their released row, and the intruder knows both. Steps that do the same to
    a value for certain (recoding, rounding) were done already, and are not repeated. Microaggregation finds the same groups
    again and moves little or nobody: then it teaches that equal rows are one place. Noise in percent of a standard deviation
    is a little larger the second time, because the first noise made that deviation larger. Sampling is not repeated either:
    it would leave few rows, and moves none.

    seed, path: of the intruder, see `mask`. None where no such step is left, or the steps cannot be carried out on masked rows.
    Cost: that of the steps. Example: with noise of 0.3, rows that are 0.3 away on average (root mean square).
    """
    drawn = tuple(step for step in steps if not step.is_rule_for_values and not isinstance(step, Sampling))
    if not drawn:
        return None
    published = replace(schema, attributes=tuple(one for one in schema.attributes if one.name in released.names))
    try:
        done = mask(released, published, drawn, seed=seed, path=path)
    except InputError:
        return None
    return RepeatedMask(done.data, done.record) if done.data.n else None


def measure_spreads(
    repeated: RepeatedMask,
    released: Microdata,
    schema: Schema,
    knows: tuple[str, ...],
    encoded: Mapping[str, tuple[Floats, Floats]] | None = None,
) -> Spreads:
    """By known attribute how far the mask moves people, in units of `encode_each_input`: the scale of a Gaussian kernel.

    Formula in words: of a measured or ordinal attribute the root mean square of the displacements. Of categories, of which a
    share q changes and C are published, the scale for which the kernel of two different ones, over that of two equal ones, is
    the ratio of their chances: q / (C - 1) / (1 - q). (The mean square of zeros and ones would be far too small: of q = 0.2
    and C = 2 the kernel would have exp(-5) for 0.25.) The same for the column that says what is missing. No scale is below
    0.001.

    encoded: the released rows and the twice-masked ones as they were encoded, where that was by others than the released rows.

    Cost: O(m d). Example: noise of 0.3 on a column with a standard deviation of 1.04 after it: 0.29. Of two categories,
    of which one in five changes: 0.85 (exp(-1 / 0.85^2) is 0.25).
    """
    inputs = encode_each_input(released, repeated.rows, schema, knows) if encoded is None else encoded
    spreads = {}
    for name, (shown, after) in inputs.items():
        before = shown[repeated.record]
        if not has_order(schema[name], (released, repeated.rows)):
            changed = float((before != after).any(axis=1).mean())
            occurring = int((before.any(axis=0) | after.any(axis=0)).sum())
            spreads[name] = (_convert_share(changed, occurring, 2.0),) * 2
            continue
        moved = float(np.sqrt(((after[:, 0] - before[:, 0]) ** 2).mean()))
        lost = float((before[:, 1:] != after[:, 1:]).any(axis=1).mean())
        spreads[name] = max(moved, FLOOR), _convert_share(lost, 2, 1.0)
    return spreads


def spread_over_columns(spreads: Spreads, inputs: Mapping[str, tuple[Floats, Floats]], names: Iterable[str]) -> Floats:
    """Shape (d,): the scale of each column of `join_inputs`."""
    parts = ((spreads[name], inputs[name][0].shape[1]) for name in names)
    return np.concatenate([np.r_[first, np.full(width - 1, rest)] for (first, rest), width in parts])


def _convert_share(changed: float, categories: int, distance: float) -> float:
    """The scale at which values at this squared distance have the ratio of the chances that one changed and that it stayed."""
    ratio = changed / max(categories - 1, 1) / max(1 - changed, FLOOR)
    return max(float(np.sqrt(distance / 2 / -np.log(np.clip(ratio, 1e-300, MOST_CHANGED)))), FLOOR)
