"""Pseudonyms: a column of identifiers is published as texts that only somebody who has a secret key can make."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping
from typing import Literal, Self

import pyarrow as pa
from pydantic import model_validator

from tasks.mask.intruder_belief import Belief
from tasks.mask.mask_text import MaskText
from tasks.mask.shared_advice import Fields
from tasks.mask.step import Description, IntruderView, MaskContext, MaskingMethod, MaskStep, Randomness
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Role, Scale, Schema
from tasks.microdata.spec import Names, Public
from tasks.microdata.suggestion import did_you_mean
from tasks.microdata.table import CALENDAR_TYPES, Microdata, iso_texts
from tasks.microdata.words import join_with_and

PSEUDONYM_BYTES = 20  # 160 bits: 32 signs of base32 without a rest
Stable = Literal["release", "series"]


class Pseudonyms(MaskingMethod):
    """Parameters of pseudonyms.

    attributes: identifiers; each becomes a column of pseudonyms under its own name. Identifiers that are not named stay out.
    stable: `release`: the same unit has another pseudonym in every draw and every version of the source; `series`: the same one
        in all releases of the series, whatever is drawn anew, so that versions can be joined, by everybody.
    """

    method: Public[Literal["pseudonyms"]]
    attributes: Public[Names]
    stable: Public[Stable] = "release"

    @model_validator(mode="after")
    def _refuse_strata(self) -> Self:
        if self.by is not None:
            raise ValueError("pseudonyms are made row by row: take `by` out")
        return self

    @property
    def explicit_attributes(self) -> tuple[str, ...]:
        return ()

    @property
    def target_attributes(self) -> tuple[str, ...]:
        return ()

    @property
    def rule(self) -> str:
        return f"keyed pseudonyms in place of {join_with_and(self.attributes)}"

    @property
    def moves_values(self) -> bool:
        return False

    @property
    def no_attack_reason(self) -> str:
        return "without the key nothing follows from how they are made"

    @property
    def randomness(self) -> Randomness:
        return "none"  # the key is the publisher's, and the published columns stay as they are

    @property
    def is_rule_for_values(self) -> bool:
        return False

    @classmethod
    def description(cls) -> Description:
        return DESCRIPTION

    def apply(self, context: MaskContext) -> Microdata:
        refuse_unfit(context.table, context.schema, self, context.where)
        return context.data  # somebody who has the key adds the column to the released file

    def infer(self, view: IntruderView) -> Belief:
        return view.knowledge  # who lacks the key cannot tell a pseudonym from noise

    def describe(self, schema: Schema) -> MaskText:
        return describe_pseudonyms(self)

    def describe_residual_risk(self) -> str | None:
        return None if self.stable == "release" else _describe_joined_releases(self)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        return (cls(method="pseudonyms", attributes=("id",)),)

    @classmethod
    def suggest_stronger(cls, fields: Fields, named: str, line: Fields) -> Iterator[str]:
        yield from ()  # they mask nothing that a policy measures

    @classmethod
    def suggest_weaker(cls, fields: Fields, named: str) -> Iterator[str]:
        yield from ()


SCALES: tuple[Scale, ...] = ()
DESCRIPTION = Description(
    method="pseudonyms",
    what_it_does="publishes identifiers as keyed pseudonyms (HMAC-SHA-256) instead of leaving them out",
    scales=SCALES,
    parameters="attributes (identifiers that differ in every row), stable (release, series)",
    intruder="learns nothing of an identifier without the key; joins all releases in which a unit has the same pseudonym: "
    "that is not attacked here",
    answered_by=("distance_linkage",),
)


def add_pseudonyms(
    released: Microdata, source: Microdata, schema: Schema, steps: tuple[MaskStep, ...], keys: Mapping[Stable, bytes]
) -> Microdata:
    """The released table with the columns of pseudonyms that the steps ask for, in the order of the schema.

    source: the same rows in the same order, with the identifiers. keys: a secret of 32 bytes for each kind that is asked for.
    """
    wanted = {name: step for step in steps if isinstance(step, Pseudonyms) for name in step.attributes}
    columns = {}
    for name in schema.names:
        if name in wanted:
            columns[name] = pseudonyms(source.column(name), name, key=keys[wanted[name].stable])
        elif name in released.names:
            columns[name] = released.column(name)
    return Microdata(pa.table(columns))


def pseudonyms(identifiers: pa.Array, name: str, *, key: bytes) -> pa.Array:
    """Texts that stand for identifiers, the same for the same one.

    Meaning: without the key nobody can tell an identifier from its pseudonym, nor try a list of all identifiers, as can be done
    with a plain hash.
    Formula in words: the first 20 bytes of HMAC-SHA-256 under the key of the column's name, the kind of value and its text, in
    base32: 32 capital letters and digits. Whole numbers are written in digits, also where the column holds decimals (7.0 is 7);
    other numbers in the fewest digits that read back the same; texts as they are (no blank is removed, no case changed); dates
    and times by ISO 8601. The number 1 and the text "1" are two identifiers. A missing value stays missing.

    Two identifiers have one pseudonym with a probability below 1e-30 in a column of a thousand million.
    Cost: about 3 s for 1,000,000. Source: RFC 2104, RFC 4648. Example: two columns with equal values have different pseudonyms.
    """
    kind, texts = format_identifiers(identifiers)
    made = (None if text is None else _pseudonym(json.dumps([name, kind, text]).encode(), key) for text in texts)
    return pa.array(list(made), pa.string())


def derive_key(secret: bytes, *path: str) -> bytes:
    """A key of 32 bytes for one purpose; it tells nothing of the secret or of keys for other purposes."""
    return hmac.new(secret, json.dumps(["pseudonyms", *path]).encode(), hashlib.sha256).digest()


def refuse_unfit(data: Microdata, schema: Schema, spec: Pseudonyms, where: str) -> None:
    """InputError for attributes that are no identifiers of this table, and where one of them has a value in two rows.

    data: the source. Rows that share a pseudonym would be joined in the release, which no attack here measures.
    """
    for name in spec.attributes:
        _refuse_other_role(schema, name, f"{where}.attributes")
        present = data.column(name).drop_null()
        repeated = len(present) - len(present.unique())
        if repeated:
            what = f"`{name}` is not different in every row: {repeated:,} rows repeat an earlier one, and would be joined"
            remedy = "leave it out; a column that joins the rows of one person is `role: person`"
            raise InputError("repeated-identifier", f"{where}.attributes", what, "a value of its own in each row", remedy, name)


def refuse_twice(steps: tuple[MaskStep, ...], where: str) -> None:
    """InputError where two steps ask for pseudonyms of one identifier."""
    seen: set[str] = set()
    for i, step in enumerate(steps):
        again = seen & set(step.attributes) if isinstance(step, Pseudonyms) else set()
        if again:
            what, allowed = "two steps ask for pseudonyms of one identifier", "one column of pseudonyms for each identifier"
            raise InputError("pseudonyms-twice", f"{where}[{i}].attributes", what, allowed, "take it out", min(again))
        seen |= set(step.attributes) if isinstance(step, Pseudonyms) else set()


def _refuse_other_role(schema: Schema, name: str, where: str) -> None:
    identifiers = schema.find_by_role(Role.IDENTIFIER)
    allowed = join_with_and(identifiers) or "no attribute of this table: none is an identifier"
    if name not in schema:
        remedy = did_you_mean(name, schema.names, "compare it with the column names of the table")
        raise InputError("unknown-attribute", where, f"the table has no attribute `{name}`", allowed, remedy, name)
    if name not in identifiers:
        what = f"`{name}` has the role {schema[name].role}, and pseudonyms stand for identifiers"
        raise InputError("not-an-identifier", where, what, allowed, "take it out, or declare `role: identifier`", name)


def _pseudonym(message: bytes, key: bytes) -> str:
    return base64.b32encode(hmac.new(key, message, hashlib.sha256).digest()[:PSEUDONYM_BYTES]).decode()


def format_identifiers(column: pa.Array) -> tuple[str, list[str | None]]:
    """The kind of the column's values, and each as text."""
    if column.type in CALENDAR_TYPES:
        return "calendar", iso_texts(column).to_pylist()
    if pa.types.is_string(column.type):
        return "text", column.to_pylist()
    if pa.types.is_boolean(column.type):
        return "truth", [None if value is None else str(value) for value in column.to_pylist()]
    return "number", [None if value is None else _digits(value) for value in column.to_pylist()]


def _digits(value: float) -> str:
    return str(int(value)) if isinstance(value, int) or value.is_integer() else repr(value)


_SERIES = (
    "A unit has the same pseudonym in all releases of the series: whoever has several of them can join them and follow each "
    "unit, and find somebody by what changed. What joined releases tell is not attacked here."
)
_RELEASE = "They are made anew for every draw and every version of the source, so that they join this release to no other."


def describe_pseudonyms(step: Pseudonyms) -> MaskText:
    return MaskText(
        title=f"Pseudonyms in place of {join_with_and(step.attributes)}",
        text=(
            f"The values of {join_with_and(step.attributes)} are not published; in their place stand keyed "
            "pseudonyms (HMAC-SHA-256, "
            f"{8 * PSEUDONYM_BYTES} bits). Whoever lacks the secret key can neither turn one back nor try out identifiers. "
            f"{_SERIES if step.stable == 'series' else _RELEASE} A missing identifier stays missing, which can be seen. "
            "The attacks and the losses do not use these columns."
        ),
        missing="",
        attribute=lambda _: "published as a keyed pseudonym",
        analysts=("Pseudonyms tell rows apart; their order and their signs mean nothing.",),
    )


def _describe_joined_releases(step: Pseudonyms) -> str:
    return (
        f"The pseudonyms in place of {join_with_and(step.attributes)} are the same in all releases of the series. "
        "Whoever joins them "
        "follows each unit through the versions; that attack is not in this version's catalogue."
    )
