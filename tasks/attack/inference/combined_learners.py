"""Several learners combined: weighed by how much each would have told of the released rows, had these been masked once more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy
from scipy.special import log_softmax, softmax

from tasks.attack.inference.inference_learners import LearnerName
from tasks.attack.inference.inputs import encode_each_input, join_inputs
from tasks.attack.inference.repeated_mask import RepeatedMask, measure_spreads, spread_over_columns
from tasks.attack.inference.secret import Form, Secret, create_secrets, encode_secret, teach
from tasks.microdata.schema import Schema
from tasks.microdata.table import Floats, Microdata

DOUBT = 0.01  # share of each learner's chances that is dealt to all values alike: no learner forbids a value
FEWEST_ROWS = 20  # released rows whose value is known to the learners


def weigh_learners(
    learners: tuple[LearnerName, ...],
    form: Form,
    repeated: RepeatedMask,
    released: Microdata,
    schema: Schema,
    knows: tuple[str, ...],
    name: str,
    tolerance: float | None,
    seed: int,
) -> Floats | None:
    """Shape (learners,): how much each learner counts, see `fit_pool` and `fit_stack`.

    Meaning: of the released rows the intruder knows the secret. They teach the learners by the twice-masked rows, ask them
    about the released ones, and see which of them is right, in the situation in which they will be asked about people. If
    the secret is masked as well, the twice-masked one is the lesson and the released one the truth.

    learners: those who are asked about people. None where the twice-masked rows do not show the secret in this form, or too
    few do. Cost: a fit of each learner.
    """
    lessons, truth = encode_secret(repeated.rows, released, tolerance, schema[name])
    secret = next((one for one in create_secrets(lessons, truth, tolerance) if one.form == form), None)
    if secret is None:
        return None
    rows, places = np.unique(repeated.record), _find_places(secret, truth)
    rows = rows[~np.isnan(places[rows])]
    if len(rows) < FEWEST_ROWS or (~np.isnan(secret.lessons)).sum() < FEWEST_ROWS:
        return None
    inputs = encode_each_input(repeated.rows, released, schema, knows)
    shown, asked = join_inputs(inputs, knows)
    encoded = {one: (of_released, of_repeated) for one, (of_repeated, of_released) in inputs.items()}
    spreads = spread_over_columns(measure_spreads(repeated, released, schema, knows, encoded), inputs, knows)
    told = [teach(learner, secret, shown, seed, spreads=spreads).tell(asked[rows]) for learner in learners]
    if secret.values is None:
        return fit_stack(np.array(told), places[rows], _compute_mean(secret))
    return fit_pool(np.array([*told, _share_of_lessons(secret, len(rows))]), places[rows].astype(np.int64))


def combine_answers(told: Sequence[Floats], weights: Floats, secret: Secret) -> Floats:
    """What the learners say together of people, as `Taught.tell`.

    told: in the order of the learners. secret: of the lessons that taught them.
    """
    said = np.array(told)
    if secret.values is None:
        mean = _compute_mean(secret)
        return np.asarray(mean + weights @ (said - mean))
    return pool_chances(np.array([*said, _share_of_lessons(secret, said.shape[1])]), weights)


def fit_pool(chances: Floats, truth: np.ndarray) -> Floats:
    """Shape (W,), no weight below 0: of a logarithmic opinion pool, under which the true values are likeliest.

    Formula in words: minus the mean log chance of the true value, minimised; it is convex in the weights.

    chances: shape (W, n, C), of each learner. truth: shape (n,), places 0..C-1. Cost: O(W n C) a step, some dozens of steps.
    Example: a learner who is always sure and right, and one who says the same of all: all weight is with the first.
    Source: logarithmic opinion pools (Genest and Zidek 1986); fitted weights (Heskes 1998).
    """
    logs, row = _take_logs(chances), np.arange(len(truth))
    of_truth = logs[:, row, truth].mean(axis=1)

    def loss(weights: Floats) -> tuple[float, Floats]:
        together = log_softmax(np.tensordot(weights, logs, 1), axis=1)
        expected = np.einsum("nc,wnc->w", np.exp(together), logs) / len(truth)
        return -float(together[row, truth].mean()), expected - of_truth

    start = np.full(len(chances), 1 / len(chances))
    bounds = [(0.0, None)] * len(chances)
    return np.asarray(scipy.optimize.minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x)


def pool_chances(chances: Floats, weights: Floats) -> Floats:
    """Shape (n, C): exp(sum over learners of weight x log chance), made to add up to 1. chances: shape (W, n, C).

    Example: one learner with weight 1 is as it is, but for 1 % that is dealt to all values alike.
    """
    return np.asarray(softmax(np.tensordot(weights, _take_logs(chances), 1), axis=1))


def fit_stack(guesses: Floats, truth: Floats, mean: float) -> Floats:
    """Shape (W,), no weight below 0: stacked regression: least squares of the truth on the guesses, all less the mean.

    guesses: shape (W, n). truth: shape (n,). mean: of the lessons: what is said where no learner counts.
    Source: Breiman (1996), Stacked regressions. Example: guesses that are right get a weight of 1.
    """
    return np.asarray(scipy.optimize.nnls((guesses - mean).T, truth - mean)[0])


def _take_logs(chances: Floats) -> Floats:
    return np.asarray(np.log((1 - DOUBT) * chances + DOUBT / chances.shape[2]))


def _find_places(secret: Secret, truth: Floats) -> Floats:
    """Shape (n,): the truth as the learners are to say it: a number, or the place of the value that is right; NaN: none is."""
    if secret.values is None:
        return truth
    if not len(secret.values):
        return np.full(len(truth), np.nan)
    nearest = np.abs(truth[:, None] - secret.values).argmin(axis=1)
    return np.where(secret.is_near(secret.values[nearest], truth), nearest.astype(np.float64), np.nan)


def _share_of_lessons(secret: Secret, n: int) -> Floats:
    """Shape (n, values): what somebody says who knows the shares of the values alone, of everybody."""
    known = secret.lessons[~np.isnan(secret.lessons)].astype(np.int64)
    width = 0 if secret.values is None else len(secret.values)
    return np.tile(np.bincount(known, minlength=width) / len(known), (n, 1))


def _compute_mean(secret: Secret) -> float:
    return float(np.nanmean(secret.lessons))
