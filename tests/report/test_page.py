"""The page: complete, self-contained, and inert whatever the names say."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from jinja2 import UndefinedError
from markupsafe import escape

from tasks.attack.omissions import Omission
from tasks.microdata.schema import Schema
from tasks.report import page as page_module
from tasks.report.content import Content, public_edition
from tasks.report.page import Stamp, render_report, stamp_page
from tasks.report.views.missing import missing_in_words
from tasks.report.views.overview import attribute_rows
from tasks.report.views.policy_lines import state_verdict
from tasks.report.wording.meanings import meaning
from tasks.report.wording.sentence import say
from tasks.score.policy import PolicyLine
from tasks.score.verdict import Verdict, decide

KEYS, SECRETS = ("popul", "age", "educ", "income"), ("TVnews", "selfLR", "ClinLR", "DoleLR", "PID", "vote")
WHICH = ("certified", "refused", "undecided")
STAMP = Stamp(run="20261121T093000Z-1f2e3d", issued_at=datetime(2026, 11, 21, 9, 31, tzinfo=UTC), attempts=1)
BLOCKS = {"td", "th", "dt", "dd", "p", "li", "div", "span", "summary", "h1", "h2", "h3", "h4", "tr", "caption", "title"}
VOID = {"meta", "link", "img", "br", "hr", "input"}
HOSTILE = (
    "<script>alert(1)</script>",
    "<!--stamp:line-->",
    "<!--stamp:table-->",
    "&lt;!--stamp:line--&gt;",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "{{ content.name }}{% include 'x' %}",
    "</style><style>*{display:none}</style>",
    "\u202eright to left\u2066",
    "line\nbreak\r\n\ttab",
    "javascript:alert(1)",
    "=cmd|'/c calc'!A0",
    "\U0001f600" * 20,
    "x" * 300,
)


class Outline(HTMLParser):
    """Tags, attributes and text of a page; unbalanced tags are an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.comments: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.text += " " if tag in BLOCKS else ""

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data

    def handle_comment(self, data):
        self.comments.append(data)


def said(text: str) -> str:
    return " ".join(Outline(text).text.replace("\u202f", " ").split())


PAGES: dict[int, tuple[Content, str]] = {}  # by the content's id; it is kept, so that no other one gets its id


def page_of(content: Content) -> str:
    """The page of a content that is the same for the whole session: rendered once."""
    if id(content) not in PAGES:
        PAGES[id(content)] = (content, render_report(content))
    return PAGES[id(content)][1]


@pytest.fixture(params=WHICH)
def content(request):
    return request.getfixturevalue(request.param)


def test_the_sections_stand_in_their_order(content):
    outline = Outline(page_of(content))
    ids = [attributes["id"] for tag, attributes in outline.tags if tag == "section"]
    assert ids == ["policy", "masking", "attacks", "disclosure", "losses", "source", "residual", "limits", "issue"]
    targets = [attributes["href"] for tag, attributes in outline.tags if tag == "a"]
    assert targets == ["#main", *(f"#{name}" for name in ids)]
    levels = [int(tag[1]) for tag, _ in outline.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below - above <= 1 for above, below in pairwise(levels))


def test_nothing_is_fetched_and_nothing_runs(content):
    text = page_of(content)
    outline = Outline(text)
    policy = next(attributes["content"] for tag, attributes in outline.tags if attributes.get("http-equiv"))
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")
    assert {tag for tag, _ in outline.tags} & {"script", "link", "iframe", "object", "embed", "img", "form", "base"} == set()
    for _, attributes in outline.tags:
        assert not any(name.startswith("on") or name in ("src", "srcset", "action") for name in attributes)
    assert not re.search(r"url\(|@import|https?:|//[a-z]", text)


def test_tables_are_tables_for_everybody(content):
    text = page_of(content)
    outline = Outline(text)
    tables = [tag for tag, _ in outline.tags].count("table")
    assert tables == [tag for tag, _ in outline.tags].count("caption") > 5
    heads = [attributes for tag, attributes in outline.tags if tag == "th"]
    assert all(attributes.get("scope") in ("col", "row") for attributes in heads)
    assert ("html", {"lang": "en"}) in outline.tags


def test_the_verdict_and_the_deciding_numbers(certified, refused, undecided):
    kept, left_open = (said(render_report(one)) for one in (certified, undecided))
    assert all(state_verdict(one) in said(render_report(one)) for one in (certified, refused, undecided))
    whose = "declared intruder, transparency attack"
    assert f"Re-identification rate {whose} 9.5 % about 90 of 944 records 0 % 100 % Limit at most 15 %; chance 0.11 %" in kept
    assert kept.count("No figure is estimated from a sample: every record was attacked.") == 1
    assert "95 % bound 16.5 %, from a sample" in left_open
    assert "every record was attacked" not in left_open
    assert "does not apply" not in kept
    assert "16.5 %, from a sample of 200 records" in left_open


def test_what_was_done_and_what_was_dropped(certified):
    text = said(page_of(certified))
    treated = {row.name: row.treatment for row in attribute_rows(certified)}
    assert treated["logpopul"].facts["why_unpublished"].facts["derived_from"] == ("popul",)
    assert treated["vote"].facts == {"steps": [], "why_unpublished": ""}
    for name, role in (("logpopul", "derived"), ("age", "quasi-identifier"), ("vote", "confidential")):
        assert f"{name} {role} {treated[name]}" in text


def test_each_attack_states_knowledge_direction_scale_and_credit(certified):
    text = said(page_of(certified))
    for result in certified.attacks:
        assert result.infers in text
        assert result.knows_mechanism in text
    assert text.count("Scale: both files are scaled by the release's mean and standard deviation") == 2
    assert text.count("Credit: a tie of t records earns 1/t.") == 2
    assert "PID 44.5 % 42.4 % 100 % 100 % 2.1 records" in text
    assert "vote 63.6 % 58.3 % 56.1 % 5.3 points" in text
    assert "63.6 % (+5.3)" in text


def test_each_measure_is_explained_where_it_stands(certified):
    text = said(page_of(certified)).replace("&#39;", "'")
    for measure in {one.measure for one in certified.estimates} - {"linked_value_control"}:
        assert meaning(measure, unit=certified.context.unit).sentence.replace("\u202f", " ") in text, measure


def test_attacks_without_a_figure_are_listed_with_the_reason(refused, undecided):
    text = said(page_of(refused))
    assert "Transparency attack all omitted the board has seen it on an earlier draft" in text
    assert "k bounds nothing" in text
    failed = said(page_of(undecided))
    assert "Transparency attack declared intruder failed the intersections are empty" in failed


def test_the_banner_stands_where_it_must(certified, undecided):
    assert "Not for publication." not in said(page_of(certified))
    assert "Not for publication." in said(page_of(undecided))
    rehearsal = said(render_report(replace(certified, not_for_publication=True)))
    assert "Not for publication." in rehearsal
    assert "policy lines kept" in rehearsal and "Certified:" not in rehearsal


def test_what_no_policy_line_limits_stands_beside_the_verdict(certified):
    head = said(page_of(certified)).partition("Records linked to the right person")[0]
    assert "Not limited by the policy An insider (somebody who also knows PID" in head
    assert head.count("At least one person is linked to their own record alone") == 2
    line = PolicyLine(measure="reidentification", at_most=0.5, intruder="insider")
    largest = PolicyLine(measure="max_record_risk", at_most=0.99)
    of_insiders = PolicyLine(measure="max_record_risk", at_most=0.99, intruder="insider")
    lines = (*certified.policy, line, largest, of_insiders)
    limited = replace(certified, policy=lines, verdict=decide(lines, certified.estimates))
    text = said(render_report(limited))
    assert "Not limited by the policy" not in text
    assert "An insider (somebody who also knows PID" in text.partition("Records linked to the right person")[0]


def test_matrices_are_folded_and_open_in_print(certified):
    text = page_of(certified)
    folded = [attributes for tag, attributes in Outline(text).tags if tag == "details"]
    assert folded.count({}) == 9
    assert folded.count({"class": "data"}) == text.count("<figure") == len(folded) - 9
    assert "details::details-content { display: block;" in text.partition("@media print")[2]


def test_prose_has_no_code_names(content):
    text = said(page_of(content))
    assert not re.findall(r"\b(?:distance_linkage|rank_swapping|quasi_identifier)\b", text)


def test_what_the_release_file_does_not_state_is_one_line(certified):
    bare = replace(certified, context=type(certified.context)())
    text = said(render_report(bare))
    unstated = "persons, what a row is, period, sampling fraction, special categories, purpose and earlier releases"
    assert f"Not stated {unstated}: not assessed" in text
    assert "Not stated persons, sampling fraction and earlier releases: not assessed" in said(page_of(certified))


def test_missing_values_are_told_where_a_masked_column_has_any(certified, refused):
    assert "Missing values" not in said(page_of(certified))
    told = ((certified, "miss the same attributes", "popul (12 of 944)"),
            (refused, "records without a value take no part", "popul"))  # fmt: skip
    for content, said_of, counted in told:
        columns = tuple(replace(one, n_missing=12 if one.name == "popul" else 0) for one in content.ingest.columns)
        missing = replace(content, ingest=replace(content.ingest, columns=columns))
        text, sentence = said(render_report(missing)), missing_in_words(missing)[0]
        assert (sentence.id, sentence.facts) == ("missing.gaps_stay", {"gaps": [counted]})
        assert sentence in text
        assert said_of in text


def with_counts(content, **changes):
    """The content with an own canary as evidence and as note of each column, and an own number of missing values."""
    schema = Schema(tuple(replace(one, evidence=(f"{one.name}-evidence",)) for one in content.schema.attributes))
    columns = tuple(
        replace(one, n_missing=600 + i, notes=(f"{one.name}-note",)) for i, one in enumerate(content.ingest.columns)
    )
    notes = ("texts that begin like a spreadsheet formula: logpopul (3 cells)", "the encoding was guessed", "vote (7 cells)")
    return replace(content, schema=schema, ingest=replace(content.ingest, columns=columns, notes=notes), **changes)


def test_counts_of_columns_that_are_not_published_as_they_are_stay_in_the_house(internal):
    full = with_counts(internal)
    public, private = said(render_report(public_edition(full))), said(render_report(full))
    for i, name in enumerate(full.schema.names):
        kept = name in SECRETS
        for canary in (f"{name}-evidence", f"{name}-note"):
            assert canary in private
            assert (canary in public) == kept, canary
        assert f" {600 + i} " in private
        assert (f" {600 + i} " in public) == kept or name in KEYS, name  # gaps of masked columns are seen in the release
    assert "logpopul (3 cells)" in private
    assert "logpopul (3 cells)" not in public
    assert "the encoding was guessed" in public
    assert "vote (7 cells)" in public
    assert public.count("only the internal edition has them") == 1
    assert "only the internal edition has them" not in private


def test_nothing_is_counted_of_a_source_that_is_not_released_whole(internal, refused):
    for content in (with_counts(internal, rows_out=900), with_counts(refused)):
        text = said(render_report(public_edition(content)))
        assert not re.search(r"-evidence|-note| 60\d ", text)
        assert "cells)" not in text
    lines = ("50 distinct of 944 values", "the weight `vote` tells popul (for 85% of the rows, by chance 70%)")
    told = Schema(tuple(replace(one, evidence=lines) for one in internal.schema.attributes))
    text = said(render_report(public_edition(replace(internal, schema=told))))
    assert "tells popul" not in text
    assert text.count("50 distinct of 944 values") == len(SECRETS)
    again = public_edition(with_counts(internal))
    assert public_edition(again) == again


def test_a_limit_that_cannot_be_broken_is_marked(certified):
    lines = (PolicyLine(measure="reidentification", at_most=1.0), PolicyLine(measure="records_exposed", at_most=0.5))
    text = said(render_report(replace(certified, policy=lines, verdict=decide(lines, certified.estimates))))
    note = say("policy.note", cannot_fail=True, worst_case="", reason=None)
    assert text.count(note) == 1
    assert "Not limited by the policy Somebody who knows" in text
    assert note not in said(page_of(certified))


def test_no_word_promises_too_much(content):
    text = said(stamp_page(page_of(content), STAMP)).lower()
    for word in ("worst-case", "worst case", "upper bound", "resist", "guarantee", "fully anonymous", "is anonymous"):
        assert word not in text
    assert "worst found among the attacks run" in text


def test_the_stamp_is_filled_in_once(certified):
    issued = Stamp(
        run="run-1", issued_at=STAMP.issued_at, attempts=3, released_file="released.csv", sha256="ab" * 32, content_address="cd"
    )
    done = stamp_page(page_of(certified), issued)
    text = said(done)
    assert "Run run-1 · issued 21 November 2026, 09:31 UTC · attempt 3" in text
    assert "3 of this series on this source. A figure that was chosen among several attempts looks better than it is." in text
    assert "released.csv" in text
    assert "ab" * 32 in text
    assert Outline(done).comments == []
    with pytest.raises(ValueError, match="places"):
        stamp_page(done, issued)
    assert "none: no table was released" in said(stamp_page(page_of(certified), STAMP))


def test_the_stamp_itself_is_inert(certified):
    hostile = replace(STAMP, run="<!--stamp:table--><script>", released_file="</dd><b>", sha256="<i>", content_address="<u>")
    outline = Outline(stamp_page(page_of(certified), hostile))
    assert not {"script", "i", "u", "b"} & {tag for tag, attributes in outline.tags if "class" not in attributes}
    assert "<!--stamp:table--><script>" in outline.text


def test_a_stamp_is_complete_or_refused():
    with pytest.raises(ValueError, match="time zone"):
        replace(STAMP, issued_at=datetime(2026, 11, 21))
    with pytest.raises(ValueError, match="come together"):
        replace(STAMP, released_file="released.csv")


@pytest.fixture(scope="module")
def clean(certified):
    return Outline(page_of(certified))


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_text_stays_inert_wherever_it_stands(certified, clean, hostile):
    bad = _poisoned(certified, hostile)
    text = render_report(bad)
    outline = Outline(text)
    assert outline.comments == ["stamp:line", "stamp:table"]
    assert {tag for tag, _ in outline.tags} <= {tag for tag, _ in clean.tags}
    assert {name for _, attributes in outline.tags for name in attributes} == {
        name for _, attributes in clean.tags for name in attributes
    }
    shown = str(page_module.escape_directions(hostile))
    assert outline.text.count(shown) >= 8
    assert str(escape(shown)) in text
    assert not re.search("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]", text)
    issued = Outline(stamp_page(text, STAMP))
    assert issued.comments == []
    assert issued.text.count(STAMP.run) == 2


def _poisoned(content, hostile):
    """The content with the text in every place that a user fills: names, notes, reasons, context, intruders."""

    def renamed(name):
        return hostile if name == "vote" else name

    attributes = tuple(replace(one, name=renamed(one.name), evidence=(hostile,)) for one in content.schema.attributes)
    columns = tuple(replace(one, name=renamed(one.name), notes=(hostile,)) for one in content.ingest.columns)
    checks = tuple(replace(one, expectation=hostile) for one in content.ingest.checks)
    attacks = tuple(
        replace(
            one, attack=hostile, intruder=one.intruder.replace("vote", hostile), knows_data=hostile, knows_mechanism=hostile
        )
        for one in content.attacks
    )
    estimates = tuple(
        replace(
            one,
            attack=None if one.attack is None else hostile,
            intruder=None if one.intruder is None else one.intruder.replace("vote", hostile),
            attribute=None if one.attribute is None else renamed(one.attribute),
            reason=hostile,
        )
        for one in content.estimates
    )
    criteria = tuple(replace(one, reason=hostile, attack=hostile, attribute=hostile) for one in content.verdict.criteria)
    context = content.context.model_copy(
        update={"purpose": hostile, "unit": hostile, "period": hostile, "recipients": (hostile,), "prior_releases": (hostile,)}
    )
    return replace(
        content,
        name=hostile,
        series=hostile + "s",
        context=context,
        ingest=replace(content.ingest, source=hostile, encoding=hostile, notes=(hostile,), columns=columns, checks=checks),
        schema=replace(content.schema, attributes=attributes),
        attacks=attacks,
        omitted=(Omission(attack="transparency", reason=f"abc {hostile}"),),
        estimates=estimates,
        verdict=Verdict(content.verdict.verdict, criteria),
    )


def test_the_page_is_the_same_every_time(certified):
    assert render_report(certified) == render_report(certified)


def test_a_template_that_misses_something_fails(monkeypatch):
    with pytest.raises(UndefinedError):
        page_module._create_environment().from_string("{{ content.nothing }}").render(content={})
    assert page_module._create_environment().autoescape is True
