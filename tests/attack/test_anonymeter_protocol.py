"""anonymeter's tests as we count them: by hand, by a slow twin, and beside what the tool itself found on the same tables."""

import numpy as np
import pytest
from statsmodels.datasets import anes96

from tasks.attack.inference.anonymeter_protocol import count_by_protocol
from tasks.attack.inference.experiment import create_experiment
from tasks.attack.inference.outcomes import InferenceResult, ProtocolCounts
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.mask.noise.noise import Noise
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.score.anonymeter_risks import compute_residual_risk, estimate_protocol
from tasks.score.catalogue import MEASURES
from tasks.score.figure_rounding import round_for_publication

KNOWN = ("age", "town", "size")
SCHEMA = Schema(
    (
        Attribute("age", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared"),
        Attribute("town", Role.QUASI_IDENTIFIER, Scale.NOMINAL, "declared"),
        Attribute("size", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared"),
        Attribute("vote", Role.CONFIDENTIAL, Scale.NOMINAL, "declared"),
        Attribute("income", Role.CONFIDENTIAL, Scale.NUMERIC, "declared"),
    )
)
MEMBERS = {
    "age": [20.0, 30.0, 40.0, 60.0],
    "town": ["a", "a", "b", "b"],
    "size": [1.0, 2.0, 3.0, 4.0],
    "vote": ["x", "y", "x", "y"],
    "income": [100.0, 200.0, 300.0, 400.0],
}
OTHERS = {
    "age": [21.0, 59.0],
    "town": ["a", "b"],
    "size": [2.0, 4.0],
    "vote": ["y", "y"],
    "income": [104.0, 300.0],
}


def count(members, others, released, seed=0, knows=KNOWN, secrets=("vote", "income"), schema=SCHEMA):
    tables = [Microdata.from_columns(one) if isinstance(one, dict) else one for one in (members, others, released)]
    rng = np.random.default_rng(seed)
    own = np.arange(tables[2].n)
    asked = create_experiment(*tables, own, schema, 10_000, rng)
    found = count_by_protocol(asked, asked.people, schema, knows, secrets, rng)
    return {(one.test, one.attribute): (one.successes, one.members, one.successes_of_others, one.others) for one in found}


def test_an_unmasked_table_by_hand():
    """The other of 21 is nearest to 20, whose income is within 5 % of 104 and whose vote is another one."""
    found = count(MEMBERS, OTHERS, MEMBERS, knows=("age", "town"))
    assert found[("inference", "vote")] == (4, 4, 1, 2)  # the other of 59 has the row of 60, which votes y
    assert found[("inference", "income")] == (4, 4, 1, 2)
    exact = count(MEMBERS, OTHERS, MEMBERS, knows=("age", "size"))
    assert exact[("linkability", None)] == (4, 4, 1, 2)  # by size alone the other of 21 is nearest to the row of 30
    single = exact[("singling out by one attribute", None)]
    assert single[0] <= single[1] == single[3]


@pytest.mark.parametrize("seed", range(8))
def test_nearest_rows_are_those_of_a_plain_loop(seed):
    rng = np.random.default_rng(seed)

    def table(n):
        return {
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "town": rng.choice(["a", "b", "c"], n),
            "size": rng.normal(size=n),
            "vote": rng.choice(["x", "y"], n),
            "income": rng.normal(50, 20, n),
        }

    members, others = table(40), table(15)
    released = {**members, "size": members["size"] + rng.normal(0, 0.3, 40)}
    found = count(members, others, released, seed)

    ages = np.concatenate([released["age"], members["age"], others["age"]])
    sizes = np.concatenate([released["size"], members["size"], others["size"]])
    spans = {"age": np.nanmax(ages) - np.nanmin(ages), "size": sizes.max() - sizes.min()}

    def find_nearest(people, i, names):
        distances = []
        for j in range(40):
            parts = []
            for name in names:
                a, b = people[name][i], released[name][j]
                parts.append(float(a != b) if name == "town" else 1.0 if np.isnan(a - b) else abs(a - b) / spans[name])
            distances.append(sum(parts))
        return int(np.argmin(distances))

    apart = count(members, others, released, seed, knows=("age", "size"))
    for side, people, n in ((0, members, 40), (2, others, 15)):
        votes = sum(people["vote"][i] == released["vote"][find_nearest(people, i, KNOWN)] for i in range(n))
        known = [i for i in range(n) if not np.isnan(people["age"][i])]  # of a missing age all rows are equally far
        halves = sum(find_nearest(people, i, ("age",)) == find_nearest(people, i, ("size",)) for i in known)
        assert found[("inference", "vote")][side] == votes
        assert halves <= apart[("linkability", None)][side] <= halves + n - len(known)


def test_without_others_nothing_is_compared():
    assert count(MEMBERS, None, MEMBERS) == {}


@pytest.mark.parametrize(
    ("counts", "risk"),
    [
        ((60, 100, 20, 100), (0.488, 0.130)),  # (0.5963 - 0.2111) / 0.7889; errors 0.0943 and 0.0777
        ((0, 100, 50, 100), (-0.963, 0.379)),
        ((5, 5, 5, 5), None),
        ((0, 0, 0, 0), None),
    ],
)
def test_the_risk_is_the_excess_over_what_is_left(counts, risk):
    successes, members, of_others, others = counts
    kind = {"test": "linkability", "attribute": None, "people": members}
    counted = ProtocolCounts(**kind, members=members, successes=successes, others=others, successes_of_others=of_others)
    found = compute_residual_risk(counted)
    if risk is None:
        assert found is None
    else:
        assert (found.value, found.error) == pytest.approx(risk, abs=0.005)


def test_predicates_are_no_people():
    """Hundreds of predicates of 40 rows are tried on 15 people: the figure is published as one of so few, not at all."""
    rng = np.random.default_rng(0)
    table = {name: rng.normal(size=40) for name in ("age", "size", "income")} | {
        "town": ["a", "b"] * 20,
        "vote": ["x", "y"] * 20,
    }
    asked = create_experiment(
        *(Microdata.from_columns({name: list(values)[:n] for name, values in table.items()}) for n in (40, 15, 40)),
        np.arange(40), SCHEMA, 10_000, rng,
    )  # fmt: skip
    counted = count_by_protocol(asked, asked.people, SCHEMA, KNOWN, ("vote",), rng)
    tried = [one for one in counted if one.test.startswith("singling out")]
    assert {one.people for one in tried} == {15}
    assert max(one.members for one in tried) > 40


def test_figures_decide_nothing_say_so_and_can_be_published():
    counted = (
        ProtocolCounts(
            test="linkability", attribute=None, people=100, members=100, successes=0, others=50, successes_of_others=25
        ),
        ProtocolCounts(
            test="inference", attribute="vote", people=100, members=100, successes=60, others=100, successes_of_others=20
        ),
    )
    result = InferenceResult(
        attack="a", method="a", intruder="declared", evaluates="this file", knows=KNOWN, secrets=(), learners=(),
        p_percent=5.0, fewest_of_subgroup=20, protocol=counted,
    )  # fmt: skip
    linked, inferred = estimate_protocol(result, "records")
    assert (linked.value, linked.low, linked.attribute, inferred.attribute) == (0.0, 0.0, None, "vote")
    assert inferred.low < inferred.value < inferred.high
    assert all("anonymeter" in one.reason and MEASURES[one.measure].better is None for one in (linked, inferred))
    assert all(0 <= one.value <= 1 for one in round_for_publication((linked, inferred)))


# as it is, MDAV k = 5, noise of 30 %: anonymeter 1.1.0's linkability and inference of others (docs/BENCHMARKS.md)
RECORDED = {"as it is": (0.29, 0.98), "MDAV k = 5": (0.00, 0.17), "noise of 30 %": (0.00, 0.19)}


@pytest.mark.slow
@pytest.mark.parametrize("release", RECORDED)
def test_anes96_has_the_risks_that_the_tool_itself_found(release):
    keys = ("popul", "age", "educ", "income")
    frame = anes96.load_pandas().data[[*keys, "vote"]].astype({"vote": int})
    schema = Schema(
        (
            *(Attribute(name, Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared") for name in keys),
            Attribute("vote", Role.CONFIDENTIAL, Scale.NOMINAL, "declared"),
        )
    )
    steps = {
        "as it is": (),
        "MDAV k = 5": (Microaggregation(method="microaggregation", attributes=keys, k=5),),
        "noise of 30 %": (Noise(method="noise", kind="independent", attributes=keys, sd_percent=30),),
    }[release]
    risks = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(frame))
        data = Microdata.from_columns({str(name): frame[name].to_numpy() for name in frame})
        others, members = (data.take(np.sort(part)) for part in (order[:236], order[236:]))
        released = mask(members, schema, steps, seed=seed.to_bytes(32, "big"), path=()).data
        found = count(members, others, released, seed, keys, ("vote",), schema)
        risks.append([])
        for key in (("linkability", None), ("inference", "vote")):
            successes, n, of_others, m = found[key]
            counted = ProtocolCounts(
                test=key[0], attribute=None, people=100, members=n, successes=successes, others=m, successes_of_others=of_others
            )
            risks[-1].append(max(compute_residual_risk(counted).value, 0))
    linkability, inference = np.mean(risks, axis=0)
    assert linkability == pytest.approx(RECORDED[release][0], abs=0.06)
    assert inference == pytest.approx(RECORDED[release][1], abs=0.15)
