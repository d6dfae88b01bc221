"""Attacks on a table: closest record, density ratio, and the scores of linkage, against a control."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from membership_models import halves
from scipy.stats import mannwhitneyu

from tasks.attack.linkage.distance_linkage import DistanceLinkage, link_by_distance
from tasks.attack.membership.closest_record import ClosestRecord, score_by_closest_record
from tasks.attack.membership.density_ratio import LEAST, DensityRatio, kth_distance, score_by_density_ratio
from tasks.attack.membership.linkage_score import LinkageScore, score_by_links
from tasks.attack.membership.methods import DEFAULT_TABLE_ATTACKS, attack_table
from tasks.attack.neighbours.distances import compute_record_distance
from tasks.attack.neighbours.record_comparison import create_comparison
from tasks.attack.outcomes.links import Links
from tasks.microdata.errors import NotApplicable
from tasks.microdata.schema import Scale
from tasks.microdata.table import Microdata
from tasks.score.membership.membership_estimates import choose_threshold, membership_estimates
from tasks.score.membership.roc_curve import compute_auc

CLOSEST, RATIO, LINKS, VALUES, LAW = DEFAULT_TABLE_ATTACKS
BY_PLACE = (CLOSEST, RATIO, LINKS)
PLAIN = DistanceLinkage(method="distance_linkage")


def run(original, released, schema, frame, knows=None, attacks=BY_PLACE):
    knows = knows or schema.release_columns
    links = link_by_distance(original.take(frame.target_rows), released, schema, PLAIN, knows)
    return {spec.method: attack_table(spec, original, released, schema, frame, knows, links) for spec in attacks}


def mixed(n, rng):
    columns = {"x": rng.normal(size=n), "y": rng.normal(size=n), "colour": rng.choice(["a", "b", "c"], n).tolist()}
    return columns, {"colour": Scale.NOMINAL}


def test_closest_record_by_hand(table):
    original, schema = table({"x": [1.0, 5.0, 2.5, 9.0]})
    released = Microdata.from_columns({"x": [1.0, 2.0, 3.0]})  # variance 1
    scored = score_by_closest_record(original, np.array([0, 2, 3]), released, schema, CLOSEST, ("x",))
    assert scored.scores.tolist() == pytest.approx([0, -0.25, -36])
    assert scored.threshold is None


def test_density_ratio_by_hand(table):
    original, schema = table({"x": [1.0, 2.5, 5.0, 9.0]})
    released = Microdata.from_columns({"x": [1.0, 2.0, 3.0]})
    scored = score_by_density_ratio(original, np.array([0, 1]), np.array([2, 3]), released, schema, RATIO, ("x",))
    assert scored.scores == pytest.approx(np.log([(16 + LEAST) / LEAST, (6.25 + LEAST) / (0.25 + LEAST)]))
    second = DensityRatio(method="density_ratio", neighbours=2)
    scored = score_by_density_ratio(original, np.array([0, 1]), np.array([2, 3]), released, schema, second, ("x",))
    assert scored.scores == pytest.approx(np.log([64 / 1, 6.5**2 / 0.25]))


def test_linkage_scores_by_hand(table):
    original, schema = table({"x": [1.0, 2.4]})
    released = Microdata.from_columns({"x": [1.0, 2.0, 3.0]})
    links = link_by_distance(original, released, schema, PLAIN, ("x",))
    distance = score_by_links(links, np.arange(2), LinkageScore(method="linkage_score", score="distance"))
    assert distance.scores == pytest.approx([0, -0.16])
    margin = score_by_links(links, np.arange(2), LINKS)
    assert margin.scores == pytest.approx([1, (0.36 - 0.16) / 0.52])
    twice = link_by_distance(original, released.take(np.array([0, 1, 1, 2])), schema, PLAIN, ("x",))
    assert score_by_links(twice, np.arange(2), LINKS).scores == pytest.approx(
        margin.scores
    )  # equal rows: nobody is named, but present
    alone = link_by_distance(original, released.take(np.array([0, 0])), schema, PLAIN, ("x",))
    assert score_by_links(alone, np.arange(2), LINKS).scores.tolist() == [1, 1]
    with pytest.raises(NotApplicable, match="no probability"):
        score_by_links(links, np.arange(2), LinkageScore(method="linkage_score", score="probability"))


def test_linkage_scores_by_probability():
    class Certain:
        def compute_probabilities(self, records, rows):
            return np.ones(len(records))

        def compute_guess_probabilities(self, records):
            return records / 10.0

    one = np.zeros(4, dtype=np.int64)
    links = Links(one[:1], one, np.array([0, 1]), one[:1], posterior=Certain())
    spec = LinkageScore(method="linkage_score", score="probability")
    assert score_by_links(links, np.array([3, 1]), spec).scores.tolist() == [0.3, 0.1]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_the_kth_distance_is_that_of_all_pairs(k, seed):
    rng = np.random.default_rng(seed)
    searched, queries = rng.integers(0, 4, (9, 3)).astype(float), rng.integers(0, 4, (5, 3)).astype(float)
    searched[rng.random(searched.shape) < 0.2] = np.nan
    counts = rng.integers(0, 3, 9)
    counts[0] += k
    nominal, weight = np.array([False, True, False]), np.array([1.0, 2.0, 0.5])
    found = kth_distance(queries, searched, counts, k, nominal, weight)
    for i, query in enumerate(queries):
        every = [compute_record_distance(query, one, nominal, weight, np.inf) for one in np.repeat(searched, counts, axis=0)]
        assert found[i] == pytest.approx(np.sort(every)[k - 1])


def test_a_release_of_the_originals_gives_every_member_away(table):
    rng = np.random.default_rng(1)
    columns, scales = mixed(200, rng)
    original, schema = table(columns, scales=scales)
    frame = halves(200, rng)
    released = original.take(rng.permutation(frame.member_rows))
    for method, result in run(original, released, schema, frame).items():
        figures = {one.measure: one.value for one in membership_estimates(result, frame)}
        assert figures["membership_auc"] == 1, method
        assert figures["membership_advantage"] >= 0.9, method  # a non-member may be nearer than those who set the threshold
        assert result.threshold is None and result.threshold_from == "calibration"


def test_the_threshold_comes_from_the_other_half_of_the_targets(table):
    rng = np.random.default_rng(1)
    columns, scales = mixed(400, rng)
    original, schema = table(columns, scales=scales)
    frame = halves(400, rng)
    noise = {name: np.asarray(values) + rng.normal(0, 0.2, 400) for name, values in columns.items() if name != "colour"}
    released = Microdata.from_columns({**noise, "colour": columns["colour"]}).take(frame.member_rows)
    result = run(original, released, schema, frame)["closest_record"]
    figures = {one.measure: one for one in membership_estimates(result, frame)}
    assert figures["membership_advantage"].n_targets == 100 and figures["membership_auc"].n_targets == 200
    judged = ~frame.calibrates
    flagged = result.scores[judged] >= choose_threshold(result, frame)
    member = frame.is_member[judged]
    assert figures["membership_advantage"].value == pytest.approx(flagged[member].mean() - flagged[~member].mean())
    other = result.scores.copy()  # who is judged moves no threshold
    other[judged] = rng.permutation(other[judged])
    assert choose_threshold(type(result)(**{**_fields(result), "scores": other}), frame) == choose_threshold(result, frame)


def _fields(result):
    return {name: getattr(result, name) for name in result.__dataclass_fields__}


def test_the_order_of_the_release_does_not_matter(table):
    rng = np.random.default_rng(1)
    columns, scales = mixed(120, rng)
    original, schema = table(columns, scales=scales)
    frame = halves(120, rng)
    coarse = {"x": np.round(columns["x"]), "y": np.round(columns["y"]), "colour": columns["colour"]}  # with ties
    released = Microdata.from_columns(coarse).take(frame.member_rows)
    shuffled = released.take(rng.permutation(released.n))
    first, second = (run(original, shown, schema, frame) for shown in (released, shuffled))
    assert all(np.allclose(first[method].scores, second[method].scores) for method in first)


def test_nothing_known_or_released(table):
    original, schema = table({"x": np.arange(80.0)})
    frame = halves(80, np.random.default_rng(1))
    for released, knows, reason in ((original, (), "knows no"), (original.take(np.arange(0)), ("x",), "no row")):
        for spec in (CLOSEST, RATIO):
            result = attack_table(spec, original, released, schema, frame, knows)
            assert result.status == "not_applicable" and reason in result.reason
    few = DensityRatio(method="density_ratio", neighbours=1000)
    assert attack_table(few, original, original, schema, frame, ("x",)).status == "not_applicable"


def test_a_release_of_other_people_gives_nobody_away(table):
    """The control: over 20 draws the permutation law at 1e-4 is kept, draw by draw and all together."""
    deviations = {}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        columns, scales = mixed(240, rng)
        original, schema = table(columns, scales=scales)
        others, _ = mixed(120, rng)
        frame = halves(240, rng)
        for method, result in run(original, Microdata.from_columns(others), schema, frame).items():
            scores, member = result.scores, frame.is_member
            assert mannwhitneyu(scores[member], scores[~member]).pvalue >= 1e-4, (method, seed)
            spread = np.sqrt((len(scores) + 1) / (12 * member.sum() * (~member).sum()))
            deviations.setdefault(method, []).append((compute_auc(scores, member) - 0.5) / spread)
    for method, found in deviations.items():
        assert abs(np.sum(found)) / np.sqrt(20) < 3.9, method  # 1e-4, two-sided


def test_density_ratio_tells_more_than_the_distance_where_people_stand_apart(table):
    """In a table of a crowd and of people far from everybody, the distance alone says who is far, not who is a member."""
    rng = np.random.default_rng(2)
    x = np.where(rng.random(800) < 0.5, rng.normal(0, 0.01, 800), rng.normal(0, 10, 800))
    original, schema = table({"x": x, "y": rng.permutation(x)})
    frame = halves(800, rng)
    noisy = {name: original.floats(name) * np.exp(rng.normal(0, 0.1, 800)) for name in ("x", "y")}
    found = run(original, Microdata.from_columns(noisy).take(frame.member_rows), schema, frame)
    areas = {method: compute_auc(result.scores, frame.is_member) for method, result in found.items()}
    assert areas["density_ratio"] > areas["closest_record"] + 0.05


def test_known_attributes_scale_as_linkage_does(table):
    rng = np.random.default_rng(2)
    original, schema = table({"x": rng.normal(size=60), "y": rng.normal(size=60)})
    released = original.take(np.arange(30))
    for scale_by in ("release", "original", "own"):
        spec = ClosestRecord(method="closest_record", scale_by=scale_by)
        both = create_comparison(original.take(np.arange(40)), released, schema, ("x", "y"), scale_by)
        slow = [
            min(compute_record_distance(both.own[i], row, both.nominal, both.weight, np.inf) for row in both.shown)
            for i in both.own_of_record
        ]
        assert score_by_closest_record(original, np.arange(40), released, schema, spec, ("x", "y")).scores == pytest.approx(
            -np.array(slow)
        )
