"""Similarity of texts as a level of comparison: worked by hand, against a loop over all pairs, and for misspelt names."""

from __future__ import annotations

import json
import unicodedata

import numpy as np
import pyarrow as pa
import pytest
from held_files import figures_of, file_spec, holder, result_of
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import JaroWinkler, Levenshtein

from tasks.attack.linkage.file_alignment import align_external_file
from tasks.attack.methods import attack
from tasks.attack.probabilistic.estimation import link_by_probability
from tasks.attack.probabilistic.levels import Exact, create_pattern_comparison
from tasks.attack.probabilistic.pattern_assignment import PatternCosts
from tasks.attack.probabilistic.patterns import compute_patterns, count_patterns, create_rules
from tasks.attack.probabilistic.probabilistic_linkage import ProbabilisticLinkage
from tasks.attack.probabilistic.similar import Similar, normalise_text
from tasks.attack.threat import Intruder
from tasks.microdata.alignment import Alignment
from tasks.microdata.errors import InputError, NotApplicable
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.schema import Role, Scale
from tasks.microdata.table import Microdata

SCALES = {"name": Scale.NOMINAL, "town": Scale.NOMINAL, "year": Scale.CODE}
LADDER = (Exact(), Similar(rule="similar", at_least=0.92), Similar(rule="similar", at_least=0.8))


def spec_of(**parameters):
    return ProbabilisticLinkage.model_validate_json(json.dumps({"method": "probabilistic_linkage", **parameters}))


def texts(values):
    return {"name": pa.array(values, pa.string())}


def levels(table, own, shown, ladder=LADDER):
    """Shape (n, m): the level of every pair."""
    original, schema = table(texts(own), scales=SCALES)
    both = create_pattern_comparison(original, Microdata.from_columns(texts(shown)), schema, ("name",), (("name", ladder),))
    record, row = (one.ravel() for one in np.meshgrid(np.arange(len(own)), np.arange(len(shown)), indexing="ij"))
    return compute_patterns(both, record, row).reshape(len(own), len(shown)).tolist()


def test_worked_by_hand(table):
    # Winkler's own pairs: MARTHA and MARHTA 0.961, DWAYNE and DUANE 0.84, DIXON and DICKSONX 0.813
    own, shown = ["MARTHA", "DWAYNE", "DIXON"], ["Marhta", "Duane", "Dicksonx", "MARTHA"]
    assert levels(table, own, shown) == [[2, 0, 0, 3], [0, 1, 0, 0], [0, 0, 1, 0]]
    edits = (Similar(rule="similar", measure="levenshtein", at_least=0.66),)
    assert levels(table, ["MARTHA"], ["Marhta", "marta", "marth"], edits) == [[1, 1, 1]]  # 4/6, 5/6, 5/6
    swaps = (Similar(rule="similar", measure="damerau_levenshtein", at_least=0.8),)
    assert levels(table, ["MARTHA"], ["Marhta", "Mahtra"], swaps) == [[1, 0]]


def test_texts_are_cleaned_before_they_are_compared(table):
    decomposed = unicodedata.normalize("NFD", " JOSÉ   Maria ")
    assert normalise_text(decomposed) == "josé maria"
    assert normalise_text("ﬁscher") == normalise_text("FISCHER") == "fischer"
    assert normalise_text("Weiß") == normalise_text("WEISS")
    alike = (Exact(), Similar(rule="similar", at_least=1.0))
    assert levels(table, [decomposed, "Jose Maria"], ["josé maria"], alike) == [[1], [0]]


def test_missing_and_empty_texts(table):
    alike = (Similar(rule="similar", at_least=0.8),)
    assert levels(table, [None, "", "  ", "Ann"], [None, "", "Ann"], alike) == [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]]
    assert levels(table, [None, None], [None], alike) == [[1], [1]]
    assert levels(table, [None], ["Ann"], alike) == [[0]]


names = st.one_of(st.none(), st.text(alphabet="abcÉe\u0301 ß", max_size=7))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(names, min_size=1, max_size=9),
    st.lists(names, min_size=1, max_size=9),
    st.sampled_from(["jaro_winkler", "levenshtein"]),
    st.sampled_from([0.5, 0.8, 0.92]),
    st.sampled_from([1 << 20, 0]),
)
def test_counts_are_those_of_a_loop_over_all_pairs(table, own, shown, measure, at_least, at_once):
    ladder = (Exact(), Similar(rule="similar", measure=measure, at_least=at_least))
    original, schema = table(texts(own), scales=SCALES)
    patterns = count_patterns(
        create_pattern_comparison(original, Microdata.from_columns(texts(shown)), schema, ("name",), (("name", ladder),)),
        at_once=at_once,
    )
    score = {"jaro_winkler": JaroWinkler, "levenshtein": Levenshtein}[measure].normalized_similarity
    slowly = [0, 0, 0]
    for one in own:
        for other in shown:
            if one is None or other is None:
                slowly[2 * (one is other)] += 1
            else:
                near = score(normalise_text(one), normalise_text(other)) >= at_least
                slowly[2 if one == other else int(near)] += 1
    found = [0, 0, 0]
    for level, count in zip(patterns.levels[0].tolist(), patterns.counts.tolist(), strict=True):
        found[level] = count
    assert found == slowly


@settings(max_examples=25, deadline=None)
@given(st.lists(names, min_size=1, max_size=8), st.lists(names, min_size=1, max_size=8))
def test_seen_from_the_other_file_the_same_are_alike(table, own, shown):
    original, schema = table(texts(own), scales=SCALES)
    both = create_pattern_comparison(original, Microdata.from_columns(texts(shown)), schema, ("name",), (("name", LADDER),))
    costs = PatternCosts(create_rules(both), lambda numbers: numbers.astype(float), both.alike)
    everybody = [np.arange(side.shape[1]) for side in (both.own, both.shown)]
    np.testing.assert_array_equal(costs.swap_sides().matrix(everybody[1]).T, costs.matrix(everybody[0]))


LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))


def made_names(rng, n):
    return sorted({"".join(rng.choice(LETTERS, rng.integers(6, 11))) for _ in range(n)})


def misspelt(name, rng):
    """One slip of the pen after the first letter: left out, doubled, exchanged, or another."""
    at = int(rng.integers(1, len(name) - 1))
    ways = (
        name[:at] + name[at + 1 :],
        name[:at] + name[at] + name[at:],
        name[:at] + name[at + 1] + name[at] + name[at + 2 :],
        name[:at] + str(rng.choice(LETTERS)) + name[at + 1 :],
    )
    return ways[rng.integers(len(ways))]


def world(table, seed, n=150, slips=0.4):
    """A release that shows names as they are and a year that was half drawn anew; a register with slips in its names."""
    rng = np.random.default_rng(seed)
    known = np.array(made_names(rng, 120))
    who, year = rng.integers(0, len(known), n), rng.integers(0, 40, n)
    original, schema = table(
        {"name": known[who].tolist(), "year": year, "id": np.arange(n)},
        scales=SCALES,
        roles={"id": Role.IDENTIFIER},
    )
    masked = Microdata.from_columns(
        {"name": known[who].tolist(), "year": np.where(rng.random(n) < 0.7, year, rng.integers(0, 40, n))}
    )
    slip = rng.random(n) < slips
    register = [misspelt(name, rng) if one else name for name, one in zip(known[who], slip, strict=True)]
    file = Microdata.from_columns({"name": register, "year": year, "id": np.arange(n)}).take(rng.permutation(n))
    return GroundTruth.create_from_tables(original, masked, schema, Alignment.complete_in(np.arange(n))), schema, file, slip


def credit_of_slips(scene, schema, file, slip, how):
    who = holder(file_spec(), schema, file)
    order = align_external_file(scene, schema, file, who.file).units.of_row
    parts = (scene.original, scene.masked, schema, (), how, who)
    result = attack(*parts, alignment=scene.alignment, targets=np.arange(len(order)), file=file)
    assert result.status == "ok", result.reason
    assert figures_of(result, align_external_file(scene, schema, file, who.file), schema)
    return result.outcomes.floats("credit")[slip].mean()


def test_planted_misspellings_are_found_by_similarity_and_missed_by_equality(table):
    similar = spec_of(compare={"name": [one.model_dump() for one in LADDER]})
    for seed in (1, 2):
        parts = world(table, seed)
        equality, found = (credit_of_slips(*parts, how) for how in (spec_of(), similar))
        assert equality < 0.25  # by the year alone: 150 people of 40 years
        assert found > 3 * equality


def test_one_to_one_and_who_is_who_go_by_similarity_too(table):
    scene, schema, file, slip = world(table, 3)
    ladder = {"name": [one.model_dump() for one in LADDER]}
    for more in ({"matching": "one_to_one"}, {"estimate": "supervised"}):
        assert credit_of_slips(scene, schema, file, slip, spec_of(compare=ladder, **more)) > 0.55


def test_names_of_nobody_earn_chance(table):
    # the control: names dealt out anew, in both files
    rng, hits = np.random.default_rng(7), []
    for seed in range(8):
        scene, schema, file, _ = world(table, seed)
        masked = scene.masked.replace_column("name", scene.masked.column("name").take(pa.array(rng.permutation(150))))
        masked = masked.replace_column("year", masked.column("year").take(pa.array(rng.permutation(150))))
        other = GroundTruth.create_from_tables(scene.original, masked, schema, scene.alignment)
        result = result_of(other, schema, file, how=spec_of(compare={"name": [one.model_dump() for one in LADDER]}))[0]
        hits.append(result.outcomes.floats("credit").sum())
    assert np.sum(hits) < 8 + 4 * np.sqrt(8)


class TestWrongInput:
    def test_numbers_are_no_texts(self, table):
        original, schema = table({"year": [1, 2]}, scales=SCALES)
        with pytest.raises(InputError, match="values that are no texts"):
            create_pattern_comparison(original, original, schema, ("year",), (("year", LADDER),))

    def test_texts_against_numbers(self, table):
        original, schema = table(texts(["a", "b"]), scales=SCALES)
        with pytest.raises(InputError, match="no texts") as refused:
            ladder = (Similar(rule="similar", at_least=0.9),)
            create_pattern_comparison(
                original, Microdata.from_columns({"name": [1, 2]}), schema, ("name",), (("name", ladder),)
            )
        assert refused.value.where == "attacks: compare.name"

    def test_a_column_without_values(self, table):
        original, schema = table(texts(["a", None]), scales=SCALES)
        nothing = Microdata.from_columns({"name": pa.nulls(2, pa.string())})
        both = create_pattern_comparison(original, nothing, schema, ("name",), (("name", LADDER),))
        assert compute_patterns(both, np.array([0, 1]), np.array([0, 1])).tolist() == [0, 3]

    def test_a_very_long_text_is_refused_and_not_told(self, table):
        secret = "geheim " * 200
        with pytest.raises(InputError, match="1,399 characters is too long") as refused:
            levels(table, [secret], ["a"])
        assert "geheim" not in str(refused.value)

    def test_more_pairs_than_can_be_compared(self, table, monkeypatch):
        monkeypatch.setattr("tasks.attack.probabilistic.similar.MOST_TEXT_PAIRS", 3)
        with pytest.raises(NotApplicable, match="4 pairs of different texts are too many"):
            levels(table, ["a", "b", "b"], ["a", "c"])
        monkeypatch.setattr("tasks.attack.probabilistic.similar.MOST_TEXT_PAIRS", 4)
        monkeypatch.setattr("tasks.attack.probabilistic.similar.MOST_ALIKE", 1)
        with pytest.raises(NotApplicable, match="ask for more similarity"):
            levels(table, ["a", "b", "b"], ["a", "c"])

    @pytest.mark.parametrize("at_least", [0, 1.2, -1, "x", None])
    def test_what_is_no_similarity(self, at_least):
        with pytest.raises(ValueError, match="at_least"):
            spec_of(compare={"name": [{"rule": "similar", "at_least": at_least}]})
        with pytest.raises(ValueError, match="measure"):
            spec_of(compare={"name": [{"rule": "similar", "at_least": 0.9, "measure": "soundex"}]})

    def test_it_is_kept_whole_and_told_in_words(self):
        spec = spec_of(compare={"name": [one.model_dump() for one in LADDER]})
        assert ProbabilisticLinkage.model_validate_json(spec.model_dump_json()) == spec
        assert str(LADDER[1]) == "similar by Jaro and Winkler from 0.92 on"


def test_what_is_told_names_the_levels(table):
    original, schema = table(texts(["anna", "anne", "bob"]), scales=SCALES)
    masked = Microdata.from_columns(texts(["anna", "ana", "rob"]))
    spec = spec_of(compare={"name": [one.model_dump() for one in LADDER]})
    found = link_by_probability(original, masked, schema, spec, ("name",))
    assert found.patterns.n_pairs == 9
    result = attack(
        *(original, masked, schema, (), spec, Intruder("declared", ("name",))),
        alignment=Alignment.complete_in(np.arange(3)),
        targets=np.arange(3),
    )
    assert "similar by Jaro and Winkler from 0.8 on" in {one.said for one in result.probable.weights}
