"""What every kind of release must have, whatever it is: a new one is held to this without being listed anywhere (2 s)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from importlib.resources import files
from typing import get_args

import pytest

from flows.kinds import KIND_FLOWS, find_kind
from flows.kinds.base import KindFlow
from flows.release import ReleaseSpec
from tasks.report.kinds import KIND_REPORTS
from tasks.report.kinds.base import KindReport
from tasks.report.predicate import FileClaim
from tasks.score.catalogue import MEASURES
from tasks.score.kinds import KINDS
from tasks.score.release_kinds import MASKED_TABLE, RELEASE_KINDS, ReleaseKind

MASKING = [{"method": "microaggregation", "attributes": ["age", "size"], "k": 5}]
EXAMPLES = {  # the parts of a release file that say what is released
    "masked table": {"masking": MASKING},
    "synthetic table": {"released": {"table": "made.csv", "align": "none"}},
    "model": {"release": {"model": {"learner": {"method": "naive_bayes"}, "target": "vote"}}},
}
EVERY = pytest.mark.parametrize("kind", RELEASE_KINDS, ids=lambda one: one.name)


def read_example(kind: ReleaseKind) -> ReleaseSpec:
    policy = [{"measure": "membership_advantage", "at_most": 0.5}]
    control = {"table": "others.csv"}
    plain = {"name": "example", "source": {"table": "people.csv"}, "policy": policy, "control": control}
    return ReleaseSpec.model_validate_json(json.dumps(plain | EXAMPLES[kind.name]))


def list_missing_parts(kind: ReleaseKind) -> Iterator[str]:
    """What a kind of release lacks, in words."""
    name = kind.name
    if [one.kind.name for one in KIND_REPORTS].count(name) != 1:
        yield f"{name}: one report in tasks/report/kinds/, listed in KIND_REPORTS"
    if [one.kind.name for one in KIND_FLOWS].count(name) != 1:
        yield f"{name}: one declaration in flows/kinds/, listed in KIND_FLOWS"
    if name not in EXAMPLES:
        yield f"{name}: an example of its release file in this test"
    if kind.thing not in get_args(FileClaim.model_fields["kind"].annotation):
        yield f"{name}: the certificate has no file of kind {kind.thing}"
    if not kind.membership_attacks:
        yield f"{name}: attacks on membership that run by default"
    for disclosure in kind.discloses:
        if disclosure not in KINDS:
            yield f"{name}: {disclosure} is no kind of disclosure"
        answered = "identity" if disclosure == "insiders" else disclosure
        if disclosure not in kind.cannot_limit and all(one.answers != answered for one in MEASURES.values()):
            yield f"{name}: a measure whose limit answers {disclosure}, or `cannot_limit`"


@EVERY
def test_a_kind_has_all_its_parts(kind):
    missing = list(list_missing_parts(kind))
    assert not missing, f"missing: {'; '.join(missing)}"


def test_what_is_missing_is_named():
    toy = replace(MASKED_TABLE, name="answers", thing="answers", membership_attacks=())
    missing = "; ".join(list_missing_parts(toy))
    for part in ("tasks/report/kinds/", "flows/kinds/", "an example", "the certificate", "attacks on membership"):
        assert part in missing
    with pytest.raises(TypeError, match="write_file"):
        KindFlow(**{one.name: None for one in fields(KindFlow) if one.name != "write_file"})
    with pytest.raises(TypeError, match="list_limits"):
        KindReport(**{one.name: None for one in fields(KindReport) if one.name != "list_limits"})


def test_no_part_is_of_a_kind_that_is_not_declared():
    assert [one.kind for one in KIND_REPORTS] == list(RELEASE_KINDS) == [one.kind for one in KIND_FLOWS]
    assert len({one.name for one in RELEASE_KINDS}) == len(RELEASE_KINDS)
    for flow, report in zip(KIND_FLOWS, KIND_REPORTS, strict=True):
        assert flow.wording is report, f"{flow.kind.name}: the flow has the report of another kind"


@EVERY
def test_a_release_file_says_which_kind_it_is(kind):
    release = read_example(kind)
    assert release.kind is kind, f"{kind.name}: ReleaseSpec.kind does not recognise it"
    assert find_kind(release).kind is kind
    assert release.membership_attacks == kind.membership_attacks
    assert bool(release.attacks_to_run) <= kind.is_table


@EVERY
def test_its_chapters_are_there(kind):
    report = next(one for one in KIND_REPORTS if one.kind is kind)
    chapters = (*report.first_chapters, *report.last_chapters)
    assert chapters, f"{kind.name}: no chapter describes what is released"
    for chapter in chapters:
        page = files("tasks.report") / "templates" / chapter.template
        assert page.is_file(), f"{kind.name}: {chapter.template} is missing"
        assert f'<section id="{chapter.id}"' in page.read_text(), f"{kind.name}: {chapter.template} lacks its anchor"
