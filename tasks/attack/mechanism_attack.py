"""Attacks that follow the masking steps: what they are given besides, and what in the steps they cannot follow."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import TypedDict

import numpy as np

from tasks.attack.base import AttackContext, AttackSpec, Files, Gaps
from tasks.attack.descriptions import soundness
from tasks.attack.outcomes.outcome import searching_records
from tasks.attack.threat import Intruder
from tasks.mask.methods import Mechanism
from tasks.mask.noise.noise import Noise
from tasks.mask.sampling import Sampling
from tasks.microdata.errors import AttackFailed, NotApplicable
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.table import Integers

NameSet = frozenset[str]


class Following(TypedDict):
    """Named arguments of the attacks that follow the steps; see `link_by_mechanism`."""

    few: int
    searching: Integers
    present: Integers | None
    n_records: int


class MechanismAttack(AttackSpec):
    """Base of the attacks by an intruder who knows the masking steps and their parameters, but not the seed."""

    follows_masking = True

    @abstractmethod
    def list_unfollowed(self, files: Files, *, present: Integers | None, n_records: int) -> NameSet:
        """The known attributes whose masking the attack cannot follow. Parameters: as `link_by_mechanism`."""

    @abstractmethod
    def explain_gap(self, mechanisms: tuple[Mechanism, ...], names: tuple[str, ...]) -> str:
        """Why nobody can follow what the steps did to these attributes."""

    def find_gaps(self, context: AttackContext) -> Gaps:
        """What an intruder cannot follow of the steps who holds all records, or those in `held`.

        Where the steps cannot be repeated on all records, whatever a holder of a share cannot follow counts as hidden from
        them. Cost: that of `list_unfollowed`, three times at the most.
        """
        mechanisms, held = context.mechanisms, context.held
        if not mechanisms:
            return Gaps()
        cannot_follow = partial(_list_unfollowed_of_held, self, context)
        try:
            own = cannot_follow(context.knows, held)
        except AttackFailed:
            return Gaps()  # the attack fails too, and says so
        if not own:
            return Gaps()
        try:
            with_all = own if held is None else cannot_follow(context.knows, None)
            lost = own & cannot_follow(context.truth.masked.names, None)
        except AttackFailed:
            return Gaps(hidden=own if held is not None else frozenset())
        names = tuple(name for name in context.knows if name in lost)
        return Gaps(lost, own - with_all, self.explain_gap(mechanisms, names))


def prepare_following(context: AttackContext) -> Following:
    """What is given to an attack that follows the steps. Raises NotApplicable where none of the records is released."""
    truth = context.truth
    present = find_known_participants(truth, context.mechanisms, context.intruder, context.held)
    if present is not None and not len(present):
        raise NotApplicable("no record that the intruder holds is in the release")
    return Following(
        few=int(truth.rows_by_unit.sizes.max()) if context.of_persons else 0,
        searching=searching_records(truth.units, context.targets),
        present=present,
        n_records=truth.alignment.n_records,
    )


def take_known_sample(files: Files, present: Integers | None) -> Files | None:
    """What an intruder has of a sample that was drawn before all other steps, if they hold, and know, who is in it.

    To them the sample is a whole source, and the release complete. present: the places of these records, if they
    know them. None: they do not, records were left out later, or they do not hold all that were masked.
    """
    original, masked, schema, mechanisms, knows = files
    first = next((i for i, step in enumerate(mechanisms) if not isinstance(step, Sampling)), 0)
    if present is None or not first or len(present) != masked.n or is_sampled(mechanisms[first:]):
        return None
    return original.take(present), masked, schema, mechanisms[first:], knows


def follow_known_sample(how: Following, present: Integers) -> Following:
    """The named arguments of an attack on a known sample: `take_known_sample`."""
    searching = np.flatnonzero(np.isin(present, how["searching"]))
    return Following(few=how["few"], searching=searching, present=None, n_records=len(present))


def describe_soundness(context: AttackContext) -> str:
    """Is the true row sure to be among the candidates?"""
    complete, sampled = context.truth.alignment.complete, is_sampled(context.mechanisms)
    return soundness(context.intruder, complete=complete, sampled=sampled, nearly=bounds_noise(context.mechanisms))


def bounds_noise(mechanisms: tuple[Mechanism, ...]) -> bool:
    """Does a step other than noise mask an attribute again to which noise was added, or was noise added to what is hidden?"""
    for i, step in enumerate(mechanisms):
        others = {name for j, one in enumerate(mechanisms) if j != i for name in one.target_attributes}
        if isinstance(step, Noise) and not others.isdisjoint(step.target_attributes):
            return True
    return False


def find_known_participants(
    truth: GroundTruth, mechanisms: tuple[Mechanism, ...], intruder: Intruder, held: Integers | None
) -> Integers | None:
    """Places among the intruder's records of those that they know to be released; None: they do not know, or all are."""
    if truth.alignment.complete or not (is_sampled(mechanisms) and intruder.participation_known):
        return None
    record = truth.alignment.record
    return record if held is None else np.flatnonzero(np.isin(held, record))


def is_sampled(mechanisms: tuple[Mechanism, ...]) -> bool:
    """Did a step leave out records?"""
    return any(isinstance(step, Sampling) for step in mechanisms)


def _list_unfollowed_of_held(
    spec: MechanismAttack, context: AttackContext, knows: tuple[str, ...], held: Integers | None
) -> NameSet:
    truth = context.truth
    original = truth.original if held is None else truth.original.take(held)
    present = find_known_participants(truth, context.mechanisms, context.intruder, held)
    files = (original, truth.masked, context.schema, context.mechanisms, knows)
    return spec.list_unfollowed(files, present=present, n_records=truth.alignment.n_records)
