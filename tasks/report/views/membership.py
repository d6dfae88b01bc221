"""Who is in the file: what each attack that asks this found, and what it means for one respondent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tasks.attack.membership.methods import MembershipResult
from tasks.microdata.estimate import Estimate
from tasks.report.charts.membership import Membership, draw_membership
from tasks.report.content import Content
from tasks.report.views.figures import Figure, safe
from tasks.report.views.rows import Bar, FigureRow, TextRow, figure_text
from tasks.report.words.meanings import meaning
from tasks.report.words.membership import FILE, MEANS, MODEL, PARTS, TITLES, Asked, of_attack
from tasks.report.words.numbers import count, limit_in_unit, number, share

AUC, ADVANTAGE = "membership_auc", "membership_advantage"
RATES = (
    AUC,
    ADVANTAGE,
    "membership_precision",
    "membership_recall",
    "membership_f1",
    "membership_attribute_risk",
    "membership_true_positive_rate",
)
SHARE = "subgroup_share_of_most_exposed"
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipView:
    """One attack: what it does, what it found, and what that means. imitations: how many it trained, as a sentence."""

    title: str
    id: str
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


def asked_of(content: Content) -> Asked:
    """What the attacks ask about: who is in the file, or in the training set of the model."""
    return FILE if content.model is None else MODEL


def membership_intro(content: Content) -> tuple[str, ...]:
    """Whom the attacks were asked about; empty where none was run."""
    if not content.membership:
        return ()
    asked = asked_of(content)
    if content.outside is not None:
        return asked.asks, f"{count(content.outside)} {asked.outside}"
    if content.control is None:
        return asked.asks, asked.rehearsed
    return asked.asks, f"{count(content.control)} {asked.set_aside}"


def membership_views(content: Content) -> tuple[MembershipView, ...]:
    """The attacks that ask who is in the file, in the order of the plan."""
    return tuple(_view(content, result, place) for place, result in enumerate(content.membership))


def worst_of_membership(content: Content) -> str:
    """The sentence on the attack that tells members best; empty where none ran."""
    worst = content.largest(one for one in content.figures(ADVANTAGE) if one.attack and one.value is not None)
    if worst is None:
        return ""
    asked = asked_of(content)
    rehearsed = f" (rehearsed: {asked.in_short})" if content.rehearsed else ""
    return f"Whether somebody is in {asked.noun}{rehearsed}: {_plain(content, worst.attack or '')}"


def _view(content: Content, result: MembershipResult, place: int) -> MembershipView:
    figures = [one for one in content.estimates if one.attack == result.attack]
    ran = result.status == "ok"
    noun = asked_of(content).noun
    return MembershipView(
        title=of_attack(TITLES, result.attack, result.method) or result.method,
        id=result.attack,
        infers=result.infers,
        knows=result.knows,
        means=of_attack(MEANS, result.attack, result.method) or "",
        imitations=f"It used {count(result.shadows)} imitations of the model (shadow models)." if result.shadows else "",
        silent="" if ran else f"{result.status.replace('_', ' ')}: {result.reason or 'no reason was given'}",
        plain=_plain(content, result.attack) if ran else "",
        rates=tuple(_row(one, noun) for name in RATES for one in figures if one.measure == name) if ran else (),
        subgroups=tuple(_subgroups(figures)),
        exposed_in_words=_exposed_in_words(figures) if ran else (),
        exposed=tuple(map(_exposed_row, _exposed(figures))),
        curve=tuple(_curve(one, place) for one in _curves(content) if one.attack == result.attack and len(one.points) > 1),
    )


def _plain(content: Content, attack: str) -> str:
    """What an attack means for one respondent, of 100 people who are in the file and 100 who are not."""
    of = {one.measure: one.value for one in content.estimates if one.attack == attack and one.subgroup is None}
    recall, advantage = of.get("membership_recall"), of.get(ADVANTAGE)
    if recall is None or advantage is None:
        return ""
    hits, wrong = round(100 * recall), round(100 * (recall - advantage))
    noun = asked_of(content).noun
    more = f"Who is told that a person is in {noun} by this attack knows more than before."
    return f"of 100 people who are in {noun} the attack takes {hits} for members, and of 100 who are not, {wrong}. " + (
        "It tells hardly more than a coin." if abs(advantage) < _HARDLY else more
    )


_HARDLY = 0.1


def _row(one: Estimate, noun: str) -> FigureRow:
    words = meaning(one.measure, one.counts, noun)
    rate = dict(one.parameters).get("false_positive_rate")
    title = words.title if rate is None else f"{words.title}, wrong about {limit_in_unit(rate, 'share')} of the others"
    chance = "" if one.chance is None or one.value is None else share(one.chance)
    bar = None if one.value is None else Bar(max(100 * one.value, 0.0), chance=None if one.chance is None else 100 * one.chance)
    if one.value is None:
        reason = f"{(one.reason or one.status)[:1].upper()}{(one.reason or one.status)[1:]}."
        return FigureRow(title=title, sentence=f"{words.sentence} {reason}", value="\u2013", chance="")
    return FigureRow(title=title, sentence=words.sentence, value=figure_text(one), chance=chance, bar=bar)


def _subgroups(figures: list[Estimate]) -> Iterator[TextRow]:
    for one in figures:
        if one.measure == f"subgroup_{AUC}" and one.value is not None:
            yield TextRow(head=f"{one.attribute}: {one.subgroup}", cells=(figure_text(one), count(one.n_targets or 0)))


def _exposed(figures: list[Estimate]) -> list[Estimate]:
    """The parts of the people, those first whose share of the surest is most times their share of the members."""
    return sorted((one for one in figures if one.measure == SHARE and one.value is not None), key=_times, reverse=True)


def _times(one: Estimate) -> float:
    return (one.value or 0.0) / one.chance if one.chance else 0.0


def _exposed_row(one: Estimate) -> TextRow:
    cells = (figure_text(one), share(one.chance or 0.0), number(_times(one), 2))
    return TextRow(head=f"{one.attribute}: {one.subgroup}", cells=cells)


def _exposed_in_words(figures: list[Estimate]) -> tuple[str, ...]:
    """Which parts of the people stand out among those whom the attack is surest of; empty where there are none."""
    told = _exposed(figures)
    if not told:
        reasons = dict.fromkeys(one.reason for one in figures if one.measure == SHARE and one.reason)
        return tuple(f"Not told by part of the people: {reason}." for reason in list(reasons)[:1])
    clear = [one for one in told if one.chance is not None and one.low is not None and one.low > one.chance]
    named = tuple(
        f"{PARTS[one.subgroup or '']} {one.attribute} are {share(one.chance or 0.0)} of the members and "
        f"{share(one.value or 0.0)} of those whom the attack is surest of."
        for one in clear[:_MOST_NAMED]
    )
    more = len(clear) - len(named)
    others = (f"{count(more)} other part{'s stand' if more > 1 else ' stands'} out too.",) if more else ()
    none = () if clear else ("No part of the people stands out clearly among those whom the attack is surest of.",)
    area = next((one.low for one in figures if one.measure == AUC and one.low is not None), 1.0)
    return (*named, *others, *none, *((_NO_REASON,) if area <= _COIN else ()))


_COIN = 0.5
_NO_REASON = "On the whole the attack may do no better than a coin: that it is sure of somebody need not mean that it is right."


def _curves(content: Content) -> tuple[Membership, ...]:
    return content.charts.membership if content.charts else ()


def _curve(one: Membership, place: int) -> Figure:
    title = "Members noticed, by how many others are taken for members"
    rows = tuple(TextRow(head=share(point.others), cells=(share(point.members),)) for point in one.points)
    text = "; ".join(f"{row.head} of the others: {row.cells[0]} of the members" for row in rows) + "."
    key = f"chart-membership-{place}"
    drawn = draw_membership(one.points, key=key, title=title, description=text)
    note = "Logarithmic axes. Dotted: guessing. The left end shows whether single people are given away for sure."
    return Figure(key=key, caption=title, svg=safe(drawn), first="Others", heads=("Members",), rows=rows, note=note)
