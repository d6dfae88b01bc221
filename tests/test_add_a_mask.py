"""docs/ADD_A_MASK.md is followed step by step in a copy, and the tests of all masks run there on the mask that it adds."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest
from followed_pages import ROOT, copy_project, run_tests
from mask_family import SCHEMA, make_table
from sites import site_of, view_of

PAGE = (ROOT / "docs" / "ADD_A_MASK.md").read_text()
FAMILY = ("tests/mask/test_family.py", "tests/attack/test_every_mask_is_answered.py")
COPIED = (*FAMILY, "tests/mask/mask_family.py", "tests/mask/sites.py", "tests/mask/conftest.py", "docs/MASKS.md")
STEPS = dict(re.findall(r"^## \d\. `([^`]+)`\n.*?^```\w+\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE))
MASK, METHODS, ROW, OWN_TEST = STEPS


def follow_page(folder: Path) -> None:
    """Make a copy of the repository, and in it each change that the page asks for."""
    copy_project(folder, *COPIED)
    for name in (MASK, OWN_TEST):
        assert not (ROOT / name).exists()
        (folder / name).write_text(STEPS[name])
    last_import, end_of_union = "from tasks.mask.sampling import Sampling\n", "    | Pseudonyms\n)\n"
    edit(folder / METHODS, last_import, STEPS[METHODS] + last_import)
    edit(folder / METHODS, end_of_union, "    | Pseudonyms\n    | Reversal\n)\n")
    last_row = next(line for line in (folder / ROW).read_text().splitlines(keepends=True) if line.startswith("| `pseudonyms`"))
    edit(folder / ROW, last_row, last_row + STEPS[ROW])


def edit(path: Path, before: str, after: str) -> None:
    """Replace a text that the file holds once."""
    text = path.read_text()
    assert text.count(before) == 1
    path.write_text(text.replace(before, after))


def test_the_page_asks_for_four_files():
    assert list(STEPS) == ["tasks/mask/reversal.py", "tasks/mask/methods.py", "docs/MASKS.md", "tests/mask/test_reversal.py"]


@pytest.mark.long
def test_the_mask_of_the_page_passes_the_tests_of_all_masks(tmp_path):
    follow_page(tmp_path)
    done = run_tests(tmp_path, *FAMILY, OWN_TEST, "-k", "reversal")
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 15


def leave_out_advice(folder: Path) -> None:
    text = (folder / MASK).read_text()
    (folder / MASK).write_text(text[: text.rindex("    @classmethod\n")])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("leave_out", "message"),
    [
        (leave_out_advice, "Reversal lacks suggest_weaker"),
        pytest.param(
            lambda folder: edit(folder / ROW, STEPS[ROW], ""),
            "docs/MASKS.md has no row for `reversal`",
            marks=pytest.mark.long,
        ),
        pytest.param(
            lambda folder: edit(folder / MASK, '"none"', '"by_row"'),
            "Reversal: randomness is `by_row`, by another seed nothing",
            marks=pytest.mark.long,
        ),
    ],
    ids=["advice", "the row of the docs", "a true answer"],
)
def test_a_part_that_is_left_out_is_named(tmp_path, leave_out, message):
    follow_page(tmp_path)
    leave_out(tmp_path)
    done = run_tests(tmp_path, FAMILY[0], "-k", "reversal")
    assert done.returncode == 1
    assert message in done.stdout


def test_the_mask_of_the_page_is_applied_inferred_and_described(tmp_path, monkeypatch):
    path = tmp_path / "reversal.py"
    path.write_text(STEPS[MASK])
    spec = importlib.util.spec_from_file_location("reversal_of_the_page", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    step, data = module.Reversal.examples()[0], make_table()
    masked = step.apply(site_of(data, SCHEMA))
    assert masked.floats("age").tolist() == [47 - value for value in data.floats("age")]
    assert ("age", "size") in [part.names for part in step.infer(view_of(data, masked, SCHEMA)).shown]
    assert "age and size" in step.describe(SCHEMA).text
