"""Each sentence that a view says has words, and no words are left that nobody says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from tasks.report.wording.sentence import format_count, say

REPORT = Path(__file__).resolve().parents[2] / "tasks" / "report"


def test_every_id_has_words_and_every_macro_is_said():
    asked = {identity for path in REPORT.rglob("*.py") for identity in re.findall(r'"(\w+\.\w+)"', path.read_text())}
    words = {}
    for path in (REPORT / "templates" / "sentences").glob("*.txt.j2"):
        for name in re.findall(r"{% macro ([a-z]\w*)\(", path.read_text()):
            words[f"{path.name.removesuffix('.txt.j2')}.{name}"] = path.read_text().count(f"{name}(")
    said = {one for path in REPORT.rglob("*.py") for one in re.findall(r'say\(\s*"(\w+\.\w+)"', path.read_text())}
    assert said <= set(words)
    assert {one for one, times in words.items() if one not in asked and times == 1} == set()


def test_a_sentence_is_made_of_its_facts_alone():
    told = say("randomised.truth_is_less_likely", attribute="{{ x }}\n  5 %")
    assert "{{ x }}\n  5 %" in told, "what is filled in is neither read as a template nor wrapped"
    assert (told.id, told.facts) == ("randomised.truth_is_less_likely", {"attribute": "{{ x }}\n  5 %"})
    with pytest.raises(TypeError):
        say("randomised.truth_is_less_likely", attribute="educ", unknown=1)
    with pytest.raises(UndefinedError):
        say("randomised.truth_is_less_likely")


def test_percent_signs_of_the_words_do_not_break_off():
    assert "95\u202f% bound" in say("membership.decides")


def test_counted_nouns():
    assert [format_count(n, "attribute") for n in (0, 1, 1200)] == ["0 attributes", "1 attribute", "1,200 attributes"]
