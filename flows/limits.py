"""Does the policy of a release answer every kind of disclosure that is asked of it? Checked where a release is asked for."""

from __future__ import annotations

from flows.release import ReleaseSpec
from tasks.classify.methods import classify
from tasks.ingest.methods import typed_and_validated
from tasks.ingest.sources import read
from tasks.mask.sampling import Sampling
from tasks.microdata.schema import Schema
from tasks.microdata.table import Microdata
from tasks.microdata.units import units_of
from tasks.score import kinds

REFUSALS = ("kind-not-limited", "identity-not-limited", "nothing-limited")


def subject_of(release: ReleaseSpec, schema: Schema, data: Microdata) -> kinds.Subject:
    """What of a release decides which kinds of disclosure are asked of it. data: its source."""
    units = 0
    if any(isinstance(step, Sampling) for step in release.steps):
        units = int(units_of(data, schema).n_units * (1 - (release.control_share or 0)))
    return kinds.subject_of(
        schema,
        release.intruder,
        release.steps,
        units,
        of_model=release.model is not None,
        of_nobody=release.of_nobody,
        membership_is_attacked=bool(release.membership_attacks),
        not_for_publication=release.not_for_publication,
    )


def refuse_silence(release: ReleaseSpec, schema: Schema, data: Microdata) -> None:
    """Raise InputError where the policy is silent on a kind of disclosure that is asked, as `tasks.score.kinds` says."""
    kinds.refuse_silence(release.policy, release.not_limited, subject_of(release, schema, data))


def classified(release: ReleaseSpec) -> tuple[Schema, Microdata]:
    """The schema of a release's source, and the source itself, without a store. Raises InputError as a run would."""
    data = typed_and_validated(read(release.source), release.ingest_plan).data
    return classify(data, release.classify_plan), data
