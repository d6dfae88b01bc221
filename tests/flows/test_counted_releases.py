"""Which earlier releases count for a release, and what its attacks are given of them.

The stages up to the mask are computed directly, and a past run is what the ledger and a manifest say of it.
"""

from __future__ import annotations

import hashlib
import json
import random
import signal
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from outcomes import newest_manifest
from release_files import HARDLY_COMPILED, RELEASE, survey, write_release

from flows.earlier import counting
from flows.earlier.counted import CountedReleases
from flows.earlier.declared import TOLD_ALONE
from flows.earlier.earlier_tables import GONE
from flows.earlier.search import EarlierSearch, ReleasedMeanwhile, select_releases
from flows.kinds import find_kind
from flows.kinds.base import MadeRelease, ReleaseJob
from flows.mask_stages import mask_source
from flows.release_file import load_release
from flows.run.publish import settle_latest
from flows.run.stage_runner import store_part
from tasks.attack.together.earlier_release import EarlierRelease
from tasks.audit.ledger.entries import AskedBy, AttemptMade, CertificateRevoked, ReleasedTable, RunEnded
from tasks.audit.ledger.ledger import Ledger
from tasks.audit.series.past_releases import list_past_releases
from tasks.audit.signing.keys import open_signing_key
from tasks.classify.task import classify_attributes
from tasks.ingest.task import ingest_source, source_digest
from tasks.mask.outputs import Mechanisms
from tasks.mask.task import Steps
from tasks.microdata.errors import InputError
from tasks.microdata.refs import TableRef
from tasks.microdata.schema import Schema
from tasks.microdata.table import Microdata
from tasks.runtime.artifacts import Store, name_artifact_file
from tasks.runtime.draws import keep_seed
from tasks.runtime.settings import Home

ZERO = "0" * 64
NOISE = HARDLY_COMPILED["masking"][0]


def masked_with(percent, **change):
    """A release file that masks with so much noise: two of them are two releases."""
    return {**HARDLY_COMPILED, "masking": [{**NOISE, "sd_percent": percent}], **change}


@dataclass
class DirectRunner:
    """Runs stages here and now; made: what each made."""

    made: dict[str, Any] = field(default_factory=dict)

    def run(self, name, call):
        self.made[name] = call.compute()
        return self.made[name]

    def run_all(self, title, calls, *, each=1):
        return [self.run(name, call) for name, call in calls.items()]

    def warn(self, notes):
        pass

    def recall_inputs(self, name):
        return None


@dataclass
class Trial:
    """A release that was made and not yet certified."""

    run: str
    job: ReleaseJob
    made: MadeRelease
    search: EarlierSearch

    @property
    def population(self):
        return counting.find_population(self.job)

    def count(self, find=None) -> CountedReleases:
        return counting.count_releases(self.job, self.made, (find or self.search.find_releases)(self.population))

    def count_names(self):
        return [record.name for record in self.count_records()]

    def count_records(self) -> list[EarlierRelease]:
        return [Store().record(ref, EarlierRelease) for ref in self.count().to_attack]

    def certify(self, *, digests=True, **facts) -> str:
        """Write down that the release was certified, with digests of its persons or as runs before did."""
        self.search.find_releases(self.population)
        manifest = {"run": self.run, **({"persons": self.search.store_persons()} if digests else {})}
        content = json.dumps(manifest).encode()
        (Home.current().folder("runs", self.run) / "manifest.json").write_bytes(content)
        named = {"run": self.run, "series": self.job.release.series_name}
        tried = {"source": self.job.source["data"], "source_file": ZERO, "masking": "steps", "draw": "draw", "policy": ZERO}
        append(AttemptMade(**named, **tried, attempts=1))
        released = ReleasedTable(
            name="released.csv", sha256=sha(self.run), content_address=f"sha256:{sha(self.made.address)}", rows=1, columns=()
        )
        stages = {name: {"cached": False, "produced": made} for name, made in self.job.runner.made.items()}
        ending = {"release": self.job.release.name, "outcome": "certified", "not_for_publication": False, "stages": stages}
        ending |= {"certificate": sha(self.run + "certificate"), "manifest": Store().digest(content)}
        event = named | ending | facts
        append(RunEnded.model_validate_json(json.dumps(event | {"released": json.loads(released.model_dump_json())})))
        return self.run


def append(event):
    key = open_signing_key()
    Ledger.current().append(event, key)


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def revoke(run, **facts):
    by = AskedBy(user="steward", host="here")
    append(CertificateRevoked(run=run, certificate=sha(run + "certificate"), revocation=ZERO, reason="x", asked_by=by, **facts))


@pytest.fixture
def make(home, tmp_path):
    """`make(change, text=...)` masks the small survey, and certifies nothing."""
    numbers = iter(range(1, 100))

    def call(change=None, text=None, draw=None) -> Trial:
        number = next(numbers)
        release = load_release(write_release(tmp_path / f"project{number}", change or masked_with(50), text=text))
        runner = DirectRunner()
        source = runner.run("ingest", ingest_source.bind(store_part(release.ingest_plan), source_digest(release.source)))
        classified = classify_attributes.bind(source["data"], store_part(release.classify_plan))
        schema = runner.run("classify", classified)["schema"]
        seed = keep_seed(hashlib.sha256(str(draw or number).encode()).digest())
        masked = mask_source(runner, release, source["data"], schema, lambda _: seed)
        job = ReleaseJob(runner, release, source, masked, (), None)
        run = f"20261121T0930{number:02}Z-1f2e3d"
        return Trial(run, job, find_kind(release).make(job), EarlierSearch(run))

    return call


def rows_of(record):
    return Store().table(TableRef(record.tables.persons)).column("record").to_pylist()


def lose(address):
    (Home.current().store / name_artifact_file(address)).unlink()


def lines(text=None):
    head, *rows = (text or survey()).splitlines()
    return head, rows


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


def test_the_order_of_listing_changes_nothing(make, monkeypatch):
    for percent in (10, 20, 30):
        make(masked_with(percent)).certify()
    trial = make(masked_with(40))
    given = trial.count().to_attack
    assert len(given) == 3 and list(given) == sorted(given)
    past = list(trial.search.find_releases(trial.population))
    random.Random(1).shuffle(past)
    assert counting.count_releases(trial.job, trial.made, past) == trial.count()


def test_a_revoked_release_counts_unless_it_was_never_published(make):
    first, second = make(masked_with(10)).certify(), make(masked_with(20)).certify()
    revoke(first)
    revoke(second, never_published=True)
    trial = make(masked_with(30))
    assert trial.count_names() == [first]
    replayed = trial.count(partial(select_releases, [first, second]))
    assert len(replayed.to_attack) == 2  # a replay sees what the run saw


def test_a_release_that_was_never_published_is_not_kept(make):
    groups = {"method": "microaggregation", "attributes": ["age", "income", "town"], "k": 5, "frozen": True}
    noise = {**NOISE, "draw": "per_person"}

    def kept_by(trial):
        made = trial.job.runner.made["keep released"]
        return Store().table(made["history"]).n if "history" in made else Store().record(made["steps"], Steps)[0].personal

    for step in (groups, noise):
        series = {**masked_with(50), "masking": [step], "series": step["method"]}
        _, rows = lines()
        fewer = "\n".join([lines()[0], *rows[:60]]) + "\n"
        alone = kept_by(make({**series, "series": "apart"}, text=fewer))
        first = make(series).certify()
        assert kept_by(make(series, text=fewer)) != alone
        revoke(first, never_published=True)
        assert kept_by(make(series, text=fewer)) == alone
    first = make(series).certify()
    revoke(first)  # a revocation recalls no file
    assert kept_by(make(series, text=fewer)) != alone
    lose(list_past_releases()[-1].tables["mechanisms"])
    with pytest.raises(InputError) as refused:
        make(series, text=fewer)
    assert (refused.value.code, refused.value.value) == ("lost-release", first)


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


def test_epsilons_of_all_releases_that_count_add_up(make):
    vote = {name: {"role": "withheld"} for name in ("age", "income", "town")} | {
        "vote": {"role": "quasi_identifier", "scale": "nominal"}
    }

    def drawn(epsilon, **change):
        step = {"method": "pram", "attributes": ["vote"], "epsilon": epsilon}
        return {**HARDLY_COMPILED, "attributes": vote, "masking": [step], **change}

    first = make(drawn(1.0))
    assert first.count().epsilon is None  # nothing counts
    first.certify()
    assert make(drawn(0.5)).count().epsilon == pytest.approx(1.5)
    assert make(masked_with(50, series="apart")).count().epsilon is None  # nothing promises anything
    assert make(drawn(0.5, context={"prior_releases": ["census 2020"]})).count().epsilon == "infinite"
    lose(first.job.masked.masked)
    assert make(drawn(0.5)).count().epsilon == "infinite"


def test_a_denial_is_refused_and_names_the_run(make):
    first = make(draw=1).certify()
    assert make({**masked_with(50), "context": {"prior_releases": []}}, draw=1).count_names() == []  # the same table again
    with pytest.raises(InputError) as refused:
        make(masked_with(40, context={"prior_releases": []})).count()
    assert (refused.value.code, refused.value.where) == ("earlier-release", "context.prior_releases")
    assert first in refused.value.what


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
    from flows.cli.earlier_text import describe_earlier_releases, find_earlier_releases, warn_of_denial, warn_of_sweep

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
    (warning,) = warn_of_sweep(found)
    assert first in warning and warn_of_sweep(()) == []


@pytest.mark.slow
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


KILLED_BESIDE_THE_ENTRY = """
import os, signal, sys
import flows.environment
from {module} import {owner} as victim
def die(*_, **__): os.kill(os.getpid(), signal.SIGKILL)
assert hasattr(victim, "{function}")
victim.{function} = die
from flows.cli import run
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "owner", "function", "counts"),
    [("flows.run.certificate", "RunConclusion", "sign_statement", False), ("flows.run.publish", "FolderDraft", "appear", True)],
)
def test_kill_9_between_release_and_ledger_loses_none(process, make, tmp_path, module, owner, function, counts):
    """Killed before the entry, nothing was published; killed after it, the next run of the same persons counts the release."""
    path = write_release(tmp_path / "project", masked_with(50))
    code = KILLED_BESIDE_THE_ENTRY.format(module=module, owner=owner, function=function)
    victim = process("-c", code, "certify", path, "--output", tmp_path / "releases")
    _, err = victim.communicate(timeout=300)
    assert victim.returncode == -signal.SIGKILL, err
    run = newest_manifest()["run"]
    assert list((tmp_path / "releases").glob(f"*/{run}")) == []
    assert len(list((tmp_path / "releases").glob(f"*/.partial*-{run}"))) == 1
    trial = make(masked_with(40, series="apart"))
    assert trial.count_names() == ([run] if counts else [])
    settle_latest(tmp_path / "releases" / "survey", "survey")  # what every later run of the release does
    assert [one.name for one in (tmp_path / "releases" / "survey").glob("[.0-9]*")] == ([run] if counts else [])
