"""docs/ADD_A_MEASURE.md is true: a measure is added by its steps, and the tests of all measures hold it to account (15 s)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from followed_pages import carry_out, copy_project, read_steps, run_tests

PAGE = "docs/ADD_A_MEASURE.md"
FAMILY_TEST, TOY_TEST = "tests/score/test_measures.py", "tests/score/test_median_difference.py"
MEASURE = "median_difference"


@pytest.fixture
def copy(tmp_path):
    return copy_project(tmp_path, FAMILY_TEST, "tests/score/conftest.py")


def test_the_steps_of_the_page_add_a_measure(copy):
    steps = read_steps(PAGE)
    assert len({step.path for step in steps}) <= 3
    carry_out(steps, copy)
    done = run_tests(copy, FAMILY_TEST, TOY_TEST, "-k", f"{MEASURE} or catalogue or called or hand", "-vv")
    assert done.returncode == 0, done.stdout + done.stderr
    passed = {line.split("::")[1].split(" ")[0] for line in done.stdout.splitlines() if " PASSED" in line}
    assert {f"test_the_words_of_a_measure_are_complete[{MEASURE}]", "test_by_hand"} <= passed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "instead", "complaint"),
    [
        ('    analyst="Medians of the attribute are off by this much.",\n', "", "`analyst` does not say"),
        pytest.param(
            "medians.median_difference",
            "median.median_difference",
            f"measure {MEASURE}: `function` leads to nothing",
            marks=pytest.mark.long,
        ),
        pytest.param('    rounding="statistic",\n', "", "required keyword-only argument: 'rounding'", marks=pytest.mark.long),
    ],
)
def test_a_part_that_is_left_out_is_told_with_the_name_of_the_measure(copy, part, instead, complaint):
    declaration, *others = read_steps(PAGE)
    assert part in declaration.code
    carry_out((replace(declaration, code=declaration.code.replace(part, instead)), *others), copy)
    done = run_tests(copy, FAMILY_TEST, "-k", f"{MEASURE} or catalogue")
    assert done.returncode != 0
    told = done.stdout + done.stderr
    assert complaint in told
    assert MEASURE in told or MEASURE.upper() in told
