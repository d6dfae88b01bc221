"""LiRA, the likelihood ratio attack: is the model as sure of this record as models that saw it, or as models that did not?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from tasks.attack.membership.answers import Answers, confidence
from tasks.attack.membership.scored import MembershipScores
from tasks.attack.membership.shadows import Shadows, Teaching
from tasks.attack.membership.threshold import best_threshold
from tasks.microdata.errors import NotFollowed
from tasks.microdata.spec import Public, Slug, Spec
from tasks.microdata.table import Booleans, Floats, Integers

FEWEST_FOR_OWN_VARIANCE = 32  # answers of each kind about a target
LEAST_SD = 0.05  # of a logit: a forest without bootstrap answers the same about all who taught it


class LikelihoodRatio(Spec):
    """Parameters of the likelihood ratio attack (LiRA).

    id: what the attack is called in figures and policy lines; default: the method's name.
    variant: `online`: shadow models that have seen half of the targets tell both laws of a target's confidence; `offline`:
        models that have seen no target tell the law of a non-member alone.
    shadows: how many models of that kind, an even number; with fewer than 64 (online) or 32 (offline) all targets share one
        variance.
    """

    method: Public[Literal["likelihood_ratio"]]
    id: Public[Slug | None] = None
    variant: Public[Literal["online", "offline"]] = "online"
    shadows: Public[Annotated[int, Field(ge=4, le=1024, multiple_of=2)]] = 16

    @property
    def teaching(self) -> Teaching:
        """The kind of shadow models that it needs."""
        return "inserted" if self.variant == "online" else "apart"

    @property
    def own_variance(self) -> bool:
        """Are there enough answers about each target to estimate its own variance?"""
        return self.shadows >= FEWEST_FOR_OWN_VARIANCE * (2 if self.variant == "online" else 1)


@dataclass(frozen=True, slots=True)
class _NormalDistribution:
    """The normal laws of the confidence in each of q records, of models that saw it or did not. mean, sd, count: (q,)."""

    mean: Floats
    sd: Floats
    count: Integers


def score_by_likelihood_ratio(answers: Answers, spec: LikelihoodRatio, targets: Shadows, own: Shadows) -> MembershipScores:
    """Score each target by how much likelier its confidence is of a model that saw it than of one that did not.

    Meaning: records differ in how hard they are; so each is compared with itself, in models with it and without it.
    Formula in words: c = ln(p / (1 - p)), p the probability of the true class. Online: ln N(c; mean and sd over the shadows
    that saw the target) - ln N(c; those of the others). Offline: (c - mean) / sd over the shadows, all of which did not.
    The sd is the record's own with at least 32 answers of each kind about a target, else one for all; never below 0.05.
    The threshold is the one that would have been best against the shadow models, each in turn in the place of the released
    model and attacked with the others, on the intruder's own records.

    A target that no shadow saw, because their masking samples, is taken to be as much surer inside than outside as the others.

    targets, own: the answers of the spec's shadow models about the targets and about the intruder's own records.

    Returns log ratios (online) or standard scores (offline). Cost: O(k^2 q).
    Source: Carlini et al. (2022), algorithm 1. Done otherwise than there: no queries of changed records, for a table has no
    augmentations; all targets are inserted at once, half of them in each shadow model, instead of one at a time.
    Example: a model that answers the same about everybody: all scores of a class are equal.
    """
    seen = confidence(answers.probabilities, answers.labels)
    threshold = best_threshold(*_against_shadows(spec, own))
    return MembershipScores(_scores(spec, seen, targets), threshold, "shadow_models")


def _scores(spec: LikelihoodRatio, seen: Floats, shadows: Shadows) -> Floats:
    answers = confidence(shadows.outputs, shadows.labels)
    inside, outside = (_fit_distribution(spec, answers, of) for of in (shadows.taught, ~shadows.taught))
    if spec.variant == "online":
        inside, outside = _both(inside, outside)
    return _ratio(spec, seen, inside, outside)


def _both(inside: _NormalDistribution, outside: _NormalDistribution) -> tuple[_NormalDistribution, _NormalDistribution]:
    """The laws of records of which no shadow that saw them, or none that did not, answered: as far apart as the others' are.

    A masking that samples leaves records out of all shadows. Raises NotFollowed where that are all of them.
    """
    known = (inside.count > 0) & (outside.count > 0)
    if not known.any():
        raise NotFollowed("no shadow model saw a target, so that none can be compared with those that did not")
    shift = float((inside.mean - outside.mean)[known].mean())
    return (
        replace(inside, mean=np.where(inside.count > 0, inside.mean, outside.mean + shift)),
        replace(outside, mean=np.where(outside.count > 0, outside.mean, inside.mean - shift)),
    )


def _against_shadows(spec: LikelihoodRatio, own: Shadows) -> tuple[Floats, Booleans]:
    """The scores of the own records under each shadow model in turn, and whether they taught it; those that can be scored."""
    answers = confidence(own.outputs, own.labels)
    parts = []
    for i in range(own.n):
        rest = np.arange(own.n) != i
        inside, outside = (_fit_distribution(spec, answers[rest], of[rest]) for of in (own.taught, ~own.taught))
        known = (outside.count > 0) & ((inside.count > 0) | (spec.variant == "offline"))
        parts.append((_ratio(spec, answers[i], inside, outside)[known], own.taught[i][known]))
    scores, taught = (np.concatenate(some) for some in zip(*parts, strict=True))
    return scores, taught


def _ratio(spec: LikelihoodRatio, seen: Floats, inside: _NormalDistribution, outside: _NormalDistribution) -> Floats:
    if spec.variant == "offline":
        return (seen - outside.mean) / outside.sd
    return _log_density(seen, inside) - _log_density(seen, outside)


def _log_density(seen: Floats, distribution: _NormalDistribution) -> Floats:
    return np.asarray(-np.log(distribution.sd) - ((seen - distribution.mean) / distribution.sd) ** 2 / 2)


def _fit_distribution(spec: LikelihoodRatio, answers: Floats, counted: Booleans) -> _NormalDistribution:
    """answers, counted: shape (k, q)."""
    count = counted.sum(axis=0)
    mean = np.where(counted, answers, 0.0).sum(axis=0) / np.maximum(count, 1)
    squares = (np.where(counted, answers - mean, 0.0) ** 2).sum(axis=0)
    shared = squares.sum() / max(int((count - 1)[count > 1].sum()), 1)
    own = squares / np.maximum(count - 1, 1)
    variance = np.where((count > 1) & spec.own_variance, own, shared)
    return _NormalDistribution(mean, np.maximum(np.sqrt(variance), LEAST_SD), count)
