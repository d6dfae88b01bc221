"""What the page says of probabilistic linkage: how it was estimated, the three classes, the weights, and what tells most."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tasks.attack.probabilistic.linkage_summary import Classes, PatternEvidence, ProbableFacts
from tasks.microdata.numbers import count, format_share, number
from tasks.report.charts.lines import draw_shares
from tasks.report.charts.reliability import ReliabilityCurve
from tasks.report.charts.waterfall import Fall, draw_waterfall
from tasks.report.content import Content
from tasks.report.views.figures import Figure, safe
from tasks.report.views.rows import TextRow

PATTERNS_DRAWN = 3
_DASH = "\u2013"
_ESTIMATES = {
    "tied": "from the two files alone, with what an intruder knows held fast: how often any two records are alike, how many "
    "true pairs there are, and that a mask makes these no less alike than strangers",
    "plain": "from the two files alone, with nothing held fast, as common tools do. On real data such an estimate often "
    "settles on another class of similar pairs than the true ones",
    "supervised": "from who is who: the worst case of this model, which nobody but the owner of the data can have",
}
NOT_CALIBRATED = (
    "The probabilities come from a model in which attributes agree independently of each other, given whether a pair is true. "
    "Real attributes do not quite: the probabilities order the guesses well and need not be true as numbers."
)
TOO_SURE = " Where only two or three records compete for the same rows, the likelier one is taken to be too sure."


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
    return ProbableView(
        intro=_intro(facts),
        warning=NOT_CALIBRATED + (TOO_SURE if facts.jointly else ""),
        thresholds="" if found is None else _thresholds(found),
        errors=() if found is None else tuple(_errors(found)),
        classes=() if found is None else _classes(found),
        weights=tuple(_weights(facts)),
        patterns=tuple(_pattern(one, i, f"chart-pattern-{place}-{i}") for i, one in enumerate(shown)),
        without_patterns="" if shown else f"No pattern is shown by {least} records or more that could be told of.",
        reliability=tuple(_reliability(one, place) for one in _curves(content) if one.attack == attack and one.points),
    )


def _curves(content: Content) -> tuple[ReliabilityCurve, ...]:
    return content.charts.reliability if content.charts else ()


def _intro(facts: ProbableFacts) -> str:
    kept = ""
    if facts.estimate == "tied" and isinstance(facts.kept, float):
        kept = (
            f" It begins with the assumption that {format_share(facts.kept)} of the values of each attribute were "
            f"kept, but for those "
            "that look as if they were published as they are."
        )
    together = " The probabilities are those of all records together, no row being two records'." if facts.jointly else ""
    return (
        f"All {count(facts.n_pairs)} pairs of a record and a released row were compared, none left out beforehand; "
        f"{count(round(facts.n_matches))} true pairs are expected among them. What an agreement tells was found "
        f"{_ESTIMATES[facts.estimate]}.{kept}{together}"
    )


def _thresholds(found: Classes) -> str:
    linked = "No pattern may be linked at the rate allowed"
    if found.link_from is not None:
        linked = f"Pairs are linked from a weight of {_bits(found.link_from)} bits on"
    dropped = "none is dropped" if found.drop_to is None else f"those up to {_bits(found.drop_to)} bits are not"
    right = "" if found.precision is None else f" Of the linked pairs {format_share(found.precision)} are true."
    return f"{linked}, {dropped}; what lies between would be looked at by a clerk.{right}"


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
    caption = f"Pattern {place + 1}: {format_share(one.match)} of such pairs are true by the model"
    text = "; ".join(f"{fall.label}: {fall.text}" for fall in falls) + "."
    drawn = draw_waterfall(falls, key=key, title=caption, description=text, below="evidence, in bits")
    rows = tuple(TextRow(head=fall.label, cells=(fall.text, _bits(fall.end))) for fall in falls)
    note = f"Shown by {count(one.pairs)} pairs of {count(one.records)} records. The line: even odds."
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
    title = "How often the guesses are right that claim so much"
    text = "; ".join(f"claimed {format_share(point.claimed)}: right {format_share(point.right)}" for point in one.points) + "."
    key = f"chart-reliability-{place}"
    points = tuple((point.claimed, point.right) for point in one.points)
    drawn = draw_shares(points, aim=None, key=key, title=title, description=text, below="claimed by the likeliest guess")
    rows = tuple(TextRow(head=format_share(point.claimed), cells=(format_share(point.right),)) for point in one.points)
    note = "Dotted: claims that are true. Above it the intruder is right more often than they say."
    return Figure(key=key, caption=title, svg=safe(drawn), first="Claimed", heads=("Right",), rows=rows, note=note)


def _bits(bits: float) -> str:
    return f"{bits:.1f}".replace("-", "\u2212")


def _format_signed_bits(bits: float) -> str:
    return f"+{bits:.1f}" if bits >= 0 else _bits(bits)
