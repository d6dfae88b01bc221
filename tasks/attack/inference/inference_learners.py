"""The learners by which an intruder infers a confidential value: scikit-learn's, with few parameters.

Nothing of them is released, so that here a learner may keep the rows that it learned from.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from scipy.special import softmax

from tasks.attack.inference.local_learners import LikelyRows, LocalRegression
from tasks.microdata.imports import one_at_a_time
from tasks.microdata.table import Floats

LearnerName = Literal[
    "random_forest",
    "decision_tree",
    "nearest_neighbours",
    "nearest_row",
    "candidate_rows",
    "likely_rows",
    "naive_bayes",
    "logistic_regression",
    "linear_regression",
    "local_regression",
    "gradient_boosting",
    "support_vector_machine",
    "combined",
]
LEARNERS: tuple[LearnerName, ...] = get_args(LearnerName)
SLOW = frozenset({"gradient_boosting", "support_vector_machine"})  # each takes ten times as long as the others together
BY_DEFAULT: tuple[LearnerName, ...] = tuple(name for name in LEARNERS if name not in SLOW)
OF_CATEGORIES = frozenset({"naive_bayes", "logistic_regression"})
OF_NUMBERS = frozenset({"linear_regression", "local_regression"})
COMBINED: LearnerName = "combined"
OF_REPEATED_MASK = frozenset({"likely_rows", COMBINED})  # who needs the mask repeated on the released rows
TREES, NEIGHBOURS, LEAF = 10, 10, 20
INSENSITIVE = 0.01  # of a standard deviation: errors of a number that a support vector machine takes for none


def select_learners(names: tuple[LearnerName, ...], *, numbers: bool) -> tuple[LearnerName, ...]:
    """Those of some learners that can infer numbers, or categories."""
    return tuple(name for name in names if name not in (OF_CATEGORIES if numbers else OF_NUMBERS))


def create_learner(name: LearnerName, *, numbers: bool, n: int, random_state: int, spreads: Floats | None = None) -> Any:
    """An unfitted scikit-learn estimator on one thread for n lessons, a regressor for numbers, else a classifier.

    `random_forest` sees every record in each tree and grows pure leaves, so that it knows the records by heart; a
    `decision_tree` has leaves of at least 20 records; `nearest_neighbours` weighs 10 rows by their distance, so that a row
    at distance 0 decides alone; `nearest_row` takes the value of the nearest one, as a link does, and is sure of every
    category; `candidate_rows` takes all rows that are equal to the nearest one (`CandidateRows`); `likely_rows` weighs all
    rows by how likely the mask moves the person there (`LikelyRows`; spreads, shape (d,): how far it moves people in each
    column); `local_regression` makes a regression among the nearest lessons (`LocalRegression`); a
    `support_vector_machine` has a Gaussian kernel, and takes a number in standard deviations. The others are as
    scikit-learn has them. `combined` is no estimator: see `weigh_learners`. Their draws follow from `random_state` alone.
    scikit-learn takes seconds to import, and is imported here.
    """
    with one_at_a_time():
        import sklearn.ensemble as ensemble
        import sklearn.linear_model as linear
        import sklearn.naive_bayes as bayes
        import sklearn.neighbors as neighbours
        import sklearn.tree as tree
    seeded = {"random_state": random_state}
    match name:
        case "random_forest":
            kind = ensemble.RandomForestRegressor if numbers else ensemble.RandomForestClassifier
            return kind(n_estimators=TREES, max_features="sqrt", bootstrap=False, n_jobs=1, **seeded)
        case "decision_tree":
            kind = tree.DecisionTreeRegressor if numbers else tree.DecisionTreeClassifier
            return kind(min_samples_leaf=LEAF, **seeded)
        case "nearest_neighbours":
            kind = neighbours.KNeighborsRegressor if numbers else neighbours.KNeighborsClassifier
            return kind(n_neighbors=min(NEIGHBOURS, n), weights="distance", n_jobs=1)
        case "nearest_row":
            kind = neighbours.KNeighborsRegressor if numbers else neighbours.KNeighborsClassifier
            return kind(n_neighbors=1, n_jobs=1)
        case "candidate_rows":
            return CandidateRows(numbers=numbers)
        case "likely_rows":
            if spreads is None:
                raise ValueError("likely_rows needs to know how far the mask moves people")
            return LikelyRows(numbers=numbers, spreads=spreads)
        case "naive_bayes":
            return bayes.GaussianNB()
        case "logistic_regression":
            return linear.LogisticRegression(max_iter=200, **seeded)
        case "linear_regression":
            return linear.LinearRegression()
        case "local_regression":
            return LocalRegression()
        case "gradient_boosting":
            kind = ensemble.HistGradientBoostingRegressor if numbers else ensemble.HistGradientBoostingClassifier
            return kind(early_stopping=False, **seeded)
        case "support_vector_machine":
            return _create_support_vectors(numbers=numbers)
        case "combined":
            raise ValueError("combined is made of what other learners say")


class CandidateRows:
    """What the candidates of a link tell: the rows whose inputs are equal to those of the row nearest to a person.

    Meaning: after microaggregation a link finds a group, and not a row. Which row of it is the person's nobody can tell, and
    the group's most frequent value, or its mean, is right more often than the value of one of its rows. Where no two rows are
    equal it is the `nearest_row`.

    numbers: is the mean of the candidates guessed? Else the category with the largest share of them, which is how sure the
    intruder is; of several the first in ascending order. Takes and answers as estimators of scikit-learn do. Cost of a fit:
    O(m log m) for m lessons. Example: lessons 1, 1, 2 at place 0 and 3 at place 9, asked at 1: 1, with a chance of 2/3.
    """

    def __init__(self, *, numbers: bool) -> None:
        self.numbers = numbers

    def fit(self, inputs: Floats, lessons: Floats) -> CandidateRows:
        """inputs: shape (m, d); lessons: shape (m,)."""
        with one_at_a_time():
            from sklearn.neighbors import NearestNeighbors
        places, group = np.unique(inputs, axis=0, return_inverse=True)
        group, sizes = group.reshape(-1), np.bincount(group.reshape(-1))
        self.index = NearestNeighbors(n_neighbors=1, n_jobs=1).fit(places)
        self.means = np.bincount(group, weights=lessons) / sizes
        self.classes_, code = np.unique(lessons, return_inverse=True)
        if not self.numbers:
            width = len(self.classes_)
            counts = np.bincount(group * width + code, minlength=len(places) * width).reshape(len(places), width)
            self.shares = counts / sizes[:, None]
        return self

    def predict(self, inputs: Floats) -> Floats:
        """Shape (n,): the mean of each person's candidates, or their most frequent category."""
        if self.numbers:
            return np.asarray(self.means[self._find_places(inputs)])
        return np.asarray(self.classes_[self.predict_proba(inputs).argmax(axis=1)])

    def predict_proba(self, inputs: Floats) -> Floats:
        """Shape (n, classes): the share of each category among each person's candidates; rows add up to 1."""
        return np.asarray(self.shares[self._find_places(inputs)])

    def _find_places(self, inputs: Floats) -> Any:
        return self.index.kneighbors(inputs, return_distance=False)[:, 0]


def compute_chances(model: Any, inputs: Floats) -> Floats:
    """Shape (n, classes): how likely a fitted classifier takes each class for; rows add up to 1.

    A support vector machine has no probabilities: its decision values are made into some (softmax), which order people by how
    sure it is of them, and are not calibrated.
    """
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(inputs), dtype=np.float64)
    values = np.asarray(model.decision_function(inputs), dtype=np.float64)
    return np.asarray(softmax(np.column_stack([-values, values]) if values.ndim == 1 else values, axis=1))


def _create_support_vectors(*, numbers: bool) -> Any:
    with one_at_a_time():
        from sklearn.compose import TransformedTargetRegressor
        from sklearn.preprocessing import StandardScaler
        from sklearn.svm import SVC, SVR
    return TransformedTargetRegressor(SVR(epsilon=INSENSITIVE), transformer=StandardScaler()) if numbers else SVC()
