"""The learners of which models may be released or imitated: a list of scikit-learn's classifiers, with bounded parameters.

The parameters have the names that they have there; what is not named here is left as it is there. None of them keeps the rows
that it learned from: a model of k nearest neighbours is its training table.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, assert_never, get_args

from pydantic import Field

from tasks.microdata.imports import one_at_a_time
from tasks.microdata.spec import Public, Spec

RANDOM_STATES = 2**32  # what scikit-learn takes for a seed is below it
Depth = Annotated[int, Field(ge=1, le=1000)] | None
LayerSize = Annotated[int, Field(ge=1, le=10_000)]
LeafSize = Annotated[int, Field(ge=1, le=1_000_000)]
Positive = Annotated[float, Field(gt=0, le=1e9)]


class DecisionTree(Spec):
    """A decision tree; `max_depth: null` grows it until every leaf is pure."""

    method: Public[Literal["decision_tree"]]
    max_depth: Public[Depth] = None
    min_samples_leaf: Public[LeafSize] = 1


class RandomForest(Spec):
    """A random forest; without `bootstrap` every tree sees every record, and one of full depth knows them by heart."""

    method: Public[Literal["random_forest"]]
    n_estimators: Public[Annotated[int, Field(ge=1, le=2000)]] = 100
    max_depth: Public[Depth] = None
    min_samples_leaf: Public[LeafSize] = 1
    max_features: Public[Literal["sqrt", "log2"] | None] = "sqrt"
    bootstrap: Public[bool] = True


class GradientBoosting(Spec):
    """Histogram-based gradient boosting, without early stopping."""

    method: Public[Literal["gradient_boosting"]]
    max_iter: Public[Annotated[int, Field(ge=1, le=5000)]] = 100
    learning_rate: Public[Annotated[float, Field(gt=0, le=1)]] = 0.1
    max_leaf_nodes: Public[Annotated[int, Field(ge=2, le=65_536)] | None] = 31
    max_depth: Public[Depth] = None
    min_samples_leaf: Public[LeafSize] = 20
    l2_regularization: Public[Annotated[float, Field(ge=0, le=1e9)]] = 0.0


class LogisticRegression(Spec):
    """Multinomial logistic regression with an L2 penalty: the smaller `C`, the stronger."""

    method: Public[Literal["logistic_regression"]]
    C: Public[Positive] = 1.0
    max_iter: Public[Annotated[int, Field(ge=1, le=100_000)]] = 1000


class NaiveBayes(Spec):
    """Gaussian naive Bayes."""

    method: Public[Literal["naive_bayes"]]
    var_smoothing: Public[Annotated[float, Field(gt=0, le=1)]] = 1e-9


class MultilayerPerceptron(Spec):
    """A feed-forward neural network with the stated hidden layers."""

    method: Public[Literal["multilayer_perceptron"]]
    hidden_layer_sizes: Public[Annotated[tuple[LayerSize, ...], Field(min_length=1, max_length=10)]] = (100,)
    alpha: Public[Annotated[float, Field(ge=0, le=1e9)]] = 1e-4
    learning_rate_init: Public[Annotated[float, Field(gt=0, le=1)]] = 1e-3
    max_iter: Public[Annotated[int, Field(ge=1, le=100_000)]] = 200


AnyLearner = DecisionTree | RandomForest | GradientBoosting | LogisticRegression | NaiveBayes | MultilayerPerceptron
Learner = Annotated[AnyLearner, Field(discriminator="method")]


def classifier(learner: AnyLearner, random_state: int) -> Any:
    """The unfitted scikit-learn classifier, on one thread; its draws follow from `random_state` (0 to 2^32 - 1) alone.

    scikit-learn takes seconds to import, and is imported here.
    """
    parameters = learner.model_dump(exclude={"method"})
    match learner:
        case DecisionTree():
            with one_at_a_time():
                from sklearn.tree import DecisionTreeClassifier

            return DecisionTreeClassifier(**parameters, random_state=random_state)
        case RandomForest():
            with one_at_a_time():
                from sklearn.ensemble import RandomForestClassifier

            return RandomForestClassifier(**parameters, random_state=random_state, n_jobs=1)
        case GradientBoosting():
            with one_at_a_time():
                from sklearn.ensemble import HistGradientBoostingClassifier

            return HistGradientBoostingClassifier(**parameters, early_stopping=False, random_state=random_state)
        case LogisticRegression():
            with one_at_a_time():
                from sklearn.linear_model import LogisticRegression as Logistic

            return Logistic(**parameters, random_state=random_state)
        case NaiveBayes():
            with one_at_a_time():
                from sklearn.naive_bayes import GaussianNB

            return GaussianNB(**parameters)
        case MultilayerPerceptron():
            with one_at_a_time():
                from sklearn.neural_network import MLPClassifier

            return MLPClassifier(**parameters, random_state=random_state)
        case _:
            assert_never(learner)


def describe() -> tuple[dict[str, str], ...]:
    """One row per learner, for `sdcert methods train`."""
    return tuple(
        {
            "method": str(kind.model_fields["method"].annotation).split("'")[1],
            "what it does": " ".join((kind.__doc__ or "").split()),
            "parameters": ", ".join(
                f"{name} ({_plain(field.default)})" for name, field in kind.model_fields.items() if name != "method"
            ),
        }
        for kind in get_args(AnyLearner)
    )


def _plain(default: object) -> str:
    return json.dumps(default)
