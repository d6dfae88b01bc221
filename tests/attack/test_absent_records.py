"""Records that are not in the release: no credit for them, no alarm where nothing can be theirs, nothing called sound."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.methods import attack
from tasks.attack.threat import Intruder
from tasks.attack.transparency.transparency import Transparency
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.alignment import Alignment
from tasks.microdata.schema import Role, Scale

SEED = bytes(range(32))
PLAIN = DistanceLinkage(method="distance_linkage")
BACK = DistanceLinkage(method="distance_linkage", direction="to_original")
TRANSPARENT = Transparency(method="transparency")
MICRO = Microaggregation(method="microaggregation", attributes=("x", "y"), k=3)
SWAP = RankSwapping(method="rank_swapping", attributes=("x", "y"), window_percent=10.0)


def without(done, absent, rng=None):
    """The masked table without some records, and the alignment of the rest."""
    record = np.setdiff1d(np.arange(done.data.n), absent)
    place = np.arange(len(record)) if rng is None else rng.permutation(len(record))
    return done.data.take(record), Alignment(record, place, done.data.n)


@pytest.fixture(scope="module")
def people(table):
    rng = np.random.default_rng(3)
    n = 80
    columns = {"x": rng.permutation(n), "y": rng.permutation(n), "vote": rng.choice(["a", "b", "c"], n)}
    return table(columns, scales={"vote": Scale.NOMINAL}, roles={"vote": Role.CONFIDENTIAL})


def run(data, masked, schema, steps, spec, alignment, *, participation_known=True):
    intruder = Intruder("declared", ("x", "y"), participation_known)
    targets = np.arange(data.n)
    return attack(data, masked, schema, steps, spec, intruder, alignment=alignment, targets=targets)


def test_worked_outcomes(table):
    # records 1 and 4 are absent: 1 lies between two rows, 4 nearest to one
    data, schema = table({"x": [0, 5, 10, 20, 31], "vote": [1, 2, 2, 3, 3]}, roles={"vote": Role.CONFIDENTIAL})
    alignment = Alignment(np.array([0, 2, 3]), np.array([2, 0, 1]), 5)
    intruder = Intruder("declared", ("x",))
    masked = data.take(alignment.record)
    found = attack(data, masked, schema, (), PLAIN, intruder, alignment=alignment, targets=np.array([4, 0, 1, 2, 3]))
    assert (found.n_release, found.chance, found.counts) == (3, 1 / 5, "records")
    outcomes = found.outcomes.arrow.to_pydict()
    assert outcomes.pop("margin") == pytest.approx([320 / 562, 1, 0, 1, 1])
    assert outcomes.pop("named_right") == [False, True, False, True, True]
    assert outcomes.pop("control:vote") == pytest.approx([1, 1 / 3, 0.5, 1 / 3, 1 / 3])
    assert outcomes == {
        "target": [4, 0, 1, 2, 3],
        "in_release": [False, True, False, True, True],
        "credit": [0, 1, 0, 1, 1],
        "among_nearest": [False, True, False, True, True],
        "candidates": [1, 1, 2, 1, 1],
        "sound_candidates": [None] * 5,
        "known": [None] * 5,
        "linked:vote": [1, 1, 0.5, 1, 1],
    }


@pytest.mark.parametrize("spec", [PLAIN, BACK])
def test_whoever_is_there_is_found_by_a_unique_key(people, spec):
    data, schema = people
    alignment = Alignment(np.arange(0, 80, 2), np.arange(40), 80)
    found = run(data, data.take(alignment.record), schema, (), spec, alignment).outcomes
    assert found.floats("credit").tolist() == found.floats("in_release").tolist() == [1, 0] * 40


@pytest.mark.slow
@pytest.mark.parametrize(("spec", "chance"), [(PLAIN, 1 / 80), (BACK, 60 / 80 / 80)])
def test_chance_over_all_targets(people, spec, chance):
    data, schema = people
    done = mask(data, schema, (MICRO,), seed=SEED, path=())
    masked, _ = without(done, np.arange(20))
    rng = np.random.default_rng(8)
    credits = []
    for _ in range(600):
        record = np.sort(rng.permutation(80)[:60])  # who is there, and whose the rows are, at random
        aligned = Alignment(record, np.arange(60), 80)
        found = run(data, masked.take(rng.permutation(60)), schema, done.mechanisms, spec, aligned)
        assert found.chance == chance
        credits.append(found.outcomes.floats("credit").mean())
    assert np.mean(credits) == pytest.approx(chance, abs=4.5 * np.std(credits) / np.sqrt(600))
    assert np.std(credits) / np.sqrt(600) < 0.05 * chance


def test_suppressed_records_are_no_error_of_the_mechanism(people):
    data, schema = people
    done = mask(data, schema, (MICRO,), seed=SEED, path=())
    masked, alignment = without(done, np.arange(5, 80, 4), np.random.default_rng(1))
    found = run(data, masked, schema, done.mechanisms, TRANSPARENT, alignment)
    assert found.status == "ok"
    assert found.outcomes.missing("sound_candidates").all()
    assert "heuristic, not sound: records of the source are absent" in found.knows_mechanism
    assert "of those that are in the release" in found.knows_data
    there = found.outcomes.floats("in_release") == 1
    assert (found.outcomes.floats("credit")[~there] == 0).all()
    assert found.outcomes.floats("credit")[there].mean() > 0.2


@pytest.mark.parametrize("when", ["records left out after the swap", "before it"])
def test_a_swap_is_followed_whenever_records_were_left_out(people, when):
    # the window is of 8 ranks among 80 records or of 6 among 61: the ranks of those left and of all are both allowed for
    data, schema = people
    gone, rng = np.arange(5, 80, 4), np.random.default_rng(1)
    if when == "before it":
        left = np.setdiff1d(np.arange(80), gone)
        done = mask(data.take(left), schema, (SWAP,), seed=SEED, path=())
        masked, alignment = done.data, Alignment(left, rng.permutation(len(left)), 80)
    else:
        done = mask(data, schema, (SWAP,), seed=SEED, path=())
        masked, alignment = without(done, gone, rng)
    assert run(data, masked, schema, done.mechanisms, TRANSPARENT, alignment).status == "ok"
    narrow = (SWAP.model_copy(update={"window_percent": 2.0}),)
    found = run(data, masked, schema, narrow, TRANSPARENT, alignment)
    assert (found.status, found.outcomes) == ("failed", None)
    assert "not those that were applied" in found.reason


def test_whole_groups_that_are_suppressed_leave_no_guess(people):
    data, schema = people
    done = mask(data, schema, (MICRO,), seed=SEED, path=())
    shown = done.data.floats("x")
    absent = np.flatnonzero(np.isin(shown, shown[:3]))
    masked, alignment = without(done, absent)
    found = run(data, masked, schema, done.mechanisms, TRANSPARENT, alignment).outcomes
    assert (found.floats("candidates") == 0).tolist() == np.isin(np.arange(80), absent).tolist()
    assert found.floats("credit")[absent].tolist() == [0] * len(absent)
    present = np.setdiff1d(np.arange(80), absent)
    assert found.floats("among_nearest")[present].all()


def test_a_sample_that_was_masked_alone_is_not_a_rate_of_zero(people):
    # the partition of 40 records is not that of 80: more records without an image than are absent
    data, schema = people
    record = np.arange(0, 80, 2)
    done = mask(data.take(record), schema, (MICRO,), seed=SEED, path=())
    found = run(data, done.data, schema, done.mechanisms, TRANSPARENT, Alignment(record, np.arange(40), 80))
    assert (found.status, found.outcomes) == ("failed", None)


def test_complete_and_unknown_participation_are_said(people):
    data, schema = people
    done = mask(data, schema, (MICRO,), seed=SEED, path=())
    complete = Alignment.complete_in(np.arange(80))
    known, unsure = (
        run(data, done.data, schema, done.mechanisms, TRANSPARENT, complete, participation_known=known)
        for known in (True, False)
    )
    assert "never left out" in known.knows_mechanism
    assert "not sound, because the record may not be" in unsure.knows_mechanism
    assert unsure.outcomes.missing("known").all()


def test_an_alignment_of_other_tables_is_refused(people):
    data, schema = people
    with pytest.raises(ValueError, match="80 and 80 rows, their alignment 80 records and 40"):
        run(data, data, schema, (), PLAIN, Alignment(np.arange(40), np.arange(40), 80))
