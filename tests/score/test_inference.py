"""Values that a model infers: by hand, at chance, found where people are known by heart or a group is told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from tasks.attack.inference.experiment import InferenceExperiment, create_experiment
from tasks.attack.inference.model_based_disclosure import RIGHT, SURE, ModelBasedDisclosure, compare_models, infer_values
from tasks.attack.inference.outcomes import InferenceOutcome, InferenceResult, InferredAttribute
from tasks.attack.inference.secret import Secret
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.microdata.errors import InputError, NotApplicable
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.microdata.units import find_units
from tasks.score.inference import JudgedPeople, estimate_asserted, estimate_excess, inference_figures
from tasks.score.known_release import Known
from tasks.score.policy import PolicyLine, check_policy
from tasks.score.verdict import decide

CHEAP = ModelBasedDisclosure(
    method="model_based_disclosure", learners=("decision_tree", "nearest_neighbours", "candidate_rows")
)


def result(*secrets, evaluates="this file", population, has_control=True):
    return InferenceResult(
        attack="model_based_disclosure", method="model_based_disclosure", intruder="declared", evaluates=evaluates,
        knows=("g", "x"), secrets=tuple(InferredAttribute(name=name) for name in secrets), learners=CHEAP.learners,
        p_percent=5.0, fewest_of_subgroup=20, has_control=has_control, population=population,
    )  # fmt: skip


def schema(secret=Scale.NOMINAL):
    return Schema((
        Attribute("g", Role.QUASI_IDENTIFIER, Scale.NOMINAL, "declared"),
        Attribute("x", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared"),
        Attribute("secret", Role.CONFIDENTIAL, secret, "declared"),
    ))  # fmt: skip


def attacked(members, others, released, scale=Scale.NOMINAL, spec=CHEAP, seed=0):
    """All figures by id, of a release whose row i is member i's."""
    tables = [Microdata.from_columns(columns) for columns in (members, others, released)]
    rng, attributes = np.random.default_rng(seed), schema(scale)
    asked = create_experiment(tables[0], tables[1], tables[2], np.arange(tables[0].n), attributes, spec.train_at_most, rng)
    found = infer_values(spec, asked, attributes, (), ("g", "x"), "secret", rng).fates
    fates = Microdata.from_columns({"member": asked.is_member, **{f"0|{name}": found.column(name) for name in found.names}})
    outcome = InferenceOutcome(result("secret", population=asked.population), asked.people, fates)
    return {
        one.id.replace("model_based_disclosure|declared|", ""): one
        for one in inference_figures((outcome,), attributes, "records")
    }


def test_excess_by_hand():
    """100 members, 100 others. Half 0 is judged by the way with the largest excess in half 1, and half 1 by half 0's.

    In half 1 way a is right of 30 of 50 members and of 10 of 50 others (0.4), b of 45 and 40 (0.1), though b does better with
    members: half 0 is judged by a: 25 of 50 members, 20 of 50 others (0.1). In half 0 b has 40 and 30 (0.2): half 1 is judged
    by b. So 70 of 100 members, 60 of 100 others. The control is of b, which does best with members: 70 of 100.
    """
    half = np.tile(np.repeat([0.0, 1.0], 50), 2)
    first = lambda *counts: np.concatenate([np.arange(50) < n for n in counts]).astype(float)  # noqa: E731  a model as short as what it answers
    columns = {"half": half, f"{RIGHT}a": first(25, 30, 20, 10), f"{RIGHT}b": first(40, 45, 30, 40)}
    member = np.arange(200) < 100
    judged = JudgedPeople(result("secret", population=100), "secret", columns, member, np.ones(200, dtype=bool), "records")
    excess, control = estimate_excess(judged)
    assert (excess.value, control.value, excess.n_targets, excess.n_in_release) == (pytest.approx(0.1), 0.7, 200, 100)
    assert excess.low < 0.1 < excess.high
    assert -0.02 < excess.low < 0  # 1.645 root(0.7 x 0.3 / 100 + 0.6 x 0.4 / 100) is 0.11


def test_asserted_by_hand():
    """Of 200 members 100 are told surely and rightly, of the others at most half: these 100 are asserted, and nobody else."""
    sure = np.repeat([0.9, 0.5], 100)
    right = np.concatenate([np.ones(100), np.tile([0.0, 1.0], 50)])
    columns = {"half": np.tile([0.0, 1.0], 100), f"{RIGHT}a": right, f"{SURE}a": sure}
    everybody = np.ones(200, dtype=bool)
    judged = JudgedPeople(
        result("secret", population=200, has_control=False), "secret", columns, everybody, everybody, "records"
    )
    found = estimate_asserted(judged)
    assert (found.value, found.low, found.high, found.basis) == (0.5, 0.5, 0.5, "exact")
    assert estimate_asserted(judged, sure > 0.6).value == 1
    assert estimate_asserted(judged, sure < 0.6).value == 0


def people(rng, n):
    return {"g": rng.integers(0, 5, n), "x": rng.normal(size=n), "secret": rng.integers(0, 3, n)}


@pytest.mark.parametrize("tables", [20, pytest.param(500, marks=pytest.mark.long)])
def test_an_independent_secret_has_no_excess(tables):
    """Made tables whose released secrets belong to nobody: the successes are what chance gives, at 1e-4 all together.

    They are drawn anew. Were they the members' own in another order, the most frequent one among the members would be the most
    frequent one of the release too, and a guess of it slightly better of them than of others (0.006 with 150 members).
    """
    beyond, quick = 0.0, CHEAP.model_copy(update={"inputs_at_most": 0, "folds": 2})
    for seed in range(tables):
        rng = np.random.default_rng(seed)
        members, others, nobody = (people(rng, 150) for _ in range(3))
        found = attacked(members, others, {**members, "secret": nobody["secret"]}, spec=quick, seed=seed)
        beyond += 150 * found["inference_excess|secret"].value
    # the difference of two sums of 150 trials in each table, each with a chance of about 1/3
    assert abs(beyond) < 3.9 * np.sqrt(2 * 150 * tables * 1 / 3 * 2 / 3)


def test_people_who_are_known_by_heart_are_found_in_their_part():
    """2 % of the people, a rare category, are released as they are; of all others the released secret is somebody else's."""
    rng = np.random.default_rng(5)
    made = [people(rng, 2000) for _ in range(2)]
    for one in made:
        one["g"][:40] = 9
    members, others = made
    moved = np.r_[np.arange(36), 36 + rng.permutation(1964)]
    released = {**members, "secret": members["secret"][moved]}
    found = attacked(members, others, released)
    part = found["subgroup_inference_excess|secret|g: rare categories"]
    assert part.value > 0.4
    assert part.low > 0.15
    assert abs(found["inference_excess|secret"].value) < 0.05
    policy = (PolicyLine(measure="subgroup_inference_excess", at_most=0.15),)
    assert decide(policy, tuple(found.values())).verdict == "refused"


def test_people_who_are_known_by_heart_here_and_there_are_asserted():
    """A made table in which 2 % of the people, of no part, are copied with a chance of 0.9: who is copied is at distance 0."""
    rng = np.random.default_rng(0)
    members, others, released = (people(rng, 3000) for _ in range(3))
    copied = np.flatnonzero(rng.permutation(3000) < 60)
    copied = copied[rng.random(60) < 0.9]
    for name, values in released.items():
        values[copied] = members[name][copied]
    spec = ModelBasedDisclosure(method="model_based_disclosure", learners=("nearest_neighbours",))
    found = attacked(members, others, released, spec=spec)
    assert found["inference_asserted|secret"].value == pytest.approx(len(copied) / 3000, abs=0.004)
    line = PolicyLine(measure="inference_asserted", at_most=0.01)
    assert decide((line,), tuple(found.values())).verdict == "refused"


def test_a_group_that_is_told_in_everybody_has_no_excess_and_is_asserted():
    """Who is in the rare category has the secret 2, in the release or not: no excess, and yet it is told of each of them."""
    rng = np.random.default_rng(6)
    made = [people(rng, 2000) for _ in range(2)]
    for one in made:
        one["g"][:90], one["secret"][:90] = 9, 2
    members, others = made
    found = attacked(members, others, {**members, "x": np.zeros(2000)})
    assert found["subgroup_inference_excess|secret|g: rare categories"].value == 0
    assert found["subgroup_inference_asserted|secret|g: rare categories"].value > 0.9
    assert found["inference_asserted|secret"].value == pytest.approx(0.045, abs=0.02)
    both = (
        PolicyLine(measure="inference_excess", attribute="secret", at_most=0.2),
        PolicyLine(measure="subgroup_inference_asserted", attribute="secret", at_most=0.5),
    )
    verdict = decide(both, tuple(found.values()))
    assert [one.decision for one in verdict.criteria] == ["pass", "fail"]
    assert verdict.verdict == "refused"


def test_an_income_that_follows_from_age_and_tenure_is_inferred_of_everybody():
    """A good model of everybody is no disclosure about anybody: the excess is small, and what is asserted says what is told.

    The income is a function of both but for a normal error, of which 94 % is within 5 % of a standard deviation of the income.
    """
    rng = np.random.default_rng(7)

    def make_people(n):
        age = rng.uniform(20, 65, n).round()
        tenure = (rng.uniform(0, 1, n) * (age - 18)).round()
        told = 800 * age + 300 * tenure
        unit = 0.05 / norm.ppf(0.97)  # of the income's standard deviation
        income = told + rng.normal(0, unit / np.sqrt(1 - unit**2) * told.std(), n)
        return Microdata.from_columns({"age": age, "tenure": tenure, "income": income})

    keys = ("age", "tenure")
    attributes = Schema((
        *(Attribute(name, Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared") for name in keys),
        Attribute("income", Role.CONFIDENTIAL, Scale.NUMERIC, "declared"),
    ))  # fmt: skip
    members, others = make_people(1000), make_people(1000)
    step = Microaggregation(method="microaggregation", attributes=keys, k=10)
    released = mask(members, attributes, (step,), seed=bytes(32), path=()).data
    asked = create_experiment(members, others, released, np.arange(1000), attributes, 3000, rng)
    spec = ModelBasedDisclosure(method="model_based_disclosure", learners=("linear_regression", "decision_tree"))
    fates = infer_values(spec, asked, attributes, (), keys, "income", rng).fates
    named = {"member": asked.is_member, **{f"0|{name}": fates.column(name) for name in fates.names}}
    outcome = InferenceOutcome(result("income", population=1000), asked.people, Microdata.from_columns(named))
    found = {one.measure: one for one in inference_figures((outcome,), attributes, "records")}
    success, control = found["inference_success"], found["inference_control"]
    assert success.value == pytest.approx(0.94, abs=0.025)
    assert control.value == pytest.approx(0.94, abs=0.025)
    assert success.chance < 0.1
    assert abs(found["inference_excess"].value) < 0.04
    assert found["inference_asserted"].value > 0.5
    assert found["inference_excess"].high < 0.07  # of a learner that is right of half the people at most: at 0 it is 0.037


def test_a_rehearsal_decides_and_says_that_it_is_one():
    rng = np.random.default_rng(8)
    members, others = people(rng, 300), people(rng, 300)
    tables = [Microdata.from_columns(one) for one in (members, others)]
    asked = create_experiment(*tables, tables[0], np.arange(300), schema(), 3000, rng)
    found = infer_values(CHEAP, asked, schema(), (), ("g", "x"), "secret", rng).fates
    fates = Microdata.from_columns({"member": asked.is_member, **{f"0|{name}": found.column(name) for name in found.names}})
    evaluates = "mechanism, not this file"
    outcome = InferenceOutcome(result("secret", evaluates=evaluates, population=300), asked.people, fates)
    figures = inference_figures((outcome,), schema(), "records")
    assert {one.measure for one in figures} == {
        "inference_excess", "inference_control", "inference_excess_from_few", "model_agreement_control"
    }  # fmt: skip
    (criterion,) = decide((PolicyLine(measure="inference_excess", at_most=0.05),), figures).criteria
    assert criterion.decision == "fail"  # released as they are: each is the nearest row to themselves
    assert criterion.caution.startswith("rehearsed")


def test_an_attack_that_did_not_run_leaves_its_lines_undecided():
    idle = result("secret", population=0, has_control=False)
    idle = InferenceResult(
        **{**{name: getattr(idle, name) for name in idle.__slots__}, "status": "not_followed", "reason": "why"}
    )
    figures = inference_figures((InferenceOutcome(idle),), schema(), "records")
    lines = (PolicyLine(measure="inference_excess", at_most=0.2), PolicyLine(measure="inference_asserted", at_most=0.2))
    assert [one.decision for one in decide(lines, figures).criteria] == ["undecided", "undecided"]


@pytest.mark.parametrize(
    ("line", "known", "code"),
    [
        ({"measure": "inference_excess", "at_most": 0.1}, Known(inference=()), "inference-not-asked"),
        (
            {"measure": "inference_excess", "at_most": 0.1, "intruder": "insider"},
            Known(infer=("declared",)),
            "field-without-meaning",
        ),
        ({"measure": "inference_success", "at_most": 0.1}, Known(), "baseline-in-policy"),
        ({"measure": "inference_excess", "at_most": 0.1, "attack": "other"}, Known(inference=("one",)), "unknown-attack"),
    ],
)
def test_lines_that_nothing_could_decide(line, known, code):
    with pytest.raises(InputError) as refused:
        check_policy((PolicyLine(**line),), known)
    assert refused.value.code == code


def test_one_half_chooses_the_few_attributes_and_the_other_is_judged():
    """The secret follows from g alone: g comes first, and is right of all of half 0, members or not; x adds nothing."""
    rng = np.random.default_rng(9)

    def make_people(n):
        g = rng.integers(0, 5, n)
        return {"g": g, "x": rng.normal(size=n), "secret": g % 3}

    members = make_people(400)
    found = attacked(members, make_people(200), members, spec=CHEAP)
    figures = {name: one for name, one in found.items() if "_few" in name}
    assert set(figures) == {f"inference_{what}|secret|inputs={n}" for what in ("from_few", "excess_from_few") for n in (1, 2)}
    share, excess = (figures[f"inference_{what}|secret|inputs=1"] for what in ("from_few", "excess_from_few"))
    assert (share.value, share.n_targets, share.basis) == (1.0, 200, "sampled_targets")
    assert 0.97 < share.low < 1
    assert (excess.value, excess.n_targets, excess.n_in_release) == (0.0, 300, 200)
    assert excess.low < 0 < excess.high


def test_the_learner_that_is_chosen_stands_beside_itself_whatever_its_place():
    """A number that the release rounds to few values is guessed as one of these, and of the originals as a number.

    By the forest, which does best on the release, and not by the learner that the release file names first (agreement 0.72, not
    0.96).
    """
    rng = np.random.default_rng(1)

    def make_people(n):
        x = rng.normal(size=n)
        return {"g": rng.integers(0, 5, n), "x": x, "secret": x + rng.normal(0, 0.3, n)}

    members, others = make_people(400), make_people(200)
    released = {**members, "secret": members["secret"].round()}
    learners = ("random_forest", "decision_tree")
    specs = [
        CHEAP.model_copy(update={"learners": some, "p_percent": 50.0, "inputs_at_most": 0})
        for some in (learners, learners[::-1])
    ]
    one, other = (attacked(members, others, released, Scale.NUMERIC, spec) for spec in specs)
    assert {name: figure.value for name, figure in one.items()} == {name: figure.value for name, figure in other.items()}


def test_models_of_two_learners_are_not_compared():
    """A linear regression guesses the many values of the release; the two of the originals it cannot, and a tree does."""
    rng = np.random.default_rng(1)

    def make_people(n):
        x = rng.normal(size=n)
        return {"g": rng.integers(0, 5, n), "x": x, "secret": 1.0 * (x > 0)}

    members, others = make_people(200), make_people(100)
    released = {**members, "secret": members["secret"] + rng.normal(0, 0.01, 200)}
    spec = CHEAP.model_copy(update={"learners": ("linear_regression",), "inputs_at_most": 0})
    with pytest.raises(NotApplicable):
        attacked(members, others, released, Scale.NUMERIC, spec)
    spec = spec.model_copy(update={"learners": ("linear_regression", "naive_bayes"), "p_percent": 99.0})
    found = attacked(members, others, released, Scale.NUMERIC, spec)
    assert "inference_from_original|secret" in found
    assert not [name for name in found if "agreement" in name]


def test_models_agree_by_hand():
    """Four members, of whom the release left the third out, and an outsider.

    The model of the originals says 1, 2, 3, 4, 5 of the people, that of the release 9, 9, 9, 9, 5; of its rows, which are
    those of member 1, 0 and 3, it says 2, 9 and 4.5. Within 0.5 they agree on member 1, on member 3 and on the outsider.
    """
    rows = Microdata.from_columns({"g": [0, 0, 0]})
    people = Microdata.from_columns({"g": [0] * 5})
    is_member = np.arange(5) < 4
    units = find_units(people, schema())
    asked = InferenceExperiment(rows, people, units, is_member, 4, "this file", np.array([1, 0, -1, 2]))
    secret = Secret("number", np.zeros(3), np.zeros(5), 0.5, None)
    original, release = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([9.0, 9.0, 9.0, 9.0, 5.0])
    agrees = compare_models(original, release, np.array([2.0, 9.0, 4.5]), asked, secret)
    assert np.array_equal(agrees, [0, 1, np.nan, 1, 1], equal_nan=True)
    of_nobody = replace(asked, released_row=None)
    assert compare_models(original, release, np.array([2.0, 9.0, 4.5]), of_nobody, secret).tolist() == [0, 0, 0, 0, 1]
