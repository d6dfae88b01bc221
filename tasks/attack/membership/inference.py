"""Membership inference on a released table: experiments with a control or on a random half, one attack's scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa

from tasks.attack.linkage.distance_linkage import DistanceLinkage, link_by_distance
from tasks.attack.membership.frame import REHEARSED, Evaluates, Frame, create_frame, random_half
from tasks.attack.membership.linkage_score import LinkageScore
from tasks.attack.membership.methods import (
    AnyTableAttack,
    MembershipResult,
    OfDeclaredIntruder,
    attack_table,
    create_idle_result,
)
from tasks.attack.outcomes.links import Links
from tasks.attack.threat import Intruder
from tasks.mask.coding.recoding import Recoding
from tasks.mask.external_release.released import FalseDeclaration, Synthetic, Undeclared
from tasks.mask.methods import Masking, Mechanism, mask
from tasks.mask.step import MaskStep
from tasks.microdata.alignment import Alignment, RowAlignment
from tasks.microdata.errors import InputError, NotFollowed
from tasks.microdata.randomness import stream
from tasks.microdata.schema import Schema
from tasks.microdata.table import Integers, Microdata
from tasks.microdata.units import find_units

AnyMasking = TypeVar("AnyMasking", bound=MaskStep)


@dataclass(frozen=True, slots=True)
class MembershipExperiment:
    """What membership is asked about: the table of members, control and others, the frame of its units, and the release."""

    table: Microdata
    frame: Frame
    released: Microdata


@dataclass(frozen=True, slots=True)
class ExperimentScope:
    """Of what membership is asked; reason: why nobody can be asked about, None where people can.

    of_another_table: do those who are known not to be members have a table of their own?
    """

    evaluates: Evaluates
    reason: str | None = None
    of_another_table: bool = False


def select_repeatable_steps(steps: tuple[Mechanism, ...]) -> tuple[Masking, ...]:
    """The steps that can be carried out again, on a part of the records: what was done elsewhere cannot.

    A part may lack categories that a mapping lists. None of steps that did not make the table is carried out.
    """
    if any(isinstance(step, FalseDeclaration) for step in steps):
        return ()
    done_here = (step for step in steps if not isinstance(step, Undeclared | FalseDeclaration | Synthetic))
    return tuple(_allow_unused_categories(step) for step in done_here)


def _allow_unused_categories(step: AnyMasking) -> AnyMasking:
    if not isinstance(step, Recoding):
        return step
    recode = ((name, one if one.map is None else one.model_copy(update={"unused": "ignore"})) for name, one in step.recode)
    return step.model_copy(update={"recode": tuple(recode)})


def append_control(original: Microdata, control: Microdata) -> Microdata:
    """The records that were masked, then those of the control."""
    return Microdata(pa.concat_tables([original.arrow, control.arrow])).take(np.arange(original.n + control.n))


def create_file_experiment(
    original: Microdata, control: Microdata, masked: Microdata, record: Integers, schema: Schema, *, rng: np.random.Generator
) -> MembershipExperiment:
    """Of a release whose control was set aside: is a record in this file?

    original, control: the same columns; no person stands in both. record: of the original, whose form is in each masked row;
    whoever a sampling left out is neither a member nor of the control.
    Raises NotFollowed as `create_frame`.
    """
    table = append_control(original, control)
    units = find_units(table, schema)
    member, aside = np.zeros((2, units.n_units), dtype=bool)
    member[units.of_row[record]] = True
    aside[units.of_row[original.n :]] = True
    return MembershipExperiment(table, create_frame(units, member, aside, rng=rng), masked)


def create_rehearsal_experiment(
    original: Microdata, schema: Schema, steps: tuple[Masking, ...], *, seed: bytes, rng: np.random.Generator
) -> MembershipExperiment:
    """The same steps on a random half, the other half being the non-members: it is about how the file is made, not the file.

    Whoever a sampling left out is neither a member nor one of the others.
    Raises NotFollowed as `create_frame`, and where the steps cannot be carried out on half of the records.
    """
    units = find_units(original, schema)
    inside = random_half(units, rng)
    half = np.flatnonzero(inside[units.of_row])
    try:
        done = mask(original.take(half), schema, steps, seed=seed, path=("rehearsal",))
    except InputError as error:
        raise NotFollowed(f"the steps cannot be carried out on half of the records ({error.code})") from error
    member = np.zeros(units.n_units, dtype=bool)
    member[units.of_row[half[done.record]]] = True
    return MembershipExperiment(original, create_frame(units, member, ~inside, evaluates=REHEARSED, rng=rng), done.data)


def choose_experiment(
    original: Microdata,
    control: Microdata | None,
    masked: Microdata,
    rows: RowAlignment | None,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    *,
    seed: bytes,
    address: str,
) -> MembershipExperiment:
    """Ask of the file where people are known who are not in it, and of a rehearsal on a random half where nobody is.

    control: those people. rows: whose the masked rows are; None: each is that of its record. seed, address: of the draw and of
    the original; they choose who is asked about.
    Raises NotFollowed as `create_file_experiment` and `create_rehearsal_experiment`.
    """
    rng = stream(seed, "membership", address)
    if control is None:
        return create_rehearsal_experiment(original, schema, select_repeatable_steps(mechanisms), seed=seed, rng=rng)
    record = np.asarray(rows.record) if isinstance(rows, Alignment) else np.arange(original.n)
    return create_file_experiment(original, control, masked, record, schema, rng=rng)


def score_membership(
    spec: AnyTableAttack,
    asked: MembershipExperiment,
    schema: Schema,
    linkage: DistanceLinkage | None,
    who: tuple[Intruder, ...] = (),
    mechanisms: tuple[Mechanism, ...] = (),
) -> MembershipResult:
    """What one attack says of the targets, by an intruder who knows the whole published record of whomever they ask about.

    Exact values and the law of the mask tell so much that they are left to the declared intruder, who knows fewer attributes:
    a column that is published as it is would tell everybody who has a value of their own in it. That is an insider's.

    linkage: the attack of the release that `linkage_score` names; None: there is none by that name that needs no true links.
    who: the declared intruder and the insiders; none: only the whole record is asked about. mechanisms: the masking steps.
    """
    knows, table = schema.release_columns, asked.table
    if isinstance(spec, OfDeclaredIntruder) and who:
        declared, *insiders = who
        told = {one.name: one.knows for one in insiders}
        steps = tuple(_allow_unused_categories(step) for step in mechanisms)
        return attack_table(spec, table, asked.released, schema, asked.frame, declared.knows, mechanisms=steps, insiders=told)
    links: Links | None = None
    if isinstance(spec, LinkageScore):
        if linkage is None:
            reason = f"the release has no distance-based linkage `{spec.of}` that needs no true links"
            return create_idle_result(spec, asked.frame.evaluates, reason)
        links = link_by_distance(table.take(asked.frame.target_rows), asked.released, schema, linkage, knows)
    return attack_table(spec, table, asked.released, schema, asked.frame, knows, links, mechanisms=mechanisms)


def find_scored_linkage(spec: object, attacks: tuple[object, ...]) -> DistanceLinkage | None:
    """The distance-based linkage among the attacks of a release whose scores an attack uses."""
    if not isinstance(spec, LinkageScore):
        return None
    fitting = (
        one for one in attacks if isinstance(one, DistanceLinkage) and not one.is_fitted and one.direction == "to_release"
    )
    return next((one for one in fitting if (one.id or one.method) == spec.of), None)
