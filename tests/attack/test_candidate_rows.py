"""What the candidates of a link tell: by hand, beside counting, and after microaggregation more than one of them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from tasks.attack.inference.experiment import create_experiment
from tasks.attack.inference.inference_learners import CandidateRows
from tasks.attack.inference.model_based_disclosure import RIGHT, ModelBasedDisclosure, infer_values
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata


def test_candidates_by_hand():
    """Three rows at 0 say 1, 1 and 2, one at 9 says 3. Who is at 1 has those at 0 as candidates, who is at 8 the one at 9."""
    places, lessons, asked = np.array([[0.0], [0.0], [9.0], [0.0]]), np.array([1.0, 1.0, 3.0, 2.0]), np.array([[1.0], [8.0]])
    categories = CandidateRows(numbers=False).fit(places, lessons)
    assert categories.predict(asked).tolist() == [1, 3]
    assert categories.predict_proba(asked) == pytest.approx(np.array([[2 / 3, 1 / 3, 0], [0, 0, 1]]))
    assert CandidateRows(numbers=True).fit(places, lessons).predict(asked) == pytest.approx([4 / 3, 3])


@pytest.mark.parametrize("seed", range(20))
def test_candidates_are_counted_as_one_after_the_other(seed):
    """A slow twin on made tables with equal rows; where all rows differ, scikit-learn's nearest row says the same."""
    rng = np.random.default_rng(seed)
    places, lessons, asked = rng.integers(0, 4, (60, 2)).astype(float), rng.integers(0, 3, 60) * 1.0, rng.normal(2, 1, (40, 2))
    chances = CandidateRows(numbers=False).fit(places, lessons).predict_proba(asked)
    means = CandidateRows(numbers=True).fit(places, lessons).predict(asked)
    for person, chance, mean in zip(asked, chances, means, strict=True):
        distances = ((places - person) ** 2).sum(axis=1)
        found = lessons[(places == places[distances.argmin()]).all(axis=1)]
        assert mean == pytest.approx(found.mean())
        assert chance == pytest.approx([(found == value).mean() for value in np.unique(lessons)])
    apart = rng.normal(size=(60, 2))
    nearest = KNeighborsClassifier(1).fit(apart, lessons).predict(asked)
    assert (CandidateRows(numbers=False).fit(apart, lessons).predict(asked) == nearest).all()


def test_after_microaggregation_the_candidates_tell_more_than_one_of_them():
    """Groups of 3 or more, 400 members, a secret of 4 values that no other attribute tells.

    One row of a group of 3 is right with a chance of 1/3 + 2/3 x 1/4 = 0.50. The most frequent value is right of one of 3 if
    all differ (6/16), of two if two are equal (9/16), and of all (1/16): 0.125 + 0.375 + 0.0625 = 0.56.
    """
    rng = np.random.default_rng(3)
    schema = Schema((
        *(Attribute(name, Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared") for name in "xy"),
        Attribute("secret", Role.CONFIDENTIAL, Scale.NOMINAL, "declared"),
    ))  # fmt: skip
    members, others = (
        Microdata.from_columns({"x": rng.normal(size=400), "y": rng.normal(size=400), "secret": rng.integers(0, 4, 400)})
        for _ in range(2)
    )
    step = Microaggregation(method="microaggregation", attributes=("x", "y"), k=3)
    released = mask(members, schema, (step,), seed=bytes(32), path=()).data
    asked = create_experiment(members, others, released, np.arange(400), schema, 3000, rng)
    spec = ModelBasedDisclosure(
        method="model_based_disclosure", learners=("decision_tree", "nearest_row", "candidate_rows"), inputs_at_most=0
    )
    fates = infer_values(spec, asked, schema, (), ("x", "y"), "secret", rng).fates
    right = {name: fates.floats(f"{RIGHT}{name}:value") for name in spec.learners}
    inside = {name: values[asked.is_member].mean() for name, values in right.items()}
    assert inside["candidate_rows"] > max(inside["nearest_row"], inside["decision_tree"]) + 0.02
    assert right["candidate_rows"][~asked.is_member].mean() == pytest.approx(0.25, abs=0.09)
