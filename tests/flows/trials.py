"""Releases that were made and certified without a run: stages are computed here, and the ledger says what became of them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from release_files import HARDLY_COMPILED, survey, write_release

from flows.earlier import counting
from flows.earlier.counted import CountedReleases
from flows.earlier.search import EarlierSearch
from flows.kinds import find_kind
from flows.kinds.base import MadeRelease, ReleaseJob
from flows.mask_stages import mask_source
from flows.release_file import load_release
from flows.run.stage_runner import store_part
from tasks.attack.together.earlier_release import EarlierRelease
from tasks.audit.ledger.entries import AskedBy, AttemptMade, CertificateRevoked, ReleasedTable, RunEnded
from tasks.audit.ledger.ledger import Ledger
from tasks.audit.signing.keys import open_signing_key
from tasks.classify.task import classify_attributes
from tasks.ingest.task import ingest_source, source_digest
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


@pytest.fixture(name="make")
def make_trial(home, tmp_path):
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


def lose(address):
    (Home.current().store / name_artifact_file(address)).unlink()


def lines(text=None):
    head, *rows = (text or survey()).splitlines()
    return head, rows
