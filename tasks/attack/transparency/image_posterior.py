"""Where a record's own row is in the release: a probability for every row, for an intruder who knows the masking steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.attack.outcomes.links import Links
from tasks.attack.transparency.image_trees import compute_reach
from tasks.attack.transparency.intersection import keep_likely, meets_conditions
from tasks.attack.transparency.scores import (
    MISSING,
    UNBOUNDED,
    ImageScores,
    complete_scores,
    find_images,
    find_likely_images,
    score_images,
)
from tasks.microdata.compiled import njit
from tasks.microdata.table import Booleans, Floats, Integers

_LEAST = 1e-12  # of what speaks for a row: no other record can show it
_NEARLY_ALL = 0.99  # from there on 1 - P / q would lose digits


@dataclass(frozen=True, slots=True)
class ImagePosterior:
    """r(l) of every distinct record over the released rows.

    links: of the attack. log_total: shape (r + 1,): the logarithm of the sum of the weights of a record's possible images; -inf
        where it has none, as the last one, which stands for those who are known to be absent.
    largest: shape (r + 1,): the largest r(l). squares: shape (r + 1,): the sum of r(l)^2.
    """

    links: Links
    whole: ImageScores
    by_likelihood: bool
    log_total: Floats
    largest: Floats
    squares: Floats

    def compute_probabilities(self, records: Integers, rows: Integers) -> Floats:
        """Shape (k,): r(row) of the record, for k pairs; 0 where the row cannot be its image."""
        kinds, positions = self.links.search_class[records], self.whole.position[self.links.found_class[rows]]
        logs = _compute_log_weights(kinds, positions, self.whole, self.by_likelihood)
        return np.exp(logs - np.where(np.isneginf(logs), 0.0, self.log_total[kinds]))

    def compute_guess_probabilities(self, records: Integers) -> Floats:
        """Shape (k,): the largest r(l) of each record."""
        return self.largest[self.links.search_class[records]]


def posterior(links: Links, searching: Integers | None = None) -> ImagePosterior:
    """r(l) of the searching records (default: all), from what the steps let an intruder conclude.

    Formula in words: of the rows that can be the record's image, row l has a probability proportional to P(l | record) / q(l),
    q the sum of P(l | other) over all OTHER records that can show it (with the record's own P in it the claims would be a
    little low). Where no law is known all possible images are equally likely: then nothing is
    claimed but that the true row is among them.
    A mean over records of the largest r(l) is what the intruder claims to hit, and that of the sum of r(l)^2 what they claim to
    have at the truth.

    links: as `link_by_mechanism` returns them. searching: places of records; what is found for each depends on no other, and of
    those whose records are not equal to one of them nothing is found.
    Of each sum at most 1e-12 is left out. Cost: that of the attack. Source: docs/SCIENCE.md section 4; Fellegi and Sunter
    (1969) for the ratio.
    Example: a record that alone can show a row has r = 1 there.
    """
    conditions = links.conditions
    if conditions is None:
        raise ValueError("the links follow from no masking steps")
    whole = score_images(conditions) if links.image_scores is None else links.image_scores
    whole = complete_scores(whole, conditions.likelihoods.records)
    wanted = np.full(len(whole.conditions.own_at) + 1, searching is None)
    wanted[links.search_class[searching] if searching is not None else []] = True
    by_likelihood = conditions.likelihoods.any
    sums = sum_weights(whole, by_likelihood, wanted[:-1], compute_reach(int(conditions.sizes.sum())))
    return ImagePosterior(links, whole, by_likelihood, *sums)


@njit(missing=MISSING, infinite=UNBOUNDED)
def sum_weights(whole: ImageScores, by_likelihood: bool, wanted: Booleans, reach: float) -> tuple[Floats, Floats, Floats]:
    """Of each wanted distinct record, and of who is absent: the logarithm of the sum of the weights, the largest r(l), the sum
    of squares; weights P / (q - P) where likelihoods are known, else 1 for each possible image. wanted: shape (r,). reach: rows
    with a P / q of less than e^-reach times the largest are passed over where likelihoods are known.
    """
    r = len(whole.conditions.own_at)
    totals, largest, squares = np.full(r + 1, -np.inf), np.zeros(r + 1), np.zeros(r + 1)
    possible, scores = np.empty(len(whole.sizes), dtype=np.int64), np.empty(len(whole.sizes))
    for i in range(r):
        if not wanted[i]:
            continue
        n = find_likely_images(i, whole, reach, possible, scores) if by_likelihood else find_images(i, whole, possible, scores)
        if n == 0:
            continue
        top = scores[:n].max() if by_likelihood else 0.0
        most, at_top = 0.0, np.exp(top)
        total, both = 0.0, 0.0
        for e in range(n):
            share, rows = 1.0, whole.sizes[possible[e]]
            if by_likelihood:  # P / (q - P) by P / q, in multiples of e^top
                share = np.exp(scores[e] - top)
                others = 1 - share * at_top if share * at_top < _NEARLY_ALL else max(-np.expm1(scores[e]), _LEAST)
                share /= others
            most = max(most, share)
            total += rows * share
            both += rows * share * share
        totals[i], largest[i], squares[i] = top + np.log(total), most / total, both / total**2
    return totals, largest, squares


@njit
def _weight(score: float, by_likelihood: bool) -> float:
    """log P / (q - P) of log P / q."""
    return score - np.log(max(-np.expm1(score), _LEAST)) if by_likelihood else 0.0


@njit(missing=MISSING, infinite=UNBOUNDED)
def _compute_log_weights(kinds: Integers, positions: Integers, whole: ImageScores, by_likelihood: bool) -> Floats:
    """Of each pair by itself; -inf where the row cannot be the image."""
    logs, row, score = np.full(len(kinds), -np.inf), np.empty(1, dtype=np.int64), np.zeros(1)
    for k in range(len(kinds)):
        if kinds[k] < len(whole.conditions.own_at) and meets_conditions(kinds[k], positions[k], whole.conditions, 0):
            row[0] = positions[k]
            if keep_likely(kinds[k], whole.conditions, row, 1, score):
                logs[k] = _weight(score[0] - whole.evidence[positions[k]], by_likelihood)
    return logs
