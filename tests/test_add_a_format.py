"""docs/ADD_A_FORMAT.md is true: a format is added by its steps, and the tests of all formats hold it to account (10 s)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from followed_pages import carry_out, copy_project, read_steps, run_tests

PAGE = "docs/ADD_A_FORMAT.md"
FAMILY_TEST, TOY_TEST = "tests/ingest/test_formats.py", "tests/ingest/test_arrow.py"


@pytest.fixture
def copy(tmp_path):
    return copy_project(tmp_path, FAMILY_TEST)


def test_the_steps_of_the_page_add_a_format(copy):
    steps = read_steps(PAGE)
    assert len({step.path for step in steps}) <= 3
    carry_out(steps, copy)
    done = run_tests(copy, FAMILY_TEST, TOY_TEST, "-vv")
    assert done.returncode == 0, done.stdout + done.stderr
    passed = {line.split("::")[1].split(" ")[0] for line in done.stdout.splitlines() if " PASSED" in line}
    assert {
        "test_a_format_refuses_damaged_files_with_an_error_for_users[Arrow]",
        "test_an_arrow_file_is_the_same_table_as_a_text_table",
    } <= passed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "instead", "complaint"),
    [
        ('{".arrow", ".feather"}', '{"arrow"}', "Arrow: the suffix arrow has no dot"),
        pytest.param("content.startswith(MAGIC)", 'b"," in content', "Arrow: recognises a text table", marks=pytest.mark.long),
        pytest.param(
            '"not-arrow", label',
            '"not-arrow", "somewhere"',
            "Arrow: the error does not say which file",
            marks=pytest.mark.long,
        ),
    ],
)
def test_a_part_that_is_wrong_is_told_with_the_name_of_the_format(copy, part, instead, complaint):
    reader, *others = read_steps(PAGE)
    assert part in reader.code
    carry_out((replace(reader, code=reader.code.replace(part, instead)), *others), copy)
    done = run_tests(copy, FAMILY_TEST, "-k", "Arrow")
    assert done.returncode != 0
    assert complaint in done.stdout
