"""Probabilistic linkage as an attack on a release: what it finds, what it says of itself, when it has no figure."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from held_files import declared, result_of, values
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from tasks.attack.methods import Attack, attack
from tasks.attack.outcomes.outcome import AttackResult
from tasks.attack.plan import default_attacks
from tasks.attack.probabilistic import linkage_report
from tasks.attack.probabilistic.estimation import link_by_probability
from tasks.attack.probabilistic.linkage_report import compute_supervised_chance
from tasks.attack.probabilistic.linkage_summary import OF_A_BAR
from tasks.attack.probabilistic.patterns import compute_patterns, records_showing
from tasks.attack.probabilistic.probabilistic_linkage import ProbabilisticLinkage
from tasks.attack.threat import Intruder
from tasks.microdata.alignment import Alignment
from tasks.microdata.errors import AttackFailed, InputError
from tasks.microdata.ground_truth import GroundTruth, RecordPairs
from tasks.microdata.schema import Role, Scale
from tasks.microdata.table import Microdata

NAMES = ("a", "b", "c")
CODES = dict.fromkeys(NAMES, Scale.CODE)
DECLARED = Intruder("declared", NAMES)
RESULT = TypeAdapter(AttackResult)


def spec_of(**parameters):
    return ProbabilisticLinkage.model_validate_json(json.dumps({"method": "probabilistic_linkage", **parameters}))


def attacked(original, masked, schema, *, intruder=DECLARED, alignment=None, targets=None, **parameters):
    there = alignment or Alignment.complete_in(np.arange(original.n))
    everybody = np.arange(original.n) if targets is None else targets
    return attack(original, masked, schema, (), spec_of(**parameters), intruder, alignment=there, targets=everybody)


def noisy(table, n=60, kept=0.7, seed=0, roles=None, **more):
    """Codes of 6, 4 and 3 values, of which a mask kept a share and drew the others anew."""
    rng = np.random.default_rng(seed)
    own = {name: rng.integers(0, size, n) for name, size in zip(NAMES, (6, 4, 3), strict=True)}
    shown = {name: np.where(rng.random(n) < kept, one, rng.permutation(one)) for name, one in own.items()}
    original, schema = table({**own, **more}, scales=CODES, roles=roles)
    return original, Microdata.from_columns(shown), schema


def test_worked_by_hand(table):
    # m = 3/4; equal pairs 2*1 + 1*2 + 1*1 = 5 of 16. m/u: 12/5 alike, 4/11 not. Record 0: one row alike, three not
    original, schema = table({"a": [1, 1, 2, 3]}, scales=CODES)
    masked = Microdata.from_columns({"a": [1, 2, 2, 3]})
    result = attacked(original, masked, schema, intruder=Intruder("declared", ("a",)), estimate="supervised")
    alike, not_alike = 12 / 5, 4 / 11
    one, two = alike + 3 * not_alike, 2 * alike + 2 * not_alike
    assert result.outcomes.floats("posterior") == pytest.approx([alike / one, not_alike / one, alike / two, alike / one])
    assert result.outcomes.floats("claimed") == pytest.approx([alike / one, alike / one, alike / two, alike / one])
    assert result.outcomes.floats("credit").tolist() == [1, 0, 0.5, 1]
    assert [(one.said, one.m, one.u) for one in result.probable.weights] == [
        ("equal", 0.75, 5 / 16),
        ("not alike", 0.25, 11 / 16),
    ]
    assert result.chance_kind == "permutation"


row = st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 3))


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(row, row), min_size=2, max_size=9), st.sampled_from(["tied", "plain"]))
def test_the_released_posterior_is_that_of_the_formula_and_worth_chance_over_all_truths(table, pairs, estimate):
    own, shown = ({name: [one[side][j] for one in pairs] for j, name in enumerate(NAMES)} for side in (0, 1))
    original, schema = table(own, scales=CODES)
    masked, n = Microdata.from_columns(shown), len(pairs)
    result = attacked(original, masked, schema, estimate=estimate)
    if result.status == "failed":
        assert "did not settle" in result.reason
        return
    found = link_by_probability(original, masked, schema, spec_of(estimate=estimate), NAMES, participation_known=True)
    r = np.array([found.distribution.compute_row_probabilities(i) for i in range(n)])
    assert r.sum(axis=1) == pytest.approx(np.ones(n), rel=1e-9)
    assert result.outcomes.floats("posterior") == pytest.approx(np.diag(r))
    assert result.outcomes.floats("claimed") == pytest.approx(r.max(axis=1))
    assert r.mean() == pytest.approx(result.chance)  # the mean over all permutations of who is who
    assert (result.probable.claimed, result.probable.squares) == pytest.approx((r.max(axis=1).mean(), (r**2).sum() / n))


def test_neither_order_changes_what_is_said(table):
    original, masked, schema = noisy(table)
    order = np.random.default_rng(3).permutation(60)
    for parameters in ({}, {"estimate": "supervised"}, {"interactions": [["a", "b"]]}, {"matching": "one_to_one"}):
        straight = attacked(original, masked, schema, **parameters)
        turned = attacked(original.take(order), masked.take(order), schema, **parameters)
        assert straight.status == "ok"
        assert turned.probable == straight.probable
        for name in ("credit", "posterior", "claimed"):
            np.testing.assert_array_equal(turned.outcomes.floats(name), straight.outcomes.floats(name)[order])


class TestWhoIsThere:
    def released(self, table):
        original, masked, schema = noisy(table)
        there = np.arange(0, 60, 3)
        return original, masked.take(there), schema, Alignment(there, np.arange(20), 60)

    def test_of_whom_it_is_known_that_he_is_there_the_probabilities_add_up_to_one(self, table):
        original, masked, schema, alignment = self.released(table)
        result = attacked(original, masked, schema, alignment=alignment)
        assert result.probable.present == pytest.approx(1)
        assert result.probable.n_matches == pytest.approx(20)
        assert result.outcomes.floats("posterior")[1::3].sum() == 0
        assert result.outcomes.floats("posterior")[::3].min() > 0

    def test_else_to_the_probability_that_he_is_there(self, table):
        original, masked, schema, alignment = self.released(table)
        unsure = replace(DECLARED, participation_known=False)
        known, result = (attacked(original, masked, schema, alignment=alignment, intruder=who) for who in (DECLARED, unsure))
        assert 0 < result.probable.present < 1
        at_truth = result.outcomes.floats("posterior")[::3]
        assert (at_truth < known.outcomes.floats("posterior")[::3]).all()
        assert result.outcomes.floats("credit").tolist() == known.outcomes.floats("credit").tolist()
        assert "how many of them" in result.knows_data

    def test_a_person_is_found_by_any_of_his_rows(self, table):
        who = np.repeat(np.arange(20), 3)
        original, masked, schema = noisy(table, who=who, roles={"who": Role.PERSON})
        result = attacked(original, masked, schema)
        assert result.counts == "persons"
        found = link_by_probability(original, masked, schema, spec_of(), NAMES, participation_known=True)
        r = np.array([found.distribution.compute_row_probabilities(i) for i in range(60)])
        own = (r * (who[:, None] == who)).sum(axis=1)
        ties = found.links.guesses(np.arange(60)).tie_sizes().reshape(20, 3)
        used = ties == ties.min(axis=1, keepdims=True)
        expected = (own.reshape(20, 3) * used).sum(axis=1) / used.sum(axis=1)
        assert result.outcomes.floats("posterior") == pytest.approx(expected)
        worst = attacked(original, masked, schema, estimate="supervised")
        assert (worst.status, worst.outcomes) == ("not_followed", None)
        assert "one row per person" in worst.reason


class TestFiles:
    @pytest.mark.parametrize("parameters", [{}, {"estimate": "supervised"}])
    def test_the_source_shuffled_is_the_declared_intruder(self, table, parameters):
        original, masked, schema = noisy(table, id=np.arange(60), roles={"id": Role.IDENTIFIER})
        there = np.arange(50)
        source = GroundTruth.create_from_tables(original, masked.select(NAMES).take(there), schema, Alignment(there, there, 60))
        file = original.take(np.random.default_rng(2).permutation(60))
        found, figures = result_of(source, schema, file, how=spec_of(**parameters))
        assert values(figures) == values(declared(source, schema, NAMES, spec_of(**parameters)))
        assert found.probable.n_matches == pytest.approx(50)
        assert figures["posterior_at_truth", None].value > 3 * figures["posterior_at_truth", None].chance

    def test_of_strangers_only_those_who_are_there_are_expected(self, table):
        original, masked, schema = noisy(table, id=np.arange(60), roles={"id": Role.IDENTIFIER})
        source = GroundTruth.create_from_tables(original, masked.select(NAMES), schema, Alignment.complete_in(np.arange(60)))
        file = original.take(np.arange(30)).replace_column("id", Microdata.from_columns({"id": np.arange(45, 75)}).column("id"))
        found, figures = result_of(source, schema, file, how=spec_of())
        assert found.probable.n_matches == pytest.approx(15)
        assert figures["false_links_absent", None].value > 0
        gone = Alignment(np.arange(40), np.arange(40), 60)
        without = GroundTruth.create_from_tables(original, masked.select(NAMES).take(np.arange(40)), schema, gone)
        absent = result_of(without, schema, original.take(np.arange(40, 60)), how=spec_of())[0]
        assert (absent.status, absent.reason) == ("not_applicable", "no record of the intruder is in the release")


class TestWhatIsTold:
    def test_classes_are_those_of_all_pairs_counted_one_by_one(self, table):
        original, masked, schema = noisy(table)
        told = attacked(original, masked, schema, false_links=0.02, missed=0.1).probable.classes
        found = link_by_probability(original, masked, schema, spec_of(false_links=0.02, missed=0.1), NAMES)
        linked = {int(one) for one in found.patterns.numbers[found.decision.linked]}
        pairs = [(i, j) for i in range(60) for j in range(60)]
        numbers = compute_patterns(found.both, *(np.array(side) for side in zip(*pairs, strict=True))).tolist()
        hits = [(i == j, number in linked) for (i, j), number in zip(pairs, numbers, strict=True)]
        true = sum(match and link for match, link in hits)
        false = sum(link and not match for match, link in hits)
        assert told.matches[0] == pytest.approx(true / 60)
        assert told.others[0] == told.actual.false_links == pytest.approx(false / 3540)
        assert told.precision == pytest.approx(true / (true + false))
        assert told.expected.false_links <= told.asked.false_links == 0.02
        assert told.expected.missed <= told.asked.missed == 0.1
        assert sum(told.matches) == pytest.approx(1)

    def test_without_a_rate_one_false_link_is_expected_for_twenty_matches(self, table):
        original, masked, schema = noisy(table)
        assert attacked(original, masked, schema).probable.classes.asked.false_links == pytest.approx(0.05 / 60)

    def test_every_waterfall_adds_up(self, table):
        original, masked, schema = noisy(table)
        for parameters in ({}, {"interactions": [["a", "b"]]}, {"estimate": "supervised"}):
            telling = attacked(original, masked, schema, **parameters).probable.telling
            assert telling
            assert [one.after for one in telling] == sorted((one.after for one in telling), reverse=True)
            for one in telling:
                assert one.before + sum(part.bits for part in one.weights) + one.together == pytest.approx(one.after)
                assert one.match == pytest.approx(1 / (1 + 2**-one.after))
                assert one.pairs >= one.records >= 3

    def test_the_public_hears_of_no_pattern_of_few(self, table):
        original, masked, schema = noisy(table, n=12)
        facts = attacked(original, masked, schema).probable
        few = [one for one in facts.telling if one.records < OF_A_BAR]
        assert few
        assert all(one.records >= OF_A_BAR for one in facts.public_summary.telling)
        assert facts.public_summary.public_summary == facts.public_summary
        for one in facts.public_summary.weights:
            assert one.u == float(f"{one.u:.1e}")

    def test_the_public_hears_of_no_share_of_few_matches(self, table):
        original, masked, schema = noisy(table, n=60, kept=0.97)
        facts = attacked(original, masked, schema, estimate="supervised").probable
        few = {(one.attribute, one.said) for one in facts.weights if 0 < one.m * 60 < OF_A_BAR}
        assert few
        for one in facts.public_summary.weights:
            assert (one.m is None) == ((one.attribute, one.said) in few)
            assert one.m is not None or one.bits is None
        rounded = facts.public_summary.classes
        shares = list(zip(facts.classes.matches, rounded.matches, strict=True))
        assert any(0 < told < OF_A_BAR / 60 for told, _ in shares)
        assert all((shown is None) == (0 < told < OF_A_BAR / 60) for told, shown in shares)
        for name in ("claimed", "squares", "chance", "chance_at_truth", "dealt_out"):
            assert getattr(facts.public_summary, name) == float(f"{getattr(facts, name):.1e}")
        assert facts.public_summary.public_summary == facts.public_summary

    def test_results_are_kept_whole(self, table):
        original, masked, schema = noisy(table)
        for parameters in ({}, {"estimate": "supervised"}, {"assumed": {"kept": "estimated"}}):
            result = replace(attacked(original, masked, schema, **parameters), outcomes=None)
            assert RESULT.validate_json(RESULT.dump_json(result)) == result

    def test_patterns_are_told_of_the_declared_intruder_alone(self, table):
        original, masked, schema = noisy(table)
        assert attacked(original, masked, schema, intruder=Intruder("knowing:1", ("a",), greedy=True)).probable.telling == ()

    @settings(max_examples=20, deadline=None)
    @given(st.lists(row, min_size=2, max_size=8), st.lists(row, min_size=2, max_size=8))
    def test_records_that_show_a_pattern_are_counted(self, table, own, shown):
        original, schema = table({name: [one[j] for one in own] for j, name in enumerate(NAMES)}, scales=CODES)
        masked = Microdata.from_columns({name: [one[j] for one in shown] for j, name in enumerate(NAMES)})
        found = link_by_probability(original, masked, schema, spec_of(), NAMES)
        numbers = found.patterns.numbers[::-1]
        rows = np.arange(masked.n)
        of_record = [set(compute_patterns(found.both, np.full(masked.n, i), rows).tolist()) for i in range(original.n)]
        assert records_showing(found.both, numbers).tolist() == [sum(one in some for some in of_record) for one in numbers]


class TestChance:
    def test_somebody_who_reads_m_off_finds_something_wherever_he_looks(self, table):
        """Columns of nobody: the rate is one of the permutations. Thirty rates and chances differ by luck alone."""
        apart = []
        for seed in range(30):
            original, masked, schema = noisy(table, kept=0.0, seed=seed)
            result = attacked(original, masked, schema, estimate="supervised")
            apart.append(result.outcomes.floats("credit").mean() - result.chance)
        assert abs(np.mean(apart)) < 4 * np.std(apart) / np.sqrt(len(apart))

    def test_it_is_what_a_plain_loop_says(self, table):
        original, masked, schema = noisy(table, n=12)
        pairs = RecordPairs(np.arange(12), np.arange(12))
        found = link_by_probability(
            original, masked, schema, spec_of(estimate="supervised"), NAMES, matches=(pairs.records, pairs.rows)
        )
        chance, at_truth = compute_supervised_chance(found, (), pairs, 1.0)
        assert 0 < at_truth <= chance < 1
        assert (chance, at_truth) == compute_supervised_chance(found, (), pairs, 1.0)
        many = [compute_supervised_chance(found, (), pairs, 1.0, permutations=p)[0] for p in (200, 400)]
        assert many[0] == pytest.approx(many[1], rel=0.2)


class TestWrongInput:
    def test_nothing_known(self, table):
        original, masked, schema = noisy(table)
        result = attacked(original, masked, schema, intruder=Intruder("declared", ()))
        assert (result.status, result.reason) == ("not_applicable", "the intruder knows no published attribute")

    @pytest.mark.parametrize("shown", [[7] * 4, [None] * 4, ["x", "y", "z", "w"]])
    def test_constants_gaps_and_unseen_categories_are_worth_chance(self, table, shown):
        original, schema = table({"a": ["p", "q", "q", "r"]}, scales={"a": Scale.NOMINAL})
        masked = Microdata.from_columns({"a": [None if one is None else str(one) for one in shown]})
        result = attacked(original, masked, schema, intruder=Intruder("declared", ("a",)))
        assert result.outcomes.floats("credit").tolist() == [0.25] * 4
        assert result.outcomes.floats("posterior") == pytest.approx([0.25] * 4)

    def test_a_source_without_values(self, table):
        original, schema = table({"a": np.full(4, np.nan)})
        result = attacked(
            original, Microdata.from_columns({"a": [1.0, 2, 3, 4]}), schema, intruder=Intruder("declared", ("a",))
        )
        assert result.outcomes.floats("posterior") == pytest.approx([0.25] * 4)

    def test_one_record(self, table):
        original, schema = table({"a": [1]}, scales=CODES)
        for estimate in ("tied", "plain", "supervised"):
            result = attacked(original, original, schema, intruder=Intruder("declared", ("a",)), estimate=estimate)
            assert (result.status, result.outcomes.floats("credit").tolist()) == ("ok", [1])
            assert result.probable.telling == ()

    @pytest.mark.parametrize(("bound", "estimate"), [("MOST_PAIRS", "tied"), ("MOST_PAIRS_LEARNED", "supervised")])
    def test_more_pairs_than_can_be_looked_at(self, table, monkeypatch, bound, estimate):
        monkeypatch.setattr(f"tasks.attack.probabilistic.probabilistic_linkage.{bound}", 20)
        original, masked, schema = noisy(table)
        result = attacked(original, masked, schema, estimate=estimate)
        assert result.status == "not_followed"
        assert "too many to look at each (20 at most)" in result.reason

    def test_more_ties_than_can_be_written_out(self, table, monkeypatch):
        monkeypatch.setattr("tasks.attack.probabilistic.match_posterior.MOST_TIED", 2)
        original, schema = table({"a": [1, 2, 3]}, scales=CODES)
        result = attacked(original, Microdata.from_columns({"a": [4, 5, 6]}), schema, intruder=Intruder("declared", ("a",)))
        assert (result.status, "equally likely" in result.reason) == ("not_followed", True)

    def test_the_knowledge_curve_reads_nothing_off(self, table):
        original, masked, schema = noisy(table)
        less = Intruder("knowing:1", ("a",), greedy=True)
        assert attacked(original, masked, schema, intruder=less, estimate="supervised").status == "not_applicable"
        assert attacked(original, masked, schema, intruder=less).status == "ok"

    def test_a_model_too_large_is_refused_to_the_declared_intruder_and_passed_over_by_insiders(self, table, monkeypatch):
        monkeypatch.setattr("tasks.attack.probabilistic.loglinear.MOST_CELLS", 4)
        original, masked, schema = noisy(table)
        asked = {"interactions": [["a", "b"]]}
        with pytest.raises(InputError, match="too many patterns"):
            attacked(original, masked, schema, **asked)
        insider = attacked(original, masked, schema, intruder=Intruder("insider:c", NAMES), **asked)
        assert insider.status == "not_followed"
        with pytest.raises(InputError, match="no attribute `zz`"):
            attacked(original, masked, schema, intruder=Intruder("insider:c", NAMES), interactions=[["a", "zz"]])

    def test_who_is_who_is_not_assigned(self):
        with pytest.raises(ValueError, match="for the estimates `tied` and `plain`"):
            spec_of(estimate="supervised", matching="one_to_one")

    def test_probabilities_that_are_none_are_no_figure(self, table, monkeypatch):
        def wrong(*_, **__):
            raise AttackFailed("what is called a probability of the released rows is none")

        monkeypatch.setattr("tasks.attack.probabilistic.probabilistic_linkage.check_compatible", wrong)
        assert attacked(*noisy(table)).status == "failed"


class TestUnchanged:
    """The intruder sees that a column shows each value as often as their own, and hangs together with the others as there."""

    def files(self, table, n=400):
        rng = np.random.default_rng(11)
        a = rng.integers(0, 8, n)
        own = {"a": a, "b": np.where(rng.random(n) < 0.6, a % 5, rng.integers(0, 5, n)), "c": (a + rng.integers(0, 2, n)) % 6}
        masked = {**own, "c": np.where(rng.random(n) < 0.6, own["c"], rng.integers(0, 6, n))}
        original, schema = table(own, scales=CODES)
        return original, Microdata.from_columns(masked), schema

    def test_what_is_published_as_it_is_gets_nearly_all_that_it_deserves(self, table):
        original, masked, schema = self.files(table)
        told, worst = (attacked(original, masked, schema, estimate=one) for one in ("tied", "supervised"))
        m = {one.attribute: one.m for one in told.probable.weights if one.said == "equal"}
        assert min(m["a"], m["b"]) > 0.9 > m["c"]
        assert told.outcomes.floats("credit").mean() >= 0.95 * worst.outcomes.floats("credit").mean()
        assert "published as they are" in told.knows_mechanism

    def test_values_that_were_exchanged_do_not_look_so(self, table):
        original, masked, schema = self.files(table)
        swapped = masked.replace_column("a", masked.column("a").take(np.random.default_rng(1).permutation(400)))
        (a,) = (
            one.m for one in attacked(original, swapped, schema).probable.weights if (one.attribute, one.said) == ("a", "equal")
        )
        assert a < 0.9

    def test_where_records_are_missing_nothing_looks_so(self, table):
        original, masked, schema = self.files(table)
        there = np.arange(399)
        alignment = Alignment(there, there, 400)
        sampled = attacked(original, masked.take(there), schema, alignment=alignment)
        assert max(one.m for one in sampled.probable.weights if one.said == "equal") < 0.9

    def test_the_order_does_not_count_here_either(self, table):
        original, masked, schema = self.files(table)
        order = np.random.default_rng(3).permutation(400)
        straight, turned = (attacked(original.take(one), masked.take(one), schema).probable for one in (np.arange(400), order))
        assert straight == turned


def test_plans_do_not_get_it_unasked():
    assert "probabilistic_linkage" not in [spec.method for spec in default_attacks(())]
    plan = TypeAdapter(Attack)
    spec = spec_of(interactions=[["a", "b"]], compare={"a": [{"rule": "exact"}, {"rule": "same_bin", "bins": 5}]})
    assert plan.validate_json(plan.dump_json(spec)) == spec


def test_the_permutations_are_twenty():
    assert linkage_report.PERMUTATIONS == 20
