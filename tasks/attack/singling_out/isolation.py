"""Singling out: predicates that released rows suggest, and that exactly one person of the source satisfies."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import numpy as np

from tasks.attack.inference.experiment import InferenceExperiment
from tasks.attack.singling_out.chance import estimate_isolation_chances
from tasks.attack.singling_out.outcomes import ATTACK, ISOLATES, IsolationCounts, SinglingOutResult
from tasks.attack.singling_out.predicates import (
    Predicates,
    choose_largest_set,
    create_predicates,
    list_predicates,
)
from tasks.mask.methods import Masking
from tasks.microdata.errors import NotApplicable
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Booleans
from tasks.microdata.units import Units, find_units


def single_out(experiment: InferenceExperiment, schema: Schema, steps: tuple[Masking, ...]) -> SinglingOutResult:
    """How many people of the source each set of at most three quasi-identifiers singles out, and how many it would by chance.

    Meaning: the intruder describes somebody by the values of a released row. The description singles a person out if it fits
    exactly one person of the source. Of people who are not in the release it also fits exactly one now and then; what is beyond
    that is told by the release.

    experiment: its members are all people of the source. steps: the masking steps that can be repeated.
    Raises NotApplicable where no quasi-identifier is published, or no row is released; NotFollowed as `as_asked`.
    Cost: O(n log m) for each set of attributes, with n people and m released rows.
    Source: Article 29 Working Party (2014), Opinion 05/2014; Cohen and Nissim (2020).
    """
    rows, people = experiment.rows, experiment.recode_like_release(schema, steps)
    published = tuple(name for name in schema.release_columns if name in rows.names)
    known = tuple(name for name in schema.find_by_role(Role.QUASI_IDENTIFIER) if name in published)
    if not known or not rows.n:
        raise NotApplicable("no row is released, or no quasi-identifier is")
    is_member = experiment.is_member[experiment.units.of_row]
    sides = tuple(people.take(np.flatnonzero(side)) for side in (is_member, ~is_member))
    members, others = (find_units(side, schema) for side in sides)
    tables = sides if others.n_units else sides[:1]
    largest = choose_largest_set(len(known), people.n)
    sets, found = [], np.zeros(members.n_units, dtype=bool)
    for predicates in list_predicates(schema, known, largest, rows, tables):
        isolated, counted = isolate(predicates, members, others)
        found |= isolated
        sets.append(counted)
    single = [create_predicates(schema[name], rows, tables) for name in published]
    every = reduce(Predicates.join, single)
    return SinglingOutResult(
        evaluates=experiment.evaluates,
        quasi_identifiers=known,
        largest=largest,
        people=members.n_units,
        others=others.n_units,
        sets=tuple(sets),
        every=isolate(every, members, others)[1],
        singled_out=int(found.sum()),
    )


def isolate(predicates: Predicates, members: Units, others: Units) -> tuple[Booleans, IsolationCounts]:
    """Shape (n_units,): is a unit the only one that satisfies one of the predicates? And how many are, by chance as well."""
    isolates = predicates.count_units(0, members) == 1
    satisfied = predicates.of_tables[0]
    inside = satisfied >= 0
    isolated = np.zeros(members.n_units, dtype=bool)
    isolated[members.of_row[inside][isolates[satisfied[inside]]]] = True
    counted = IsolationCounts(
        attributes=predicates.attributes,
        predicates=predicates.count,
        isolating=int(isolates.sum()),
        isolated=int(isolated.sum()),
    )
    if not others.n_units:
        return isolated, counted
    chances = estimate_isolation_chances(predicates.count_units(1, others), others.n_units, members.n_units)
    return isolated, replace(counted, expected=float(chances.sum()))


def describe() -> tuple[dict[str, str], ...]:
    """One row per attack, for `sdcert methods singling_out`."""
    return (
        {
            "method": ATTACK,
            "what it does": ISOLATES,
            "knows": "the release",
            "runs": "where a policy line limits `singling_out`",
            "parameters": "none: sets of at most three published quasi-identifiers, and all published attributes at once",
        },
    )
