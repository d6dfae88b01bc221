"""What the page says of probabilistic linkage: how it was estimated, the three classes, the weights, and what tells most."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tasks.attack.probabilistic.linkage_summary import Classes, PatternEvidence, ProbableFacts
from tasks.microdata.numbers import format_share, number
from tasks.report.charts.lines import draw_shares
from tasks.report.charts.reliability import ReliabilityCurve
from tasks.report.charts.waterfall import Fall, draw_waterfall
from tasks.report.content import Content
from tasks.report.views.figures import Figure, safe
from tasks.report.views.rows import TextRow
from tasks.report.wording.sentence import say

PATTERNS_DRAWN = 3
_DASH = "\u2013"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbableView:
    """How it was estimated; error rates and classes; weights; patterns; claims against hits."""

    intro: str
    warning: str
    thresholds: str
    errors: tuple[TextRow, ...]
    classes: tuple[TextRow, ...]
    weights: tuple[TextRow, ...]
    patterns: tuple[Figure, ...]
    without_patterns: str
    reliability: tuple[Figure, ...]


def probable_view(facts: ProbableFacts, content: Content, attack: str) -> ProbableView:
    """The block of one probabilistic attack, by the declared intruder."""
    shown = facts.telling[:PATTERNS_DRAWN]
    place = content.attack_ids.index(attack)
    found = facts.classes
    least = 10 if content.edition == "public" else 3
    kept = facts.kept if facts.estimate == "tied" and isinstance(facts.kept, float) else None
    return ProbableView(
        intro=say("probable.intro", estimate=facts.estimate, pairs=facts.n_pairs, matches=round(facts.n_matches), kept=kept,
                  jointly=facts.jointly),
        warning=say("probable.not_calibrated", jointly=facts.jointly),
        thresholds="" if found is None else say("probable.thresholds", link_from=found.link_from, drop_to=found.drop_to,
                                                precision=found.precision),
        errors=() if found is None else tuple(_errors(found)),
        classes=() if found is None else _classes(found),
        weights=tuple(_weights(facts)),
        patterns=tuple(_pattern(one, i, f"chart-pattern-{place}-{i}") for i, one in enumerate(shown)),
        without_patterns="" if shown else say("probable.no_pattern", least=least),
        reliability=tuple(_reliability(one, place) for one in _curves(content) if one.attack == attack and one.points),
    )  # fmt: skip


def _curves(content: Content) -> tuple[ReliabilityCurve, ...]:
    return content.charts.reliability if content.charts else ()


def _errors(found: Classes) -> Iterator[TextRow]:
    rates = (found.asked, found.expected, found.actual)
    yield TextRow(head="Other pairs that are linked, P(LP|U)", cells=tuple(_rate(one.false_links) for one in rates))
    yield TextRow(head="True pairs that are not, P(NP|M)", cells=tuple(_rate(one.missed) for one in rates))


def _rate(rate: float | None) -> str:
    """A rate per pair may be far below a hundredth of a percent, and is none all the same."""
    if rate is None:
        return _DASH
    return format_share(rate) if rate == 0 or rate >= 1e-4 else f"{number(1e6 * rate, 2)} in a million"


def _classes(found: Classes) -> tuple[TextRow, ...]:
    rows = (("True pairs", found.matches), ("All other pairs", found.others))
    return tuple(TextRow(head=head, cells=tuple(_rate(one) for one in shares)) for head, shares in rows)


def _weights(facts: ProbableFacts) -> Iterator[TextRow]:
    for one in facts.weights:
        nothing = "none" if one.m is not None else _DASH
        bits = nothing if one.bits is None else _format_signed_bits(one.bits)
        yield TextRow(head=f"{one.attribute}: {one.said}", cells=(_rate(one.m), _rate(one.u), bits))


def _pattern(one: PatternEvidence, place: int, key: str) -> Figure:
    falls = tuple(_falls(one))
    caption, text = say("probable.pattern", place=place + 1, match=one.match), say("figures.bars", bars=falls)
    drawn = draw_waterfall(falls, key=key, title=caption, description=text, below="evidence, in bits")
    rows = tuple(TextRow(head=fall.label, cells=(fall.text, _bits(fall.end))) for fall in falls)
    note = say("probable.shown_by", pairs=one.pairs, records=one.records)
    heads = ("Adds", "Comes to")
    return Figure(key=key, caption=caption, svg=safe(drawn), first="Evidence", heads=heads, rows=rows, note=note)


def _falls(one: PatternEvidence) -> Iterator[Fall]:
    at = one.before
    yield Fall("before a look", 0.0, at, _bits(at), total=True)
    for weight in one.weights:
        yield Fall(f"{weight.attribute}: {weight.said}", at, at + (weight.bits or 0.0), _format_signed_bits(weight.bits or 0.0))
        at += weight.bits or 0.0
    if abs(one.together) >= 0.05:
        yield Fall("jointly", at, at + one.together, _format_signed_bits(one.together))
    yield Fall("after", 0.0, one.after, _bits(one.after), total=True)


def _reliability(one: ReliabilityCurve, place: int) -> Figure:
    title, text = say("probable.claims"), say("probable.claimed", points=one.points)
    key = f"chart-reliability-{place}"
    points = tuple((point.claimed, point.right) for point in one.points)
    drawn = draw_shares(points, aim=None, key=key, title=title, description=text, below="claimed by the likeliest guess")
    rows = tuple(TextRow(head=format_share(point.claimed), cells=(format_share(point.right),)) for point in one.points)
    return Figure(key=key, caption=title, svg=safe(drawn), first="Claimed", heads=("Right",), rows=rows,
                  note=say("probable.true_claims"))  # fmt: skip


def _bits(bits: float) -> str:
    return f"{bits:.1f}".replace("-", "\u2212")


def _format_signed_bits(bits: float) -> str:
    return f"+{bits:.1f}" if bits >= 0 else _bits(bits)
