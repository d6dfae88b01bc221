"""Check that the policy of a release answers every kind of disclosure that is asked of it, before the release is made."""

from __future__ import annotations

import numpy as np

from flows.release import ReleaseSpec
from tasks.attack.membership.methods import list_weakened
from tasks.classify.methods import classify
from tasks.ingest.methods import ingest_raw_table
from tasks.ingest.released_table import ingest_released_table
from tasks.ingest.sources import read
from tasks.mask.external_release.adoption import find_released_records
from tasks.mask.sampling import Sampling
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Schema
from tasks.microdata.table import Microdata
from tasks.microdata.units import find_units
from tasks.microdata.words import join_with_and
from tasks.score import kinds
from tasks.score.policy import INSIDER

ANY = "*"  # whatever attribute it is
REFUSALS = ("kind-not-limited", "identity-not-limited", "nothing-limited", "weak-membership")


def create_disclosure_subject(release: ReleaseSpec, schema: Schema, data: Microdata) -> kinds.Subject:
    """What of a release decides which kinds of disclosure are asked of it. data: its source."""
    units = 0
    if any(isinstance(step, Sampling) for step in release.steps):
        everybody = find_units(data, schema).n_units
        units = everybody - round((release.control_share or 0) * everybody)
    return kinds.find_disclosure_subject(
        schema,
        release.intruder,
        release.steps,
        units,
        kind=release.kind,
        membership_is_attacked=bool(release.membership_attacks),
        not_for_publication=release.not_for_publication,
        adopted_share=_compute_adopted_share(release, schema, data),
    )


def _compute_adopted_share(release: ReleaseSpec, schema: Schema, data: Microdata) -> float:
    """The share of the records (persons) that a table masked elsewhere holds; 1 where it cannot be read: a run says why."""
    plan = release.adoption_plan
    if plan is None or plan.released.align != "key":  # aligned by row, it holds all
        return 1.0
    try:
        held = find_released_records(data, plan, ingest_released_table(plan.create_reading_plan(schema)).data)
    except InputError:
        return 1.0
    units = find_units(data, schema)
    return len(np.unique(units.of_row[held])) / units.n_units


def refuse_silence(release: ReleaseSpec, schema: Schema, data: Microdata) -> None:
    """Raise InputError where the policy is silent on a kind of disclosure that is asked, as `tasks.score.kinds` says.

    Also where the policy limits membership, and too few attacks try it.
    """
    kinds.refuse_silence(release.policy, release.not_limited, create_disclosure_subject(release, schema, data))
    refuse_weak_membership(release)


def refuse_weak_membership(release: ReleaseSpec) -> None:
    """Raise InputError where a limit on membership is tried by fewer attacks than run by default.

    A rehearsal is let be: it shows of no file that a limit is kept; nor is what nobody publishes asked.
    """
    limited = any(kinds.find_kind(line) == "membership" for line in release.policy)
    asked = limited and release.membership_attacks and release.control is not None and not release.not_for_publication
    weakened = list_weakened(release.membership_attacks, release.kind.membership_attacks) if asked else ()
    if weakened:
        raise InputError(
            code="weak-membership",
            where="membership",
            what=f"a line of the policy limits membership, and `membership` leaves out {join_with_and(weakened)} in the form "
            "that runs by default: a limit says little if fewer attacks try it",
            allowed="the default attacks, and others beside them",
            remedy="take `membership` out, or add what it leaves out (with as many shadow models as by default, or more); or "
            'take the line out, and say why membership is not limited: `not_limited: {membership: "<reason>"}`',
        )


def refuse_silence_of_decided(release: ReleaseSpec) -> None:
    """As `refuse_silence`, of a release that an earlier run decided, whose table is read only if the answer depends on it.

    Nothing is said of a table that cannot be read any more.
    """
    whole = release.adoption_plan is None and not any(isinstance(step, Sampling) for step in release.steps)
    refuse_weak_membership(release)
    if whole and all(_is_answered(release, confidential) for confidential in ((), (ANY,))):
        return
    try:
        refuse_silence(release, *load_classified(release))
    except InputError as error:
        if error.code in REFUSALS:
            raise


def _is_answered(release: ReleaseSpec, confidential: tuple[str, ...]) -> bool:
    """Would the policy pass, whatever attributes an insider knows? confidential: those of the table."""
    subject = kinds.Subject(
        kind=release.kind,
        confidential=confidential,
        known_secrets=confidential if release.intruder.knows else (),
        insiders=(f"{INSIDER}:{ANY}",),
        file_holders=release.intruder.file_holders,
        not_for_publication=release.not_for_publication,
    )
    try:
        kinds.refuse_silence(release.policy, release.not_limited, subject)
    except InputError:
        return False
    return True


def load_classified(release: ReleaseSpec) -> tuple[Schema, Microdata]:
    """The schema of a release's source, and the source itself, without a store. Raises InputError as a run would."""
    data = ingest_raw_table(read(release.source, as_numbers=True), release.ingest_plan).data
    return classify(data, release.classify_plan), data
