"""The permutation test of an attack: what it earns, and what it would earn with records and rows paired at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tasks.attack.base import AttackContext
from tasks.attack.methods import Attack, attack, find_links
from tasks.attack.outcomes.links import Links
from tasks.attack.outcomes.outcome import AttackResult
from tasks.attack.threat import Intruder
from tasks.microdata.errors import AttackFailed
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.table import Floats, Integers
from tasks.sweep.calibration.worlds import World

DRAWS = 10_000  # pairings that are drawn at most: the smallest p is just below 1e-4
ENOUGH = 20  # pairings beyond what was found, after which a p-value is known well enough
_AT_A_TIME = 200
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class PermutationTest:
    """How probable so much, and so little, is under random pairings; `expected` is their mean."""

    expected: float
    above: float
    below: float


def run_attack(world: World, spec: Attack, targets: Integers | None = None) -> AttackResult:
    """What a release would be told of this attack."""
    return attack(
        *(world.original, world.masked, world.schema, world.steps, spec, Intruder("declared", world.knows)),
        alignment=world.alignment,
        targets=np.arange(world.original.n) if targets is None else targets,
    )


@dataclass(frozen=True, slots=True)
class PairingCredit:
    """What an attack says of a world. credit: shape (n,), of each record; matrix: see `compute_credit_matrix`."""

    result: AttackResult
    credit: Floats
    matrix: Floats


def compute_pairing_credit(world: World, spec: Attack) -> PairingCredit:
    """Attack a world, and look at its links as well.

    Where rows were dealt out, the steps rule out true rows; the attack then rightly refuses to be a rate, and the credit is
    read off its links. Raises AttackFailed where it has no other reason to refuse than its own.
    """
    result, links, alignment = run_attack(world, spec), _links(world, spec), world.alignment
    matrix = compute_credit_matrix(links, is_searched=result.direction == "to_original")
    if result.outcomes is not None:
        return PairingCredit(result, result.outcomes.floats("credit"), matrix)
    if not links.rules_out(alignment.record, np.arange(len(alignment.record))).any():
        raise AttackFailed(result.reason or f"the attack {result.attack} did not run")
    credit = np.zeros(world.original.n)
    credit[alignment.record] = matrix[alignment.record, np.arange(len(alignment.record))]
    return PairingCredit(result, credit, matrix)


def compute_credit_matrix(links: Links, *, is_searched: bool) -> Floats:
    """Shape (n, m): what record i would earn if masked row j were its own. is_searched: do the rows look for records?"""
    guesses = links.guesses(np.arange(len(links.search_class)))
    searching = np.repeat(np.arange(len(links.search_class)), np.diff(guesses.starts))
    linked = np.zeros((len(links.search_class), int(guesses.class_of_row.max()) + 1))
    linked[searching, guesses.classes] = 1.0
    credit = linked[:, guesses.class_of_row] / np.maximum(guesses.tie_sizes(), 1)[:, None]
    return np.ascontiguousarray(credit.T if is_searched else credit)


def _links(world: World, spec: Attack) -> Links:
    truth = GroundTruth.create_from_tables(world.original, world.masked, world.schema, world.alignment)
    intruder, everybody = Intruder("declared", world.knows), np.arange(world.original.n)
    return find_links(spec, AttackContext(truth, world.schema, world.steps, intruder, world.knows, everybody)).links


def complete_to_square(matrix: Floats) -> Floats:
    """A column of zeros for each record that is not released, so that every pairing is a permutation."""
    return np.pad(matrix, ((0, 0), (0, matrix.shape[0] - matrix.shape[1])))


def run_permutation_test(matrices: Sequence[Floats], found: float, rng: np.random.Generator) -> PermutationTest:
    """How often random pairings of records and rows, one for each of the square matrices, earn as much as was found in all.

    matrices: of one size. found: the sum of all credits. The expected sum is exact. Pairings are drawn until it is clear that
    they reach what was found, and fall below it, often enough, at most DRAWS of them (Besag and Clifford's sequential p-value).
    """
    credit = np.stack(matrices)
    table, record = np.arange(len(credit))[:, None], np.arange(credit.shape[1])
    above = below = drawn = 0
    while min(above, below) < ENOUGH and drawn < DRAWS:
        pairing = rng.permuted(np.broadcast_to(record, (_AT_A_TIME, *credit.shape[:2])), axis=2)
        earned = credit[table, record, pairing].sum(axis=(1, 2))
        above += int((earned >= found - _SAME).sum())
        below += int((earned <= found + _SAME).sum())
        drawn += _AT_A_TIME
    return PermutationTest(float(credit.sum() / credit.shape[1]), (1 + above) / (1 + drawn), (1 + below) / (1 + drawn))


def compute_binomial_tail(misses: int, trials: int, rate: float) -> float:
    """How probable so many misses, or more, are, if each occurs with the given rate."""
    from scipy.stats import binom

    return float(binom.sf(misses - 1, trials, rate))


def estimate_share_of_trials(hits: int, trials: int) -> tuple[float, float]:
    """95 % interval of a share of independent trials (Clopper and Pearson)."""
    from scipy.stats import binomtest

    found = binomtest(hits, trials).proportion_ci(0.95)
    return float(found.low), float(found.high)
