"""The chance of one-to-one assignments with records that are absent: what a random one earns, counted and drawn."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest

from tasks.attack.base import AttackContext
from tasks.attack.linkage import distance_linkage
from tasks.attack.linkage.distance_linkage import DistanceLinkage, compute_permutation_chance
from tasks.attack.linkage.external_files import FileUse
from tasks.attack.linkage.specs import Mahalanobis
from tasks.attack.methods import attack, find_links, resolve_ground_truth
from tasks.attack.profiles.profile_linkage import ProfileLinkage
from tasks.attack.threat import Intruder
from tasks.microdata.alignment import Alignment
from tasks.microdata.ground_truth import GroundTruth, RecordPairs
from tasks.microdata.schema import Role
from tasks.microdata.table import Microdata
from tasks.microdata.units import Units
from tasks.score.linkage import linkage_estimates
from tasks.score.subgroups import Subgroup

TOGETHER = DistanceLinkage(method="distance_linkage", matching="one_to_one")
BACK = TOGETHER.model_copy(update={"direction": "to_original"})
PROFILE = ProfileLinkage(method="profile_linkage", match="names_unknown", matching="one_to_one")


def scene(n, record, of_row=None):
    original = Microdata(pa.table({"x": np.arange(n)}))
    aligned = Alignment(np.array(record), np.arange(len(record)), n)
    units = Units(np.arange(n), n, "records")
    if of_row is not None:
        units = Units(np.array(of_row), max(of_row) + 1, "persons")
    return GroundTruth(original, original.take(aligned.record), aligned, units)


def test_worked_chance():
    # of 5 records 3 are released, and 3 are given one of the 3 rows: who is there has one in 3/5, the right one in 1/3 of these
    three = scene(5, [0, 2, 3])
    assert three.chance(searched=False, n_given=3) == pytest.approx(3 / 5 * (3 / 5) / 3)
    assert three.chance(np.isin(np.arange(5), [0, 2, 3]), searched=False, n_given=3) == pytest.approx(1 / 5)
    assert three.chance(np.isin(np.arange(5), [1, 4]), searched=False, n_given=3) == 0
    assert three.chance(searched=False) == pytest.approx(1 / 5)  # a guess for everybody: 3/5 of 1/3
    assert three.chance(searched=True) == pytest.approx(3 / 5 / 5)  # every row is given a record


@pytest.mark.parametrize(("n", "m"), [(4, 2), (5, 3), (5, 5), (3, 1)])
def test_chance_is_the_mean_over_all_assignments(n, m):
    record = list(range(m))
    # the first m places of a permutation are rows, the others are none: record i stands at given[i]
    hits = [sum(given[i] == i for i in range(m)) / n for given in permutations(range(n))]
    assert scene(n, record).chance(searched=False, n_given=m) == pytest.approx(np.mean(hits))


def test_chance_of_persons_by_simulation():
    of_row = [0, 0, 0, 1, 1, 2, 3]
    record = [0, 1, 3, 5]  # one of the rows of each of the persons 0 and 1 is not released, nor is person 3
    found, rng = scene(7, record, of_row), np.random.default_rng(0)
    draws, units = 4000, np.array(of_row)
    credits = np.zeros((draws, 4))
    for draw in range(draws):
        row_of = np.full(7, -1)
        row_of[rng.permutation(7)[:4]] = rng.permutation(4)
        whose = units[record][rng.permutation(4)]
        given = row_of >= 0
        right = np.bincount(units[given], weights=whose[row_of[given]] == units[given], minlength=4)
        credits[draw] = right / np.maximum(np.bincount(units[given], minlength=4), 1)
    for of, seen in ((None, credits.mean(axis=1)), (np.arange(4) == 0, credits[:, 0])):
        assert found.chance(of, searched=False, n_given=4) == pytest.approx(seen.mean(), abs=4.5 * seen.std() / draws**0.5)
        assert seen.std() / draws**0.5 < 0.05 * seen.mean()


@pytest.fixture(scope="module")
def people(table):
    rng = np.random.default_rng(3)
    columns = {"x": rng.permutation(60), "y": rng.permutation(60), "vote": rng.integers(0, 9, 60)}
    return table(columns, roles={"vote": Role.CONFIDENTIAL})


@pytest.mark.parametrize(("spec", "given"), [pytest.param(TOGETHER, 40, marks=pytest.mark.slow), (BACK, None), (PROFILE, 40)])
def test_links_that_do_not_look_earn_the_stated_chance(people, spec, given):
    data, schema = people
    rng = np.random.default_rng(5)
    intruder, there = Intruder("declared", ("x", "y")), Subgroup("x", "some", np.arange(60) < 30)
    record = np.sort(rng.permutation(60)[:40])
    aligned = Alignment(record, np.arange(40), 60)
    masked = data.take(np.arange(40))
    scene = GroundTruth.create_from_tables(data, masked, schema, aligned)
    found = attack(data, masked, schema, (), spec, intruder, alignment=aligned, targets=np.arange(60))
    assert (found.n_given, found.chance) == (given, pytest.approx(40 / 60**2))
    chances = {one.measure: one.chance for one in linkage_estimates(found, scene, schema, (there,))}
    assert chances["reidentification_present"] == pytest.approx(1 / 60)
    assert chances["subgroup_reidentification"] == pytest.approx((record < 30).sum() / 30 / 60)

    links = find_links(spec, AttackContext(scene, schema, (), intruder, intruder.knows, np.arange(60))).links
    rates = []
    for _ in range(4000):  # who is there, and whose the rows are, at random
        record, row = rng.permutation(60)[:40], rng.permutation(40)
        searching, truth = (row, record) if spec is BACK else (record, row)
        rates.append(links.guesses(searching).credit(truth).sum() / 60)
    assert np.mean(rates) == pytest.approx(found.chance, abs=4.5 * np.std(rates) / 4000**0.5)
    assert np.std(rates) / 4000**0.5 < 0.03 * found.chance


def test_a_small_file_gives_everybody_a_row(people):
    data, schema = people
    file = Microdata.from_columns({"id": np.arange(60, 20, -1) - 1, "x": np.arange(40), "y": np.arange(40) % 7})
    intruder = Intruder("file:f", ("x", "y"), file=FileUse("intruder.files[0]", ("id", "id"), (("x", "x"), ("y", "y"))))
    keyed = Microdata(data.arrow.append_column("id", pa.array(np.arange(60))))
    aligned = Alignment(np.arange(50), np.arange(50), 60)
    shown = data.take(aligned.record)
    source = GroundTruth.create_from_tables(keyed, shown, schema, aligned)
    n = resolve_ground_truth(source, schema, intruder, file).units.n_units
    for spec, given in ((TOGETHER, None), (BACK, 40)):
        found = attack(keyed, shown, schema, (), spec, intruder, alignment=aligned, targets=np.arange(n), file=file)
        assert (n, found.n_given) == (40, given)
        assert found.chance == pytest.approx(30 / 40 / 50)  # 30 of the 40 are among the 50 rows


@pytest.mark.slow
@pytest.mark.parametrize(
    ("direction", "matching"), [("to_original", "nearest"), ("to_original", "one_to_one"), ("to_release", "one_to_one")]
)
def test_the_chance_of_a_fitted_attack_with_absent_records(monkeypatch, table, direction, matching):
    # the absent are far from all rows, so that nobody is linked to them: the present alone, permuted, earn more
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 60))
    x[30:] += 1000
    data, schema = table({"x": x, "y": y})
    aligned = Alignment(np.arange(30), np.arange(30), 60)
    masked = Microdata.from_columns({"x": x[:30] + rng.normal(size=30), "y": y[:30] + rng.normal(size=30)})
    spec = DistanceLinkage(
        method="distance_linkage",
        distance=Mahalanobis(kind="mahalanobis", covariance="differences"),
        direction=direction,
        matching=matching,
    )
    monkeypatch.setattr(distance_linkage, "PERMUTATIONS", 300)
    pairs = RecordPairs(aligned.record, np.arange(30))
    found = compute_permutation_chance(data, masked, schema, spec, ("x", "y"), pairs)
    assert found == pytest.approx(30 / 60**2, rel=0.35)  # with the present alone it is twice that
