"""Say which certified releases are about the same persons, and what a later one did to the certificate of an older one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from flows.run.criterion_text import describe_criterion
from tasks.microdata.escaping import escape_terminal

if TYPE_CHECKING:
    from flows.earlier.later_releases import CertificateJudge, LaterRelease
    from tasks.audit.series.past_releases import PastRelease

SHOWN = 20
_EFFECTS = {
    "broken": "attacked together: the newer one breaks the older certificate",
    "undecided": "attacked together: whether the older certificate still holds is open",
    "not attacked": "not attacked together",
    "kept": "attacked together: the older certificate holds",
    "same table": "the same table, released again",
    "beside": "not combined: one of the two is a model or a table of nobody",
}


_REASONS = {
    "lost": "the figures of that time or the policy are gone",
    "less": "both were attacked by an intruder who knows less than the one of this certificate",
}


def describe_later_release(one: LaterRelease) -> str:
    """A sentence: the run, what it did to the older certificate, and what to do."""
    return escape_terminal(f"{_describe_effect(one)}. {_describe_remedy(one)}")


def summarise_later_releases(found: Iterable[LaterRelease]) -> list[str]:
    """A few words for each effect, with the first run that has it."""
    first: dict[str, LaterRelease] = {}
    for one in found:
        first.setdefault("broken" if one.effect == "broken" else "perhaps broken", one)
    return [f"{effect} by the later run {one.past.run}" for effect, one in first.items()]


def serialise_later_release(one: LaterRelease) -> dict[str, Any]:
    return {
        "run": one.past.run,
        "release": one.past.release,
        "effect": one.effect,
        "criteria": [asdict(criterion) for criterion in one.criteria],
        "reason": one.reason,
    }


def list_family(run: str) -> list[dict[str, Any]]:
    """The other certified releases about the persons of a certified one, oldest first; empty for a run that is no release.

    Of each: the run, its release and series, whether it came `earlier` or `later`, and what the newer of the two did to the
    certificate of the older one. Cost: see `ReleaseFamilies.from_ledger`.
    """
    from tasks.audit.series.past_releases import list_past_releases

    if all(one.run == run or one.never_published for one in list_past_releases()):
        return []  # what follows takes seconds to import

    from flows.earlier.family import ReleaseFamilies
    from flows.earlier.later_releases import CertificateJudge

    families = ReleaseFamilies.from_ledger()
    of = families.find_release(run)
    judge = CertificateJudge(families)
    return [] if of is None else [_serialise_relative(judge, of, one) for one in families.list_relatives(of)]


def describe_family(family: Sequence[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """A line for each, the newest last."""
    if len(family) > SHOWN:
        yield "", f"{len(family) - SHOWN:,} older ones (`--json` names each)"
    for one in family[-SHOWN:]:
        date = f"{one['run'][:4]}-{one['run'][4:6]}-{one['run'][6:8]}"
        yield one["when"], f"{one['run']} ({one['release']}, {date}): {_EFFECTS[one['effect']]}"


def _serialise_relative(judge: CertificateJudge, of: PastRelease, other: PastRelease) -> dict[str, Any]:
    older, newer = sorted((of, other), key=lambda past: past.order)
    found = judge.judge_pair(older, newer)
    told = serialise_later_release(found)
    names = {"run": other.run, "release": other.release, "series": other.series}
    return {**names, "when": "earlier" if other is older else "later", "effect": told["effect"], "criteria": told["criteria"]}


def _describe_effect(one: LaterRelease) -> str:
    who = f"run {one.past.run} ({one.past.release}), released later about the same persons,"
    lines = "; ".join(describe_criterion(asdict(criterion)) for criterion in one.criteria)
    match one.effect:
        case "broken":
            return f"{who} breaks it: {lines}"
        case "not attacked":
            return f"{who} may break it: no attack was given both"
        case _:
            return f"{who} may break it: {lines or _REASONS[one.reason or 'lost']}"


def _describe_remedy(one: LaterRelease) -> str:
    if one.effect == "not attacked":
        return "Certify the newer release again (the same seed): attacks are then given both"
    withdraw = f"if nobody outside was given the newer one, `sdcert revoke {one.past.run} --never-published REASON`"
    return f"Revoke this certificate; {withdraw}"
