"""Linkage between files of different schemas: attributes without names, or no attribute that both files have."""

from __future__ import annotations

import hashlib
from typing import Annotated, Literal, Self

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from tasks.attack.base import AttackContext, AttackDescription, AttackFindings, AttackTraits, DataAttack
from tasks.attack.descriptions import DataKnowledge
from tasks.attack.linkage.assignment import list_assigned_classes
from tasks.attack.neighbours.distances import euclidean
from tasks.attack.neighbours.nearest import Search
from tasks.attack.neighbours.record_comparison import ComparedColumns, Comparison, ScaleBy, create_comparison
from tasks.attack.outcomes.links import Links
from tasks.attack.profiles.attribute_matching import match_attributes
from tasks.attack.profiles.likeness import AttributeColumn, rank_by_share
from tasks.attack.profiles.profile import Scores, profiles
from tasks.attack.threat import Intruder
from tasks.microdata.codes import find_distinct_rows
from tasks.microdata.errors import InputError, NotApplicable
from tasks.microdata.positions import extract_positions
from tasks.microdata.schema import CATEGORICAL, Attribute, Role, Scale, Schema
from tasks.microdata.spec import Names, Public
from tasks.microdata.suggestion import did_you_mean
from tasks.microdata.table import Floats, Microdata

_OF_PROFILES = ("scores", "powers", "orientation")


Power = Annotated[float, Field(gt=0, le=100)]


class ProfileLinkage(DataAttack):
    """Parameters of linkage between files of different schemas.

    id: what the attack is called in figures and policy lines; default: the method's name.
    match: `no_shared_attributes`: the intruder's file and the release describe the same persons by different attributes;
        records are linked by profiles, places within their file. `names_unknown`: they have released attributes, but cannot
        tell which is which; they match them by their distributions, and link by the matched ones.
    knows: what their file holds, also attributes that are not published; default: what the declared intruder knows.
    release_attributes: what they compare it with; default: all published attributes, less those they know where none is shared.
    scores: how the attributes of a profile are put on one scale. powers: of its OWA means besides minimum, median and maximum:
        1 is the mean, less weighs large values more. orientation: are they turned along their common factor?
    units: are those of attributes without names, and the names of their categories, the release's?
    matching: `nearest`: each record for itself; `one_to_one`: all records together, no row for two of them.
    """

    about = AttackDescription(
        title="Linkage across schemas",
        infers="links the records of a file without the release's attributes, or without their names",
        note="",
        knows_of_data="the original values of attributes that the release lacks, or calls by other names",
        knows_of_masking="nothing",
        parameters="id, match (no_shared_attributes, names_unknown), knows (also what is not published), "
        "release_attributes, scores (ranks, standardised), powers, orientation (common_factor, as_recorded), units "
        "(unknown, same), matching (nearest, one_to_one)",
        holder="somebody with a file of another schema",
        is_worst_case=False,
        has_probabilities=False,
        required_by="nobody",
        required_form="",
    )

    method: Public[Literal["profile_linkage"]]
    match: Public[Literal["no_shared_attributes", "names_unknown"]] = "no_shared_attributes"
    knows: Public[Names | None] = None
    release_attributes: Public[Names | None] = None
    scores: Public[Scores] = "ranks"
    powers: Public[Annotated[tuple[Power, ...], Field(max_length=50)]] = (0.25, 0.5, 1.0, 2.0, 4.0)
    orientation: Public[Literal["common_factor", "as_recorded"]] = "common_factor"
    units: Public[Literal["unknown", "same"]] = "unknown"
    matching: Public[Literal["nearest", "one_to_one"]] = "nearest"

    @model_validator(mode="after")
    def _fields_fit(self) -> Self:
        of_other = ("units",) if self.match == "no_shared_attributes" else _OF_PROFILES
        given = [name for name in of_other if getattr(self, name) != type(self).model_fields[name].default]
        if given:
            raise ValueError(f"`match: {self.match}` takes no `{given[0]}`")
        return self

    @property
    def scale_by(self) -> ScaleBy | None:
        """Whose scale: each file's own, or the release's where its units are known; None: profiles have none."""
        if self.match == "no_shared_attributes":
            return None
        return "release" if self.units == "same" else "own"

    @property
    def rule(self) -> str:
        """What the attack does, in words."""
        to = "the released rows" if self.matching == "nearest" else "the released rows one to one"
        if self.match == "names_unknown":
            return f"finds out by their distributions which attribute is which, then links each record to the nearest of {to}"
        position = "that stand in the release where it stands in the intruder's file"
        return f"links each record to those of {to} {position}, by no shared attribute"

    @property
    def traits(self) -> AttackTraits:
        together = self.matching == "one_to_one"
        return AttackTraits(
            searches_originals=False,
            scale_by=self.scale_by,
            assigns_together=together,
            depends_on_others=together,
            needs_originals=False,
            uses_external_files=self.knows is None,
            needs_all_records=None,
            reads_similar_rows=False,
            attacks_synthetic_rows=False,
            is_required_form=True,
            sample_size=None,
        )

    def describe_known_data(self, known: DataKnowledge) -> str:
        unshared = self.match == "no_shared_attributes"
        how = ", none of which they find in the release" if unshared else ", without their names"
        return known.describe(own_file=True, of_attributes=how)

    def resolve_knowledge(self, intruder: Intruder) -> tuple[str, ...]:
        return intruder.knows if self.knows is None else self.knows

    def run(self, context: AttackContext) -> AttackFindings:
        if self.knows is not None and context.intruder.name != "declared":
            raise NotApplicable("the attack says itself what its intruder knows: nobody else is asked")
        knows, masked = self.knows or context.knows, context.truth.masked
        links, remark = link_by_profile(context.own_file, masked, context.schema, self, knows)
        return AttackFindings(links, remark, n_given=links.n_given if self.matching == "one_to_one" else None)


def link_by_profile(
    original: Microdata, masked: Microdata, schema: Schema, spec: ProfileLinkage, knows: tuple[str, ...]
) -> tuple[Links, str]:
    """Link each record to the released rows that are nearest, without a shared schema.

    Meaning: nobody needs the released attributes to recognise a person in the release. Whoever is at the top of one file is
    near the top of another if what they hold is moved by a common factor; and columns without names can be told apart.
    Formula in words: see `profiles` for `no_shared_attributes`, and the squared distance of `comparison` in the attributes of
    `matched` for `names_unknown`, by each file's own scale, or in the same units by the release's; in unknown units categories
    are taken for each other that are equally far down in the order of their frequencies. Ties are shared.

    Parameters
    ----------
    original, masked: tables of n and m rows; neither the order of their rows, nor that of their columns, is used. knows: what
        their file holds: attributes of the original.

    Returns the links of all records, and a remark: how many attributes without names they take for what they are (only the
    evaluator knows).
    Raises NotApplicable where one file has nothing to compare, or as `orientation`; InputError for an attribute that does not
    exist or is not published. Cost: as `profiles`, `matched`, `Search.nearest` and `assigned`.
    Source: Torra (2004), OWA operators in data modeling and reidentification; D11.2, section 2.3. Example: where one attribute
    of each file follows the same factor without noise, everybody is found.
    """
    _check_names(spec, schema)
    theirs = schema.release_columns if spec.release_attributes is None else tuple(dict.fromkeys(spec.release_attributes))
    if spec.match == "no_shared_attributes":
        left = tuple(name for name in theirs if name not in knows)
        return _link_comparison(_compare_profiles(original, masked, schema, spec, (knows, left)), spec), ""
    both, right = _compare_matched_attributes(original, masked, schema, spec, (knows, theirs))
    remark = f"; attributes of their file that they take for the released ones that they are: {right} of {len(knows)}"
    return _link_comparison(both, spec), remark


def _compare_profiles(
    original: Microdata,
    masked: Microdata,
    schema: Schema,
    spec: ProfileLinkage,
    names: tuple[tuple[str, ...], tuple[str, ...]],
) -> Comparison:
    """The profiles of both files, in which every aggregate weighs the same."""
    own_names = _select_ordinal_attributes(original, schema, names[0])
    theirs = _select_ordinal_attributes(masked, schema, names[1])
    if not own_names:
        raise NotApplicable("the intruder knows no attribute that has an order")
    if not theirs:
        raise NotApplicable("the release has no attribute with an order that the intruder does not know")
    oriented = spec.orientation == "common_factor"
    own, shown = (
        profiles(_positions(data, schema, some), spec.powers, scores=spec.scores, oriented=oriented)
        for data, some in ((original, own_names), (masked, theirs))
    )
    columns = ComparedColumns.create_plain(np.zeros(own.shape[1], dtype=bool), np.ones(own.shape[1]))
    return Comparison(*find_distinct_rows(own), *find_distinct_rows(shown), columns)


def _compare_matched_attributes(
    original: Microdata,
    masked: Microdata,
    schema: Schema,
    spec: ProfileLinkage,
    names: tuple[tuple[str, ...], tuple[str, ...]],
) -> tuple[Comparison, int]:
    """Both files in the attributes that were matched, and how many of these are matched rightly."""
    own_names, theirs = _sort_by_digest(names[0], "his"), _sort_by_digest(names[1], "released")
    own = tuple(_column(original, schema, name) for name in own_names)
    shown = tuple(_column(masked, schema, name) for name in theirs)
    if not own or not shown:
        raise NotApplicable("the intruder knows no attribute, or the release has none")
    found = match_attributes(own, shown, same_units=spec.units == "same")
    pairs = [(i, int(found[i])) for i in np.flatnonzero(found >= 0)]
    if not pairs:
        raise NotApplicable("no attribute of the intruder is of the kind of a released one")
    files = ({str(i): own[i] for i, _ in pairs}, {str(i): shown[j] for i, j in pairs})
    tables = [Microdata.from_columns({name: _values(column, spec) for name, column in of.items()}) for of in files]
    both = create_comparison(tables[0], tables[1], _as_if_named(files[0]), tuple(files[0]), spec.scale_by or "own")
    return both, sum(own_names[i] == theirs[j] for i, j in pairs)


def _link_comparison(both: Comparison, spec: ProfileLinkage) -> Links:
    search = Search(both.own, both.shown, both.columns, euclidean(both.columns.n_attributes))
    if spec.matching == "one_to_one":
        return Links(
            both.shown_of_row, both.own_of_record, *list_assigned_classes(search, both.own_of_record, both.shown_of_row)
        )
    answer = search.nearest()
    links = (both.shown_of_row, both.own_of_record, answer.starts, answer.found)
    return Links(*links, least=answer.least, runner_up=answer.runner_up)


def _check_names(spec: ProfileLinkage, schema: Schema) -> None:
    for field in ("knows", "release_attributes"):
        for name in getattr(spec, field) or ():
            where = f"attacks: profile_linkage.{field}"
            if name not in schema:
                remedy = did_you_mean(name, schema.names, "compare it with the column names of the table")
                what = f"the table has no attribute `{name}`"
                raise InputError("unknown-attribute", where, what, ", ".join(schema.names), remedy, name)
            if field == "release_attributes" and not schema[name].is_published:
                what = f"`{name}` has the role {schema[name].role} and is not published: nothing can be compared with it"
                raise InputError("unpublished-attribute", where, what, ", ".join(schema.release_columns), "take it out", name)


def _select_ordinal_attributes(data: Microdata, schema: Schema, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if _has_order(data, schema[name]))


def _has_order(data: Microdata, attribute: Attribute) -> bool:
    return attribute.scale not in CATEGORICAL and not (data.is_text(attribute.name) and attribute.order is None)


def _positions(data: Microdata, schema: Schema, names: tuple[str, ...]) -> Floats:
    return np.column_stack([extract_positions(data, schema, name, f"attacks: {name}") for name in names])


def _sort_by_digest(names: tuple[str, ...], file: str) -> tuple[str, ...]:
    """The names in an order that says nothing: two columns that cannot be told apart must not be matched by their places."""
    return tuple(sorted(set(names), key=lambda name: hashlib.sha256(f"{file}:{name}".encode()).digest()))


def _column(data: Microdata, schema: Schema, name: str) -> AttributeColumn:
    if _has_order(data, schema[name]):
        return AttributeColumn(_positions(data, schema, (name,))[:, 0])
    column = data.column(name)
    if pa.types.is_integer(column.type):
        column = column.cast(pa.float64())  # a mask may have made it decimals
    return AttributeColumn(np.where(data.missing(name), np.nan, 0.0), column.cast(pa.string()))


def _values(column: AttributeColumn, spec: ProfileLinkage) -> pa.Array:
    """What is compared: numbers, categories, or places of categories by how frequent they are."""
    if column.categories is None:
        return pa.array(column.values, from_pandas=True)
    return column.categories if spec.units == "same" else pa.array(rank_by_share(column.categories), from_pandas=True)


def _as_if_named(columns: dict[str, AttributeColumn]) -> Schema:
    """The schema of matched columns, under numbers in place of names."""
    scales = {name: Scale.NUMERIC if column.is_ordered else Scale.NOMINAL for name, column in columns.items()}
    return Schema(tuple(Attribute(name, Role.QUASI_IDENTIFIER, scale, "pipeline") for name, scale in scales.items()))
