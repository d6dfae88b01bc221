"""What later releases about the same persons did to a certificate: judged by its own policy, from figures that they left."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import TypeAdapter

from flows.earlier.family import ReleaseFamilies, identify_table
from flows.release import ReleaseSpec
from flows.run.history import manifest_path
from tasks.attack.threat import Intruder, intruders
from tasks.attack.together.earlier_releases import EarlierReleases
from tasks.audit.series.past_releases import PastRelease
from tasks.microdata.errors import InputError
from tasks.microdata.estimate import Estimate
from tasks.microdata.refs import RecordRef
from tasks.microdata.regular_files import read_text_file
from tasks.microdata.schema import Schema
from tasks.runtime.artifacts import Damaged, Store
from tasks.score.policy import PolicyLine
from tasks.score.verdict import Criterion, decide

Effect = Literal["broken", "undecided", "not attacked", "kept", "same table", "beside"]
TOGETHER = ("values_reconstructed",)  # measures of all releases together, which no attack computes
SCORECARD = "scorecard.json"
MOST = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterRelease:
    """A release after a certified one about the same persons, and its effect on the older certificate.

    effect: `broken`: both together are beyond a limit of the older policy; `undecided`: they may be; `not attacked`: no attack
    was given both; `kept`: every limit holds; `same table`: it released the same again; `beside`: a model or a table of nobody,
    which is not combined. criteria: the lines of the older policy that are broken or undecided. reason: why it is undecided
    where no line says it: figures or the policy are `lost`, or the intruder of the newer run knew `less`.
    """

    past: PastRelease
    effect: Effect
    criteria: tuple[Criterion, ...] = ()
    reason: Literal["lost", "less"] | None = None


class CertificateJudge:
    """Judges what later releases of some families did to certificates. What a run left is read once."""

    def __init__(self, families: ReleaseFamilies) -> None:
        self.families = families
        self._estimates: dict[str, tuple[Estimate, ...]] = {}
        self._releases: dict[str, ReleaseSpec | None] = {}

    def judge_later_releases(self, older: PastRelease) -> tuple[LaterRelease, ...]:
        """What the tables that were released after a certified one did to it, oldest first.

        Of several runs that released one table, the newest speaks whose attacks were given both. Once so many of the newest
        tables broke the certificate, or may have, older ones are not looked at: see `MOST`.
        """
        found: dict[object, LaterRelease] = {}
        harmful = 0
        for past in self.families.find_later(older):
            one, name = self.judge_pair(older, past), identify_table(past)
            before = found.get(name)
            if one.effect not in ("same table", "beside") and (before is None or before.effect == "not attacked"):
                found[name] = one if before is None or one.effect != "not attacked" else before
                harmful += before is None and one.effect != "kept"
            if harmful >= MOST:
                break
        return tuple(sorted(found.values(), key=lambda one: one.past.order))

    def judge_pair(self, older: PastRelease, newer: PastRelease) -> LaterRelease:
        """What the newer of two releases about the same persons did to the older one."""
        facts, before = self.families.read_facts(newer), self.families.read_facts(older)
        if not (_is_of_persons(facts) and _is_of_persons(before)):
            return LaterRelease(past=newer, effect="beside")
        if identify_table(older) == identify_table(newer):
            return LaterRelease(past=newer, effect="same table")
        attacks = {f"{EarlierReleases.get_method()}:{run}" for run in self.families.list_runs_of_same_table(older)}
        if not _was_attacked(facts, attacks):
            return LaterRelease(past=newer, effect="not attacked")
        own = tuple(one for one in self._read_estimates(newer) if one.attack in attacks or one.attack is None)
        release, later = self._read_release(older), self._read_release(newer)
        if release is None or not any(one.attack in attacks for one in own):
            return LaterRelease(past=newer, effect="undecided", reason="lost")
        found = _judge_figures(newer, release.policy, own)
        knows_less = later is None or _knows_less(_find_declared(newer, later), _find_declared(older, release))
        if found.effect == "kept" and knows_less:
            return LaterRelease(past=newer, effect="undecided", reason="less")
        return found

    def _read_estimates(self, past: PastRelease) -> tuple[Estimate, ...]:
        if past.run not in self._estimates:
            self._estimates[past.run] = read_joined_estimates(past.run)
        return self._estimates[past.run]

    def _read_release(self, past: PastRelease) -> ReleaseSpec | None:
        if past.run not in self._releases:
            self._releases[past.run] = _parse_release(self.families.read_facts(past))
        return self._releases[past.run]


def read_joined_estimates(run: str) -> tuple[Estimate, ...]:
    """The figures on several releases together, at full precision; none where the scorecard is gone or cannot be read."""
    try:
        figures = json.loads(read_text_file(manifest_path(run).with_name(SCORECARD)))["estimates"]
        return tuple(_parse_estimate(one) for one in figures if _is_joined(one))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ()


def _is_joined(figure: dict[str, Any]) -> bool:
    return figure["measure"] in TOGETHER or (figure.get("attack") or "").startswith(f"{EarlierReleases.get_method()}:")


def _parse_estimate(figure: dict[str, Any]) -> Estimate:
    plain = {name: value for name, value in figure.items() if name != "id"}
    plain["parameters"] = tuple(plain.get("parameters", {}).items())
    found: Estimate = TypeAdapter(Estimate).validate_json(json.dumps(plain))
    return found


def _judge_figures(newer: PastRelease, policy: tuple[PolicyLine, ...], estimates: tuple[Estimate, ...]) -> LaterRelease:
    measured = {one.measure for one in estimates}
    lines = tuple(line for line in policy if line.measure in measured)
    missed = [one for one in estimates if one.status == "not_followed"]
    unfollowed = frozenset((one.attack, one.intruder) for one in missed if one.attack and one.intruder)
    try:
        criteria = decide(lines, estimates, unfollowed).criteria if lines else ()
    except InputError:  # a policy of another version
        return LaterRelease(past=newer, effect="undecided", reason="lost")
    decided = [one for one in criteria if one.estimate is not None]  # the other lines accept what this attack finds
    broken = tuple(one for one in decided if one.decision == "fail")
    open_lines = tuple(one for one in decided if one.decision == "undecided")
    effect: Effect = "broken" if broken else "undecided" if open_lines else "kept"
    return LaterRelease(past=newer, effect=effect, criteria=broken or open_lines)


def _parse_release(facts: dict[str, object]) -> ReleaseSpec | None:
    """The release file of a past run; None where it is gone, or this version cannot read it."""
    try:
        return TypeAdapter(ReleaseSpec).validate_json(json.dumps(facts["spec"]))
    except (KeyError, ValueError):
        return None


def _find_declared(past: PastRelease, release: ReleaseSpec) -> Intruder:
    """The declared intruder. Where the classification is gone, they know what the release file says, or nothing."""
    spec = release.intruder
    try:
        schema = Store().record(RecordRef[Schema](past.tables["schema"]), Schema)
        return intruders(spec, schema)[0]
    except (Damaged, InputError, KeyError, ValueError):
        return Intruder("declared", spec.knows or (), spec.participation_known, spec.records)


def _knows_less(one: Intruder, other: Intruder) -> bool:
    """Does one intruder lack something that the other knows of the records?"""
    lacks = set(other.knows) - set(one.knows) or one.records < other.records
    return bool(lacks) or one.participation_known < other.participation_known


def _was_attacked(facts: dict[str, object], attacks: Iterable[str]) -> bool:
    """Did one of these attacks run, as the private manifest says?"""
    stages = facts.get("stages")
    beginnings = tuple(f"attack {one} (" for one in attacks)
    return isinstance(stages, dict) and any(stage.startswith(beginnings) for stage in stages)


def _is_of_persons(facts: dict[str, object]) -> bool:
    """Was a masked table of persons released, as far as the private manifest says?"""
    spec = facts.get("spec")
    if not isinstance(spec, dict):
        return True
    released = spec.get("released")
    return spec.get("release") is None and not (isinstance(released, dict) and released.get("align") == "none")
