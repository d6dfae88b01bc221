"""Names drawn at random go through the whole chain: the figures are those of plain names, and no name does anything.

`SDCERT_NAMES` is how many are drawn (default 1); `SDCERT_NAMES_SEED` draws others than the suite does.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
from html.parser import HTMLParser
from itertools import count
from pathlib import Path

import pytest
from hostile_names import NAMES, Names, as_yaml, file_of_an_intruder, release, table, with_plain_names
from hypothesis import HealthCheck, Phase, given, seed, settings
from outcomes import folder_of, newest_manifest, statement_in

from tasks.microdata.document import read_document
from tasks.microdata.estimate import split_id
from tasks.runtime.tracking_names import AT_LEAST, encode_name
from tasks.runtime.tracking_store import open_client

pytestmark = pytest.mark.drawn

EXAMPLES = int(os.environ.get("SDCERT_NAMES", "1"))
SEED = int(os.environ.get("SDCERT_NAMES_SEED", "22"))
MOST_KILOBYTES = 1_000_000  # that the process may grow by
BRACES = Names(
    columns=("{0.x}", "town{data:>300000000}", "{{7*7}}${7*7}", "%s||\u202e{"),
    file_columns=("{", "\xb2|"),
    categories=("<img src=x>", "[red]maybe", "{data!r:}"),
)


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.found += [tag, *(name for name, _ in attrs)]


@pytest.fixture
def chain(sdcert, tmp_path, monkeypatch):
    """`chain(names)` takes a table under these names from `init` to `compare`; returns its figures under plain names."""
    projects = count()

    def ran(*words, code=(0,)):
        found = sdcert(*words)
        assert found.code in code, (words, found.code, found.err[-2000:])
        for printed in (found.out, found.err):
            assert "Traceback" not in printed
            assert not {one for one in printed if not one.isprintable()} - {"\n", "\u00a0", "\u202f"} or words[-1] == "--json"
        return found

    def carry_out(named: Names):
        project = tmp_path / f"project-{next(projects)}"
        project.mkdir()
        monkeypatch.chdir(project)
        Path("table.csv").write_text(table(named), encoding="utf-8", newline="")
        Path("file.csv").write_text(file_of_an_intruder(named), encoding="utf-8", newline="")
        Path("release.yaml").write_text(as_yaml(release(named)), encoding="utf-8")

        drafted = ran("init", "table.csv", "--output", "draft.yaml", code=(0, 2))
        if drafted.code == 0:
            assert list(read_document(Path("draft.yaml")).content["attributes"]) == list(named.columns)
        else:
            assert re.search(r"No column of the table \(\d+ rows?\) could be masked", drafted.err)
        ran("check", "release.yaml")
        ran("certify", "release.yaml", "--output", tmp_path / "releases")
        manifest = newest_manifest()
        assert "tracking" not in manifest, manifest["tracking"]
        folder = folder_of(tmp_path, manifest)
        ran("verify", folder / "released.csv", "--json")
        ran("verify", folder / "released.csv")
        ran("audit", "find", folder / "released.csv")
        ran("audit", "show", manifest["run"])
        ran("audit", "show", manifest["run"], "--json")
        ran("runs")
        scorecard = json.loads((folder / "scorecard.json").read_text())
        _statement_names(folder, named)
        _page_is_inert(folder)
        _mlflow_has(scorecard, manifest)
        ran("revoke", manifest["run"], "--never-published", "only tried out")  # else the next names would be of a later release
        return manifest["run"], with_plain_names(scorecard["estimates"], named)

    carry_out.compare = lambda *runs: ran("compare", *runs)
    yield carry_out


def _statement_names(folder, named: Names):
    said = statement_in(folder)["predicate"]
    assert [one["name"] for one in said["attributes"]] == list(named.columns)
    assert (said["release"], said["series"]) == (named.release, named.series)
    assert said["context"]["purpose"] == named.purpose


def _page_is_inert(folder):
    page = Page()
    page.feed((folder / "report.html").read_text())
    assert not {"script", "img", "iframe", "object", "form"} & set(page.found)
    assert not [name for name in page.found if name.startswith("on")]


def _mlflow_has(scorecard, manifest):
    """Every figure, under a name from which its id comes back."""
    client = open_client()
    experiment = client.get_experiment_by_name(manifest["series"])
    (found,) = client.search_runs([experiment.experiment_id], f"tags.`sdcert.run` = '{manifest['run']}'")
    ids = {one["id"]: one["value"] for one in scorecard["estimates"]}
    assert len(ids) == len(scorecard["estimates"])
    for one in scorecard["estimates"]:
        parts = [one[field] for field in ("measure", "attack", "intruder", "attribute", "subgroup") if one[field] is not None]
        assert list(split_id(one["id"]))[: len(parts)] == parts
    deciding = [one["estimate"] for one in scorecard["criteria"] if ids.get(one["estimate"]) is not None]
    assert deciding
    for one in deciding:
        assert ids[one] in (found.data.metrics.get(encode_name(one)), found.data.metrics.get(encode_name(one + AT_LEAST)))
    names = {found.data.params[f"attributes.{i}.name"] for i in range(3)}
    assert names == {one["name"] for one in manifest["spec"]["attributes"]}
    assert found.data.params["context.purpose"] == manifest["spec"]["context"]["purpose"]


@pytest.mark.slow
def test_the_figures_are_those_of_plain_names(chain):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    plain_run, figures = chain(Names())
    run, braces = chain(BRACES)
    assert braces == figures
    chain.compare(plain_run, run)

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @seed(SEED)
    @given(NAMES)
    def try_names(named):
        drawn_run, drawn = chain(named)
        assert drawn == figures
        chain.compare(plain_run, drawn_run)
        shutil.rmtree(Path.cwd(), ignore_errors=True)

    try_names()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_KILOBYTES
