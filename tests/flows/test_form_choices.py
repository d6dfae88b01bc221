"""The forms of deployments offer files by name, and take any other path."""

import os
import shutil
from pathlib import Path

import jsonschema
import pytest
from prefect.utilities.callables import parameter_schema

from flows.scheduled import flows, form_choices
from flows.scheduled.file_access import FileAccess
from flows.scheduled.form_choices import add_choices

PARAMS = Path(__file__).parents[2] / "params"
KINDS = {"release": flows.certify_release, "watch": flows.watch_series, "sweep": flows.sweep_file}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A flat folder, as `sdcert init` leaves it, with what is no release."""
    shutil.copytree(PARAMS, tmp_path / "params")
    for name in ("releases/anes96.yaml", "releases/census.yaml"):
        shutil.copy(PARAMS / name, tmp_path)
    (tmp_path / "broken.yaml").write_text("source: [")
    (tmp_path / "prefect.yaml").write_text("name: sdcert\n")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    return tmp_path


def form(kind: str, stated: Path, served: Path | None = None) -> dict:
    properties = parameter_schema(KINDS[kind]).properties
    access = FileAccess(served or stated.parent, (stated,))
    return add_choices(properties, {kind: str(stated), "output": str(stated.parent)}, access)


@pytest.mark.parametrize(("kind", "file"), [("release", "releases"), ("watch", "watches"), ("sweep", "sweeps")])
def test_each_kind_offers_its_files(folder: Path, kind: str, file: str) -> None:
    stated = folder / "params" / file / "anes96.yaml"
    offered, typed = form(kind, stated)[kind]["anyOf"]
    assert offered["enum"][0] == str(stated)
    assert sorted(offered["enum"]) == sorted(map(str, stated.parent.glob("*.yaml")))
    assert typed["maxLength"] == 1024


def test_what_reads_as_something_else_is_not_offered(folder: Path) -> None:
    properties = form("release", folder / "census.yaml")
    assert properties["release"]["anyOf"][0]["enum"] == [str(folder / "census.yaml"), str(folder / "anes96.yaml")]
    assert properties["output"] == parameter_schema(flows.certify_release).properties["output"]
    assert properties["release"]["description"]


@pytest.mark.parametrize("value", ["params/releases/new.yaml", "anes96.yaml"])
def test_a_path_that_is_not_offered_is_taken(folder: Path, value: str) -> None:
    schema = {"type": "object", "properties": form("release", folder / "census.yaml")}
    jsonschema.validate({"release": value}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"release": ""}, schema)


def test_no_more_than_a_form_can_show(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(form_choices, "MOST_OFFERED", 2)
    stated = folder / "params/releases/fair.yaml"
    assert len(form("release", stated)["release"]["anyOf"][0]["enum"]) == 2


def test_without_a_stated_file_any_path_is_typed() -> None:
    properties = parameter_schema(flows.certify_release).properties
    assert add_choices(properties, {}, FileAccess(Path("/"))) == properties


def test_only_what_a_run_may_name_is_offered(folder: Path) -> None:
    """Nothing beside a stated file elsewhere, no link that leads outside, and no name that is no text."""
    outside = folder.with_name("outside")
    shutil.copytree(PARAMS / "releases", outside)
    (folder / "link.yaml").symlink_to(outside / "fair.yaml")
    shutil.copy(PARAMS / "releases/fair.yaml", os.fsencode(folder) + b"/umfrage-\xfc.yaml")
    shutil.copy(PARAMS / "releases/fair.yaml", folder / "two\nlines.yaml")
    (folder / "large.yaml").write_text((PARAMS / "releases/fair.yaml").read_text() + "# more\n" * 10_000)
    offered = form("release", folder / "census.yaml")["release"]["anyOf"][0]["enum"]
    assert offered == [str(folder / "census.yaml"), str(folder / "anes96.yaml")]
    assert form("release", outside / "anes96.yaml", folder)["release"]["anyOf"][0]["enum"] == [str(outside / "anes96.yaml")]
    shutil.rmtree(outside)


def test_a_folder_that_cannot_be_listed_offers_the_stated_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: Path) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "iterdir", refused)
    assert form("release", folder / "census.yaml")["release"]["anyOf"][0]["enum"] == [str(folder / "census.yaml")]
