"""Whose values are inferred: people who are in the release, people who are not, and the rows that teach the intruder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.attack.membership.frame import REHEARSED, Evaluates, random_half
from tasks.attack.membership.inference import append_control
from tasks.attack.membership.shadow_training import as_asked
from tasks.mask.methods import Masking, MaskResult, mask
from tasks.microdata.errors import InputError, NotFollowed
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Booleans, Integers, Microdata
from tasks.microdata.units import Units, find_units


@dataclass(frozen=True, slots=True)
class InferenceExperiment:
    """People whose values are inferred, and the rows of the release that teach.

    rows: of the release, those of the members where rows belong to people. people: n original records, members first.
    units: of these; a unit is in the release or is not. is_member: shape (n_units,). population: how many units are in the
    release, of whom the members are a simple random sample, or all. released_row: shape (records of members,): the place in
    `rows` of what the release made of each, -1 where it left it out; None: rows belong to nobody.
    """

    rows: Microdata
    people: Microdata
    units: Units
    is_member: Booleans
    population: int
    evaluates: Evaluates
    released_row: Integers | None = None

    @property
    def member_rows(self) -> Integers:
        """The records of people who are in the release."""
        return np.flatnonzero(self.is_member[self.units.of_row])

    def recode_like_release(self, schema: Schema, steps: tuple[Masking, ...]) -> Microdata:
        """The people as the release would write them: with what its steps do to everybody for certain."""
        return as_asked(self.people, schema, steps)


def create_experiment(
    original: Microdata,
    control: Microdata | None,
    masked: Microdata,
    record: Integers | None,
    schema: Schema,
    most: int,
    rng: np.random.Generator,
    evaluates: Evaluates = "this file",
) -> InferenceExperiment:
    """People of a release and people who are not in it, at most so many of each.

    Meaning: a learner that is taught by some rows remembers those. So the rows that teach are those of the members who are
    asked about, and no others: else those whose rows did not teach would make the release look safer than it is.

    record: of the original, whose form is in each masked row; None: the rows belong to nobody, and all records count as
    members. most: units on each side, and rows that teach where these belong to nobody.
    """
    units = find_units(original, schema)
    inside = np.ones(units.n_units, dtype=bool) if record is None else np.isin(np.arange(units.n_units), units.of_row[record])
    chosen = _draw(np.flatnonzero(inside), most, units.n_units, rng)
    asked, released_row = np.flatnonzero(chosen[units.of_row]), None
    if record is None:
        rows = masked.take(np.sort(rng.permutation(masked.n)[:most]))
    else:
        shown = np.flatnonzero(chosen[units.of_row[record]])
        rows = masked.take(shown)
        released_row = np.full(len(asked), -1, dtype=np.int64)
        released_row[np.searchsorted(asked, record[shown])] = np.arange(len(shown))
    members = original.take(asked)
    if control is None:
        of_members = find_units(members, schema)
        return InferenceExperiment(
            rows, members, of_members, np.ones(of_members.n_units, dtype=bool), int(inside.sum()), evaluates, released_row
        )
    others = find_units(control, schema)
    aside = control.take(np.flatnonzero(_draw(np.arange(others.n_units), most, others.n_units, rng)[others.of_row]))
    people = append_control(members, aside)
    both = find_units(people, schema)
    is_member = np.zeros(both.n_units, dtype=bool)
    is_member[both.of_row[: members.n]] = True
    return InferenceExperiment(rows, people, both, is_member, int(inside.sum()), evaluates, released_row)


def rehearse_inference(
    original: Microdata, schema: Schema, steps: tuple[Masking, ...], most: int, *, seed: bytes, rng: np.random.Generator
) -> InferenceExperiment:
    """The same steps on a random half of the people; the others are not in that release.

    It is about how the release is made, and not about the release. Raises NotFollowed as `mask_half`.
    """
    half, rest, done = mask_half(original, schema, steps, seed=seed, rng=rng)
    return create_experiment(half, rest, done.data, done.record, schema, most, rng, REHEARSED)


def mask_half(
    original: Microdata, schema: Schema, steps: tuple[Masking, ...], *, seed: bytes, rng: np.random.Generator
) -> tuple[Microdata, Microdata, MaskResult]:
    """A random half of the people, the others, and what the steps make of the half.

    Raises NotFollowed where the steps cannot be carried out on half of the records.
    """
    units = find_units(original, schema)
    inside = random_half(units, rng)[units.of_row]
    half, rest = original.take(np.flatnonzero(inside)), original.take(np.flatnonzero(~inside))
    try:
        return half, rest, mask(half, schema, steps, seed=seed, path=("rehearsal", "inference"))
    except InputError as error:
        raise NotFollowed(f"the steps cannot be carried out on half of the records ({error.code})") from error


def count_people_asked(people: int, share: float | None, most: int) -> tuple[int, int]:
    """How many people in the release, and how many who are not, are asked about.

    people: in the source. share: of them that is set aside; None: a rehearsal, on halves. most: on either side.
    Example: 944 people, rehearsed: 472 and 472.
    """
    others = round(people * (share or 0.5))
    return min(people - others, most), min(others, most)


def _draw(units: Integers, most: int, n: int, rng: np.random.Generator) -> Booleans:
    """Shape (n,): some of the units, drawn at random, or all."""
    chosen = np.zeros(n, dtype=bool)
    chosen[units if len(units) <= most else rng.permutation(units)[:most]] = True
    return chosen


def list_secrets(schema: Schema, knows: tuple[str, ...]) -> tuple[str, ...]:
    """The confidential attributes that are published and that the intruder does not know, in the order of the table."""
    return tuple(name for name in schema.find_by_role(Role.CONFIDENTIAL) if name not in knows)
