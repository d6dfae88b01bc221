"""The attacks: which there are, and one door to run them."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, get_args

import numpy as np
from pydantic import Field

from tasks.attack.base import NEEDS_ORIGINALS, AttackContext, AttackFindings, AttackSpec
from tasks.attack.consistency.consistency import Consistency
from tasks.attack.descriptions import DataKnowledge, describe_file_knowledge, describe_known_steps
from tasks.attack.learned.learned_linkage import LearnedLinkage
from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.linkage.file_alignment import align_external_file
from tasks.attack.mechanism_attack import is_sampled
from tasks.attack.outcomes.belief import refuse_incompatible
from tasks.attack.outcomes.bounded import OnlyBounded
from tasks.attack.outcomes.credit_bounds import compute_credit_bounds
from tasks.attack.outcomes.links import Links
from tasks.attack.outcomes.outcome import AttackResult, compute_outcomes, list_persons, searching_records
from tasks.attack.probabilistic.probabilistic_linkage import ProbabilisticLinkage
from tasks.attack.profiles.profile_linkage import ProfileLinkage
from tasks.attack.row_position import RowPosition
from tasks.attack.simulated.simulated_law import SimulatedLaw
from tasks.attack.synthetic_attack import attack_synthetic_table
from tasks.attack.threat import Intruder
from tasks.attack.together.earlier_release import EarlierView
from tasks.attack.together.earlier_releases import EarlierReleases
from tasks.attack.transparency.transparency import Transparency
from tasks.mask.external_release.released import FalseDeclaration
from tasks.mask.methods import Mechanism
from tasks.microdata.alignment import Alignment, NoAlignment, RowAlignment
from tasks.microdata.errors import AttackFailed, NotApplicable, NotFollowed
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Integers, Microdata
from tasks.microdata.units import Units

# The one list of the attacks: everything else iterates over it. A default plan runs the required ones in this order.
Attack = Annotated[
    DistanceLinkage
    | Transparency
    | RowPosition
    | ProfileLinkage
    | LearnedLinkage
    | ProbabilisticLinkage
    | Consistency
    | SimulatedLaw
    | EarlierReleases,
    Field(discriminator="method"),
]
ATTACK_CLASSES: tuple[type[Attack], ...] = get_args(get_args(Attack)[0])
# who reads the list of attacks looks for required ones first
_NEEDS = ("masking steps", "kept row order", "earlier releases", "nobody")
ATTACKS: dict[str, type[Attack]] = {
    kind.get_method(): kind for kind in sorted(ATTACK_CLASSES, key=lambda kind: _NEEDS.index(kind.about.required_by))
}


def describe() -> tuple[dict[str, str], ...]:
    """One row per attack, for `sdcert methods attack`."""
    return tuple(
        {
            "method": name,
            "what it does": kind.about.infers + kind.about.note,
            "knows of the data": kind.about.knows_of_data,
            "knows of the masking": kind.about.knows_of_masking,
            "parameters": kind.about.parameters,
        }
        for name, kind in ATTACKS.items()
    )


def attack(
    original: Microdata,
    masked: Microdata,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    spec: AttackSpec,
    intruder: Intruder,
    *,
    alignment: RowAlignment,
    targets: Integers,
    file: Microdata | None = None,
    held: Integers | None = None,
    sample: Integers | None = None,
) -> AttackResult:
    """Let one intruder attack a masked table, and score how the targets fare: `attack_records` of two tables.

    Parameters
    ----------
    original, masked: n and m <= n rows; row i of `masked` is the released form of record `alignment.record[i]`. The attack does
        not use this, the scoring does; of `alignment.position` an attack may use the order of the released file. Rows may
        belong to nobody (`attack_synthetic_table`): then m is any number.
    file: what the holder of an external file holds, as it was read; the targets are then rows of that file.

    Raises ValueError where the tables do not fit their alignment.
    """
    truth = resolve_ground_truth(GroundTruth.create_from_tables(original, masked, schema, alignment), schema, intruder, file)
    return attack_records(truth, schema, mechanisms, spec, intruder, targets=targets, held=held, sample=sample)


def attack_records(
    truth: GroundTruth,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    spec: AttackSpec,
    intruder: Intruder,
    *,
    targets: Integers,
    held: Integers | None = None,
    sample: Integers | None = None,
    earlier: tuple[EarlierView, ...] = (),
    series: str = "",
) -> AttackResult:
    """Let one intruder attack a masked table, and score how the targets fare.

    The intruder holds every record, or a share; `targets` chooses whose outcome is scored. Where the schema names a person key,
    the targets are the persons of these rows, of whom the intruder holds all rows (see `fare`).

    Parameters
    ----------
    truth: the tables, and whose row is whose (`resolve_ground_truth`).
    mechanisms: the masking steps as they were applied. targets: rows of the original, shape (t,), t >= 1, absent ones included.
    held: the records that the intruder holds, of whom the targets are some, persons with all rows; default: all.
    sample: some of the targets, a simple random sample, of whom a part of the attack is carried out where the table is too
        large for the whole (`sample_for_part`); default: no bound is computed there.
    earlier: other releases of the same people, for the attack that joins them. series: of this release.

    Returns the result; an attack that cannot run has a status and a reason instead of outcomes, never a rate of 0. So has one
    whose steps rule out the true row of a record that is released, or did not make the table (`FalseDeclaration`): they are not
    what was done, and its rate would say nothing. A target that is not in the release has credit 0.
    Raises InputError where an attribute cannot be compared, or it is not clear which rows are whose.
    """
    if isinstance(truth.belonging, NoAlignment):
        return attack_synthetic_table(truth, schema, spec, intruder, targets)
    intruder, held = replace(intruder, knows=spec.resolve_knowledge(intruder)), None if held is None else np.sort(held)
    context = AttackContext(truth, schema, mechanisms, intruder, intruder.knows, targets, held, sample, earlier, series)
    gaps, blank = spec.find_gaps(context), _create_blank_result(spec, context)
    blank = replace(blank, needs_all_records=bool(gaps.hidden))
    depends = held is not None and spec.traits.depends_on_others
    try:
        found = find_links(spec, context)
        if gaps.lost:
            raise OnlyBounded(gaps.reason, found.links, remark=found.remark)
        _check_that_true_rows_are_left(found.links, truth.alignment, held)
        _check_belief(blank, context, found.links, targets)
    except OnlyBounded as answer:
        answer.with_traceback(None)  # which holds all that the attack had in memory
        return _create_bounded_result(replace(blank, links_depend=depends and not answer.sampled), answer, context)
    except NotApplicable as answer:
        idle = NotFollowed(gaps.reason) if gaps.lost and answer.status == "not_applicable" else answer
        return replace(blank, status=idle.status, reason=idle.reason)
    except AttackFailed as answer:
        return replace(blank, status="failed", reason=answer.reason)
    searched, links = spec.traits.searches_originals, found.links
    outcomes = compute_outcomes(truth, links, _secrets(context), targets, searched=searched, sound=_is_sound(context))
    known = blank.knows_mechanism + found.remark
    done = replace(blank, links_depend=depends, knows_mechanism=known, outcomes=outcomes)
    done = replace(done, learned=links.learned, probable=links.probable)
    if len(targets) < truth.original.n and not searched and not depends and not context.of_persons:
        done = replace(done, credit_bounds=compute_credit_bounds(truth, links))
    if found.permutation_chance is not None:
        return replace(done, chance=found.permutation_chance, chance_kind="permutation")
    return done if found.n_given is None else _adjust_assignment_chance(done, found.n_given, context.truth_of_held)


def find_links(spec: AttackSpec, context: AttackContext) -> AttackFindings:
    """What an attack finds; the links of somebody who has a share of the records are said of all of them.

    Raises as `AttackSpec.run`.
    """
    held = context.held
    if held is None:
        return _run(spec, context)
    if spec.traits.searches_originals:
        raise NotApplicable("the released rows search all records of the source, and they hold a share of them")
    if not np.isin(context.targets, held).all():
        raise ValueError("targets are among the records that the intruder holds")
    targets = np.searchsorted(held, context.targets)
    sample = None if context.sample is None else np.searchsorted(held, context.sample)
    n = context.truth.original.n
    try:
        found = _run(spec, replace(context, truth=context.truth_of_held, targets=targets, sample=sample))
    except OnlyBounded as answer:
        raise replace(answer, links=answer.links.expand_links_and_posterior(held, n)) from None
    return replace(found, links=found.links.expand_links_and_posterior(held, n))


def _run(spec: AttackSpec, context: AttackContext) -> AttackFindings:
    if context.intruder.file is not None and spec.traits.needs_originals:
        raise NotApplicable(NEEDS_ORIGINALS)
    false = next((step for step in context.mechanisms if isinstance(step, FalseDeclaration)), None)
    if false is not None and spec.follows_masking:
        raise AttackFailed(false.reason)
    if spec.traits.assigns_together:
        # of assignments with the same sum the solver takes one by the order of the records, which is that of their columns
        context = replace(context, knows=tuple(sorted(context.knows)))
    return spec.run(context)


def resolve_ground_truth(source: GroundTruth, schema: Schema, intruder: Intruder, file: Microdata | None) -> GroundTruth:
    """What the scoring of an intruder's attacks knows; of somebody who has a file, of the records of that.

    Raises ValueError for a file without a holder or the reverse, InputError as `align_external_file`.
    """
    if (intruder.file is None) != (file is None):
        raise ValueError(f"{intruder.name} holds a file or holds none")
    return source if intruder.file is None or file is None else align_external_file(source, schema, file, intruder.file)


def sample_for_part(spec: AttackSpec, units: Units, targets: Integers, rng: np.random.Generator) -> Integers | None:
    """The targets of whom a part of an attack is carried out where the table is too large for the whole; of persons all rows.

    None: the attack has no such part.
    """
    if spec.traits.sample_size is None:
        return None
    drawn = rng.permutation(list_persons(units, targets))[: spec.traits.sample_size]
    return units.rows().find_rows(drawn)[0]


def _create_bounded_result(blank: AttackResult, answer: OnlyBounded, context: AttackContext) -> AttackResult:
    """The result of an attack that is too large, or followed in part: how targets, or a sample of them, fare at least."""
    truth = context.truth
    scored = context.sample if answer.sampled and context.sample is not None else context.targets
    rows = searching_records(truth.units, scored) if answer.sampled else context.held
    try:
        _check_that_true_rows_are_left(answer.links, truth.alignment, rows)
        _check_belief(blank, context, answer.links, scored)
    except AttackFailed as failed:
        return replace(blank, status="failed", reason=failed.reason)
    outcomes = compute_outcomes(truth, answer.links, _secrets(context), scored, searched=False, sound=_is_sound(context))
    what = f"the orbits of {outcomes.n} {truth.units.counts}, drawn at random, give lower bounds"
    reason = f"{answer.reason}; {what if answer.sampled else 'what the rest of the steps tells bounds its figures'}"
    known = blank.knows_mechanism + answer.remark
    part = replace(blank, knows_mechanism=known, partly_followed=not answer.sampled)
    return replace(part, status=answer.status, reason=reason, outcomes=outcomes)


def _secrets(context: AttackContext) -> tuple[str, ...]:
    hidden = () if context.intruder.greedy else context.schema.find_by_role(Role.CONFIDENTIAL)
    return tuple(name for name in hidden if name not in context.intruder.knows)


def _is_sound(context: AttackContext) -> bool:
    return context.intruder.participation_known and (context.truth.alignment.complete or is_sampled(context.mechanisms))


def _adjust_assignment_chance(done: AttackResult, n_given: int, truth: GroundTruth) -> AttackResult:
    """Where more search than can be found, some are given nothing, and chance is less."""
    searched = done.direction == "to_original"
    if n_given == (truth.masked.n if searched else truth.original.n):
        return done
    chance = truth.chance(searched=searched, n_given=n_given)
    whole = 1 if searched else truth.alignment.n_records / truth.original.n  # of somebody who has a share: as if they held all
    return replace(done, chance=chance, n_given=round(n_given * whole))


def _check_that_true_rows_are_left(links: Links, alignment: Alignment, held: Integers | None) -> None:
    """Raises AttackFailed where the sound set of a released record lacks its own row. Only the evaluator can know this."""
    if links.conditions is None and links.listed_sets is None:
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


def _check_belief(blank: AttackResult, context: AttackContext, links: Links, targets: Integers) -> None:
    """Raises AttackFailed for an answer that no belief function is compatible with."""
    truth = context.truth
    has_sets = links.sound_sizes is not None and blank.direction == "to_release"
    present = targets[np.isin(targets, truth.alignment.record)] if has_sets else targets[:0]
    refuse_incompatible(links, targets, present, truth.masked.n)


def _create_blank_result(spec: AttackSpec, context: AttackContext) -> AttackResult:
    """The result of an attack before it has run."""
    truth, intruder, traits = context.truth, context.intruder, spec.traits
    known = DataKnowledge(intruder, truth.complete)
    return AttackResult(
        attack=spec.attack_id,
        method=spec.method,
        intruder=intruder.name,
        status="ok",
        infers=spec.rule,
        knows_data=describe_file_knowledge(intruder, truth) if intruder.file else spec.describe_known_data(known),
        knows_mechanism=describe_known_steps(context.mechanisms) if spec.follows_masking else "nothing",
        direction="to_original" if traits.searches_originals else "to_release",
        scale_by=traits.scale_by,
        n_release=truth.masked.n,
        chance=context.truth_of_held.chance(searched=traits.searches_originals),
        counts=truth.units.counts,
        full_form=traits.is_required_form,
    )
