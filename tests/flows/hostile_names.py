"""Names of columns and categories that try to be something else, as a strategy; and a small release under such names."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tasks.microdata.estimate import join_attributes
from tasks.microdata.spec import LONGEST_NAME

ROWS = 30
PIECES = (
    # templates, formats and formulas
    *("{", "}", "{}", "{0}", "{0.x}", "{data:>300000000}", "{data.__class__}", "{0!r:{1}}", "{{7*7}}", "${7*7}", "{% raw %}"),
    *("%s", "%(x)s", "%n%n", "$x^2$", "$$", "\\", "\\n", "\\g<0>", "\\N{DASH}", "~", "~1", "~0", "@x", "`x`", "C(x)", "=1+1"),
    # patterns, paths, options, SQL
    *("*", "?", "[a-z]", "[!x]", "(", "(?P<x>", "+", ".", "..", "../", "/", "//", "/etc/passwd", "-rf", "--help", "|", "||"),
    *("' OR 1=1 --", "%_", '"; DROP TABLE runs; --', "CON", "a:b", ":2e:", "::", "#", "!", "&", ";", ",", "\\,"),
    # markup
    *("[red]", "[/red]", "[link=x]", ":smile:", "<script>alert(1)</script>", "&amp;", "-->", "]]>", "<!--stamp:line-->"),
    *("[x](http://x)", "![x](y)", "**x**", "_x_", "# x", "- x", "'", '"', '""', "https://x.example/"),
    # what cannot be seen, or looks like something else
    *("\n", "\r", "\r\n", "\t", "\x0b", "\x1b[31m", "\x07", "\x7f", "\x85", "\u2028", "\xa0", " ", "\u202e", "\u2066"),
    *("\u200b", "\ufeff", "\u0301", "e\u0301", "\xe9", "\u212a", "\u0130", "\xdf", "\u01c5", "\xb2", "\u0663", "\u05d0"),
    *("\U0001f469\u200d\U0001f52c", "\U0010ffff", "\ue000", "\ufffd", "\ufdd0"),
    # words of our own
    *("declared", "insider:x", "file:1", "knowing:1", "all", "__all__", "__class__", "score", "p_percent=5", "highest values"),
    *("name", "attributes", "role", "self", "None", "null", "true", "nan", "index", "level_0", "seconds", "axis:x"),
    *("low:", "point", "reidentification", "k_anonymity", "column 0", "cluster", "x", "0", "1e5", "12:30"),
)  # fmt: skip
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")


def _is_name(text: str) -> bool:
    visible = any(unicodedata.category(one) not in {"Zs", "Zl", "Zp", "Cc", "Cf"} for one in text)
    return visible and len(text) <= LONGEST_NAME


def _twins(name: str) -> tuple[str, ...]:
    """Names that somebody takes for this one."""
    forms = (unicodedata.normalize(form, name) for form in ("NFC", "NFD", "NFKC"))
    return (*forms, name.upper(), name.lower(), name.swapcase(), f"{name} ", f" {name}", f"{name}\u200b", f"{name},{name}")


@st.composite
def names(draw: st.DrawFn, count: int) -> tuple[str, ...]:
    """So many different names; some are twins of another one."""
    pieces = st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join)
    long = st.sampled_from([piece for piece in PIECES if piece.isprintable()]).map(
        lambda piece: (piece * LONGEST_NAME)[:LONGEST_NAME]
    )
    one = st.one_of(pieces, pieces, pieces, st.text(CHARACTERS, min_size=1, max_size=40), long).filter(_is_name)
    found: list[str] = []
    while len(found) < count:
        choice = st.one_of(one, st.sampled_from(_twins(found[-1]))) if found else one
        found.append(draw(choice.filter(lambda name: _is_name(name) and name not in found)))
    return tuple(found)


TEXTS = st.one_of(st.sampled_from(PIECES), st.text(CHARACTERS, min_size=1, max_size=60), names(1).map(lambda one: one[0]))
SHORTEST_REASON = 3
SLUGS = st.from_regex(r"\A[a-z0-9][a-z0-9._-]{0,99}\Z")


@dataclass(frozen=True)
class Names:
    """What is called how. columns: key, two numbers, one nominal. categories: in the order of their bytes."""

    columns: tuple[str, ...] = ("pid", "age", "income", "vote")
    file_columns: tuple[str, ...] = ("ID", "AGE")
    categories: tuple[str, ...] = ("maybe", "no", "yes")
    release: str = "plain"
    series: str = "plain-series"
    file: str = "register"
    purpose: str = "teaching"
    author: str = "nobody"


def _with_letters(names: tuple[str, ...]) -> bool:
    """Text whatever a reader makes of it: neither a number nor a word for missing."""
    return all(len(name.strip()) > 3 and any(one.isalpha() and one.isascii() for one in name) for name in names)


NAMES = st.builds(
    Names,
    columns=names(4),
    file_columns=names(2),
    categories=names(3).filter(_with_letters).map(lambda found: tuple(sorted(found))),
    release=SLUGS,
    series=SLUGS,
    file=SLUGS,
    purpose=TEXTS.filter(lambda text: len(text.strip()) >= SHORTEST_REASON),  # it is a reason too
    author=TEXTS,
)


def table(named: Names) -> str:
    rng = np.random.default_rng(8)
    categories = np.array(named.categories, dtype=object)[rng.integers(0, 3, ROWS)]
    rows = zip(range(100, 100 + ROWS), rng.integers(18, 90, ROWS), rng.integers(10, 900, ROWS) * 10, categories, strict=True)
    return _csv(named.columns, rows)


def as_yaml(content: Any) -> str:
    """JSON, which is YAML, with escapes for what alone needs them: YAML reads no key of more than 1,024 characters."""
    written = json.dumps(content, ensure_ascii=False)
    return re.sub("[\x7f-\xa0\u2028\u2029\ufdd0-\ufdef\ufeff\ufffe\uffff]", lambda found: f"\\u{ord(found[0]):04x}", written)


def file_of_an_intruder(named: Names) -> str:
    rng = np.random.default_rng(9)
    return _csv(named.file_columns, zip(range(100, 110), rng.integers(18, 90, 10), strict=True))


def _csv(header: tuple[str, ...], rows: Any) -> str:
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(header)
    writer.writerows(rows)
    return sink.getvalue()


INFERENCE = "model_based_disclosure"


def release(named: Names) -> dict[str, Any]:
    """A release that measures by attribute and by insider, and whose figures do not depend on chance."""
    key, age, income, vote = named.columns
    numeric = {"role": "quasi_identifier", "scale": "numeric"}
    return {
        "name": named.release,
        "series": named.series,
        "source": {"table": "table.csv", "delimiter": ","},
        "key": key,
        "attributes": {
            age: numeric,
            income: numeric,
            vote: {"role": "confidential", "scale": "nominal", "categories": list(named.categories)},
        },
        "masking": [{"method": "microaggregation", "attributes": [age, income], "k": 3}],
        "intruder": {
            "files": [
                {
                    "table": "file.csv",
                    "delimiter": ",",
                    "name": named.file,
                    "key": {named.file_columns[0]: key},
                    "attributes": {named.file_columns[1]: age},
                }
            ]
        },
        "measures": [{"measure": "k_anonymity_subset", "attributes": [age, income]}],
        "policy": [
            {"measure": "reidentification", "at_most": 0.99},
            {"measure": "records_exposed", "at_most": 0.99},
            {"measure": "reidentification", "at_most": 0.99, "intruder": f"insider:{vote}"},
            {"measure": "same_value_disclosure", "at_most": 1.0, "attribute": age},
            {"measure": "k_anonymity", "at_least": 1},
        ],
        "not_limited": dict.fromkeys(("inference", "membership"), named.purpose),
        "policy_author": named.author,
        "context": {"purpose": named.purpose, "unit": named.purpose, "recipients": [named.author]},
    }


def with_plain_names(figures: list[dict[str, Any]], named: Names) -> list[tuple[Any, ...]]:
    """What figures say, in their order, under the names of `Names()`; of inference no values: each release draws its people."""
    plain = Names()
    columns = dict(zip(named.columns, plain.columns, strict=True))
    columns |= {join_attributes(named.columns[1:3]): join_attributes(plain.columns[1:3])}
    intruders = {f"insider:{name}": f"insider:{to}" for name, to in columns.items()} | {
        f"file:{named.file}": f"file:{plain.file}"
    }
    said = ("measure", "attack", "subgroup", "n_targets")
    values = ("parameters", "value", "low", "high", "chance", "status")
    return [
        (*(figure[field] for field in (*said, *(() if figure["attack"] == INFERENCE else values))),
         intruders.get(figure["intruder"], figure["intruder"]),
         None if figure["attribute"] is None else columns[figure["attribute"]])
        for figure in figures
    ]  # fmt: skip
