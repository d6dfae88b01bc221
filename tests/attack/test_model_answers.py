"""What a released model answers of confidential values: by hand, by heart, and at chance of others (5 s)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tasks.attack.inference.model_answers import AskedPeople, infer_feature, infer_target, list_model_secrets, select_asked
from tasks.attack.inference.outcomes import InferenceOutcome, InferenceResult, InferredAttribute
from tasks.attack.membership.frame import create_frame
from tasks.microdata.errors import NotApplicable
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.microdata.units import Units, find_units
from tasks.score.inference import inference_figures
from tasks.score.policy import PolicyLine
from tasks.score.verdict import decide
from tasks.train.examples import Examples, Feature, create_encoder
from tasks.train.learners import DecisionTree
from tasks.train.spec import ModelSpec
from tasks.train.training import learn_with

BY_HEART, HELD_BACK = DecisionTree(method="decision_tree"), DecisionTree(method="decision_tree", max_depth=2)
SCHEMA = Schema((
    Attribute("x", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared"),
    Attribute("z", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared"),
    Attribute("faith", Role.CONFIDENTIAL, Scale.NOMINAL, "declared"),
    Attribute("wage", Role.CONFIDENTIAL, Scale.NUMERIC, "declared"),
    Attribute("vote", Role.CONFIDENTIAL, Scale.NOMINAL, "declared"),
))  # fmt: skip


def ask(faiths, labels, members, others):
    """People of whom the model reads one input; those at `others` are the intruder's own."""
    data = Examples(pd.DataFrame({"faith": faiths}), (Feature("faith", "category"),), np.array(labels), np.array([0, 1]))
    rows = np.setdiff1d(np.arange(len(labels)), others)
    units = Units(np.arange(len(rows)), len(rows), "records")
    return AskedPeople(data, rows, units, np.isin(rows, members), np.array(others))


def test_the_value_that_fits_best_is_taken_by_hand():
    """The class is 1 with 0.9 of faith a, 0.5 of b and 0.2 of c; of the others six have a, two b and two c.

    Of class 1: 0.54 : 0.10 : 0.04, so that a is guessed, 54 of 68 sure. Of class 0: 0.06 : 0.10 : 0.16, so c, half sure.
    Without the shares class 1 means a as well, 9 of 16 sure.
    """
    chance = {"a": 0.9, "b": 0.5, "c": 0.2}
    predict = lambda frame: np.array([[1 - chance[one], chance[one]] for one in frame["faith"]])  # noqa: E731  a model as short as what it answers
    faiths = ["a", "c", "b", "a"] * 10 + list("aaaaaabbcc")
    asked = ask(faiths, [1, 0, 1, 0] * 10 + [0] * 10, range(0, 40, 2), range(40, 50))
    found = infer_feature(asked, predict, "faith", np.random.default_rng(0))
    assert found.floats("right:weighed:value").tolist() == [1, 1, 0, 0] * 10
    assert found.floats("sure:weighed:value")[:2] == pytest.approx([54 / 68, 0.5])
    assert found.floats("sure:unweighed:value")[0] == pytest.approx(9 / 16)
    assert found.floats("guess").tolist() == [1, 0, 0, 1] * 10  # of the members as many have a as b: the first


def test_too_few_people_or_values_are_not_applicable():
    predict = lambda frame: np.tile([0.5, 0.5], (len(frame), 1))  # noqa: E731  a model as short as what it answers
    asked = ask(["a"] * 50, [0, 1] * 25, range(0, 40, 2), range(40, 50))
    with pytest.raises(NotApplicable):
        infer_feature(asked, predict, "faith", np.random.default_rng(0))
    with pytest.raises(NotApplicable):
        infer_target(ask(["a"] * 50, [0, 1] * 25, range(19), range(40, 50)), predict, np.random.default_rng(0))


def make_people(rng, n):
    """Nothing says anything of anything else."""
    return Microdata.from_columns({
        "x": rng.normal(size=n),
        "z": rng.normal(size=n),
        "faith": rng.choice(list("abcd"), n),
        "wage": rng.normal(size=n),
        "vote": rng.choice(["no", "yes"], n),
    })  # fmt: skip


def compute_figures(learner, taught_by, seed=0, n=1200, secrets=("faith", "wage", "vote")):
    """All figures by id, of a model that the members taught, or other people."""
    rng = np.random.default_rng(seed)
    table, strangers = make_people(rng, n), make_people(rng, n)
    units = find_units(table, SCHEMA)
    member = np.arange(n) < n // 2
    frame = create_frame(units, member, ~member, rng=rng)
    coding = create_encoder(ModelSpec(learner=learner, target="vote"), SCHEMA, table)
    data = coding.examples(table)
    teachers = data.take(frame.member_rows) if taught_by == "members" else coding.examples(strangers)
    predict = learn_with(learner)(teachers, seed)
    people = table.take(frame.target_rows)
    asked = select_asked(frame, data, find_units(people, SCHEMA))
    names = list_model_secrets(SCHEMA, "vote", tuple(one.name for one in data.features))
    columns = {"member": asked.is_member}
    for place, name in enumerate(secrets):
        fates = infer_target(asked, predict, rng) if name == "vote" else infer_feature(asked, predict, name, rng)
        columns |= {f"{place}|{column}": fates.column(column) for column in fates.names}
    result = InferenceResult(
        attack="model_answers", method="model_answers", intruder="declared", evaluates="this file", knows=data.frame.columns,
        secrets=tuple(InferredAttribute(name=name) for name in secrets), learners=(), p_percent=5.0, fewest_of_subgroup=10_000,
        has_control=True, population=int(member.sum()),
    )  # fmt: skip
    outcome = InferenceOutcome(result, people, Microdata.from_columns(columns))
    found = inference_figures((outcome,), SCHEMA, "records")
    return names, found, {one.id.replace("model_answers|declared|", ""): one for one in found}


def test_a_model_that_learned_by_heart_tells_what_it_learned():
    """Of its own people it is always right of the class, of others in a half of the cases; and their faith fits better."""
    names, every, found = compute_figures(BY_HEART, "members")
    assert names == ("faith", "wage", "vote")
    assert found["inference_success|vote"].value == 1.0
    assert found["inference_control|vote"].value == pytest.approx(0.5, abs=0.09)
    assert found["inference_excess|vote"].low > 0.4
    assert found["inference_asserted|vote"].value == 1.0
    assert found["inference_excess|faith"].value > 0.03
    policy = (PolicyLine(measure="inference_excess", at_most=0.2),)
    assert decide(policy, every).verdict == "refused"


@pytest.mark.parametrize("learner", [BY_HEART, HELD_BACK])
def test_a_model_of_other_people_is_at_chance(learner):
    """Three draws: the successes of members and of others differ as chance allows, at 4 standard errors of all together."""
    beyond = {"vote": 0.0, "faith": 0.0}
    for seed in range(3):
        _, _, found = compute_figures(learner, "strangers", seed, secrets=("faith", "vote"))
        for name in beyond:
            beyond[name] += found[f"inference_excess|{name}"].value / 3
            assert found[f"inference_excess|{name}"].low < 0.05
    assert abs(beyond["vote"]) < 4 * np.sqrt(2 * 0.25 / 900)
    assert abs(beyond["faith"]) < 4 * np.sqrt(2 * 0.1875 / 900)


def test_what_everybody_is_told_is_no_excess_and_is_asserted():
    """The class is a function of one input: a tree is right of members and others alike, and each can be told."""
    rng = np.random.default_rng(3)
    faiths, x = rng.choice(list("ab"), 800), rng.normal(size=800)
    frame = pd.DataFrame({"x": x, "faith": faiths})
    data = Examples(frame, (Feature("x", "number"), Feature("faith", "category")), (x > 0).astype(int), np.array([0, 1]))
    member = np.arange(800) % 2 == 0
    shown = create_frame(Units(np.arange(800), 800, "records"), member, ~member, rng=rng)
    predict = learn_with(HELD_BACK)(data.take(shown.member_rows), 0)
    asked = select_asked(shown, data, Units(np.arange(len(shown.target_rows)), len(shown.target_rows), "records"))
    found = infer_target(asked, predict, rng)
    right = found.floats("right:answer:value")
    assert right[asked.is_member].mean() == 1.0
    assert right[~asked.is_member].mean() > 0.98
