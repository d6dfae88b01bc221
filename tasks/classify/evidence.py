"""Count what the proposal of a column's role and scale rests on. Counts and shares, never a value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from tasks.microdata.table import DATE, MOMENT, TIME, Microdata
from tasks.microdata.value_ranks import count_distinct

ColumnKind = Literal["integer", "double", "text", "bool", "date", "moment", "time"]

NEAR_UNIQUE = 0.9
ENOUGH_VALUES = 10  # below, "all values differ" says nothing about a column
CODE_DIGITS = 6
MOST_CODES = 25
ROWS_PER_CODE = 4
_LOOKED_AT = 1000  # values first
LONG_TEXT = 20  # characters; with two blanks or more: somebody's own words

_NAMES = {
    "a number or code of a unit": r"ids?|u?uid|guid|identifier|key|serial|seq|index|idx|nr|caseid|recno|rownames?|respondent",
    "a person or company": r"name|names|surname|firstname|lastname|forename|fullname|nom|username|login|handle",
    "an official number": r"ssn|nin|nino|nhs|passport|nif|dni|tin|vat|iban|account|licen[cs]e|plate|mrn|pnr|bsn|cpf|curp",
    "a contact": r"phone|telephone|tel|mobile|cell|fax|e?mail|address|addr|street|url|ip|website",
    "a place": r"zip|zipcode|postcode|postal|plz|lat|latitude|lon|lng|longitude|gps",
}  # fmt: skip
_GROUP = r"household|hh|hid|hhid|family|fam|dwelling|enterprise|firm|company|establishment|school|hospital|cluster|psu|ori"
_PERSON = r"person|pid|individual|patient|participant|subject|member"
_WEIGHT = r"weights|[a-z]*wgt|[a-z]*wt|weight"
_BIRTH = r"dob|birth|births|birthdate|birthday|birthdt|dateofbirth|bdate|bday|born|gebdat|geburtsdatum|naissance|nacimiento"
_CODE = (
    r"[a-z]*codes?|region|regions|district|county|municipality|commune|province|canton|state|country|nationality|parish|"
    r"occupation|occ|isco|soc|industry|sector|nace|isic|sic|naics|nuts|fips|icd|diagnosis|gemeinde|kommune"
)
_COORDINATE = r"lat|latitude|lon|lng|longitude|gps"
_SURVEY = r"survey|sample|sampling|design|household|hh|person|final|post|replicate|base|expansion|grossing|prob"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnEvidence:
    """Counts of one column of n rows.

    n_distinct: different values among the present ones. whole: all present values are whole numbers.
    running: the present values are consecutive whole numbers, each once. one_width: all present values are whole numbers, or
    texts, of one length of at least six digits. positive: all present values are above zero.
    digits: all present values are texts of digits alone, of one length. prose: the share of present values that are texts of at
    least 20 characters with two blanks or more.
    """

    name: str
    kind: ColumnKind
    n: int
    n_missing: int
    n_distinct: int
    whole: bool
    running: bool
    one_width: bool
    positive: bool
    digits: bool
    prose: float

    @property
    def n_present(self) -> int:
        return self.n - self.n_missing

    @property
    def distinct_share(self) -> float:
        return self.n_distinct / max(self.n_present, 1)

    @property
    def unique(self) -> bool:
        return self.n_present > 1 and self.n_distinct == self.n_present

    @property
    def near_unique(self) -> bool:
        return self.n_present > 1 and self.distinct_share >= NEAR_UNIQUE

    @property
    def constant(self) -> bool:
        return self.n_distinct == 1

    @property
    def few_codes(self) -> bool:
        """Few whole numbers, each in several rows: codes rather than measurements."""
        return self.whole and self.few_categories

    @property
    def few_categories(self) -> bool:
        """At most 25 different values, each in several rows."""
        return self.n_distinct <= MOST_CODES and self.n_present >= ROWS_PER_CODE * self.n_distinct

    @property
    def calendar(self) -> bool:
        """Dates, moments or times of day."""
        return self.kind in {"date", "moment", "time"}

    @property
    def free_text(self) -> bool:
        """At least half of the values differ, and at least half are long texts with blanks; from ten values on."""
        return self.n_present >= ENOUGH_VALUES and min(self.distinct_share, self.prose) >= 0.5

    def describe(self) -> tuple[str, ...]:
        """The counts as sentences; they hold no value."""
        texts = [f"{self.n_distinct:,} distinct of {self.n_present:,} values"]
        if self.n_missing:
            texts.append(f"{self.n_missing:,} missing ({self.n_missing / self.n:.0%})")
        if self.n_present == 0:
            texts.append("no row has a value")
        if self.constant:
            texts.append("all values are equal")
        if self.kind == "double" and self.whole and self.n_present:
            texts.append("whole numbers stored as decimals")
        return tuple(texts)


def count_column_evidence(data: Microdata, name: str) -> ColumnEvidence:
    """Count one column. Cost: that of `count_distinct`."""
    column = data.column(name)
    present = column.drop_null()
    kind = _kind(column.type)
    texts = pc.unique(present) if kind == "text" else present[:0]
    numeric = kind in {"integer", "double"}
    n_distinct = len(texts) if kind == "text" else count_distinct(present)
    whole = numeric and len(present) > 0 and (kind == "integer" or _are_whole(present))
    ends: dict[str, Any] = pc.min_max(present).as_py() if numeric else {}
    return ColumnEvidence(
        name=name,
        kind=kind,
        n=data.n,
        n_missing=column.null_count,
        n_distinct=n_distinct,
        whole=whole,
        running=whole and n_distinct == len(present) and bool(ends["max"] - ends["min"] == n_distinct - 1),
        one_width=len(present) > 0 and (kind == "text" or whole) and _one_width(texts, ends),
        positive=numeric and len(present) > 0 and bool(ends["min"] > 0),
        digits=kind == "text" and len(present) > 0 and _has_digits_of_one_width(texts),
        prose=_compute_share_of_prose(present) if _has_long_texts(texts) else 0.0,
    )


def classify_identifier_name(name: str) -> str | None:
    """What the name of a column suggests that identifies a unit ("a contact", "a place", ...), or None."""
    words = _words(name)
    return next((what for what, pattern in _NAMES.items() if any(re.fullmatch(pattern, word) for word in words)), None)


def names_people(what: str) -> bool:
    """Does a kind of name (`classify_identifier_name`) point at one person or company even where values repeat?"""
    return what not in {"a number or code of a unit", "a place"}


def is_group_name(name: str) -> bool:
    return _has(name, _GROUP) and (
        classify_identifier_name(name) is not None or _has(name, r"hid|hhid|hh|household|psu|cluster")
    )


def is_person_name(name: str) -> bool:
    return _has(name, r"pid") or (_has(name, _PERSON) and classify_identifier_name(name) is not None)


def is_birth_date_name(name: str) -> bool:
    """A date of birth by its name."""
    return _has(name, _BIRTH)


def is_survey_weight_name(name: str) -> bool:
    """A sampling weight by its name; a plain `weight` may be a body's and is none."""
    return _has(name, r"weights|[a-z]{2,}wgt|[a-z]{2,}wt") or (_has(name, _WEIGHT) and _has(name, _SURVEY))


def is_weight_name(name: str) -> bool:
    """A weight by its name, be it of a survey or of a body."""
    return _has(name, _WEIGHT) or is_survey_weight_name(name)


def is_code_name(name: str) -> bool:
    """A code by its name, whose numbers name things (a region, an occupation, a postcode) instead of measuring them."""
    named = classify_identifier_name(name)
    return _has(name, _CODE) or (named is not None and not names_people(named) and not _has(name, _COORDINATE))


def _has(name: str, pattern: str) -> bool:
    return any(re.fullmatch(pattern, word) for word in _words(name))


def _words(name: str) -> tuple[str, ...]:
    parted = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    words = tuple(word for word in re.split(r"[^a-z]+", parted.lower()) if word)
    glued = re.fullmatch(r"([a-z]{4,}?)(id|name|number|no)", words[-1]) if words else None
    return words if glued is None else (*words, glued[1], glued[2])


def _kind(logical: pa.DataType) -> ColumnKind:
    if pa.types.is_integer(logical):
        return "integer"
    if pa.types.is_floating(logical):
        return "double"
    calendar: dict[pa.DataType, ColumnKind] = {DATE: "date", MOMENT: "moment", TIME: "time"}
    return "text" if pa.types.is_string(logical) else calendar.get(logical, "bool")


def _are_whole(numbers: pa.Array) -> bool:
    """The first ones are looked at before the others: of most columns of decimals they say no at once."""
    parts = (numbers[:_LOOKED_AT], numbers[_LOOKED_AT:])
    return all(pc.all(pc.equal(pc.floor(part), part), min_count=0).as_py() for part in parts)


def _has_digits_of_one_width(texts: pa.Array) -> bool:
    widths = pc.min_max(pc.utf8_length(texts)).as_py()
    return bool(widths["min"] == widths["max"] and pc.all(pc.match_substring_regex(texts, "^[0-9]+$")).as_py())


def _has_long_texts(texts: pa.Array) -> bool:
    return len(texts) > 0 and bool(pc.max(pc.binary_length(texts)).as_py() >= LONG_TEXT)


def _compute_share_of_prose(present: pa.Array) -> float:
    long = pc.greater_equal(pc.utf8_length(present), LONG_TEXT)
    blanks = pc.greater_equal(pc.count_substring(present, " "), 2)
    return float(pc.mean(pc.and_(long, blanks).cast(pa.float64())).as_py())


def _one_width(texts: pa.Array, ends: dict[str, Any]) -> bool:
    if len(texts):
        ends = pc.min_max(pc.utf8_length(texts)).as_py()
        return bool(ends["min"] == ends["max"] >= CODE_DIGITS and pc.all(pc.match_substring_regex(texts, "[0-9]")).as_py())
    widths = [len(str(int(end))) for end in ends.values()]
    return ends["min"] > 0 and widths[0] == widths[1] >= CODE_DIGITS
