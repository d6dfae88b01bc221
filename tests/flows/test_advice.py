"""What a refused release is told to change."""

from __future__ import annotations

from typing import Any

import pytest

from flows.cli.advice.advice import list_advice, list_step_attributes, suggest_stronger_masking, suggest_weaker_masking
from tasks.mask.methods import find_method
from tasks.score.membership.membership_figures import UNLIKE


def line(measure: str, limit: float, value: float | None, **fields: Any) -> dict[str, Any]:
    usual = {"line": 0, "attack": None, "intruder": "declared", "attribute": None, "p_percent": None, "direction": "at_most",
             "deciding_bound": "value", "decision": "fail", "reason": "the value is beyond the limit"}  # fmt: skip
    return {**usual, "measure": measure, "limit": limit, "deciding_value": value, **fields}


def figure(measure: str, value: float, intruder: str | None = None, attribute: str | None = None) -> dict[str, Any]:
    return {"measure": measure, "value": value, "intruder": intruder, "attribute": attribute, "subgroup": None}


def spec(masking: list[dict[str, Any]] | None, **scales: str) -> dict[str, Any]:
    roles = {"weight": "weight", "vote": "confidential"}
    names = [{"name": name, "role": roles.get(name, "quasi_identifier"), "scale": scale} for name, scale in scales.items()]
    return {"attributes": names, "masking": masking, "policy": [{"intruder": "insider"}] * 5}


def told(criteria: list[dict[str, Any]], figures: list[dict[str, Any]], release: dict[str, Any]) -> list[str]:
    return list_advice({"criteria": criteria, "estimates": figures}, {"spec": release})


GROUPED = [{"method": "microaggregation", "attributes": ["age"], "k": 3, "blocks": None}]


def test_a_certified_release_is_told_nothing():
    assert told([line("reidentification", 0.4, 0.3, decision="pass")], [], spec(GROUPED, age="numeric")) == []


def test_every_insider_beyond_the_limit_is_named_worst_first():
    rates = {"insider:weight": 0.4, "insider:vote": 0.9, "insider:age": 0.1, "declared": 0.95}
    figures = [figure("reidentification", rate, who) for who, rate in rates.items()]
    release = spec(GROUPED, age="numeric", weight="numeric", vote="nominal")
    found = told([line("reidentification", 0.3, 0.9, intruder="insider:vote", line=4)], figures, release)
    assert [sentence.split()[0] for sentence in found] == ["vote", "weight"]
    assert "90\u202f%; limit 30\u202f%" in found[0]
    assert all("`attributes` of masking step 1" in sentence for sentence in found)
    assert "policy line 5" in found[1]


def test_an_earlier_release_that_is_lost_can_be_restored_or_omitted():
    facts = {"decision": "undecided", "deciding_bound": None, "attack": "earlier_releases:r1"}
    lost = line("reidentification", 0.1, None, reason="the earlier release old (r1) cannot be attacked: gone", **facts)
    _, advice = told([lost, {**lost, "measure": "reidentification"}], [], spec(GROUPED))
    assert "release: r1" in advice
    assert len(told([{**lost, "reason": "it is too large"}], [], spec(GROUPED))) == 1


def test_what_a_step_does_already_is_no_advice():
    joint = line("reidentification", 0.1, 0.5, attack="earlier_releases:r1")
    found = [{**figure("reidentification", 0.5, "declared"), "attack": "earlier_releases:r1"}]
    for step, remedy in (
        ({**GROUPED[0]}, "frozen"),
        ({"method": "noise", "attributes": ["age"], "sd_percent": 9}, "per_person"),
    ):
        kept = {**step, "frozen": True} if remedy == "frozen" else {**step, "draw": "per_person"}
        assert remedy in told([joint], found, spec([step]))[-1]
        assert remedy not in told([joint], found, spec([kept]))[-1]


def test_moving_values_further_is_no_advice_where_the_exchanges_were_followed():
    step = {**SWAPPED, "window_percent": 10.0}
    followed, *_ = suggest_stronger_masking(0, step, line("reidentification", 0.1, 0.9, attack="consistency"))
    otherwise, *_ = suggest_stronger_masking(0, step, line("reidentification", 0.1, 0.9, attack="transparency"))
    assert "window_percent" not in followed and "microaggregation" in followed
    assert "raise `window_percent`" in otherwise.lower()


@pytest.mark.parametrize(
    ("measure", "limit", "direction", "k"),
    [("reidentification", 0.1, "at_most", 10), ("max_record_risk", 0.34, "at_most", 3), ("k_anonymity", 5, "at_least", 5)],
)
def test_k_is_raised_to_what_the_limit_needs(measure, limit, direction, k):
    """Among k that look alike a guess is right once in k; three alike keep 0.34, so there is nothing to raise."""
    figures = [figure("cells_changed", 0.5, attribute="age")]
    found = told([line(measure, limit, 1.0, direction=direction)], figures, spec(GROUPED, age="numeric"))
    assert any(f"from 3 to {k}" in sentence for sentence in found) == (k > 3)


def test_known_columns_that_no_mask_touches_come_first():
    figures = [figure("cells_changed", 0.5, attribute="age")]
    found = told([line("reidentification", 0.1, 0.4)], figures, spec(GROUPED, age="numeric", sex="nominal", town="nominal"))
    assert found[0].startswith("No mask touches sex and town")


def test_blocks_are_joined_and_exchanged_categories_named():
    steps = [
        {"method": "microaggregation", "attributes": ["age", "pay"], "k": 10, "blocks": [["age"], ["pay"]]},
        {"method": "pram", "attributes": ["town"], "retention": 0.8},
        {"method": "rank_swapping", "attributes": ["rent"], "window_percent": 5.0},
    ]
    found = told(
        [line("reidentification", 0.1, 0.4)], [figure("cells_changed", 0.5, attribute=a) for a in ("age", "pay")], spec(steps)
    )
    assert ["`blocks`" in found[0], "`retention` of masking step 2 (now 0.8)" in found[1], "`window_percent`" in found[2]] == [
        True
    ] * 3
    groups = told([line("k_anonymity", 5, 1, direction="at_least")], [], spec(steps))
    assert "makes no groups" in groups[1]


def test_a_loss_names_the_attributes_that_lost_most():
    figures = [figure("sse_percent", v, attribute=a) for a, v in (("age", 10.0), ("pay", 70.0), (None, 40.0))]
    (found,) = told([line("sse_percent", 25, 40.0, intruder=None)], figures, spec(GROUPED, age="numeric"))
    assert "most: pay 70\u202f%, age 10\u202f%" in found


def test_what_could_not_be_decided_says_why_in_plain_characters():
    undecided = line("reidentification", 0.1, 0.11, decision="undecided", reason="bad\n\x1b[1mname", deciding_bound="high")
    found = told([undecided], [], spec(GROUPED))
    assert "bad\\n\\x1b[1mname" in found[0]
    assert "targets: 1.0" in found[1]


def test_targets_do_not_decide_what_is_inferred():
    undecided = line("inference_excess", 0.1, 0.11, decision="undecided", reason="too few people", deciding_bound="high")
    (_, remedy) = told([undecided], [], spec(GROUPED))
    assert "`train_at_most`" in remedy
    assert "targets" not in remedy


def test_a_table_masked_elsewhere_is_masked_again_there():
    release = {**spec(None, age="numeric"), "released": {"table": "x.csv"}}
    found = told([line("reidentification", 0.1, 0.4)], [figure("cells_changed", 0.5, attribute="age")], release)
    assert found == ["The table was masked elsewhere: mask it more strongly there, and certify the new table."]


def test_a_line_on_one_insider_is_about_him_alone():
    figures = [figure("reidentification", 0.9, who) for who in ("insider:vote", "insider:weight")]
    release = {**spec(GROUPED, vote="nominal", weight="numeric"), "policy": [{"intruder": "insider:weight"}]}
    found = told([line("reidentification", 0.3, 0.9, intruder="insider:weight")], figures, release)
    assert [sentence.split()[0] for sentence in found] == ["weight"]


def _joined(masking: list[dict[str, Any]], scale: str) -> str:
    """What is said of an insider who knows `vote`."""
    failed = line("reidentification", 0.3, 0.9, intruder="insider:vote")
    (found,) = told([failed], [figure("reidentification", 0.9, "insider:vote")], spec(masking, age="numeric", vote=scale))
    return found


def test_an_attribute_joins_the_microaggregation_in_the_words_of_its_step():
    assert "masking step that takes its scale" in _joined(GROUPED, "free_text")
    assert "masking step that takes its scale" in _joined(PRAM, "nominal")
    fitting = [{"method": "microaggregation", "attributes": None, "k": 3, "blocks": None}]
    assert "masks it then" in _joined(fitting, "numeric")
    assert "`attributes` of masking step 1" in _joined(fitting, "nominal")
    blocks = [{"method": "microaggregation", "attributes": None, "k": 3, "blocks": [["age"], ["sex"]]}]
    assert "add it to the `blocks` of masking step 1" in _joined(blocks, "numeric")


BLOCKS = [["age", "sex"], {"attributes": ["pay"], "k": 3}]
MICRO = {"method": "microaggregation", "attributes": ["age", "pay"], "k": 10, "blocks": None, "partition": "mdav"}
SWAPPED = {"method": "rank_swapping", "attributes": ["age"], "window_percent": None, "buckets": None, "p_percent": None}
EXCHANGED = {"method": "pram", "attributes": ["town"], "retention": None, "epsilon": None, "matrix": None, "warner": None}
LIMITS = {"age": {"top": "85", "bottom": None, "top_percent": None, "bottom_percent": 2.0, "publish": "limit"}}
METHODS = {
    "some blocks": ({**MICRO, "attributes": None, "blocks": BLOCKS}, "`k` of the blocks of masking step 1 from 3 to 10",
                             "lower `k` of masking step 1 (now 10, and 3 in blocks; more risk)"),
    "individual ranking": ({**MICRO, "partition": "individual_ranking"}, "`partition: mdav", "lower `k`"),
    "a small k": ({**MICRO, "k": 4}, "Raise `k` of masking step 1 from 4 to 10", "(now 4; more risk)"),
    "window": ({**SWAPPED, "window_percent": 5.0}, "Raise `window_percent` of masking step 1 (now 5)",
               "lower `window_percent` of masking step 1 (now 5; more risk)"),
    "buckets": ({**SWAPPED, "buckets": 20}, "Lower `buckets` of masking step 1 (now 20)",
                "raise `buckets` of masking step 1 (now 20; more risk)"),
    "distribution": ({**SWAPPED, "p_percent": 8.0}, "Raise `p_percent`", "lower `p_percent`"),
    "jitter": ({"method": "rank_jitter", "attributes": ["age"], "window_percent": 3.0}, "Raise `window_percent`",
               "lower `window_percent`"),
    "no field of a variant": (SWAPPED, "Move values further in masking step 1", "move values less far in masking step 1"),
    "warner": ({**EXCHANGED, "warner": {"p": 0.7, "p_yes": 0.5, "yes": "Yes"}}, "`p` of `warner` in masking step 1 (now 0.7)",
               "raise `p` of `warner`"),
    "matrix": ({**EXCHANGED, "matrix": {"a": {"a": 1.0}}}, "Let less stay by the `matrix`", "let more stay by the `matrix`"),
    "noise": ({"method": "noise", "attributes": ["age"], "kind": "correlated", "sd_percent": 10.0},
              "Raise `sd_percent` of masking step 1 (now 10)", "lower `sd_percent` of masking step 1 (now 10; more risk)"),
    "reverse mapping": ({"method": "reverse_mapping", "attributes": ["age"]}, "mask more in the steps before it", "lose less"),
    "rounding": ({"method": "rounding", "attributes": None, "bases": {"age": 5.0, "pay": 500.0}, "kind": "deterministic"},
                 "Raise the `bases` of masking step 1 (now age 5 and pay 500)",
                 "lower the `bases` of masking step 1 (now age 5 and pay 500; more risk)"),
    "coding": ({"method": "top_bottom_coding", "attributes": None, "limits": LIMITS}, "hides the ends alone",
               "code less in masking step 1 (`limits`: `top` and `bottom_percent`; more risk)"),
    "recoding": ({"method": "recoding", "attributes": None, "recode": {"town": {"map": {"a": "x"}}}}, "fewer categories",
                 "more categories"),
    "share": ({"method": "sampling", "attributes": None, "share": 0.2, "size": None}, "`share` of masking step 1 (now 0.2)",
              "raise `share` of masking step 1 (now 0.2; more risk)"),
    "size": ({"method": "sampling", "attributes": None, "share": None, "size": 90}, "Lower `size`", "raise `size`"),
    "one of tomorrow": ({"method": "unheard_of", "attributes": ["age"]}, "Mask more strongly", "mask less in masking step 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_every_method_says_how_it_protects_more_and_costs_less(name):
    step, protects, costs = METHODS[name]
    assert protects in " ".join(suggest_stronger_masking(0, step, line("reidentification", 0.1, 0.4)))
    assert costs in "; ".join(suggest_weaker_masking(step, "masking step 1"))


@pytest.mark.parametrize("name", METHODS)
def test_a_step_is_told_whatever_is_left_out_of_it(name):
    """Old manifests lack the parameters of later versions, never those that a method cannot do without."""
    step = METHODS[name][0]
    method = find_method(step["method"])
    required = {"method"} if method is None else {name for name, one in method.model_fields.items() if one.is_required()}
    for field in set(step) - required:
        left = {key: value for key, value in step.items() if key != field}
        assert any(suggest_stronger_masking(0, left, line("k_anonymity", 20, 1))) or step["method"] == "pseudonyms"
        assert all(suggest_weaker_masking(left, "masking step 1"))
        list_step_attributes(left)


@pytest.mark.parametrize("name", METHODS)
def test_methods_without_groups_are_said_to_keep_no_k(name):
    step = METHODS[name][0]
    without = step["method"] in {"rank_swapping", "rank_jitter", "reverse_mapping", "pram", "noise"}
    assert any("makes no groups" in way for way in suggest_stronger_masking(0, step, line("k_anonymity", 5, 1))) == without


def test_the_attributes_of_a_mapping_are_those_that_it_masks():
    found = {
        name: list_step_attributes(METHODS[name][0]) for name in ("rounding", "coding", "recoding", "share", "some blocks")
    }
    assert found == {"rounding": {"age", "pay"}, "coding": {"age"}, "recoding": {"town"}, "share": set(),
                     "some blocks": {"age", "sex", "pay"}}  # fmt: skip
    assert list_step_attributes({**MICRO, "attributes": None}) is None


PRAM = [{"method": "pram", "attributes": ["town"], "epsilon": 0.5}]


def test_a_loss_by_exchanged_categories_is_mended_by_epsilon():
    """k has no meaning where PRAM alone masks; beside a microaggregation both ways are named."""
    broken, figures = line("cells_changed", 0.5, 0.8, intruder=None), [figure("cells_changed", 0.8, attribute="town")]
    (alone,) = told([broken], figures, spec(PRAM, town="nominal"))
    assert "raise `epsilon` of masking step 1 (now 0.5)" in alone
    assert "`k`" not in alone
    both = told([broken], [*figures, figure("cells_changed", 0.9, attribute="age")], spec(GROUPED + PRAM))[0]
    assert "lower `k` of masking step 1 (now 3" in both
    assert "raise `epsilon` of masking step 2" in both
    (kept,) = told([broken], figures, spec([{"method": "pram", "attributes": ["town"], "retention": 0.4}]))
    assert "raise `retention`" in kept


@pytest.mark.parametrize("name", ["row_position", "by_place"])
@pytest.mark.parametrize("who", ["declared", "insider:vote"])
def test_what_the_row_position_found_is_no_matter_of_masks(name, who):
    stated = [{"method": "row_position", "id": "by_place"}, {"method": "distance_linkage", "id": None}]
    release = {**spec(GROUPED, age="numeric", vote="nominal"), "attacks": stated, "keep_row_order": "a panel"}
    found = {**figure("reidentification", 1.0, who), "attack": name}
    (said,) = told([line("reidentification", 0.1, 1.0, attack=name, intruder=who)], [found], release)
    assert said.startswith("Take `keep_row_order` out")
    assert not any(word in said for word in ("`k`", "quasi_identifier", "masking step"))


def test_an_insider_is_not_blamed_for_what_the_row_position_found():
    figures = [
        {**figure("reidentification", 1.0, f"insider:{who}"), "attack": "row_position"} for who in ("vote", "weight")
    ] + [{**figure("reidentification", 0.6, "insider:vote"), "attack": "distance_linkage"}]
    failed = line("reidentification", 0.3, 0.6, intruder="insider:vote", attack="distance_linkage")
    found = told([failed], figures, spec(GROUPED, age="numeric", vote="nominal", weight="numeric"))
    assert [sentence.split()[0] for sentence in found] == ["vote"]


def test_a_table_masked_elsewhere_has_no_masking_step_to_name():
    release = {**spec(None, age="numeric", weight="numeric"), "released": {"table": "x.csv"}}
    lines = [line("reidentification", 0.1, 0.4), line("reidentification", 0.1, 0.5, intruder="insider:weight", line=1),
             line("cells_changed", 0.1, 0.5, intruder=None, line=2)]  # fmt: skip
    found = told(lines, [figure("reidentification", 0.5, "insider:weight")], release)
    assert len(found) == 4
    assert not any("masking step" in sentence for sentence in found)
    assert all("in the tool that made the table" in sentence for sentence in (found[0], found[2], found[3]))


@pytest.mark.parametrize(
    ("reason", "remedy"), [(f"the figure is failed: {UNLIKE}", "draw both at random"), ("wide", "a larger `control`")]
)
def test_a_control_of_other_people_is_not_mended_by_more_of_them(reason, remedy):
    undecided = line("membership_auc", 0.6, None, decision="undecided", reason=reason, attack="gap", deciding_bound=None)
    (_, told_to_do) = told([undecided], [], spec(None) | {"release": {"model": {}}})
    assert remedy in told_to_do
