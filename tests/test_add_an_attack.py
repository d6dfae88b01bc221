"""docs/ADD_AN_ATTACK.md is true: its steps, carried out in a copy, make an attack that passes the tests of all attacks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from followed_pages import ROOT, copy_project, run_tests

PAGE = (ROOT / "docs" / "ADD_AN_ATTACK.md").read_text()
STEPS = {path: (kind, text) for kind, path, text in re.findall(r"```(\w+) (\S+)\n(.*?)```", PAGE, re.S)}
FAMILY = "tests/attack/test_attack_family.py"
OWN = "tests/attack/test_constant_guess.py"
COPIED = ("tests/attack/conftest.py", FAMILY, "docs/ATTACKS.md")
OF_IT = ("-rA", "-k", "constant_guess")

pytestmark = pytest.mark.slow


def follow_page(folder: Path, *, leave_out: str = "") -> None:
    """Carry out the steps of the page in a copy. leave_out: a line of the page that is forgotten."""
    helpers = (path for path in (ROOT / "tests").glob("*.py") if "test_" not in path.name)
    copy_project(folder, *COPIED, *(str(path.relative_to(ROOT)) for path in helpers))
    for name, (kind, text) in STEPS.items():
        content, path = text.replace(leave_out, "") if leave_out else text, folder / name
        match kind:
            case "python":
                path.write_text(content)
            case "markdown":
                path.write_text(path.read_text() + content)
            case "diff":
                imported, before, after = (line[1:] for line in content.splitlines())
                assert before in path.read_text(), f"the page does not fit {name}"
                done = path.read_text().replace(before, after, 1)
                path.write_text(done.replace("from tasks.attack.base", f"{imported}\nfrom tasks.attack.base", 1))


def test_the_page_touches_four_files():
    assert list(STEPS) == ["tasks/attack/constant_guess.py", "tasks/attack/methods.py", "docs/ATTACKS.md", OWN]


def test_the_attack_of_the_page_passes_the_tests_of_all_attacks(tmp_path):
    follow_page(tmp_path)
    done = run_tests(tmp_path, FAMILY, OWN, *OF_IT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASSED") >= 9


@pytest.mark.parametrize(
    ("part", "message"),
    [
        pytest.param(
            STEPS["docs/ATTACKS.md"][1], "docs/ATTACKS.md does not name the attack `constant_guess`", marks=pytest.mark.long
        ),
        pytest.param('title="Constant guess",', "missing 1 required keyword-only argument: 'title'", marks=pytest.mark.long),
        (
            "    @property\n    def rule(self) -> str:\n        return self.about.infers\n",
            "`constant_guess` (ConstantGuess) lacks rule",
        ),
    ],
    ids=["docs", "a wording", "an answer"],
)
def test_a_part_that_is_left_out_is_named(tmp_path, part, message):
    follow_page(tmp_path, leave_out=part)
    done = run_tests(tmp_path, FAMILY, *OF_IT)
    assert done.returncode != 0
    assert message in done.stdout
