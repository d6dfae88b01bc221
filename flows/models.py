"""A released model: it is trained or read, asked, imitated by an intruder, attacked, scored and described."""

from __future__ import annotations

import flows.environment  # noqa: F401  # prepares the process before Prefect is imported

# isort: split
from flows.course import Course, Made, Masked, kept
from flows.release import ReleaseSpec
from tasks.attack.membership.imitations import TOGETHER
from tasks.attack.membership.methods import AnyModelAttack, ModelAttack, attack_name, shadows_needed, teaching
from tasks.attack.task import ask_model, infer_from_model, train_shadows
from tasks.report.task import write_model_report
from tasks.runtime.records import Produced
from tasks.score.task import score_model
from tasks.train.spec import ModelSpec
from tasks.train.task import adopt_model, model_digest, train_model

FITTED_MODEL = "model"


def model_carried_out(
    course: Course, release: ReleaseSpec, spec: ModelSpec, source: Produced, masked: Masked, people: Produced
) -> Made:
    """The stages after the masking where a model is released. people: who is asked whether they taught it."""
    plan, schema, training = kept(spec), masked.schema, masked.table["masked"]
    if spec.learner is None:
        made = course.stage(adopt_model, FITTED_MODEL, training, schema, plan, model_digest(spec))
    else:
        made = course.stage(train_model, "train", training, schema, plan, "release", masked.draw)
    attacked, taught_by = made["model"], training
    if not masked.control and "released" in people:
        taught_by = people["released"]
        rehearsed = course.stage(train_model, "train rehearsal", taught_by, schema, plan, "rehearsal", masked.draw)
        attacked = rehearsed["model"]
    answers: Produced = {}
    if "people" in people:
        answers = course.stage(ask_model, "ask", people, attacked, taught_by, schema, plan, masked.table["mechanisms"])
    imitated = attacked if spec.learner is None else ""
    asked = (imitated, taught_by, schema, plan, masked.table["mechanisms"])
    attacks = tuple(one for one in release.membership_attacks if isinstance(one, AnyModelAttack))
    shadows = _shadows(course, attacks, people, asked, masked) if "answers" in answers else {}
    jobs = {
        f"membership {attack_name(one)}": (
            *(people, answers, _needed(one, shadows), schema),
            *(kept(one, ModelAttack), masked.draw),
        )
        for one in attacks
    }
    members = course.together(infer_from_model, "membership", jobs)
    policy = kept(release.policy, tuple)
    scores = course.stage(score_model, "score", masked.data, schema, policy, members, people, answers)
    page = course.stage(
        write_model_report,
        "report",
        *(kept(release.report_plan), masked.data, source["report"], schema, masked.table["mechanisms"], made["card"]),
        *(scores["score"], members, people, masked.control),
    )
    return Made(source["data"], made["model"], scores["score"], page, masked.draw, made["card"])


def _shadows(
    course: Course, attacks: tuple[AnyModelAttack, ...], people: Produced, asked: tuple[str, ...], masked: Masked
) -> dict[str, list[Produced]]:
    """The shadow models that all attacks share, by kind: a few in each stage, so that an interruption loses a few."""
    jobs = {
        (kind, first): (people, *asked, kind, str(first), masked.draw)
        for kind, number in shadows_needed(attacks).items()
        for first in range(0, number, TOGETHER)
    }
    named = {f"shadow models {kind} {first + 1}-{first + TOGETHER}": job for (kind, first), job in jobs.items()}
    found = course.together(train_shadows, "shadow models", named, each=TOGETHER) if named else []
    by_kind: dict[str, list[Produced]] = {}
    for (kind, _), one in zip(jobs, found, strict=True):
        by_kind.setdefault(kind, []).append(one)
    return by_kind


def _needed(attack: AnyModelAttack, shadows: dict[str, list[Produced]]) -> dict[str, list[Produced]]:
    """Those that an attack asks for: one that needs fewer is not computed anew when another needs more."""
    kind, number = teaching(attack), shadows_needed((attack,))
    return {} if kind is None or kind not in shadows else {kind: shadows[kind][: -(-number[kind] // TOGETHER)]}
