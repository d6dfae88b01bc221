"""The masks as transformers: the checks of scikit-learn, and the same values as the masks."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import sdcert as sc

TRANSFORMERS = [sc.Microaggregation(), sc.Noise(), sc.RankSwapping(), sc.RankJitter(), sc.Rounding(), sc.TopBottomCoding()]
AS_A_WHOLE = "a table is masked as a whole: parts of it, or one row, are masked otherwise"
NO_EFFECT = "a mask that would change nothing, or leaves values open, is refused"
EXPECTED = {
    "Microaggregation": {
        "check_methods_subset_invariance": AS_A_WHOLE,
        "check_estimators_pickle": NO_EFFECT,
        "check_methods_sample_order_invariance": AS_A_WHOLE,
    },
    "Noise": {"check_estimators_dtypes": NO_EFFECT, "check_methods_subset_invariance": AS_A_WHOLE},
    "RankSwapping": {"check_methods_subset_invariance": AS_A_WHOLE},
    "RankJitter": {"check_methods_subset_invariance": AS_A_WHOLE},
    "Rounding": {"check_estimators_dtypes": NO_EFFECT, "check_methods_subset_invariance": AS_A_WHOLE},
    "TopBottomCoding": {
        "check_estimators_dtypes": NO_EFFECT,
        "check_methods_subset_invariance": AS_A_WHOLE,
        "check_fit_idempotent": NO_EFFECT,
    },
}
X = np.random.default_rng(1).normal(size=(60, 3)).round(3)


@pytest.mark.slow
@parametrize_with_checks(TRANSFORMERS, expected_failed_checks=lambda one: EXPECTED[type(one).__name__])
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("one", TRANSFORMERS, ids=lambda one: type(one).__name__)
def test_a_chosen_state_repeats_what_is_drawn(one):
    drawn = clone(one)
    if "random_state" in drawn.get_params():
        drawn.set_params(random_state=0)
    first = drawn.fit_transform(X)
    assert first.shape == X.shape
    assert (first == drawn.fit(X).transform(X)).all()
    assert (first != X).any()


def test_the_values_are_those_of_the_mask():
    import pandas as pd

    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    declared = {name: {"role": "quasi_identifier"} for name in frame}
    masked = sc.mask(frame, "microaggregation", k=4, declare=declared).table
    assert (sc.Microaggregation(4).fit_transform(X) == masked.to_numpy()).all()


def test_in_a_pipeline_with_names():
    import pandas as pd

    pipe = make_pipeline(sc.Rounding([0.5, 1.0, 2.0]), StandardScaler()).set_output(transform="pandas")
    assert list(pipe.fit_transform(pd.DataFrame(X, columns=["a", "b", "c"]))) == ["a", "b", "c"]


def test_parameters_are_refused_as_those_of_a_release_file():
    for wrong in (sc.Microaggregation(1), sc.Noise(-1.0), sc.RankSwapping(None), sc.TopBottomCoding(None)):
        with pytest.raises(sc.InputError) as caught:
            wrong.fit_transform(X)
        assert caught.value.where.startswith(f"sdcert.{type(wrong).__name__}: masking[0]")
    with pytest.raises(sc.InputError):
        sc.Microaggregation(99).fit_transform(X)
