"""The attack by earlier releases: what was released before about the same people narrows down whose row is whose now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from tasks.attack.base import AttackContext, AttackDescription, AttackFindings, AttackSpec, AttackTraits, Gaps
from tasks.attack.descriptions import DataKnowledge
from tasks.attack.mechanism_attack import describe_soundness
from tasks.attack.outcomes.links import Links
from tasks.attack.outcomes.outcome import AttackResult
from tasks.attack.threat import Intruder
from tasks.attack.together.earlier_release import EarlierRelease, EarlierView
from tasks.attack.together.joined_file import ReleaseFile
from tasks.attack.together.joining import link_by_releases
from tasks.attack.transparency.transparency import Transparency
from tasks.mask.methods import Mechanism
from tasks.mask.pseudonyms import Pseudonyms
from tasks.microdata.spec import Public
from tasks.microdata.table import Integers

CANNOT_BE_ATTACKED = "cannot be attacked"


class EarlierReleases(AttackSpec):
    """Parameters of the attack by earlier releases. id: what it is called in figures and policy lines; default: the method.

    It runs by itself wherever an earlier release counts: no release file needs to ask for it.
    """

    about = AttackDescription(
        title="Earlier releases",
        infers="joins the release with the earlier ones about the same people, leaves out every row that does not fit all of "
        "them, and takes the likeliest of the rest, no row being two records'",
        note="; runs wherever an earlier release counts",
        knows_of_data="the known attributes of everybody in each release, as they were then, and who was in which one",
        knows_of_masking="the steps of each release and their parameters, not the seeds",
        parameters="id",
        holder=None,
        is_worst_case=False,
        has_probabilities=False,
        required_by="earlier releases",
        required_form="",
    )
    follows_masking = True

    method: Public[Literal["earlier_releases"]]

    @property
    def rule(self) -> str:
        return self.about.infers

    @property
    def traits(self) -> AttackTraits:
        return AttackTraits(
            searches_originals=False,
            scale_by="release",
            assigns_together=True,
            depends_on_others=True,
            needs_originals=True,
            uses_external_files=False,
            needs_all_records=None,
            reads_similar_rows=False,
            attacks_synthetic_rows=False,
            is_required_form=True,
            sample_size=None,
        )

    def describe_known_data(self, known: DataKnowledge) -> str:
        return f"{known.describe(own_file=False)}, and of the same people in earlier releases"

    def find_gaps(self, context: AttackContext) -> Gaps:
        """None: where nothing follows from the steps of a release, its rows are compared by their distance."""
        return Gaps()

    def run(self, context: AttackContext) -> AttackFindings:
        if not context.earlier:  # what this release tells alone
            return Transparency(method="transparency").run(context)
        files, n = arrange_files(context)
        links = link_by_releases(files, 0, n, context.knows)
        if context.of_persons:
            links = replace(links, small_sets=_select_small_sets(links, int(context.truth.rows_by_unit.sizes.max())))
        return AttackFindings(links, f"; the same of each earlier release{describe_soundness(context)}")


def create_spec(of: str | None) -> EarlierReleases:
    """The attack on the rows of a release, or on those of the earlier release of this name."""
    spec = EarlierReleases(method="earlier_releases")
    return spec if of is None else spec.model_copy(update={"id": f"{spec.method}:{of}"})


def arrange_files(context: AttackContext) -> tuple[tuple[ReleaseFile, ...], int]:
    """The attacked release first, then the others, over the records of all sources together; last how many these are.

    The first are the records that the intruder holds of the attacked source, in its order; then those who are in other sources
    alone. Somebody who holds a share of the records has of the other sources the same people.
    """
    truth, n = context.truth, context.truth.original.n
    rows = truth.alignment.row_by_record if context.held is None else truth.alignment.row_by_record[context.held]
    files = [
        ReleaseFile(
            name="",
            original=truth.original,
            masked=truth.masked,
            schema=context.schema,
            mechanisms=context.mechanisms,
            record=np.arange(n),
            row=rows,
            pseudonym=_find_pseudonym(context.mechanisms, context.series),
            n_records=None if context.held is None else truth.alignment.n_records,
        )
    ]
    for view in context.earlier:
        of_held = view.record if context.held is None else view.record[context.held]
        n = _add_file(files, view, of_held, n, holds_all=context.held is None)
    return tuple(files), n


def _add_file(files: list[ReleaseFile], view: EarlierView, of_record: Integers, n: int, *, holds_all: bool) -> int:
    """Add one more release; returns the number of records with those who are in it alone."""
    number = np.full(view.original.n, -1, dtype=np.int64)
    there = np.flatnonzero(of_record >= 0)
    number[of_record[there]] = there
    others = np.flatnonzero(number < 0) if holds_all else np.empty(0, dtype=np.int64)
    number[others] = n + np.arange(len(others))
    kept = np.flatnonzero(number >= 0)
    files.append(
        ReleaseFile(
            name=view.name,
            original=view.original.take(kept),
            masked=view.masked,
            schema=view.schema,
            mechanisms=view.mechanisms,
            record=number[kept],
            row=view.alignment.row_by_record[kept],
            pseudonym=_find_pseudonym(view.mechanisms, view.series),
            n_records=None if holds_all else view.original.n,
        )
    )
    return n + len(others)


def _find_pseudonym(mechanisms: tuple[Mechanism, ...], series: str) -> str | None:
    """By what pseudonyms stay the same in several releases, if they do."""
    stable = any(isinstance(step, Pseudonyms) and step.stable == "series" for step in mechanisms)
    return series if stable and series else None


def _select_small_sets(links: Links, few: int) -> tuple[Integers, Integers] | None:
    """Starts and rows of the sound sets that hold at most `few` rows; the others stand empty."""
    if links.listed_sets is None:
        return None
    starts, rows = links.listed_sets
    sizes = np.diff(starts)
    small = sizes <= few
    return np.append(0, np.cumsum(np.where(small, sizes, 0))), rows[np.repeat(small, sizes)]


def see_from(views: tuple[EarlierView, ...], newest: EarlierView, of: int) -> tuple[EarlierView, ...]:
    """The other releases as they are seen from earlier release `of`: the newest first, then the other earlier ones.

    newest: with `record` of its own source, 0..n-1. People are recognised through the newest source alone.
    """
    own = views[of]
    back = np.full(own.original.n, -1, dtype=np.int64)
    there = np.flatnonzero(own.record >= 0)
    back[own.record[there]] = there
    seen = [replace(newest, record=back)]
    for i, view in enumerate(views):
        if i != of:
            seen.append(replace(view, record=np.where(back >= 0, view.record[np.maximum(back, 0)], -1)))
    return tuple(seen)


def create_unfollowed_result(spec: EarlierReleases, release: EarlierRelease, intruder: Intruder) -> AttackResult:
    """The result of an attack on an earlier release that cannot be attacked."""
    return AttackResult(
        attack=spec.attack_id,
        method=spec.method,
        intruder=intruder.name,
        status="not_followed",
        reason=f"the earlier release {release.release} ({release.name}) {CANNOT_BE_ATTACKED}: {release.reason or ''}",
        infers=spec.rule,
        knows_data="nothing of it",
        knows_mechanism="nothing",
        direction="to_release",
        scale_by=None,
        n_release=0,
        chance=None,
        earlier=release.name,
    )


def choose_strongest(found: AttackResult, smaller: Sequence[AttackResult]) -> AttackResult:
    """The result by which an intruder finds most who may leave earlier releases aside.

    found: with all of them. smaller: each with one less. An attack with all of them that gave no figure keeps its status.
    """
    if found.status != "ok":
        return found
    return max((found, *smaller), key=lambda one: compute_mean_credit(one) or 0.0)


def compute_mean_credit(result: AttackResult) -> float | None:
    """None where the attack gave no figure."""
    return None if result.outcomes is None else float(result.outcomes.floats("credit").mean())
