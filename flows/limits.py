"""Does the policy of a release answer every kind of disclosure that is asked of it? Checked where a release is asked for."""

from __future__ import annotations

from flows.release import ReleaseSpec
from tasks.classify.methods import classify
from tasks.ingest.methods import typed_and_validated
from tasks.ingest.sources import read
from tasks.mask.sampling import Sampling
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Schema
from tasks.microdata.table import Microdata
from tasks.microdata.units import units_of
from tasks.score import kinds

REFUSALS = ("identity-not-limited", "nothing-limited")


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


def warnings_of_silence(release: ReleaseSpec, schema: Schema, data: Microdata) -> tuple[str, ...]:
    """What is told where the policy is silent on a kind of disclosure that is asked; nothing where it is not.

    Silence is told in this version and will be refused by a later one, so that old files can be completed before. Raises
    InputError where the reasons under `not_limited` leave out what must have a limit, as `tasks.score.kinds` says.
    """
    try:
        kinds.refuse_silence(release.policy, release.not_limited, subject_of(release, schema, data))
    except InputError as silence:
        if silence.code != "kind-not-limited":
            raise
        return (f"{silence.what}. A later version will refuse this; `sdcert check --upgrade` writes down what is missing",)
    return ()


def classified(release: ReleaseSpec) -> tuple[Schema, Microdata]:
    """The schema of a release's source, and the source itself, without a store. Raises InputError as a run would."""
    data = typed_and_validated(read(release.source), release.ingest_plan).data
    return classify(data, release.classify_plan), data
