"""What `sdcert check` says of the intruder, of what cannot answer or be kept, and where the mistake is. Nothing is run."""

from __future__ import annotations

import pytest
from release_files import RELEASE, survey, write_release

from flows.cli.check import print_plan
from tasks.microdata.errors import InputError
from tasks.microdata.interval import ERROR
from tasks.score.inference import compute_smallest_excess_limit
from tasks.score.look_decisions import compute_smallest_bound
from tasks.score.singling_out import compute_smallest_singling_out_limits

VOTES = {"vote": {"coarser": {"yes": "any", "no": "any"}}}
KNOWS = {"knows": ["age", "income", "vote"], "curve": False}
RISK = [{"measure": "max_record_risk", "at_most": 0.5}]
SYNTHETIC = {
    "masking": None,
    "released": {"table": "survey.csv", "align": "none"},
    "attributes": {**RELEASE["attributes"], "town": {"role": "withheld"}},
    "policy": [{"measure": "linked_value_disclosed", "attribute": "vote", "at_most": 0.9}],
}
LOOKS = {"first": 0.1, "last": 0.5, "looks": 2}
EXTRA = [
    {"method": "distance_linkage"},
    {"method": "transparency"},
    {"method": "transparency", "id": "together", "matching": "one_to_one"},
    {"method": "distance_linkage", "id": "back", "direction": "to_original"},
]


@pytest.fixture
def told(tmp_path, capsys):
    """`told(change)` checks the small survey with a changed release file; returns what was printed."""

    def check(change):
        assert print_plan(write_release(tmp_path, change)) == 0
        return capsys.readouterr().out

    return check


def refusal(tmp_path, change):
    with pytest.raises(InputError) as refused:
        print_plan(write_release(tmp_path, change))
    return refused.value


def line_of(path, place):
    """The line of a place in the file as it was written: each name of it below the one before."""
    texts, at = path.read_text().splitlines(), 0
    for name in place.replace("[0]", "").split("."):
        at = next(i for i in range(at, len(texts)) if texts[i].lstrip().startswith(f'"{name}":'))
    return at + 1


def warnings(out):
    return [line for line in out.splitlines() if line.startswith("warning:")]


def test_the_plan_says_what_the_intruder_holds_and_of_how_many(told):
    plain = told({})
    assert "  intruder  knows age, income, town of all records\n" in plain
    assert warnings(plain) == []
    holds = {**VOTES, "income": {"times": 0.001}}
    out = told({"intruder": {**KNOWS, "records": 0.5, "targets": 0.2, "participation_known": False, "holds": holds}})
    assert "knows age, income, vote of 50 % of the records, drawn at random" in out
    assert "holds income (0.001 times as large) and vote (coarser categories) instead of the original values" in out
    assert "20 % of these records are scored; does not know who is in the release" in out


@pytest.mark.parametrize(
    ("holds", "place", "said"),
    [
        ({"vote": {"coarser": {"yes": "any"}}}, "intruder.holds.vote", "gives no parent to 1 of the categories"),
        ({"income": {"coarser": {"1": "any"}}}, "intruder.holds.income", "this attribute holds none"),
        ({"vote": {"times": 2}}, "intruder.holds.vote", "its values are no numbers"),
        ({"incom": {"times": 2}}, "intruder.holds", "not among the attributes that they know"),
    ],
)
def test_what_an_intruder_cannot_hold_is_told_before_the_run(tmp_path, holds, place, said):
    refused = refusal(tmp_path, {"intruder": {**KNOWS, "holds": holds}})
    assert said in refused.what
    path = tmp_path / "release.yaml"
    assert refused.where == f"{path}, line {line_of(path, place)}: {place}"


def test_an_attack_on_rows_of_nobody_that_cannot_answer_is_warned_of(told):
    attacks = [{"method": "distance_linkage"}, {"method": "probabilistic_linkage", "id": "weights"}]
    (warning,) = (line for line in warnings(told({**SYNTHETIC, "attacks": attacks})) if "attacks[" in line)
    assert "attacks[1] (weights) will end as not applicable, because the rows of the release belong to nobody" in warning
    assert "attacks[" not in told(SYNTHETIC)


def test_an_attack_that_needs_all_records_is_warned_of_where_a_share_is_held(told):
    assert warnings(told({"attacks": EXTRA})) == []
    found = warnings(told({"attacks": EXTRA, "intruder": {"records": 0.5, "curve": False}}))
    assert [line.split()[1:3] for line in found] == [["attacks[2]", "(together)"], ["attacks[3]", "(back)"]]
    assert all("`intruder.records: 0.5`" in line for line in found)


@pytest.mark.parametrize(
    ("intruder", "limit", "named"),
    [
        ({"records": 0.5}, 0.5, "`intruder.records: 0.5`"),
        ({"records": 0.5, "targets": 0.2}, 0.5, "`intruder.records: 0.5` and `intruder.targets: 0.2`"),
        ({"targets": LOOKS}, 0.5, "`intruder.targets.last: 0.5`"),
        ({"targets": {**LOOKS, "last": 1.0}}, 0.5, None),
        ({"records": 0.5}, 1.0, None),
        ({}, 0.5, None),
    ],
)
def test_the_largest_risk_of_a_share_of_the_records_passes_no_limit(told, intruder, limit, named):
    out = warnings(told({"intruder": {**intruder, "curve": False}, "policy": [{**RISK[0], "at_most": limit}]}))
    if named is None:
        assert out == []
    else:
        (warning,) = out
        assert (
            f"policy[0] (max_record_risk) can only fail or stay undecided, so that the release is never certified: with {named}"
            in warning
        )


@pytest.mark.parametrize(("targets", "field"), [(0.5, "targets"), (LOOKS, "targets.last"), ({**LOOKS, "last": 1.0}, None)])
def test_links_that_are_asserted_by_their_margins_are_not_known_of_a_sample(told, targets, field):
    policy = [{"measure": "known_links", "at_most": 0.3}]
    found = warnings(told({"intruder": {"targets": targets, "curve": False}, "policy": policy}))
    if field is None:
        assert found == []
    else:
        (warning,) = found
        assert "policy[0] (known_links) can only fail or stay undecided: which links of distance_linkage" in warning
        assert f"with `intruder.{field}` below 1" in warning
    other = [{**policy[0], "attack": "transparency", "accept_other_attacks": "its margins are not known"}]
    assert warnings(told({"intruder": {"targets": targets, "curve": False}, "policy": other})) == []


@pytest.mark.parametrize(
    ("targets", "bound", "field"),
    [(0.5, 4 / 80, "intruder.targets"), (LOOKS, 5 / 80, "intruder.targets.last")],  # none of 40 of 80, at 5 and at 2.5 %
)
def test_a_limit_below_what_a_sample_can_show_is_warned_of(told, targets, bound, field):
    def lines(measure, limit):
        policy = [{"measure": measure, "at_most": limit}, {"measure": "reidentification", "at_most": 0.5}]
        return warnings(told({"intruder": {"targets": targets, "curve": False}, "policy": policy}))

    assert compute_smallest_bound(40, 80, ERROR if field.endswith("targets") else ERROR / 2) == bound
    for measure in ("records_exposed", "reidentification"):
        (warning,) = [line for line in lines(measure, bound - 0.001) if "policy[0]" in line]
        assert f"policy[0] ({measure}) can only fail or stay undecided" in warning
        assert f"40 of 80 are attacked at most, and if nobody of them is found the bound is {bound:.2g}" in warning
        assert f"raise `{field}`, or the limit" in warning
        assert not any("policy[0]" in line for line in lines(measure, bound))


def test_who_holds_a_file_holds_all_of_it_whatever_share_the_others_hold(told, tmp_path):
    (tmp_path / "register.csv").write_text("".join(line.rsplit(",", 1)[0] + "\n" for line in survey().splitlines()[:60]))
    intruder = {"records": 0.5, "curve": False, "files": [{"table": "register.csv", "key": "person_id"}]}
    assert warnings(told({"intruder": intruder, "policy": [{**RISK[0], "intruder": "file"}]})) == []
    (warning,) = warnings(told({"intruder": {**intruder, "targets": 0.5}, "policy": [{**RISK[0], "intruder": "file"}]}))
    assert "with `intruder.targets: 0.5` not every record" in warning


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"seed": 3}, "seed"),
        ({"released": {"table": "survey.csv"}}, "masking"),
        ({"masking": None, "released": {"table": "survey.csv", "align": "key"}, "key": None}, "released.align"),
        ({"measures": [{"measure": "uniques_released", "attributes": ["age"]}]}, "measures[0].measure"),
        ({**SYNTHETIC, "keep_row_order": "a panel"}, "keep_row_order"),
        ({"person": "age"}, "person"),
        ({"control": 0.25, "membership": [{"method": "closest_record", "id": "transparency"}]}, "membership[0].id"),
    ],
)
def test_what_does_not_fit_together_names_the_line_of_a_field(tmp_path, change, field):
    refused = refusal(tmp_path, change)
    path = tmp_path / "release.yaml"
    assert refused.where == f"{path}, line {line_of(path, field)}: {field}"


def test_what_names_no_field_of_the_file_is_told_of_the_whole_file(tmp_path):
    assert refusal(tmp_path, {"masking": None}).where.endswith("line 1: (the whole file)")


def test_uniques_asked_of_a_masked_table_are_told_how_a_synthetic_one_is_declared(tmp_path):
    refused = refusal(tmp_path, {"policy": [{"measure": "uniques_released", "at_most": 0.05}]})
    assert "released: {table: ..., align: none}" in refused.remedy
    assert refused.where.endswith(": policy[0].measure")


def limits(measure, at_most, **change):
    return {"control": 0.25, "policy": [{"measure": measure, "at_most": at_most}], **change}


def test_a_control_too_small_for_its_limit_is_warned_of(told):
    (warning,) = warnings(told(limits("membership_advantage", 0.1)))
    assert "policy[0] (membership_advantage) is likely to stay undecided although nothing is told" in warning
    assert "ask about 20 members and as many others" in warning and "it needs at least 295 of each" in warning
    (warning,) = warnings(told(limits("membership_auc", 0.5)))
    assert "beyond 0.5; no number is enough for that" in warning
    (warning,) = warnings(told(limits("membership_true_positive_rate", 0.1)))
    assert "will stay undecided" in warning and "a rate of 1 % needs 1,000 others" in warning


def test_a_table_of_others_and_a_rehearsal_ask_about_as_many_as_there_are(told, tmp_path):
    names, *rows = survey(105).splitlines()
    (tmp_path / "others.csv").write_text("\n".join([names, *rows[80:]]) + "\n")
    (warning,) = warnings(told(limits("membership_auc", 0.6, control={"table": "others.csv"})))
    assert "with a control of this size attacks ask about 25 members" in warning
    rehearsed = limits("membership_auc", 0.6, control=None, membership=[{"method": "closest_record"}])
    (warning,) = warnings(told(rehearsed))
    assert "with this table attacks ask about 20 members" in warning


@pytest.mark.parametrize(
    "line",
    [
        {"measure": "membership_advantage", "at_most": 0.5},
        {"measure": "membership_advantage", "at_most": 1},
        {"measure": "membership_true_positive_rate", "at_most": 1},
    ],
)
def test_a_limit_that_can_be_kept_is_not_warned_of(told, line):
    assert warnings(told({"control": 0.25, "policy": [line]})) == []


def test_the_smallest_limits_that_so_few_people_can_decide_are_told(told):
    """80 people, rehearsed on halves: 40 and 40. Warned of is only what cannot be decided though chance isolates nobody."""
    none, most = compute_smallest_singling_out_limits(40, 40)
    out = told({"policy": [{"measure": "singling_out", "at_most": 0.05}], "inference": None})
    (row,) = (line for line in out.splitlines() if line.startswith("  singling"))
    assert f"{none:.3f}" in row and f"{most:.3f}" in row
    assert 0.05 < none < 0.1 < most < 0.25
    (row,) = (line for line in out.splitlines() if line.startswith("  inference"))
    assert f"{compute_smallest_excess_limit(40, 40):.3f}" in row
    (warning,) = warnings(out)
    assert "policy[0] (singling_out)" in warning and f"{none:.3f}" in warning
    assert warnings(told({"policy": [{"measure": "singling_out", "at_most": 0.1}]})) == []
