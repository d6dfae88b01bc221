"""Calibration check: chains of steps are attacked at least as well as by simple attacks, and no attack claims too much."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.plan import default_attacks
from tasks.attack.transparency.transparency import Transparency
from tasks.mask.methods import Masking
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.errors import InputError
from tasks.microdata.table import Floats
from tasks.sweep.calibration.calibration_findings import LEVEL, CalibrationFinding, Effort
from tasks.sweep.calibration.random_pairings import run_attack
from tasks.sweep.calibration.simple_attacks import attack_simply
from tasks.sweep.calibration.worlds import Steps, World, make_masked_world

N = 150
WEAKER = 0.02  # by so much an attack may find less than a simple one
TOO_BOLD = 0.05  # of the claim, as in `posterior_checks.ALLOWED`
TABLES = 10  # one chain for so many seeds
FEWEST = 3
_LINKAGE = DistanceLinkage(method="distance_linkage")
_PROBABLE = Transparency(method="transparency", id="probabilities", probabilities=True)  # of a release: where it is asked for


@dataclass(frozen=True, slots=True)
class ChainOutcome:
    """What was found of one chain. best, simple: shape (k,), of each released record, by the strongest attack of each side.

    claims: by method, the mean credit and the mean of what the attack claims, for attacks that have probabilities.
    """

    chain: str
    best: Floats
    simple: Floats
    claims: dict[str, tuple[float, float]]


def is_as_strong(
    setting: str, pool: Sequence[Masking], length: int, effort: Effort, rng: np.random.Generator
) -> tuple[CalibrationFinding, ...]:
    """Mask a table by random chains of `length` steps, attack it by what a release runs by default, and simply.

    No chain may be found less of than the strongest simple attack finds, but for WEAKER (one-sided t test of the records'
    credits, for as many tests as there are chains). Attacks with probabilities may not claim more than they hit, but for
    TOO_BOLD of the claim. Chains that refuse the table are drawn again.
    """
    outcomes = [_play(pool, length, one) for one in rng.spawn(max(effort.seeds // TABLES, FEWEST))]
    return (_compare(setting, outcomes), *_check_claims(setting, outcomes))


def _play(pool: Sequence[Masking], length: int, rng: np.random.Generator) -> ChainOutcome:
    while True:
        steps: Steps = tuple(pool[i] for i in rng.choice(len(pool), length))
        try:
            return attack_chain(make_masked_world(N, steps, rng), steps)
        except InputError:  # the steps do not go together
            continue


def attack_chain(world: World, steps: Steps) -> ChainOutcome:
    """The strongest of the attacks that a release runs by default, and the strongest simple one."""
    own = np.full(world.original.n, -1)
    own[world.alignment.record] = np.arange(world.masked.n)
    known = np.flatnonzero(own >= 0)
    credits, claims = [], {}
    for spec in dict.fromkeys((_LINKAGE, *default_attacks(world.steps), _PROBABLE)):
        outcomes = run_attack(world, spec, known).outcomes
        if outcomes is None:
            continue
        credits.append(outcomes.floats("credit"))
        if "claimed" in outcomes.names:
            claims[spec.attack_id] = float(credits[-1].mean()), float(outcomes.floats("claimed").mean())
    windows = [step.window_percent for step in steps if isinstance(step, RankSwapping) and step.window_percent is not None]
    simple = attack_simply(world.original, world.masked, world.schema, world.knows, own, windows[-1] / 100 if windows else None)
    return ChainOutcome(
        chain=", ".join(step.method for step in steps),
        best=max(credits, key=lambda credit: float(credit.mean())),
        simple=max(simple.values(), key=lambda credit: float(credit.mean())),
        claims=claims,
    )


def _compare(setting: str, outcomes: Sequence[ChainOutcome]) -> CalibrationFinding:
    p = [compute_weakness_p_value(one.best - one.simple) for one in outcomes]
    worst = int(np.argmin(p))
    of_all = min(1.0, p[worst] * len(p))
    weak = outcomes[worst]
    return CalibrationFinding(
        kind="strength",
        subject="attacks against simple ones",
        scene=setting,
        trials=len(outcomes),
        found=float(np.mean([one.best.mean() for one in outcomes])),
        expected=float(np.mean([one.simple.mean() for one in outcomes])),
        p=of_all,
        holds=of_all >= LEVEL,
        reason=None
        if of_all >= LEVEL
        else f"after {weak.chain} the attacks find {weak.best.mean():.3f}, a simple one {weak.simple.mean():.3f}",
    )


def compute_weakness_p_value(differences: Floats) -> float:
    """How probable such differences of credits, or smaller ones, are if their mean is at least -WEAKER."""
    from scipy.stats import ttest_1samp

    if differences.std() == 0:
        return float(differences.mean() >= -WEAKER)
    return float(ttest_1samp(differences, -WEAKER, alternative="less").pvalue)


def _check_claims(setting: str, outcomes: Sequence[ChainOutcome]) -> tuple[CalibrationFinding, ...]:
    by_attack: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for one in outcomes:
        for attack, pair in one.claims.items():
            by_attack[attack].append(pair)
    return tuple(_check_claim(attack, setting, np.array(pairs)) for attack, pairs in by_attack.items() if len(pairs) > 1)


def _check_claim(attack: str, setting: str, pairs: Floats) -> CalibrationFinding:
    from scipy.stats import ttest_1samp

    hit, claimed = pairs.mean(axis=0)
    excess = pairs[:, 1] - pairs[:, 0] - TOO_BOLD * pairs[:, 1]
    p = float(ttest_1samp(excess, 0.0, alternative="greater").pvalue) if excess.std() > 0 else float(excess.mean() <= 0)
    return CalibrationFinding(
        kind="posterior",
        subject=f"{attack}, largest posterior of chains",
        scene=setting,
        trials=len(pairs),
        found=float(hit),
        expected=float(claimed),
        p=p,
        holds=p >= LEVEL,
        reason=None if p >= LEVEL else "the intruder is not right as often as their posterior claims",
    )
