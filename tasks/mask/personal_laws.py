"""What noise and PRAM with `draw: per_person` keep from the first release of a series: whom they tell apart, and their law.

Two scales of one draw give a value away, for example x + e and x + 2 e, and so do two matrices. So the standard deviations,
correlations, the grid and the categories are those of the first release, and a release with other parameters is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tasks.mask.categories.pram import Pram
from tasks.mask.categories.pram_law import PersonalMatrix
from tasks.mask.categories.product import category_texts, create_category_coding
from tasks.mask.fitting import extract_varying_positions
from tasks.mask.noise.noise import Noise
from tasks.mask.noise.noise_law import PersonalNoise
from tasks.mask.precision_grid import find_precision_grid
from tasks.mask.step import MaskStep
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Microdata
from tasks.microdata.words import join_with_and


def is_personal(step: MaskStep) -> bool:
    """Does the step draw once for each person and value?"""
    return isinstance(step, Noise | Pram) and step.draw == "per_person"


def keep_laws(
    source: Microdata, schema: Schema, steps: tuple[MaskStep, ...], key: str | None, earlier: Sequence[MaskStep]
) -> tuple[MaskStep, ...]:
    """The steps, those with draws per person with the law of the first release: that of an earlier step, or of this source.

    Parameters
    ----------
    source: all columns, before masking. steps: with their attributes resolved. key: the column that tells people apart across
        versions, unless the schema has a person key. earlier: the steps of earlier releases of the series, newest first.

    Raises InputError without a key, for a row without one, where an earlier step on one of the attributes had other parameters,
    and where PRAM finds other categories than at the first release.
    Example: the first release draws with 20 % of a standard deviation of 10; later ones with 2, whatever the deviation is then.
    """
    return tuple(
        step.model_copy(update={"personal": _find_law(source, schema, step, f"masking[{i}]", key, earlier)})
        if isinstance(step, Noise | Pram) and step.draw == "per_person"
        else step
        for i, step in enumerate(steps)
    )


def refuse_masked_again(steps: Sequence[MaskStep], where: str) -> None:
    """InputError for a step with draws per person whose attributes another step masks too: its values are not the source's."""
    for i, step in enumerate(steps):
        for j, other in enumerate(steps):
            again = set(step.target_attributes) & set(other.target_attributes)
            if is_personal(step) and i != j and again:
                what = f"{where}[{j}] masks {join_with_and(sorted(again))} too, and a draw per person belongs to the true value"
                allowed, remedy = "attributes that no other step masks", "take them out of one of the two steps"
                raise InputError("personal-with-other-step", f"{where}[{i}].draw", what, allowed, remedy)


def _find_law(
    source: Microdata, schema: Schema, step: Noise | Pram, where: str, key: str | None, earlier: Sequence[MaskStep]
) -> PersonalNoise | PersonalMatrix:
    own = step.model_copy(update={"personal": None})
    name = _find_key(source, schema, key, where)
    found: PersonalNoise | PersonalMatrix | None = None
    for one in earlier:
        if not isinstance(one, Noise | Pram) or one.personal is None:
            continue
        if set(one.target_attributes).isdisjoint(step.target_attributes):
            continue
        if one.model_copy(update={"personal": None}) != own or one.personal.key != name:
            what = (
                f"an earlier release of this series drew {join_with_and(step.target_attributes)} per person with other "
                "parameters: who holds both would compute the values"
            )
            remedy = "give the step the parameters of the first release and its key, or mask by another method"
            raise InputError("other-law", f"{where}.draw", what, "the parameters of the first release", remedy)
        found = found or one.personal
    law = _create_law(source, schema, step, name, where)
    if isinstance(law, PersonalMatrix) and found is not None and law != found:
        what = f"{join_with_and(step.target_attributes)} have other categories than at the first release of the series"
        remedy = "declare all categories as an order, or join the new ones with others at the source"
        raise InputError("other-categories", f"{where}.draw", what, "the categories of the first release", remedy)
    if isinstance(found, PersonalNoise):
        _refuse_coarser_columns(source, step.target_attributes, found, where)
    return found or law


def _refuse_coarser_columns(source: Microdata, names: Sequence[str], law: PersonalNoise, where: str) -> None:
    for j, name in enumerate(names):
        if source.is_integer(name) and law.get_grid(j).parts > 1:
            what = f"`{name}` holds whole numbers, and the first release of the series showed decimals"
            remedy = "read the column as decimals, as it was then"
            raise InputError("other-columns", f"{where}.attributes: {name}", what, "the type of the first release", remedy)


def _create_law(source: Microdata, schema: Schema, step: Noise | Pram, key: str, where: str) -> PersonalNoise | PersonalMatrix:
    names = step.target_attributes
    if isinstance(step, Pram):
        texts = (category_texts(create_category_coding(schema, source, (name,), where).categories[0]) for name in names)
        return PersonalMatrix(key=key, categories=tuple(texts))
    positions = np.column_stack([extract_varying_positions(source, schema, name, where) for name in names])
    return PersonalNoise.from_positions(positions, key, tuple(find_precision_grid(source, name) for name in names))


def _find_key(source: Microdata, schema: Schema, key: str | None, where: str) -> str:
    """The person key, else the key of rows: a person's rows with one value show one mask."""
    name = next(iter(schema.find_by_role(Role.PERSON)), key)
    if name is None:
        what = "draws per person need a column that tells people apart in all versions of the source"
        raise InputError("no-key", f"{where}.draw", what, "a person key", "name the column as `key` or `person`")
    if source.column(name).null_count:
        what, remedy = f"some rows have no `{name}`, so nobody knows whose they are", "complete the column at the source"
        raise InputError("missing-key", f"{where}.draw", what, "a key in every row", remedy)
    return name
