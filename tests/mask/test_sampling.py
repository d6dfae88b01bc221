"""Sampling: how many are kept, which ones, in what order of steps, and what an intruder concludes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.stats import binom
from sites import site_of

from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.methods import attack
from tasks.attack.threat import Intruder
from tasks.attack.transparency.transparency import Transparency
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import infer_belief, mask, refuse_unfit, resolve_steps
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.mask.sampling import Sampling, allocate_sample, sample_rows
from tasks.microdata.alignment import Alignment
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

SEED = bytes(range(32))


def sampling(**parameters):
    return Sampling(method="sampling", **parameters)


HALF = sampling(share=0.5)
MICRO = Microaggregation(method="microaggregation", attributes=("x", "y"), k=3)
SWAP = RankSwapping(method="rank_swapping", attributes=("x", "y"), window_percent=10.0)


def people_of(n, seed=3, **more):
    rng = np.random.default_rng(seed)
    data = Microdata.from_columns(
        {"x": rng.permutation(n), "y": rng.integers(0, n // 3, n), "town": rng.choice(["a", "b"], n), **more}
    )
    roles = {"person": Role.PERSON}
    scales = {"town": Scale.NOMINAL, "person": Scale.CODE}
    return data, Schema(
        tuple(
            Attribute(name, roles.get(name, Role.QUASI_IDENTIFIER), scales.get(name, Scale.NUMERIC), "declared")
            for name in data.names
        )
    )


@pytest.mark.parametrize(
    ("sizes", "m", "allocation", "taken"),
    [
        ((50, 30, 20), 7, "proportional", (4, 2, 1)),  # quotas 3.5, 2.1, 1.4: the half gets the seventh
        ((40, 40, 20), 4, "proportional", (2, 1, 1)),  # 1.6, 1.6, 0.8: the third gives 1, then 1.5 and 1.5: the first
        ((97, 1, 1, 1), 10, "proportional", (7, 1, 1, 1)),
        ((100, 2, 1, 1), 4, "proportional", (1, 1, 1, 1)),
        ((10, 20), 15, "proportional", (5, 10)),
        ((100, 3, 50), 30, "equal", (14, 3, 13)),  # 3 of the second, the other 27 in halves
        ((5, 6, 7), 7, "equal", (2, 2, 3)),  # the one left over goes to the largest stratum
        ((8,), 3, "equal", (3,)),
    ],
)
def test_allocation_worked(sizes, m, allocation, taken):
    assert allocate_sample(np.array(sizes), m, allocation).tolist() == list(taken)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=8), st.floats(0, 1), st.sampled_from(["proportional", "equal"]))
def test_allocation_gives_each_stratum_something_and_all_together_m(sizes, part, allocation):
    sizes = np.array(sizes)
    m = len(sizes) + int(part * (sizes.sum() - len(sizes)))
    taken = allocate_sample(sizes, m, allocation)
    assert taken.sum() == m
    assert (taken >= 1).all()
    assert (taken <= sizes).all()
    if allocation == "equal":  # no two differ by more than one, unless a stratum gave all it has
        free = taken[taken < sizes]
        assert len(free) == 0 or (taken.max() - free.min() <= 1)
    else:
        quota = m * sizes / sizes.sum()
        assert quota.min() < 1 or (np.abs(taken - quota) < 1).all()


@given(st.integers(3, 90), st.floats(0.05, 0.95))
def test_the_share_is_rounded_half_up(n, share):
    data, schema = people_of(max(n, 3))
    try:
        rows = sample_rows(site_of(data, schema), sampling(share=share))
    except InputError as refused:
        assert refused.code in ("sample-too-small", "sample-too-large")
        return
    assert abs(len(rows) - share * n) <= 0.5 + 1e-9
    assert (np.diff(rows) > 0).all()


def test_half_of_five_is_three():
    data, schema = people_of(5)
    assert len(sample_rows(site_of(data, schema), HALF)) == 3


def test_each_stratum_gives_its_part():
    data, schema = people_of(30, town=["a"] * 18 + ["b"] * 9 + [None] * 3)
    rows = sample_rows(site_of(data, schema), sampling(size=10, by=("town",)))
    assert [int(((low <= rows) & (rows < high)).sum()) for low, high in ((0, 18), (18, 27), (27, 30))] == [6, 3, 1]


def test_one_stratum_is_a_simple_sample():
    data, schema = people_of(30, town=["a"] * 30)
    rows = sample_rows(site_of(data, schema), sampling(size=10, by=("town",)))
    assert rows.tolist() == sample_rows(site_of(data, schema), sampling(size=10)).tolist()


@pytest.mark.parametrize(("inclusion", "passes"), [(0.3, True), (0.39, False)])
def test_every_record_is_kept_with_the_same_probability(inclusion, passes):
    data, schema = people_of(20)
    runs = 400
    kept = np.zeros(20)
    together = 0
    for seed in range(runs):
        rows = sample_rows(site_of(data, schema, seed=seed), sampling(size=6))
        kept[rows] += 1
        together += {0, 1} <= set(rows.tolist())
    # each count is binomial; Bonferroni over 20 records and the pair
    level = 1e-4 / 21
    low, high = binom.ppf([level / 2, 1 - level / 2], runs, inclusion)
    pair_low, pair_high = binom.ppf([level / 2, 1 - level / 2], runs, inclusion * (20 * inclusion - 1) / 19)
    assert bool(((low <= kept) & (kept <= high)).all() and pair_low <= together <= pair_high) == passes


@pytest.mark.parametrize("by", [None, ("town",)])
def test_persons_are_sampled_as_a_whole(by):
    person = np.repeat(np.arange(20), 3)
    data, schema = people_of(60, person=person, town=np.where(person < 12, "a", "b"))
    rows = sample_rows(site_of(data, schema), sampling(size=5, by=by))
    kept, rows_of = np.unique(person[rows], return_counts=True)
    assert rows_of.tolist() == [3] * 5
    if by is not None:
        assert (kept < 12).sum() == 3


def test_a_person_in_two_strata_is_refused():
    data, schema = people_of(60, person=np.repeat(np.arange(20), 3))
    with pytest.raises(InputError) as refused:
        sample_rows(site_of(data, schema), sampling(size=5, by=("town",)))
    assert (refused.value.code, refused.value.where) == ("person-in-several-strata", "masking[0].by")


@pytest.mark.parametrize(
    ("step", "code", "where", "said"),
    [
        (sampling(size=30), "sample-too-large", "masking[0].size", "leaves nobody out"),
        (sampling(share=0.99), "sample-too-large", "masking[0].share", "leaves nobody out"),
        (sampling(share=0.01), "sample-too-small", "masking[0].share", "a sample of 0 of 30 records"),
        (sampling(size=2, by=("town", "y")), "sample-too-small", "masking[0].size", "strata by town and y"),
    ],
)
def test_samples_that_are_refused(step, code, where, said):
    data, schema = people_of(30)
    for refusing in (lambda: mask(data, schema, (step,), seed=SEED, path=()), lambda: refuse_unfit(data, schema, (step,))):
        with pytest.raises(InputError) as refused:
            refusing()
        assert (refused.value.code, refused.value.where) == (code, where)
        assert said in str(refused.value)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"share": 0.5, "size": 3},
        {"share": 1.0},
        {"share": 0.0},
        {"size": 1},
        {"share": 0.5, "attributes": ("x",)},
        {"share": 0.5, "allocation": "equal"},
    ],
)
def test_parameters_that_are_refused(parameters):
    with pytest.raises(ValidationError):
        sampling(**parameters)


def test_check_sees_that_too_few_are_left_for_the_next_step():
    data, schema = people_of(30)
    steps = resolve_steps((sampling(size=6), MICRO.model_copy(update={"k": 7})), schema, "masking")
    with pytest.raises(InputError) as refused:
        refuse_unfit(data, schema, steps)
    assert refused.value.code == "group-too-small"


ORDERS = {
    "alone": (HALF,),
    "first": (HALF, MICRO),
    "last": (MICRO, HALF),
    "swap after": (HALF, SWAP),
    "swap before": (SWAP, HALF),
    "between": (MICRO.model_copy(update={"attributes": ("x",)}), HALF, SWAP.model_copy(update={"attributes": ("y",)})),
    "around a swap": (sampling(share=0.8), SWAP, sampling(share=0.6)),
    "stratified, by strata": (sampling(share=0.6, by=("town",)), SWAP.model_copy(update={"by": ("town",)})),
    "a swap by strata before": (SWAP.model_copy(update={"by": ("town",)}), HALF),
}


@pytest.mark.parametrize("steps", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("seed", [1, 2])
def test_every_released_row_is_traced_back_to_its_record(steps, seed):
    tag = np.random.default_rng(seed).permutation(60)  # published as it is: says whose row it is
    data, schema = people_of(60, seed=seed, tag=tag)
    done = mask(data, schema, steps, seed=SEED, path=(str(seed),))
    alignment = Alignment(done.record, np.argsort(done.order), data.n)
    released = done.data.take(alignment.order)
    assert done.data.n == len(done.record) < 60
    assert done.data.column("tag").equals(data.take(done.record).column("tag"))
    whose = np.empty(done.data.n, dtype=np.int64)
    whose[alignment.position] = alignment.record
    assert released.column("tag").equals(data.take(whose).column("tag"))
    assert done.data.arrow.schema == data.select(schema.release_columns).arrow.schema


def attacked(data, schema, done, spec, participation_known=True):
    alignment = Alignment(done.record, np.argsort(done.order), data.n)
    intruder = Intruder("declared", ("x", "y", "town"), participation_known)
    return attack(data, done.data, schema, done.mechanisms, spec, intruder, alignment=alignment, targets=np.arange(data.n))


@pytest.mark.parametrize("steps", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_the_true_row_is_never_ruled_out(steps, known, seed):
    data, schema = people_of(60, seed=seed)
    done = mask(data, schema, steps, seed=SEED, path=(str(seed),))
    found = attacked(data, schema, done, Transparency(method="transparency"), known)
    assert found.status == "ok" or found.partly_followed, found.reason
    there = found.outcomes.floats("in_release") == 1
    assert there.sum() == done.data.n
    assert (found.outcomes.floats("credit")[~there] == 0).all()


@pytest.mark.parametrize("step", [MICRO, SWAP], ids=["means", "swap"])
@pytest.mark.parametrize("by", [None, ("town",)])
def test_who_knows_who_was_sampled_attacks_the_sample_as_a_table_of_its_own(step, by):
    data, schema = people_of(90, seed=5)
    done = mask(data, schema, (sampling(share=0.6), step.model_copy(update={"by": by})), seed=SEED, path=())
    transparency = Transparency(method="transparency")
    found = attacked(data, schema, done, transparency)
    left = data.take(done.record)
    alone = attack(
        left,
        done.data,
        schema,
        done.mechanisms[1:],
        transparency,
        Intruder("declared", ("x", "y", "town")),
        alignment=Alignment.complete_in(done.order),
        targets=np.arange(left.n),
    )
    there = found.outcomes.floats("in_release") == 1
    for column in ("credit", "candidates", "sound_candidates", "known"):
        assert found.outcomes.floats(column)[there].tolist() == alone.outcomes.floats(column).tolist()
        assert found.outcomes.floats(column)[~there].tolist() == [0] * (~there).sum()
    assert "they know who was sampled" in found.knows_mechanism
    unsure = attacked(data, schema, done, transparency, participation_known=False)
    assert unsure.outcomes.missing("known").all()
    assert "heuristic, not sound" in unsure.knows_mechanism
    gained = found.outcomes.floats("credit").sum() - unsure.outcomes.floats("credit").sum()
    assert gained > 0 or step is SWAP


@pytest.mark.parametrize("known", [True, False])
def test_persons_who_were_sampled_are_looked_for_as_persons(known):
    data, schema = people_of(90, person=np.repeat(np.arange(30), 3))
    done = mask(data, schema, (sampling(size=20), MICRO, SWAP.model_copy(update={"attributes": ("x",)})), seed=SEED, path=())
    found = attacked(data, schema, done, Transparency(method="transparency"), known)
    assert (found.partly_followed, found.counts) == (not known, "persons")
    there = found.outcomes.floats("in_release") == 1
    assert (len(there), there.sum()) == (30, 20)
    assert (found.outcomes.floats("credit")[~there] == 0).all()
    assert found.outcomes.missing("known").all() != known
    if known:
        assert (found.outcomes.floats("candidates")[~there] == 0).all()


def test_who_cannot_tell_records_apart_concludes_nothing_of_the_sampled():
    # records 0 and 1 are twins in two groups of x; once one of them is left out, what the other shows stays open
    data = Microdata.from_columns({"x": [2, 2, 0, 9], "y": [1, 2, 3, 4]})
    schema = Schema(tuple(Attribute(name, Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared") for name in ("x", "y")))
    means = Microaggregation(method="microaggregation", attributes=("x",), k=2)
    swap = RankSwapping(method="rank_swapping", attributes=("y",), window_percent=50.0)
    present, released = np.array([0, 2, 3]), Microdata.from_columns({"x": [1, 6, 1], "y": [3, 4, 1]})
    known = infer_belief(data, released, schema, (means, sampling(size=3), swap), present)
    assert (known.unclear, known.shown, known.complete) == (("x",), (), True)
    assert [(part.name, part.low.tolist()) for part in known.between] == [("y", [1, 1, 3])]
    last = infer_belief(data, released, schema, (swap, means, sampling(size=3)), present)
    assert ([part.names for part in last.shown], last.believed.n, last.complete) == ([("x",)], 4, False)


def test_a_sample_alone_hides_nobody_who_is_in_it():
    data, schema = people_of(60)
    done = mask(data, schema, (HALF,), seed=SEED, path=())
    for spec in (DistanceLinkage(method="distance_linkage"), Transparency(method="transparency")):
        found = attacked(data, schema, done, spec).outcomes
        assert found.floats("credit").tolist() == found.floats("in_release").tolist()
