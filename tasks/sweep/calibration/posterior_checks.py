"""Calibration check: an intruder who follows the known law of a mask is right as often as their posterior claims."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from tasks.attack.transparency.transparency import Transparency
from tasks.mask.methods import infer_belief
from tasks.microdata.errors import AttackFailed
from tasks.microdata.table import Floats
from tasks.sweep.calibration.calibration_findings import LEVEL, CalibrationFinding, Effort
from tasks.sweep.calibration.random_pairings import run_attack
from tasks.sweep.calibration.worlds import KNOWN, Steps, World, create_schema, create_shuffled_alignment, draw_people, mask_data

N = 400
ALLOWED = 0.05  # of the claim: the formula takes the rows of the others for independent draws, which errs by about 1/n
TABLES = 4  # one table for so many seeds: each holds as many records as several of the other checks
FEWEST = 10
_LEAST = 1e-12  # of what the likeliest record has: a row that no other record can show is the target's


@dataclass(frozen=True, slots=True)
class Claims:
    """Of one table, means over the records: the largest posterior, the sum of squares; what they claim to be."""

    hit: float
    largest: float
    at_truth: float
    squares: float


def claims_hold(
    setting: str, names: tuple[str, ...], steps: Steps, effort: Effort, rng: np.random.Generator
) -> tuple[CalibrationFinding, ...]:
    """Mask a table for each seed by a known law, and compare the attack's hits with the posterior probability it claims.

    The posterior is computed here by the formula, and not taken from the attack: r(l) is proportional to P(y_l | x) / q(y_l),
    with q the sum of P over the OTHER records (with the target's own in it the claims are a little low). Calibrated means that
    the mean hit is the mean largest posterior, and the mean posterior at the truth the mean sum of r^2. What is tested is
    whether the two are further apart than ALLOWED (measured at 400 records: claims 1 to 3 % above the hits).
    """
    found = [compute_claims(_world(names, steps, one)) for one in rng.spawn(max(effort.seeds // TABLES, FEWEST))]
    hits = [(one.hit, one.largest) for one in found]
    at_truth = [(one.at_truth, one.squares) for one in found]
    return (
        _finding("hits against the largest posterior", setting, np.array(hits)),
        _finding("posterior at the truth against sum of squares", setting, np.array(at_truth)),
    )


def compute_claims(world: World) -> Claims:
    """What the attack by transparency hits in a world, and what the posterior claims."""
    result = run_attack(world, Transparency(method="transparency"))
    if result.outcomes is None:
        raise AttackFailed(result.reason or "no reason")
    posterior = compute_posterior(world)
    return Claims(
        hit=float(result.outcomes.floats("credit").mean()),
        largest=float(posterior.max(axis=1).mean()),
        at_truth=float(np.diag(posterior).mean()),
        squares=float((posterior**2).sum(axis=1).mean()),
    )


def compute_posterior(world: World) -> Floats:
    """Shape (n, m): how probable row j is to be record i's, by the formula, from the laws of the steps."""
    from scipy.stats import multivariate_normal

    known = world.original.select(world.knows)
    knowledge = infer_belief(known, world.masked, world.schema, world.steps)
    log = np.zeros((known.n, world.masked.n))
    with np.errstate(divide="ignore"):
        for likelihood in knowledge.likelihoods:
            log += np.log(likelihood.probability)[likelihood.own][:, likelihood.shown]
    for blurred in knowledge.blurred:
        errors = blurred.placed[None, :, :] - blurred.centre[:, None, :]
        log += multivariate_normal(cov=blurred.covariance[0]).logpdf(errors).reshape(log.shape)
    weight = log - _others(log)
    posterior: Floats = np.exp(weight - logsumexp(weight, axis=1, keepdims=True))
    return posterior


def _others(log: Floats) -> Floats:
    """For each record and row the logarithm of the sum of exp(log) over all OTHER records."""
    top = log.max(axis=0)
    density = np.exp(log - top)
    rest = density.sum(axis=0) - density
    return np.asarray(top + np.log(np.maximum(rest, _LEAST)))


def _world(names: tuple[str, ...], steps: Steps, rng: np.random.Generator) -> World:
    data = draw_people(N, rng).select(names)
    schema = create_schema({name: KNOWN[name] for name in names})
    done = mask_data(data, schema, steps, rng)
    return World(data, done.data, schema, done.mechanisms, create_shuffled_alignment(N, rng), names)


def compute_difference_p_value(differences: Floats, allowed: float) -> float:
    """How probable such differences, or larger ones, are if their mean is at most so far from 0 (the nearer side's t test)."""
    from scipy.stats import ttest_1samp

    above = ttest_1samp(differences, allowed, alternative="greater").pvalue
    below = ttest_1samp(differences, -allowed, alternative="less").pvalue
    return float(min(above, below))


def _finding(subject: str, setting: str, pairs: Floats) -> CalibrationFinding:
    found, claimed = pairs.mean(axis=0)
    p = compute_difference_p_value(pairs[:, 0] - pairs[:, 1], ALLOWED * float(claimed))
    return CalibrationFinding(
        kind="posterior",
        subject=subject,
        scene=setting,
        trials=len(pairs),
        found=float(found),
        expected=float(claimed),
        p=p,
        holds=p >= LEVEL,
        reason=None if p >= LEVEL else "the intruder is not right as often as their posterior claims",
    )
