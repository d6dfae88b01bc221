"""What releasing again keeps, adds up to, and leaves behind where it is killed."""

from __future__ import annotations

import json
import signal

import pytest
from outcomes import folder_of, newest_manifest
from release_files import HARDLY_COMPILED, write_release
from replays import replayed
from trials import NOISE, lines, lose, make_trial, masked_with, revoke

from flows.run.history import manifest_path
from flows.run.kept_release import refuse_other_laws
from flows.run.publish import settle_latest
from tasks.audit.series.past_releases import list_past_releases
from tasks.mask.task import Steps
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Schema
from tasks.runtime.artifacts import Store

__all__ = ["make_trial"]
WITHHELD = {name: {"role": "withheld"} for name in ("age", "income", "town")}
OF_VOTE = WITHHELD | {"vote": {"role": "quasi_identifier", "scale": "nominal"}}


def drawn(epsilon, **change):
    """A release file that publishes one column, with a finite epsilon."""
    step = {"method": "pram", "attributes": ["vote"], "epsilon": epsilon}
    return {**HARDLY_COMPILED, "attributes": OF_VOTE, "masking": [step], **change}


def test_epsilons_of_all_releases_that_count_add_up(make):
    first = make(drawn(1.0))
    assert first.count().epsilon is None  # nothing counts
    first.certify()
    assert make(drawn(0.5)).count().epsilon == pytest.approx(1.5)
    assert make(masked_with(50, series="apart")).count().epsilon is None  # nothing promises anything
    assert make(drawn(0.5, context={"prior_releases": ["census 2020"]})).count().epsilon == "infinite"
    lose(first.job.masked.masked)
    assert make(drawn(0.5)).count().epsilon == "infinite"


@pytest.mark.slow
def test_the_steward_alone_is_told_what_epsilons_add_up_to(certify, sdcert, tmp_path):
    for epsilon in (1.0, 0.5):
        ran, manifest = certify(drawn(epsilon, omit=[], attacks=None))
        assert ran.code == 0, ran.err
    assert "1.5-LDP" in ran.out
    private = manifest_path(manifest["run"]).parent
    assert "1.5-LDP" in (private / "report-internal.html").read_text()
    assert json.loads((private / "scorecard.json").read_text())["epsilon_over_releases"] == 1.5
    for path in folder_of(tmp_path, manifest).iterdir():
        assert "1.5-LDP" not in path.read_text()
        assert "over_releases" not in path.read_text()
    assert "1.5-LDP" in " ".join(sdcert("audit", "show", manifest["run"]).out.split())
    ran, _ = replayed(sdcert, manifest["run"])
    assert ran.code == 0, ran.out + ran.err


@pytest.mark.slow
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


def test_a_sweep_refuses_parameters_that_the_series_did_not_draw_by(make):
    """So a search over `sd_percent` beside `draw: per_person` finds no point that could not be certified."""

    def noisy(percent):
        return {**masked_with(percent), "masking": [{**NOISE, "sd_percent": percent, "draw": "per_person"}]}

    first = make(noisy(50))
    table, schema = Store().table(first.job.masked.data), Store().record(first.job.masked.schema, Schema)
    first.certify()
    same, other = (first.job.release.model_copy(update={"masking": one}) for one in (
        first.job.release.masking, (first.job.release.masking[0].model_copy(update={"sd_percent": 40.0}),)))  # fmt: skip
    refuse_other_laws(same, table, schema)
    refuse_other_laws(other.model_copy(update={"series": "apart"}), table, schema)
    with pytest.raises(InputError) as refused:
        refuse_other_laws(other, table, schema)
    assert (refused.value.code, refused.value.where) == ("other-law", "masking[0].draw")


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
