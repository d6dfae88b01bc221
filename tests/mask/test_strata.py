"""Steps within strata: each stratum as if it were alone, and what an intruder concludes who knows the strata."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sites import site_of, view_of

from tasks.attack.methods import attack
from tasks.attack.threat import Intruder
from tasks.attack.transparency.transparency import Transparency, link_by_mechanism
from tasks.mask.groups.microaggregation import Microaggregation, microaggregate
from tasks.mask.intruder_belief import DiscreteLikelihood, EqualTo, GaussianLikelihood
from tasks.mask.methods import infer_belief, mask, refuse_unfit, resolve_steps
from tasks.mask.ranks.rank_swapping import RankSwapping, rank_swap, window_ranks
from tasks.mask.strata import apply_in_strata, infer_in_strata
from tasks.microdata.alignment import Alignment
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

SEED = bytes(range(32))


def micro(*names, k=2, by=("town",)):
    return Microaggregation(method="microaggregation", attributes=names or ("x", "y"), k=k, by=by)


def swap(*names, window_percent=30.0, by=("town",)):
    return RankSwapping(method="rank_swapping", attributes=names or ("x", "y"), window_percent=window_percent, by=by)


def schema_of(data, **roles):
    scales = {"town": Scale.NOMINAL, "sex": Scale.NOMINAL, "id": Scale.NOMINAL}
    return Schema(
        tuple(
            Attribute(name, roles.get(name, Role.QUASI_IDENTIFIER), scales.get(name, Scale.NUMERIC), "declared")
            for name in data.names
        )
    )


def people_of(n=60, *, towns=("a", "b", None), seed=0, distinct=True):
    rng = np.random.default_rng(seed)
    numbers = (rng.permutation(n), rng.permutation(n)) if distinct else (rng.integers(0, 6, n), rng.integers(0, 6, n))
    town = [towns[i % len(towns)] for i in rng.permutation(n)]
    data = Microdata.from_columns(
        {"x": numbers[0], "y": numbers[1], "town": pa.array(town, pa.string()), "sex": rng.choice(["f", "m"], n)}
    )
    return data, schema_of(data)


def strata_of(data, *by):
    keys = list(zip(*(data.column(name).to_pylist() for name in by), strict=True))
    return [np.array([i for i, key in enumerate(keys) if key == wanted]) for wanted in dict.fromkeys(keys)]


def test_worked_means_within_towns():
    data = Microdata.from_columns({"x": [1, 9, 3, 5, 7, 11, 30, 40], "town": ["a", "b", "a", "b", "b", "b", None, None]})
    done = mask(data, schema_of(data), (micro("x"),), seed=SEED, path=())
    # a: 1, 3; b: 5, 7 and 9, 11; the towns that are missing: 30, 40
    assert done.data.column("x").to_pylist() == [2, 10, 2, 6, 6, 10, 35, 35]


@given(st.integers(0, 10_000), st.booleans(), st.sampled_from([("town",), ("town", "sex")]))
@settings(max_examples=25, deadline=None)
def test_a_deterministic_step_is_that_of_each_stratum_alone(seed, distinct, by):
    data, schema = people_of(seed=seed, distinct=distinct)
    step = micro(by=by)
    site = site_of(data, schema)
    whole = apply_in_strata(site, by, lambda part: microaggregate(part, step))
    for rows in strata_of(data, *by):
        alone = data.take(rows)
        expected = microaggregate(site.select_rows(rows, site.draw), step)
        assert whole.take(rows).arrow.equals(expected.arrow)
        assert sorted(whole.take(rows).floats("x")) != sorted(alone.floats("x")) or len(rows) < 4 or not distinct


def test_the_only_stratum_is_the_whole_table():
    data, schema = people_of(towns=("a",))
    with_by, without = (mask(data, schema, (micro(by=by),), seed=SEED, path=()).data for by in (("town",), None))
    assert with_by.arrow.equals(without.arrow)


def test_the_order_of_the_rows_plays_no_part():
    data, schema = people_of()
    order = np.random.default_rng(1).permutation(data.n)
    first, again = (mask(table, schema, (micro(),), seed=SEED, path=()).data for table in (data, data.take(order)))
    assert again.arrow.equals(first.take(order).arrow)


@given(st.integers(0, 10_000), st.booleans())
@settings(max_examples=25, deadline=None)
def test_swaps_never_leave_a_stratum_nor_its_window(seed, distinct):
    data, schema = people_of(seed=seed, distinct=distinct)
    step = swap()
    site = site_of(data, schema, seed=seed)
    done = apply_in_strata(site, ("town",), lambda part: rank_swap(part, step))
    moved = False
    for rows in strata_of(data, "town"):
        before, after = data.take(rows).floats("x"), done.take(rows).floats("x")
        assert np.array_equal(np.sort(before), np.sort(after))
        moved |= bool((before != after).any())
        ranked, window = np.sort(before), window_ranks(30.0, len(rows))
        near = np.searchsorted(ranked, after, side="left") - np.searchsorted(ranked, before, side="right") + 1
        far = np.searchsorted(ranked, before, side="left") - np.searchsorted(ranked, after, side="right") + 1
        assert max(near.max(), far.max()) <= window
    assert moved
    assert done.column("town").equals(data.column("town"))


def test_each_stratum_has_a_stream_of_its_own():
    numbers = list(range(40))
    data = Microdata.from_columns({"x": numbers + numbers, "town": ["a"] * 40 + ["b"] * 40})
    done = mask(data, schema_of(data), (swap("x"),), seed=SEED, path=()).data.floats("x")
    assert (done[:40] != done[40:]).any()


def refused_by_mask_and_check(data, schema, steps):
    """What certify and check refuse, which must be the same."""
    told = []
    for refusing in (
        lambda: mask(data, schema, steps, seed=SEED, path=()),
        lambda: refuse_unfit(data, schema, resolve_steps(steps, schema, "masking")),
    ):
        with pytest.raises(InputError) as refused:
            refusing()
        told.append(str(refused.value))
    assert told[0] == told[1]
    return refused.value


@pytest.mark.parametrize("step", [micro(k=3), swap(window_percent=40.0)], ids=["microaggregation", "swapping"])
def test_a_small_stratum_is_refused_by_its_size_and_never_by_its_value(step):
    data = Microdata.from_columns({"x": range(12), "y": range(12), "town": ["quiet town"] * 10 + ["hidden hamlet"] * 2})
    refused = refused_by_mask_and_check(data, schema_of(data), (step,))
    assert refused.code in ("group-too-small", "window-under-one-rank")
    assert "in one of the 2 strata by town, of 2 rows" in refused.what
    assert "join the strata" in refused.remedy
    assert "hamlet" not in str(refused)


@pytest.mark.parametrize(
    ("by", "others", "code", "said"),
    [
        (("twon",), (), "unknown-attribute", "did you mean `town`?"),
        (("id",), (), "unpublished-attribute", "not published"),
        (("y",), (), "masked-stratum", "masked itself"),
        (("sex",), (micro("y", by=("town",)), swap("x", by=("y",))), "masked-stratum", "masked itself"),
    ],
)
def test_strata_that_cannot_be(by, others, code, said):
    data, _ = people_of()
    data = Microdata(data.arrow.append_column("id", pa.array([str(i) for i in range(data.n)])))
    refused = refused_by_mask_and_check_names(data, schema_of(data, id=Role.IDENTIFIER), (micro(by=by), *others))
    assert refused.code == code
    assert said in str(refused)
    assert refused.where.endswith(".by")


def refused_by_mask_and_check_names(data, schema, steps):
    with pytest.raises(InputError) as refused:
        mask(data, schema, steps, seed=SEED, path=())
    with pytest.raises(InputError) as again:
        resolve_steps(steps, schema, "masking")
    assert str(again.value) == str(refused.value)
    return refused.value


STEPS = {
    "means": (micro(k=3),),
    "means in blocks": (Microaggregation(method="microaggregation", blocks=(("x",), ("y",)), k=3, by=("town",)),),
    "swap": (swap(),),
    "two kinds of strata": (micro("x", k=3), swap("y", by=("sex",))),
    "twice": (micro("x", k=2, by=("sex",)), micro("x", k=3, by=("town",))),
    "whole, then strata": (micro("x", k=3, by=None), micro("y", k=3)),
    "whole swap, then strata": (swap("x", by=None), micro("y", k=3)),
    "two attributes of strata": (micro(by=("town", "sex")),),
}


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("distinct", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_true_row_is_never_ruled_out(steps, distinct, seed):
    data, schema = people_of(72, seed=seed, distinct=distinct)
    done = mask(data, schema, steps, seed=SEED, path=(str(seed),))
    intruder = Intruder("declared", ("x", "y", "town", "sex"))
    found = attack(
        data,
        done.data,
        schema,
        done.mechanisms,
        Transparency(method="transparency"),
        intruder,
        alignment=Alignment.complete_in(done.order),
        targets=np.arange(data.n),
    )
    assert found.status == "ok" or found.partly_followed, found.reason
    assert "never left out" in found.knows_mechanism
    assert "within each stratum by" in found.knows_mechanism


@pytest.mark.parametrize("step", [micro(k=3), swap(window_percent=20.0)], ids=["means", "swap"])
def test_the_attack_finds_what_it_finds_in_each_stratum_alone(step):
    data, schema = people_of(90)
    done = mask(data, schema, (step,), seed=SEED, path=())
    knows = ("x", "y", "town")
    links, _ = link_by_mechanism(data, done.data, schema, done.mechanisms, knows)
    sizes = links.sound_sizes[links.search_class]
    assert sizes.min() >= 1 and sizes.mean() < 12
    for rows in strata_of(data, "town"):
        alone = (done.mechanisms[0].model_copy(update={"by": None}),)
        of_it, _ = link_by_mechanism(data.take(rows), done.data.take(rows), schema, alone, knows)
        assert sizes[rows].tolist() == of_it.sound_sizes[of_it.search_class].tolist()


@pytest.mark.parametrize("step", [micro(k=3), swap()], ids=["means", "swap"])
def test_who_does_not_know_the_strata_concludes_nothing(step):
    data, schema = people_of()
    done = mask(data, schema, (step,), seed=SEED, path=())
    known = infer_belief(data.select(("x", "y")), done.data, schema, done.mechanisms)
    assert (known.shown, known.between, set(known.unclear)) == ((), (), {"x", "y"})


def test_twins_in_two_strata_stay_twins():
    # records 0 and 1 are equal in x and stand in two groups of x; which is whose stays open after a step by town on y
    data = Microdata.from_columns({"x": [2, 2, 0, 9], "y": [1, 2, 3, 4], "town": ["a", "b", "a", "b"]})
    schema = schema_of(data)
    steps = (micro("x", by=None), micro("y"))
    first = microaggregate(site_of(data, schema), steps[0])
    before = infer_belief(data, first, schema, steps[:1])
    after = infer_belief(data, first, schema, steps)
    (twins,) = (part for part in before.shown if "x" in part.names)
    (left,) = (part for part in after.shown if "x" in part.names)
    assert not twins.certain
    assert (left.twins == twins.twins).all() and left.certain == twins.certain


def law_of(view):
    codes = np.unique(view.originals.floats("x"), return_inverse=True)[1]
    shown = np.unique(view.released.floats("x"), return_inverse=True)[1]
    size = int(max(codes.max(), shown.max())) + 1
    law = DiscreteLikelihood(("x",), codes, shown, np.eye(size) * 0.5 + 0.5 / size)
    noise = GaussianLikelihood(
        ("y",), view.originals.floats("y")[:, None], view.released.floats("y")[:, None], np.full((1, 1, 1), float(len(codes))),
        np.zeros(len(codes), dtype=np.int64), np.zeros(len(shown), dtype=np.int64),
    )  # fmt: skip
    return view.knowledge.drop_attributes(("x", "y")), law, noise


def test_laws_of_strata_stand_side_by_side():
    data = Microdata.from_columns({"x": [1, 2, 2, 1, 3], "y": [1.0, 2.0, 3.0, 4.0, 5.0], "town": ["a", "a", "b", "b", "b"]})
    schema = schema_of(data)

    def conclude(part):
        from dataclasses import replace

        rest, law, noise = law_of(part)
        return replace(rest, likelihoods=(law,), blurred=(noise,))

    released = data.take(np.array([4, 0, 2, 1, 3]))
    known = infer_in_strata(view_of(data, released, schema), swap(), conclude)
    (law,), (noise,) = known.likelihoods, known.blurred
    of = law.probability[law.own][:, law.shown]  # record by released row
    same_town = np.array([[a == b for b in released.column("town").to_pylist()] for a in data.column("town").to_pylist()])
    assert ((of > 0) == same_town).all()
    own = of[np.arange(5), [1, 3, 2, 4, 0]]
    assert own == pytest.approx([0.75, 0.75, 2 / 3, 2 / 3, 2 / 3])
    assert ((noise.of_record[:, None] == noise.of_row) == same_town).all()
    assert noise.covariance[noise.of_record, 0, 0].tolist() == [2, 2, 3, 3, 3]
    assert noise.placed[:, 0].tolist() == [5, 1, 3, 2, 4]
    assert [part.names for part in known.shown] == [("town",)]
    assert isinstance(known.shown[0], EqualTo)


def test_strata_with_too_many_categories_are_doubted(monkeypatch):
    from tasks.mask import strata

    monkeypatch.setattr(strata, "MOST_CELLS", 10)
    data, schema = people_of(12)

    def conclude(part):
        from dataclasses import replace

        rest, law, _ = law_of(part)
        return replace(rest, likelihoods=(law,))

    known = infer_in_strata(view_of(data, data, schema), swap("x"), conclude)
    assert (known.likelihoods, known.unclear) == ((), ("x",))
