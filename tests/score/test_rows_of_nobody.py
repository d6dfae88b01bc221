"""All figures of a release whose rows belong to nobody: what has no answer, and what two tables say as wholes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.methods import attack
from tasks.attack.threat import Intruder
from tasks.attack.transparency.transparency import Transparency
from tasks.mask.external_release.released import Synthetic
from tasks.microdata.alignment import ROWS_OF_NOBODY, Alignment, NoAlignment
from tasks.microdata.errors import InputError
from tasks.microdata.estimate import Estimate
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.score.anonymity import KAnonymitySubset
from tasks.score.catalogue import LINKAGE, MEASURES
from tasks.score.figure_rounding import round_for_publication
from tasks.score.interval_disclosure import RankIntervalDisclosure
from tasks.score.known_release import Known
from tasks.score.methods import score
from tasks.score.policy import PolicyLine, check_policy
from tasks.score.release_kinds import MASKED_TABLE, SYNTHETIC_TABLE
from tasks.score.synthetic.distribution_loss import marginal_difference
from tasks.score.synthetic.uniques import Uniques, uniques
from tasks.score.table_pair import RowwiseTablePair, TablePair
from tasks.score.verdict import decide

KEY, SECRET = Role.QUASI_IDENTIFIER, Role.CONFIDENTIAL
SCHEMA = Schema(
    (
        Attribute("age", KEY, Scale.NUMERIC, "declared"),
        Attribute("sex", KEY, Scale.NOMINAL, "declared"),
        Attribute("vote", SECRET, Scale.NOMINAL, "declared"),
    )
)
SOURCE = Microdata.from_columns(
    {"age": [1, 1, 1, 2, 2, 2], "sex": ["m", "m", "f", "m", "f", "f"], "vote": ["x", "x", "y", "y", "x", "z"]}
)
ROWS = Microdata.from_columns({"age": [1, 1, 2, 1], "sex": ["f", "f", "m", "m"], "vote": ["x", "y", "y", "x"]})
STEPS = (Synthetic(attributes=("age", "sex", "vote")),)
KNOWN = Intruder("declared", ("age", "sex"))
ELSEWHERE = tuple(
    one.name for one in MEASURES.values() if one.of_membership or one.of_inference or one.only_of_model or one.name == "epsilon"
)
OF_EVERY_RELEASE = tuple(name for name in MEASURES if name not in ELSEWHERE)


def attacked(source, rows, schema, spec=None, intruder=KNOWN, targets=None):
    everybody = np.arange(source.n) if targets is None else targets
    nobody = NoAlignment(np.arange(rows.n), source.n)
    plain = DistanceLinkage(method="distance_linkage")
    return attack(source, rows, schema, STEPS, spec or plain, intruder, alignment=nobody, targets=everybody)


def scored(source=SOURCE, rows=ROWS, schema=SCHEMA, measures=(), results=None):
    results = (attacked(source, rows, schema),) if results is None else results
    nobody = NoAlignment(np.arange(rows.n), source.n)
    return score(source, rows, schema, STEPS, results, measures, alignment=nobody, n_targets=source.n)


def beside(before, after, schema=SCHEMA):
    return TablePair(Microdata.from_columns(before), Microdata.from_columns(after), schema, STEPS)


def by_id(figures):
    return {one.id: one for one in figures}


def test_every_measure_has_a_figure_or_the_one_reason():
    both = (attacked(SOURCE, ROWS, SCHEMA), attacked(SOURCE, ROWS, SCHEMA, Transparency(method="transparency")))
    found = scored(results=both)
    elsewhere = {"k_anonymity_subset", "cell_members_exposed", "cell_homogeneity", "t_closeness", "groups_exposed",
                 "singling_out", "singled_out", "singled_out_by_any", "predicates_isolating",
                 "results_hidden", "rule_support", "rule_confidence", "rule_support_original", "rule_confidence_original",
                 "subgroup_reidentification", "posterior_at_truth", "reidentification_present",
                 "false_links_absent"}  # fmt: skip
    assert {one.measure for one in found} == set(OF_EVERY_RELEASE) - elsewhere
    for one in found:
        if not MEASURES[one.measure].of_nobody or one.attack == "transparency":
            assert (one.value, one.status, one.reason) == (None, "not_applicable", ROWS_OF_NOBODY), one.id
        assert one.n_in_release is None or one.measure == "k_anonymity"
    assert {one.measure for one in found if one.attack == "distance_linkage" and one.value is not None} == {
        "linked_value_disclosed",
        "linked_value_control",
    }
    adapter = TypeAdapter(tuple[Estimate, ...])
    assert adapter.validate_json(adapter.dump_json(found)) == found


def test_linked_values_have_their_baselines():
    found = by_id(scored())
    told = found["linked_value_disclosed|distance_linkage|declared|vote"]
    # (1,m) is told x; (1,f) x or y; (2,m) y; (2,f) is as near to (1,f) as to (2,m), or not: x, y, y
    assert told.chance_kind == "majority"
    assert told.chance == pytest.approx((3 + 2) / 6 / 2)  # x and y are equally frequent in the release
    assert told.low == told.high == told.value
    control = found["linked_value_control|distance_linkage|declared|vote"]
    assert control.basis == "control_group"
    assert "other people" in control.reason
    assert control.chance is None


def test_a_sample_of_targets_has_bounds():
    source = Microdata.from_columns({"age": np.arange(40) % 7, "sex": ["f", "m"] * 20, "vote": ["x", "y", "z", "z"] * 10})
    result = attacked(source, ROWS, SCHEMA, targets=np.arange(0, 40, 2))
    told = by_id(scored(source=source, results=(result,)))["linked_value_disclosed|distance_linkage|declared|vote"]
    assert (told.basis, told.n_targets) == ("sampled_targets", 20)
    assert told.low < told.value < told.high


def test_uniques_by_hand():
    # alone in the source: (1, f), shown by two rows, and (2, m), shown by one
    found, once = uniques(TablePair(SOURCE, ROWS, SCHEMA, STEPS))
    assert (found.value, once.value) == (2 / 6, 1 / 6)
    one, other = 3 / 4 * 2 / 4, 1 / 4 * 2 / 4  # the shares of 1 and f, of 2 and m among the rows
    assert found.chance == pytest.approx((1 - (1 - one) ** 4 + 1 - (1 - other) ** 4) / 6)
    assert once.chance == pytest.approx((4 * one * (1 - one) ** 3 + 4 * other * (1 - other) ** 3) / 6)
    assert (found.low, found.high, found.n_targets) == (found.value, found.value, 6)


def test_uniques_over_some_attributes():
    spec = Uniques(measure="uniques_released", attributes=("age",))
    found = by_id(scored(measures=(spec, KAnonymitySubset(attributes=("age",)))))
    assert found["uniques_released|age"].value == 0
    assert found["k_anonymity_subset|age"].value == 1
    assert found["uniques_released"].value == 2 / 6
    with pytest.raises(InputError, match="quasi-identifiers"):
        scored(measures=(Uniques(measure="uniques_released", attributes=("vote",)),))


def slow_uniques(source, rows, persons):
    alone = {key for key in set(source) if len({p for k, p in zip(source, persons, strict=True) if k == key}) == 1}
    shown = Counter(rows)
    hit = [{p for k, p in zip(source, persons, strict=True) if k in alone and fits(shown[k])} for fits in
           (lambda count: count > 0, lambda count: count == 1)]  # fmt: skip
    return tuple(len(found) / len(set(persons)) for found in hit)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(1, 30), st.booleans())
def test_slow_twin_of_uniques(seed, n, m, several):
    rng = np.random.default_rng(seed)
    persons = rng.integers(0, max(1, n // 2), n) if several else np.arange(n)
    gaps = [[None if v == 0 else int(v) for v in rng.integers(0, 4, size)] for size in (n, m)]
    columns = [{"pid": persons, "a": gaps[0], "b": rng.integers(0, 3, n)}, {"a": gaps[1], "b": rng.integers(0, 3, m)}]
    roles = {"pid": Role.PERSON, "a": KEY, "b": KEY}
    schema = Schema(tuple(Attribute(name, role, Scale.NOMINAL, "declared") for name, role in roles.items()))
    source, rows = (list(zip(one["a"], one["b"], strict=True)) for one in columns)
    typed = [{**one, "a": np.array([np.nan if v is None else v for v in one["a"]], dtype=float)} for one in columns]
    found = uniques(beside(*typed, schema))
    assert tuple(one.value for one in found) == slow_uniques(source, rows, persons.tolist())
    assert all(0 <= one.chance <= 1 for one in found)


def test_the_chance_of_uniques_is_that_of_columns_drawn_apart():
    rng = np.random.default_rng(1)
    n, m = 60, 90
    source = {"age": rng.integers(0, 12, n), "sex": rng.integers(0, 3, n)}
    release = {"age": np.minimum(rng.integers(0, 12, m), 9), "sex": rng.integers(0, 3, m)}
    schema = Schema(SCHEMA.attributes[:2])
    expected = [one.chance for one in uniques(beside(source, release, schema))]
    drawn = [uniques(beside(source, {k: rng.choice(v, m) for k, v in release.items()}, schema)) for _ in range(400)]
    for place, chance in enumerate(expected):
        values = np.array([one[place].value for one in drawn])
        assert values.mean() == pytest.approx(chance, abs=4 * values.std() / 20)
        assert values.mean() != pytest.approx(1.3 * chance, abs=4 * values.std() / 20)


def test_without_quasi_identifiers_nobody_is_alone():
    schema = Schema(SCHEMA.attributes[2:])
    found = uniques(TablePair(SOURCE.select(["vote"]), ROWS.select(["vote"]), schema, STEPS))
    assert all(one.status == "not_applicable" and one.value is None for one in found)


def test_marginals_by_hand():
    table, largest, age, sex, vote = marginal_difference(TablePair(SOURCE, ROWS, SCHEMA, STEPS))
    assert largest.value == max(age.value, sex.value, vote.value)
    assert age.value == 3 / 4 - 3 / 6  # up to 1
    assert sex.value == 0
    assert vote.value == pytest.approx((0 + (1 / 2 - 1 / 3) + 1 / 6) / 2)
    assert table.value == pytest.approx((age.value + sex.value + vote.value) / 3)


def test_missing_values_count_in_marginals():
    schema = Schema(SCHEMA.attributes[:2])
    before = {"age": [1.0, 2.0, 3.0, 4.0], "sex": ["f", "f", "m", "m"]}
    after = {"age": [np.nan, np.nan, 3.0, 4.0], "sex": ["f", "f", None, None]}
    _, _, age, sex = marginal_difference(beside(before, after, schema))
    assert (age.value, sex.value) == (0.5, 0.5)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 30), st.integers(1, 60))
def test_the_order_of_the_rows_changes_no_figure(seed, n, m):
    rng = np.random.default_rng(seed)

    def drawn(size):
        return Microdata.from_columns(
            {"age": rng.integers(0, 9, size), "sex": rng.choice(["f", "m"], size), "vote": rng.choice(["x", "y"], size)}
        )

    source, rows = drawn(n), drawn(m)
    once, again = scored(source, rows), scored(source, rows.take(rng.permutation(m)))
    assert [one.id for one in once] == [one.id for one in again]
    for one, other in zip(once, again, strict=True):
        for ours, theirs in ((one.value, other.value), (one.chance, other.chance)):
            assert (ours is None) == (theirs is None)
            assert (ours or 0.0) == pytest.approx(theirs or 0.0, rel=1e-9, abs=1e-12)


def test_k_of_nobodys_rows_bounds_nothing():
    found = by_id(scored())["k_anonymity"]
    assert found.value == 1
    assert "nobody hides" in found.reason


def test_measures_of_records_are_refused():
    with pytest.raises(InputError, match="compares records with their rows"):
        scored(measures=(RankIntervalDisclosure(),))
    with pytest.raises(InputError, match="belong to nobody"):
        spec = Uniques(measure="uniques_released", attributes=("age",))
        complete = Alignment.complete_in(np.arange(6))
        score(SOURCE, SOURCE, SCHEMA, (), (), (spec,), alignment=complete, n_targets=6)


def test_measures_of_records_take_no_unaligned_tables():
    with pytest.raises(ValueError, match="same number of rows"):
        RowwiseTablePair(SOURCE, ROWS, SCHEMA, STEPS)


def known(kind):
    return Known(attacks=("distance_linkage", "transparency"), kind=kind, not_of_nobody=("transparency",))


@pytest.mark.parametrize("name", [name for name in OF_EVERY_RELEASE if MEASURES[name].better is not None])
def test_a_line_that_could_never_be_decided_is_refused_at_once(name):
    measure = MEASURES[name]
    limit = {"at_most": 0.5} if measure.better == "lower" else {"at_least": 2}
    width = {"p_percent": 5} if measure.takes_p_percent else {}
    line = PolicyLine(measure=name, **limit, **width)
    check_policy((line,), Known())
    for kind, fits in ((SYNTHETIC_TABLE, measure.of_nobody), (MASKED_TABLE, not measure.only_of_nobody)):
        if fits:
            check_policy((line,), known(kind))
            continue
        with pytest.raises(InputError) as caught:
            check_policy((line,), known(kind))
        assert caught.value.code in ("measure-of-somebody", "measure-of-nobody")
        assert name not in caught.value.allowed.split(", ")


def test_a_line_on_an_attack_that_says_nothing_is_refused():
    line = PolicyLine(measure="linked_value_disclosed", at_most=0.5, attack="transparency")
    with pytest.raises(InputError, match="says nothing here") as caught:
        check_policy((line,), known(SYNTHETIC_TABLE))
    assert caught.value.allowed == "distance_linkage"


def test_a_line_that_was_let_through_stays_undecided():
    lines = (PolicyLine(measure="reidentification", at_most=0.5), PolicyLine(measure="sse_percent", at_most=30))
    found = decide(lines, scored())
    assert found.verdict == "undecided"
    assert all(one.decision == "undecided" and one.deciding_value is None for one in found.criteria)


def test_limits_on_what_is_measured_decide():
    lines = (PolicyLine(measure="uniques_released", at_most=0.4), PolicyLine(measure="replicated_uniques", at_most=0.1))
    assert [one.decision for one in decide(lines, scored()).criteria] == ["pass", "fail"]


def test_the_control_of_other_people_is_rounded_for_the_public():
    source = Microdata.from_columns({"age": np.arange(37) % 11, "sex": ["f"] * 37, "vote": (["x", "y", "x"] * 13)[:37]})
    exact, shown = (by_id(figures) for figures in (scored(source=source), round_for_publication(scored(source=source))))
    name = "linked_value_control|distance_linkage|declared|vote"
    assert (exact[name].value, shown[name].value) == (18.5 / 37, 0.54)  # 15 to 24 are shown as 20 of 37, with 2 digits
    disclosed = "linked_value_disclosed|distance_linkage|declared|vote"
    assert exact[disclosed].value == pytest.approx(13 / 37)
    assert shown[disclosed].value == 10 / 37  # fewer than 15
    assert shown["uniques_released"].chance == float(f"{exact['uniques_released'].chance:.1e}")


def test_what_is_measured_by_an_attack_is_its_values_alone():
    assert {one.name for one in LINKAGE if one.of_nobody} == {"linked_value_disclosed", "linked_value_control"}
