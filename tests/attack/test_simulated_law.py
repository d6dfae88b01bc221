"""The attack by a simulated law: against closed laws, on chains that none follows, and what it must not depend on."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import TypeAdapter

from tasks.attack.consistency.consistency import Consistency
from tasks.attack.methods import attack
from tasks.attack.outcomes.outcome import AttackResult
from tasks.attack.plan import SIMULATED, default_attacks, may_lack_a_closed_law
from tasks.attack.simulated import likely_pairs, simulated_law
from tasks.attack.simulated.exchanges import find_partners, weigh_exchanges
from tasks.attack.simulated.simulated_law import learn_release, link_by_simulated_law
from tasks.attack.threat import Intruder
from tasks.attack.transparency.transparency import Transparency
from tasks.mask.external_release.released import Undeclared
from tasks.mask.methods import Masking, mask
from tasks.microdata.alignment import Alignment
from tasks.microdata.schema import Scale
from tasks.microdata.table import Microdata
from tasks.score.attack_coverage import list_unfollowed_attacks

SEED = bytes(range(32))
ALL = ("x", "y", "z")
MARGINALS = Transparency(method="transparency", matching="marginals")


def chain(*steps):
    return TypeAdapter(tuple[Masking, ...]).validate_python(steps, strict=False)


def noise(percent, kind="independent"):
    return {"method": "noise", "kind": kind, "attributes": ALL, "sd_percent": percent}


SWAP = {"method": "rank_swapping", "attributes": ALL, "window_percent": 20.0}
MDAV = {"method": "microaggregation", "attributes": ALL, "k": 3}
ROUND = {"method": "rounding", "bases": dict.fromkeys(ALL, 5.0), "kind": "random"}
JITTER = {"method": "rank_jitter", "attributes": ALL, "window_percent": 10.0}


@pytest.fixture(scope="module")
def people(table):
    rng, n = np.random.default_rng(8), 300
    common = rng.normal(size=n)
    columns = {name: np.round(100 + 20 * (common + rng.normal(size=n)), 1) for name in ALL}
    return table({**columns, "town": rng.choice(list("abcd"), n)}, scales={"town": Scale.NOMINAL})


def release(people, steps):
    data, schema = people
    done = mask(data, schema, steps, seed=SEED, path=())
    return data, done.data, schema, done.mechanisms, Alignment(done.record, np.argsort(done.order), data.n)


def share_found(parts, spec=SIMULATED, knows=ALL, **changes):
    *tables, alignment = parts
    found = attack(*tables, spec, Intruder("declared", knows), alignment=alignment, targets=np.arange(tables[0].n), **changes)
    assert found.status == "ok", found.reason
    return float(found.outcomes.floats("credit").mean())


def test_rounded_values_are_told_by_hand(table):
    data, schema = table({"x": [1.0, 2, 3, 11, 12, 13, 21, 22, 23, 31]})
    shown = Microdata.from_columns({"x": [0.0, 0, 0, 10, 10, 10, 20, 20, 20, 30]})
    steps = chain({"method": "rounding", "bases": {"x": 10.0}, "kind": "deterministic"})
    links = link_by_simulated_law(data, shown, schema, steps, ("x",))
    # every image is certain: three records share three rows, and the last record has its own
    assert links.guesses(np.arange(10)).tie_sizes().tolist() == [3] * 9 + [1]
    assert links.found_class[[0, 3, 6, 9]].tolist() == [
        links.classes[links.starts[links.search_class[i]]] for i in (0, 3, 6, 9)
    ]


def test_the_log_likelihood_of_a_pair_is_that_of_the_noise(people):
    data, shown, schema, steps, _ = release(people, chain(noise(50.0)))
    law = learn_release(data, shown, schema, steps, ("x",))
    rows = np.arange(data.n)
    spread = 0.5 * data.floats("x").std(ddof=1)
    near = np.abs(shown.floats("x")[None, :] - data.floats("x")[:, None]) < 2 * spread
    records, others = np.nonzero(near)
    every = law.law.compare_all_rows(np.arange(len(law.both.own)))
    found = every[law.both.own_of_record[records], law.both.shown_of_row[others]]
    z = (shown.floats("x")[others] - data.floats("x")[records]) / spread
    expected = -(z**2) / 2 - np.log(spread * np.sqrt(2 * np.pi))
    if law.law.forms == ("value",):
        assert np.sqrt(np.mean((found - expected) ** 2)) < 0.15
    assert np.corrcoef(found[rows], expected[rows])[0, 1] > 0.95


@pytest.mark.parametrize("step", [noise(30.0), noise(30.0, "correlated"), SWAP, JITTER, MDAV], ids=lambda step: step["method"])
def test_it_comes_near_to_the_closed_law(people, step):
    parts = release(people, chain(step))
    assert share_found(parts) >= share_found(parts, MARGINALS) - 0.04


@pytest.mark.slow
@pytest.mark.parametrize(
    "steps", [(SWAP, noise(1.0)), (MDAV, noise(10.0)), (noise(10.0), MDAV), (ROUND, JITTER), (noise(20.0), SWAP, ROUND)]
)
def test_it_beats_the_nearest_row_on_chains(people, steps):
    data, shown, *_ = parts = release(people, chain(*steps))
    own, rows = (np.column_stack([one.floats(name) for name in ALL]) for one in (data, shown))
    apart = (((own[:, None] - rows[None]) / own.std(axis=0)) ** 2).sum(axis=2)
    near = apart <= apart.min(axis=1, keepdims=True) + 1e-9
    assert share_found(parts) >= 0.9 * float((np.diag(near) / near.sum(axis=1)).mean())


@pytest.mark.slow
@pytest.mark.parametrize("small", ["noise", "rounding"])
def test_exchanges_are_followed_through_a_small_step(table, small):
    rng, n, names = np.random.default_rng(8), 400, tuple("abcde")
    common = rng.normal(size=n)
    data, schema = table({name: np.round(100 + 20 * (common + rng.normal(size=n)), 3) for name in names})
    swap = {"method": "rank_swapping", "attributes": names, "window_percent": 20.0}
    last = {
        "noise": {"method": "noise", "kind": "independent", "attributes": names, "sd_percent": 0.02},
        "rounding": {"method": "rounding", "bases": dict.fromkeys(names, 0.02), "kind": "random"},
    }[small]
    assert share_found(release((data, schema), chain(swap, last)), knows=names) > 0.95


@pytest.fixture(scope="module")
def sampled(table):
    """Rounded after a swap, and 9 of 10 records sampled, first or last: the parts of an attack."""
    rng, n, names = np.random.default_rng(8), 300, tuple("abcde")
    people = table({name: rng.normal(size=n).round(3) for name in names})
    swap = {"method": "rank_swapping", "attributes": names, "window_percent": 20.0}
    rounding = {"method": "rounding", "bases": dict.fromkeys(names, 0.01), "kind": "deterministic"}
    sample = {"method": "sampling", "share": 0.9}
    chains = {"first": chain(sample, swap, rounding), "last": chain(swap, rounding, sample)}
    return {place: release(people, steps) for place, steps in chains.items()}


@pytest.mark.slow
@pytest.mark.parametrize("participation_known", [True, False])
@pytest.mark.parametrize("place", ["first", "last"])
def test_exchanges_are_followed_where_some_records_are_left_out(sampled, place, participation_known):
    *tables, alignment = sampled[place]
    who = Intruder("declared", tuple("abcde"), participation_known=participation_known)
    found = attack(*tables, SIMULATED, who, alignment=alignment, targets=np.arange(300))
    assert found.status == "ok"
    assert found.outcomes.floats("credit").mean() > 0.8  # of 0.9 who are released


def test_a_known_sample_is_a_whole_source_to_the_consistency_attack(sampled):
    spec, who = Consistency(method="consistency"), Intruder("declared", tuple("abcde"))
    *tables, alignment = sampled["first"]
    found = attack(*tables, spec, who, alignment=alignment, targets=np.arange(300))
    assert found.status == "ok"
    assert found.outcomes.floats("credit").mean() > 0.85
    *tables, alignment = sampled["last"]
    assert attack(*tables, spec, who, alignment=alignment, targets=np.arange(300)).status == "not_followed"


def test_exchanges_leave_a_lower_bound_to_somebody_who_holds_a_share(sampled):
    *tables, alignment = sampled["first"]
    held, who = np.arange(200), Intruder("declared", tuple("abcde"))
    found = attack(*tables, SIMULATED, who, alignment=alignment, targets=np.arange(100), held=held)
    assert found.status == "not_followed"
    assert "exchanges tell more" in found.reason


@pytest.mark.slow
def test_exchanges_of_many_records_are_judged_by_some_and_followed_among_fewer_pairs_from_round_to_round(table, monkeypatch):
    rng, n, names = np.random.default_rng(8), 400, tuple("abcde")
    towns = rng.choice(list("uvw"), n)
    data, schema = table({**{name: rng.normal(size=n).round(3) for name in names}, "t": towns}, scales={"t": Scale.NOMINAL})
    swap = {"method": "rank_swapping", "attributes": names, "window_percent": 20.0}
    in_strata = {"method": "microaggregation", "attributes": names, "k": 2, "partition": "individual_ranking", "by": ("t",)}
    parts, found = release((data, schema), chain(swap, in_strata)), {}
    for setting in ({}, {"MOST_JUDGED": 300, "PILOT": 200}, {"MANY_PAIRS": 1_000}):
        for name, value in setting.items():
            monkeypatch.setattr(likely_pairs if name == "MANY_PAIRS" else simulated_law, name, value)
        found[str(setting)] = share_found(parts, knows=names)
        monkeypatch.undo()
    assert min(found.values()) > 0.9 * max(found.values()) > 0.5


@pytest.mark.slow
def test_exchanges_of_too_many_records_leave_a_lower_bound_where_they_would_tell_more(table, monkeypatch):
    monkeypatch.setattr(simulated_law, "MOST_EXCHANGED", 300)
    monkeypatch.setattr(simulated_law, "MOST_JUDGED", 300)
    monkeypatch.setattr(simulated_law, "PILOT", 200)
    rng, n, names = np.random.default_rng(8), 400, tuple("abcde")
    data, schema = table({name: rng.normal(size=n).round(3) for name in names})
    swap = {"method": "rank_swapping", "attributes": names, "window_percent": 20.0}
    statuses = []
    for last in ({"partition": "individual_ranking", "k": 2}, {"partition": "mdav", "k": 20}):
        steps = chain(swap, {"method": "microaggregation", "attributes": names, **last})
        *tables, alignment = release((data, schema), steps)
        found = attack(*tables, SIMULATED, Intruder("declared", names), alignment=alignment, targets=np.arange(n))
        assert found.outcomes is not None
        statuses.append(found.status)
    assert statuses == ["not_followed", "ok"]


def test_both_sides_of_an_exchange_are_found_by_hand():
    # values 1, 2, 3, 4 of records 0..3; 1 and 4 were exchanged: row 0 shows 4, row 3 shows 1
    own, shown, ones = np.array([[1.0, 2, 3, 4]]), np.array([[4.0, 2, 3, 1]]), np.ones(4, np.int64)
    partners = find_partners(own, shown, ones, ones)
    assert partners.records.tolist() == [[0, 1, 2, 3]]
    assert partners.rows.tolist() == [[3, 1, 2, 0]]
    assert partners.of_row[0].tolist() == [[2, 4], [0, 3], [1, 4], [0, 2]]  # a place on either side
    # record 0 may be row 0, with evidence 1; record 3, which has row 0's value, may be row 3 (evidence 2) and nothing else
    starts, rows, evidence = np.array([0, 1, 1, 1, 2]), np.array([0, 3]), np.array([1.0, 2.0])
    assert weigh_exchanges(starts, rows, evidence, partners).tolist() == [2.0, 1.0]


def test_neither_order_of_rows_nor_of_columns_matters(people):
    data, shown, schema, steps, _ = release(people, chain(MDAV, noise(20.0)))
    straight = link_by_simulated_law(data, shown, schema, steps, ALL)
    rng = np.random.default_rng(3)
    records, rows = rng.permutation(data.n), rng.permutation(shown.n)
    other = link_by_simulated_law(data.take(records), shown.take(rows), schema, steps, ALL)
    one, two = straight.guesses(records), other.guesses(np.arange(data.n))
    for i in range(data.n):
        of_one = one.classes[one.starts[i] : one.starts[i + 1]]
        of_two = two.classes[two.starts[i] : two.starts[i + 1]]
        assert of_one.tolist() == of_two.tolist()


def test_categories_gaps_and_a_sample_are_followed(table):
    rng, n = np.random.default_rng(4), 300
    x = [None if gap else float(value) for gap, value in zip(rng.random(n) < 0.1, rng.integers(0, 5000, n), strict=True)]
    data, schema = table({"x": x, "town": rng.choice(list("abcdef"), n)}, scales={"town": Scale.NOMINAL})
    steps = chain(
        {"method": "sampling", "share": 0.7},
        {"method": "pram", "attributes": ("town",), "retention": 0.8},
        {"method": "noise", "kind": "independent", "attributes": ("x",), "sd_percent": 1.0},
        {"method": "rounding", "bases": {"x": 10.0}, "kind": "random"},
    )
    parts = release((data, schema), steps)
    assert share_found(parts, knows=("x", "town")) > 0.2


def test_nobody_is_found_among_strangers(people):
    data, shown, schema, steps, alignment = release(people, chain(noise(30.0), ROUND))
    rng = np.random.default_rng(5)
    dealt = shown.take(rng.permutation(shown.n))
    assert share_found((data, dealt, schema, steps, alignment)) < 6 / data.n + 0.02


def test_it_runs_by_default_on_chains_alone():
    once, twice, unknown = chain(noise(30.0)), chain(SWAP, noise(1.0)), (*chain(SWAP), Undeclared(attributes=ALL))
    assert (may_lack_a_closed_law(once), may_lack_a_closed_law(twice), may_lack_a_closed_law(unknown)) == (False, True, False)
    assert SIMULATED in default_attacks(twice)
    assert SIMULATED not in default_attacks(once)


def test_it_answers_for_a_closed_law_that_cannot_be_followed():
    steps = chain(SWAP, noise(1.0))
    shared = {"infers": "", "knows_data": "", "knows_mechanism": "", "direction": "to_release", "scale_by": None}
    shared |= {"n_release": 9, "chance": 0.1, "counts": "records", "full_form": True}

    def result(method, status, intruder="declared"):
        return AttackResult(attack=method, method=method, intruder=intruder, status=status, **shared)

    lost, found = result("transparency", "not_followed"), result("simulated_law", "ok")
    assert list_unfollowed_attacks((lost,), steps) == (lost,)
    assert list_unfollowed_attacks((lost, found), steps) == ()
    assert list_unfollowed_attacks((lost, result("simulated_law", "ok", "insider:z")), steps) == (lost,)
    assert list_unfollowed_attacks((lost, result("simulated_law", "not_followed")), steps) == (lost,)


def test_a_table_masked_elsewhere_is_not_followed(people):
    data, shown, schema, _, alignment = release(people, chain(noise(30.0)))
    parts = (data, shown, schema, (Undeclared(attributes=ALL),), SIMULATED, Intruder("declared", ALL))
    assert attack(*parts, alignment=alignment, targets=np.arange(5)).status == "not_followed"
