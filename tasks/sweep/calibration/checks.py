"""The checks of a calibration: which attack, by which figure, on which tables; and one door to carry them out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np
from pydantic import TypeAdapter

from tasks.attack.consistency.consistency import Consistency
from tasks.attack.learned.learned_linkage import KINDS, LearnedLinkage
from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.methods import ATTACK_CLASSES, Attack
from tasks.attack.probabilistic.probabilistic_linkage import ProbabilisticLinkage
from tasks.attack.profiles.profile_linkage import ProfileLinkage
from tasks.attack.row_position import RowPosition
from tasks.attack.transparency.transparency import Transparency
from tasks.mask.categories.pram import Pram
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import METHODS, Masking
from tasks.mask.noise.noise import Noise
from tasks.mask.ranks.rank_jitter import RankJitter
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.mask.ranks.reverse_mapping import ReverseMapping
from tasks.mask.sampling import Sampling
from tasks.microdata.errors import AttackFailed, NotApplicable
from tasks.microdata.randomness import stream
from tasks.sweep.calibration import null_checks, worlds
from tasks.sweep.calibration.calibration_findings import CalibrationFinding, CalibrationKind, Effort
from tasks.sweep.calibration.chain_checks import is_as_strong
from tasks.sweep.calibration.interval_checks import intervals_cover
from tasks.sweep.calibration.learned_linkage_checks import learns_nothing
from tasks.sweep.calibration.null_checks import finds_nothing
from tasks.sweep.calibration.planted_checks import finds_what_is_there
from tasks.sweep.calibration.posterior_checks import claims_hold
from tasks.sweep.calibration.probabilistic_linkage_checks import (
    claims_of_the_model_hold,
    posterior_finds_nothing,
    posterior_is_recounted,
    reads_nothing_off,
)
from tasks.sweep.calibration.recount_checks import figures_are_true
from tasks.sweep.calibration.worlds import Steps

DEFAULT = Effort(seeds=300, samples=800)
THOROUGH = Effort(seeds=3000, samples=8000)
TARGETS = 600  # of whom a sample is scored
TARGETS_OF_A_LEARNER = 80  # the same, for an attack that takes seconds
SHARES = (0.3, 1.0)

_step = TypeAdapter[Masking](Masking).validate_python
_MICRO: Masking = Microaggregation(method="microaggregation", attributes=("age", "size"), k=3)
_SWAP: Masking = RankSwapping(method="rank_swapping", attributes=("size", "age"), window_percent=20.0)
_JITTER: Masking = RankJitter(method="rank_jitter", attributes=("size", "age"), window_percent=20.0)
_PRAM: Masking = Pram(method="pram", attributes=("grade", "group"), retention=0.7)
_JOINT: Masking = Pram(method="pram", attributes=("grade", "group"), retention=0.5, jointly=True)
_NOISE: Masking = Noise(method="noise", kind="independent", attributes=("size",), sd_percent=50.0)
_BOTH: Masking = Noise(method="noise", kind="correlated", attributes=("age", "size"), sd_percent=50.0)
_ANYWHERE: Masking = RankSwapping(method="rank_swapping", attributes=("size",), window_percent=100.0)

_FOLLOWED: dict[str, Steps] = {
    "microaggregation": (_MICRO,),
    "rank swapping": (_SWAP,),
    "rank jitter": (_JITTER,),
    "reverse mapping": (_MICRO, ReverseMapping(method="reverse_mapping", attributes=("age", "size"))),
    "PRAM": (_PRAM,),
    "joint PRAM": (_JOINT,),
    "independent noise": (_NOISE,),
    "correlated noise": (_BOTH,),
    "top coding": (_step({"method": "top_bottom_coding", "limits": {"size": {"top": 30.0}}}),),
    "rounding": (_step({"method": "rounding", "bases": {"size": 5.0}, "kind": "random"}),),
    "recoding": (_step({"method": "recoding", "recode": {"age": {"intervals": (25.0, 35.0), "values": (20.0, 30.0, 40.0)}}}),),
    "microaggregation, a swap and PRAM": (
        Microaggregation(method="microaggregation", attributes=("age",), k=3),
        RankSwapping(method="rank_swapping", attributes=("size",), window_percent=20.0),
        Pram(method="pram", attributes=("group",), retention=0.7),
    ),
}  # masks that the attack by transparency follows
FOLLOWED: dict[str, Steps] = {
    **_FOLLOWED,
    **{
        method.description().method: cast(Steps, method.examples()[:1])
        for method in METHODS
        if "transparency" in method.description().answered_by
        and not any(isinstance(step, method) for steps in _FOLLOWED.values() for step in steps)
    },
}  # every one of them: those without a scene above by their first example
RANDOM_MASKS: dict[str, tuple[tuple[str, ...], Steps]] = {
    "PRAM": (("grade", "group"), (_PRAM,)),
    "joint PRAM": (("grade", "group"), (_JOINT,)),
    "independent noise": (("size",), (_NOISE,)),
    "correlated noise": (("age", "size"), (_BOTH,)),
    "rank jitter": (("size", "age"), (_JITTER,)),
    "PRAM and noise": (("grade", "size"), (Pram(method="pram", attributes=("grade",), retention=0.7), _NOISE)),
}
EXCHANGED: dict[str, Steps] = {
    "rank swapping": (_SWAP,),
    "p-buckets": (_step({"method": "rank_swapping", "attributes": ("size", "age"), "variant": "p_buckets", "buckets": 5}),),
    "p-distribution": (
        _step({"method": "rank_swapping", "attributes": ("size", "age"), "variant": "p_distribution", "p_percent": 20.0}),
    ),
}  # whatever exchanges values in pairs
_TRANSPARENCY = Transparency(method="transparency")
_MARGINALS = Transparency(method="transparency", matching="marginals")
_CONSISTENCY = Consistency(method="consistency")
_LINKAGE = DistanceLinkage(method="distance_linkage")
_POSITION = RowPosition(method="row_position")
_LEARNED = {family: LearnedLinkage(method="learned_linkage", learn=family) for family in KINDS}
_PROFILES = ProfileLinkage(method="profile_linkage", knows=("age", "grade"), release_attributes=("size",))
_UNNAMED = ProfileLinkage(method="profile_linkage", match="names_unknown")
_SAME_UNITS = ProfileLinkage(method="profile_linkage", match="names_unknown", units="same")
_PROBABLE = ProbabilisticLinkage(method="probabilistic_linkage")
_ORACLE = ProbabilisticLinkage(method="probabilistic_linkage", estimate="supervised")
_PROBABLE_TOGETHER = ProbabilisticLinkage(method="probabilistic_linkage", matching="one_to_one")
_SEVERAL: Steps = (_MICRO, Pram(method="pram", attributes=("group", "grade"), retention=0.7))
_SCHEMAS: dict[str, Attack] = {
    "profile_linkage by no shared attribute": _PROFILES,
    "profile_linkage without names": _UNNAMED,
    "profile_linkage without names, same units": _SAME_UNITS,
}


_OF_NOBODY: tuple[tuple[str, worlds.Make, Steps], ...] = (
    ("columns shuffled, microaggregated", worlds.make_shuffled_columns_world, (_MICRO,)),
    ("other people of the same law", worlds.make_unrelated_world, ()),
    ("other people, 40 % absent", worlds.make_partial_world, ()),
)
RunCheck = Callable[[Effort, np.random.Generator], tuple[CalibrationFinding, ...]]


@dataclass(frozen=True, slots=True)
class CalibrationCheck:
    """One piece of work. kind: what must hold. attack: its method. subject, setting: its names. run: what is done."""

    kind: CalibrationKind
    attack: str
    subject: str
    scene: str
    run: RunCheck


def list_checks(attacks: tuple[str, ...] = ()) -> tuple[CalibrationCheck, ...]:
    """All checks, or those of some attacks by their method; those that take longest first."""
    found = (
        *_list_coverage_checks(),
        *_list_null_checks(),
        *_list_planted_checks(),
        *_list_posterior_checks(),
        *_list_recount_checks(),
        *_list_chain_checks(),
    )
    named = {one.attack for one in found}
    found += tuple(
        check
        for kind in ATTACK_CLASSES
        if kind.get_method() not in named
        for check in _list_plain_checks(kind.create_default())
    )
    return tuple(one for one in found if not attacks or one.attack in attacks)


def _list_plain_checks(spec: Attack) -> Iterator[CalibrationCheck]:
    """The checks of an attack that no list of this file names: with its defaults, by an intruder who knows all attributes."""
    if spec.about.required_by == "earlier releases":  # alone, it is the attack by transparency: of steps that it can follow
        dealt = partial(worlds.make_shuffled_rows_world, null_checks.N_RECORDS, (_MICRO,))
        yield _run_null_check(spec.method, "rows dealt out, microaggregation", spec, dealt)
    else:
        for setting, make, steps in _OF_NOBODY:
            yield _run_null_check(spec.method, setting, spec, partial(make, null_checks.N_RECORDS, steps))
    for share in SHARES:
        masked = (_PRAM,) if spec.about.required_by == "earlier releases" else ()
        yield _create_planted_check(spec.method, "", spec, masked, share)
    intervals = partial(_run_intervals, f"{spec.method}, microaggregated", spec, worlds.make_masked_world, (_MICRO,))
    yield CalibrationCheck("coverage", spec.method, "intervals", f"{spec.method}, microaggregated", intervals)
    recount = partial(figures_are_true, spec.method, spec, _SEVERAL)
    yield CalibrationCheck("recount", spec.method, spec.method, "figures", recount)


def carry_out(check: CalibrationCheck, effort: Effort) -> tuple[CalibrationFinding, ...]:
    """What a check finds; the same whenever the effort is. Its random numbers are anybody's: nothing here is a secret."""
    seed = hashlib.sha256(b"calibration").digest()
    try:
        return check.run(effort, stream(seed, check.kind, check.subject, check.scene))
    except (AttackFailed, NotApplicable) as answer:
        return (_create_not_run(check, answer.reason),)


def _create_not_run(check: CalibrationCheck, reason: str) -> CalibrationFinding:
    return CalibrationFinding(
        kind=check.kind,
        subject=check.subject,
        scene=check.scene,
        trials=0,
        found=0.0,
        expected=1.0,
        holds=False,
        reason=f"it did not run: {reason}",
    )


def _list_distances() -> Iterator[tuple[str, Attack]]:
    for direction in ("to_release", "to_original"):
        for scale in ("release", "original", "own"):
            spec = {"method": "distance_linkage", "direction": direction, "scale_by": scale}
            yield f"distance_linkage {direction}, scale {scale}", DistanceLinkage.model_validate(spec)


def _list_null_checks() -> Iterator[CalibrationCheck]:
    probable = (("probabilistic_linkage", _PROBABLE), ("probabilistic_linkage, one to one", _PROBABLE_TOGETHER))
    for subject, spec in (*_list_distances(), *_SCHEMAS.items(), *probable):
        for setting, make, steps in _OF_NOBODY:
            yield _run_null_check(subject, setting, spec, partial(make, null_checks.N_RECORDS, steps))
    yield from _list_probability_checks()
    for mask, steps in FOLLOWED.items():
        yield _run_null_check(
            "transparency",
            f"rows dealt out, {mask}",
            _TRANSPARENCY,
            partial(worlds.make_shuffled_rows_world, null_checks.N_RECORDS, steps),
        )
    yield _run_null_check(
        "transparency, marginals",
        "rows dealt out, rank jitter",
        _MARGINALS,
        partial(worlds.make_shuffled_rows_world, null_checks.N_RECORDS, (_JITTER,)),
    )
    for mask, steps in EXCHANGED.items():
        yield _run_null_check(
            "consistency",
            f"rows dealt out, {mask}",
            _CONSISTENCY,
            partial(worlds.make_shuffled_rows_world, null_checks.N_RECORDS, steps),
        )
    yield from _list_learner_checks()
    yield _run_null_check(
        "row_position", "rows shuffled", _POSITION, partial(worlds.make_masked_world, null_checks.N_RECORDS, ())
    )
    yield _run_null_check(
        "row_position", "rows shuffled, 40 % absent", _POSITION, partial(worlds.make_partial_world, null_checks.N_RECORDS, ())
    )


def _run_null_check(subject: str, setting: str, spec: Attack, make: null_checks.MakeWorld) -> CalibrationCheck:
    return CalibrationCheck("null", spec.method, subject, setting, partial(finds_nothing, subject, setting, spec, make))


def _list_probability_checks() -> Iterator[CalibrationCheck]:
    for setting, make, steps in _OF_NOBODY:
        world, subject = partial(make, null_checks.N_RECORDS, steps), "posterior at the truth"
        nothing = partial(posterior_finds_nothing, subject, setting, _PROBABLE, world)
        yield CalibrationCheck("null", _PROBABLE.method, subject, setting, nothing)
        together = partial(posterior_finds_nothing, f"{subject}, one to one", setting, _PROBABLE_TOGETHER, world)
        yield CalibrationCheck("null", _PROBABLE.method, f"{subject}, one to one", setting, together)
    subject, setting = "probabilistic_linkage, supervised", "other people of the same law"
    run = partial(reads_nothing_off, subject, setting, _ORACLE, partial(worlds.make_unrelated_world, null_checks.N_RECORDS, ()))
    yield CalibrationCheck("null", _ORACLE.method, subject, setting, run)


def _list_learner_checks() -> Iterator[CalibrationCheck]:
    for family, spec in _LEARNED.items():
        subject, setting = f"learned_linkage, {family}", "other people of the same law"
        make = partial(worlds.make_unrelated_world, null_checks.N_RECORDS, ())
        yield CalibrationCheck("null", spec.method, subject, setting, partial(learns_nothing, subject, setting, spec, make))


def _list_planted_checks() -> Iterator[CalibrationCheck]:
    yield _create_planted_check("learned_linkage", "", _LEARNED["weighted_mean"], (), 1.0)
    for share in SHARES:
        unnamed = ("profile_linkage without names, same units", _SAME_UNITS)
        alone: tuple[tuple[str, Attack], ...] = (("row_position", _POSITION), ("probabilistic_linkage", _PROBABLE))
        everywhere: tuple[tuple[str, Attack], ...] = (*_list_distances(), unnamed, *alone)
        for subject, spec in everywhere:
            yield _create_planted_check(subject, "", spec, (), share)
        for mask, steps in {"PRAM": (_PRAM,), "noise": (_NOISE,), "a swap over all ranks": (_ANYWHERE,)}.items():
            yield _create_planted_check("transparency", f", {mask}", _TRANSPARENCY, steps, share)
        yield _create_planted_check("consistency", ", a swap over all ranks", _CONSISTENCY, (_ANYWHERE,), share)


def _create_planted_check(subject: str, how: str, spec: Attack, steps: Steps, share: float) -> CalibrationCheck:
    setting = f"{share:.0%} have a key of their own{how}"
    run = partial(finds_what_is_there, subject, setting, spec, steps, share)
    return CalibrationCheck("planted", spec.method, subject, setting, run)


def _list_coverage_checks() -> Iterator[CalibrationCheck]:
    sampled: Steps = (Sampling(method="sampling", share=0.7), _NOISE)
    scenes: tuple[tuple[str, Attack, worlds.Make, Steps], ...] = (
        ("transparency, rank swapping", _TRANSPARENCY, worlds.make_masked_world, (_SWAP,)),
        ("consistency, rank swapping", _CONSISTENCY, worlds.make_masked_world, (_SWAP,)),
        ("distance_linkage, microaggregated", _LINKAGE, worlds.make_masked_world, (_MICRO,)),
        ("distance_linkage, 30 % absent, noise", _LINKAGE, worlds.make_masked_world, sampled),
        ("distance_linkage, persons, noise", _LINKAGE, worlds.make_person_world, (_NOISE,)),
        ("row_position, rows kept in order", _POSITION, worlds.make_ordered_world, sampled),
        ("profile_linkage, names unknown, microaggregated", _UNNAMED, worlds.make_masked_world, (_MICRO,)),
        ("learned_linkage, microaggregated", _LEARNED["weighted_mean"], _make_small_world, (_MICRO,)),
        ("probabilistic_linkage, 30 % absent, noise", _PROBABLE, worlds.make_masked_world, sampled),
        ("probabilistic_linkage, persons, noise", _PROBABLE, worlds.make_person_world, (_NOISE,)),
    )
    for setting, spec, make, steps in scenes:
        yield CalibrationCheck(
            "coverage", spec.method, "intervals", setting, partial(_run_intervals, setting, spec, make, steps)
        )


def _make_small_world(_: int, steps: Steps, rng: np.random.Generator) -> worlds.World:
    return worlds.make_masked_world(TARGETS_OF_A_LEARNER, steps, rng)


def _run_intervals(
    setting: str,
    spec: Attack,
    make: worlds.Make,
    steps: Steps,
    effort: Effort,
    rng: np.random.Generator,
) -> tuple[CalibrationFinding, ...]:
    return intervals_cover(setting, spec, make(TARGETS, steps, rng), effort, rng)


def _list_posterior_checks() -> Iterator[CalibrationCheck]:
    for setting, (names, steps) in RANDOM_MASKS.items():
        yield CalibrationCheck("posterior", "transparency", "claims", setting, partial(claims_hold, setting, names, steps))
    subject, setting = "probabilistic_linkage, supervised", "independent codes, PRAM"
    run = partial(claims_of_the_model_hold, subject, setting, _ORACLE)
    yield CalibrationCheck("posterior", _ORACLE.method, subject, setting, run)


def _list_chain_checks() -> Iterator[CalibrationCheck]:
    alone = [step for steps in (*FOLLOWED.values(), *EXCHANGED.values()) for step in steps]
    pool = [step for i, step in enumerate(alone) if step not in alone[:i]]
    for length in (1, 2, 3):
        setting = f"random chains of {length}"
        run = partial(is_as_strong, setting, pool, length)
        yield CalibrationCheck("strength", _TRANSPARENCY.method, "attacks against simple ones", setting, run)


def _list_recount_checks() -> Iterator[CalibrationCheck]:
    attacks: tuple[tuple[str, Attack], ...] = (
        *_list_distances(),
        *_SCHEMAS.items(),
        ("transparency", _TRANSPARENCY),
        ("row_position", _POSITION),
        ("learned_linkage", _LEARNED["weighted_mean"]),
        ("probabilistic_linkage", _PROBABLE),
        ("probabilistic_linkage, supervised", _ORACLE),
    )
    for subject, spec in attacks:
        yield CalibrationCheck("recount", spec.method, subject, "figures", partial(figures_are_true, subject, spec, _SEVERAL))
    swapped = partial(figures_are_true, "consistency", _CONSISTENCY, (_SWAP,))
    yield CalibrationCheck("recount", _CONSISTENCY.method, "consistency", "figures", swapped)
    run = partial(posterior_is_recounted, "probabilistic_linkage", _PROBABLE, _SEVERAL)
    yield CalibrationCheck("recount", _PROBABLE.method, "probabilistic_linkage", "posterior at the truth", run)
