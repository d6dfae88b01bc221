"""The membership attacks, the shadow models and words of each, and `attack_table` and `attack_model`, which run them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, assert_never

import numpy as np
from pydantic import Field, InstanceOf

from tasks.attack.membership.answers import Answers
from tasks.attack.membership.closest_record import ClosestRecord, score_by_closest_record
from tasks.attack.membership.density_ratio import DensityRatio, score_by_density_ratio
from tasks.attack.membership.frame import Evaluates, Frame
from tasks.attack.membership.gap import Gap, score_by_gap
from tasks.attack.membership.law_ratio import LawRatio, score_by_law_ratio
from tasks.attack.membership.likelihood_ratio import LikelihoodRatio, score_by_likelihood_ratio
from tasks.attack.membership.linkage_score import LinkageScore, score_by_links
from tasks.attack.membership.loss_threshold import LossThreshold, score_by_loss
from tasks.attack.membership.scored import MembershipScores, ThresholdFrom
from tasks.attack.membership.shadow_models import ShadowModels, score_by_shadow_models
from tasks.attack.membership.shadows import Shadows, Teaching
from tasks.attack.membership.values_present import ValuesPresent, score_by_values_present
from tasks.attack.outcomes.links import Links
from tasks.mask.methods import Mechanism
from tasks.microdata.errors import AttackFailed, Idle, NotApplicable
from tasks.microdata.estimate import Status
from tasks.microdata.schema import Schema
from tasks.microdata.table import Floats, Microdata

AnyModelAttack = Gap | LossThreshold | ShadowModels | LikelihoodRatio
AnyTableAttack = ClosestRecord | DensityRatio | LinkageScore | ValuesPresent | LawRatio
OfDeclaredIntruder = ValuesPresent | LawRatio  # they know what the declared intruder knows; the others the whole record
DECLARED_KNOWLEDGE = frozenset({"values_present", "law_ratio"})
ModelAttack = Annotated[AnyModelAttack, Field(discriminator="method")]
TableAttack = Annotated[AnyTableAttack, Field(discriminator="method")]
MembershipAttack = Annotated[AnyModelAttack | AnyTableAttack, Field(discriminator="method")]
DEFAULT_MODEL_ATTACKS: tuple[AnyModelAttack, ...] = (
    Gap(method="gap"),
    LossThreshold(method="loss_threshold"),
    ShadowModels(method="shadow_models"),
    LikelihoodRatio(method="likelihood_ratio"),
    LikelihoodRatio(method="likelihood_ratio", id="likelihood_ratio_offline", variant="offline"),
)
DEFAULT_TABLE_ATTACKS: tuple[AnyTableAttack, ...] = (
    ClosestRecord(method="closest_record"),
    DensityRatio(method="density_ratio"),
    LinkageScore(method="linkage_score"),
    ValuesPresent(method="values_present"),
    LawRatio(method="law_ratio"),
)
Attacks = tuple[AnyModelAttack | AnyTableAttack, ...]
INFERS = {
    "gap": "takes whom the model gets right for a member",
    "loss_threshold": "takes whom the model misses by little for a member",
    "shadow_models": "learns from imitations of the model how it answers about those who taught it",
    "likelihood_ratio": "compares the model's confidence in each record with that of imitations with and without it",
    "closest_record": "takes whoever has a near row in the release for a member",
    "density_ratio": "takes whoever stands where the release is denser than the population for a member",
    "linkage_score": "takes whoever is linked well for a member",
    "values_present": "takes those for members whose own values occur in columns of the release, or nearly, the rare above all",
    "law_ratio": "takes those for members with whom the release is likelier, by the law of the mask, than without",
}
_IMITATES = "the record, its true class, the model's probabilities, its learner, and other records of the population"
KNOWS = {
    "gap": "the record, its true class, and the class that the model predicts",
    "loss_threshold": "the record, its true class, and the probability that the model gives to it",
    "shadow_models": _IMITATES,
    "likelihood_ratio": _IMITATES,
    "closest_record": "the record and the release",
    "density_ratio": "the record, the release, and other records of the population",
    "linkage_score": "the record and the release",
    "values_present": "what the declared intruder knows of the record, the release, and other records of the population",
    "law_ratio": "what the declared intruder knows of the record, the release, the masking steps with their parameters (but "
    "not the seed), and other records of the population, on which they repeat the steps where no closed law is known",
}
TITLES = {  # by id where a variant has its own, else by method
    "closest_record": "Distance to the closest record",
    "density_ratio": "Ratio of densities",
    "linkage_score": "Scores of linkage",
    "values_present": "Exact values",
    "law_ratio": "Likelihood ratio of the mask",
    "gap": "Right or wrong",
    "loss_threshold": "Size of the error",
    "shadow_models": "Shadow models",
    "likelihood_ratio": "Likelihood ratio (LiRA)",
    "likelihood_ratio_offline": "Likelihood ratio (LiRA), offline",
}
MEANS = {  # what the report says of an attack, by id or method
    "values_present": "It looks at each column by itself, and does not ask which values stand in one row. Values that are not "
    "there but nearer than those of other people count too. Rank swapping, rank jitter and reverse mapping move the values of "
    "a column and keep them, so that even a wide window does not hide from it who is in the file.",
    "law_ratio": "It weighs each released row by how likely it is to come from this person rather than from somebody else. So "
    "one row in the right place tells more than many that suit everybody. Where no law in closed form follows the steps, the "
    "intruder masks random parts of the records they hold and learns the law: that likelihood is heuristic.",
    "gap": "Somebody who sees only the predicted class can carry it out. It measures how much more often the model is right "
    "about people of its training set than about others.",
    "loss_threshold": "It takes those for members whose error is no larger than that of a member on average. The error of easy "
    "records is small whoever taught the model, so that it is seldom sure of one person.",
    "shadow_models": "Its imitations learn from the intruder's own records, so that they see what an answer about a member "
    "looks like. It has one rule for each class, and none for each person.",
    "likelihood_ratio": "It compares each record with itself: are imitations that saw it surer of it than the others, and is "
    "the model as sure as these? So it allows for records that are easy or hard, and finds the few people who are "
    "recognised with certainty.",
    "likelihood_ratio_offline": "Its imitations saw none of the people it is asked about, and can be trained beforehand. They "
    "show how sure a model is of somebody it never saw. Anybody of whom this model is surer is taken for a member.",
}


@dataclass(frozen=True, slots=True)
class Taught:
    """The shadow models at hand: those that saw no target, and those into which the targets were inserted."""

    apart: Shadows | None = None
    inserted: Shadows | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipResult:
    """What a membership attack says of the targets of a frame.

    scores: shape (targets,), in the order of `Frame.target_units`: the higher, the likelier a member; a person's is the mean
        of that of their rows. None where the attack did not run; those of a part of it where it was `not_followed`.
    threshold: flagged are scores >= it; None: to be found on the frame's calibration half. threshold_from: where it is from.
    shadows: how many shadow models it used. of_insiders: the scores of intruders who know another column too, by their name.
    """

    attack: str
    method: str
    evaluates: Evaluates
    infers: str
    knows: str
    status: Status = "ok"
    reason: str | None = None
    scores: InstanceOf[Floats] | None = None
    threshold: float | None = None
    threshold_from: ThresholdFrom | None = None
    shadows: int = 0
    of_insiders: tuple[tuple[str, InstanceOf[Floats]], ...] = ()


def shadows_needed(specs: Iterable[AnyModelAttack]) -> dict[Teaching, int]:
    """How many shadow models of each kind are enough for all of some attacks, which share them; kinds not needed are absent.

    Example: the attacks by default: 16 apart, 16 inserted.
    """
    needed: dict[Teaching, int] = {}
    for spec in specs:
        kind = teaching(spec)
        if kind is not None:
            needed[kind] = max(needed.get(kind, 0), _number(spec))
    return needed


def teaching(spec: AnyModelAttack) -> Teaching | None:
    """The kind of shadow models that an attack needs; None: it needs none."""
    match spec:
        case Gap():
            return None
        case LossThreshold():
            return "apart" if spec.threshold == "shadow_models" else None
        case ShadowModels():
            return "apart"
        case LikelihoodRatio():
            return spec.teaching
        case _:
            assert_never(spec)


def attack_model(
    spec: AnyModelAttack, answers: Answers, frame: Frame, taught: Taught, *, rng: np.random.Generator
) -> MembershipResult:
    """Let one attack tell members from others by what a model answers about the targets.

    The attack is not told who is a member. taught: at least as many shadow models as `shadows_needed` says; it uses the first.

    Raises ValueError where these are missing. An attack that cannot run has a status and a reason.
    """
    kind = teaching(spec)
    shadows = None if kind is None else _take_first_shadows(taught, kind, _number(spec))

    def compute_scores() -> MembershipScores:
        match spec:
            case Gap():
                return score_by_gap(answers)
            case LossThreshold():
                return score_by_loss(answers, spec, None if shadows is None else shadows.select_answers(frame.shadow_rows))
            case ShadowModels():
                return score_by_shadow_models(answers, _require_shadows(shadows).select_answers(frame.shadow_rows), rng=rng)
            case LikelihoodRatio():
                both = (_require_shadows(shadows).select_answers(rows) for rows in (frame.target_rows, frame.shadow_rows))
                return score_by_likelihood_ratio(answers, spec, *both)
            case _:
                assert_never(spec)

    return _result(spec, frame, compute_scores, 0 if shadows is None else shadows.n)


def attack_table(
    spec: AnyTableAttack,
    original: Microdata,
    released: Microdata,
    schema: Schema,
    frame: Frame,
    knows: tuple[str, ...],
    links: Links | None = None,
    *,
    mechanisms: tuple[Mechanism, ...] = (),
    insiders: Mapping[str, tuple[str, ...]] | None = None,
) -> MembershipResult:
    """Let one attack tell members from others by the released table.

    original: the table of the frame's units, members, control and others; the attack is not told who is what. knows: published
    attributes. links: for `linkage_score`, those of the attack it names, in which the rows `frame.target_rows` searched, in
    this order. mechanisms: the masking steps. insiders: what each of some others knows instead, by name.

    An attack that cannot run has a status and a reason. Raises InputError as `compare`, ValueError where links are missing.
    """

    def compute_scores() -> MembershipScores:
        match spec:
            case ClosestRecord():
                return score_by_closest_record(original, frame.target_rows, released, schema, spec, knows)
            case DensityRatio():
                asked, reference = frame.target_rows, frame.shadow_rows
                return score_by_density_ratio(original, asked, reference, released, schema, spec, knows)
            case LinkageScore():
                if links is None:
                    raise ValueError("the links of a linkage attack are needed")
                return score_by_links(links, np.arange(len(frame.target_rows)), spec)
            case ValuesPresent():
                return score_by_values_present(original, frame, released, schema, knows, insiders)
            case LawRatio():
                return score_by_law_ratio(original, frame, released, schema, mechanisms, knows)
            case _:
                assert_never(spec)

    return _result(spec, frame, compute_scores, 0)


def attack_name(spec: AnyModelAttack | AnyTableAttack) -> str:
    """What an attack is called in figures and policy lines."""
    return spec.id or spec.method


def list_weakened(planned: Attacks, default: Attacks) -> tuple[str, ...]:
    """The default attacks that a plan leaves out, or has only in another form or with fewer shadow models, by name.

    A limit on membership is only as good as the attacks that try it.
    Example: of a table `closest_record` alone: `density_ratio` and `linkage_score`.
    """
    return tuple(attack_name(spec) for spec in default if not any(_is_as_strong(one, spec) for one in planned))


def _is_as_strong(planned: AnyModelAttack | AnyTableAttack, default: AnyModelAttack | AnyTableAttack) -> bool:
    """Is it the default attack, perhaps under another id or with more shadow models?"""
    if type(planned) is not type(default):
        return False
    given, wanted = (spec.model_dump(exclude={"id"}) for spec in (planned, default))
    enough = given.pop("shadows", 0) >= wanted.pop("shadows", 0)
    return enough and given == wanted


def create_idle_result(
    spec: AnyModelAttack | AnyTableAttack, evaluates: Evaluates, reason: str, status: Idle = "not_applicable"
) -> MembershipResult:
    """The result of an attack that cannot run, for a reason that lies outside it."""
    return _set_status(_blank(spec, evaluates, 0), status, reason)


def _blank(spec: AnyModelAttack | AnyTableAttack, evaluates: Evaluates, shadows: int) -> MembershipResult:
    return MembershipResult(
        attack=attack_name(spec),
        method=spec.method,
        evaluates=evaluates,
        infers=INFERS[spec.method],
        knows=KNOWS[spec.method],
        shadows=shadows,
    )


def _result(
    spec: AnyModelAttack | AnyTableAttack, frame: Frame, scored: Callable[[], MembershipScores], shadows: int
) -> MembershipResult:
    blank = _blank(spec, frame.evaluates, shadows)
    try:
        found = scored()
        _check_finite(found.scores)
    except NotApplicable as answer:
        return _set_status(blank, answer.status, answer.reason)
    except AttackFailed as answer:
        return _set_status(blank, "failed", answer.reason)

    return replace(
        blank if found.lost is None else _set_status(blank, "not_followed", found.lost),
        infers=blank.infers + found.remark,
        scores=frame.average_by_unit(found.scores),
        threshold=found.threshold,
        threshold_from=found.threshold_from,
        of_insiders=tuple((name, frame.average_by_unit(scores)) for name, scores in found.of_insiders),
    )


def _set_status(blank: MembershipResult, status: Status, reason: str) -> MembershipResult:
    return replace(blank, status=status, reason=reason)


def _check_finite(scores: Floats) -> None:
    if not np.isfinite(scores).all():
        raise AttackFailed("the attack has no finite score for some of the targets")


def _number(spec: AnyModelAttack) -> int:
    return 0 if isinstance(spec, Gap) else spec.shadows


def _take_first_shadows(taught: Taught, kind: Teaching, number: int) -> Shadows:
    shadows = taught.apart if kind == "apart" else taught.inserted
    if shadows is None or shadows.n < number:
        raise ValueError(f"{number} shadow models are needed, {kind}")
    return shadows.first(number)


def _require_shadows(shadows: Shadows | None) -> Shadows:
    if shadows is None:
        raise ValueError("shadow models are needed")
    return shadows


def describe() -> tuple[dict[str, str], ...]:
    """One row per attack, for `sdcert methods membership`."""
    parameters = {
        "gap": "id",
        "loss_threshold": "id, threshold (training_loss, shadow_models), shadows (8)",
        "shadow_models": "id, shadows (8)",
        "likelihood_ratio": "id, variant (online, offline), shadows (16)",
        "closest_record": "id, scale_by (release, original, own)",
        "density_ratio": "id, neighbours, scale_by (release, original, own)",
        "linkage_score": "id, of (a distance-based linkage of the release), score (distance, margin)",
        "values_present": "id",
        "law_ratio": "id",
    }
    of_model = {spec.method for spec in DEFAULT_MODEL_ATTACKS}
    return tuple(
        {
            "method": method,
            "what it does": INFERS[method],
            "asks": "a model" if method in of_model else "a table",
            "knows": KNOWS[method],
            "parameters": text,
        }
        for method, text in parameters.items()
    )
