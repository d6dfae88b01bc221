"""The stages of a released model: train or read it, query it, let an intruder imitate it, attack, score, report."""

from __future__ import annotations

import flows.environment  # noqa: F401  # prepares the process before Prefect is imported

# isort: split
from collections.abc import Callable

from flows.kinds.base import AttackResults, KindFlow, MadeRelease, ReleaseJob
from flows.release import ReleaseSpec
from flows.run.certificate import ReleasedFile
from flows.run.publish import AddFile
from flows.run.stage_runner import ReleaseArtifacts, StageRunner, store_part
from tasks.attack.inference.model_answers import METHOD as MODEL_ANSWERS
from tasks.attack.inference.task import infer_by_model_answers
from tasks.attack.membership.methods import AnyModelAttack, attack_name, shadows_needed, teaching
from tasks.attack.membership.shadow_training import TOGETHER
from tasks.attack.membership.shadows import Teaching
from tasks.attack.outputs import PeopleOutputs, ShadowOutputs
from tasks.attack.task import ask_model, infer_from_model, train_shadows
from tasks.microdata.refs import FileRef, RecordRef
from tasks.report.kinds.model import MODEL_REPORT
from tasks.report.outputs import ReportOutputs
from tasks.report.statement import create_model_column_claims
from tasks.report.task import write_model_report
from tasks.runtime.artifacts import Store
from tasks.runtime.stages import StageCall
from tasks.score.release_figures import Score
from tasks.score.task import score_model
from tasks.train.card import ModelCard
from tasks.train.spec import ModelSpec
from tasks.train.task import adopt_model, model_digest, train_model

FITTED_MODEL = "model"
MODEL_FILE = "model.skops"
Shadows = dict[Teaching, list[ShadowOutputs]]


def list_attempt_parts(release: ReleaseSpec) -> tuple[str, ...]:
    """The model, and the file of one that was fitted elsewhere."""
    spec = _require_spec(release)
    return (store_part(spec), *([] if spec.file is None else [model_digest(spec)]))


def make_model(job: ReleaseJob) -> MadeRelease:
    """Train the model on what the masking made of the source, or read the one that was fitted already."""
    spec, schema, training = _require_spec(job.release), job.masked.schema, job.masked.masked
    plan = store_part(spec)
    if spec.learner is None:
        made = job.runner.run(FITTED_MODEL, adopt_model.bind(training, schema, plan, model_digest(spec)))
    else:
        made = job.runner.run("train", train_model.bind(training, schema, plan, "release", job.masked.draw))
    return MadeRelease(made["model"], made["card"])


def attack_model(job: ReleaseJob, made: MadeRelease) -> AttackResults:
    """What the model's answers about the people say of who taught it, and of their confidential values.

    Without a control, one that was made in the same way from half of the source is asked in its place.
    """
    spec, people, masked = _require_spec(job.release), _require_people(job), job.masked
    plan, schema = store_part(spec), masked.schema
    attacked, taught_by = FileRef(made.address), masked.masked
    if masked.control is None and "released" in people:
        taught_by = people["released"]
        call = train_model.bind(taught_by, schema, plan, "rehearsal", masked.draw)
        attacked = job.runner.run("train rehearsal", call)["model"]
    answers = None
    if "people" in people:
        answers = job.runner.run("ask", ask_model.bind(people, attacked, taught_by, schema, plan, masked.mechanisms))
    attacks = tuple(one for one in job.release.membership_attacks if isinstance(one, AnyModelAttack))

    def bind_shadows(kind: Teaching, first: int) -> StageCall[ShadowOutputs]:
        imitated = attacked if spec.learner is None else None
        return train_shadows.bind(
            people, imitated, taught_by, schema, plan, masked.mechanisms, kind=kind, first=first, draw=masked.draw
        )

    shadows = _train_shadows(job.runner, attacks, bind_shadows) if answers is not None and "answers" in answers else {}
    calls = {
        f"membership {attack_name(one)}": infer_from_model.bind(
            people, answers, _select_shadows(one, shadows), schema, store_part(one), masked.draw
        )
        for one in attacks
    }
    members = job.runner.run_all("membership", calls)
    told = infer_by_model_answers.bind(people, answers, attacked, taught_by, schema, plan, masked.mechanisms, masked.draw)
    inferred = job.runner.run(f"inference {MODEL_ANSWERS}", told)
    return AttackResults(members=members, answers=answers, inferred=[inferred])


def score_released_model(job: ReleaseJob, found: AttackResults) -> RecordRef[Score]:
    """What the model discloses and what it is good for, and the verdict of the policy."""
    policy, people = store_part(job.release.policy, tuple), _require_people(job)
    call = score_model.bind(job.masked.data, job.masked.schema, policy, found.members, people, found.answers, found.inferred)
    return job.runner.run("score", call)["score"]


def report_model(job: ReleaseJob, made: MadeRelease, found: AttackResults, score: RecordRef[Score]) -> ReportOutputs:
    """The report for the public, and the one for the steward."""
    call = write_model_report.bind(
        plan=store_part(job.release.report_plan),
        data=job.masked.data,
        validation=job.source["report"],
        schema=job.masked.schema,
        mechanisms=job.masked.mechanisms,
        card=_require_card(made.card),
        score=score,
        members=found.members,
        people=_require_people(job),
        control=job.masked.control,
        inferred=found.inferred,
    )
    return job.runner.run("report", call)


def write_model_file(made: ReleaseArtifacts, _: ReleaseSpec, add_file: AddFile) -> ReleasedFile:
    card = Store().record(_require_card(made.card), ModelCard)
    digest = add_file(MODEL_FILE, Store().file(FileRef(made.released)))
    return ReleasedFile(MODEL_FILE, digest, digest, card.rows, create_model_column_claims(card))


def _train_shadows(
    runner: StageRunner, attacks: tuple[AnyModelAttack, ...], bind: Callable[[Teaching, int], StageCall[ShadowOutputs]]
) -> Shadows:
    """The shadow models that all attacks share, by kind: a few in each stage, so that an interruption loses a few."""
    parts = [(kind, first) for kind, number in shadows_needed(attacks).items() for first in range(0, number, TOGETHER)]
    calls = {f"shadow models {kind} {first + 1}-{first + TOGETHER}": bind(kind, first) for kind, first in parts}
    outputs = runner.run_all("shadow models", calls, each=TOGETHER)
    by_kind: Shadows = {}
    for (kind, _), one in zip(parts, outputs, strict=True):
        by_kind.setdefault(kind, []).append(one)
    return by_kind


def _select_shadows(attack: AnyModelAttack, shadows: Shadows) -> Shadows:
    """Those that an attack asks for: one that needs fewer is not computed anew when another needs more."""
    kind, number = teaching(attack), shadows_needed((attack,))
    return {} if kind is None or kind not in shadows else {kind: shadows[kind][: -(-number[kind] // TOGETHER)]}


def _require_spec(release: ReleaseSpec) -> ModelSpec:
    if release.model is None:
        raise RuntimeError("the release of a model says which")
    return release.model


def _require_people(job: ReleaseJob) -> PeopleOutputs:
    if job.people is None:
        raise RuntimeError("a released model is always attacked by membership inference")
    return job.people


def _require_card(card: RecordRef[ModelCard] | None) -> RecordRef[ModelCard]:
    if card is None:
        raise RuntimeError("a released model has a card")
    return card


MODEL_FLOW = KindFlow(
    wording=MODEL_REPORT,
    list_attempt_parts=list_attempt_parts,
    make=make_model,
    made_by=(FITTED_MODEL, "train"),
    attack=attack_model,
    score=score_released_model,
    report=report_model,
    write_file=write_model_file,
)
