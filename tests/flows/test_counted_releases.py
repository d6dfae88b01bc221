"""Which earlier releases count for a release, and what its attacks are given of them.

The stages up to the mask are computed directly, and a past run is what the ledger and a manifest say of it.
"""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import replace
from functools import partial

import pytest
from outcomes import newest_manifest
from release_files import HARDLY_COMPILED, RELEASE, survey, write_release
from trials import lines, lose, make_trial, masked_with, revoke, sha

from flows.earlier import counting
from flows.earlier.counted import CountedReleases
from flows.earlier.declared import TOLD_ALONE
from flows.earlier.earlier_tables import GONE
from flows.earlier.search import ReleasedMeanwhile, select_releases
from flows.kinds.masked_table import bind_earlier_attacks
from tasks.attack.threat import CURVE_PREFIX, intruders
from tasks.audit.series.past_releases import list_past_releases
from tasks.mask.outputs import Mechanisms
from tasks.microdata.errors import InputError
from tasks.microdata.refs import TableRef
from tasks.microdata.schema import Schema
from tasks.microdata.table import Microdata
from tasks.runtime.artifacts import Store
from tasks.runtime.settings import Home

__all__ = ["make_trial"]


def rows_of(record):
    return Store().table(TableRef(record.tables.persons)).column("record").to_pylist()


def test_the_first_release_of_a_home_counts_none(make):
    trial = make()
    assert trial.count() == CountedReleases()
    assert set(trial.job.runner.made) == {"ingest", "classify", "mask"}


def test_the_same_source_counts_and_every_person_is_themselves(make):
    first = make().certify()
    trial = make(masked_with(40, series="apart"))
    (one,) = trial.count_records()
    assert (one.name, one.release, one.reason) == (first, "survey", None)
    assert rows_of(one) == list(range(80))
    (claim,) = trial.count().claims
    assert (claim.name, claim.attacked, claim.certificate, claim.released) == (
        first, True, sha(first + "certificate"), sha(first))  # fmt: skip


def test_persons_of_another_version_are_found_by_their_key_whatever_its_series(make):
    head, rows = lines()
    newer = "\n".join([head, *rows[:9:-1], "7,30.25,100.5,999,no"]) + "\n"  # the last 70, backwards, and one who is new
    first = make().certify()
    (one,) = make(masked_with(50, name="other", series="apart"), text=newer).count_records()
    assert one.name == first
    assert rows_of(one) == [*range(79, 9, -1), None]


def test_a_series_alone_ties_nobody(make):
    head, rows = lines()
    make().certify()
    others = "\n".join([head, *(f"9{row}" for row in rows)]) + "\n"  # the same series, other keys
    assert make(text=others).count_names() == []


@pytest.mark.slow
@pytest.mark.parametrize("digests", [True, False])
def test_where_the_source_is_gone_digests_tell_and_nothing_is_attacked(make, digests):
    head, rows = lines()
    trial = make()
    first = trial.certify(digests=digests)
    lose(trial.job.source["data"])
    newer = "\n".join([head, *rows[:40]]) + "\n"
    (one,) = make(text=newer).count_records()  # without digests its series tells
    assert (one.name, one.tables, one.reason) == (first, None, GONE)
    apart = make(masked_with(50, series="apart"), text=newer)
    assert apart.count_names() == ([first] if digests else [])
    strangers = "\n".join([head, *(f"9{row}" for row in rows)]) + "\n"
    assert make(text=strangers).count_names() == ([] if digests else [first])


def test_without_a_key_whole_rows_tell(make):
    head, rows = lines()
    keyless = {"key": None, "attributes": {**RELEASE["attributes"], "person_id": {"role": "other"}}}
    first = make(masked_with(50, **keyless)).certify()
    newer = "\n".join([head, *rows[40:], *rows[:5]]) + "\n"
    (one,) = make(masked_with(40, series="apart", **keyless), text=newer).count_records()
    assert (one.name, rows_of(one)) == (first, [*range(40, 80), *range(5)])
    with_more = "\n".join([f"{head},more", *(f"{row},1" for row in rows)]) + "\n"
    keyless["attributes"]["more"] = {"role": "other", "scale": "nominal"}
    (one,) = make(masked_with(40, series="apart", **keyless), text=with_more).count_records()
    assert rows_of(one) == list(range(80))


def test_the_same_table_again_counts_once_and_not_for_itself(make):
    first = make(draw=1).certify()
    assert make(draw=1).count_names() == []
    make(draw=1).certify()
    assert make(masked_with(40)).count_names() == [first]
    other = make(masked_with(30)).certify()
    assert set(make(masked_with(40)).count_names()) == {first, other}


@pytest.mark.slow
def test_the_order_of_listing_changes_nothing(make, monkeypatch):
    for percent in (10, 20, 30):
        make(masked_with(percent)).certify()
    trial = make(masked_with(40))
    given = trial.count().to_attack
    assert len(given) == 3 and list(given) == sorted(given)
    past = list(trial.search.find_releases(trial.population))
    random.Random(1).shuffle(past)
    assert counting.count_releases(trial.job, trial.made, past) == trial.count()


@pytest.mark.slow
def test_a_revoked_release_counts_unless_it_was_never_published(make):
    first, second = make(masked_with(10)).certify(), make(masked_with(20)).certify()
    revoke(first)
    revoke(second, never_published=True)
    trial = make(masked_with(30))
    assert trial.count_names() == [first]
    replayed = trial.count(partial(select_releases, [first, second]))
    assert len(replayed.to_attack) == 2  # a replay sees what the run saw


@pytest.mark.slow
@pytest.mark.parametrize("facts", [{"not_for_publication": True}, {"outcome": "refused"}])
def test_a_rehearsal_and_a_refusal_are_no_releases(make, facts):
    make(masked_with(10)).certify(**facts)
    assert make(masked_with(30)).count_names() == []


def test_a_control_that_was_set_aside_was_not_released(make):
    change = {"control": 0.3, "membership": []}
    trial = make(masked_with(50, **change))
    first = trial.certify()
    (one,) = make(masked_with(40)).count_records()
    kept = Store().table(trial.job.masked.data)
    assert (one.name, one.tables.data) == (first, trial.job.masked.data)
    assert [row for row in rows_of(one) if row is not None] == list(range(kept.n))


def test_a_denial_is_refused_and_names_the_run(make):
    first = make(draw=1).certify()
    assert make({**masked_with(50), "context": {"prior_releases": []}}, draw=1).count_names() == []  # the same table again
    with pytest.raises(InputError) as refused:
        make(masked_with(40, context={"prior_releases": []})).count()
    assert (refused.value.code, refused.value.where) == ("earlier-release", "context.prior_releases")
    assert first in refused.value.what


@pytest.mark.slow
def test_a_release_without_tables_is_undecided_unless_it_is_omitted(make):
    trial = make(masked_with(10))
    first = trial.certify()
    lose(trial.job.masked.masked)
    declared = {"context": {"prior_releases": ["census 2020"]}}
    by_name = {one.release: one for one in make(masked_with(30, **declared)).count_records()}
    assert {one.reason for one in by_name.values()} == {GONE, TOLD_ALONE}

    def omitted(*releases):
        entries = [{"attack": "earlier_releases", "release": one, "reason": "it is lost"} for one in releases]
        return masked_with(30, omit=[*HARDLY_COMPILED["omit"], *entries], **declared)

    assert make(omitted("census 2020")).count_names() == [first]
    trial = make(omitted("census 2020", first))
    assert trial.count_names() == []
    assert [(one.name, one.attacked) for one in trial.count().claims] == [(first, False), ("text:1", False)]
    with pytest.raises(InputError) as refused:
        make(omitted("another")).count()
    assert (refused.value.where, refused.value.value) == ("omit[1].release", "another")
    assert first in refused.value.allowed
    other = make(masked_with(20)).certify()
    with pytest.raises(InputError):  # it can be attacked
        make(omitted("census 2020", first, other)).count()


def test_a_table_from_elsewhere_is_read_and_aligned(make, tmp_path):
    old = tmp_path / "old.csv"
    _, rows = lines()
    cells = [row.split(",") for row in rows]
    old.write_text("\n".join(["age,income,town,vote", *(f"{float(a) + 1},{b},{c},{d}" for _, a, b, c, d in cells)]) + "\n")
    prior = {"table": str(old), "date": "2024"}
    trial = make(masked_with(30, context={"prior_releases": [prior]}))
    (one,) = trial.count_records()
    assert (one.name, one.release, rows_of(one)) == ("file:1", "old.csv", list(range(80)))
    assert [step.method for step in Store().record(one.tables.mechanisms, Mechanisms)] == ["undeclared"]
    (claim,) = trial.count().claims
    assert (claim.name, claim.attacked, claim.released) == ("file:1", True, hashlib.sha256(old.read_bytes()).hexdigest())
    assert trial.job.release.context.prior_texts == ("file:1 (2024)",)
    assert str(tmp_path) not in json.dumps(trial.job.release.public())
    assert str(tmp_path) not in trial.job.release.report_plan.model_dump_json()
    old.write_text("age,income\n1,2\n")
    with pytest.raises(InputError) as refused:
        trial.count()
    assert refused.value.where.startswith("context.prior_releases[0]")


def test_a_release_that_came_meanwhile_is_seen_at_the_end(make):
    trial, other, stranger = (
        make(masked_with(10)),
        make(masked_with(20)),
        make(text=survey().replace("\n1", "\n91")),
    )
    assert trial.count_names() == []
    trial.search.refuse_new_releases()
    stranger.certify()
    trial.search.refuse_new_releases()
    other.certify()
    with pytest.raises(ReleasedMeanwhile):
        trial.search.refuse_new_releases()
    assert trial.count_names() == [other.run]
    trial.search.refuse_new_releases()


def test_check_lists_what_counts_and_stores_nothing(make):
    from flows.cli.earlier_text import describe_earlier_releases, find_earlier_releases, warn_of_denial

    first = make().certify()
    trial = make(masked_with(40, context={"prior_releases": []}), text=survey(81))
    schema = Store().record(trial.job.masked.schema, Schema)
    data = Microdata(Store().table(trial.job.source["data"]).arrow.slice(0, 60))
    before = sorted(Home.current().store.rglob("*"))
    found = find_earlier_releases(trial.job.release, data, schema)
    assert [one.run for one in found] == [first]
    assert sorted(Home.current().store.rglob("*")) == before
    ((stage, line),) = describe_earlier_releases(trial.job.release, found)
    assert stage == "earlier" and first in line
    assert len(warn_of_denial(trial.job.release, found)) == 1


def test_check_counts_the_attacks_that_join_releases(make):
    from flows.cli.earlier_text import count_earlier_attacks, find_earlier_releases

    make().certify()
    make(masked_with(30, series="apart")).certify()
    trial = make(masked_with(40), text=survey(81))
    job = replace(trial.job, earlier=trial.count().to_attack)
    schema = Store().record(job.masked.schema, Schema)
    declared, *insiders = intruders(job.release.intruder, schema)
    asking = [declared, *insiders, replace(declared, name=f"{CURVE_PREFIX}1")]
    found = find_earlier_releases(job.release, Store().table(trial.job.source["data"]), schema)
    joined = bind_earlier_attacks(job, asking)
    assert count_earlier_attacks(job.release, found, asking) == len(joined) == (1 + len(insiders)) * 3
    assert count_earlier_attacks(job.release, found, asking, later=3) == len(joined) + 3 * 3
    assert count_earlier_attacks(job.release, (), asking) == 0
    context = job.release.context.model_copy(update={"prior_releases": ("a table that was given to somebody",)})
    named = job.release.model_copy(update={"context": context})
    assert count_earlier_attacks(named, (), asking) == 1 + len(insiders)  # to say that it cannot be attacked
    assert count_earlier_attacks(named, found, asking) == len(joined) + 1 + len(insiders)
    assert count_earlier_attacks(job.release, found, [replace(declared, file="register")]) == 0


@pytest.mark.slow
@pytest.mark.drawn
def test_the_whole_chain_counts_certifies_and_replays(certify, audit):
    ran, first = certify(masked_with(50))
    assert ran.code == 0, ran.err
    assert first["earlier"] == [] and first["persons"].startswith("table:")
    ran, second = certify(masked_with(40, name="other", series="apart"))
    assert ran.code == 0, ran.err
    assert second["earlier"] == [first["run"]] and f"earlier {first['run']}" in second["stages"]
    code, out, err = audit("replay", second["run"])
    assert code == 0, (out, err)
    ran, _ = certify(masked_with(30, context={"prior_releases": []}))
    assert ran.code == 2 and first["run"] in ran.err and second["run"] in ran.err
    assert [one.run for one in list_past_releases()] == [first["run"], second["run"]]


@pytest.mark.slow
def test_a_run_that_another_overtakes_attacks_it_too(certify, sdcert, tmp_path, monkeypatch):
    """While the first is at its end, another about the same persons is certified."""
    from flows.run import issue as ending

    overtaking = []

    def conclude(recorder, **facts):
        if not overtaking:
            overtaking.append(True)
            path = write_release(tmp_path / "other", masked_with(40, name="other", series="apart"))
            assert sdcert("certify", path, "--output", tmp_path / "releases").code == 0
            overtaking.append(newest_manifest()["run"])
        return real(recorder, **facts)

    real = ending.RunRecorder.conclude
    monkeypatch.setattr(ending.RunRecorder, "conclude", conclude)
    ran, _ = certify(masked_with(50))
    assert ran.code == 0, ran.err
    found = {one.run: one for one in list_past_releases()}
    assert len(found) == 2 and next(iter(found)) == overtaking[1]
