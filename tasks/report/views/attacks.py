"""The attacks as the page shows them: the declared intruder's figures with their meaning, the insiders' beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tasks.attack.insiders import list_columns
from tasks.attack.omissions import Omission
from tasks.attack.outcomes.belief import TruthMasses
from tasks.attack.outcomes.outcome import AttackResult
from tasks.attack.threat import is_on_knowledge_curve
from tasks.microdata.alignment import ROWS_OF_NOBODY
from tasks.microdata.estimate import Estimate
from tasks.microdata.numbers import format_share, format_with_unit
from tasks.report.charts.editions import Edition
from tasks.report.content import Content, extract_extra_knowledge, is_insider, parse_external_file
from tasks.report.kinds import find_report
from tasks.report.views.learned import LearnedView, create_learned_view
from tasks.report.views.probable import ProbableView, probable_view
from tasks.report.views.rows import Bar, FigureRow, TextRow, figure_text, format_rate_as_count
from tasks.report.views.table_risks import gain_over_baselines
from tasks.report.wording.figure_formats import caution, unit_of
from tasks.report.wording.meanings import meaning
from tasks.report.wording.names import attack_title, expand_code_names, intruder_in_words
from tasks.report.wording.sentence import say
from tasks.score.catalogue import LINKAGE
from tasks.score.measures.linkage import GROUPS_EXPOSED, LINKED_VALUE_CONTROL, LINKED_VALUE_DISCLOSED, REIDENTIFICATION
from tasks.score.policy import DECLARED

TABLE_FIGURES = tuple(measure.name for measure in LINKAGE if measure.about == "table" or measure.name == GROUPS_EXPOSED.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRows:
    """Confidential values read off the linked records: the declared intruder's beside their baselines, the others' gains."""

    declared: tuple[TextRow, ...]
    insider_heads: tuple[str, ...]
    insiders: tuple[TextRow, ...]
    file_heads: tuple[str, ...]
    files: tuple[TextRow, ...]


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
    file_heads: tuple[str, ...]
    files: tuple[TextRow, ...]
    files_know: tuple[TextRow, ...]
    values: ValueRows
    masses: tuple[TextRow, ...]
    masses_of_others: tuple[TextRow, ...]
    learned: LearnedView | None
    probable: ProbableView | None


def attack_views(content: Content) -> tuple[AttackView, ...]:
    """The attacks that ran, each with the declared intruder's figures and the insiders' beside them."""
    by_id = {name: [result for result in content.attacks if result.attack == name] for name in content.attack_ids}
    return tuple(_attack_view(content, results) for results in by_id.values())


def idle_attacks(content: Content) -> tuple[TextRow, ...]:
    """Attacks that gave no figure, with the reason: omitted, not applicable, not followed, or failed."""
    omitted = [
        TextRow(head=attack_title(one.attack), cells=(_name_omitted_intruders(one), "omitted", one.reason))
        for one in content.omissions
    ]
    silent = [
        TextRow(
            head=say("figures.attack", method=result.method, name=result.attack),
            cells=(intruder_in_words(result.intruder), result.status.replace("_", " "), result.reason or "no reason was given"),
        )
        for result in content.attacks
        if result.status != "ok" and not is_on_knowledge_curve(result.intruder)
    ]
    return (*omitted, *silent)


def _name_omitted_intruders(one: Omission) -> str:
    kinds = {None: "all", "insider": "insiders", "file": "holders of external files"}
    return kinds.get(one.intruder) or intruder_in_words(one.intruder or "")


def _attack_view(content: Content, results: list[AttackResult]) -> AttackView:
    own = next((result for result in results if result.intruder == DECLARED), results[0])
    figures = [one for one in content.estimates if one.attack == own.attack]
    of_files = [one for one in figures if parse_external_file(one.intruder) and one.status == "ok"]
    others = [one for one in figures if not parse_external_file(one.intruder)]
    measured = [name for name in TABLE_FIGURES if any(one.measure == name and one.status == "ok" for one in others)]
    in_files = [name for name in TABLE_FIGURES if any(one.measure == name for one in of_files)]
    return AttackView(
        title=say("figures.attack", method=own.method, name=own.attack),
        id=own.attack,
        infers=expand_code_names(own.infers),
        knows_data=own.knows_data,
        knows_mechanism=expand_code_names(own.knows_mechanism),
        settings=find_report(content).describe_settings(own),
        rates=tuple(
            _rate_row(one, content.edition, content.context.unit)
            for one in figures
            if one.intruder == DECLARED and one.measure in TABLE_FIGURES and one.reason != ROWS_OF_NOBODY
        ),
        insider_heads=tuple(meaning(name, content.counts).title for name in measured),
        insiders=tuple(_insider_rows([one for one in figures if is_insider(one)], measured)) if measured else (),
        file_heads=tuple(meaning(name, content.counts).title for name in in_files),
        files=tuple(_file_rows(results, of_files, in_files)),
        files_know=tuple(
            TextRow(head=parse_external_file(one.intruder), cells=(one.knows_data,)) for one in _select_file_results(results)
        ),
        values=_value_rows(content, figures),
        masses=tuple(_mass_rows(content, own.attack)),
        masses_of_others=tuple(_mass_rows_of_others(content, own.attack)),
        learned=None if own.learned is None else create_learned_view(own.learned),
        probable=None if own.probable is None else probable_view(own.probable, content, own.attack),
    )


def _mass_rows(content: Content, attack: str) -> Iterator[TextRow]:
    """Belief, plausibility and pignistic value of the true rows, to the declared intruder; in the internal edition alone."""
    if content.edition == "public" or content.charts is None:
        return
    for one in content.charts.masses.get(attack, ()):
        yield TextRow(head=one.on, cells=_mass_cells(one))


def _mass_rows_of_others(content: Content, attack: str) -> Iterator[TextRow]:
    """The same, to insiders and holders of external files."""
    if content.edition == "public" or content.charts is None:
        return
    for intruder, masses in content.charts.masses_of_others.get(attack, {}).items():
        for one in masses:
            yield TextRow(head=intruder_in_words(intruder), cells=(one.on, *_mass_cells(one)))


def _mass_cells(one: TruthMasses) -> tuple[str, ...]:
    values = (one.belief, one.plausibility, one.pignistic, one.median, one.ninth_decile, one.largest, one.half)
    return tuple(format_share(value) for value in values)


def _rate_row(one: Estimate, edition: Edition, unit: str | None) -> FigureRow:
    words = meaning(one.measure, one.counts, unit=unit)
    is_share = one.value is not None and one.unit == "share"
    return FigureRow(
        title=words.title,
        sentence=" ".join(filter(None, [words.sentence, caution(one)])),
        value=figure_text(one),
        chance="" if one.chance is None else format_with_unit(one.chance, unit_of(one)),
        note=format_rate_as_count(one, edition),
        bar=Bar(100 * (one.value or 0.0), chance=None if one.chance is None else 100 * one.chance) if is_share else None,
    )


def _insider_rows(figures: list[Estimate], measured: list[str]) -> Iterator[TextRow]:
    by_insider: dict[str, dict[str, Estimate]] = {}
    for one in figures:
        by_insider.setdefault(one.intruder or "", {})[one.measure] = one
    for insider, found in sorted(by_insider.items(), key=_compute_rate_sort_key):
        cells = tuple(figure_text(found.get(name)) for name in measured)
        yield TextRow(head=extract_extra_knowledge(insider), cells=cells)


def _file_rows(results: list[AttackResult], figures: list[Estimate], measured: list[str]) -> Iterator[TextRow]:
    for result in _select_file_results(results):
        found = {one.measure: one for one in figures if one.intruder == result.intruder}
        cells = tuple(figure_text(found.get(measure)) for measure in measured)
        yield TextRow(head=parse_external_file(result.intruder), cells=cells)


def _select_file_results(results: list[AttackResult]) -> list[AttackResult]:
    return [one for one in results if parse_external_file(one.intruder) and one.status == "ok"]


def _compute_rate_sort_key(insider: tuple[str, dict[str, Estimate]]) -> float:
    rate = insider[1].get(REIDENTIFICATION.name)
    return 0.0 if rate is None or rate.value is None else -rate.value


def _value_rows(content: Content, figures: list[Estimate]) -> ValueRows:
    told = [one for one in figures if one.measure == LINKED_VALUE_DISCLOSED.name and one.value is not None]
    controls = {(one.intruder, one.attribute): one for one in figures if one.measure == LINKED_VALUE_CONTROL.name}
    declared = tuple(
        TextRow(
            head=one.attribute or "",
            cells=(
                figure_text(one),
                _baseline(one),
                figure_text(controls.get((one.intruder, one.attribute))),
                say("attacks.gain", points=100 * gain_over_baselines(content, one)),
            ),
        )
        for one in told
        if one.intruder == DECLARED
    )
    insider_heads, insiders = _gains(content, [one for one in told if is_insider(one)])
    file_heads, files = _gains(content, [one for one in told if parse_external_file(one.intruder)])
    return ValueRows(declared=declared, insider_heads=insider_heads, insiders=insiders, file_heads=file_heads, files=files)


def _gains(content: Content, told: list[Estimate]) -> tuple[tuple[str, ...], tuple[TextRow, ...]]:
    """One row for each intruder, one cell for each attribute that some of them does not know."""
    heads = tuple(name for name in content.schema.names if any(one.attribute == name for one in told))
    names = dict.fromkeys(one.intruder or "" for one in told)
    rows = (
        TextRow(
            head=extract_extra_knowledge(name) or parse_external_file(name),
            cells=tuple(_format_gain_cell(content, told, name, attribute) for attribute in heads),
        )
        for name in names
    )
    return heads, tuple(rows)


def _format_gain_cell(content: Content, told: list[Estimate], intruder: str, attribute: str) -> str:
    one = next((one for one in told if (one.intruder, one.attribute) == (intruder, attribute)), None)
    if one is None:
        return "known" if attribute in list_columns(intruder, content.schema.names) else "\u2013"
    return say("attacks.told_with_gain", figure=figure_text(one), points=100 * gain_over_baselines(content, one))


def _baseline(one: Estimate) -> str:
    return "\u2013" if one.chance is None else format_share(one.chance)
