"""The attacks: which there are, what each intruder does and knows, and one door to run them."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, assert_never

import numpy as np
from pydantic import Field

from tasks.attack.comparison import ScaleBy
from tasks.attack.consistency.consistency import Consistency, link_by_consistency
from tasks.attack.descriptions import (
    INFERS,
    describe_exchanges,
    describe_file_knowledge,
    describe_known_data,
    describe_known_steps,
    describe_unclear_attributes,
    soundness,
)
from tasks.attack.gaps import Gaps, find_gaps, find_known_participants, is_sampled
from tasks.attack.learned.learned_linkage import LearnedLinkage, link_by_learning
from tasks.attack.linkage.distance_linkage import DistanceLinkage, RecordPairs, compute_permutation_chance, link_by_distance
from tasks.attack.linkage.file_alignment import align_external_file
from tasks.attack.linkage.holding import apply_holdings as as_held
from tasks.attack.outcomes.bounded import OnlyBounded
from tasks.attack.outcomes.links import Links
from tasks.attack.outcomes.outcome import AttackResult, compute_outcomes, persons_of, searching_records
from tasks.attack.probabilistic.linking import link_probably
from tasks.attack.probabilistic.probabilistic_linkage import ProbabilisticLinkage
from tasks.attack.profiles.profile_linkage import ProfileLinkage, link_by_profile
from tasks.attack.row_position import RowPosition, link_by_position
from tasks.attack.synthetic_attack import attack_synthetic_table
from tasks.attack.threat import NEEDS_ORIGINALS, Intruder, attack_id, is_full_form, links_files
from tasks.attack.transparency.posterior import posterior
from tasks.attack.transparency.transparency import Transparency, link_by_mechanism, why_lost
from tasks.mask.methods import Mechanism
from tasks.microdata.alignment import Alignment, NoAlignment, RowAlignment
from tasks.microdata.errors import AttackFailed, NotApplicable, NotFollowed
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Integers, Microdata
from tasks.microdata.units import Units

Attack = Annotated[
    DistanceLinkage | Transparency | RowPosition | ProfileLinkage | LearnedLinkage | ProbabilisticLinkage | Consistency,
    Field(discriminator="method"),
]


def attack(
    original: Microdata,
    masked: Microdata,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    spec: Attack,
    intruder: Intruder,
    *,
    alignment: RowAlignment,
    targets: Integers,
    file: Microdata | None = None,
    held: Integers | None = None,
    sample: Integers | None = None,
) -> AttackResult:
    """Let one intruder attack a masked table, and score how the targets fare.

    The intruder holds every record, or a share; `targets` chooses whose outcome is scored. Where the schema names a person key,
    the targets are the persons of these rows, of whom the intruder holds all rows (see `fare`).

    Parameters
    ----------
    original, masked: n and m <= n rows; row i of `masked` is the released form of record `alignment.record[i]`. The attack does
        not use this, the scoring does; of `alignment.place` an attack may use the order of the released file. Rows may belong
        to nobody (`reading`): then m is any number.
    mechanisms: the masking steps as they were applied. targets: rows of the original, shape (t,), t >= 1, absent ones included.
    file: what the holder of an external file holds, as it was read; the targets are then rows of
    `align_external_file`'s original.
    held: the records that they hold, of whom the targets are some, and persons stand there with all rows; default: all.
    sample: some of the targets, a simple random sample, whose orbits are followed where the table is too large for the whole
        consistency attack (`sample_of_orbits`); default: no bound is computed there.

    Returns the result; an attack that cannot run has a status and a reason instead of outcomes, never a rate of 0. So has one
    whose steps rule out the true row of a record that is released: they are not what was done, and its rate would say
    nothing. A target that is not in the release has credit 0.
    Raises ValueError where the tables do not fit their alignment, InputError where an attribute cannot be compared, or it is
    not clear which rows are whose.
    """
    scene = resolve_ground_truth(GroundTruth.create_from_tables(original, masked, schema, alignment), schema, intruder, file)
    if isinstance(alignment, NoAlignment):
        return attack_synthetic_table(scene, schema, spec, intruder, targets)
    intruder = _as_the_attack_says(spec, intruder)
    his = scene if held is None else scene.restrict_to(np.sort(held))
    blank = replace(_create_blank_result(spec, intruder, mechanisms, scene), chance=his.chance(searched=_is_searched(spec)))
    gaps = Gaps()
    if isinstance(spec, Consistency) or (isinstance(spec, Transparency) and held is not None):
        gaps = find_gaps(scene, schema, mechanisms, spec, intruder, held if held is None else np.sort(held))
        blank = replace(blank, needs_all_records=bool(gaps.hidden))
    try:
        links, remark = _links_of_held(scene, schema, mechanisms, spec, intruder, targets, held, sample)
        if gaps.lost:
            raise OnlyBounded(gaps.reason, links, remark=remark)
        _check_that_true_rows_are_left(links, scene.alignment, held)
    except OnlyBounded as answer:
        blank = replace(blank, links_depend=held is not None and not answer.sampled and _depend_on_the_others(spec))
        scored = sample if answer.sampled and sample is not None else targets
        return _create_bounded_result(blank, answer, scene, schema, mechanisms, intruder, scored, held)
    except NotApplicable as answer:
        idle = NotFollowed(gaps.reason) if gaps.lost and answer.status == "not_applicable" else answer
        return replace(blank, status=idle.status, reason=idle.reason)
    except AttackFailed as answer:
        return replace(blank, status="failed", reason=answer.reason)
    secrets, sound = _secrets(schema, intruder), _is_sound(scene, mechanisms, intruder)
    outcomes = compute_outcomes(scene, links, secrets, targets, searched=blank.direction == "to_original", sound=sound)
    blank = replace(blank, links_depend=held is not None and _depend_on_the_others(spec))
    done = replace(blank, knows_mechanism=blank.knows_mechanism + remark, outcomes=outcomes, probable=links.probable)
    if links.learned is not None:
        return replace(done, chance=links.learned.chance, chance_kind="permutation", learned=links.learned)
    if links.probable is not None and links.probable.chance is not None:
        return replace(done, chance=links.probable.chance, chance_kind="permutation")
    if isinstance(spec, DistanceLinkage) and spec.is_fitted:
        own = as_held(his.original, schema, intruder.holds)
        chance = compute_permutation_chance(own, masked, schema, spec, intruder.knows, _pairs(his))
        return replace(done, chance=chance, chance_kind="permutation")
    if isinstance(spec, DistanceLinkage | ProfileLinkage | ProbabilisticLinkage) and spec.matching == "one_to_one":
        return _adjust_assignment_chance(done, links, his)
    return done


def _create_bounded_result(
    blank: AttackResult,
    answer: OnlyBounded,
    scene: GroundTruth,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    intruder: Intruder,
    scored: Integers,
    held: Integers | None,
) -> AttackResult:
    """The result of an attack that is too large, or followed in part: how targets, or a sample of them, fare at least."""
    rows = searching_records(scene.units, scored) if answer.sampled else held
    try:
        _check_that_true_rows_are_left(answer.links, scene.alignment, rows)
    except AttackFailed as failed:
        return replace(blank, status="failed", reason=failed.reason)
    sound = _is_sound(scene, mechanisms, intruder)
    outcomes = compute_outcomes(scene, answer.links, _secrets(schema, intruder), scored, searched=False, sound=sound)
    what = f"the orbits of {outcomes.n} {scene.units.counts}, drawn at random, give lower bounds"
    reason = f"{answer.reason}; {what if answer.sampled else 'what the rest of the steps tells bounds its figures'}"
    known = blank.knows_mechanism + answer.remark
    part = replace(blank, knows_mechanism=known, partly_followed=not answer.sampled)
    return replace(part, status=answer.status, reason=reason, outcomes=outcomes)


def _secrets(schema: Schema, intruder: Intruder) -> tuple[str, ...]:
    hidden = () if intruder.greedy else schema.find_by_role(Role.CONFIDENTIAL)
    return tuple(name for name in hidden if name not in intruder.knows)


def _is_sound(scene: GroundTruth, mechanisms: tuple[Mechanism, ...], intruder: Intruder) -> bool:
    return intruder.participation_known and (scene.alignment.complete or is_sampled(mechanisms))


def sample_of_orbits(spec: Consistency, units: Units, targets: Integers, rng: np.random.Generator) -> Integers:
    """The targets whose orbits are followed where a table is too large for the whole attack; of persons all their rows."""
    drawn = rng.permutation(persons_of(units, targets))[: spec.sampled_orbits]
    return units.rows().find_rows(drawn)[0]


def _adjust_assignment_chance(done: AttackResult, links: Links, scene: GroundTruth) -> AttackResult:
    """Where more search than can be found, some are given nothing, and chance is less."""
    searched = done.direction == "to_original"
    if links.n_given == (scene.masked.n if searched else scene.original.n):
        return done
    chance = scene.chance(searched=searched, n_given=links.n_given)
    whole = 1 if searched else scene.alignment.n_records / scene.original.n  # of who holds a share: as if they held all
    return replace(done, chance=chance, n_given=round(links.n_given * whole))


def _links_of_held(
    scene: GroundTruth,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    spec: Attack,
    intruder: Intruder,
    targets: Integers,
    held: Integers | None,
    sample: Integers | None,
) -> tuple[Links, str]:
    """`links_of` for somebody who holds some of the records: what they find, said of all of them."""
    if held is None:
        return links_of(scene, schema, mechanisms, spec, intruder, targets, sample=sample)
    if _is_searched(spec):
        raise NotApplicable("the released rows search all records of the source, and they hold a share of them")
    his = np.sort(held)
    if not np.isin(targets, his).all():
        raise ValueError("targets are among the records that the intruder holds")
    at = np.searchsorted(his, targets)
    drawn = None if sample is None else np.searchsorted(his, sample)
    try:
        links, remark = links_of(scene.restrict_to(his), schema, mechanisms, spec, intruder, at, held=his, sample=drawn)
    except OnlyBounded as answer:
        raise replace(answer, links=answer.links.expand_links_and_posterior(his, scene.original.n)) from None
    return links.expand_links_and_posterior(his, scene.original.n), remark


def links_of(
    scene: GroundTruth,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    spec: Attack,
    intruder: Intruder,
    targets: Integers,
    *,
    held: Integers | None = None,
    sample: Integers | None = None,
) -> tuple[Links, str]:
    """The links of the targets at least, and what else is to be said of the intruder's knowledge of the masking.

    held: where the scene is that of somebody who holds a share of the records, which these are in the source. sample: as in
    `attack`.
    """
    original, masked, n_records = scene.original, scene.masked, scene.alignment.n_records
    if intruder.file is not None and not links_files(spec) and not isinstance(spec, ProfileLinkage):
        raise NotApplicable(NEEDS_ORIGINALS)
    if getattr(spec, "matching", None) in ("one_to_one", "marginals"):
        # of assignments with the same sum the solver takes one by the order of the records, which is that of their columns
        intruder = replace(intruder, knows=tuple(sorted(intruder.knows)))
    match spec:
        case DistanceLinkage():
            if spec.is_fitted and scene.units.counts == "persons":
                raise NotFollowed("the covariance of the differences is defined for tables of one row per person")
            own = as_held(original, schema, intruder.holds)
            return link_by_distance(own, masked, schema, spec, intruder.knows, _pairs(scene)), ""
        case Transparency() | Consistency():
            few = int(scene.rows_by_unit.sizes.max()) if scene.units.counts == "persons" else 0
            needed = searching_records(scene.units, targets)
            complete, sampled = scene.alignment.complete, is_sampled(mechanisms)
            present = find_known_participants(scene, mechanisms, intruder, held)
            if present is not None and not len(present):
                raise NotApplicable("no record that the intruder holds is in the release")
            who = (original, masked, schema, mechanisms, intruder.knows)
            if isinstance(spec, Consistency):
                drawn = None if sample is None else searching_records(scene.units, sample)
                links, names = link_by_consistency(
                    *who, few=few, searching=needed, present=present, n_records=n_records, sample=drawn
                )
                return links, describe_exchanges(names) + soundness(intruder, complete=complete, sampled=sampled)
            if spec.matching != "likeliest" and not (complete and intruder.participation_known):
                raise NotApplicable("one to one, they have to know that all their records are in the release")
            links, knowledge = link_by_mechanism(
                *who,
                few=few,
                searching=needed,
                present=present,
                matching=spec.matching,
                n_records=n_records,
                window_at_most=spec.window_at_most,
            )
            told = spec.probabilities and held is None and intruder.participation_known and (complete or present is not None)
            links = replace(links, posterior=(links.posterior or posterior(links)) if told else None)
            remark = describe_unclear_attributes(knowledge) + soundness(intruder, complete=complete, sampled=sampled)
            if knowledge.lost:
                raise OnlyBounded(why_lost(mechanisms, knowledge.lost), links, remark=remark)
            return links, remark
        case RowPosition():
            if held is not None:
                raise NotApplicable("who holds a share of the records does not know where they stand in the source")
            return link_by_position(scene.alignment.order, original.n), ""
        case ProfileLinkage():
            if spec.knows is not None and intruder.name != "declared":
                raise NotApplicable("the attack says itself what its intruder knows: nobody else is asked")
            own = as_held(original, schema, intruder.holds)
            return link_by_profile(own, masked, schema, spec, spec.knows or intruder.knows)
        case LearnedLinkage():
            _check_can_learn(scene, intruder)
            own, prove = as_held(original, schema, intruder.holds), intruder.name == "declared"
            return link_by_learning(own, masked, schema, spec, intruder.knows, _pairs(scene), prove=prove), ""
        case ProbabilisticLinkage():
            return link_probably(scene, schema, spec, intruder, _pairs(scene))
        case _:
            assert_never(spec)


def _as_the_attack_says(spec: Attack, intruder: Intruder) -> Intruder:
    own_file = spec.knows if isinstance(spec, ProfileLinkage) else None
    return intruder if own_file is None else replace(intruder, knows=own_file)


_SAY_THEIR_RULE = DistanceLinkage | ProfileLinkage | LearnedLinkage | ProbabilisticLinkage | Transparency


def resolve_ground_truth(source: GroundTruth, schema: Schema, intruder: Intruder, file: Microdata | None) -> GroundTruth:
    """What the scoring of an intruder's attacks knows; of who holds a file, of the records of that.

    Raises ValueError for a file without a holder or the reverse, InputError as `align_external_file`.
    """
    if (intruder.file is None) != (file is None):
        raise ValueError(f"{intruder.name} holds a file or holds none")
    return source if intruder.file is None or file is None else align_external_file(source, schema, file, intruder.file)


def _check_can_learn(scene: GroundTruth, intruder: Intruder) -> None:
    if scene.units.counts == "persons":
        raise NotFollowed("a distance is learned from tables of one row per person")
    if intruder.greedy:
        raise NotApplicable("no distance is learned for intruders of the knowledge curve, whose figures decide nothing")


def _pairs(scene: GroundTruth) -> RecordPairs:
    if scene.whose is not None:
        own = scene.own_row
        return RecordPairs(np.flatnonzero(own >= 0), own[own >= 0])
    return RecordPairs(scene.alignment.record, np.arange(scene.masked.n))


def _check_that_true_rows_are_left(links: Links, alignment: Alignment, held: Integers | None) -> None:
    """Raises AttackFailed where the sound set of a released record lacks its own row. Only the evaluator can know this."""
    if links.conditions is None:
        return
    rows = np.arange(len(alignment.record)) if held is None else np.flatnonzero(np.isin(alignment.record, held))
    outside = links.rules_out(alignment.record[rows], rows)
    if outside.any():
        whose = "records" if alignment.complete else "released records"
        otherwise = "" if alignment.complete else ", or were applied before or after records were left out"
        share = f"{100 * float(outside.mean()):.3g} %"
        raise AttackFailed(
            f"the stated steps rule out the true row of {share} of the {whose}: they are not those that were applied{otherwise}"
        )


def _depend_on_the_others(spec: Attack) -> bool:
    """Does who is linked depend on which other records the intruder holds?"""
    if isinstance(spec, Consistency | LearnedLinkage):
        return True
    if isinstance(spec, DistanceLinkage) and spec.is_fitted:
        return True
    return not isinstance(spec, RowPosition) and spec.matching in ("one_to_one", "marginals")


def _is_searched(spec: Attack) -> bool:
    """Do the released rows search for the intruder's records?"""
    return isinstance(spec, DistanceLinkage | LearnedLinkage) and spec.direction == "to_original"


def _create_blank_result(
    spec: Attack, intruder: Intruder, mechanisms: tuple[Mechanism, ...], scene: GroundTruth
) -> AttackResult:
    """The result of an attack before it has run."""
    direction = "to_original" if _is_searched(spec) else "to_release"
    return AttackResult(
        attack=attack_id(spec),
        method=spec.method,
        intruder=intruder.name,
        status="ok",
        infers=spec.rule if isinstance(spec, _SAY_THEIR_RULE) else INFERS[spec.method],
        knows_data=describe_file_knowledge(intruder, scene)
        if intruder.file
        else describe_known_data(spec, intruder, complete=scene.complete),
        knows_mechanism=describe_known_steps(mechanisms) if isinstance(spec, Transparency | Consistency) else "nothing",
        direction=direction,
        scale_by=_scale_of(spec),
        n_release=scene.masked.n,
        chance=scene.chance(searched=direction == "to_original"),
        counts=scene.units.counts,
        full_form=is_full_form(spec),
    )


def _scale_of(spec: Attack) -> ScaleBy | None:
    match spec:
        case DistanceLinkage() | ProfileLinkage() | LearnedLinkage():
            return spec.scale_by
        case RowPosition() | ProbabilisticLinkage():
            return None
        case _:
            return "release"
