"""What speaks for a row, estimated over samples: against the sums over all pairs, by its own law, and in what attacks find."""

from __future__ import annotations

import numpy as np
import pytest
from all_pairs import CHAINS, compare_with_pairs, pairs, prepare
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import ttest_1samp

from tasks.attack.methods import attack
from tasks.attack.threat import Intruder
from tasks.attack.transparency import belief_conditions, estimated_evidence, sampled_tree
from tasks.attack.transparency.belief_conditions import arrange_knowledge
from tasks.attack.transparency.image_posterior import posterior
from tasks.attack.transparency.intersection import arrange_conditions
from tasks.attack.transparency.transparency import Transparency, follow_steps, link_by_mechanism
from tasks.mask.categories.pram import Pram
from tasks.mask.methods import mask
from tasks.mask.noise.noise import Noise
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.alignment import Alignment
from tasks.microdata.randomness import stream
from tasks.microdata.schema import Scale

LEVEL = 1e-4


@pytest.fixture
def estimating(monkeypatch):
    """Small tables are treated as large ones. Called with errors, it sets those."""

    def set_errors(*errors):
        monkeypatch.setattr(estimated_evidence, "ERRORS", errors)

    monkeypatch.setattr(estimated_evidence, "MOST_SUMMED_EXACTLY", 0)
    return set_errors


def make_files(table, n, seed, steps, *, tail=False):
    rng = np.random.default_rng(seed)
    values = rng.multivariate_normal(np.zeros(3), 0.5 + 0.5 * np.eye(3), n)
    values = np.sinh(2 * values) if tail else values
    columns = dict(zip("xyz", values.T, strict=True)) | {"u": ["abcdefgh"[i] for i in rng.integers(0, 8, n)]}
    original, schema = table(columns, scales={"u": Scale.NOMINAL})
    done = mask(original, schema, steps, seed=seed.to_bytes(32, "big"), path=())
    return original, done.data, schema, done.mechanisms, schema.names


def noise(percent):
    return Noise(method="noise", attributes=("x", "y", "z"), kind="independent", sd_percent=percent)


PRAM = Pram(method="pram", attributes=("u",), retention=0.8)
SWAPS = RankSwapping(method="rank_swapping", attributes=("x", "y", "z"), window_percent=20.0)


def arrange_files(files):
    """The arranged conditions, how many records of each kind there are, and of all pairs log P, and log q of each row."""
    original, masked, schema, mechanisms, knows = files
    belief = follow_steps(original, masked, schema, mechanisms, knows)
    _, conditions = arrange_knowledge(original, masked, schema, knows, belief)
    arranged, rows = arrange_conditions(conditions)
    _, chance = pairs(conditions)
    records = conditions.likelihoods.records
    return arranged, records, chance[:, rows], logsumexp(chance, axis=0, b=records[:, np.newaxis])[rows]


def test_a_table_of_30000_records_is_summed_exactly(table):
    arranged, *_ = arrange_files(make_files(table, 40, 1, (noise(20.0),)))
    assert not estimated_evidence.is_estimated(arranged, np.array([29_999.0, 1.0]))
    assert estimated_evidence.is_estimated(arranged, np.array([30_000.0, 1.0]))
    for steps, is_estimated in (((PRAM,), False), ((SWAPS,), False), ((SWAPS, PRAM), True)):
        without_noise, *_ = arrange_files(make_files(table, 40, 1, steps))
        assert estimated_evidence.is_estimated(without_noise, np.array([30_000.0, 1.0])) == is_estimated


@pytest.mark.parametrize("chain", CHAINS)
def test_without_an_error_it_is_the_sum_over_all_pairs(table, estimating, chain):
    estimating(1e-9, 1e-9, 1e-9)
    assert compare_with_pairs(table, chain, 150, 3)
    compare_with_pairs(table, chain, 120, 5, gaps=True)
    compare_with_pairs(table, chain, 120, 5, whole=True)


def test_records_that_can_be_in_several_groups_are_summed_with_these(table, estimating, monkeypatch):
    estimating(1e-9, 1e-9, 1e-9)
    monkeypatch.setattr(belief_conditions, "MOST_SEARCHED_WHOLE", 0)
    _, _, conditions = prepare(table, "groups and noise", 400, 3, whole=True, knows="xyz")
    arranged, _ = arrange_conditions(conditions)
    law = estimated_evidence._arrange_law(arranged, conditions.likelihoods.records)
    assert not law.is_single
    assert 1 < law.component.max() + 1 < conditions.shown[0].max() + 1  # some codes hang together, and not all
    for seed in range(3, 8):
        assert compare_with_pairs(table, "groups and noise", 400, seed, whole=True, knows="xyz")


@pytest.mark.slow
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(sorted(CHAINS)),
    st.sampled_from([1, 2, 5, 30, 70, 200, 400]),
    st.integers(0, 2**31),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, ("x",), ("x", "u"), ("x", "y", "z", "u", "v")]),
)
def test_the_sums_of_all_pairs(table, estimating, chain, n, seed, gaps, whole, knows):
    estimating(1e-9, 1e-9, 1e-9)
    compare_with_pairs(table, chain, n, seed, gaps=gaps, whole=whole, knows=knows)


def test_a_record_far_from_all_others_is_not_left_to_chance(table, estimating):
    # 400 records near 0 and one at 1e6: its row shows nobody else, so that q = P, whatever was drawn
    estimating(0.5, 0.5, 0.5)
    x = np.append(np.random.default_rng(4).normal(size=400), 1e6)
    original, schema = table({"x": x})
    steps = (Noise(method="noise", attributes=("x",), kind="independent", sd_percent=0.01),)
    done = mask(original, schema, steps, seed=bytes(32), path=())
    links, _ = link_by_mechanism(original, done.data, schema, done.mechanisms, ("x",))
    assert links.guesses(np.array([400])).credit(np.array([400])) == 1
    assert posterior(links).compute_probabilities(np.array([400]), np.array([400])) == 1


def draw_estimates(monkeypatch, arranged, records, error, draws):
    """Shape (draws, c): log q of the rows by independent samples."""
    everybody = np.arange(len(arranged.shown_at))
    found = np.empty((draws, len(everybody)))
    for k in range(draws):
        monkeypatch.setattr(sampled_tree, "stream", lambda seed, *path, k=k: stream(seed, *path, str(k)))
        law = estimated_evidence._arrange_law(arranged, records)
        found[k] = -1e300  # no bound, so that nothing is cut
        estimated_evidence.estimate_evidence(law, everybody, error, found[k])
    return found


@pytest.mark.parametrize("steps", [(noise(60.0),), (PRAM, noise(60.0)), (SWAPS, PRAM)])
@pytest.mark.parametrize("error", [0.5, 0.2])
def test_the_law_of_the_estimates(table, monkeypatch, steps, error):
    arranged, records, _, exact = arrange_files(make_files(table, 3000, 7, steps))
    ratio = np.exp(draw_estimates(monkeypatch, arranged, records, error, 60) - exact)
    spread = np.sqrt(((ratio - 1) ** 2).mean(axis=0))
    assert np.sqrt((spread**2).mean()) <= error
    assert spread.max() > error / 1000  # something is drawn at all
    # Unbiased: the means over rows of independent draws; and the test notices a sum that is 1 % too large.
    means = ratio.mean(axis=1)
    assert ttest_1samp(means, 1).pvalue > LEVEL
    assert ttest_1samp(1.01 * means, 1).pvalue < LEVEL


def test_lower_bounds_are_below_the_sums(table):
    for steps in ((noise(30.0),), (PRAM, noise(30.0)), (SWAPS, PRAM)):
        arranged, records, _, exact = arrange_files(make_files(table, 800, 3, steps))
        found = np.zeros(len(exact))
        estimated_evidence.bound_evidence(estimated_evidence._arrange_law(arranged, records), np.arange(len(exact)), found)
        assert (found <= exact + 1e-9).all()
        assert (found > -np.inf).all()


def measure_loss(files, targets):
    """By the exact law, how probable the rows are that an intruder chooses with estimated and with exact sums, on average."""
    chosen, _ = link_by_mechanism(*files, searching=targets)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimated_evidence, "MOST_SUMMED_EXACTLY", 10**9)
        exact, _ = link_by_mechanism(*files, searching=targets)
    held, found = posterior(exact, targets), chosen.guesses(targets)
    row_of_class = np.unique(chosen.found_class, return_index=True)[1]
    rows = row_of_class[chosen.classes[chosen.starts[chosen.search_class[targets]]]]
    assert (np.diff(found.starts) == 1).all()
    return held.compute_probabilities(targets, rows).mean(), held.compute_guess_probabilities(targets).mean()


@pytest.mark.parametrize("steps", [*((PRAM, noise(percent)) for percent in (10.0, 30.0, 100.0)), (SWAPS, PRAM)])
@pytest.mark.parametrize("tail", [False, True])
def test_the_attack_loses_no_strength(table, estimating, steps, tail):
    files = make_files(table, 3000, 11, steps, tail=tail)
    chosen, best = measure_loss(files, np.arange(0, 3000, 5))
    assert chosen <= best * (1 + 1e-9)
    assert chosen >= 0.97 * best


@pytest.mark.parametrize("steps", [(noise(100.0),), (SWAPS, PRAM)])
def test_the_chosen_row_is_known_best(table, estimating, steps):
    arranged, records, chance, _ = arrange_files(make_files(table, 3000, 13, steps))
    searching = np.zeros(len(records), dtype=bool)
    searching[::10] = True
    evidence, levels, _ = estimated_evidence.estimate_rows(arranged, records, searching)
    assert set(levels) == {0, 1, 2, 3}  # else nothing was passed over
    scores = chance[searching] - evidence
    known_best, others = scores[:, levels == 3].max(axis=1), scores[:, levels < 3].max(axis=1)
    assert (known_best >= others + 0.099).all()


@pytest.mark.parametrize("steps", [(noise(100.0),), (SWAPS, PRAM)])
def test_coarse_estimates_cost_little(table, estimating, steps):
    # Four times the usual errors: rows that only seemed the best fall when they are estimated again
    estimating(2.0, 0.8, 0.4)
    chosen, best = measure_loss(make_files(table, 3000, 17, steps), np.arange(0, 3000, 5))
    assert chosen >= 0.9 * best


def test_nobody_and_no_image(table, estimating):
    arranged, records, *_ = arrange_files(make_files(table, 300, 19, (SWAPS, PRAM)))
    low, high, positions = arranged.low.copy(), arranged.high.copy(), arranged.positions.copy()
    low[5], high[5], positions[11] = 2000.0, 2000.0, 1000.0  # no row is there, and no record shows that
    arranged = arranged._replace(low=low, high=high, positions=positions)
    evidence, levels, places = estimated_evidence.estimate_rows(arranged, records, np.arange(len(records)) < 40)
    assert evidence[11] == -np.inf
    assert levels[11] == 0
    assert np.isfinite(np.delete(evidence, 11)).all()
    assert np.isinf(places.price).sum() == 1


@pytest.mark.parametrize("share", [1, 10])
@pytest.mark.parametrize("steps", [(PRAM, noise(40.0)), (SWAPS, PRAM)])
def test_claims_come_true(table, estimating, steps, share):
    # mean of the largest probability = hit rate, and mean probability of the true row = mean sum of squares
    apart, some = [], np.arange(0, 1500, share)
    for seed in range(20):
        files = make_files(table, 1500, seed, steps)
        links, _ = link_by_mechanism(*files, searching=some)
        held, kinds = posterior(links, some), links.search_class[some]
        hit = links.guesses(some).credit(some).mean()
        at_truth = held.compute_probabilities(some, some).mean()
        apart.append((hit / held.largest[kinds].mean() - 1, at_truth / held.squares[kinds].mean() - 1))
    for found in np.array(apart).T:
        assert ttest_1samp(found, 0.05, alternative="greater").pvalue > LEVEL
        assert ttest_1samp(found, -0.05, alternative="less").pvalue > LEVEL
        assert abs(found.mean()) < 0.1


def test_the_same_tables_give_the_same_figures(table, estimating):
    files, some = make_files(table, 500, 2, (noise(50.0),)), np.array([3, 14, 15, 92])
    one, two = (link_by_mechanism(*files, searching=some)[0] for _ in range(2))
    np.testing.assert_array_equal(one.image_scores.evidence, two.image_scores.evidence)
    np.testing.assert_array_equal(one.classes, two.classes)


def test_what_is_said_of_estimates_follows_how_well_rows_are_known():
    said = [estimated_evidence.describe_estimates(np.array(levels)) for levels in ([9, 9], [1, 1, 9], [0, 1, 3])]
    assert said[0] == ""
    assert "at most 50 %" in said[1]
    assert "linked to" not in said[1]
    assert "at most 10 % for the rows that records are linked to" in said[2]


def test_the_result_says_that_sums_were_estimated(table, estimating):
    original, masked, schema, mechanisms, knows = make_files(table, 200, 5, (noise(30.0),))
    spec = Transparency(method="transparency", probabilities=True)
    parts = (original, masked, schema, mechanisms, spec, Intruder("declared", knows))
    alignment = Alignment(np.arange(200), np.arange(200), 200)
    found = attack(*parts, alignment=alignment, targets=np.arange(20))
    assert "estimated over samples" in found.knows_mechanism
    assert found.outcomes.n == 20
