"""Create the record that the page of a sweep shows from the table of the sweep."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tasks.microdata.errors import InputError
from tasks.microdata.numbers import format_limit
from tasks.report.wording.meanings import meaning
from tasks.score.catalogue import MEASURES
from tasks.score.measures.disclosure import K_ANONYMITY
from tasks.score.policy import DECLARED, PolicyLine
from tasks.sweep.frontier import Region, compute_map_coordinates, find_frontier, find_policy_region
from tasks.sweep.layout import FigureSubject
from tasks.sweep.page.influence_table import create_influence_table
from tasks.sweep.page.page_content import (
    PageAxis,
    PageData,
    PageFigure,
    PageLoss,
    PointDecision,
    RiskUtilityMap,
    Spread,
    TrialStatus,
)
from tasks.sweep.results import OverSeeds, Results
from tasks.sweep.views import (
    LOSSES,
    WORST_OF,
    FigureLoss,
    FigureRisk,
    LiteratureLoss,
    LiteratureRisk,
    TrialValues,
    WorstRisk,
    compute_loss,
    compute_risk,
)

MOST_NUMBERS = 400_000
MOST_RELEASES = 500
MOST_MAIN = 16
_Risk = WorstRisk | LiteratureRisk | FigureRisk
_DECISIONS: dict[Region, PointDecision] = {"inside": "kept", "outside": "broken", "undecided": "undecided"}
_VIEWS = {"worst": "all attacks", "literature": "the literature", "figure": "one figure"}
_AXES = {"worst": "Re-identification, worst found", "literature": "Mean of interval disclosure and linkage"}
_SAYS = {
    "worst": "The largest re-identification rate by any of the attacks run, the transparency attacks included: worst found, "
    "not worst possible.",
    "literature": "0.5 \u00d7 interval disclosure + 0.5 \u00d7 distance linkage, after Domingo-Ferrer and Torra (2001): an "
    "intruder who knows nothing of the method. The transparency attacks do not count here.",
}
LITERATURE_AXIS = "Information loss, five changes"
LITERATURE_SAYS = (
    "After Domingo-Ferrer and Torra (2001): 0.2 \u00d7 the change of cells + 0.2 \u00d7 means + 0.4 \u00d7 variances and "
    "covariances + 0.2 \u00d7 correlations, on the scale of the original's standard deviations. Variances and covariances are "
    "one figure over all pairs of attributes, so that with many attributes variances count less than there. 0: nothing changed."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepDescription:
    """What the table does not hold. strategy: in words. methods: of the masks, by pipeline. risk, loss: the views of the file.

    sensitivity: is it worked out? Where the points are no grid it learns forests, a few seconds for each pipeline and measure.
    release_of: the release file of a point as text, by its number; it may raise InputError. None: no texts on the page.
    earlier: the names of the earlier releases about the same persons, with which every point was attacked.
    """

    name: str
    id: str
    base: str
    strategy: str
    seeds: int
    began_at: str
    written_at: str
    methods: Mapping[str, str]
    risk: WorstRisk | LiteratureRisk | FigureRisk
    loss: FigureLoss | LiteratureLoss
    policy: tuple[PolicyLine, ...]
    sensitivity: bool = True
    release_of: Callable[[int], str] | None = None
    earlier: tuple[str, ...] = ()


def create_page_data(results: Results, description: SweepDescription, regions: tuple[Region, ...] | None = None) -> PageData:
    """The record of the page. regions: `find_policy_region` of these results, if it is known already.

    Raises InputError as `decide`. Cost: 0.1 ms a trial for the policy, and the release texts.
    """
    lost = compute_loss(results, description.loss)
    losses = results.aggregate_seeds(lost.values)
    risks = [(asked, compute_risk(results, asked)) for asked in _list_risks(description.risk)]
    views = [_create_view(results, asked, viewed, losses, description.policy) for asked, viewed in risks]
    statuses, reasons = _list_outcomes(results)
    decided = zip(regions or find_policy_region(results, description.policy), statuses, strict=True)
    decisions: tuple[PointDecision, ...] = tuple(_DECISIONS[region] if status == "ok" else "none" for region, status in decided)
    pipelines = tuple(str(text) for text in np.asarray(results.texts("pipeline"), dtype=object)[results.first])
    figures, left_out = _create_figures(results, description)
    axes, loss = _list_axes(results), _create_loss(results, description, losses)
    moved = {view.axis: viewed.values for view, (_, viewed) in zip(views, risks, strict=True)} | {loss.axis: lost.values}
    others = ((figure.label, results.values(figure.id)) for figure in figures if figure.main and figure.label not in moved)
    labels = {axis.path: axis.label for axis in axes}
    return PageData(
        name=description.name,
        id=description.id,
        base=description.base,
        strategy=description.strategy,
        seeds=description.seeds,
        attacks=list_attacks(results),
        began_at=description.began_at,
        written_at=description.written_at,
        numbers=tuple(int(number) for number in results.points),
        pipelines=pipelines,
        methods=tuple(description.methods.get(pipeline, pipeline) for pipeline in pipelines),
        statuses=statuses,
        reasons=reasons,
        decisions=decisions,
        policy=tuple(describe_policy_line(line) for line in description.policy),
        axes=axes,
        loss=loss,
        views=tuple(views),
        figures=figures,
        influence=create_influence_table(results, moved, others, labels) if description.sensitivity else None,
        releases=_list_releases(results, description, views, decisions),
        left_out=left_out,
        earlier=description.earlier,
    )


def list_attacks(results: Results) -> tuple[str, ...]:
    """The attacks that have a figure in the table, by id."""
    return tuple(sorted({of.attack for of in results.figures.values() if of.attack is not None}))


def describe_policy_line(line: PolicyLine) -> str:
    """E.g. `Re-identification rate at most 12 %, attack transparency`."""
    limit = format_limit(line.limit, MEASURES[line.measure].unit)
    of = (("attack", line.attack), ("intruder", line.intruder), ("attribute", line.attribute), ("", line.subgroup))
    beside = [f"{word} {value}".strip() for word, value in of if value is not None]
    width = [] if line.p_percent is None else [f"width {line.p_percent:g} %"]
    return ", ".join([f"{meaning(line.measure).title} {line.direction.replace('_', ' ')} {limit}", *beside, *width])


def _list_risks(own: _Risk) -> list[_Risk]:
    """The sweep's own view first; all attacks and the literature always, because they show two pictures of one sweep."""
    others = (WorstRisk(), LiteratureRisk())
    return [own, *(other for other in others if other.view != own.view)]


def _create_view(
    results: Results, asked: _Risk, viewed: TrialValues, loss: OverSeeds, policy: tuple[PolicyLine, ...]
) -> RiskUtilityMap:
    risks = results.aggregate_seeds(viewed.values)
    risk, losses = compute_map_coordinates(risks, loss)
    on = np.flatnonzero(find_frontier(risk, losses))
    says = _SAYS.get(asked.view, f"One figure: {viewed.says}.")
    if asked.view == "worst" and asked.include_insiders:
        says += " Insiders count too."
    return RiskUtilityMap(
        name=asked.view,
        title=_VIEWS[asked.view],
        axis=_AXES.get(asked.view, viewed.says.replace("_", " ")),
        says=says + _explain_missing_risk(viewed, risk),
        unit=viewed.unit,
        risk=_spread(risks, risk),
        frontier=tuple(int(i) for i in on[np.lexsort((on, -risk[on], losses[on]))]),
        limit=_find_risk_limit(asked, policy),
    )


def _explain_missing_risk(viewed: TrialValues, risk: np.ndarray) -> str:
    """Why no point has this risk, if none has."""
    if not np.isnan(risk).all():
        return ""
    most = Counter(reason for reason in viewed.reasons if reason).most_common(1)
    return f" No point can be placed: {most[0][0] if most else 'some seeds of each are missing'}."


def _find_risk_limit(asked: _Risk, policy: Iterable[PolicyLine]) -> float | None:
    """The least limit that a policy line sets to this very figure."""
    if isinstance(asked, LiteratureRisk):
        return None
    fields = ("measure", "attack", "intruder", "attribute", "subgroup", "p_percent")
    wanted = tuple(getattr(asked, field, None) for field in fields)
    wanted = (WORST_OF, *wanted[1:]) if isinstance(asked, WorstRisk) else wanted
    lines = (line for line in policy if _are_same(tuple(getattr(line, field) for field in fields), wanted))
    return min((line.limit for line in lines if line.direction == "at_most"), default=None)


def _are_same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    return all((None if a == DECLARED else a) == (None if b == DECLARED else b) for a, b in zip(one, other, strict=True))


def _create_loss(results: Results, description: SweepDescription, losses: OverSeeds) -> PageLoss:
    whole = np.where(losses.complete, losses.mean, np.nan)
    asked = description.loss
    if isinstance(asked, LiteratureLoss):
        return PageLoss(axis=LITERATURE_AXIS, says=LITERATURE_SAYS, unit="", spread=_spread(losses, whole))
    words = meaning(asked.measure)
    of = "" if asked.attribute is None else f" of {asked.attribute}"
    lines = (line for line in description.policy if (line.measure, line.attribute) == (asked.measure, asked.attribute))
    return PageLoss(
        axis=f"{words.title}{of}",
        says=words.sentence,
        unit=MEASURES[asked.measure].unit,
        spread=_spread(losses, whole),
        limit=min((line.limit for line in lines if line.direction == "at_most"), default=None),
    )


def _spread(over: OverSeeds, mean: np.ndarray) -> Spread:
    none = np.isnan(mean)
    return Spread(mean=mean, low=np.where(none, np.nan, over.low), high=np.where(none, np.nan, over.high))


def _list_outcomes(results: Results) -> tuple[tuple[TrialStatus, ...], tuple[str, ...]]:
    """The status and reason of each point: those of its first seed that did not come through, else `ok`."""
    statuses: list[TrialStatus] = ["ok"] * results.n_points
    reasons = [""] * results.n_points
    trials = zip(results.position.tolist(), results.texts("status"), results.texts("reason"), strict=True)
    for position, status, reason in trials:
        if statuses[position] == "ok" and status in ("skipped", "failed"):
            statuses[position], reasons[position] = ("skipped" if status == "skipped" else "failed"), reason or ""
    return tuple(statuses), tuple(reasons)


def _list_axes(results: Results) -> tuple[PageAxis, ...]:
    last = Counter(path.rpartition(".")[2] for path in results.axes)
    found = []
    for path in results.axes:
        end = path.rpartition(".")[2]
        values = results.axis(path)
        of_points = tuple(_make_readable(values[trial]) for trial in results.first.tolist())
        found.append(PageAxis(path=path, label=(end if last[end] == 1 else path).replace("_", " "), values=of_points))
    return tuple(found)


def _make_readable(value: float | int | str | bool | None) -> float | int | str | bool | None:
    """A list, which the table keeps as JSON, in words: `[["a","b"],["c"]]` is `a + b, c`."""
    if not isinstance(value, str) or not value.startswith("["):
        return value
    try:
        parts = json.loads(value)
    except ValueError:
        return value
    return ", ".join(" + ".join(map(str, part)) if isinstance(part, list) else str(part) for part in parts)


def _create_figures(results: Results, description: SweepDescription) -> tuple[tuple[PageFigure, ...], int]:
    """The figures of all points, those that matter most first, as many as there is room for; and how many were left out."""
    ids = sorted(results.figures, key=lambda one: (_weight(results.figures[one], description), one))
    most = max(MOST_MAIN, MOST_NUMBERS // max(1, results.n_points))
    made, mains = [], 0
    for one in ids[:most]:
        over = results.aggregate_seeds(results.values(one))
        spread = Spread(mean=over.mean, low=over.low, high=over.high)
        main = (
            mains < MOST_MAIN
            and _weight(results.figures[one], description) == 0
            and len(np.unique(over.mean[~np.isnan(over.mean)])) > 1
        )
        mains += main
        made.append(
            PageFigure(
                id=one,
                label=format_label(results.figures[one]),
                unit=MEASURES[results.figures[one].measure].unit,
                spread=spread,
                main=main,
            )
        )
    return tuple(made), len(ids) - len(made)


def _weight(of: FigureSubject, description: SweepDescription) -> int:
    """0: what a sweep is about; 1: other figures of the table; 2: of single attributes, subgroups and insiders."""
    if of.attribute is not None or of.subgroup is not None or of.intruder not in (None, DECLARED):
        return 2
    limited = {line.measure for line in description.policy}
    return 0 if of.measure in {WORST_OF, K_ANONYMITY.name, *LOSSES, *limited} else 1


def format_label(of: FigureSubject) -> str:
    """A figure in words, e.g. `Re-identification rate, distance linkage`."""
    who = None if of.intruder == DECLARED else of.intruder
    attack = None if of.attack is None else of.attack.replace("_", " ")
    width = None if of.p_percent is None else f"{of.p_percent:g}\u202f%"
    parts = (meaning(of.measure).title, attack, who, of.attribute, of.subgroup, width)
    return ", ".join(part for part in parts if part is not None)


def _list_releases(
    results: Results, description: SweepDescription, views: list[RiskUtilityMap], decisions: tuple[PointDecision, ...]
) -> dict[int, str]:
    """The release files of the points that matter most: the frontiers, those that keep the policy, then the first."""
    if description.release_of is None:
        return {}
    on = [position for view in views for position in view.frontier]
    keeping = [position for position, decision in enumerate(decisions) if decision == "kept"]
    positions = list(dict.fromkeys([*on, *keeping, *range(results.n_points)]))[:MOST_RELEASES]
    made = {}
    for number in sorted(int(results.points[position]) for position in positions):
        try:
            made[number] = description.release_of(number)
        except InputError:
            continue  # a point that is wrong in itself has no release
    return made
