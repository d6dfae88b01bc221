"""Who is in the file: what each attack that asks this found, and what it means for one respondent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tasks.attack.membership.methods import MEANS, TITLES, MembershipResult
from tasks.microdata.estimate import Estimate
from tasks.microdata.numbers import count, format_share, format_with_unit, number
from tasks.report.charts.roc_chart import RocChart, draw_roc_curve, drawable
from tasks.report.content import Content
from tasks.report.views.figures import Figure, safe
from tasks.report.views.rows import Bar, FigureRow, TextRow, bounds_text, figure_text
from tasks.report.wording.figure_formats import unit_of
from tasks.report.wording.meanings import THE_FILE, meaning
from tasks.report.wording.sentence import Sentence, say
from tasks.score.measures.membership import (
    MEMBERSHIP_ADVANTAGE,
    MEMBERSHIP_AUC,
    MEMBERSHIP_F1,
    MEMBERSHIP_PRECISION,
    MEMBERSHIP_RECALL,
    MEMBERSHIP_TRUE_POSITIVE_RATE,
    SUBGROUP_SHARE_OF_MOST_EXPOSED,
)

AUC, ADVANTAGE = MEMBERSHIP_AUC.name, MEMBERSHIP_ADVANTAGE.name
RATES = (
    AUC,
    ADVANTAGE,
    MEMBERSHIP_PRECISION.name,
    MEMBERSHIP_RECALL.name,
    MEMBERSHIP_F1.name,
    MEMBERSHIP_TRUE_POSITIVE_RATE.name,
)  # miaAR is the recall, and is named with it
SHARE = SUBGROUP_SHARE_OF_MOST_EXPOSED.name
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipView:
    """One attack: what it does, what it found, and what that means. imitations: how many it trained, as a sentence.

    rates: those that have a value; that rates at the left end have none is said once for all attacks, in the summary.
    """

    title: str
    id: str
    anchor: str
    infers: str
    knows: str
    means: str
    imitations: str
    silent: str
    plain: str
    rates: tuple[FigureRow, ...]
    subgroups: tuple[TextRow, ...]
    exposed_in_words: tuple[str, ...]
    exposed: tuple[TextRow, ...]
    curve: tuple[Figure, ...]


def name_membership(content: Content) -> str:
    """What members are in: the file, or the training set of the model."""
    return THE_FILE if content.kind.is_table else "the training set of the model"


def membership_intro(content: Content) -> tuple[Sentence, ...]:
    """Whom the attacks were asked about; empty where none was run."""
    if not content.membership:
        return ()
    of_model = content.model is not None
    asks = say("membership.asks", of_model=of_model)
    if content.outside is not None:
        others = say("membership.outside", rows=content.outside, of_model=of_model)
        return asks, others, *_how_many(content, content.outside)
    if content.control is None:
        return asks, say("membership.rehearsed", of_model=of_model)
    set_aside = say("membership.set_aside", rows=content.control, of_model=of_model)
    return asks, set_aside, *_how_many(content, content.control)


def _how_many(content: Content, there: int) -> tuple[Sentence, ...]:
    """How many were asked about, where these are not all who are known not to be in it."""
    few = fewest_others(content)
    counts = next((one.counts for one in content.figures(AUC)), "records")
    return () if few is None or few == there else (say("membership.asked_about", few=few, counts=counts),)


def fewest_others(content: Content) -> int | None:
    """Of how many who are not in it the attacks were asked, at least; None where no figure says it."""
    return min((one.n_targets - (one.n_in_release or 0) for one in content.figures(AUC) if one.n_targets), default=None)


def membership_views(content: Content) -> tuple[MembershipView, ...]:
    """The attacks that ask who is in the file, in the order of the plan."""
    return tuple(_view(content, result, place) for place, result in enumerate(content.membership))


def worst_of_membership(content: Content) -> str:
    """The sentence on the attack that tells members best; empty where none ran."""
    worst = _worst(content)
    answers = None if worst is None else _answers(content, worst.attack or "")
    if worst is None or answers is None:
        return ""
    failed = [one for one in content.estimates if one.measure == AUC and one.status == "failed"]
    return say("membership.worst", of_model=content.model is not None, is_rehearsed=content.is_membership_rehearsal,
               attack=worst.attack, takes=answers, advantage=worst.value or 0.0, failed=[one.attack for one in failed],
               reason=failed[0].reason if failed else None)  # fmt: skip


def describe_most_exposed(content: Content) -> str:
    """Which parts of the people stand out to the attack that tells members best; empty where none ran."""
    worst = _worst(content)
    told = () if worst is None else _describe_exposed_parts([one for one in content.estimates if one.attack == worst.attack])
    return "" if worst is None or not told else say("membership.most_exposed", attack=worst.attack, parts=told)


def anchor(place: int) -> str:
    """What the section on the attack at this place of the plan is called within the page."""
    return f"membership-{place}"


def title_of(result: MembershipResult) -> str:
    return TITLES.get(result.attack, TITLES.get(result.method, result.method))


def silence(content: Content, result: MembershipResult) -> str:
    """Why an attack has no figures; empty where it has."""
    found = next((one for one in content.estimates if (one.measure, one.attack) == (AUC, result.attack)), None)
    if result.status == "ok" and found is not None and found.value is None:
        status, reason = found.status, found.reason
    elif result.status == "ok":
        return ""
    else:
        status, reason = result.status, result.reason
    return say("membership.no_figures", status=status, reason=reason)


def _worst(content: Content) -> Estimate | None:
    return content.largest(one for one in content.figures(ADVANTAGE) if one.attack)


def _view(content: Content, result: MembershipResult, place: int) -> MembershipView:
    figures = [one for one in content.estimates if one.attack == result.attack]
    silent = silence(content, result)
    ran = not silent
    noun = name_membership(content)
    return MembershipView(
        title=title_of(result),
        id=result.attack,
        anchor=anchor(place),
        infers=result.infers,
        knows=result.knows,
        means=MEANS.get(result.attack, MEANS.get(result.method, "")),
        imitations=say("membership.imitations", shadows=result.shadows) if result.shadows else "",
        silent=silent,
        plain=_plain(content, result.attack) if ran else "",
        rates=tuple(_row(one, noun) for name in RATES for one in figures if one.measure == name and _is_reportable(one))
        if ran
        else (),
        subgroups=tuple(_subgroups(figures)),
        exposed_in_words=_describe_exposed_parts(figures) if ran else (),
        exposed=tuple(map(_create_exposure_row, _sort_parts_by_exposure(figures))),
        curve=tuple(
            _curve(one, result, place) for one in _curves(content) if one.attack == result.attack and drawable(one.points)
        ),
    )


def _is_reportable(one: Estimate) -> bool:
    """At the left end there is nothing to tell of a rate that so few people cannot show."""
    return one.value is not None or not one.parameters


def _plain(content: Content, attack: str) -> str:
    """What an attack means for one respondent, of 100 people who are in the file and 100 who are not."""
    answers = _answers(content, attack)
    if answers is None:
        return ""
    advantage = next(one.value or 0.0 for one in content.figures(ADVANTAGE) if one.attack == attack)
    of_model = content.model is not None
    return say("membership.for_one_respondent", of_model=of_model, takes=answers, advantage=advantage)


def _answers(content: Content, attack: str) -> tuple[int, int] | None:
    """Whom an attack takes for members, of 100 who are and of 100 who are not; None where it has no figures."""
    of = {one.measure: one.value for one in content.estimates if one.attack == attack and one.subgroup is None}
    recall, advantage = of.get(MEMBERSHIP_RECALL.name), of.get(ADVANTAGE)
    return None if recall is None or advantage is None else (round(100 * recall), round(100 * (recall - advantage)))


def _row(one: Estimate, noun: str) -> FigureRow:
    words = meaning(one.measure, one.counts, noun)
    rate = dict(one.parameters).get("false_positive_rate")
    title = words.title if rate is None else say("membership.at_rate", title=words.title, rate=rate)
    chance = "" if one.chance is None or one.value is None else format_share(one.chance)
    bar = None if one.value is None else Bar(max(100 * one.value, 0.0), chance=None if one.chance is None else 100 * one.chance)
    if one.value is None:
        sentence = say("membership.without_value", sentence=words.sentence, reason=one.reason or one.status)
        return FigureRow(title=title, sentence=sentence, value="\u2013", chance="")
    value = format_with_unit(one.value, unit_of(one))
    return FigureRow(title=title, sentence=words.sentence, value=value, note=bounds_text(one), chance=chance, bar=bar)


def _subgroups(figures: list[Estimate]) -> Iterator[TextRow]:
    for one in figures:
        if one.measure == f"subgroup_{AUC}" and one.value is not None:
            yield TextRow(head=f"{one.attribute}: {one.subgroup}", cells=(figure_text(one), count(one.n_targets or 0)))


def _sort_parts_by_exposure(figures: list[Estimate]) -> list[Estimate]:
    """The parts of the people, those first whose share of the surest is most times their share of the members."""
    return sorted((one for one in figures if one.measure == SHARE and one.value is not None), key=_times, reverse=True)


def _times(one: Estimate) -> float:
    return (one.value or 0.0) / one.chance if one.chance else 0.0


def _create_exposure_row(one: Estimate) -> TextRow:
    cells = (figure_text(one), format_share(one.chance or 0.0), number(_times(one), 2))
    return TextRow(head=f"{one.attribute}: {one.subgroup}", cells=cells)


def _describe_exposed_parts(figures: list[Estimate]) -> tuple[Sentence, ...]:
    """Which parts of the people stand out among those whom the attack is surest of; empty where there are none."""
    told = _sort_parts_by_exposure(figures)
    if not told:
        reasons = dict.fromkeys(one.reason for one in figures if one.measure == SHARE and one.reason)
        return tuple(say("membership.parts_not_told", reason=reason) for reason in list(reasons)[:1])
    clear = [one for one in told if one.chance is not None and one.low is not None and one.low > one.chance]
    sentences = [
        say("membership.exposed_part", part=one.subgroup, attribute=one.attribute, of_members=one.chance or 0.0,
            of_surest=one.value or 0.0)
        for one in clear[:_MOST_NAMED]
    ]  # fmt: skip
    if len(clear) > _MOST_NAMED:
        sentences.append(say("membership.other_exposed_parts", more=len(clear) - _MOST_NAMED))
    if not clear:
        sentences.append(say("membership.no_exposed_part"))
    if any(one.measure == AUC and one.low is not None and one.low <= _COIN for one in figures):
        sentences.append(say("membership.maybe_a_coin"))
    return tuple(sentences)


_COIN = 0.5


def _curves(content: Content) -> tuple[RocChart, ...]:
    return content.charts.membership if content.charts else ()


def _curve(one: RocChart, result: MembershipResult, place: int) -> Figure:
    title = say("membership.curve", title=title_of(result))
    rows = tuple(TextRow(head=format_share(point.others), cells=(format_share(point.members),)) for point in one.points)
    text = say("membership.curve_points", points=[(row.head, row.cells[0]) for row in rows])
    key = f"chart-membership-{place}"
    drawn = draw_roc_curve(one.points, key=key, title=title, description=text)
    note = say("membership.curve_note", has_gap=any(not point.members for point in one.points))
    return Figure(key=key, caption=title, svg=safe(drawn), first="Others", heads=("Members",), rows=rows, note=note)
