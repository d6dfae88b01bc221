"""Links below `--output`, and at the place of a file that is to be written, lead nobody into a foreign folder."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from certified_runs import RUN, issue
from release_files import write_release

from flows.cli import run as sdcert
from flows.run.history import manifest_path
from flows.run.publish import PARTIAL, Latest, clear_partial, draft_release_folder, settle_latest
from tasks.microdata.errors import InputError
from tasks.runtime.files import write_whole

NOBODY = 2**22 + 1  # above every id of a process


@pytest.fixture
def foreign(tmp_path):
    """Somebody else's folder, with what looks like the draft of a run that was killed."""
    folder = tmp_path / "foreign"
    (folder / f"{PARTIAL}{NOBODY}-run").mkdir(parents=True)
    (folder / "passwd").write_text("kept")
    return folder


def content_of(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() if path.is_file() else "folder" for path in folder.rglob("*")}


@pytest.fixture
def linked(own, foreign, tmp_path):
    """The folder of the release `survey` is a link to it."""
    (tmp_path / "releases").mkdir()
    (tmp_path / "releases" / "survey").symlink_to(foreign)
    return tmp_path / "releases"


def test_a_linked_folder_of_a_release_is_not_written_to(linked, foreign):
    before = content_of(foreign)
    with pytest.raises(InputError, match="is a link"), draft_release_folder(linked, "survey", RUN):
        pytest.fail("nothing is drafted")
    clear_partial(linked / "survey")
    assert settle_latest(linked / "survey", "survey") == Latest(None, None)
    assert content_of(foreign) == before


def test_it_is_told_before_anything_is_computed(linked, foreign, tmp_path, capfd):
    before = content_of(foreign)
    assert sdcert(["certify", str(write_release(tmp_path / "project")), "--output", str(linked)]) == 2
    assert "is a link, which is not followed" in capfd.readouterr().err
    assert content_of(foreign) == before


def test_the_output_itself_may_be_a_link(own, foreign, tmp_path):
    (tmp_path / "releases").symlink_to(foreign)
    with draft_release_folder(tmp_path / "releases", "survey", RUN) as draft:
        draft.add("a", b"a")
        draft.appear()
    assert (foreign / "survey" / RUN / "a").read_bytes() == b"a"


def test_a_link_that_takes_the_place_of_the_draft_meanwhile_is_not_followed(own, foreign, tmp_path):
    before = content_of(foreign)
    with pytest.raises(FileNotFoundError), draft_release_folder(tmp_path / "releases", "survey", RUN) as draft:
        draft.folder.rename(tmp_path / "away")
        draft.folder.symlink_to(foreign)
        draft.add("a", b"a")
    draft.folder.unlink(missing_ok=True)
    with pytest.raises(FileNotFoundError), draft_release_folder(tmp_path / "releases", "survey", RUN) as draft:
        draft.folder.rename(tmp_path / "away as well")
        draft.folder.mkdir()
        draft.appear()
    assert content_of(foreign) == before


@pytest.mark.parametrize("which", ["the folder of the run", "the folder of the release"])
def test_nothing_is_laid_into_the_folder_that_a_link_leads_to(own, foreign, tmp_path, which, capfd):
    issued = issue(tmp_path / "releases" / "survey" / RUN)
    linked = issued.folder if which == "the folder of the run" else issued.folder.parent
    linked.rename(tmp_path / "away")
    if which == "the folder of the release":
        (foreign / RUN).mkdir()
    linked.symlink_to(foreign)
    before = content_of(foreign)
    assert json.loads(manifest_path(RUN).read_text())["folder"] == str(issued.folder)
    words = ["--as", "review board", "--reason", "minutes, item 4"]
    assert sdcert(["approve", RUN, *words]) == 2
    assert sdcert(["revoke", RUN, "--reason", "the source was wrong"]) == 0
    assert "not where it was made" in capfd.readouterr().out
    assert content_of(foreign) == before


def test_latest_does_not_lead_to_a_linked_folder_of_a_run(own, foreign, tmp_path):
    issued = issue(tmp_path / "releases" / "survey" / RUN)
    issued.folder.rename(tmp_path / "away")
    issued.folder.symlink_to(tmp_path / "away")
    assert settle_latest(issued.folder.parent, "survey").now is None


def test_a_file_that_is_written_replaces_a_link_and_not_what_it_leads_to(tmp_path):
    target = tmp_path / "target"
    target.write_text("kept")
    target.chmod(0o600)
    (tmp_path / "link").symlink_to(target)
    write_whole(tmp_path / "link", b"new", mode=0o644, whatever_umask=True)
    assert target.read_text() == "kept"
    assert target.stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "link").stat().st_mode & 0o777 == 0o644


def test_the_mode_of_a_drafted_release_file_is_never_set_by_its_name(home, tmp_path, monkeypatch):
    """Between the writing and a `chmod` a link could take the name, and the mode would be that of a foreign file."""
    from release_files import survey

    (tmp_path / "survey.csv").write_text(survey())
    monkeypatch.setattr(Path, "chmod", lambda path, *_: pytest.fail(str(path)) if path.suffix == ".yaml" else os.chmod)
    assert sdcert(["init", str(tmp_path / "survey.csv"), "-o", str(tmp_path / "draft.yaml")]) == 0
    assert (tmp_path / "draft.yaml").stat().st_mode & 0o777 == 0o644
