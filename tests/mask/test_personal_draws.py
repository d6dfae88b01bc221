"""Draws that belong to a person and a value: the same in every release, by the same law as any other draw."""

from __future__ import annotations

import hashlib
import hmac
import json
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import stats
from sites import view_of

from tasks.mask.categories.pram import Pram, transition_matrix
from tasks.mask.methods import mask, resolve_steps
from tasks.mask.noise.noise import Noise, infer
from tasks.mask.personal_draws import draw_personal_normals, draw_personal_uniforms
from tasks.mask.personal_laws import keep_laws
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

SECRET, SEED = bytes(range(32)), bytes(32)
KINDS = ("independent", "correlated", "variance_restoring", "multiplicative")


def create_schema(**scales):
    known = (Attribute(name, Role.QUASI_IDENTIFIER, scale, "declared") for name, scale in scales.items())
    return Schema((Attribute("id", Role.IDENTIFIER, Scale.NOMINAL, "declared"), *known))


NUMBERS = create_schema(x=Scale.NUMERIC, y=Scale.NUMERIC)


def create_numbers(rng, n):
    return Microdata.from_columns(
        {"id": [f"p{i}" for i in range(n)], "x": rng.normal(50, 10, n).round(4), "y": rng.normal(9, 2, n).round(4)}
    )


def noise_of(kind="independent", names=("x", "y"), percent=30.0, **parameters):
    return Noise(method="noise", attributes=names, kind=kind, sd_percent=percent, draw="per_person", **parameters)


def release(source, schema, step, earlier=(), secret=SECRET, seed=SEED):
    prepared = keep_laws(source, schema, resolve_steps((step,), schema, "masking"), "id", earlier)
    return mask(source, schema, prepared, seed=seed, path=(), secret=secret)


def test_a_draw_by_hand():
    key = hmac.new(SECRET, json.dumps(["per person", "noise", "x"]).encode(), hashlib.sha256).digest()
    digest = hmac.new(key, b'1:p["7.5"]', hashlib.sha256).digest()
    uniform = ((int.from_bytes(digest[:8], "little") >> 11) + 0.5) / 2**53
    assert draw_personal_uniforms(SECRET, ("noise", "x"), ["p"], ['["7.5"]']).tolist() == [uniform]
    normal = draw_personal_normals(SECRET, ("noise", "x"), ["p"], ['["7.5"]'])[0]
    assert normal == pytest.approx(NormalDist().inv_cdf(uniform), abs=1e-12)
    data = Microdata.from_columns({"id": ["p", "q", "r"], "x": [7.5, 0.0, 3.25]})
    schema = create_schema(x=Scale.NUMERIC)
    shown = release(data, schema, noise_of(names=("x",))).data.floats("x")
    assert shown[0] == pytest.approx(7.5 + 0.3 * np.std([7.5, 0, 3.25], ddof=1) * normal, abs=0.005)  # two decimals are shown


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS))
def test_the_same_person_and_value_show_the_same_whatever_the_other_rows(seed, kind):
    rng = np.random.default_rng(seed)
    first = create_numbers(rng, 30)
    done = release(first, NUMBERS, noise_of(kind))
    rows = rng.permutation(30)[:20]
    changed = {name: first.floats(name) for name in "xy"}
    changed["x"][rows[0]] += 1
    more = create_numbers(rng, 90)  # outliers and newcomers would change every scale
    second = Microdata.from_columns(
        {"id": [f"p{i}" for i in rows] + [f"q{i}" for i in range(90)]}
        | {name: [*changed[name][rows], *(1000 * more.floats(name)).round(2)] for name in "xy"}
    )
    again = release(second, NUMBERS, noise_of(kind), earlier=done.mechanisms, seed=bytes([1] * 32))
    assert again.data.floats("x")[1:20].tolist() == done.data.floats("x")[rows[1:]].tolist()
    assert again.data.floats("y")[1:20].tolist() == done.data.floats("y")[rows[1:]].tolist()
    moved = [again.data.floats(name)[0] - changed[name][rows[0]] for name in "xy"]
    before = [done.data.floats(name)[rows[0]] - first.floats(name)[rows[0]] for name in "xy"]
    assert moved[0] != pytest.approx(before[0], abs=1e-3)
    together = kind in ("correlated", "variance_restoring")  # one value that changed is another combination
    assert (moved[1] == pytest.approx(before[1], abs=1e-3)) is not together
    other = release(first, NUMBERS, noise_of(kind), secret=bytes([9] * 32))
    assert not other.data.arrow.equals(done.data.arrow)


def test_the_draws_follow_their_law_and_the_test_has_power():
    n = 20_000
    people, values = [f"p{i}" for i in range(n)], ["[1.0]"] * n
    normals = draw_personal_normals(SECRET, ("noise", "x"), people, values)
    assert stats.kstest(normals, "norm").pvalue > 1e-4
    assert stats.kstest(1.3 * normals, "norm").pvalue < 1e-4  # a law that is 30 % off
    others = [
        draw_personal_normals(SECRET, ("noise", "x"), people, ["[2.0]"] * n),  # of a changed value
        draw_personal_normals(SECRET, ("noise", "y"), people, values),  # of another attribute
        draw_personal_normals(bytes(32), ("noise", "x"), people, values),  # of another series
    ]
    assert all(abs(np.corrcoef(normals, other)[0, 1]) < 4 / np.sqrt(n) for other in others)


@pytest.mark.parametrize("kind", KINDS)
def test_noise_per_person_has_the_law_of_noise(kind):
    rng = np.random.default_rng(3)
    source = create_numbers(rng, 6000)
    done = release(source, NUMBERS, noise_of(kind))
    factor = 1 / np.sqrt(1.09) if kind == "variance_restoring" else 1.0
    for name in "xy":
        own, shown = source.floats(name), done.data.floats(name)
        centre = own.mean() if kind == "variance_restoring" else 0.0
        errors = (shown - centre) / factor - (own - centre)
        assert errors.std() == pytest.approx(0.3 * own.std(), rel=0.05)
    data = source.select(("x", "y"))
    belief = infer(view_of(data, done.data, NUMBERS), done.mechanisms[0])
    plain = infer(view_of(data, done.data, NUMBERS), noise_of(kind))
    assert belief.blurred[0].covariance == pytest.approx(plain.blurred[0].covariance, rel=1e-9)
    assert belief.blurred[0].centre == pytest.approx(plain.blurred[0].centre, rel=1e-9)


def test_the_intruder_weighs_by_the_law_of_the_first_release():
    rng = np.random.default_rng(4)
    first = release(create_numbers(rng, 200), NUMBERS, noise_of())
    wide = Microdata.from_columns({"id": list("abcd"), "x": [0.0, 1e6, 5.0, 7.0], "y": [1.0, 2.0, 4e5, 3.0]})
    second = release(wide, NUMBERS, noise_of(), earlier=first.mechanisms)
    belief = infer(view_of(wide.select(("x", "y")), second.data, NUMBERS), second.mechanisms[0])
    scale = np.sqrt(belief.blurred[0].covariance[0].diagonal())
    assert scale == pytest.approx(0.3 * np.array(first.mechanisms[0].personal.deviations), rel=1e-3)
    assert second.mechanisms[0].public() == noise_of().public()  # the law is private


def test_pram_per_person():
    rng = np.random.default_rng(5)
    n = 6000
    schema = create_schema(a=Scale.NOMINAL, b=Scale.NOMINAL)
    source = Microdata.from_columns(
        {"id": np.arange(n), "a": rng.choice(list("uvw"), n).tolist(), "b": rng.choice(["1", "2"], n).tolist()}
    )
    step = Pram(method="pram", attributes=("a", "b"), retention=0.8, draw="per_person")
    done = release(source, schema, step)
    a = np.array(source.column("a").to_pylist())
    drawn = np.array(done.data.column("a").to_pylist())
    counts = np.array([[((a == x) & (drawn == y)).sum() for y in "uvw"] for x in "uvw"])
    expected = counts.sum(axis=1, keepdims=True) * transition_matrix(step, ("u", "v", "w"), where="")
    assert stats.chisquare(counts.ravel(), expected.ravel(), ddof=2).pvalue > 1e-4
    rows = rng.permutation(n)[:1000]
    again = release(source.take(rows), schema, step, earlier=done.mechanisms, seed=bytes([7] * 32))
    assert again.data.arrow.equals(done.data.take(rows).arrow)
    jointly = step.model_copy(update={"jointly": True})
    joint = release(source, schema, jointly)
    assert release(source.take(rows), schema, jointly, earlier=joint.mechanisms).data.arrow.equals(joint.data.take(rows).arrow)
    new = Microdata.from_columns({"id": [1, 2, 3, 4], "a": list("uvwz"), "b": list("1212")})
    with pytest.raises(InputError) as refused:
        release(new, schema, step, earlier=done.mechanisms)
    assert refused.value.code == "other-categories"


def test_columns_that_are_read_as_another_type_draw_nothing_anew():
    schema = create_schema(a=Scale.NOMINAL)
    rng = np.random.default_rng(9)
    ids, values = np.arange(200), rng.integers(1, 4, 200)
    step = Pram(method="pram", attributes=("a",), retention=0.5, draw="per_person")
    numbers, texts = (Microdata.from_columns({"id": one, "a": other}) for one, other in (
        (ids, values), ([str(i) for i in ids], [str(i) for i in values])))  # fmt: skip
    first = release(numbers, schema, step)
    again = release(texts, schema, step, earlier=first.mechanisms)
    assert again.data.column("a").to_pylist() == [str(one) for one in first.data.column("a").to_pylist()]


def test_other_parameters_than_those_of_the_first_release_are_refused():
    source = create_numbers(np.random.default_rng(6), 50)
    done = release(source, NUMBERS, noise_of())
    for other in (noise_of(percent=20.0), noise_of("correlated"), noise_of(names=("x",))):
        with pytest.raises(InputError) as refused:
            release(source, NUMBERS, other, earlier=done.mechanisms)
        assert refused.value.code == "other-law"
        assert refused.value.where == "masking[0].draw"
    with pytest.raises(InputError) as refused:
        keep_laws(source, NUMBERS, (noise_of(),), None, ())
    assert refused.value.code == "no-key"


@pytest.mark.parametrize("kind", ["correlated", "variance_restoring"])
def test_correlations_that_no_record_shows_are_refused(kind):
    apart = Microdata.from_columns({"id": list("abcde"), "x": [1.0, 2.5, 7.0, None, None], "y": [None, None, None, 3.0, 8.5]})
    with pytest.raises(InputError) as refused:
        release(apart, NUMBERS, noise_of(kind))
    assert refused.value.code == "unknown-correlations"
    assert refused.value.where == "masking[0].attributes"


def test_a_step_beside_a_draw_per_person():
    rounding = Noise(method="noise", attributes=("x",), kind="independent", sd_percent=10.0)
    with pytest.raises(InputError) as refused:
        resolve_steps((rounding, noise_of()), NUMBERS, "masking")
    assert refused.value.code == "personal-with-other-step"
    with pytest.raises(ValidationError, match="invariant"):
        Pram(method="pram", attributes=("a",), retention=0.8, invariant=True, draw="per_person")
    with pytest.raises(ValidationError, match="by"):
        noise_of(by=("y",), names=("x",))


def test_what_a_release_keeps_is_read_back_and_stands_in_no_schema():
    done = release(create_numbers(np.random.default_rng(8), 40), NUMBERS, noise_of("correlated"))
    (step,) = done.mechanisms
    assert Noise.model_validate_json(step.model_dump_json()) == step
    assert "personal" not in Noise.model_json_schema()["properties"]
    assert "draw" not in Noise(method="noise", kind="independent", sd_percent=5.0).model_dump_json()
