"""Check, before anything is signed, that report and verdict follow from the measured figures by the release's own policy.

The verdict is decided anew from the figures, and the run's stages must have been given what the stages before them made. Seals
keep others from writing results (`tasks/runtime/records.py`); this keeps whatever went wrong besides from being signed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flows.release import ReleaseSpec
from flows.run.looks import find_look_of_stage, went_as_planned
from flows.run.stage_runner import ReleaseArtifacts
from tasks.attack.target_looks import TargetLook
from tasks.audit.series.past_releases import KEEP_RELEASED
from tasks.microdata.errors import InputError
from tasks.report.content import Content
from tasks.runtime.artifacts import create_adapter
from tasks.score.attack_coverage import find_unfollowed
from tasks.score.figure_rounding import round_criteria, round_for_publication
from tasks.score.release_figures import Score
from tasks.score.verdict import Verdict, decide

ATTACKS = ("attack ", "membership ")


def refuse_disagreement(
    release: ReleaseSpec,
    made: ReleaseArtifacts,
    measured: Score,
    content: Content,
    stages: dict[str, Any],
    inputs: dict[str, list[Any]],
) -> None:
    """Raises InputError where verdict, report and figures are not of one release. stages, inputs: as the recorder has them."""
    decided = decide(release.policy, measured.estimates, find_unfollowed(content.attacks, release.omit, content.mechanisms))
    if _serialize(decided) != _serialize(measured.verdict):
        raise _create_disagreement_error(
            "the verdict in the store is not what the release's policy decides by the figures in the store"
        )
    figures = round_for_publication(measured.estimates, zip(release.policy, decided.criteria, strict=True))
    shown = Verdict(decided.verdict, round_criteria(decided.criteria, measured.estimates, figures))
    same = _serialize(content.verdict) == _serialize(shown) and _serialise_figures(content.estimates) == _serialise_figures(
        figures
    )
    if not same or tuple(content.policy) != tuple(release.policy):
        raise _create_disagreement_error("the report in the store does not show these figures, this verdict and this policy")
    if not went_as_planned(release.intruder.targets, measured.look, stages) or content.look != measured.look:
        raise _create_disagreement_error("the looks at the targets are not those that the release file plans")
    if not _follow(made, measured.look, stages, inputs):
        raise _create_disagreement_error("a stage of this run was not given what the stages before it made")


def _follow(made: ReleaseArtifacts, look: TargetLook | None, stages: dict[str, Any], inputs: dict[str, list[Any]]) -> bool:
    """Was the report written of the score of the attacks on the very table (or model) that is released?

    look: of planned looks the last that was taken, whose attacks are scored. Those of each look were given to its decision.
    """
    scored, reported = set(_flatten_texts(inputs["score"])), set(_flatten_texts(inputs["report"]))
    every = {name: find_look_of_stage(name) for name in stages if name.startswith(ATTACKS)}
    attacks = [name for name, at in every.items() if at is None or (look is not None and at == look.name)]
    results = {address for name in attacks for address in stages[name]["produced"].values()}
    attacked = {address for name in attacks if name.startswith("attack ") for address in inputs[name][:5]}
    return (
        stages["score"]["produced"] == {"score": made.score}
        and stages["report"]["produced"] == made.page
        and {_digest_records(made, stages, inputs), made.score, made.described_by} <= reported
        and results <= scored & reported
        and attacked <= scored
        and all(_was_decided(name, at, stages, inputs) for name, at in every.items() if at is not None)
    )


def _was_decided(attack: str, look: str, stages: dict[str, Any], inputs: dict[str, list[Any]]) -> bool:
    """Was what an attack of a look made given to the decision after that look?"""
    return look in stages and set(stages[attack]["produced"].values()) <= set(_flatten_texts(inputs[look]))


def _digest_records(made: ReleaseArtifacts, stages: dict[str, Any], inputs: dict[str, list[Any]]) -> str:
    """The records that were masked: those of the source, or what keeping groups or setting a control aside made of them."""
    kept = KEEP_RELEASED in stages and made.source in inputs[KEEP_RELEASED]
    records = str(stages[KEEP_RELEASED]["produced"]["data"] if kept else made.source)
    aside = stages["control"]["produced"].get("data") if "control" in stages else None
    return records if aside is None or records not in inputs["control"] else str(aside)


def _flatten_texts(given: Any) -> Iterator[str]:
    """Every text that a stage was given, wherever it nests."""
    match given:
        case str():
            yield given
        case dict():
            for one in given.values():
                yield from _flatten_texts(one)
        case list() | tuple():
            for one in given:
                yield from _flatten_texts(one)


def _serialize(verdict: Verdict) -> bytes:
    return create_adapter(Verdict).dump_json(verdict)


def _serialise_figures(estimates: tuple[Any, ...]) -> list[bytes]:
    return [create_adapter(type(one)).dump_json(one) for one in estimates]


def _create_disagreement_error(what: str) -> InputError:
    allowed = "results that this program alone wrote, for this release"
    remedy = (
        "nothing was signed. Look who writes in the private folder, and at `sdcert store verify` and `sdcert doctor`; then "
        "run again with `--refresh`, which computes everything anew"
    )
    return InputError("results-disagree", "SDCERT_HOME", what, allowed, remedy)
