"""Which certificates are due, at dates on both sides of every limit."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_homes import NOW, digest_of, ended, entry, revoked

from tasks.audit.lookup.trust import KeyEnd
from tasks.audit.maintenance.review_due import IssuedCertificate, collect_certificates, find_due_certificates, select_standing
from tasks.report.predicate import ATTACK_CATALOGUE_VERSION

SECOND, DAY = timedelta(seconds=1), timedelta(days=1)
NONE = timedelta(0)


def certified(index: int, run: str, *, review_in: float = 100.0, **facts) -> object:
    return ended(index, run, review_by=(NOW + timedelta(days=review_in)).isoformat(), attack_catalogue_version="2", **facts)


def standing(entries, *, at: datetime) -> tuple[IssuedCertificate, ...]:
    return select_standing(collect_certificates((one, "k" * 64) for one in entries), at=at)


def whys(*entries, at: datetime = NOW, within: timedelta = NONE, catalogue: str = "2") -> dict[str, tuple[str, ...]]:
    found = find_due_certificates(standing(entries, at=at), at=at, within=within, catalogue=catalogue)
    return {one.certificate.run: one.why for one in found}


@pytest.mark.parametrize(
    ("late", "within", "why"),
    [
        (-SECOND, NONE, ()),
        (NONE, NONE, ()),  # on the day itself it is still good
        (SECOND, NONE, ("past review",)),
        (-DAY, DAY, ()),
        (-DAY + SECOND, DAY, ("review soon",)),
        (NONE, DAY, ("review soon",)),
        (SECOND, DAY, ("past review",)),
    ],
)
def test_a_certificate_is_due_after_its_date_of_review(late, within, why):
    one = certified(0, "a1", review_in=100)
    assert whys(one, at=NOW + 100 * DAY + late, within=within) == ({"a1": why} if why else {})


@pytest.mark.parametrize(
    ("then", "now", "is_due"),
    [("2", "2", False), ("1", "2", True), ("9", "10", True), ("10", "9", False), ("2", "2.1", True), (None, "2", True)],
)
def test_a_certificate_is_due_when_the_attacks_have_grown_stronger(then, now, is_due):
    one = ended(0, "a1", attack_catalogue_version=then, review_by=None)
    assert whys(one, catalogue=now) == ({"a1": ("older attacks",)} if is_due else {})


@pytest.mark.parametrize(("then", "is_due"), [("8", True), (ATTACK_CATALOGUE_VERSION, False)])
def test_certificates_from_before_the_membership_attacks_by_mechanism_are_due(then, is_due):
    one = ended(0, "a1", attack_catalogue_version=then, review_by=None)
    assert bool(find_due_certificates(standing((one,), at=NOW), at=NOW, within=NONE)) == is_due


def test_both_reasons_are_told():
    assert whys(certified(0, "a1", review_in=-1), catalogue="3") == {"a1": ("past review", "older attacks")}


@pytest.mark.parametrize(
    "facts",
    [{"outcome": "refused"}, {"outcome": "undecided"}, {"outcome": "failed"}, {"not_for_publication": True}],
)
def test_what_certifies_nothing_is_never_due(facts):
    assert whys(certified(0, "a1", review_in=-1, **facts)) == {}


def test_a_revoked_certificate_is_not_due_from_its_revocation_on():
    entries = (certified(0, "a1", days=9, review_in=-5), revoked(1, "a1", days=1))
    assert whys(*entries, at=NOW - 2 * DAY) == {"a1": ("past review",)}
    assert whys(*entries, at=NOW) == {}


def test_a_later_certificate_of_the_series_supersedes_until_it_is_revoked():
    old, other = certified(0, "a1", days=9, review_in=-5), certified(1, "b1", days=8, series="b", review_in=-5)
    new, refused = certified(2, "a2", days=3), certified(3, "a3", days=2, outcome="refused")

    def superseded(*entries, at: datetime = NOW) -> dict[str, str | None]:
        return {one.run: one.superseded_by for one in standing(entries, at=at)}

    assert superseded(old, other, new, refused) == {"a1": "a2", "b1": None, "a2": None}
    assert superseded(old, other, new, refused, at=NOW - 4 * DAY) == {"a1": None, "b1": None}
    assert superseded(old, other, new, refused, revoked(4, "a2", days=1)) == {"a1": None, "b1": None}


@pytest.mark.parametrize(
    ("end", "is_due"),
    [
        (KeyEnd("revoked", 9, NOW), True),
        (KeyEnd("revoked", 9, NOW, since=NOW - 4 * DAY), True),
        (KeyEnd("revoked", 9, NOW, since=NOW - 2 * DAY), False),  # what it signed before then stays good
        (KeyEnd("revoked", 9, NOW + DAY), False),  # not yet at that moment
        (KeyEnd("revoked"), True),  # only the record of the key says so
        (KeyEnd("retired", 9, NOW), False),
    ],
)
def test_a_certificate_of_a_revoked_key_is_due(end, is_due):
    issued = collect_certificates([(certified(0, "a1", days=3), "k" * 64), (certified(1, "b1", days=3, series="b"), "l" * 64)])
    known = select_standing(issued, at=NOW, revoked={"k" * 64: end}.get)
    found = find_due_certificates(known, at=NOW, within=NONE, catalogue="2")
    assert [(one.certificate.run, one.why) for one in found] == ([("a1", ("key revoked",))] if is_due else [])


def test_other_entries_do_not_matter():
    attempt = {"source": "table:" + "0" * 64, "source_file": "0" * 64, "masking": "m", "draw": "d", "policy": "0" * 64}
    other = entry(0, NOW, kind="attempt", run="a1", series="survey", attempts=1, **attempt)
    (found,) = standing([other, certified(1, "a1")], at=NOW)
    assert (found.sha256, found.release, found.catalogue) == (digest_of("a1"), "survey", "2")


@given(st.integers(-400, 400), st.integers(-400, 400), st.integers(0, 400), st.integers(0, 400))
def test_what_is_due_stays_due_later_and_for_longer_looks_ahead(review, at, later, within):
    one = IssuedCertificate("a1", "survey", "survey", "", NOW, NOW + review * DAY, "2")

    def is_due(when: int, ahead: int) -> bool:
        return bool(find_due_certificates([one], at=NOW + when * DAY, within=ahead * DAY, catalogue="2"))

    assert is_due(at, within) == (review - at < max(within, 0))
    assert is_due(at, within) <= is_due(at + later, within)
    assert is_due(at, within) <= is_due(at, within + later)
