"""What is stored under a name that scikit-learn needs has the size that the features and classes of a model give."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomTreesEmbedding,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import RFECV, SelectFromModel, SequentialFeatureSelector, VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import (
    BayesianRidge,
    ElasticNetCV,
    LassoLarsCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    PoissonRegressor,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from tasks.microdata.errors import InputError
from tasks.train.skops_file import read_model, serialise_model

WHERE = "release.model.file"
ROWS = np.arange(1000 * 4.0).reshape(1000, 4)  # what somebody hides
rng = np.random.default_rng(2)
N = 120
NUMBERS = pd.DataFrame(rng.lognormal(size=(N, 4)), columns=list("abcd"))
GAPS = NUMBERS.assign(a=np.where(np.arange(N) % 7, NUMBERS["a"], np.nan), d=np.nan)
TEXTS = pd.DataFrame(rng.choice(list("efghijkl"), (N, 2)).astype(object), columns=["a", "b"])
TEXTS.iloc[3, 0] = np.nan
CLASSES = {n: np.array(["no", "yes", "perhaps"])[np.r_[np.arange(n), rng.integers(0, n, N - n)]] for n in (2, 3)}


def then(*steps):
    return make_pipeline(*steps, LogisticRegression())


def mixed():
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    return make_column_transformer((numbers, ["a", "b"]), ("passthrough", ["c"]), (RobustScaler(), []), remainder="drop")


HONEST = [
    (then(mixed()), GAPS),
    (then(SimpleImputer(strategy="most_frequent", keep_empty_features=True)), GAPS),
    (then(SimpleImputer(strategy="most_frequent"), OneHotEncoder(min_frequency=12, drop="first")), TEXTS),
    (then(OneHotEncoder(max_categories=3, sparse_output=False)), TEXTS),
    (then(OrdinalEncoder(min_frequency=12, encoded_missing_value=-1)), TEXTS),
    (then(make_union(SimpleImputer(), MissingIndicator(features="all"))), GAPS),
    (then(StandardScaler(with_mean=False, with_std=False), RobustScaler(with_centering=False)), NUMBERS),
    (then(StandardScaler().set_output(transform="pandas"), MinMaxScaler(), Normalizer()), NUMBERS),
    (then(PowerTransformer(), PolynomialFeatures(2), PCA(0.8)), NUMBERS),
    (then(TruncatedSVD(2), VarianceThreshold()), NUMBERS),
    (then(RandomTreesEmbedding(3, sparse_output=False)), NUMBERS),
    (make_pipeline(KBinsDiscretizer([2, 3, 4, 5], encode="ordinal"), CategoricalNB(min_categories=8)), NUMBERS),
    (then(KBinsDiscretizer(3, encode="onehot-dense")), NUMBERS),
    (then(SelectFromModel(RidgeClassifierCV(), threshold=-1)), NUMBERS),
    (then(SequentialFeatureSelector(GaussianNB(), cv=2)), NUMBERS),
    (RFECV(LogisticRegression(), cv=2), NUMBERS),
    (LogisticRegression(fit_intercept=False), NUMBERS),
    (LogisticRegressionCV(Cs=3, cv=2), NUMBERS),
    (SGDClassifier(loss="log_loss", average=True, early_stopping=True), NUMBERS),
    (LinearDiscriminantAnalysis(), NUMBERS),
    (LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto"), NUMBERS),
    (QuadraticDiscriminantAnalysis(reg_param=0.1), NUMBERS),
    (MLPClassifier((5, 3), max_iter=5, early_stopping=True), NUMBERS),
    (MLPClassifier((), max_iter=5), NUMBERS),
    (GaussianNB(), NUMBERS),
    (BernoulliNB(binarize=0.5), NUMBERS),
    (MultinomialNB(), NUMBERS),
    (ComplementNB(norm=True), NUMBERS),
    (DummyClassifier(), NUMBERS),
    (HistGradientBoostingClassifier(max_iter=3, early_stopping=True), NUMBERS),
    (RandomForestClassifier(3), NUMBERS),
    (BaggingClassifier(LogisticRegression(), 4, max_features=0.5, bootstrap_features=True), NUMBERS),
    (AdaBoostClassifier(DecisionTreeClassifier(), n_estimators=9), NUMBERS),  # which stops at the first tree
    (StackingClassifier([("bayes", GaussianNB()), ("tree", DecisionTreeClassifier())], cv=2, passthrough=True), NUMBERS),
    (VotingClassifier([("bayes", GaussianNB()), ("none", "drop")], voting="soft"), NUMBERS),
]
SELECTED_BY = [LinearRegression(), BayesianRidge(), ElasticNetCV(cv=2), LassoLarsCV(cv=2), PoissonRegressor()]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("case", range(len(HONEST)))
def test_what_scikit_learn_fits_is_read(case, n_classes):
    model, frame = HONEST[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(frame, CLASSES[n_classes])
        read = read_model(skops.io.dumps(model), WHERE)
        assert np.array_equal(read.predict_proba(frame), model.predict_proba(frame)) and serialise_model(
            read
        ) == serialise_model(model)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("regressor", SELECTED_BY, ids=repr)
def test_columns_that_a_regression_selected_are_read(regressor):
    model = then(SelectFromModel(regressor, threshold=-1)).fit(NUMBERS, (CLASSES[2] == "yes").astype(int))
    assert np.array_equal(read_model(serialise_model(model), WHERE).predict_proba(NUMBERS), model.predict_proba(NUMBERS))


def fitted(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(NUMBERS, CLASSES[3])


def hidden(attribute, model, find=lambda model: model):
    """A model with the rows below what it needs, or in place of it."""
    part = find(fitted(model))
    kept = getattr(part, attribute, None)
    if isinstance(kept, np.ndarray) and kept.ndim == 2 and kept.shape[1] == 4:
        rows = np.vstack([kept, ROWS])
    else:
        rows = np.concatenate([np.ravel(kept), ROWS.ravel()]) if isinstance(kept, np.ndarray) else ROWS
    setattr(part, attribute, rows)
    return model


def first(model):
    return model[0]


HIDING = {
    "LogisticRegression.coef_": lambda: hidden("coef_", LogisticRegression()),
    "LogisticRegression.intercept_": lambda: hidden("intercept_", LogisticRegression()),
    "LogisticRegression.classes_": lambda: hidden(
        "classes_", VotingClassifier([("one", LogisticRegression())], voting="soft"), lambda model: model.estimators_[0]
    ),
    "GaussianNB.var_": lambda: hidden("var_", GaussianNB()),
    "DecisionTreeClassifier.max_features_": lambda: hidden("max_features_", DecisionTreeClassifier(max_depth=1)),
    "RandomForestClassifier.n_outputs_": lambda: hidden("n_outputs_", RandomForestClassifier(2)),
    "MLPClassifier.coefs_": lambda: hidden("coefs_", MLPClassifier(3, max_iter=2)),
    "MLPClassifier.out_activation_": lambda: hidden("out_activation_", MLPClassifier(3, max_iter=2)),
    "StandardScaler.mean_": lambda: hidden("mean_", then(StandardScaler()), first),
    "PCA.components_": lambda: hidden("components_", then(PCA(2)), first),
    "SimpleImputer.statistics_": lambda: hidden("statistics_", then(SimpleImputer()), first),
    "SimpleImputer.indicator_": lambda: hidden("indicator_", then(SimpleImputer()), first),
    "OneHotEncoder.drop_idx_": lambda: hidden("drop_idx_", then(OneHotEncoder()), first),
    "PolynomialFeatures.n_output_features_": lambda: hidden("n_output_features_", then(PolynomialFeatures()), first),
    "VotingClassifier.le_": lambda: hidden("le_", VotingClassifier([("bayes", GaussianNB())], voting="soft")),
    "SelectFromModel.max_features_": lambda: hidden("max_features_", then(SelectFromModel(LogisticRegression())), first),
    "AdaBoostClassifier.estimator_weights_": lambda: hidden("estimator_weights_", AdaBoostClassifier(n_estimators=3)),
    "HistGradientBoostingClassifier._baseline_prediction": lambda: hidden(
        "_baseline_prediction", HistGradientBoostingClassifier(max_iter=2)
    ),
    "_BinMapper.n_bins_non_missing_": lambda: hidden(
        "n_bins_non_missing_", HistGradientBoostingClassifier(max_iter=2), lambda model: model._bin_mapper
    ),
    "ColumnTransformer._transformer_to_input_indices": lambda: hidden("_transformer_to_input_indices", then(mixed()), first),
}


@pytest.mark.parametrize("name", HIDING)
def test_rows_that_hide_under_a_name_that_is_needed_are_refused(name):
    kind, _, attribute = name.partition(".")
    with pytest.raises(InputError) as caught:
        read_model(skops.io.dumps(HIDING[name]()), WHERE)
    told = caught.value
    assert told.code == "misfit-model" and told.where == WHERE
    assert told.what.startswith(f"`{attribute}` of the {kind} ") and "4 features" in told.what


def test_the_message_names_the_shape_and_what_it_should_fit():
    with pytest.raises(InputError) as caught:
        read_model(skops.io.dumps(hidden("coef_", LogisticRegression())), WHERE)
    wanted = "`coef_` of the LogisticRegression has the shape (1003, 4), which does not fit its 4 features and 3 classes"
    assert caught.value.what == wanted


def test_what_does_not_follow_the_layers_of_a_network_is_refused():
    model = hidden("intercepts_", MLPClassifier(3, max_iter=2))
    with pytest.raises(InputError, match="`coefs_` of the MLPClassifier is a list, which does not fit"):
        read_model(skops.io.dumps(model), WHERE)


@pytest.mark.parametrize("trees", [DecisionTreeClassifier(), RandomForestClassifier(2), AdaBoostClassifier(n_estimators=2)])
def test_columns_that_the_importances_of_trees_choose_are_refused(trees):
    """They follow from counts of records, which are not published: without them other columns would be chosen."""
    with pytest.raises(InputError, match="SelectFromModel chooses columns by the importances of trees") as caught:
        read_model(skops.io.dumps(fitted(then(SelectFromModel(trees)))), WHERE)
    assert caught.value.code == "needs-counts"


def test_what_a_class_answers_itself_is_not_kept():
    """Under the name of a property an attribute is out of everybody's sight."""
    model = fitted(then(mixed()))
    kept = serialise_model(model)
    vars(model[0])["named_transformers_"] = ROWS
    assert serialise_model(model) == kept


def test_more_classes_in_a_tree_than_its_classifier_asks_it_for_are_refused():
    tree = fitted(DecisionTreeClassifier(max_depth=2))
    tree.classes_, tree.n_classes_ = tree.classes_[:2], 2
    with pytest.raises(InputError, match="another number of classes"):
        read_model(skops.io.dumps(tree), WHERE)


def test_sets_of_categories_without_categories_are_refused():
    model = fitted(HistGradientBoostingClassifier(max_iter=2))
    model._predictors[0][0].raw_left_cat_bitsets = np.zeros((1000, 8), dtype=np.uint32)
    with pytest.raises(InputError, match="sets of categories"):
        read_model(skops.io.dumps(model), WHERE)
