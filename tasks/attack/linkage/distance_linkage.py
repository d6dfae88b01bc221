"""Distance-based record linkage: each record is linked to the nearest, ties shared; or all are assigned to each other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np
from pydantic import Field

from tasks.attack.base import AttackContext, AttackDescription, AttackFindings, AttackTraits, DataAttack
from tasks.attack.descriptions import DataKnowledge
from tasks.attack.linkage.assignment import solve_assignment
from tasks.attack.linkage.specs import (
    Distance,
    Euclidean,
    Gower,
    Kernel,
    Mahalanobis,
    create_distance_form,
    list_named_attributes,
)
from tasks.attack.neighbours.nearest import Search
from tasks.attack.neighbours.record_comparison import (
    ORDERED,
    SQUARED,
    ComparedBy,
    Comparison,
    ScaleBy,
    compute_differences,
    create_comparison,
)
from tasks.attack.outcomes.links import Links
from tasks.attack.outcomes.outcome import searching_records
from tasks.mask.methods import Mechanism
from tasks.microdata.errors import InputError, NotApplicable, NotFollowed
from tasks.microdata.ground_truth import RecordPairs
from tasks.microdata.schema import CATEGORICAL, Schema
from tasks.microdata.spec import Public
from tasks.microdata.suggestion import did_you_mean
from tasks.microdata.table import Floats, Integers, Microdata


class DistanceLinkage(DataAttack):
    """Parameters of distance-based linkage.

    id: what the attack is called in figures and policy lines; default: the method's name.
    scale_by: whose standard deviations scale the differences: the release's, the original's, or each file's own.
    direction: `to_release`: each known record looks for its released row, as in the scenario; `to_original`: each released
        row looks for its record.
    distance: how the differences of the attributes are joined; default: all weigh the same.
    compare: for some attributes how two of their values are compared; default: by the squared difference what has an order, by
        equality the rest.
    matching: `nearest`: each record for itself; `one_to_one`: all records together, no row for two of them.
    """

    about = AttackDescription(
        title="Distance-based linkage",
        infers="links each record to the released rows that are nearest to it, ties shared",
        note="",
        knows_of_data="the original values of the known attributes",
        knows_of_masking="nothing",
        parameters="id, scale_by (release, original, own), direction (to_release, to_original), distance (euclidean, "
        "mahalanobis, kernel, weighted_mean, owa, choquet, choquet_2_additive, bilinear, gower), compare (per attribute: "
        "squared, absolute, rank, equality, hierarchy, date_parts), matching (nearest, one_to_one)",
        holder=None,
        is_worst_case=False,
        has_probabilities=False,
        required_by="masking steps",
        required_form=" (to_release, scaled by the release, its plain distance)",
    )

    method: Public[Literal["distance_linkage"]]
    scale_by: Public[ScaleBy] = "release"
    direction: Public[Literal["to_release", "to_original"]] = "to_release"
    distance: Public[Distance] = Field(Euclidean(), description="default: every attribute weighs the same")
    compare: ComparedBy | None = None
    matching: Public[Literal["nearest", "one_to_one"]] = "nearest"

    @property
    def is_plain(self) -> bool:
        """Is it what any intruder would do first?"""
        return isinstance(self.distance, Euclidean) and self.compare is None and self.matching == "nearest"

    @property
    def is_fitted(self) -> bool:
        """Does its distance follow from who is who?"""
        return isinstance(self.distance, Mahalanobis) and self.distance.covariance == "differences"

    @property
    def rule(self) -> str:
        """What the attack does, in words."""
        how = _RULES[self.matching] if self.is_plain or self.matching == "one_to_one" else _RULES["nearest"]
        by = "" if isinstance(self.distance, Euclidean) else f", by the distance {self.distance.kind.replace('_', ' ')}"
        fitted = " of the differences between the records and their own rows" if self.is_fitted else ""
        return how + by + fitted

    @classmethod
    def is_required(cls, steps: tuple[Mechanism, ...], *, keeps_row_order: bool) -> bool:
        return True

    @property
    def traits(self) -> AttackTraits:
        to_original, together = self.direction == "to_original", self.matching == "one_to_one"
        return AttackTraits(
            searches_originals=to_original,
            scale_by=self.scale_by,
            assigns_together=together,
            depends_on_others=self.is_fitted or together,
            needs_originals=False,
            uses_external_files=True,
            needs_all_records="the released rows search all records of the source" if to_original else None,
            reads_similar_rows=True,
            attacks_synthetic_rows=not together and not self.is_fitted,
            is_required_form=not to_original and self.scale_by == "release" and self.is_plain,
            sample_size=None,
        )

    def describe_known_data(self, known: DataKnowledge) -> str:
        return known.describe(own_file=True)

    def run(self, context: AttackContext) -> AttackFindings:
        if self.is_fitted and context.of_persons:
            raise NotFollowed("the covariance of the differences is defined for tables of one row per person")
        own, masked, schema, pairs = context.own_file, context.truth.masked, context.schema, context.truth.record_pairs
        searching = None if self.traits.depends_on_others else searching_records(context.truth.units, context.targets)
        links = link_by_distance(own, masked, schema, self, context.knows, pairs, searching=searching)
        if self.is_fitted:
            chance = compute_permutation_chance(own, masked, schema, self, context.intruder.knows, pairs)
            return AttackFindings(links, permutation_chance=chance)
        return AttackFindings(links, n_given=links.n_given if self.matching == "one_to_one" else None)

    def link_synthetic_rows(self, own: Microdata, shown: Microdata, schema: Schema, knows: tuple[str, ...]) -> Links:
        return link_by_distance(own, shown, schema, self, knows)


PERMUTATIONS = 20  # of the truths, for the chance of a fitted attack
_RULES = {
    "nearest": "links each record to the released rows that are nearest to it, ties shared",
    "one_to_one": "assigns the records to the released rows one to one, so that all are as near as can be together",
}


def link_by_distance(
    original: Microdata,
    masked: Microdata,
    schema: Schema,
    spec: DistanceLinkage,
    knows: tuple[str, ...],
    pairs: RecordPairs | None = None,
    *,
    searching: Integers | None = None,
) -> Links:
    """Link each record to all records at the least distance, or all records to each other one to one.

    Meaning: the plainest intruder, who knows some attributes of each record and nothing of how the table was masked; they may
    weigh the attributes differently, and somebody who has many records may link them together.
    Formula in words: a squared distance of `neighbours.distances` over the known attributes, by the stated scale; by default
    the plain one. All records within a relative 1e-9 of the least squared distance are linked, and share the credit.
    One to one: the assignment of records to rows with the least sum of squared distances (`assignment.solve_assignment`), each
    link with how much dearer the best assignment without it is.

    Parameters
    ----------
    original, masked: tables of n and m rows; the order of their rows is not used.
    knows: the attributes the intruder knows; published, at least one.
    pairs: who is who, for a distance that follows from it. searching: the records whose links are wanted, where each searches
        for its own row; default: all. What is found of them depends on none of the others, whose links stand empty.

    Returns the links of the records of the searching file; those to the nearest with the least squared distance and the next.
    A tie of t earns 1/t, so that guessing earns 1/n on average.
    Raises NotApplicable if the intruder knows nothing, or too little for the distance; InputError as `create_comparison` does,
    and for a distance that names what the table has not. Cost: as `Search.nearest` and `solve_assignment`.
    Source: Torra, Abowd, Domingo-Ferrer (2006) and D11.2, section 2.3. Done otherwise than there: nearest records are shared
    instead of the first being taken, and both files are scaled by the release. Example: on a constant release all rows tie.
    """
    if not knows:
        raise NotApplicable("the intruder knows no published attribute")
    if searching is None or spec.direction == "to_original":
        return link_prepared_files(*prepare_files(original, masked, schema, spec, knows), spec, pairs)
    of_all = isinstance(spec.distance, Mahalanobis) and spec.scale_by == "original"  # its covariance is that of all records
    files, named = prepare_files(original, masked, schema, spec, knows, wanted=None if of_all else searching)
    links = link_prepared_files(files, named, spec, pairs, searching if of_all else None)
    return links.expand_links(searching, original.n)


def prepare_files(
    original: Microdata,
    masked: Microdata,
    schema: Schema,
    spec: DistanceLinkage,
    knows: tuple[str, ...],
    *,
    wanted: Integers | None = None,
) -> tuple[Comparison, tuple[str, ...]]:
    """Both files in the columns of the distance, and the attributes that it is about, which stand first in them.

    wanted: the records that are compared; default: all.
    """
    compared = (name for name, _ in spec.compare or ())
    check_names((*list_named_attributes(spec.distance), *compared), schema, "attacks: distance_linkage")
    named = _own(spec, schema, knows)
    arranged = (*named, *(name for name in knows if name not in named))
    both, shares = (original, masked, schema, arranged, spec.scale_by, spec.compare or ()), isinstance(spec.distance, Gower)
    # an assignment takes one of several by the order, and sums over all records are rounded by it
    sorts = spec.matching == "one_to_one" or isinstance(spec.distance, (Mahalanobis, Kernel))
    return create_comparison(*both, shares=shares, wanted=wanted, sorts=sorts), named


def check_names(names: Iterable[str], schema: Schema, where: str) -> None:
    """Raises InputError for an attribute that the table has not."""
    for name in names:
        if name not in schema:
            remedy = did_you_mean(name, schema.names, "compare it with the column names of the table")
            what = f"the table has no attribute `{name}`"
            raise InputError("unknown-attribute", where, what, ", ".join(schema.release_columns), remedy, name)


def link_prepared_files(
    files: Comparison,
    named: tuple[str, ...],
    spec: DistanceLinkage,
    pairs: RecordPairs | None,
    wanted: Integers | None = None,
) -> Links:
    """The links by a distance of the family, between files that were prepared for it; of all records, or of those wanted alone.

    Those wanted stand in their order, and search for their rows.
    """
    covariance = _covariance(files, len(named), spec, pairs) if isinstance(spec.distance, Mahalanobis) else None
    files = files if wanted is None else files.select_records(wanted)
    form = create_distance_form(spec.distance, named, files.columns.n_attributes - len(named), covariance)
    if spec.direction == "to_release":
        search = Search(files.own, files.shown, files.columns, form)
        searching, found = files.own_of_record, files.shown_of_row
    else:
        search = Search(files.own, files.shown, files.columns, form, is_turned=True).swap_sides()  # the same distance both ways
        searching, found = files.shown_of_row, files.own_of_record
    if spec.matching == "one_to_one":
        given = solve_assignment(search, searching, found)
        return Links(found, searching, given.starts, given.classes, least=given.least, runner_up=given.runner_up)
    answer = search.nearest()
    return Links(found, searching, answer.starts, answer.found, least=answer.least, runner_up=answer.runner_up)


def compute_permutation_chance(
    original: Microdata, masked: Microdata, schema: Schema, spec: DistanceLinkage, knows: tuple[str, ...], pairs: RecordPairs
) -> float:
    """What a fitted attack earns, over all records, where who is who was permuted before it was fitted: the mean of 20 draws.

    A guess that does not look earns 1 / n of them, or less where records are absent (`GroundTruth.chance`); a fit to the
    answers earns a little more.
    """
    files, named = prepare_files(original, masked, schema, spec, knows)
    rng = np.random.default_rng(PERMUTATIONS)
    rates = []
    for _ in range(PERMUTATIONS):
        wrong = _permute_pairs(rng, spec, pairs, original.n, masked.n)
        links = link_prepared_files(files, named, spec, wrong)
        searching, truth = (wrong.records, wrong.rows) if spec.direction == "to_release" else (wrong.rows, wrong.records)
        rates.append(float(links.guesses(searching).credit(truth).sum()) / original.n)
    return float(np.mean(rates))


def _permute_pairs(rng: np.random.Generator, spec: DistanceLinkage, pairs: RecordPairs, n: int, m: int) -> RecordPairs:
    """Who is who, permuted: what is found is dealt out with what is nobody's, for a guess does not know what that is.

    Of an assignment what searches is dealt out so too: who is given nothing is as likely to be there as who is given something.
    """
    together, to_release = spec.matching == "one_to_one", spec.direction == "to_release"
    rows, records = pairs.rows, pairs.records
    if together or to_release:
        rows = np.concatenate([rows, np.setdiff1d(np.arange(m), rows)])
    rows = rows[rng.permutation(len(rows))][: len(pairs.rows)]
    if len(records) < n and (together or not to_release):
        records = rng.permutation(n)[: len(records)]
    return RecordPairs(records, rows)


def _own(spec: DistanceLinkage, schema: Schema, knows: tuple[str, ...]) -> tuple[str, ...]:
    """The attributes that the intruder knows and the distance is about, in a fixed order."""
    if not isinstance(spec.distance, Mahalanobis):
        return tuple(name for name in list_named_attributes(spec.distance) if name in knows)
    compared = {name: how.by for name, how in spec.compare or ()}
    default = {name: "equality" if schema[name].scale in CATEGORICAL else "squared" for name in knows}
    signed = tuple(name for name in knows if compared.get(name, default[name]) in ORDERED and compared.get(name) != "absolute")
    if not signed:
        raise NotApplicable("the intruder knows no attribute with an order, so that there is no covariance")
    return signed


def _covariance(files: Comparison, d: int, spec: DistanceLinkage, pairs: RecordPairs | None) -> Floats:
    """The covariance of the first d attributes, which have an order, as the distance of the attributes scales them."""
    if spec.is_fitted:
        if pairs is None:
            raise NotApplicable("who is who has to be known for the covariance of the differences")
        apart = compute_differences(
            files.own[files.own_of_record[pairs.records]],
            files.shown[files.shown_of_row[pairs.rows]],
            *(files.columns.kind, files.columns.weight, files.columns.attribute, files.columns.n_attributes),
            files.columns.missing_out,
        )[:, :d]
        values = apart[np.lexsort(apart.T[::-1])]
    else:
        own = spec.scale_by == "original"
        rows = files.own[np.sort(files.own_of_record)] if own else files.shown[np.sort(files.shown_of_row)]
        assert (files.columns.kind[:d] == SQUARED).all()  # noqa: S101  `_own` has seen to it
        values = rows[:, :d] * np.sqrt(files.columns.weight[:d])
    complete = values[~np.isnan(values).any(axis=1)]
    if len(complete) < 2:
        raise NotApplicable("fewer than two records have all attributes of the covariance")
    covariance = np.atleast_2d(np.cov(complete, rowvar=False))
    if spec.is_fitted and not covariance.any():
        raise NotApplicable("all records differ alike from their own rows, so that the differences have no covariance")
    return covariance
