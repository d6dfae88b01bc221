"""A released model: it is trained or read, asked, imitated by an intruder, attacked, scored and described."""

from __future__ import annotations

import flows.environment  # noqa: F401  # prepares the process before Prefect is imported

# isort: split
from collections.abc import Callable

from flows.release import ReleaseSpec
from flows.run.stage_runner import MaskingArtifacts, ReleaseArtifacts, StageRunner, store_part
from tasks.attack.membership.methods import AnyModelAttack, attack_name, shadows_needed, teaching
from tasks.attack.membership.shadow_training import TOGETHER
from tasks.attack.membership.shadows import Teaching
from tasks.attack.outputs import MembershipOutputs, PeopleOutputs, ShadowOutputs
from tasks.attack.task import ask_model, infer_from_model, train_shadows
from tasks.ingest.outputs import IngestOutputs
from tasks.microdata.refs import FileRef, TableRef
from tasks.report.task import write_model_report
from tasks.runtime.stages import StageCall
from tasks.score.task import score_model
from tasks.train.spec import ModelSpec
from tasks.train.task import adopt_model, model_digest, train_model

FITTED_MODEL = "model"
ShadowsByTeaching = dict[Teaching, list[ShadowOutputs]]


def run_model_stages(
    runner: StageRunner,
    release: ReleaseSpec,
    spec: ModelSpec,
    source: IngestOutputs,
    masked: MaskingArtifacts,
    people: PeopleOutputs | None,
) -> ReleaseArtifacts:
    """The stages after the masking where a model is released. people: who is asked whether they are in the training set."""
    if people is None:
        raise RuntimeError("a released model is always attacked by membership inference")
    plan, schema, training = store_part(spec), masked.schema, masked.masked
    if spec.learner is None:
        made = runner.run(FITTED_MODEL, adopt_model.bind(training, schema, plan, model_digest(spec)))
    else:
        made = runner.run("train", train_model.bind(training, schema, plan, "release", masked.draw))
    attacked, taught_by = made["model"], training
    if masked.control is None and "released" in people:
        taught_by = people["released"]
        call = train_model.bind(taught_by, schema, plan, "rehearsal", masked.draw)
        attacked = runner.run("train rehearsal", call)["model"]
    answers = None
    if "people" in people:
        answers = runner.run("ask", ask_model.bind(people, attacked, taught_by, schema, plan, masked.mechanisms))
    attacks = tuple(one for one in release.membership_attacks if isinstance(one, AnyModelAttack))

    def bind_shadows(kind: Teaching, first: int) -> StageCall[ShadowOutputs]:
        imitated: FileRef | None = attacked if spec.learner is None else None
        trained_on: TableRef = taught_by
        return train_shadows.bind(
            people, imitated, trained_on, schema, plan, masked.mechanisms, kind=kind, first=first, draw=masked.draw
        )

    shadows = _train_shadows(runner, attacks, bind_shadows) if answers is not None and "answers" in answers else {}
    calls = {
        f"membership {attack_name(one)}": infer_from_model.bind(
            people, answers, _select_shadows(one, shadows), schema, store_part(one), masked.draw
        )
        for one in attacks
    }
    members: list[MembershipOutputs] = runner.run_all("membership", calls)
    policy = store_part(release.policy, tuple)
    scores = runner.run("score", score_model.bind(masked.data, schema, policy, members, people, answers))
    page = runner.run(
        "report",
        write_model_report.bind(
            plan=store_part(release.report_plan),
            data=masked.data,
            validation=source["report"],
            schema=schema,
            mechanisms=masked.mechanisms,
            card=made["card"],
            score=scores["score"],
            members=members,
            people=people,
            control=masked.control,
        ),
    )
    return ReleaseArtifacts(source["data"], made["model"], scores["score"], page, masked.draw, made["card"])


def _train_shadows(
    runner: StageRunner, attacks: tuple[AnyModelAttack, ...], bind: Callable[[Teaching, int], StageCall[ShadowOutputs]]
) -> ShadowsByTeaching:
    """The shadow models that all attacks share, by kind: a few in each stage, so that an interruption loses a few."""
    parts = [(kind, first) for kind, number in shadows_needed(attacks).items() for first in range(0, number, TOGETHER)]
    calls = {f"shadow models {kind} {first + 1}-{first + TOGETHER}": bind(kind, first) for kind, first in parts}
    outputs = runner.run_all("shadow models", calls, each=TOGETHER)
    by_kind: ShadowsByTeaching = {}
    for (kind, _), one in zip(parts, outputs, strict=True):
        by_kind.setdefault(kind, []).append(one)
    return by_kind


def _select_shadows(attack: AnyModelAttack, shadows: ShadowsByTeaching) -> ShadowsByTeaching:
    """Those that an attack asks for: one that needs fewer is not computed anew when another needs more."""
    kind, number = teaching(attack), shadows_needed((attack,))
    return {} if kind is None or kind not in shadows else {kind: shadows[kind][: -(-number[kind] // TOGETHER)]}
