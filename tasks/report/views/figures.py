"""The charts as the page shows them: each with its caption, what it says in words, and its figures as a table."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from tasks.attack.linkage.assertable_links import PRECISION
from tasks.microdata.estimate import Estimate
from tasks.microdata.numbers import count, format_share, format_with_unit, number
from tasks.report.charts.candidates import Candidates, bracket_text
from tasks.report.charts.distributions import DistributionChart
from tasks.report.charts.editions import RULES
from tasks.report.charts.heat import draw_heat
from tasks.report.charts.horizontal_bars import BarRow, draw_rows
from tasks.report.charts.knowledge import KNOWING, KnowledgeCurve, is_knowing, knowledge_curves, parse_attribute_count
from tasks.report.charts.lines import draw_line, draw_shares
from tasks.report.charts.losses import Losses, losses
from tasks.report.charts.precision import PrecisionCoverage
from tasks.report.charts.relations import Pair
from tasks.report.charts.subgroups import Subgroups, subgroups
from tasks.report.charts.vertical_bars import BarPair, draw_columns
from tasks.report.content import Content, extra_knowledge
from tasks.report.views.rows import TextRow, share_in_words
from tasks.report.wording.figure_formats import mark_bound
from tasks.report.wording.intruders import NOT_DISJOINT, uses_all_true_links
from tasks.report.wording.meanings import meaning
from tasks.report.wording.names import attack_named, expand_code_names
from tasks.report.wording.sentence import Sentence, say
from tasks.score.measures.linkage import KNOWN_LINKS, KNOWN_REIDENTIFICATION, REIDENTIFICATION
from tasks.score.policy import DECLARED, INSIDER, cannot_fail
from tasks.score.public_shares import FEWEST

_WIDEST_MARK = 9
_DASH = "\u2013"
_BESIDE_PARTS = 120.0  # room for `rare categories`
MOST_KNOWING = 4
RATE = REIDENTIFICATION.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart with its table. svg: ready for the page. first, heads: of the table."""

    key: str
    caption: str
    svg: Markup
    first: str
    heads: tuple[str, ...]
    rows: tuple[TextRow, ...]
    note: str = ""


def summary_figure(content: Content) -> Figure | None:
    """The chart of the first screen: the largest rate by what an intruder knows, from one attribute to an insider."""
    rungs = _rungs(content)
    if not rungs:
        return None
    title = say("figures.by_knowledge", rate=meaning(RATE, content.counts).title)
    limits = {DECLARED: _limit(content, DECLARED), INSIDER: _limit(content, INSIDER)}
    rows = tuple(
        BarRow(label, (one.value or 0.0,), mark_bound(one, format_share(one.value or 0.0)), limits.get(who), one.chance)
        for label, who, one in rungs
    )
    cells = tuple(TextRow(head=row.label, cells=(row.text, _limit_text(row.limit))) for row in rows)
    drawn = draw_rows(rows, key="chart-summary", title=title, description=say("figures.bars", bars=rows), percent=True,
                      left=150)  # fmt: skip
    return Figure(key="chart-summary", caption=say("figures.worst_bars", counts=content.counts), svg=safe(drawn),
                  first="Knowledge", heads=("Linked", "Limit"), rows=cells)  # fmt: skip


def distribution_figures(content: Content) -> tuple[Figure, ...]:
    """One chart for each masked attribute that has enough values."""
    shown = content.charts.distributions if content.charts else ()
    return tuple(
        _distribution(one, f"chart-distribution-{i}", content.describe_attribute(one.attribute))
        for i, one in enumerate(shown)
        if one.bars
    )


def list_attributes_without_chart(content: Content) -> tuple[str, ...]:
    """Masked attributes that have too few values for a chart."""
    return tuple(one.attribute for one in (content.charts.distributions if content.charts else ()) if not one.bars)


def relation_figures(content: Content) -> tuple[Figure, ...]:
    """The heat map, where there are at least two attributes and a pair that changed places."""
    found = content.charts.relations if content.charts else None
    if found is None or not found.pairs:
        return ()
    places = {name: i for i, name in enumerate(found.attributes)}
    defined = {(places[one.one], places[one.other]): one.difference for one in found.pairs if one.difference is not None}
    title, most = say("figures.moved"), _format_difference(max(defined.values(), default=0.0))
    text = say("figures.moved_most", pairs=len(defined), attributes=len(places), most=most)
    drawn = draw_heat(found.attributes, defined, key="chart-relations", title=title, description=text)
    exact = content.edition == "internal"
    rows = tuple(
        TextRow(head=say("figures.pair", one=one.one, other=one.other), cells=_pair_cells(one, exact=exact))
        for one in found.pairs
    )
    heads = ("Moved by", *(("Before", "After") if exact else ()))
    note = say("figures.not_all_moved", shown=len(places), there=found.n_attributes)
    return (Figure(key="chart-relations", caption=title, svg=safe(drawn), first="Pair", heads=heads, rows=rows, note=note),)


def candidate_figures(content: Content) -> tuple[Figure, ...]:
    """One chart for each attack by the declared intruder."""
    shown = content.charts.candidates if content.charts else ()
    return tuple(_candidates(content, one, f"chart-candidates-{i}") for i, one in enumerate(shown) if one.brackets)


def knowledge_figures(content: Content) -> tuple[Figure, ...]:
    """One chart for each attack that was made with less and less knowledge, all with one scale."""
    curves = knowledge_curves(content.estimates, len(content.intruder_knowledge))
    most = max((point.rate for curve in curves for point in curve.points), default=0.0)
    return tuple(_curve(content, curve, most, f"chart-knowledge-{i}") for i, curve in enumerate(curves))


def precision_figures(content: Content) -> tuple[Figure, ...]:
    """One chart for each attack by the declared intruder whose links have margins."""
    shown = content.charts.precision if content.charts else ()
    return tuple(_precision(content, one, f"chart-precision-{i}") for i, one in enumerate(shown) if one.points)


def explain_missing_curves(content: Content) -> tuple[str, ...]:
    """A sentence on each attack that has no such chart though it ran: why somebody who knows less has no figure."""
    drawn = {curve.attack for curve in knowledge_curves(content.estimates, len(content.intruder_knowledge))}
    silent: dict[str, str] = {}
    for result in content.attacks:
        if result.intruder.startswith(KNOWING) and result.status != "ok" and result.attack not in drawn:
            silent.setdefault(result.attack, result.reason or "no reason was given")
    return tuple(
        say("figures.no_curve", attack=attack, why=expand_code_names(reason).rstrip(".")) for attack, reason in silent.items()
    )


def subgroup_figures(content: Content) -> tuple[Figure, ...]:
    """The rates of the subgroups, the worst found among the attacks run."""
    found = subgroups(content.estimates, RULES[content.edition])
    return (_subgroups(found, content),) if len(_rates_shown(found)) > 1 else ()


def alike_subgroups(content: Content) -> str:
    """The sentence that stands for a chart whose bars would all be equal; empty where they are not."""
    found = subgroups(content.estimates, RULES[content.edition])
    rates = _rates_shown(found)
    if len(rates) != 1:
        return ""
    if len(found.subgroups) == 1:
        (only,) = found.subgroups
        return say("figures.only_subgroup", attribute=only.attribute, part=only.part, rate=rates.pop())
    return say("figures.alike", subgroups=len(found.subgroups), rate=rates.pop(), counts=content.counts,
               overall=_overall(found))  # fmt: skip


def _rates_shown(found: Subgroups) -> set[str]:
    return {_rate(one.rate, at_least=one.lower_bound) for one in found.subgroups}


def _overall(found: Subgroups) -> str:
    return "" if found.overall is None else _rate(found.overall, at_least=found.overall_is_lower_bound)


def _rate(value: float, *, at_least: bool) -> str:
    return f"at least {format_share(value)}" if at_least else format_share(value)


def loss_figures(content: Content) -> tuple[Figure, ...]:
    """One chart for each measure of loss."""
    return tuple(_losses(one, f"chart-loss-{i}") for i, one in enumerate(losses(content.estimates)))


def _rungs(content: Content) -> list[tuple[str, str, Estimate]]:
    """Label, kind and figure of each bar of the summary: fewer attributes, the declared intruder, the worst insider."""
    knowing = sorted({one.intruder or "" for one in content.figures(RATE) if is_knowing(one)}, key=parse_attribute_count)
    every = -(-len(knowing) // MOST_KNOWING) or 1
    worst = [content.largest(one for one in content.figures(RATE) if one.intruder == name) for name in knowing[::every]]
    rungs: list[tuple[str, str, Estimate]] = [
        (say("figures.knows_some", n=parse_attribute_count(one.intruder or "")), KNOWING, one) for one in worst if one
    ]
    declared, insider = (content.worst(RATE, declared=whose) for whose in (True, False))
    if declared is not None:
        rungs.append((say("figures.knows_all", n=len(content.intruder_knowledge)), DECLARED, declared))
    if insider is not None:
        rungs.append((say("figures.knows_more", extra=extra_knowledge(insider.intruder or "")), INSIDER, insider))
    return rungs


def _limit(content: Content, who: str) -> float | None:
    """The strictest limit on the rate of the declared intruder, or of the worst insider."""
    names = (None, DECLARED) if who == DECLARED else (INSIDER,)
    lines = (line for line in content.policy if line.measure == RATE and line.intruder in names and line.attack is None)
    return min((line.limit for line in lines if not cannot_fail(line)), default=None)


def _limit_text(limit: float | None) -> str:
    return _DASH if limit is None else f"at most {format_share(limit)}"


def _distribution(one: DistributionChart, key: str, documented: str) -> Figure:
    part = {"bins": "Range", "levels": "Level", "categories": "Category"}[one.form]
    title = say("figures.before_and_after", attribute=one.attribute)
    text = say("figures.shares", n=len(one.bars), form=one.form)
    between = one.form == "bins"
    if between or (one.form == "levels" and max(len(bar.label) for bar in one.bars) <= _WIDEST_MARK):
        columns = tuple(BarPair(bar.label, bar.original, bar.released, bar.bound if between else bar.label) for bar in one.bars)
        drawn = draw_columns(columns, between=between, key=key, title=title, description=text)
    else:
        bars = tuple(BarRow(bar.label, (bar.original, bar.released)) for bar in one.bars)
        drawn = draw_rows(bars, key=key, title=title, description=text, percent=True)
    rows = tuple(TextRow(head=bar.label, cells=(format_share(bar.original), format_share(bar.released))) for bar in one.bars)
    caption, heads = one.attribute, ("Before", "After")
    return Figure(key=key, caption=caption, svg=safe(drawn), first=part, heads=heads, rows=rows, note=documented)


def _candidates(content: Content, one: Candidates, key: str) -> Figure:
    method = content.method_of(one.attack)
    bars = tuple(BarRow(bracket_text(bracket), (bracket.share,), format_share(bracket.share)) for bracket in one.brackets)
    drawn = draw_rows(bars, key=key, title=say("figures.candidate_sets", method=method),
                      description=say("figures.bars", bars=bars), percent=True, left=88)  # fmt: skip
    rows = tuple(TextRow(head=bar.label, cells=(bar.text,)) for bar in bars)
    return Figure(key=key, caption=say("figures.attack", method=method, name=one.attack), svg=safe(drawn),
                  first="Records in the set", heads=("Share of the targets",), rows=rows)  # fmt: skip


def _curve(content: Content, curve: KnowledgeCurve, most: float, key: str) -> Figure:
    points = tuple((point.known, point.rate) for point in curve.points)
    method = content.method_of(curve.attack)
    rates = {point.known: _rate(point.rate, at_least=point.lower_bound) for point in curve.points}
    drawn = draw_line(points, most=max(most, curve.chance or 0.0), chance=curve.chance, key=key,
                      title=say("figures.by_known", method=method), description=say("figures.rates_by_known", rates=rates),
                      below="how many attributes are known")  # fmt: skip
    rows = tuple(TextRow(head=count(known), cells=(rate,)) for known, rate in rates.items())
    note = "" if curve.chance is None else say("figures.chance", chance=curve.chance)
    return Figure(key=key, caption=say("figures.attack", method=method, name=curve.attack), svg=safe(drawn),
                  first="Attributes known", heads=("Linked to the right person",), rows=rows, note=note)  # fmt: skip


def _precision(content: Content, one: PrecisionCoverage, key: str) -> Figure:
    points = tuple((point.coverage, point.precision) for point in one.points)
    method = content.method_of(one.attack)
    drawn = draw_shares(points, aim=PRECISION, key=key, title=say("figures.surest", method=method),
                        description=say("figures.surest_right", points=points),
                        below=say("figures.surest_first", counts=content.counts))  # fmt: skip
    rows = tuple(TextRow(head=format_share(covered), cells=(format_share(right),)) for covered, right in points)
    return Figure(key=key, caption=say("figures.attack", method=method, name=one.attack), svg=safe(drawn),
                  first="Surest links, of all", heads=("Right",), rows=rows,
                  note=_describe_assertions(content, one.attack))  # fmt: skip


def _describe_assertions(content: Content, attack: str) -> Sentence:
    """What an intruder can assert who has learned from other people from which margin on links are right."""
    links, right = (
        next((one for one in content.figures(measure.name) if (one.attack, one.intruder) == (attack, DECLARED)), None)
        for measure in (KNOWN_LINKS, KNOWN_REIDENTIFICATION)
    )
    if links is None or right is None:
        return say("figures.aim", precision=PRECISION)
    if not links.value:
        return say("figures.none_asserted", precision=PRECISION, counts=content.counts)
    is_public = content.edition == "public"  # two classes have no ratio
    return say("figures.asserted", precision=PRECISION, counts=content.counts, of_these=not is_public,
               links=share_in_words(links, "public") if is_public else format_share(links.value),
               right=share_in_words(right, "public") if is_public else format_share((right.value or 0.0) / links.value),
               not_disjoint=NOT_DISJOINT if uses_all_true_links(content, attack) else "")  # fmt: skip


def _subgroups(found: Subgroups, content: Content) -> Figure:
    title = "Re-identification rate by subgroup"
    bars: list[BarRow] = []
    for one in found.subgroups:
        if one.attribute not in [row.label for row in bars if not row.values]:
            bars.append(BarRow(one.attribute))
        bars.append(BarRow(one.part, (one.rate,), _rate(one.rate, at_least=one.lower_bound)))
    text = say("figures.bars", bars=[bar for bar in bars if bar.values])
    drawn = draw_rows(tuple(bars), key="chart-subgroups", title=title, description=text, percent=True,
                      line=found.overall, left=_BESIDE_PARTS)  # fmt: skip
    rows = tuple(
        TextRow(head=f"{one.attribute}: {one.part}", cells=(rate, count(one.n_targets), attack_named(one.attack)))
        for one in found.subgroups
        for rate in (_rate(one.rate, at_least=one.lower_bound),)
    )
    least = FEWEST if content.edition == "public" else RULES[content.edition].least
    note = say("figures.about_subgroups", overall=_overall(found), small=found.n_small, least=least, counts=content.counts,
               shown=len({one.attribute for one in found.subgroups}), there=found.n_attributes)  # fmt: skip
    heads = ("Linked to the right person", content.counts.capitalize(), "Attack")
    return Figure(key="chart-subgroups", caption=title, svg=safe(drawn), first="Subgroup", heads=heads, rows=rows, note=note)


def _losses(one: Losses, key: str) -> Figure:
    title = meaning(one.measure).title
    text_of = {loss.attribute: format_with_unit(loss.value, one.unit) for loss in one.losses}
    if one.unit == "sqrt(2) sd":
        text_of = {loss.attribute: number(loss.value) for loss in one.losses}
    scale = 0.01 if one.unit == "percent" else 1.0
    bars = tuple(BarRow(loss.attribute, (loss.value * scale,), text_of[loss.attribute]) for loss in one.losses)
    drawn = draw_rows(bars, key=key, title=say("figures.by_attribute", measure=title),
                      description=say("figures.bars", bars=bars), percent=one.unit != "sqrt(2) sd")  # fmt: skip
    rows = tuple(TextRow(head=bar.label, cells=(bar.text,)) for bar in bars)
    note = say("figures.not_all_losses", shown=len(bars), there=one.n_attributes)
    return Figure(key=key, caption=title, svg=safe(drawn), first="Attribute", heads=(title,), rows=rows, note=note)


def _pair_cells(pair: Pair, *, exact: bool) -> tuple[str, ...]:
    if pair.difference is None:
        return ("not defined", *((_DASH, _DASH) if exact else ()))
    moved = number(pair.difference) if exact else _format_difference(pair.difference)
    return (moved, *((number(pair.original or 0.0), number(pair.released or 0.0)) if exact else ()))


def _format_difference(difference: float) -> str:
    return f"{difference:.3g}" if difference else "under 0.0005"


def safe(drawn: str) -> Markup:
    return Markup(drawn)  # noqa: S704  written by ElementTree, which escapes every text and attribute
