"""What a sweep calls risk and loss: one number per trial of each, read off the figures.

A trial without the number has none: it is NaN with the reason beside it, never 0, and it is not on the map.
Numbers are the figures' values; where targets were sampled their intervals stay in the table (`Results.values("high:<id>")`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, assert_never

import numpy as np
from pydantic import Discriminator, Tag, model_validator

from tasks.microdata.spec import Name, Percent, Public, Slug, Spec
from tasks.microdata.table import Booleans, Floats
from tasks.score.catalogue import LOSS, MEASURES
from tasks.score.measures.disclosure import RANK_INTERVAL_DISCLOSURE
from tasks.score.measures.linkage import REIDENTIFICATION
from tasks.score.measures.loss import CORRELATION_DIFFERENCE, COVARIANCE_DIFFERENCE, IL1S, MEAN_DIFFERENCE
from tasks.score.policy import DECLARED, INSIDER, is_by
from tasks.sweep.layout import FigureSubject
from tasks.sweep.results import Results

WORST_OF = REIDENTIFICATION.name
INTERVALS = RANK_INTERVAL_DISCLOSURE.name
LOSSES = tuple(measure.name for measure in LOSS)
LITERATURE_LOSS = {
    IL1S.name: 1,
    MEAN_DIFFERENCE.name: 1,
    COVARIANCE_DIFFERENCE.name: 2,
    CORRELATION_DIFFERENCE.name: 1,
}  # fifths


class WorstRisk(Spec):
    """Worst found among the attacks run: the largest `reidentification` of any attack by the declared intruder or their files.

    `reidentification` alone counts, the share of all targets that are linked to their own record, ties shared: it is what
    every attack has, on one scale, so that a maximum over attacks means something. `records_exposed`, `max_record_risk` and
    the like say the same of the same links in another way; linked values have a chance level of their own, which may be near
    1; interval disclosure knows no attack. Each of them can be a sweep's risk as one figure (`FigureRisk`).
    All attacks count, also the transparency attack, learned distances and those of other directions and scales, as for a
    policy line that names none. An attack that does not apply is left out; one that failed leaves the trial without a risk,
    because its rate could have been the largest.

    include_insiders: let the insiders count too (docs/SCIENCE.md section 2: they are reported apart unless asked for).
    """

    view: Public[Literal["worst"]] = "worst"
    include_insiders: Public[bool] = False


class LiteratureRisk(Spec):
    """The risk of Domingo-Ferrer and Torra 2001 as far as it is there: 0.5 * interval disclosure + 0.5 * distance linkage.

    The score of 2001 is 0.5 IL + 0.25 ID + 0.125 DLD + 0.125 PLD, so its risk is 0.5 ID + 0.25 DLD + 0.25 PLD; the part of
    probabilistic linkage (PLD) goes to distance linkage here, also where `probabilistic_linkage` runs. It ignores transparency.
    ID: the mean of `rank_interval_disclosure` over the masked attributes and over the widths measured (2001: 1 to 10 percent).
    DLD: `reidentification` by the attack `linkage` of the declared intruder, who knows all that is declared (2001: the mean
    over intruders of 1 to 7 attributes), with ties shared (2001: strict).
    A trial without either part has no such risk, e.g. one that masks nominal attributes alone.

    linkage: the id of the attack by distance linkage.
    """

    view: Public[Literal["literature"]] = "literature"
    linkage: Public[Slug] = "distance_linkage"


class FigureRisk(Spec):
    """One figure, found as a policy line finds its own.

    measure: any of the catalogue of which less is safer. attack: default: the largest of all that apply, none failed.
    intruder: `declared`, `insider` or `file` (the largest of all), or one, e.g. `insider:vote`; default: the largest of the
    declared one and holders of one of their files. attribute, subgroup, p_percent: default: the figure of the table, else the
    largest of the attributes, subgroups, widths.
    """

    view: Public[Literal["figure"]] = "figure"
    measure: Public[Name]
    attack: Public[Slug | None] = None
    intruder: Public[Name | None] = None
    attribute: Public[Name | None] = None
    subgroup: Public[Name | None] = None
    p_percent: Public[Percent | None] = None

    @model_validator(mode="after")
    def _can_be_a_risk(self) -> Self:
        risks = [name for name, measure in MEASURES.items() if measure.better == "lower" and name not in LOSSES]
        if self.measure not in risks:
            raise ValueError(f"the risk of a sweep is a measure of which less is safer: {', '.join(risks)}")
        return self


class LiteratureLoss(Spec):
    """The loss of Domingo-Ferrer and Torra 2001: the mean change of cells, means, variances, covariances and correlations.

    Here 0.2 * `il1s` + 0.2 * mean of `mean_difference` + 0.4 * `covariance_difference` + 0.2 * `correlation_difference`, all on
    the scale of the original's standard deviations (2001: relative to each value, which may be 0). `covariance_difference`
    holds variances and covariances, and counts twice. A measure of cells alone (`sse_percent`) does not see that a swap within
    a column leaves means and variances as they were; this one does.
    A trial without one of the parts has no such loss, e.g. one that masks the only number of a table.
    """

    view: Public[Literal["literature"]] = "literature"


class FigureLoss(Spec):
    """One measure of loss of the catalogue. attribute: default: the figure of the table, else the largest of the attributes."""

    view: Public[Literal["figure"]] = "figure"
    measure: Public[Name]
    attribute: Public[Name | None] = None

    @model_validator(mode="after")
    def _is_a_loss(self) -> Self:
        if self.measure not in LOSSES:
            raise ValueError(f"the loss of a sweep is one of: {', '.join(LOSSES)}")
        return self


def _view(given: Any) -> str:
    view = given.get("view", "figure") if isinstance(given, Mapping) else getattr(given, "view", "figure")
    return str(view)


RiskView = Annotated[
    Annotated[WorstRisk, Tag("worst")] | Annotated[LiteratureRisk, Tag("literature")] | Annotated[FigureRisk, Tag("figure")],
    Discriminator(_view),
]
LossView = Annotated[Annotated[LiteratureLoss, Tag("literature")] | Annotated[FigureLoss, Tag("figure")], Discriminator(_view)]


@dataclass(frozen=True, slots=True)
class TrialValues:
    """Risk or loss of every trial.

    says: what the number is, in words. unit: of the number. values: shape (trials,), NaN where there is none; reasons: per
    trial, why there is none. figure: per trial the id of the figure that is the number; None where there is none, or several
    were averaged.
    """

    says: str
    unit: str
    values: Floats
    reasons: tuple[str | None, ...]
    figure: tuple[str | None, ...]


def compute_risk(results: Results, view: WorstRisk | LiteratureRisk | FigureRisk) -> TrialValues:
    """The risk of each trial. Cost: O(trials * figures of the view)."""
    match view:
        case WorstRisk():
            who = ", insiders included" if view.include_insiders else ""
            says = f"re-identification, worst found among the attacks run{who}"
            chosen = [one for one, of in results.figures.items() if of.measure == WORST_OF and _is_intruder_counted(of, view)]
            return _largest(results, chosen, says, MEASURES[WORST_OF].unit)
        case LiteratureRisk():
            return _literature(results, view)
        case FigureRisk():
            chosen = [one for one, of in results.figures.items() if _is_meant(of, view)]
            return _largest(results, _preferring_table(results, chosen), _words(view), MEASURES[view.measure].unit)
        case _:
            assert_never(view)


def compute_loss(results: Results, view: LiteratureLoss | FigureLoss) -> TrialValues:
    """The loss of each trial. Cost: O(trials * figures of the view)."""
    if isinstance(view, LiteratureLoss):
        return _literature_loss(results)
    about = [one for one, of in results.figures.items() if of.measure == view.measure]
    chosen = [one for one in about if view.attribute in (None, results.figures[one].attribute)]
    return _largest(results, _preferring_table(results, chosen), _words(view), MEASURES[view.measure].unit)


def _is_intruder_counted(subject: FigureSubject, view: WorstRisk) -> bool:
    who = subject.intruder or ""
    return is_by(who, None) or (view.include_insiders and is_by(who, INSIDER))


def _is_meant(subject: FigureSubject, view: FigureRisk) -> bool:
    same_intruder = subject.intruder is None or is_by(subject.intruder, view.intruder)
    given = ((view.measure, subject.measure), (view.attack, subject.attack), (view.attribute, subject.attribute))
    others = ((view.subgroup, subject.subgroup), (view.p_percent, subject.p_percent))
    return same_intruder and all(wanted in (None, found) for wanted, found in (*given, *others))


def _preferring_table(results: Results, chosen: list[str]) -> list[str]:
    """The figures about the whole table where there are some, else all."""
    return [one for one in chosen if results.figures[one].attribute is None] or chosen


def _words(view: FigureRisk | FigureLoss) -> str:
    of = [] if view.attribute is None else [f"of {view.attribute}"]
    if isinstance(view, FigureRisk):
        of += [] if view.attack is None else [f"by {view.attack}"]
        of += [] if view.intruder is None else [f"for {view.intruder}"]
        of += [] if view.subgroup is None else [f"in {view.subgroup}"]
        of += [] if view.p_percent is None else [f"at {view.p_percent:g} %"]
    return " ".join([view.measure, *of])


def _largest(results: Results, chosen: list[str], says: str, unit: str) -> TrialValues:
    """The largest of some figures of each trial, none of which failed; of several equal ones the first."""
    reasons = _explain_missing(results, chosen)
    values = np.full(results.n_trials, -np.inf)
    position = np.full(results.n_trials, -1)
    for i, figure in enumerate(chosen):
        own = results.values(figure)
        larger = own > values
        values[larger], position[larger] = own[larger], i
    missing = np.array([reason is not None for reason in reasons], dtype=bool)
    values[missing], position[missing] = np.nan, -1
    return TrialValues(says, unit, values, reasons, tuple(None if i < 0 else chosen[i] for i in position))


def _explain_missing(results: Results, chosen: list[str]) -> tuple[str | None, ...]:
    """Why each trial has no number of these figures; None where it has one."""
    reasons = [_explain_trial_status(*each) for each in zip(results.texts("status"), results.texts("reason"), strict=True)]
    given = np.zeros(results.n_trials, dtype=bool)
    for figure in chosen:
        given |= ~np.isnan(results.values(figure))
        for i, status in enumerate(results.texts(f"status:{figure}")):
            reasons[i] = reasons[i] or (f"the figure {figure} failed" if status == "failed" else None)
    return tuple(
        reason or (None if there else "no such figure: no attack or attribute that it is about applies")
        for reason, there in zip(reasons, given, strict=True)
    )


def _explain_trial_status(status: str | None, reason: str | None) -> str | None:
    return None if status == "ok" else f"{status}: {reason or 'no reason was given'}"


def _literature(results: Results, view: LiteratureRisk) -> TrialValues:
    says = f"0.5 * interval disclosure (ranks) + 0.5 * distance linkage ({view.linkage}); transparency is ignored"
    linkage = compute_risk(results, FigureRisk(measure=WORST_OF, attack=view.linkage, intruder=DECLARED))
    intervals = [one for one, of in results.figures.items() if of.measure == INTERVALS]
    values = 0.5 * linkage.values + 0.5 * _compute_mean(results, intervals)
    known = zip(linkage.reasons, np.isnan(values), strict=True)
    reasons = tuple(why or ("no interval disclosure: no ordered attribute is masked" if none else None) for why, none in known)
    return TrialValues(says, MEASURES[WORST_OF].unit, values, reasons, (None,) * results.n_trials)


def _literature_loss(results: Results) -> TrialValues:
    says = "0.2 cells + 0.2 means + 0.4 variances and covariances + 0.2 correlations, each as a change"
    parts = {measure: _part(results, measure) for measure in LITERATURE_LOSS}
    values = sum((times / 5 * parts[measure] for measure, times in LITERATURE_LOSS.items()), np.zeros(results.n_trials))
    reasons = [_explain_trial_status(*each) for each in zip(results.texts("status"), results.texts("reason"), strict=True)]
    for measure, part in parts.items():
        reasons = [why or (f"no {measure}" if none else None) for why, none in zip(reasons, np.isnan(part), strict=True)]
    values[np.array([why is not None for why in reasons], dtype=bool)] = np.nan
    return TrialValues(says, "", values, tuple(reasons), (None,) * results.n_trials)


def _part(results: Results, measure: str) -> Floats:
    """Shape (trials,): a measure of the table, else the mean over its attributes."""
    return _compute_mean(
        results, _preferring_table(results, [one for one, of in results.figures.items() if of.measure == measure])
    )


def _compute_mean(results: Results, figures: list[str]) -> Floats:
    """Shape (trials,): the mean of those figures that a trial has, NaN where it has none or one of them failed."""
    total, count = np.zeros(results.n_trials), np.zeros(results.n_trials)
    for figure in figures:
        values = results.values(figure)
        given: Booleans = ~np.isnan(values)
        total[given] += values[given]
        count += given
        count[np.array([status == "failed" for status in results.texts(f"status:{figure}")], dtype=bool)] = -np.inf
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
