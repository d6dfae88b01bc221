"""The `distance:` of distance-based linkage in a release file, and the form that each becomes for what an intruder knows.

An attribute that the intruder knows and the distance does not name counts as in the plain distance; one that the distance names
and the intruder does not know is left out.
"""

from __future__ import annotations

import json
from itertools import combinations
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, PlainSerializer, TypeAdapter, WithJsonSchema, model_validator

from tasks.attack.neighbours.distances import (
    DistanceKind,
    Form,
    append_plain_attributes,
    choquet,
    create_mean_of_present,
    create_weighted_mean,
    euclidean,
    mahalanobis,
    owa,
    polynomial_kernel,
    quadratic,
    two_additive,
)
from tasks.microdata.spec import Name, Names, Public, Spec
from tasks.microdata.table import Floats

MOST_OF_A_SPEC = 10  # attributes of a fuzzy measure in a release file: 1,023 values

_NUMBERS: TypeAdapter[dict[str, float]] = TypeAdapter(dict[Name, Annotated[float, Field(allow_inf_nan=False)]])


def _from_mapping(value: object) -> object:
    if not isinstance(value, dict):
        return value
    return tuple(sorted(_NUMBERS.validate_json(json.dumps(value), strict=True).items()))


ByAttribute = Annotated[
    tuple[tuple[Name, float], ...],
    Field(min_length=1),
    BeforeValidator(_from_mapping),
    PlainSerializer(dict),
    WithJsonSchema({"type": "object", "minProperties": 1, "additionalProperties": {"type": "number"}}),
]


class Euclidean(Spec):
    """The plain distance: every attribute weighs the same."""

    kind: Public[Literal["euclidean"]] = "euclidean"


class Mahalanobis(Spec):
    """Attributes that vary together count once. Those without an order count as in the plain distance.

    covariance: of the scaling file's `data`; or of the `differences` between the records and their own released rows, which a
        real intruder would have to know from elsewhere (their chance is then measured with the truths permuted).
    """

    kind: Public[Literal["mahalanobis"]]
    covariance: Public[Literal["data", "differences"]] = "data"


class Kernel(Spec):
    """The distance in the space of a kernel: d^2 = K(x, x) - 2 K(x, y) + K(y, y), K(x, y) = (1 + x y)^degree.

    x and y are standardised, categories a coordinate each, missing values at the mean and apart from the others. A Gaussian
    kernel is not offered: its distance grows with Euclid's, so that it links the same records.
    """

    kind: Public[Literal["kernel"]]
    degree: Public[Annotated[int, Field(ge=1, le=5)]] = 2


class WeightedMean(Spec):
    """Each attribute's squared difference times its weight; 1 is the weight in the plain distance."""

    kind: Public[Literal["weighted_mean"]]
    weights: Public[ByAttribute]

    @model_validator(mode="after")
    def _are_weights(self) -> Self:
        if min(weight for _, weight in self.weights) < 0 or not any(weight for _, weight in self.weights):
            raise ValueError("weights are numbers >= 0, not all 0")
        return self


class Owa(Spec):
    """The squared differences weighted by their size: the first weight is that of the largest.

    weights: for as many attributes as there are weights; for others the steps of the quantifier that they make.
    """

    kind: Public[Literal["owa"]]
    weights: Public[Annotated[tuple[Annotated[float, Field(ge=0)], ...], Field(min_length=1, max_length=1000)]]

    @model_validator(mode="after")
    def _are_weights(self) -> Self:
        owa(np.array(self.weights), len(self.weights))
        return self


class SetValue(Spec):
    """The value of one set of attributes."""

    of: Public[Names]
    value: Public[float]


class Choquet(Spec):
    """The Choquet integral of the squared differences.

    measure: the fuzzy measure of every set of the attributes but none (0) and all (1); it never falls when one is added.
    """

    kind: Public[Literal["choquet"]]
    measure: Public[Annotated[tuple[SetValue, ...], Field(min_length=2)]]

    @model_validator(mode="after")
    def _is_a_measure(self) -> Self:
        if len(self.names) > MOST_OF_A_SPEC:
            raise ValueError(f"a measure that is written out has at most {MOST_OF_A_SPEC} attributes: see choquet_2_additive")
        choquet(self.values(self.names), len(self.names))
        return self

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for one in self.measure for name in one.of))

    def values(self, names: tuple[str, ...]) -> Floats:
        """The measure of the sets of some of its attributes, by the bits of the index; ValueError where one is not given."""
        given = {frozenset(one.of): one.value for one in self.measure}
        if len(given) < len(self.measure):
            raise ValueError("the measure of a set is given twice")
        given |= {frozenset(): 0.0, frozenset(self.names): 1.0}
        sets = [frozenset(names[j] for j in range(len(names)) if index >> j & 1) for index in range(1 << len(names))]
        missing = [one for one in sets if one not in given]
        if missing:
            raise ValueError(f"the measure says nothing of {len(missing)} sets, for example {sorted(missing[0])}")
        return np.array([given[one] for one in sets])


class TwoAdditive(Spec):
    """The Choquet integral by a measure in which attributes interact in pairs at most, given by its Moebius transform.

    singles: of each attribute; pairs: of two, negative where they are redundant, 0 where they are not given; together they add
        up to 1.
    """

    kind: Public[Literal["choquet_2_additive"]]
    singles: Public[ByAttribute]
    pairs: Public[tuple[SetValue, ...]] = ()

    @model_validator(mode="after")
    def _is_a_measure(self) -> Self:
        two_additive(*self.moebius(self.names))
        return self

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.singles)

    def moebius(self, names: tuple[str, ...]) -> tuple[Floats, Floats]:
        """The singles and pairs of some of its attributes."""
        singles, pairs = dict(self.singles), {frozenset(one.of): one.value for one in self.pairs}
        allowed = {frozenset(pair) for pair in combinations(self.names, 2)}
        if len(pairs) < len(self.pairs) or not set(pairs) <= allowed:
            raise ValueError("each of `pairs` is of two different attributes of `singles`, and given once")
        together = np.zeros((len(names), len(names)))
        for j, k in combinations(range(len(names)), 2):
            together[j, k] = together[k, j] = pairs.get(frozenset((names[j], names[k])), 0.0)
        return np.array([singles[name] for name in names]), together


class Bilinear(Spec):
    """The symmetric bilinear form delta^T M delta; it need not be positive: a negative squared distance is nearer than 0.

    attributes: those of the rows and columns of `matrix`.
    """

    kind: Public[Literal["bilinear"]]
    attributes: Public[Names]
    matrix: Public[Annotated[tuple[tuple[float, ...], ...], Field(min_length=1)]]

    @model_validator(mode="after")
    def _is_symmetric(self) -> Self:
        rows = {len(row) for row in self.matrix}
        if rows != {len(self.attributes)} or len(self.matrix) != len(set(self.attributes)):
            raise ValueError("the matrix has a row and a column for each of `attributes`, none of which is named twice")
        quadratic(np.array(self.matrix))
        return self


class Gower(Spec):
    """Gower's coefficient: the mean over the attributes that both records have of |x - y| / range, or of [x differs from y]."""

    kind: Public[Literal["gower"]]


Distance = Annotated[
    Euclidean | Mahalanobis | Kernel | WeightedMean | Owa | Choquet | TwoAdditive | Bilinear | Gower,
    Field(discriminator="kind"),
]


def list_named_attributes(distance: Distance) -> tuple[str, ...]:
    """The attributes that a distance names."""
    match distance:
        case WeightedMean(weights=weights):
            return tuple(name for name, _ in weights)
        case Choquet() | TwoAdditive():
            return distance.names
        case Bilinear(attributes=attributes):
            return attributes
        case _:
            return ()


def create_distance_form(distance: Distance, named: tuple[str, ...], others: int, covariance: Floats | None = None) -> Form:
    """The form over the named attributes that the intruder knows, then so many others.

    covariance: of the ordered attributes, which stand first, for Mahalanobis.
    """
    match distance:
        case Mahalanobis():
            return append_plain_attributes(mahalanobis(np.zeros((0, 0)) if covariance is None else covariance), others)
        case WeightedMean(weights=weights):
            return append_plain_attributes(create_weighted_mean(np.array([dict(weights)[name] for name in named])), others)
        case Owa(weights=given):
            return owa(np.array(given), others)
        case Choquet():
            measure = distance.values(named) * len(distance.names)
            return append_plain_attributes(Form(DistanceKind.CHOQUET, measure, np.zeros((0, 0)), len(named)), others)
        case TwoAdditive():
            singles, pairs = (one * len(distance.names) for one in distance.moebius(named))
            return append_plain_attributes(Form(DistanceKind.TWO_ADDITIVE, singles, pairs, len(named)), others)
        case Bilinear(attributes=attributes, matrix=matrix):
            positions = [attributes.index(name) for name in named]
            return append_plain_attributes(quadratic(np.array(matrix)[np.ix_(positions, positions)]), others)
        case Gower():
            return create_mean_of_present(others)
        case Kernel(degree=degree):
            return polynomial_kernel(degree, others)
        case _:
            return euclidean(others)
