"""PRAM: what may be asked for, what it draws, what it leaves alone, and what an intruder concludes."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from pydantic import TypeAdapter, ValidationError
from scipy.stats import chisquare

from tasks.mask.categories.pram import Pram, draw_categories, transition_matrix
from tasks.mask.categories.product import category_texts
from tasks.mask.categories.promise import randomisations
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import Masking, infer_belief, mask
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

SEED = bytes(range(32))
N = 400
LEVEL = 1e-6
SCALES = {"sex": Scale.NOMINAL, "code": Scale.CODE, "grade": Scale.ORDINAL, "rank": Scale.ORDINAL, "known": Scale.NOMINAL}


def pram(*attributes, **rule):
    return Pram(method="pram", attributes=attributes or None, **(rule or {"retention": 0.8}))


@pytest.fixture(scope="module")
def survey():
    rng = np.random.default_rng(3)
    data = Microdata.from_columns(
        {
            "sex": [None if i % 50 == 0 else "fm"[i % 2] for i in range(N)],
            "code": rng.integers(3, 8, N),
            "grade": rng.choice(["low", "middle", "high"], N),
            "rank": rng.integers(1, 5, N).astype(float),
            "known": [bool(i % 3) for i in range(N)],
            "income": rng.lognormal(10, 1, N).round(2),
        }
    )
    orders = {"grade": ("low", "middle", "high", "highest")}
    attributes = [
        Attribute(name, Role.QUASI_IDENTIFIER, scale, "declared", order=orders.get(name)) for name, scale in SCALES.items()
    ]
    return data, Schema((*attributes, Attribute("income", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared")))


FORM = TypeAdapter(Masking)
SEX = {"f": {"f": 0.9, "m": 0.1}, "m": {"f": 0.25, "m": 0.75}}


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({}, "exactly one of"),
        ({"retention": 0.8, "epsilon": 1}, "exactly one of"),
        ({"retention": 1}, "keeps every value"),
        ({"retention": 1.1}, "less than or equal to 1"),
        ({"retention": -0.1}, "greater than or equal to 0"),
        ({"retention": True}, "valid number"),
        ({"epsilon": -1}, "greater than or equal to 0"),
        ({"matrix": {"f": {"f": 0.5, "m": 0.4}, "m": {"f": 0.5, "m": 0.5}}}, "the probabilities of a row sum to 0.9"),
        ({"matrix": {"f": {"f": 1.0}, "m": {"f": 0.5, "m": 0.5}}}, "each of its categories, and to no other"),
        ({"matrix": {"f": {"f": 0.5, "x": 0.5}, "m": {"f": 0.5, "m": 0.5}}}, "each of its categories, and to no other"),
        ({"matrix": {"f": {"f": 1.5, "m": -0.5}, "m": {"f": 0.5, "m": 0.5}}}, "less than or equal to 1"),
        ({"matrix": {"f": {"f": 1, "m": 0}, "m": {"f": 0, "m": 1}}}, "masks nothing"),
        ({"matrix": {"f": 1}}, "should be an object"),
        ({"matrix": {"f": {"f": 1}}}, "at least 2"),
        ({"matrix": [["f", "m"]]}, "valid"),
        ({"retention": 0.8, "attributes": ["sex", "sex"]}, "twice"),
        ({"retention": 0.8, "attributes": []}, "at least 1"),
        ({"matrix": SEX, "attributes": None}, "name them under `attributes`"),
    ],
)
def test_what_is_refused_before_any_data(rule, said):
    with pytest.raises(ValidationError, match=said):
        FORM.validate_json(json.dumps({"method": "pram", "attributes": ["sex"], **rule}))


def test_a_matrix_is_one_value_however_it_is_written():
    there = FORM.validate_json(json.dumps({"method": "pram", "attributes": ["sex"], "matrix": SEX}))
    back = {one: dict(reversed(row.items())) for one, row in reversed(SEX.items())}
    again = FORM.validate_json(json.dumps({"method": "pram", "attributes": ["sex"], "matrix": back}))
    assert there == again == pram("sex", matrix=SEX)
    assert hash(there) == hash(again)
    assert FORM.validate_json(FORM.dump_json(there)) == there
    assert there.model_dump(mode="json")["matrix"] == SEX
    with pytest.raises(ValidationError):
        there.matrix = None


def test_a_matrix_maps_the_categories_by_their_texts():
    matrix = transition_matrix(pram("sex", matrix=SEX), ("m", "f"), where="masking[0]")
    assert matrix.tolist() == [[0.75, 0.25], [0.1, 0.9]]
    for categories in (("m", "f", "third"), ("m", "third")):
        with pytest.raises(InputError) as refused:
            transition_matrix(pram("sex", matrix=SEX), categories, where="masking[0]")
        assert (refused.value.code, refused.value.where) == ("matrix-categories", "masking[0].matrix")
        assert refused.value.value == "third"
        assert "third" not in refused.value.public + refused.value.what


def test_texts_of_categories():
    assert category_texts(pa.array([1, 20])) == ("1", "20")
    assert category_texts(pa.array([1.0, 2.5, -3.0])) == ("1", "2.5", "-3")
    assert category_texts(pa.array([False, True])) == ("false", "true")
    assert category_texts(pa.array(["a", "1.0"])) == ("a", "1.0")


def test_drawing_by_a_worked_row():
    uniforms = np.array([0.0, 0.4999, 0.5, 0.7499, 0.75, 0.999999])
    matrix = np.array([[0.0, 0.5, 0.0, 0.25, 0.25, 0.0]] * 6)
    drawn = draw_categories(matrix, np.array([0, 1, 2, 3, 4, 5]), uniforms)
    assert drawn.tolist() == [1, 1, 3, 3, 4, 4]  # a category of probability 0 is never drawn
    assert draw_categories(matrix, np.array([6, 6]), uniforms[:2]).tolist() == [6, 6]  # missing


@pytest.mark.parametrize("rule", [{"retention": 0.8}, {"retention": 0.0}, {"epsilon": 0.0}, {"epsilon": 2.0}])
def test_the_draw_follows_the_matrix_and_the_test_has_power(rule):
    c, n = 4, 40_000
    matrix = transition_matrix(pram("x", **rule), ("a", "b", "c", "d"), where="")
    codes = np.arange(n) % c
    counts = counted(draw_categories(matrix, codes, np.random.default_rng(5).random(n)), codes, c)
    assert law_holds(counts, matrix)
    first = matrix[0, 0] * 0.7 + 0.3 * (matrix[0, 0] == 0)  # a retention that is 30 % off
    wrong = np.where(np.eye(c, dtype=bool), first, (1 - first) / (c - 1))
    assert not law_holds(counted(draw_categories(wrong, codes, np.random.default_rng(5).random(n)), codes, c), matrix)


def counted(drawn, codes, c):
    return np.bincount(codes * c + drawn, minlength=c * c).reshape(c, c)


def law_holds(counts, matrix):
    if counts[matrix == 0].any():
        return False
    rows = [chisquare(row[p > 0], row.sum() * p[p > 0]).pvalue for row, p in zip(counts, matrix, strict=True)]
    return min(rows) * len(rows) > LEVEL


def test_cells_are_drawn_independently_of_each_other():
    data = Microdata.from_columns({name: ["a", "b"] * 20_000 for name in ("x", "y")})
    schema = Schema(tuple(Attribute(n, Role.QUASI_IDENTIFIER, Scale.NOMINAL, "declared") for n in ("x", "y")))
    done = mask(data, schema, (pram("x", "y", retention=0.6),), seed=SEED, path=())
    changed = [np.array(done.data.column(n).to_pylist()) != np.array(data.column(n).to_pylist()) for n in ("x", "y")]
    both = counted(changed[0].astype(int), changed[1].astype(int), 2).ravel()
    assert chisquare(both, 40_000 * np.outer([0.6, 0.4], [0.6, 0.4]).ravel()).pvalue > LEVEL


@pytest.mark.parametrize("rule", [{"retention": 0.5}, {"epsilon": 1.0}])
def test_what_stays_and_what_changes(survey, rule):
    data, schema = survey
    done = mask(data, schema, (pram(**rule),), seed=SEED, path=())
    assert done.mechanisms[0].attributes == tuple(SCALES)
    assert done.data.arrow.schema == data.arrow.schema
    assert done.data.column("income").equals(data.column("income"))
    for name in SCALES:
        before, after = data.column(name), done.data.column(name)
        assert after.is_null().equals(before.is_null())  # missing stays missing
        assert not after.equals(before)
        allowed = set(schema[name].order or before.drop_null().to_pylist())
        assert set(after.drop_null().to_pylist()) <= allowed
    assert "highest" in done.data.column("grade").to_pylist()  # a declared category that nobody has
    assert mask(data, schema, (pram(**rule),), seed=SEED, path=()).data.arrow.equals(done.data.arrow)


def test_a_matrix_over_whole_numbers_and_truth_values(survey):
    data, schema = survey
    flip = {"true": {"true": 0, "false": 1}, "false": {"true": 1, "false": 0}}
    done = mask(data, schema, (pram("known", matrix=flip),), seed=SEED, path=())
    assert done.data.column("known").to_pylist() == [not one for one in data.column("known").to_pylist()]
    up = {str(i): {str(j): float(j == i % 4 + 1) for j in range(1, 5)} for i in range(1, 5)}
    done = mask(data, schema, (pram("rank", matrix=up),), seed=SEED, path=())
    assert done.data.floats("rank").tolist() == (data.floats("rank") % 4 + 1).tolist()


def test_the_categories_are_those_of_the_source_whatever_came_before(survey):
    data, schema = survey
    coarse = Microaggregation(method="microaggregation", attributes=("rank",), k=150)
    done = mask(data, schema, (coarse, pram("rank", epsilon=0.0)), seed=SEED, path=())
    grouped = mask(data, schema, (coarse,), seed=SEED, path=())
    assert len(set(grouped.data.floats("rank"))) < 4
    assert set(done.data.floats("rank")) == {1, 2, 3, 4}


@pytest.mark.parametrize(
    ("step", "code", "where"),
    [
        (pram("income"), "wrong-scale", "masking[0].attributes"),
        (pram("incom"), "unknown-attribute", "masking[0].attributes"),
        (pram("sex", matrix={"f": {"f": 0.5, "x": 0.5}, "x": {"f": 0.5, "x": 0.5}}), "matrix-categories", "masking[0].matrix"),
    ],
)
def test_steps_that_do_not_fit(survey, step, code, where):
    with pytest.raises(InputError) as refused:
        mask(*survey, (step,), seed=SEED, path=())
    assert (refused.value.code, refused.value.where) == (code, where)


@pytest.mark.parametrize("values", [["a"] * 5, [None] * 5, [f"t{i}" for i in range(1001)]])
def test_too_few_and_too_many_categories(values):
    data = Microdata.from_columns({"x": pa.array(values, pa.string())})
    schema = Schema((Attribute("x", Role.QUASI_IDENTIFIER, Scale.NOMINAL, "declared"),))
    with pytest.raises(InputError) as refused:
        mask(data, schema, (pram("x"),), seed=SEED, path=())
    assert refused.value.code == "categories"


def test_epsilons_of_attributes(survey):
    data, schema = survey
    steps = (pram("code", "sex"), pram("code", epsilon=1.0), pram("known", retention=0.25))
    found = {one.attribute: one for one in randomisations(data, schema, steps)}
    assert list(found) == ["sex", "code", "known"]
    assert found["code"].epsilon == pytest.approx(np.log(16) + 1)  # two steps add up; 0.8 / (0.2 / 4) = 16
    assert (found["sex"].epsilon, found["sex"].n_categories) == ("infinite", 2)  # it has gaps
    assert [one.truth_is_less_likely for one in found.values()] == [False, False, True]


def known(survey, *steps, names=("code", "rank", "income")):
    data, schema = survey
    done = mask(data, schema, steps, seed=SEED, path=())
    return infer_belief(data.select(names), done.data, schema, done.mechanisms), done


def test_the_law_that_an_intruder_concludes(survey):
    found, done = known(survey, pram("code", retention=0.6))
    (law,) = found.likelihoods
    assert law.names == ("code",)
    assert law.probability[:5, :5].diagonal().tolist() == [0.6] * 5
    assert law.probability[5].tolist() == [0, 0, 0, 0, 0, 1, 0]  # a gap stays a gap
    assert (law.probability[:, 6] == 0).all()  # what is no category is nobody's
    assert (law.own + 3).tolist() == survey[0].column("code").to_pylist()
    assert (law.shown + 3).tolist() == done.data.column("code").to_pylist()
    assert not found.is_certain(("code",))
    assert found.is_certain(("rank", "income"))


def test_two_steps_multiply(survey):
    found, _ = known(survey, pram("code", retention=0.6), pram("code", epsilon=1.0))
    matrices = [
        transition_matrix(pram("x", **rule), tuple("abcde"), where="") for rule in ({"retention": 0.6}, {"epsilon": 1.0})
    ]
    assert found.likelihoods[0].probability[:5, :5] == pytest.approx(matrices[0] @ matrices[1])


def test_what_is_known_before_counts_and_what_comes_after_undoes_it(survey):
    coarse = Microaggregation(method="microaggregation", attributes=("rank", "income"), k=50)
    alone = Microaggregation(method="microaggregation", attributes=("rank",), k=50)  # who of equals is in which group?
    swap = RankSwapping(method="rank_swapping", attributes=("rank",), window_percent=10.0)
    followed, _ = known(survey, coarse, pram("rank"))
    assert [law.names for law in followed.likelihoods] == [("rank",)]
    for steps in ((swap, pram("rank")), (pram("rank"), swap), (pram("rank"), alone), (alone, pram("rank"))):
        found, _ = known(survey, *steps)
        assert (found.likelihoods, found.between, found.unclear) == ((), (), ("rank",))
    stranger, _ = known(survey, pram("sex"))
    assert (stranger.likelihoods, stranger.unclear) == ((), ())
