"""The content as the page shows it: rows of ready texts, so that the template decides nothing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tasks.ingest.methods import ColumnReport
from tasks.microdata.alignment import ROWS_OF_NOBODY
from tasks.microdata.estimate import BOUND_CONFIDENCE, Estimate
from tasks.microdata.numbers import SPACE, count, format_against_limit, format_share, format_with_unit, number
from tasks.microdata.schema import Attribute, Role
from tasks.microdata.words import join_with_and
from tasks.report.content import Content
from tasks.report.kinds import find_report
from tasks.report.mask_description import describe_mask
from tasks.report.views.policy_lines import (
    DECISIONS,
    describe_bound_source,
    describe_caution,
    describe_deciding_bound,
    describe_demand,
    describe_requirement,
    explain_decision,
    format_deciding_figure,
    name_limit_unit,
)
from tasks.report.views.rows import Bar, FigureRow, TextRow, figure_text, format_rate_as_count
from tasks.report.wording.figure_formats import mark_bound, nearly_none, unit_of
from tasks.report.wording.meanings import MEANINGS, meaning
from tasks.report.wording.names import expand_code_names
from tasks.report.wording.sentence import Sentence, say
from tasks.score.catalogue import LOSS, MEASURES
from tasks.score.figure_rounding import STATISTICS
from tasks.score.policy import INSIDER, PolicyLine, cannot_fail
from tasks.score.verdict import Criterion

MOST_TILES = 4
MOST_SINGLE = 6
ROLES = {
    Role.IDENTIFIER: "identifier",
    Role.QUASI_IDENTIFIER: "quasi-identifier",
    Role.CONFIDENTIAL: "confidential",
    Role.WEIGHT: "sampling weight",
    Role.PERSON: "person key",
    Role.GROUP: "group key",
    Role.DERIVED: "derived",
    Role.WITHHELD: "withheld",
    Role.OTHER: "other",
}
_DASH = "\u2013"


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
    bound_percent: str
    chance: str
    note: str
    bar: Bar | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRow:
    requirement: str
    decision: str
    status: str
    found: str
    who: str
    note: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeRow:
    name: str
    documented: str
    role: str
    scale: str
    decided_by: str
    missing: str
    evidence: tuple[str, ...]
    notes: tuple[str, ...]
    treatment: str
    published: bool


def create_tiles(content: Content) -> tuple[Tile, ...]:
    """The deciding figures: broken lines, undecided ones, then those nearest to their limit; a line on insiders among them.

    `MOST_TILES`, and one more where a line on insiders would push out one that is not kept.
    """
    order = {"fail": 0, "undecided": 1, "pass": 2}
    lines = sorted(content.lines(), key=lambda pair: (order[pair[1].decision], -_compute_nearness(*pair), pair[1].line))
    shown, hidden = lines[:MOST_TILES], lines[MOST_TILES:]
    insider = next((pair for pair in hidden if _is_on_insiders(pair[0])), None)
    if insider is not None and not any(_is_on_insiders(line) for line, _ in shown):
        room = shown[:-1] if shown[-1][1].decision == "pass" else shown
        shown = [*room, insider]
    return tuple(_create_tile(content, line, criterion) for line, criterion in shown)


def are_all_exact(content: Content) -> bool:
    """Were all records attacked, so that no figure of the policy is estimated from a sample?"""
    bounds = {criterion.deciding_bound for criterion in content.verdict.criteria}
    return content.share_of_targets == content.intruder.records == 1.0 and bounds == {"value"}


def _is_on_insiders(line: PolicyLine) -> bool:
    return (line.intruder or "").startswith(INSIDER)


def _compute_nearness(line: PolicyLine, criterion: Criterion) -> float:
    """1 at the limit, less within it; the order of the policy where the line is not kept."""
    if criterion.decision != "pass" or criterion.deciding_value is None:
        return 0.0
    small, large = sorted((criterion.deciding_value, line.limit))
    return 1.0 if large == 0 else small / large


def create_policy_rows(content: Content) -> tuple[PolicyRow, ...]:
    return tuple(
        PolicyRow(
            requirement=describe_requirement(line, content.counts_behind(criterion)),
            decision=criterion.decision,
            status=DECISIONS[criterion.decision],
            found=format_deciding_figure(criterion, content.counts_behind(criterion)),
            who=describe_bound_source(content, criterion),
            note=describe_caution(content, criterion, cannot_fail=cannot_fail(line), is_explained=True),
            reason=explain_decision(line, criterion, content.counts_behind(criterion)),
        )
        for line, criterion in content.lines()
    )


def attribute_rows(content: Content) -> tuple[AttributeRow, ...]:
    """Every attribute of the source: what it is, who said so, and what became of it."""
    found = {column.name: column for column in content.ingest.columns}
    rows = []
    masked = {name for step in content.mechanisms for name in step.target_attributes}
    for attribute in content.schema.attributes:
        column = found.get(attribute.name)
        steps = [describe_mask(step, content.schema).attribute(attribute) for step in content.steps_on(attribute.name)]
        why = "" if attribute.is_published else explain_unpublished(attribute, masked)
        rows.append(
            AttributeRow(
                name=attribute.name,
                documented=content.describe_attribute(attribute.name),
                role=ROLES[attribute.role],
                scale=str(attribute.scale),
                decided_by="declared" if attribute.decided_by == "declared" else "found by the pipeline",
                missing=_missing(content, column),
                evidence=tuple(map(expand_code_names, attribute.evidence)),
                notes=() if column is None else column.notes,
                treatment=say("attributes.treatment", steps=steps, why_unpublished=why),
                published=attribute.is_published,
            )
        )
    return tuple(rows)


def explain_unpublished(attribute: Attribute, masked: Collection[str] = ()) -> Sentence:
    """The reason why a column is not in the released table. masked: the attributes that a step masked."""
    if attribute.is_published:
        raise ValueError(f"{attribute.name} is published: its role is {attribute.role}")
    return say("attributes.why_unpublished", role=attribute.role, declared=attribute.decided_by == "declared",
               derived_from=attribute.derived_from, undoes=bool(set(attribute.derived_from) & set(masked)))  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class TreatmentRow:
    """Attributes of one role that were treated alike. members: names and what a codebook says of each."""

    members: tuple[tuple[str, str], ...]
    role: str
    treatment: str


def create_treatment_rows(content: Content) -> tuple[TreatmentRow, ...]:
    """What became of the attributes: one row each, or, where there are many, one for all of a role that were treated alike."""
    rows = attribute_rows(content)
    if len(rows) <= MOST_SINGLE:
        return tuple(_create_treatment_row([one]) for one in rows)
    alike: dict[tuple[str, str], list[AttributeRow]] = {}
    for one in rows:
        alike.setdefault((one.role, one.treatment), []).append(one)
    return tuple(_create_treatment_row(group) for group in alike.values())


def _create_treatment_row(alike: list[AttributeRow]) -> TreatmentRow:
    members = tuple((one.name, one.documented) for one in alike)
    return TreatmentRow(members=members, role=alike[0].role, treatment=alike[0].treatment)


def create_evidence_rows(content: Content) -> tuple[AttributeRow, ...]:
    """The attributes of whose classification this edition tells the evidence."""
    return tuple(row for row in attribute_rows(content) if row.evidence or row.notes)


def counts_are_left_out(content: Content) -> bool:
    """Does the public edition hold back exact counts that the internal one has?"""
    return content.edition == "public" and not all(map(content.is_public, content.schema.names))


def _missing(content: Content, column: ColumnReport | None) -> str:
    shown = column is not None and (content.edition == "internal" or content.is_public(column.name))
    return count(column.n_missing) if column is not None and shown else _DASH


def create_disclosure_rows(content: Content) -> tuple[tuple[str, ...], tuple[TextRow, ...]]:
    """Head cells and rows of interval and same-value disclosure: one row per masked attribute."""
    widths = [(measure, width) for measure in _WIDTHS_OF for width in _widths(content, measure)]
    heads = (f"Within {number(width)}{SPACE}% of {_WIDTHS_OF[measure]}" for measure, width in widths)
    head = (MEANINGS["same_value_disclosure"].title, *heads)
    rows = []
    for name in content.masking_targets:
        same = [one for one in content.figures("same_value_disclosure") if one.attribute == name]
        near = [[one for one in content.figures(measure) if _is_of(one, name, width)] for measure, width in widths]
        rows.append(TextRow(head=name, cells=tuple(_against_chance(found) for found in (same, *near))))
    return _drop_empty_columns(head, rows)


def _drop_empty_columns(head: tuple[str, ...], rows: list[TextRow]) -> tuple[tuple[str, ...], tuple[TextRow, ...]]:
    kept = [place for place in range(len(head)) if any(row.cells[place] != _DASH for row in rows)]
    shown = (TextRow(head=row.head, cells=tuple(row.cells[place] for place in kept)) for row in rows if kept)
    return tuple(head[place] for place in kept), tuple(shown)


_WIDTHS_OF = {"rank_interval_disclosure": "the ranks", "sd_interval_disclosure": "a standard deviation"}


def _widths(content: Content, measure: str) -> list[float]:
    return sorted({dict(one.parameters)["p_percent"] for one in content.figures(measure)})


def create_anonymity_rows(content: Content) -> tuple[FigureRow, ...]:
    figures = [one for one in content.estimates if one.measure in ("k_anonymity", "k_anonymity_subset")]
    return tuple(
        FigureRow(
            title=meaning(one.measure, one.counts, unit=content.context.unit).title + _format_attribute_suffix(one),
            sentence=meaning(one.measure, one.counts, unit=content.context.unit).sentence,
            value=figure_text(one),
            chance="",
            note=expand_code_names(one.reason or ""),
        )
        for one in figures
    )


def _format_attribute_suffix(one: Estimate) -> str:
    return "" if one.attribute is None else f" ({one.attribute.replace(',', ', ')})"


def create_loss_rows(content: Content) -> tuple[FigureRow, ...]:
    """The losses of the whole table; `note` says what each means for an analyst."""
    return tuple(
        FigureRow(
            title=meaning(one.measure, unit=content.context.unit).title,
            sentence=meaning(one.measure, unit=content.context.unit).sentence,
            value=figure_text(one),
            chance="",
            note=say("attributes.loss", analyst=meaning(one.measure, unit=content.context.unit).analyst, reason=one.reason),
        )
        for one in content.losses()
        if one.reason != ROWS_OF_NOBODY
    )


def attribute_losses(content: Content) -> tuple[tuple[str, ...], tuple[TextRow, ...]]:
    """Head cells and rows of the losses of single attributes."""
    measures = [m.name for m in LOSS if any(one.measure == m.name and one.attribute for one in content.estimates)]
    rows = []
    for name in content.masking_targets:
        found = {one.measure: one for one in content.estimates if one.attribute == name and one.measure in measures}
        rows.append(TextRow(head=name, cells=tuple(figure_text(found.get(m)) for m in measures)))
    return tuple(MEANINGS[m].title for m in measures), tuple(rows)


def _create_tile(content: Content, line: PolicyLine, criterion: Criterion) -> Tile:
    estimate = content.figure(criterion.estimate)
    counts = content.counts_behind(criterion)
    unit = name_limit_unit(line.measure, counts)
    return Tile(
        title=meaning(line.measure, counts, unit=content.context.unit).title,
        decision=criterion.decision,
        status=DECISIONS[criterion.decision],
        value=_format_estimate_against_limit(estimate, line.limit, unit),
        people="" if estimate is None else format_rate_as_count(estimate, content.edition),
        who=_name_figure_source(line, criterion),
        limit=describe_demand(line, counts),
        bound=describe_deciding_bound(criterion, estimate),
        bound_percent=f"{100 * (criterion.bound_confidence or BOUND_CONFIDENCE):.4g}",
        chance=_chance(estimate),
        note=describe_caution(content, criterion),
        bar=_limit_bar(estimate, line.limit, unit),
    )


def _name_figure_source(line: PolicyLine, criterion: Criterion) -> Sentence:
    """As short as it can be said: who, and by which attack; else of whom."""
    intruder = criterion.intruder if criterion.estimate is not None else None
    return say("policy.short_source", attribute=criterion.attribute, intruder=intruder, attack=criterion.attack,
               of_others=MEASURES[line.measure].only_of_model)  # fmt: skip


def _format_estimate_against_limit(estimate: Estimate | None, limit: float, unit: str) -> str:
    if estimate is None or estimate.value is None:
        return "no figure"
    if estimate.value == 0 < limit and estimate.measure in STATISTICS:
        return nearly_none(unit)
    return mark_bound(estimate, format_against_limit(estimate.value, limit, unit))


def _chance(estimate: Estimate | None) -> str:
    if estimate is None or estimate.chance is None:
        return ""
    return format_with_unit(estimate.chance, unit_of(estimate))


def _limit_bar(estimate: Estimate | None, limit: float, unit: str) -> Bar | None:
    if estimate is None or estimate.value is None or unit != "share":
        return None
    return Bar(100 * estimate.value, 100 * limit, None if estimate.chance is None else 100 * estimate.chance)


def _against_chance(found: list[Estimate]) -> str:
    if not found:
        return _DASH
    chance = "" if found[0].chance is None else f" (chance {format_share(found[0].chance)})"
    return f"{figure_text(found[0])}{chance}"


def _is_of(one: Estimate, attribute: str, width: float) -> bool:
    return one.attribute == attribute and dict(one.parameters)["p_percent"] == width


def list_source_facts(content: Content) -> tuple[tuple[str, str], ...]:
    """What was read, as terms and descriptions."""
    report, context = content.ingest, content.context
    separators = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
    stated = (
        ("Source", f"{report.source} ({report.format})"),
        ("Encoding", report.encoding),
        ("Delimiter", separators.get(report.delimiter or "", report.delimiter)),
        ("Rows read", count(content.rows_read)),
        find_report(content).count_rows(content),
        ("Released to", context.environment + (f": {join_with_and(context.recipients)}" if context.recipients else "")),
    )
    facts = [(term, text) for term, text in (*stated, *_list_context_facts(content)) if text is not None]
    unstated = [term.lower() for term, text in _list_context_facts(content) if text is None]
    told = [("Not stated", f"{join_with_and(unstated)}: not assessed")] if unstated else []
    return (*facts, *told)


def _list_context_facts(content: Content) -> tuple[tuple[str, str | None], ...]:
    """What only the release file can tell; None: it does not."""
    context = content.context
    return (
        ("Persons", None if content.persons is None else count(content.persons)),
        ("What a row is", context.unit),
        ("Period", context.period),
        ("Sampling fraction", None if context.sampling_fraction is None else format_share(context.sampling_fraction)),
        ("Special categories", _format_declared_list(context.special_categories)),
        ("Purpose", context.purpose),
        ("Earlier releases", _format_declared_list(context.prior_texts)),
    )


def _format_declared_list(values: tuple[str, ...] | None) -> str | None:
    return None if values is None else join_with_and(values) or "none, as declared"
