"""Attacks on a model: by hand on a few answers, on a learner that knows everything by heart, on one that knows nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from membership_models import ATTACKS, constant, halves, memoriser, noisy, results
from scipy.stats import norm

from tasks.attack.membership.answers import Answers, compute_log_losses, confidence, correct
from tasks.attack.membership.gap import score_by_gap
from tasks.attack.membership.likelihood_ratio import LEAST_SD, LikelihoodRatio, score_by_likelihood_ratio
from tasks.attack.membership.loss_threshold import LossThreshold, score_by_loss
from tasks.attack.membership.methods import DEFAULT_MODEL_ATTACKS, Taught, attack_model, shadows_needed
from tasks.attack.membership.shadow_models import score_by_shadow_models
from tasks.attack.membership.shadows import Shadows
from tasks.attack.membership.threshold import best_threshold
from tasks.microdata.errors import NotApplicable
from tasks.score.membership.membership_estimates import membership_estimates
from tasks.score.membership.roc_curve import compute_auc

ONE = np.zeros(1, dtype=np.int64)


def sure(logits):
    """Answers of two classes whose confidence in class 0 is as given."""
    p = 1 / (1 + np.exp(-np.asarray(logits, dtype=float)))
    return np.stack([p, 1 - p], axis=-1)


def shadows(logits, taught):
    logits = np.asarray(logits, dtype=float)
    labels = np.zeros(logits.shape[1], dtype=np.int64)
    return Shadows(sure(logits), np.asarray(taught, dtype=bool), labels, np.arange(logits.shape[1]), "inserted")


def test_what_an_answer_says():
    p = np.array([[0.7, 0.2, 0.1], [0.4, 0.4, 0.2], [0.0, 1.0, 0.0]])
    labels = np.array([0, 1, 0])
    assert correct(p, labels).tolist() == [1, 0.5, 0]
    assert compute_log_losses(p, labels) == pytest.approx([-np.log(0.7), -np.log(0.4), -np.log(1e-3)])
    assert confidence(p, labels) == pytest.approx([np.log(7 / 3), np.log(2 / 3), -np.log(999)])


def test_gap_by_hand():
    scored = score_by_gap(Answers(np.array([[0.7, 0.3], [0.5, 0.5], [0.1, 0.9]]), np.zeros(3, dtype=np.int64)))
    assert scored.scores.tolist() == [1, 0.5, 0]
    assert (scored.scores >= scored.threshold).tolist() == [True, False, False]


def test_loss_threshold_by_hand():
    answers = Answers(np.array([[0.5, 0.5], [0.25, 0.75]]), np.zeros(2, dtype=np.int64), training_loss=1.0)
    scored = score_by_loss(answers, LossThreshold(method="loss_threshold"))
    assert scored.scores == pytest.approx([-np.log(2), -np.log(4)])
    assert (scored.scores >= scored.threshold).tolist() == [True, False]
    spec = LossThreshold(method="loss_threshold", threshold="shadow_models", shadows=2)
    both = shadows([[0.0, 9.0], [9.0, np.log(3)]], [[1, 0], [0, 1]])  # of those who taught: p = 1/2 and 3/4
    assert score_by_loss(answers, spec, both).threshold == pytest.approx((np.log(0.5) + np.log(0.75)) / 2)


def test_a_target_that_no_shadow_saw_is_taken_to_be_as_much_surer_inside_as_the_others():
    # Target 0: inside 2 and 4, outside -1 and 1 (3 and 0, 3 apart). Target 1: four answers outside, mean 1, so 4 inside.
    taught = [[1, 0], [1, 0], [0, 0], [0, 0]]
    both = shadows([[2, 0], [4, 2], [-1, 0], [1, 2]], taught)
    own = shadows(np.tile([[2.0], [4.0], [-1.0], [1.0]], 6), np.tile([[1], [1], [0], [0]], (1, 6)))
    answers = Answers(sure([3.0, 2.5]), np.zeros(2, dtype=np.int64))
    spec = LikelihoodRatio(method="likelihood_ratio", shadows=4)
    found = score_by_likelihood_ratio(answers, spec, both, own).scores
    inside, outside = 2.0, (2 + 4) / (1 + 3)  # the variance that all share: of 2, of 4 with 1 and 3 degrees of freedom
    ratio = (-((found_ - 4) ** 2) / 2 / inside + (found_ - 1) ** 2 / 2 / outside for found_ in (2.5,))
    assert found[1] == pytest.approx(next(ratio) - 0.5 * np.log(inside / outside))
    nobody = shadows([[2.0], [4.0], [-1.0], [1.0]], np.zeros((4, 1)))
    with pytest.raises(NotApplicable, match="no shadow model saw a target"):
        score_by_likelihood_ratio(Answers(sure([3.0]), ONE), spec, nobody, own)


def test_a_loss_that_is_not_published():
    with pytest.raises(NotApplicable, match="not published"):
        score_by_loss(Answers(sure([[0.0]])[0], ONE), LossThreshold(method="loss_threshold"))


def test_likelihood_ratio_by_hand():
    # With the target 2 and 4, without it -1 and 1: means 3 and 0, both variances 2. Seen 3: (3^2 - 0) / (2 * 2).
    taught = [[1], [1], [0], [0]]
    target = shadows([[2], [4], [-1], [1]], taught)
    own = shadows(np.tile([[2.0, 2.0], [4.0, 4.0], [-1.0, -1.0], [1.0, 1.0]], 3), np.tile(taught, (1, 6)))
    answers = Answers(sure([3.0]), ONE)
    online = score_by_likelihood_ratio(answers, LikelihoodRatio(method="likelihood_ratio", shadows=4), target, own)
    assert online.scores == pytest.approx([9 / 4])
    offline = LikelihoodRatio(method="likelihood_ratio", variant="offline", shadows=4)
    apart = shadows([[-2], [0], [2], [4]], np.zeros((4, 1)))  # mean 1, variance 20 / 3
    assert score_by_likelihood_ratio(answers, offline, apart, own).scores == pytest.approx([2 / np.sqrt(20 / 3)])


def test_records_that_always_get_the_same_answer_have_the_least_sd():
    target = shadows([[2], [2], [1], [1]], [[1], [1], [0], [0]])
    spec = LikelihoodRatio(method="likelihood_ratio", shadows=4)
    own = shadows(np.tile([[2.0], [2.0], [1.0], [1.0]], (1, 2)), [[1, 0], [1, 0], [0, 1], [0, 1]])
    scored = score_by_likelihood_ratio(Answers(sure([2.0]), ONE), spec, target, own)
    assert scored.scores == pytest.approx([1 / (2 * LEAST_SD**2)])


def test_the_variance_of_a_target_is_its_own_with_many_shadows():
    rng = np.random.default_rng(1)
    logits = rng.normal(0, [1.0, 3.0], (64, 2))
    target = shadows(logits, np.zeros((64, 2)))
    spec = LikelihoodRatio(method="likelihood_ratio", variant="offline", shadows=64)
    taught = np.arange(64)[:, np.newaxis] % 2 == [0, 1]
    scores = score_by_likelihood_ratio(
        Answers(sure([1.0, 1.0]), np.zeros(2, dtype=np.int64)), spec, target, shadows(logits, taught)
    ).scores
    assert scores == pytest.approx((1 - logits.mean(axis=0)) / logits.std(axis=0, ddof=1))


def slow_scores(spec, seen, answers, taught):
    """Target by target, with the normal densities of SciPy."""
    inside = [answers[taught[:, j], j] for j in range(len(seen))]
    outside = [answers[~taught[:, j], j] for j in range(len(seen))]

    def sds(groups):
        degrees = sum(max(len(one) - 1, 0) for one in groups)
        shared = np.sqrt(sum(((one - one.mean()) ** 2).sum() for one in groups if len(one)) / max(degrees, 1))
        own = [one.std(ddof=1) if len(one) > 1 else shared for one in groups]
        return np.maximum(own if spec.shadows >= (64 if spec.variant == "online" else 32) else [shared] * len(groups), LEAST_SD)

    out = [(one.mean(), sd) for one, sd in zip(outside, sds(outside), strict=True)]
    if spec.variant == "offline":
        return [(value - mean) / sd for value, (mean, sd) in zip(seen, out, strict=True)]
    law = [(one.mean(), sd) for one, sd in zip(inside, sds(inside), strict=True)]
    return [norm.logpdf(v, *a) - norm.logpdf(v, *b) for v, a, b in zip(seen, law, out, strict=True)]


@pytest.mark.parametrize("variant", ["online", "offline"])
@pytest.mark.parametrize("k", [4, 8, 32, 64])
def test_likelihood_ratio_is_that_of_its_slow_twin(variant, k):
    rng = np.random.default_rng(k)
    spec = LikelihoodRatio(method="likelihood_ratio", variant=variant, shadows=k)
    pair = rng.random((k // 2, 12)) < 0.5
    own_taught = np.stack([pair, ~pair], axis=1).reshape(k, 12)
    taught = own_taught[:, :6] if variant == "online" else np.zeros((k, 6), dtype=bool)
    logits, own = rng.normal(taught, 1.0), rng.normal(own_taught, 1.0)
    seen = rng.normal(size=6)
    answers = Answers(sure(seen), np.zeros(6, dtype=np.int64))
    scored = score_by_likelihood_ratio(answers, spec, shadows(logits, taught), shadows(own, own_taught))
    assert scored.scores == pytest.approx(slow_scores(spec, seen, logits, taught))
    found, member = [], []
    for i in range(k):
        rest = np.arange(k) != i
        known = (
            own_taught[rest].any(axis=0) & ~own_taught[rest].all(axis=0)
            if variant == "online"
            else ~own_taught[rest].all(axis=0)
        )
        columns = np.flatnonzero(known)
        every = slow_scores(spec, own[i, columns], own[np.ix_(rest, columns)], own_taught[np.ix_(rest, columns)])
        found.append(every)
        member.append(own_taught[i, columns])
    expected = best_threshold(np.concatenate(found), np.concatenate(member))
    if k >= 8:  # with fewer, the shared variance is that of records which cannot be scored too
        assert scored.threshold == pytest.approx(expected)


def test_shadow_models_by_hand():
    # whoever taught is answered 0.9, the others 0.6: so is the target that the model is sure of a member
    logits = np.log([[9.0] * 20 + [1.5] * 20, [1.5] * 20 + [9.0] * 20])
    taught = np.array([[1] * 20 + [0] * 20, [0] * 20 + [1] * 20])
    answers = Answers(sure(np.log([9.0, 1.5])), np.zeros(2, dtype=np.int64))
    scored = score_by_shadow_models(answers, shadows(logits, taught), rng=np.random.default_rng(1))
    assert scored.scores.tolist() == [1, 0]


def test_shadow_models_learn_each_class_for_itself():
    # class 0: who taught is answered with 0.9, the others 0.6; class 1 the other way round
    p, taught = np.tile([0.9, 0.6], 40), np.tile([True, False, False, True], 20)
    labels = np.tile([0, 0, 1, 1], 20)
    outputs = np.stack([np.where(labels == 0, p, 1 - p), np.where(labels == 0, 1 - p, p)], axis=-1)
    both = Shadows(outputs[np.newaxis], taught[np.newaxis], labels, np.arange(80), "apart")
    scored = score_by_shadow_models(Answers(outputs[:4], labels[:4]), both, rng=np.random.default_rng(1))
    assert (scored.scores >= scored.threshold).tolist() == [True, False, False, True]


def test_a_class_without_shadow_members_is_judged_by_all_classes():
    both = shadows(np.log([[9.0] * 20 + [1.5] * 20]), [[1] * 20 + [0] * 20])
    answers = Answers(sure(np.log([9.0, 1.5])), np.ones(2, dtype=np.int64))
    assert score_by_shadow_models(answers, both, rng=np.random.default_rng(1)).scores.shape == (2,)


def test_best_threshold():
    member = np.array([False, False, True, True])
    assert best_threshold(np.array([1.0, 2, 3, 4]), member) == 2.5
    assert best_threshold(np.array([4.0, 3, 2, 1]), member) == np.inf
    assert best_threshold(np.ones(4), member) == np.inf
    next_one = np.nextafter(1.0, 2)
    assert best_threshold(np.array([1.0, 1, next_one, next_one]), member) == next_one
    with pytest.raises(ValueError, match="members and others"):
        best_threshold(np.ones(2), np.ones(2, dtype=bool))


def test_a_planted_learner_that_returns_its_training_labels_is_found_by_all():
    rng = np.random.default_rng(7)
    frame, data = halves(160, rng), noisy(160, rng)
    for name, result in results(data, frame, rng, learn=memoriser).items():
        figures = {one.measure: one for one in membership_estimates(result, frame)}
        assert figures["membership_auc"].value == 1, name
        assert figures["membership_advantage"].value == 1, name
        assert figures["membership_precision"].value == 1 and figures["membership_recall"].value == 1, name
        assert figures["membership_advantage"].low < 1


def test_a_constant_model_says_nothing():
    rng = np.random.default_rng(7)
    frame, data = halves(160, rng), noisy(160, rng)
    for name, result in results(data, frame, rng, learn=constant).items():
        of_class = data.labels[frame.target_rows]
        scores = [np.unique(result.scores[of_class == label].round(9)) for label in (0, 1)]
        assert all(len(values) == 1 for values in scores), name


def test_nothing_follows_from_who_the_members_are():
    """Attacks on the same answers give the same scores whoever was a member."""
    rng = np.random.default_rng(3)
    frame, data = halves(120, rng), noisy(120, rng)
    other = replace(frame, member=frame.control, control=frame.member)
    predict = memoriser(data.take(frame.member_rows), 0)
    first, second = (
        results(data, of, np.random.default_rng(5), predict=predict, published=False, specs=ATTACKS[2:])
        for of in (frame, other)
    )
    for name in first:
        assert np.array_equal(first[name].scores, second[name].scores)
        assert first[name].threshold == second[name].threshold
        one, swapped = (compute_auc(of.scores, by.is_member) for of, by in ((first[name], frame), (second[name], other)))
        assert one + swapped == pytest.approx(1)


def test_shadows_are_shared_and_counted():
    assert shadows_needed(DEFAULT_MODEL_ATTACKS) == {"inserted": 16, "apart": 16}
    assert shadows_needed(DEFAULT_MODEL_ATTACKS[:2]) == {}
    rng = np.random.default_rng(3)
    frame, data = halves(120, rng), noisy(120, rng)
    found = results(data, frame, rng, learn=memoriser)
    assert {name: one.shadows for name, one in found.items()}["likelihood_ratio"] == 4
    with pytest.raises(ValueError, match="16 shadow models"):
        attack_model(DEFAULT_MODEL_ATTACKS[3], Answers(sure([0.0]), ONE), frame, Taught(), rng=rng)


def test_an_attack_that_cannot_run_has_a_reason_and_no_figures():
    rng = np.random.default_rng(3)
    frame, data = halves(120, rng), noisy(120, rng)
    result = results(data, frame, rng, learn=memoriser, specs=ATTACKS[1:2], published=False)["loss_threshold"]
    assert result.status == "not_applicable" and result.scores is None
    figures = membership_estimates(result, frame)
    assert figures and all(one.value is None and one.reason == result.reason for one in figures)


def test_answers_that_are_no_numbers_fail():
    rng = np.random.default_rng(3)
    frame = halves(120, rng)
    t = len(frame.target_rows)
    answers = Answers(np.full((t, 2), np.nan), np.zeros(t, dtype=np.int64), 0.5)
    result = attack_model(ATTACKS[1], answers, frame, Taught(), rng=rng)
    assert result.status == "failed" and membership_estimates(result, frame)[0].status == "failed"
