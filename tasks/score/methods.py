"""The measures: which there are, what each says, and all figures of one release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, assert_never

from pydantic import Field

from tasks.attack.outcomes.outcome import AttackResult
from tasks.attack.target_looks import TargetLook
from tasks.mask.methods import Mechanism
from tasks.microdata.alignment import NoAlignment, RowAlignment
from tasks.microdata.errors import InputError
from tasks.microdata.estimate import Estimate
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.schema import Schema
from tasks.microdata.table import Microdata
from tasks.score.anonymity import KAnonymitySubset, k_anonymity_subset
from tasks.score.attack_coverage import EARLIER
from tasks.score.catalogue import MEASURES
from tasks.score.cell_figures import CellMembersExposed, cell_members_exposed
from tasks.score.declared_rules import ResultsHidden
from tasks.score.hidden_results import results_hidden
from tasks.score.interval_disclosure import (
    RankIntervalDisclosure,
    SdIntervalDisclosure,
    rank_interval_disclosure,
    sd_interval_disclosure,
)
from tasks.score.joined_releases import JoinedTruth
from tasks.score.linkage import estimate_changed_people, linkage_estimates
from tasks.score.subgroups import Subgroup, find_subgroups
from tasks.score.synthetic.synthetic_figures import compute_synthetic_figures
from tasks.score.synthetic.uniques import Uniques
from tasks.score.table_measures import compute_family
from tasks.score.table_pair import RowwiseTablePair, TablePair

AnyMeasure = RankIntervalDisclosure | SdIntervalDisclosure | KAnonymitySubset | Uniques | CellMembersExposed | ResultsHidden
SelectedMeasure = Annotated[AnyMeasure, Field(discriminator="measure")]
ALWAYS: tuple[AnyMeasure, ...] = (RankIntervalDisclosure(), SdIntervalDisclosure())


def score(
    original: Microdata,
    masked: Microdata,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    results: tuple[AttackResult, ...],
    measures: tuple[SelectedMeasure, ...],
    *,
    alignment: RowAlignment,
    n_targets: int,
    files: Mapping[str, GroundTruth] | None = None,
    joined: Mapping[str | None, JoinedTruth] | None = None,
    look: TargetLook | None = None,
) -> tuple[Estimate, ...]:
    """All figures of one release.

    Parameters
    ----------
    original, masked: n and m <= n rows; row i of `masked` is the released form of record `alignment.record[i]`.
    mechanisms: the masking steps as they were applied, with their attributes. results: one per attack and intruder.
    measures: those of the release file; they are added to those that always run.
    n_targets: the population of targets: all records, or all persons where the schema names a person key.
    files: the ground truth of the results of somebody who has an external file, by the intruder's name.
    joined: of results about earlier releases, by the earlier release whose rows were linked; None: those of this one.
    look: the planned look at which the targets were taken; None: there is one sample of them, or all.

    Returns the figures in a fixed order: the attacks in the order given, disclosure, loss; no two have one id. Linkage is about
    all targets; disclosure and loss are about the released records, and `records_absent` says how many are not. Where the rows
    belong to nobody, what compares a record with its row is not applicable, and measures of whole tables take its place.
    Raises InputError where a measure does not fit the table, or two results are of the same attack and intruder; ValueError
    where the tables do not fit their alignment, or there are not so many targets.
    """
    truth = GroundTruth.create_from_tables(original, masked, schema, alignment)
    if n_targets != truth.units.n_units:
        raise ValueError(f"there are {truth.units.n_units} {truth.units.counts}, not {n_targets} targets")
    by_attack = estimate_attacks(truth, schema, results, files=files or {}, joined=joined or {}, look=look)
    if isinstance(alignment, NoAlignment):
        return refuse_repeated_figures(
            (*by_attack, *compute_synthetic_figures(TablePair(original, masked, schema, mechanisms), measures))
        )
    released = original if alignment.complete else original.take(alignment.record)
    tables = RowwiseTablePair(released, masked, schema, mechanisms, original)
    chosen = (estimate for spec in (*ALWAYS, *measures) for estimate in _compute_measure(tables, spec))
    return refuse_repeated_figures((*by_attack, *dict.fromkeys(chosen), *compute_family(MEASURES.values(), tables)))


def estimate_attacks(
    truth: GroundTruth,
    schema: Schema,
    results: tuple[AttackResult, ...],
    *,
    files: Mapping[str, GroundTruth],
    joined: Mapping[str | None, JoinedTruth],
    look: TargetLook | None = None,
) -> tuple[Estimate, ...]:
    """The figures of the linkage attacks, in their order; other arguments as of `score`."""
    subgroups = find_subgroups(truth.original, schema, truth.units)
    return tuple(
        estimate
        for result in results
        for estimate in (
            _estimate_joined(result, {None: JoinedTruth(truth, schema, ()), **joined}, subgroups, look)
            if result.method == EARLIER
            else linkage_estimates(result, files.get(result.intruder, truth), schema, subgroups, look)
        )
    )


def _estimate_joined(
    result: AttackResult,
    joined: Mapping[str | None, JoinedTruth],
    subgroups: tuple[Subgroup, ...],
    look: TargetLook | None,
) -> Iterator[Estimate]:
    """The figures of an attack by earlier releases. Of an earlier release that cannot be attacked nothing is known but that."""
    of = joined.get(result.earlier) or joined[None]
    yield from linkage_estimates(result, of.truth, of.schema, subgroups if result.earlier is None else (), look)
    yield from estimate_changed_people(result, of.truth, of.changes, look)


def describe() -> tuple[dict[str, str], ...]:
    """One row per measure, for `sdcert methods score`."""
    wanted = {"lower": "lower is better", "higher": "higher is better", None: "a baseline or read beside one: decides nothing"}
    return tuple(
        {
            "measure": measure.name,
            "what it says": measure.says,
            "range": f"0..{'' if measure.largest is None else f'{measure.largest:g}'} {measure.unit}",
            "direction": wanted[measure.better],
            "chance": measure.chance,
        }
        for measure in MEASURES.values()
    )


def _compute_measure(tables: RowwiseTablePair, spec: SelectedMeasure) -> tuple[Estimate, ...]:
    match spec:
        case RankIntervalDisclosure():
            return rank_interval_disclosure(tables, spec)
        case SdIntervalDisclosure():
            return sd_interval_disclosure(tables, spec)
        case KAnonymitySubset():
            return (k_anonymity_subset(tables, spec),)
        case CellMembersExposed():
            return cell_members_exposed(tables, spec)
        case ResultsHidden():
            return results_hidden(tables, spec)
        case Uniques():
            what = f"{spec.measure} is measured where the rows of the release belong to nobody"
            raise InputError("measure-of-nobody", "measures", what, "a release with `align: none`", "take it out", spec.measure)
        case _:
            assert_never(spec)


def refuse_repeated_figures(estimates: tuple[Estimate, ...]) -> tuple[Estimate, ...]:
    """The figures, no two of which have one id; else InputError."""
    seen: set[str] = set()
    for estimate in estimates:
        if estimate.id in seen:
            raise InputError(
                code="figure-twice",
                where="attacks, measures",
                what="two figures of the release have the same id, so a policy could not tell them apart",
                allowed="one attack per id and intruder",
                remedy="give each attack an id of its own",
                value=estimate.id,
            )
        seen.add(estimate.id)
    return estimates
