"""Rehearsals on data frames: what they give, and what they refuse, as a release file would be."""

import math

import numpy as np
import pandas as pd
import pytest

import sdcert as sc

FRAME = pd.DataFrame(
    {
        "age": [20, 25, 30, 35, 40] * 8,
        "income": [100.5, 300.5, 200.5, 500.5] * 10,
        "ill": ["no", "yes", "no", "no"] * 10,
    },
    index=[f"row {i}" for i in range(40)],
)
ROLES = {"ill": {"role": "confidential"}}
NOISE = {"method": "noise", "kind": "independent", "sd_percent": 40.0}


@pytest.fixture(scope="module")
def masked():
    return sc.mask(FRAME, "noise", kind="independent", sd_percent=40, attributes=["income"], declare=ROLES, seed=3)


@pytest.fixture(scope="module")
def attacked(masked):
    return sc.attack(FRAME, masked, knows=["age", "income"], insiders=True, curve=True)


def test_what_is_masked_keeps_rows_index_and_other_columns(masked):
    assert masked.table.index.equals(FRAME.index)
    assert masked.table[["age", "ill"]].equals(FRAME[["age", "ill"]].astype({"ill": "str"}))
    assert not np.allclose(masked.table["income"], FRAME["income"])
    assert masked.mechanism == [{**NOISE, "attributes": ["income"]}]
    assert masked.attributes["role"].to_dict() == {
        "age": "quasi_identifier", "income": "quasi_identifier", "ill": "confidential",
    }  # fmt: skip


def test_a_seed_repeats_a_rehearsal_and_none_does_not():
    def draw(seed):
        return sc.mask(FRAME, [NOISE], declare=ROLES, seed=seed).table["income"].tolist()

    assert draw(3) == draw(np.int64(3)) != draw(4)
    assert draw(None) != draw(None)


def test_a_result_does_not_show_its_seed(masked):
    assert masked.seed.hex() not in repr(masked)
    assert repr(masked.seed) not in repr(masked)


def test_several_steps_and_a_sample():
    steps = [{"method": "sampling", "share": 0.5}, {"method": "rounding", "bases": {"income": 200}, "kind": "deterministic"}]
    found = sc.mask(FRAME, steps, declare=ROLES)
    assert len(found.table) == 20
    assert set(found.table.index) < set(FRAME.index)
    assert set(found.table["income"] % 200) == {0.0}


def test_figures_of_attacks(attacked):
    assert set(attacked) >= {"reidentification", "max_record_risk", "linked_value_disclosed"}
    frame = attacked.to_frame()
    rates = frame[(frame["measure"] == "reidentification") & (frame["intruder"] == "declared")]
    assert attacked["reidentification"] == rates["value"].max() == attacked.worst.value
    assert attacked[attacked.worst.id] == attacked.worst.value
    assert {"insider:ill", "knowing:1", "declared"} == set(frame["intruder"])
    with pytest.raises(KeyError, match="reidentification"):
        attacked["reidentificatoin"]


def test_a_figure_without_a_value_is_nan(attacked):
    silent = [one.id for one in attacked.estimates if one.value is None]
    assert all(math.isnan(attacked[one]) for one in silent)


def test_what_notebooks_show(masked, attacked):
    page = attacked._repr_html_()
    assert "<table>" in page
    assert page.count("chart-summary") >= 1
    assert "<script" not in page
    scored = sc.score(FRAME, masked, attacks=[attacked])
    verdict = sc.decide(scored, [{"measure": "reidentification", "at_most": 1.0}])
    for shown in (masked, scored, verdict):
        assert shown._repr_html_().count("<table>") >= 1


def test_names_are_escaped_where_notebooks_show_them():
    name = "<b>&x"
    found = sc.mask(FRAME.rename(columns={"age": name}), [NOISE], declare=ROLES)
    assert name not in found._repr_html_()


def test_the_verdict_of_a_policy(masked, attacked):
    scored = sc.score(FRAME, masked, attacks=[attacked])
    assert scored["reidentification"] == attacked["reidentification"]
    worst = attacked["reidentification"]
    lines = [{"measure": "reidentification", "at_most": limit} for limit in (worst, worst / 2)]
    assert [sc.decide(scored, [line]).outcome for line in lines] == ["kept", "broken"]
    both = sc.decide(scored, lines)
    assert both.to_frame()["decision"].tolist() == ["pass", "fail"]
    assert not both.is_kept
    assert str(both).startswith("rehearsal: broken")


def test_a_table_from_elsewhere(masked):
    found = sc.attack(FRAME, masked.table, knows=["age", "income"], declare=ROLES)
    assert [step["method"] for step in found.masked.mechanism] == ["undeclared"]
    followed = sc.attack(
        FRAME, masked.table, ["age", "income"], mechanism=masked.mechanism, declare=ROLES, attacks=["distance_linkage"]
    )
    direct = sc.attack(FRAME, masked, ["age", "income"], attacks=["distance_linkage"])
    assert followed["reidentification"] == direct["reidentification"]
    assert followed.masked.mechanism == masked.mechanism
    scored = sc.score(FRAME, masked.table, attacks=[followed])
    assert scored["sse_percent"] == sc.score(FRAME, masked)["sse_percent"]


def test_rows_of_nobody():
    rows = FRAME.sample(30, random_state=1).reset_index(drop=True)
    found = sc.adopt(FRAME, rows, align="none", declare=ROLES)
    attacked = sc.attack(FRAME, found, ["age"])
    assert {one.status for one in attacked.results} == {"ok"}


def test_a_key_aligns():
    keyed = FRAME.assign(number=range(1000, 1040))
    shuffled = keyed.sample(frac=1, random_state=2)
    found = sc.adopt(keyed, shuffled.assign(income=7.5), align="key", key="number", declare=ROLES)
    assert sc.attack(keyed, found, ["age"], attacks=["distance_linkage"])["reidentification"] == pytest.approx(5 / 40)


PEOPLE = pd.DataFrame({
    "age": np.random.default_rng(1).integers(18, 90, 120),
    "income": np.random.default_rng(2).integers(100, 9000, 120) * 10.5,
    "ill": np.random.default_rng(3).choice(["no", "yes"], 120),
})  # fmt: skip
TREE = {"method": "model_based_disclosure", "learners": ["decision_tree"], "inputs_at_most": 0}


@pytest.fixture(scope="module")
def with_control():
    return sc.mask(PEOPLE, [NOISE], declare=ROLES, control=0.25, seed=3)


@pytest.fixture(scope="module")
def asked(with_control):
    return sc.attack(PEOPLE, with_control, attacks=[], membership=["closest_record", "values_present"], inference=[TREE])


def test_a_control_is_set_aside_and_asked_about(with_control, asked):
    assert len(with_control.table) == 90
    assert with_control.table.index.isin(PEOPLE.index).all()
    assert with_control.table["ill"].equals(PEOPLE["ill"].loc[with_control.table.index].astype("str"))
    frame = asked.to_frame()
    areas = frame[frame["measure"] == "membership_auc"]
    assert areas["attack"].tolist() == ["closest_record", "values_present"]
    assert areas["n_targets"].tolist() == [60, 60]
    assert areas["reason"].isna().all()
    assert asked["membership_auc"] == areas["value"].max()
    assert pd.isna(frame.loc["inference_excess|model_based_disclosure|declared|ill", "reason"])
    assert asked.worst is None
    assert "membership_auc" in asked._repr_html_()


def test_what_attacks_say_of_people_decides(with_control, asked):
    linked = sc.attack(PEOPLE, with_control, insiders=True)
    scored = sc.score(PEOPLE, with_control, attacks=[linked, asked])
    lines = [("membership_auc", 1.0), ("inference_excess", 1.0), ("reidentification", 1.0)]
    verdict = sc.decide(scored, [{"measure": name, "at_most": limit} for name, limit in lines])
    assert verdict.to_frame()["attack"].tolist()[1:] == ["model_based_disclosure", linked.worst.attack]
    assert verdict.to_frame()["decision"].tolist() == ["pass"] * 3
    with pytest.raises(sc.InputError):
        sc.score(PEOPLE, with_control, attacks=[asked, asked])


def test_without_a_control_the_masking_is_rehearsed_and_decides_nothing():
    masked = sc.mask(PEOPLE, [NOISE], declare=ROLES, seed=3)
    asked = sc.attack(PEOPLE, masked, attacks=[], membership=["closest_record"], inference=[TREE])
    frame = asked.to_frame()
    assert frame.loc["membership_auc|closest_record", "reason"].startswith("rehearsed")
    assert frame.loc["inference_excess|model_based_disclosure|declared|ill", "reason"].startswith("rehearsed")
    verdict = sc.decide(sc.score(PEOPLE, masked, [asked]), [{"measure": "membership_auc", "at_most": 1.0}])
    assert verdict.outcome == "undecided"


def test_people_of_another_frame_are_a_control():
    half = PEOPLE.iloc[:60], PEOPLE.iloc[60:]
    masked = sc.mask(half[0], [NOISE], declare=ROLES, control=half[1], seed=3)
    assert len(masked.table) == 60
    elsewhere = {"control": half[1], "declare": ROLES, "mechanism": masked.mechanism}
    for given, options in ((masked, {}), (masked.table, elsewhere)):
        asked = sc.attack(half[0], given, attacks=[], membership=["closest_record"], **options)
        assert asked.to_frame().loc["membership_auc|closest_record", "n_targets"] == 60


WRONG = [
    (lambda: sc.attack(FRAME, FRAME, membership=True), "membership-without-control", "sdcert.attack: membership"),
    (lambda: sc.attack(FRAME, FRAME, membership=["closest_recrod"], control=FRAME), "in-both", "control.table"),
    (lambda: sc.adopt(FRAME, FRAME, control=0.2), "control-comes-late", "sdcert.adopt: control"),
    (lambda: sc.mask(FRAME, [NOISE], control=1), "release-file", "sdcert.mask: control"),
    (lambda: sc.mask(FRAME, [NOISE], control=0.1), "control-too-small", "control"),
    (lambda: sc.mask(FRAME, [NOISE], control=[1, 2]), "no-data-frame", "control: control"),
    (lambda: sc.mask(FRAME, "microagregation", k=3), "release-file", "sdcert.mask: masking[0]"),
    (lambda: sc.mask(FRAME, "microaggregation", k="3"), "release-file", "sdcert.mask: masking[0].k"),
    (lambda: sc.mask(FRAME, "microaggregation", k=3, size=2), "release-file", "sdcert.mask: masking[0].size"),
    (lambda: sc.mask(FRAME, "microaggregation", k=3, attributes=["wage"]), "unknown-attribute", "masking[0].attributes"),
    (lambda: sc.mask(FRAME, "microaggregation", k=99), "k-above-rows", None),
    (lambda: sc.mask(FRAME, [NOISE], k=3), "parameters-beside-steps", "sdcert.mask"),
    (lambda: sc.mask(FRAME, []), "release-file", "sdcert.mask: masking"),
    (lambda: sc.mask(FRAME, [NOISE], seed=-1), "seed", "seed"),
    (lambda: sc.mask(FRAME, [NOISE], seed="1"), "seed", "seed"),
    (lambda: sc.mask(FRAME, [{**NOISE, "draw": "per_person"}], key="age"), "needs-a-series", "sdcert.mask: masking[0]"),
    (lambda: sc.mask(FRAME, "noise", kind=object(), sd_percent=3), "parameter", "sdcert.mask"),
    (lambda: sc.adopt(FRAME, FRAME.head(3), declare=ROLES), "rows-do-not-align", "released.align"),
    (lambda: sc.adopt(FRAME, FRAME[["age"]], declare=ROLES), "released-lacks-column", "released"),
    (lambda: sc.attack(FRAME, FRAME, files=[]), "not-rehearsed", "sdcert.attack: files"),
    (lambda: sc.attack(FRAME, FRAME, targets={"first": 0.1, "last": 0.5, "looks": 2}), "no-looks", "sdcert.attack: targets"),
]


@pytest.mark.parametrize(("call", "code", "where"), WRONG)
def test_wrong_input_is_one_clear_error(call, code, where):
    with pytest.raises(sc.InputError) as caught:
        call()
    assert where is None or caught.value.where == where
    assert where is None or caught.value.code == code
    assert "line 1" not in str(caught.value)


def test_what_was_masked_is_what_is_attacked(masked, attacked):
    other = FRAME.assign(age=1 + FRAME["age"])
    for call in (lambda: sc.attack(other, masked), lambda: sc.score(other, masked)):
        with pytest.raises(sc.InputError) as caught:
            call()
        assert caught.value.code == "other-source"
    with pytest.raises(sc.InputError) as caught:
        sc.score(FRAME, sc.mask(FRAME, [NOISE], declare=ROLES), attacks=[attacked])
    assert caught.value.code == "other-table"
    with pytest.raises(sc.InputError) as caught:
        sc.attack(FRAME, masked, mechanism=masked.mechanism)
    assert caught.value.code == "known-mechanism"


def test_an_attack_that_the_masking_must_face_is_not_left_out_silently(masked):
    found = sc.score(FRAME, masked, attacks=[sc.attack(FRAME, masked, ["age"], attacks=["distance_linkage"])])
    line = {"measure": "reidentification", "at_most": 1.0}
    with pytest.raises(sc.InputError) as caught:
        sc.decide(found, [line])
    assert caught.value.code == "required-attack-missing"
    with pytest.raises(sc.InputError) as caught:
        sc.decide(found, [{"measure": "reidentification", "at_most": 15}])
    assert caught.value.where.startswith("sdcert.decide")
