"""What becomes of a release folder whose writer was killed before it appeared."""

from __future__ import annotations

import pytest
from certified_runs import RUN, issue

from flows.publish import clear_partial

NOBODY = 2**22 + 1  # above every id of a process


@pytest.fixture
def left(tmp_path, home):
    """A complete draft, of which the ledger speaks already."""
    issued = issue(tmp_path / "survey" / RUN)
    return issued.folder.rename(issued.folder.with_name(f".partial-{NOBODY}-{RUN}"))


def test_one_that_the_ledger_speaks_of_appears(left):
    clear_partial(left.parent)
    assert [path.name for path in left.parent.iterdir()] == [RUN]
    assert {path.name for path in (left.parent / RUN).iterdir()} == {"certificate.json", "released.csv"}


def test_one_of_a_living_writer_is_left_alone(left):
    living = left.rename(left.with_name(f".partial-1-{RUN}"))
    clear_partial(left.parent)
    assert list(left.parent.iterdir()) == [living]


def test_one_that_was_not_finished_is_removed(left):
    (left / "certificate.json").unlink()
    left.with_name(f".partial-{NOBODY}-another").mkdir()
    clear_partial(left.parent)
    assert list(left.parent.iterdir()) == []


def test_one_with_another_certificate_or_a_revoked_one_is_removed(left, tmp_path):
    from flows.cli import run

    assert run(["revoke", RUN, "--reason", "the source was wrong"]) == 0
    clear_partial(left.parent)
    assert list(left.parent.iterdir()) == []
    other = issue(tmp_path / "other" / "later", run="20261121T093000Z-999999").folder
    other = other.rename(other.with_name(f".partial-{NOBODY}-20261121T093000Z-999999"))
    (other / "certificate.json").write_bytes(b"{}")
    clear_partial(other.parent)
    assert list(other.parent.iterdir()) == []
