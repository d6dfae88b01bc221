"""What the code cites: every section of docs/SCIENCE.md exists, and every source by name is in its list of literature."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from outcomes import ROOT

SCIENCE = (ROOT / "docs" / "SCIENCE.md").read_text()
SECTIONS = re.findall(r"^## (\d+)\. ", SCIENCE, re.MULTILINE)
LITERATURE = SCIENCE[SCIENCE.index("## 9. Literature") :]
FILES = [path for room in ("flows", "tasks", "tests", "benchmarks") for path in sorted((ROOT / room).rglob("*.py"))]
CITED = re.compile(r"docs/SCIENCE\.md sections? (\d+(?:(?:, | and )\d+)*)")
UNNAMED = re.compile(r"\b(?:SCIENCE|FINDINGS) (?:sections? )?\d|\btorra-20\d\d")
LECTURES = re.compile(r"(?<!and )\bTorra \((20(?:13|16|20|22|24|26))\)")


def find_sections(text: str) -> list[str]:
    """The numbers of the cited sections, also where a line ends inside a citation."""
    flat = re.sub(r"\s*\n\s*(?:# )?", " ", text)
    return [number for found in CITED.findall(flat) for number in re.findall(r"\d+", found)]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Source: docs/SCIENCE.md section 6; Torra (2026).", ["6"]),
        ("Source: docs/SCIENCE.md sections 1\n    and 2.", ["1", "2"]),
        ("# docs/SCIENCE.md\n# section 42", ["42"]),
        ("see docs/SCIENCE.md", []),
    ],
)
def test_citations_are_found(text, numbers):
    assert find_sections(text) == numbers


def test_every_cited_section_exists():
    cited = {number: path for path in FILES if path != Path(__file__) for number in find_sections(path.read_text())}
    assert len(cited) > 5
    assert {number: path for number, path in cited.items() if number not in SECTIONS} == {}


def test_every_section_has_its_number_once():
    assert [str(number) for number in range(1, 10)] == SECTIONS


def test_no_page_outside_the_repository_is_cited():
    assert [path for path in FILES if path != Path(__file__) and UNNAMED.search(path.read_text())] == []


def test_every_lecture_and_report_is_in_the_literature():
    texts = [path.read_text() for path in FILES if path != Path(__file__)]
    years = {year for text in texts for year in LECTURES.findall(text)}
    assert {"2016", "2024", "2026"} <= years
    assert all(f"Torra ({year})" in LITERATURE for year in years)
    assert any("D11.2" in text for text in texts)
    assert "D11.2" in LITERATURE
