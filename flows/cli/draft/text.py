"""A drafted release file as YAML with comments. Names may hold anything: quotes, line breaks, marks that reverse the text."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Sequence
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from flows.cli.draft.column_proposals import DraftColumn, DraftEntry
from flows.cli.draft.rules import ReleaseDraft
from flows.questions import DECIDE, NOT_LIMITED
from tasks.mask.groups.block import MOST_CATEGORIES
from tasks.microdata.escaping import escape_terminal
from tasks.microdata.schema import Scale

WIDTH = 120
_ONE_LINE = 1_000_000
_PLAIN = re.compile(r"(?!(?:y|n|yes|no|on|off|true|false|null)$)[a-z_][a-z0-9_./-]*", re.IGNORECASE | re.ASCII)
HEAD = (
    "Drafted by `sdcert init`. Every line is a proposal: read it, change what is wrong, delete what you do not need.",
    "`decide` is a question that only a person can answer; nothing is certified while one is open. `sdcert check --answer`",
    "asks them one by one; or change what the question is about, and delete it.",
    "Afterwards: `sdcert check` on this file says what would be done, `sdcert certify` does it.",
)
ROLES = (
    "What each column is. `scale` says what may be done with its values: numeric (differences mean something), ordinal (only",
    "the order does), nominal (only equality). `role` is one of:",
    "  quasi_identifier  somebody may know it of a person from elsewhere. Nobody said otherwise, so columns are taken for",
    "                    known (the careful guess) and masked",
    "  confidential      what an intruder wants to learn and does not know. Published UNCHANGED unless a mask names it",
    "  identifier        names a person or company by itself; never published",
    "  group, person     the number of a household or company; of a person who has several rows; never published",
    "  derived, withheld follows from other columns and would undo their mask; kept back for another reason; never published",
    "  weight, other     a survey weight; anything else; published unchanged unless a mask names it",
)
MASKING = (
    "How the table is masked, step by step; `sdcert methods mask` lists what there is. A column whose scale you change above",
    f"stays where it is, unless it then has no order (nominal, code) and more than {MOST_CATEGORIES} categories.",
)
POLICY = (
    "What the release must not exceed: it is certified if every line is kept. `sdcert methods score` lists the measures.",
    "The limits are a start for the environment below. You answer for them: set them before you see a figure.",
)
NO_LIMIT = ("Kinds of disclosure that no line of the policy limits, each with the reason, which is signed.",)
CONTROL = ("The share of the people who are set aside at random, and never released: with them membership is measured.",)
CONTEXT = (
    "Where the release goes: public (anybody may get the file), licensed (named users under a contract) or enclave (a",
    "controlled room). What you leave out is `not assessed` in the statement: fill in, and take the # away.",
)
POLICY_IS_OF = (
    "Both go into the certificate, and an approval by who wrote the policy is flagged: fill in, and take the # away.",
    "policy_author: disclosure control unit    # who wrote the policy (a role); an approval by the same is flagged",
    'policy_version: "1"                       # which edition of the policy this is',
)
FIELDS = (
    "purpose: teaching              # what the release is for",
    "unit: respondent               # what one row is",
    'period: "2026"                 # when the data were collected',
    "recipients: [universities]     # who gets it",
    "prior_releases: []             # earlier releases about the same people; [] says that there are none",
    "special_categories: []         # health, opinions, ...; [] says that there are none",
    "sampling_fraction: 0.01        # the share of the population that is in the table",
)


def format_draft(draft: ReleaseDraft) -> str:
    """The release file: YAML that is read back as the draft says, with the reasons as comments."""
    root = CommentedMap(
        name=quote_text(draft.name), source=_flow({key: quote_text(value) for key, value in draft.source.items()})
    )
    root.yaml_set_start_comment(comment(HEAD))
    root["attributes"] = _attributes(draft.columns)
    root["masking"] = _steps(draft.masking)
    root["policy"] = _steps(draft.policy)
    if draft.control is not None:
        root["control"] = draft.control
        root.yaml_set_comment_before_after_key("control", before="\n" + comment(CONTROL))
    if draft.not_limited:
        root[NOT_LIMITED] = CommentedMap({kind: CommentedMap({DECIDE: quote_text(asked)}) for kind, asked in draft.not_limited})
        root.yaml_set_comment_before_after_key(NOT_LIMITED, before="\n" + comment(NO_LIMIT))
    root["context"] = CommentedMap(environment=draft.start.environment)
    root["publish"] = _flow({"format": "csv"})
    for key, lines in (("attributes", ROLES), ("masking", MASKING), ("policy", POLICY)):
        root.yaml_set_comment_before_after_key(key, before="\n" + comment(lines))
    root.yaml_set_comment_before_after_key("context", before="\n" + comment(POLICY_IS_OF) + "\n\n" + comment(CONTEXT))
    root["context"].yaml_set_comment_before_after_key("environment", before=comment(FIELDS), indent=2)
    return dump_yaml(root, plain=all(column.name.isprintable() for column in draft.columns))


def _attributes(columns: Sequence[DraftColumn]) -> CommentedMap:
    found = CommentedMap()
    for column in columns:
        key = quote_text(column.name)
        found[key] = _add_questions(_flow(_declaration(column)), column.decide)
        comments = [f"{'; '.join(column.why)}.", *(f"{hint[:1].upper()}{hint[1:]}." for hint in column.hints)]
        found.yaml_set_comment_before_after_key(key, before=comment(comments), indent=2)
    return found


def _add_questions(fields: CommentedMap, questions: Sequence[str]) -> CommentedMap:
    """With its open questions, on lines of their own."""
    if not questions:
        return fields
    found = CommentedMap(fields)
    found[DECIDE] = quote_text(questions[0]) if len(questions) == 1 else CommentedSeq(map(quote_text, questions))
    return found


def _declaration(column: DraftColumn) -> dict[str, Any]:
    fields: dict[str, Any] = {"role": str(column.attribute.role)}
    declared = column.reading.declared
    if column.attribute.is_published or column.attribute.scale is Scale.FREE_TEXT:
        fields["scale"] = str(column.attribute.scale)
    if column.attribute.derived_from:
        fields["from"] = _list(column.attribute.derived_from)
    if declared is not None and declared.decimal is not None:
        fields["decimal"] = quote_text(declared.decimal)
    if declared is not None and declared.date_format is not None:
        fields["date_format"] = quote_text(declared.date_format)
    if column.reading.missing:
        fields["missing"] = _list(column.reading.missing)
    return fields


def _steps(steps: Sequence[DraftEntry]) -> CommentedSeq:
    found = CommentedSeq()
    for position, step in enumerate(steps):
        fields = {key: _plain(value) for key, value in step.fields.items()}
        found.append(CommentedMap(fields) if {"method", DECIDE} & set(fields) else _flow(fields))
        found.yaml_set_comment_before_after_key(position, before=comment(step.why), indent=2)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return _list(value)
    return quote_text(value) if isinstance(value, str) else value


def _list(values: Sequence[Any]) -> CommentedSeq:
    found = CommentedSeq([_plain(value) for value in values])
    found.fa.set_flow_style()
    return found


def _flow(fields: dict[str, Any]) -> CommentedMap:
    found = CommentedMap(fields)
    found.fa.set_flow_style()
    return found


def quote_text(text: str) -> str:
    """In quotes unless it is a plain word that no reader of YAML takes for something else."""
    return text if _PLAIN.fullmatch(text) else DoubleQuotedScalarString(text)


def comment(lines: Sequence[str]) -> str:
    """Each line wrapped, its unprintable characters escaped: nothing in a name can end the comment."""
    wrapped = [part for line in lines for part in _wrap_line(escape_terminal(line))]
    return "\n".join(wrapped)


def _wrap_line(line: str) -> list[str]:
    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.wrap(line, WIDTH, subsequent_indent=indent, replace_whitespace=False, break_on_hyphens=False) or [""]


def dump_yaml(root: CommentedMap, *, plain: bool) -> str:
    yaml = YAML()
    yaml.width = WIDTH if plain else _ONE_LINE  # an escaped name that is broken over two lines is not read back as it was
    yaml.allow_unicode = plain
    yaml.indent(mapping=2, sequence=4, offset=2)
    sink = io.StringIO()
    yaml.dump(root, sink)
    return "".join(f"{line.rstrip(' ')}\n" for line in sink.getvalue().splitlines())
