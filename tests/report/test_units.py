"""Companies are not persons: the texts of a report say what the release file calls a unit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tasks.report.views.residual import residual_risks
from tasks.report.wording.meanings import MEANINGS, meaning
from tasks.report.wording.units import add_article, plural, substitute_unit


@pytest.mark.parametrize(
    ("text", "unit", "said"),
    [
        ("the risk of the person who", "company", "the risk of the company who"),
        ("People of a person, and persons", "enterprise", "Enterprises of an enterprise, and enterprises"),
        ("a person", None, "a person"),
        ("a personal matter", "company", "a personal matter"),
    ],
)
def test_a_text_is_said_of_the_unit(text, unit, said):
    assert substitute_unit(text, unit) == said


@pytest.mark.parametrize(
    ("unit", "several"), [("company", "companies"), ("day", "days"), ("branch", "branches"), ("firm", "firms")]
)
def test_several_units(unit, several):
    assert plural(unit) == several
    assert add_article("enterprise") == "an enterprise"


@pytest.mark.parametrize("measure", MEANINGS)
def test_no_measure_of_companies_speaks_of_persons(measure):
    words = meaning(measure, unit="company")
    told = " ".join((words.title, words.sentence, words.analyst)).lower().split()
    assert not {"person", "persons", "people"} & {word.strip(".,;:()") for word in told}
    assert meaning(measure) == MEANINGS[measure]
    assert meaning(measure, "persons", unit="visit") == meaning(measure, "persons")  # rows of one person are joined


def test_what_remains_is_said_of_companies(certified):
    contexts = [certified.context.model_copy(update={"unit": unit}) for unit in (None, "company")]
    texts = [" ".join(residual_risks(replace(certified, context=context))) for context in contexts]
    assert "to the right person" in texts[0]
    assert "to the right company" in texts[1] and "to the right person" not in texts[1]
