"""Let one intruder join a release with earlier ones, on its own rows or on those of one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tasks.attack.methods import attack_records
from tasks.attack.outcomes.outcome import AttackResult, JoinedRelease
from tasks.attack.threat import Intruder
from tasks.attack.together.earlier_release import EarlierView
from tasks.attack.together.earlier_releases import EarlierReleases, choose_strongest, compute_mean_credit, see_from
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.schema import Schema
from tasks.microdata.table import Integers

MOST_LEFT_OUT = 6  # earlier releases up to which each is left out in turn, to see which of them tells
ChooseTargets = Callable[[GroundTruth, Schema, float], Integers]  # of a release this share of the records -> their rows


def attack_together(
    newest: EarlierView,
    views: tuple[EarlierView, ...],
    spec: EarlierReleases,
    who: Intruder,
    *,
    of: str | None,
    names: Mapping[str, str],
    choose_targets: ChooseTargets,
    share: float,
) -> AttackResult:
    """Let one intruder join a release with earlier ones.

    Parameters
    ----------
    newest: the release, with `record` of its own source, 0..n-1. views: the earlier releases that can be attacked, one or more.
    of: the earlier release whose rows are linked, one of `views`; None: the rows of the newest.
    names: of the releases, by what figures call them. share: of the intruder's records that are targets.

    Up to six earlier releases are left out in turn: an intruder may leave one aside, and `credit_without` says what each tells.
    Returns the result as `attack_records`. Cost: one attack, and one more for each release that is left out.
    """
    if of is not None:
        position = next(i for i, view in enumerate(views) if view.name == of)
        views, newest = see_from(views, newest, position), views[position]
    truth = GroundTruth.create_from_tables(newest.original, newest.masked, newest.schema, newest.alignment)
    targets = choose_targets(truth, newest.schema, share * who.records)
    held = choose_targets(truth, newest.schema, who.records) if who.records < 1 else None

    def attack(others: tuple[EarlierView, ...]) -> AttackResult:
        return attack_records(
            truth,
            newest.schema,
            newest.mechanisms,
            spec,
            who,
            targets=targets,
            held=held,
            earlier=others,
            series=newest.series,
        )

    found = attack(views)
    without: list[float | None] = [None] * len(views)
    if 1 < len(views) <= MOST_LEFT_OUT and of is None:
        smaller = [attack((*views[:i], *views[i + 1 :])) for i in range(len(views))]
        without = [compute_mean_credit(one) for one in smaller]
        found = choose_strongest(found, smaller)
    joined = tuple(
        JoinedRelease(name=view.name, release=names.get(view.name, ""), credit_without=rate)
        for view, rate in zip(views, without, strict=True)
    )
    if of is not None and found.status == "not_applicable":  # columns were renamed: nobody can say that nothing is found
        found = replace(found, status="not_followed")
    return replace(found, joined=joined, earlier=of)
