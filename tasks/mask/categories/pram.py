"""PRAM, the post-randomisation method: each cell is replaced by a category drawn from the row of its own in a matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from tasks.mask.categories.invariant import invariant_matrix
from tasks.mask.categories.matrix import Matrix, parse_chances
from tasks.mask.categories.pram_law import PersonalMatrix
from tasks.mask.categories.pram_text import describe_pram, matrix_in_words, suggest_stronger_pram, suggest_weaker_pram
from tasks.mask.categories.product import CategoryCoding, category_texts, create_category_coding
from tasks.mask.categories.warner import Warner, warner_matrix
from tasks.mask.external_release.shown_digits import stack_tables
from tasks.mask.intruder_belief import Belief, DiscreteLikelihood
from tasks.mask.mask_text import MaskText
from tasks.mask.personal_draws import describe_personal_draws, draw_personal_uniforms, list_persons, list_values
from tasks.mask.shared_advice import Fields
from tasks.mask.step import Description, IntruderView, MaskContext, MaskingMethod, Randomness
from tasks.microdata.compiled import njit
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Scale, Schema
from tasks.microdata.spec import Public, PublicField
from tasks.microdata.table import Floats, Integers, Microdata
from tasks.microdata.words import join_with_and


class Pram(MaskingMethod):
    """Parameters of PRAM: exactly one of retention, epsilon, matrix and warner.

    attributes: what is masked; default: the nominal, code and ordinal quasi-identifiers.
    retention: the probability that a category stays; the rest is spread equally over the OTHER categories.
    epsilon: randomised response: a category stays with e^epsilon / (e^epsilon + c - 1), c the number of categories; 0 releases
        each with equal probability, whatever the truth.
    matrix: for each true category the probability of each released one; categories are written as text ("1", "true").
    warner: randomised response for a question of two answers, as respondents are asked it.
    jointly: draw all attributes together, one of their combinations for each record: retention and epsilon are then those of
        the combination.
    invariant: keep the expected frequencies: the matrix that the other parameters give is followed by its Bayes reverse
        (`invariant_matrix`). Its probabilities come from the data: no finite epsilon, and they are never published.
    draw: `per_person`: drawn once for each person and value, so that all releases of the series show the same; default: anew
        for every version of the source. personal: the categories of the first release; the program writes them.
    by: strata, for invariant PRAM alone: it keeps the expected frequencies in each, and with them every value of a stratum in
        which there is no other one.
    """

    method: Public[Literal["pram"]]
    retention: Public[Annotated[float, Field(ge=0, le=1)] | None] = None
    epsilon: Public[Annotated[float, Field(ge=0, le=50)] | None] = None
    matrix: Annotated[Matrix | None, PublicField(lambda step: {"matrix": matrix_in_words(step)})] = None
    warner: Public[Warner | None] = None
    jointly: Annotated[bool, PublicField(lambda step: {"jointly": True} if step.jointly else {})] = False
    invariant: Annotated[bool, PublicField(lambda step: {"invariant": True} if step.invariant else {})] = False
    draw: Public[Literal["per_person"] | None] = Field(None, exclude_if=lambda given: given is None)
    personal: SkipJsonSchema[PersonalMatrix | None] = Field(None, exclude_if=lambda given: given is None)

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if sum(given is not None for given in (self.retention, self.epsilon, self.matrix, self.warner)) != 1:
            raise ValueError("pram takes exactly one of retention, epsilon, matrix and warner")
        if self.retention == 1:
            raise ValueError("retention 1 keeps every value: it masks nothing; lower it, or take the step out")
        if self.matrix is not None and self.attributes is None:
            raise ValueError("a matrix is for attributes with these very categories: name them under `attributes`")
        if self.warner is not None and self.attributes is None:
            raise ValueError("a question of Yes or No is for attributes with these answers: name them under `attributes`")
        if self.draw is not None and self.invariant:
            raise ValueError("the matrix of `invariant` depends on the other rows, and a draw per person on none: take one out")
        if self.by is not None and not self.invariant:
            raise ValueError("pram draws each cell by itself: strata would change nothing; take `by` out")
        return self

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.jointly and (self.matrix is not None or self.warner is not None):
            raise ValueError("a matrix is over single categories: with `jointly` give retention or epsilon")
        if self.jointly and self.attributes is not None and len(self.attributes) < 2:
            raise ValueError("jointly is for two attributes or more: name them, or take it out")
        if self.invariant and self.warner is not None:
            raise ValueError("the probabilities of a question are fixed before anybody answers: take `invariant` out")
        return self

    @property
    def moves_values(self) -> bool:
        return True

    @property
    def units(self) -> tuple[tuple[str, ...], ...]:
        """The attributes, those that are drawn together in one tuple; once they are resolved."""
        return (self.target_attributes,) if self.jointly else tuple((name,) for name in self.target_attributes)

    @property
    def rule(self) -> str:
        within = "" if self.by is None else f", within each combination of {join_with_and(self.by)}"
        return f"{'joint ' * self.jointly}PRAM of {join_with_and(self.target_attributes)}, {self.law}{within}"

    @property
    def no_attack_reason(self) -> None:
        return None

    @property
    def law(self) -> str:
        """How a released value comes about, in words."""
        return (
            f"{self._base_distribution}, then drawn back so that expected frequencies stay"
            if self.invariant
            else self._base_distribution
        )

    @property
    def _base_distribution(self) -> str:
        each = "each combination of values" if self.jointly else "each value"
        if self.retention is not None:
            other = "combination" if self.jointly else "of its categories"
            return f"{each} kept with probability {self.retention:g}, else any other {other}"
        if self.epsilon is not None:
            return f"{each} by randomised response with epsilon {self.epsilon:g}"
        if self.warner is not None:
            return f"each answer kept with probability {self.warner.p:g}, else Yes with probability {self.warner.p_yes:g}"
        return "each value drawn by a stated matrix"

    @property
    def randomness(self) -> Randomness:
        return "by_row"

    @property
    def is_rule_for_values(self) -> bool:
        return False

    @classmethod
    def description(cls) -> Description:
        return DESCRIPTION

    def apply(self, context: MaskContext) -> Microdata:
        return randomise(context, self)

    def infer(self, view: IntruderView) -> Belief:
        return infer(view, self)

    def describe(self, schema: Schema) -> MaskText:
        return describe_pram(self)

    def describe_residual_risk(self) -> str | None:
        return None if self.draw is None else describe_personal_draws(self.target_attributes)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        return (
            cls(method="pram", attributes=("group", "grade"), retention=0.8),
            cls(method="pram", attributes=("group",), epsilon=0.5),
            cls(method="pram", attributes=("group", "vote"), retention=0.5, jointly=True),
            cls(method="pram", attributes=("group",), epsilon=0.5, invariant=True, by=("vote",)),
            cls(method="pram", attributes=("vote",), warner=Warner(p=0.4, p_yes=0.5, yes="Yes")),
            cls(method="pram", attributes=("group", "grade"), retention=0.8, draw="per_person"),
        )

    @classmethod
    def suggest_stronger(cls, fields: Fields, named: str, line: Fields) -> Iterator[str]:
        yield suggest_stronger_pram(fields, named, line)

    @classmethod
    def suggest_weaker(cls, fields: Fields, named: str) -> Iterator[str]:
        yield suggest_weaker_pram(fields, named)


SCALES = (Scale.NOMINAL, Scale.CODE, Scale.ORDINAL)
DESCRIPTION = Description(
    method="pram",
    what_it_does="draws each category anew by a transition matrix, each cell by itself, or attributes of a record together",
    scales=SCALES,
    parameters="one of retention (probability that a category stays), epsilon (randomised response), matrix "
    '({"1": {"1": 0.9, "2": 0.1}, ...}: of each category its chances), warner (p: the true answer is given, else Yes with '
    "p_yes; yes: the category that means Yes, in quotes); jointly (as one combination), invariant (keeps expected "
    "frequencies); draw (per_person: once for each person and value in all releases of the series; not if invariant); "
    "attributes, by (if invariant)",
    intruder="weighs each row by Bayes' rule: how probable it is as the image of the record, against how probable it is at all",
    answered_by=("transparency",),
)


def randomise(site: MaskContext, spec: Pram) -> Microdata:
    """Replace each value by a category drawn from the row of its own in the transition matrix.

    Meaning: nobody can say of a released category whether it is the true one, and how often it is stands in the matrix.
    Formula in words: a value of category i is released as category j with probability P(i, j); cells are drawn independently
    of each other. Missing values stay missing, so that who has no value is known for certain. With `jointly` the category is a
    combination of the attributes' values, out of all combinations; of a record with gaps these stay, and its present values
    are drawn together, among the combinations of their attributes.

    Parameters
    ----------
    site: a table whose columns include the step's attributes; the categories are those of the declared order, or those that
        occur in the table before the first step. They are not hidden: a release shows them as well. The frequencies that
        `invariant` keeps are those of the column as this step finds it, in the stratum.
    spec: with its attributes resolved. Each attribute has a stream of its own, attributes drawn together have one.

    Returns the table with those columns replaced. No statistic of them is kept exactly; `estimate_marginals` corrects
    frequencies, and invariant PRAM keeps their expectation.

    Raises InputError for an attribute with fewer than 2 or more than 1,000 categories, more than 2,000 combinations, one
    attribute to be drawn jointly, a matrix or an answer that does not fit the categories, a value outside the declared order.
    Cost: O(n log c) per attribute. Source: Gouweleeuw et al. (1998); Torra (2026), rrPRAM.
    Example: epsilon 0 draws every category with equal probability.
    """
    data, where = site.data, site.where
    if spec.jointly and len(spec.target_attributes) < 2:
        what = f"`{spec.target_attributes[0]}` is the only attribute that the step would draw jointly"
        raise InputError("one-attribute", f"{where}.jointly", what, "two attributes or more", "take `jointly` out")
    for names in spec.units:
        coding = create_category_coding(site.schema, site.table, names, f"{where}.attributes")
        codes = coding.codes(data)
        if (codes == coding.size).any():
            raise _unknown_category(names, site, coding, f"{where}.attributes: {join_with_and(names)}")
        matrix = compute_transition_matrix_with_gaps(spec, coding, codes, where=where)
        drawn = draw_categories(matrix, codes, _draw_uniforms(site, spec, names))
        for name, column in zip(names, coding.columns(drawn), strict=True):
            data = data.replace_column(name, column)
    return data


def _draw_uniforms(site: MaskContext, spec: Pram, names: tuple[str, ...]) -> Floats:
    if spec.personal is None or site.secret is None:  # a release of its own, or somebody who simulates the law
        return site.draw(*names).random(site.data.n)
    persons, values = list_persons(site.source, spec.personal.key), list_values([site.data.column(name) for name in names])
    return draw_personal_uniforms(site.secret, ("pram", *names), persons, values)


def _unknown_category(names: tuple[str, ...], site: MaskContext, coding: CategoryCoding, location: str) -> InputError:
    if (coding.codes(site.table) == coding.size).any():
        what = f"{join_with_and(names)} holds a category that its declared order does not list"
        return InputError("unknown-category", location, what, "the categories of `order`", "complete the order")
    what = f"a step before has made a category of {join_with_and(names)} that the source does not have"
    remedy = "put this step before that one, or group the categories in the source"
    return InputError("made-category", location, what, "the categories of the source", remedy)


def transition_matrix(spec: Pram, categories: tuple[str, ...], *, where: str) -> Floats:
    """The probability of each released category (columns) for each true one (rows), shape (c, c); rows sum to 1.

    Before `invariant` makes another of it. categories: at least two, as text.
    Raises InputError where `matrix` is not over exactly these, or `warner` not over two.
    Example: epsilon = 1 and two categories: 0.7310586 on the diagonal, 0.2689414 beside it.
    """
    if spec.matrix is not None:
        return _build_matrix(parse_chances(spec.matrix), categories, f"{where}.matrix")
    if spec.warner is not None:
        return warner_matrix(spec.warner, categories, where=f"{where}.warner")
    return _spread(spec, len(categories))


def compute_transition_matrix_with_gaps(spec: Pram, coding: CategoryCoding, codes: Integers, *, where: str) -> Floats:
    """The probability of each released code (columns) for each true one (rows), gaps and what is no category among them.

    codes: shape (n,), of the rows that the step is applied to; looked at by `invariant` alone.
    Returns shape (size + 1, size + 1): a block for the codes without a gap, one for each set of gaps (gaps stay), and a last
    row and column of zeros for what no record can show.
    """
    whole = np.zeros((coding.size + 1, coding.size + 1))
    counts = np.bincount(codes, minlength=coding.size + 1).astype(float)
    for block in coding.blocks():
        base = np.ones((1, 1)) if len(block) == 1 else _base(spec, coding, len(block), where)
        whole[np.ix_(block, block)] = invariant_matrix(base, counts[block]) if spec.invariant else base
    return whole


def draw_categories(matrix: Floats, codes: Integers, uniforms: Floats) -> Integers:
    """Shape (n,): a category drawn for each cell; codes: shape (n,), 0..c-1, and c (it stays c) where the value is missing.

    uniforms: shape (n,), one number in [0, 1) for each cell.
    """
    bounds = np.cumsum(matrix, axis=1)
    for row, probabilities in zip(bounds, matrix, strict=True):  # above the last that can be drawn there is no bound
        row[np.flatnonzero(probabilities)[-1:].sum() :] = np.inf
    return _draw_codes(bounds, codes, uniforms)


def infer(view: IntruderView, spec: Pram) -> Belief:
    """What the step lets an intruder conclude who knows it: the law of what the row of each of their records shows.

    The categories are those of their records, which are all there are; of a share of them, with those that are released.
    After two such steps on the same attribute, or jointly on the same ones, the law is the product of their matrices. The
    matrix of an invariant step they compute themselves, if they hold all the records it was applied to and know for certain
    what the step found. Otherwise, and of attributes of which they knew something else than a value or such a law, or of
    which they lack one that was drawn with them, nothing follows.
    """
    knowledge = view.knowledge
    if not knowledge.complete and _is_masked_later_by_another_method(view, spec):
        return knowledge.forget(spec.target_attributes)  # the released categories are others than those that were drawn
    for names in spec.units:
        knowledge = _infer_unit(replace(view, knowledge=knowledge), spec, names)
    return knowledge


def _is_masked_later_by_another_method(view: IntruderView, spec: Pram) -> bool:
    return any(not isinstance(one, Pram) and set(one.target_attributes) & set(spec.target_attributes) for one in view.later)


def _infer_unit(view: IntruderView, spec: Pram, names: tuple[str, ...]) -> Belief:
    knowledge = view.knowledge
    before = next((likelihood for likelihood in knowledge.likelihoods if likelihood.names == names), None)
    certain = knowledge.is_certain(names)
    follows = certain and knowledge.complete if spec.invariant else certain or before is not None
    if not follows:
        return knowledge.forget(names)
    coding = create_category_coding(view.schema, _holding_categories(view, names), names, "masking")
    if not knowledge.complete and spec.matrix is not None and not _fits(spec, coding):
        return knowledge.forget(names)
    own, shown = coding.codes(knowledge.believed), coding.codes(view.released)
    probability = compute_transition_matrix_with_gaps(spec, coding, own, where="masking")
    values = Microdata.from_columns(dict(zip(names, coding.columns(np.arange(coding.size)), strict=True)))
    if before is not None and not _is_about(before, values):
        return knowledge.forget(names)
    likelihood = DiscreteLikelihood(
        names, own, shown, probability if before is None else before.probability @ probability, values
    )
    rest = knowledge.drop_attributes(names)
    return replace(rest, likelihoods=(*rest.likelihoods, likelihood))


def _holding_categories(view: IntruderView, names: tuple[str, ...]) -> Microdata:
    """The table that the categories are taken from: who lacks records looks at the released column too."""
    return view.table if view.knowledge.complete else stack_tables(view.table.select(names), view.released.select(names))


def _fits(spec: Pram, coding: CategoryCoding) -> bool:
    """Does a stated matrix have the categories that are seen, and no other?"""
    try:
        transition_matrix(spec, category_texts(coding.categories[0]), where="masking")
    except InputError:
        return False
    return True


def _is_about(likelihood: DiscreteLikelihood, values: Microdata) -> bool:
    """Are the categories of a law these? Not where they are those of strata, or were recoded since."""
    return likelihood.values is not None and likelihood.values.arrow.equals(values.arrow)


def _base(spec: Pram, coding: CategoryCoding, c: int, where: str) -> Floats:
    if spec.matrix is None and spec.warner is None:
        return _spread(spec, c)
    return transition_matrix(spec, category_texts(coding.categories[0]), where=where)


def _spread(spec: Pram, c: int) -> Floats:
    if spec.retention is not None:
        stays, other = spec.retention, (1 - spec.retention) / (c - 1)
    else:
        odds = float(np.exp(-(spec.epsilon or 0.0)))
        stays, other = 1 / (1 + (c - 1) * odds), odds / (1 + (c - 1) * odds)
    return np.where(np.eye(c, dtype=bool), stays, other)


def _build_matrix(rows: dict[str, dict[str, float]], categories: tuple[str, ...], where: str) -> Floats:
    allowed = "exactly the categories of the attribute, each as text"
    for name, fault in (
        *((name, "has no row for a category of the attribute") for name in categories if name not in rows),
        *((name, "has a row for something that is no category of the attribute") for name in rows if name not in categories),
    ):
        raise InputError("matrix-categories", where, f"the matrix {fault}", allowed, "compare the two lists", name)
    return np.array([[rows[true][released] for released in categories] for true in categories])


@njit(infinite={"bounds": "above the last category that can be drawn: it is searched in, and no number drawn is beyond it"})
def _draw_codes(bounds: Floats, codes: Integers, uniforms: Floats) -> Integers:
    drawn = codes.copy()
    for i in range(len(codes)):
        if codes[i] < len(bounds):
            drawn[i] = np.searchsorted(bounds[codes[i]], uniforms[i], side="right")
    return drawn
