"""What PRAM promises of single cells, and of all cells of one record: epsilons of local differential privacy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tasks.mask.categories.pram import Pram, transition_matrix
from tasks.mask.categories.product import category_texts, create_category_coding
from tasks.mask.categories.randomised_response import compute_epsilon
from tasks.microdata.schema import Schema
from tasks.microdata.spec import Spec
from tasks.microdata.table import Floats, Microdata

INFINITE: Literal["infinite"] = "infinite"
Epsilon = float | Literal["infinite"]


@dataclass(frozen=True, slots=True)
class Randomisation:
    """What PRAM did to one attribute.

    epsilon: of its steps, added up; "infinite" (JSON has no such number) where a matrix excludes something or comes from the
        data, or a value is missing. A step on several attributes together counts with the epsilon of their combination.
    n_categories: of the attribute. truth_is_less_likely: can some category (or combination), in some step, be more likely to be
        released as another one than as itself? together: attributes that were drawn with it. invariant: was a step invariant?
    """

    attribute: str
    epsilon: Epsilon
    n_categories: int
    truth_is_less_likely: bool
    together: tuple[str, ...] = ()
    invariant: bool = False


def randomisations(source: Microdata, schema: Schema, steps: Iterable[Spec]) -> tuple[Randomisation, ...]:
    """Each attribute that PRAM steps among the steps randomise, in the order of the table. source: before masking."""
    ours = tuple(step for step in steps if isinstance(step, Pram))
    names = {name for step in ours for name in step.target_attributes}
    return tuple(_randomisation(source, schema, name, ours) for name in schema.names if name in names)


def compute_record_epsilon(source: Microdata, schema: Schema, steps: Iterable[Spec]) -> Epsilon | None:
    """The epsilon of all cells of one record that PRAM steps draw anew, taken together: the sum over steps and attributes.

    Attributes that are drawn together count once, with the epsilon of their combination. It is about those steps and those
    cells, not about the release; what other releases tell of the same person adds to it. None where no step is PRAM.
    """
    units = [(step, names) for step in steps if isinstance(step, Pram) for names in step.units]
    return _finite(sum(compute_unit_epsilon(source, schema, *unit) for unit in units)) if units else None


def _randomisation(source: Microdata, schema: Schema, name: str, steps: tuple[Pram, ...]) -> Randomisation:
    units = [(step, names) for step in steps for names in step.units if name in names]
    others = tuple(dict.fromkeys(other for _, names in units for other in names if other != name))
    return Randomisation(
        name,
        _finite(sum(compute_unit_epsilon(source, schema, *unit) for unit in units)),
        len(create_category_coding(schema, source, (name,), "masking").categories[0]),
        any(step.invariant or _hides_the_truth(_base(source, schema, step, names)) for step, names in units),
        others,
        any(step.invariant for step, _ in units),
    )


def compute_unit_epsilon(source: Microdata, schema: Schema, step: Pram, names: tuple[str, ...]) -> float:
    """The epsilon of one draw of a step: of one attribute, or of those that it draws together. source: before masking."""
    gaps = any(bool(source.missing(name).any()) for name in names)
    return np.inf if step.invariant else compute_epsilon(_base(source, schema, step, names), with_missing=gaps)


def _base(source: Microdata, schema: Schema, step: Pram, names: tuple[str, ...]) -> Floats:
    """The matrix over the combinations without gaps, as the parameters say, before `invariant` makes another of it."""
    coding = create_category_coding(schema, source, names, "masking")
    texts = category_texts(coding.categories[0]) if len(names) == 1 else tuple(map(str, coding.blocks()[0]))
    return transition_matrix(step, texts, where="masking")


def _hides_the_truth(matrix: Floats) -> bool:
    return bool((np.diag(matrix) < matrix.max(axis=1)).any())


def _finite(epsilon: float) -> Epsilon:
    return INFINITE if np.isinf(epsilon) else float(epsilon)
