"""What a release will do, in words: a line a stage, with the parameters of each method.

Nested parameters are in brackets; of a long table of them only the size is given.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flows.release import ReleaseSpec
    from tasks.attack.membership.methods import AnyModelAttack, AnyTableAttack
    from tasks.attack.omissions import Omission
    from tasks.attack.target_looks import TargetLooks
    from tasks.attack.threat import Intruder
    from tasks.train.spec import ModelSpec

MOST = 12  # entries of a mapping or of nested lists that are written out
_EMPTY: tuple[object, ...] = ([], {}, (), "")


def describe_method(part: Any, *, without: Collection[str] = ()) -> str:
    """`microaggregation attributes age educ, k 5`; what is not given or empty is left out. part: a params model.

    A mapping is written out as `bases (age 5; income 500)`; of one with more than twelve entries only their number is told.
    without: names of parameters that have no effect beside the others.
    """
    given = part.model_dump(mode="json", exclude_none=True, exclude=set(without))
    return describe_method_fields(given)


def describe_method_fields(fields: Mapping[str, Any]) -> str:
    """The same of the fields themselves, as a manifest keeps them."""
    given = {key: value for key, value in fields.items() if value is not None and value not in _EMPTY}
    name = given.pop("method", None) or given.pop("measure")
    return " ".join([name, ", ".join(f"{key} {_format_value(value)}" for key, value in given.items())]).strip()


def _format_value(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case dict():
            return _bracket_parts([f"{key} {_format_inner(part)}" for key, part in value.items()])
        case list() if any(isinstance(part, dict | list) for part in value):
            return _bracket_parts([_format_inner(part) for part in value])
        case list():
            return " ".join(map(str, value))
        case _:
            return str(value)


def _format_inner(value: Any) -> str:
    """A value inside a mapping or a list: mappings without brackets of their own."""
    if not isinstance(value, dict):
        return _format_value(value)
    given = {key: part for key, part in value.items() if part is not None and part not in _EMPTY}
    if len(given) > MOST:
        return f"of {len(given):,} entries"
    return ", ".join(f"{key} {_format_value(part)}" for key, part in given.items())


def _bracket_parts(parts: list[str]) -> str:
    return f"({'; '.join(parts)})" if len(parts) <= MOST else f"of {len(parts):,} entries"


def describe_plan(release: ReleaseSpec, intruders: tuple[Intruder, ...]) -> list[tuple[str, str]]:
    """The stages of a release, each with what it will do, one line a part."""
    from tasks.score.kinds import KINDS

    order = "shuffled" if release.keep_row_order is None else f"in the source's order: {release.keep_row_order}"
    expected = f"; {_format_count(len(release.expect), 'expectation')}" if release.expect else ""
    rows = [("ingest", f"{release.source.label}{expected}")]
    declared = f"{_format_count(len(release.attributes), 'attribute')} declared; every other one by its evidence"
    rows.append(("classify", declared if release.attributes else "every attribute by its evidence"))
    if release.control_share is not None:
        rows.append(("control", f"{100 * release.control_share:.3g} % set aside at random, and never released"))
    rows += [("mask", describe_method(step)) for step in release.masking or ()]
    if release.released is not None:
        method = "; ".join(map(describe_method, release.released.mechanism)) or "a method that is not declared"
        whose = f"aligned by {release.released.align}; masked by {method}"
        whose = whose if release.kind.has_owners else "fully synthetic: its rows belong to nobody"
        rows.append(("mask", f"taken from {release.released.label}, {whose}"))
    if release.model is not None:
        rows.append(("train", _model_in_words(release.model)))
    if intruders:
        rows.append(("intruder", _describe_declared_intruder(intruders[0], release.intruder.targets)))
    names = _join_intruder_names([intruder.name for intruder in intruders], several=release.intruder.insiders is not None)
    rows += [("attack", f"{describe_method(attack)} by {names}") for attack in release.attacks_to_run]
    asks = "who is in the file" if release.kind.is_table else "whose records the model was trained on"
    rows += [("attack", f"{_describe_membership_attack(attack)} on {asks}") for attack in release.membership_attacks]
    rows += [("attack", f"{describe_method(attack)} on confidential values") for attack in release.inference_attacks]
    if not release.kind.is_table:
        rows += [("attack", f"{name} on confidential values") for name in release.inference_ids]
    if release.limits_singling_out:
        rows.append(("attack", "singling out, by predicates over at most three quasi-identifiers"))
    rows += [
        ("attack", f"{omission.attack} is omitted{_format_omission_suffix(omission)}: {omission.reason}")
        for omission in release.omit
    ]
    added = "".join(f"; {describe_method(measure)}" for measure in release.measures_to_compute)
    rows.append(("score", f"the measures that always run{added}"))
    rows += [("policy", _line_in_words(line)) for line in release.policy]
    reasons = ((kind, reason) for kind in KINDS if (reason := release.not_limited.reason(kind)) is not None)
    rows += [("policy", f"{kind} is not limited: {reason}") for kind, reason in reasons]
    released = f"released.{release.publish.format}" if release.kind.is_table else "model.skops"
    shown_rows = f"; rows {order}" if release.kind.is_table else ""
    rows.append(("report", f"{released} and certificate.json (if certified{shown_rows}), report.html, scorecard.json"))
    return rows


def _describe_membership_attack(attack: AnyModelAttack | AnyTableAttack) -> str:
    """A membership attack; without `shadows` if it uses no shadow models."""
    from tasks.attack.membership.methods import AnyTableAttack, teaching

    idle = not isinstance(attack, AnyTableAttack) and teaching(attack) is None
    return describe_method(attack, without=("shadows",) if idle else ())


def _model_in_words(spec: ModelSpec) -> str:
    if spec.learner is None:
        return f"nothing: the model in {Path(str(spec.file)).name} is released as it is, which predicts {spec.target}"
    return f"{describe_method(spec.learner)} on the {spec.trained_on} table, to predict {spec.target}"


def describe_looks(targets: float | TargetLooks, held: float, units: int, counts: str) -> list[tuple[str, str]]:
    """One row for the plan of `sdcert check`: how many records or persons each planned look attacks; none without looks.

    held: the share that the intruder holds of so many units.
    """
    from tasks.attack.outcomes.outcome import count_sampled_units
    from tasks.attack.target_looks import plan_looks

    planned = plan_looks(targets)
    if not planned:
        return []
    sizes = [f"{count_sampled_units(units, look.share * held):,}" for look in planned]
    sure = f"each bound one-sided {100 * (1 - planned[0].error):.4g} %"
    return [("looks", f"at {', '.join(sizes[:-1])} and {sizes[-1]} of {units:,} {counts}, until the policy is decided; {sure}")]


def _describe_declared_intruder(declared: Intruder, targets: float | TargetLooks) -> str:
    """What the declared intruder knows, holds of it and of how many records; insiders hold the original values of as many."""
    from tasks.attack.linkage.holding import describe_holdings
    from tasks.attack.target_looks import TargetLooks

    whose = "all records" if declared.records == 1 else f"{100 * declared.records:.3g} % of the records, drawn at random"
    texts = [f"knows {', '.join(declared.knows)} of {whose}"]
    if declared.holds:
        texts.append(
            f"holds {describe_holdings(declared.holds)} instead of the original values, in linkage (insiders: the originals)"
        )
    if isinstance(targets, TargetLooks):
        first, last = 100 * targets.first, 100 * targets.last
        texts.append(f"{first:.3g} % to {last:.3g} % of these records are scored, in up to {targets.looks} looks")
    elif targets < 1:
        texts.append(f"{100 * targets:.3g} % of these records are scored")
    if not declared.participation_known:
        texts.append("does not know who is in the release")
    return "; ".join(texts)


def _join_intruder_names(intruders: list[str], *, several: bool) -> str:
    """The intruders by name; those of the knowledge curve as one, and so are insiders who know `several` columns."""
    from tasks.attack.insiders import SEPARATOR
    from tasks.attack.threat import is_on_knowledge_curve

    larger = [name for name in intruders if several and name.startswith("insider:") and SEPARATOR in name]
    fewer = sum(is_on_knowledge_curve(name) for name in intruders)
    named = [name for name in intruders if not is_on_knowledge_curve(name) and name not in larger]
    texts = [f"{len(larger)} insiders who know several columns"] if larger else []
    texts += [f"and intruders who know 1 to {fewer} of the declared intruder's attributes"] if fewer else []
    return ", ".join([*named, *texts])


def _format_count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _line_in_words(line: Any) -> str:
    given = line.model_dump(mode="json", exclude_none=True)
    limit = f"at most {given.pop('at_most')}" if "at_most" in given else f"at least {given.pop('at_least')}"
    measure = given.pop("measure")
    rest = ", ".join(f"{key} {value}" for key, value in given.items())
    return f"{measure} {limit}{', ' + rest if rest else ''}"


def _format_omission_suffix(omission: Omission) -> str:
    """For whom an attack is omitted, or of which earlier release."""
    of_release = "" if omission.release is None else f" on {omission.release}"
    return f"{_format_intruder_suffix(omission.intruder)}{of_release}"


def _format_intruder_suffix(intruder: str | None) -> str:
    return "" if intruder is None else f" for {intruder}"
