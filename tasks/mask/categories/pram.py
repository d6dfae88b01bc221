"""PRAM, the post-randomisation method: each cell is replaced by a category drawn from the row of its own in a matrix."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, model_validator

from tasks.mask.categories.matrix import Matrix, chances_of
from tasks.mask.categories.randomised_response import epsilon_of
from tasks.mask.images import Knowledge, Law
from tasks.mask.step import Description, Site, Step, View
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Scale, Schema
from tasks.microdata.spec import Spec
from tasks.microdata.table import Floats, Integers, Microdata
from tasks.microdata.words import listed

MOST_CATEGORIES = 1000
INFINITE: Literal["infinite"] = "infinite"
Epsilon = float | Literal["infinite"]


class Pram(Step):
    """Parameters of PRAM: exactly one of retention, epsilon and matrix.

    attributes: what is masked; default: the nominal, code and ordinal quasi-identifiers.
    retention: the probability that a category stays; the rest is spread equally over the OTHER categories.
    epsilon: randomised response: a category stays with e^epsilon / (e^epsilon + c - 1), c the number of categories; 0 releases
        each with equal probability, whatever the truth.
    matrix: for each true category the probability of each released one; categories are written as text ("1", "true").
    """

    method: Literal["pram"]
    retention: Annotated[float, Field(ge=0, le=1)] | None = None
    epsilon: Annotated[float, Field(ge=0, le=50)] | None = None
    matrix: Matrix | None = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if sum(given is not None for given in (self.retention, self.epsilon, self.matrix)) != 1:
            raise ValueError("pram takes exactly one of retention, epsilon and matrix")
        if self.retention == 1:
            raise ValueError("retention 1 keeps every value: it masks nothing; lower it, or take the step out")
        if self.matrix is not None and self.attributes is None:
            raise ValueError("a matrix is for attributes with these very categories: name them under `attributes`")
        if self.by is not None:
            raise ValueError("pram draws each cell by itself: strata would change nothing; take `by` out")
        return self

    @property
    def values_move(self) -> bool:
        return True

    @property
    def rule(self) -> str:
        return f"PRAM of {listed(self.masked)}, {self.law}"

    def public(self) -> dict[str, object]:
        return self.model_dump(mode="json", exclude_none=True, exclude={"matrix"})

    @property
    def law(self) -> str:
        """How a released value comes about, in words."""
        if self.retention is not None:
            return f"each value kept with probability {self.retention:g}, else any other of its categories"
        if self.epsilon is not None:
            return f"each value by randomised response with epsilon {self.epsilon:g}"
        return "each value drawn by a stated matrix"


SCALES = (Scale.NOMINAL, Scale.CODE, Scale.ORDINAL)
DESCRIPTION = Description(
    method="pram",
    what_it_does="draws each category anew by a transition matrix, each cell by itself",
    scales=SCALES,
    parameters="one of retention (probability that a category stays), epsilon (randomised response), matrix; attributes",
    intruder="weighs each row by Bayes' rule: how probable it is as the image of his record, against how probable it is at all",
)


def randomise(site: Site, spec: Pram) -> Microdata:
    """Replace each value by a category drawn from the row of its own in the transition matrix.

    Meaning: nobody can say of a released category whether it is the true one, and how often it is stands in the matrix.
    Formula in words: a value of category i is released as category j with probability P(i, j); cells are drawn independently
    of each other. Missing values stay missing, so that who has no value is known for certain.

    Parameters
    ----------
    site: a table whose columns include the step's attributes; the categories are those of the declared order, or those that
        occur in the table before the first step. They are not hidden: a release shows them as well.
    spec: with its attributes resolved. Each attribute has a stream of its own.

    Returns the table with those columns replaced; no statistic of them is kept exactly, `estimated_marginals` corrects
    frequencies.

    Raises InputError for an attribute with fewer than 2 or more than 1,000 categories, a matrix that is not over exactly its
    categories, and a value outside the declared order.
    Cost: O(n log n) per attribute. Source: Gouweleeuw et al. (1998); Torra 2026, rrPRAM.
    Example: epsilon 0 draws every category with equal probability.
    """
    data, schema, where = site.data, site.schema, site.where
    for name in spec.masked:
        categories = _categories(schema[name], site.table, f"{where}.attributes: {name}")
        matrix = transition_matrix(spec, category_texts(categories), where=where)
        codes = _codes(data.column(name), categories)
        if (codes > len(categories)).any():
            what, allowed = f"`{name}` holds a category that its declared order does not list", "the categories of `order`"
            raise InputError("unknown-category", f"{where}.attributes: {name}", what, allowed, "complete the order")
        drawn = drawn_categories(matrix, codes, rng=site.draw(name))
        data = data.with_column(name, categories.take(pa.array(drawn, mask=codes == len(categories))))
    return data


def transition_matrix(spec: Pram, categories: tuple[str, ...], *, where: str) -> Floats:
    """The probability of each released category (columns) for each true one (rows), shape (c, c); rows sum to 1.

    categories: at least two, as text. Raises InputError where `matrix` is not over exactly these.
    Example: epsilon = 1 and two categories: 0.7310586 on the diagonal, 0.2689414 beside it.
    """
    c = len(categories)
    if spec.matrix is not None:
        return _given_matrix(chances_of(spec.matrix), categories, f"{where}.matrix")
    if spec.retention is not None:
        stays, other = spec.retention, (1 - spec.retention) / (c - 1)
    else:
        odds = float(np.exp(-(spec.epsilon or 0.0)))
        stays, other = 1 / (1 + (c - 1) * odds), odds / (1 + (c - 1) * odds)
    return np.where(np.eye(c, dtype=bool), stays, other)


def drawn_categories(matrix: Floats, codes: Integers, *, rng: np.random.Generator) -> Integers:
    """Shape (n,): a category drawn for each cell; codes: shape (n,), 0..c-1, and c (it stays c) where the value is missing."""
    c = len(matrix)
    uniforms = rng.random(len(codes))
    drawn, by_code = codes.copy(), np.argsort(codes, kind="stable")
    begins = np.searchsorted(codes[by_code], np.arange(c + 1))
    for category in range(c):
        cells = by_code[begins[category] : begins[category + 1]]
        last = int(np.flatnonzero(matrix[category])[-1])
        bounds = np.cumsum(matrix[category])[:last]  # what is above the last bound is the last category that can be drawn
        drawn[cells] = np.searchsorted(bounds, uniforms[cells], side="right")
    return drawn


def category_texts(categories: pa.Array) -> tuple[str, ...]:
    """Categories as a release file writes them: whole numbers without decimals, `true` and `false`."""
    return tuple(map(_as_text, categories.to_pylist()))


@dataclass(frozen=True, slots=True)
class Randomisation:
    """What PRAM did to one attribute.

    epsilon: of its steps, added up; "infinite" (JSON has no such number) where a matrix excludes something, or a value is
        missing. n_categories: c of the matrix.
    truth_is_less_likely: is some category, in some step, more likely to be released as another one than as itself?
    """

    attribute: str
    epsilon: Epsilon
    n_categories: int
    truth_is_less_likely: bool


def randomisations(source: Microdata, schema: Schema, steps: Iterable[Spec]) -> tuple[Randomisation, ...]:
    """Each attribute that PRAM steps among the steps randomise, in the order of the table. source: before masking."""
    ours = tuple(step for step in steps if isinstance(step, Pram))
    names = {name for step in ours for name in step.masked}
    return tuple(_randomisation(source, schema[name], ours) for name in schema.names if name in names)


def conclude(view: View, spec: Pram) -> Knowledge:
    """What the step lets an intruder conclude who knows it: the law of what the row of each of his records shows.

    The categories are those of his records, which are all there are. After two such steps the law is the product of their
    matrices. Of an attribute that he was not certain of before the first of them nothing follows.
    """
    knowledge = view.knowledge
    for name in spec.masked:
        before = next((law for law in knowledge.laws if law.names == (name,)), None)
        if before is None and not knowledge.is_certain((name,)):
            knowledge = knowledge.doubting((name,))
            continue
        categories = _categories(view.schema[name], view.table, name)
        chances = _with_missing(transition_matrix(spec, category_texts(categories), where="masking"))
        own, shown = (_codes(table.column(name), categories) for table in (knowledge.believed, view.released))
        law = Law((name,), own, shown, chances if before is None else before.probability @ chances)
        rest = knowledge.without((name,))
        knowledge = replace(rest, laws=(*rest.laws, law))
    return knowledge


def _categories(attribute: Attribute, source: Microdata, place: str) -> pa.Array:
    """The categories of an attribute: its declared order, or the values that occur, ascending."""
    found = pc.unique(source.column(attribute.name).drop_null())
    if attribute.order is None:
        found = found.take(pc.sort_indices(found))
    elif len(found) > 1:
        found = pa.array(attribute.order, type=pa.string())
    if not 2 <= len(found) <= MOST_CATEGORIES:
        what = f"`{attribute.name}` has {len(found)} categories"
        remedy = "take it out of the step" if len(found) < 2 else "group its categories before, or take it out of the step"
        raise InputError("categories", place, what, f"2 to {MOST_CATEGORIES:,} categories", remedy)
    return found


def _codes(column: pa.Array, categories: pa.Array) -> Integers:
    """Shape (n,): 0..c-1, c where the value is missing, c + 1 where it is none of the categories."""
    if column.type != categories.type:  # a table that was read from another format
        column = column.cast(categories.type, safe=False)
    index = pc.fill_null(pc.index_in(column, value_set=categories), len(categories) + 1)
    codes = np.array(index.to_numpy(zero_copy_only=False), dtype=np.int64)
    codes[np.asarray(column.is_null().to_numpy(zero_copy_only=False), dtype=bool)] = len(categories)
    return codes


def _given_matrix(rows: dict[str, dict[str, float]], categories: tuple[str, ...], where: str) -> Floats:
    allowed = "exactly the categories of the attribute, each as text"
    for name, fault in (
        *((name, "has no row for a category of the attribute") for name in categories if name not in rows),
        *((name, "has a row for something that is no category of the attribute") for name in rows if name not in categories),
    ):
        raise InputError("matrix-categories", where, f"the matrix {fault}", allowed, "compare the two lists", name)
    return np.array([[rows[true][released] for released in categories] for true in categories])


def _with_missing(matrix: Floats) -> Floats:
    """Two more categories: a missing value, which stays missing, and what no record can show."""
    c = len(matrix)
    extended = np.zeros((c + 2, c + 2))
    extended[:c, :c] = matrix
    extended[c, c] = 1.0
    return extended


def _randomisation(source: Microdata, attribute: Attribute, steps: tuple[Pram, ...]) -> Randomisation:
    categories = _categories(attribute, source, attribute.name)
    texts, gaps = category_texts(categories), bool(source.missing(attribute.name).any())
    matrices = [transition_matrix(step, texts, where="masking") for step in steps if attribute.name in step.masked]
    epsilon = sum(epsilon_of(matrix, with_missing=gaps) for matrix in matrices)
    return Randomisation(
        attribute.name,
        INFINITE if np.isinf(epsilon) else epsilon,
        len(categories),
        any(bool((np.diag(matrix) < matrix.max(axis=1)).any()) for matrix in matrices),
    )


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
