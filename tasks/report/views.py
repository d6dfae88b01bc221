"""The content as the page shows it: rows of ready texts, so that the template decides nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tasks.attack.outcome import AttackResult
from tasks.microdata.estimate import Estimate
from tasks.report.content import Content, is_insider
from tasks.report.numbers import SPACE, beside_limit, count, in_unit, limit_in_unit, number, share
from tasks.report.residual import gain_over_baselines
from tasks.report.words import (
    DECISIONS,
    MEANINGS,
    ROLES,
    attack_title,
    bound_in_words,
    by_whom,
    found_in_words,
    intruder_in_words,
    linkage_settings,
    listed,
    mask_of_attribute,
    reason_in_words,
    requirement,
    why_unpublished,
)
from tasks.score.catalogue import LINKAGE, LOSS, MEASURES
from tasks.score.policy import DECLARED, PolicyLine
from tasks.score.verdict import Criterion

MOST_TILES = 4
_HEADROOM = 1.2
_OF_THE_TARGETS = ("reidentification", "records_exposed", "truth_among_nearest")
_BY_VALUE = ("linked_value_disclosed", "linked_value_control")
RATES = tuple(measure.name for measure in LINKAGE if measure.name not in _BY_VALUE)


@dataclass(frozen=True, slots=True)
class Bar:
    """Places on a bar, in percent of its length; None: no such mark."""

    value: float
    limit: float | None = None
    chance: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One deciding figure."""

    title: str
    decision: str
    status: str
    value: str
    people: str
    who: str
    limit: str
    bound: str
    chance: str
    bar: Bar | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRow:
    requirement: str
    decision: str
    status: str
    found: str
    who: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureRow:
    """One measure: its name, what it says, its figure, and what chance would give."""

    title: str
    sentence: str
    value: str
    chance: str
    note: str = ""
    bar: Bar | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRow:
    """A row of plain cells under a head."""

    head: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRow:
    """A confidential value read off the linked records, beside its baselines."""

    attribute: str
    who: str
    value: str
    majority: str
    control: str
    gain: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackView:
    """One attack by all its intruders."""

    title: str
    id: str
    infers: str
    knows_data: str
    knows_mechanism: str
    settings: str
    rates: tuple[FigureRow, ...]
    insider_heads: tuple[str, ...]
    insiders: tuple[TextRow, ...]
    values: tuple[ValueRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeRow:
    name: str
    role: str
    scale: str
    decided_by: str
    kind: str
    missing: str
    evidence: tuple[str, ...]
    notes: tuple[str, ...]
    treatment: str
    published: bool


def tiles(content: Content) -> tuple[Tile, ...]:
    """The deciding figures, the broken and undecided lines first, at most `MOST_TILES`."""
    order = {"fail": 0, "undecided": 1, "pass": 2}
    lines = sorted(content.lines(), key=lambda pair: (order[pair[1].decision], pair[1].line))
    return tuple(_tile(content, line, criterion) for line, criterion in lines[:MOST_TILES])


def policy_rows(content: Content) -> tuple[PolicyRow, ...]:
    return tuple(
        PolicyRow(
            requirement=requirement(line),
            decision=criterion.decision,
            status=DECISIONS[criterion.decision],
            found=found_in_words(criterion),
            who=by_whom(criterion),
            reason=reason_in_words(line, criterion),
        )
        for line, criterion in content.lines()
    )


def attribute_rows(content: Content) -> tuple[AttributeRow, ...]:
    """Every attribute of the source: what it is, who said so, and what became of it."""
    found = {column.name: column for column in content.ingest.columns}
    rows = []
    for attribute in content.schema.attributes:
        column = found.get(attribute.name)
        steps = content.steps_on(attribute.name)
        treatment = "; then ".join(mask_of_attribute(step, attribute) for step in steps) or "published as it is"
        rows.append(
            AttributeRow(
                name=attribute.name,
                role=ROLES[attribute.role],
                scale=str(attribute.scale),
                decided_by="declared" if attribute.decided_by == "declared" else "found by the pipeline",
                kind="" if column is None else column.logical_type,
                missing="" if column is None else count(column.n_missing),
                evidence=attribute.evidence,
                notes=() if column is None else column.notes,
                treatment=treatment if attribute.published else f"not published: {why_unpublished(attribute)}",
                published=attribute.published,
            )
        )
    return tuple(rows)


def attack_views(content: Content) -> tuple[AttackView, ...]:
    """The attacks that ran, each with the declared intruder's figures and the insiders' beside them."""
    by_id = {name: [result for result in content.attacks if result.attack == name] for name in content.attack_ids}
    return tuple(_attack_view(content, results) for results in by_id.values())


def idle_attacks(content: Content) -> tuple[TextRow, ...]:
    """Attacks that gave no figure, with the reason: left out, not applicable, or failed."""
    omitted = [TextRow(head=attack_title(one.attack), cells=("all", "left out", one.reason)) for one in content.omitted]
    words = {"not_applicable": "not applicable", "failed": "failed"}
    silent = [
        TextRow(
            head=_named(result),
            cells=(intruder_in_words(result.intruder), words[result.status], result.reason or "no reason was given"),
        )
        for result in content.attacks
        if result.status != "ok"
    ]
    return (*omitted, *silent)


def disclosure_rows(content: Content) -> tuple[tuple[str, ...], tuple[TextRow, ...]]:
    """Head cells and rows of interval and same-value disclosure: one row per masked attribute."""
    widths = sorted({dict(one.parameters)["p_percent"] for one in content.figures("rank_interval_disclosure")})
    head = (MEANINGS["same_value_disclosure"].title, *(f"Within {number(width)}{SPACE}% of the ranks" for width in widths))
    rows = []
    for name in content.masked:
        same = [one for one in content.figures("same_value_disclosure") if one.attribute == name]
        near = [
            [one for one in content.figures("rank_interval_disclosure") if _is_of(one, name, width)] for width in widths
        ]
        rows.append(TextRow(head=name, cells=tuple(_against_chance(found) for found in (same, *near))))
    return head, tuple(rows)


def anonymity_rows(content: Content) -> tuple[FigureRow, ...]:
    figures = [one for one in content.estimates if one.measure in ("k_anonymity", "k_anonymity_subset")]
    return tuple(
        FigureRow(
            title=MEANINGS[one.measure].title + ("" if one.attribute is None else f" ({one.attribute.replace(',', ', ')})"),
            sentence=MEANINGS[one.measure].sentence,
            value=_value(one),
            chance="",
            note=one.reason or "",
        )
        for one in figures
    )


def loss_rows(content: Content) -> tuple[FigureRow, ...]:
    """The losses of the whole table; `note` says what each means for an analyst."""
    names = [measure.name for measure in LOSS]
    figures = [one for one in content.estimates if one.measure in names and one.attribute is None]
    return tuple(
        FigureRow(
            title=MEANINGS[one.measure].title,
            sentence=MEANINGS[one.measure].sentence,
            value=_value(one),
            chance="",
            note=" ".join(filter(None, [MEANINGS[one.measure].analyst, _sentence(one.reason)])),
        )
        for one in figures
    )


def attribute_losses(content: Content) -> tuple[tuple[str, ...], tuple[TextRow, ...]]:
    """Head cells and rows of the losses of single attributes."""
    measures = [m.name for m in LOSS if any(one.measure == m.name and one.attribute for one in content.estimates)]
    rows = []
    for name in content.masked:
        found = {one.measure: one for one in content.estimates if one.attribute == name and one.measure in measures}
        rows.append(TextRow(head=name, cells=tuple(_value(found[m]) if m in found else "\u2013" for m in measures)))
    return tuple(MEANINGS[m].title for m in measures), tuple(rows)


def _tile(content: Content, line: PolicyLine, criterion: Criterion) -> Tile:
    estimate = content.figure(criterion.estimate)
    unit = MEASURES[line.measure].unit
    bound = "at most" if line.direction == "at_most" else "at least"
    return Tile(
        title=MEANINGS[line.measure].title,
        decision=criterion.decision,
        status=DECISIONS[criterion.decision],
        value="no figure" if estimate is None or estimate.value is None else beside_limit(estimate.value, line.limit, unit),
        people="" if estimate is None else _people(estimate),
        who=by_whom(criterion),
        limit=f"{bound} {limit_in_unit(line.limit, unit)}",
        bound=bound_in_words(criterion, estimate),
        chance=_chance(estimate),
        bar=_limit_bar(estimate, line.limit),
    )


def _chance(estimate: Estimate | None) -> str:
    if estimate is None or estimate.chance is None:
        return "does not apply"
    return in_unit(estimate.chance, estimate.unit)


def _people(estimate: Estimate) -> str:
    if estimate.measure not in _OF_THE_TARGETS or estimate.value is None or not estimate.n_targets:
        return ""
    hits, targets = estimate.value * estimate.n_targets, count(estimate.n_targets)
    if hits == estimate.n_targets:
        return f"all {targets} records"
    if hits < 1:
        return f"fewer than 1 of {targets} records" if hits else f"none of {targets} records"
    return f"about {count(round(hits))} of {targets} records"


def _limit_bar(estimate: Estimate | None, limit: float) -> Bar | None:
    if estimate is None or estimate.value is None:
        return None
    largest = max(estimate.value, limit, estimate.chance or 0.0) * _HEADROOM
    if largest <= 0:
        return None
    chance = None if estimate.chance is None else 100 * estimate.chance / largest
    return Bar(100 * estimate.value / largest, 100 * limit / largest, chance)


def _attack_view(content: Content, results: list[AttackResult]) -> AttackView:
    own = next((result for result in results if result.intruder == DECLARED), results[0])
    figures = [one for one in content.estimates if one.attack == own.attack]
    measured = [name for name in RATES if any(one.measure == name and one.status == "ok" for one in figures)]
    return AttackView(
        title=_named(own),
        id=own.attack,
        infers=own.infers,
        knows_data=own.knows_data,
        knows_mechanism=own.knows_mechanism,
        settings=linkage_settings(own),
        rates=tuple(_rate_row(one) for one in figures if one.intruder == DECLARED and one.measure in RATES),
        insider_heads=tuple(MEANINGS[name].title for name in measured),
        insiders=tuple(_insider_rows([one for one in figures if is_insider(one)], measured)),
        values=tuple(_value_rows(content, figures)),
    )


def _named(result: AttackResult) -> str:
    title = attack_title(result.method)
    return title if result.attack == result.method else f"{title} \u201c{result.attack}\u201d"


def _rate_row(one: Estimate) -> FigureRow:
    is_share = one.value is not None and one.unit == "share"
    return FigureRow(
        title=MEANINGS[one.measure].title,
        sentence=MEANINGS[one.measure].sentence,
        value=_value(one),
        chance="" if one.chance is None else in_unit(one.chance, one.unit),
        note=_people(one),
        bar=Bar(100 * (one.value or 0.0), chance=None if one.chance is None else 100 * one.chance) if is_share else None,
    )


def _insider_rows(figures: list[Estimate], measured: list[str]) -> Iterator[TextRow]:
    by_insider: dict[str, dict[str, Estimate]] = {}
    for one in figures:
        by_insider.setdefault(one.intruder or "", {})[one.measure] = one
    for insider, found in sorted(by_insider.items(), key=_by_rate):
        cells = tuple(_value(found[name]) if name in found else "\u2013" for name in measured)
        yield TextRow(head=intruder_in_words(insider).removeprefix("insider who also knows "), cells=cells)


def _by_rate(insider: tuple[str, dict[str, Estimate]]) -> float:
    rate = insider[1].get("reidentification")
    return 0.0 if rate is None or rate.value is None else -rate.value


def _value_rows(content: Content, figures: list[Estimate]) -> Iterator[ValueRow]:
    controls = {(one.intruder, one.attribute): one for one in figures if one.measure == "linked_value_control"}
    for one in figures:
        if one.measure == "linked_value_disclosed" and one.value is not None:
            control = controls.get((one.intruder, one.attribute))
            yield ValueRow(
                attribute=one.attribute or "",
                who=intruder_in_words(one.intruder or DECLARED),
                value=_value(one),
                majority="\u2013" if one.chance is None else share(one.chance),
                control="\u2013" if control is None else _value(control),
                gain=_points(gain_over_baselines(content, one)),
            )


def _value(one: Estimate) -> str:
    if one.value is None:
        return f"{one.status.replace('_', ' ')}: {one.reason or 'no reason was given'}"
    shown = in_unit(one.value, one.unit)
    if one.low is None or one.high is None or one.low == one.high:
        return shown
    return f"{shown} ({in_unit(one.low, one.unit)} to {in_unit(one.high, one.unit)})"


def _points(gain: float) -> str:
    return f"{number(100 * gain, 2)} points" if gain > 0 else "none"


def _against_chance(found: list[Estimate]) -> str:
    if not found:
        return "\u2013"
    chance = "" if found[0].chance is None else f" (chance {share(found[0].chance)})"
    return f"{_value(found[0])}{chance}"


def _is_of(one: Estimate, attribute: str, width: float) -> bool:
    return one.attribute == attribute and dict(one.parameters)["p_percent"] == width


def _sentence(text: str | None) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def source_facts(content: Content) -> tuple[tuple[str, str], ...]:
    """What was read, as terms and descriptions."""
    report, context = content.ingest, content.context
    separators = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
    facts = [
        ("Source", f"{report.source} ({report.format})"),
        ("Encoding", report.encoding),
        ("Delimiter", separators.get(report.delimiter or "", report.delimiter)),
        ("Rows read", count(content.rows_in)),
        ("Rows released", f"{count(content.rows_out)}{'' if content.certified else ' would be'}"),
        ("Persons", "not assessed" if content.persons is None else count(content.persons)),
        ("What a row is", context.unit or "not assessed"),
        ("Period", context.period or "not assessed"),
        ("Sampling fraction", "not assessed" if context.sampling_fraction is None else share(context.sampling_fraction)),
        ("Special categories", _declared_list(context.special_categories)),
        ("Released to", f"{context.environment}{'' if context.recipients is None else f': {listed(context.recipients)}'}"),
        ("Purpose", context.purpose or "not assessed"),
        ("Earlier releases", _declared_list(context.prior_releases)),
    ]
    return tuple((term, text) for term, text in facts if text is not None)


def _declared_list(values: tuple[str, ...] | None) -> str:
    return "not assessed" if values is None else listed(values) or "none, as declared"
