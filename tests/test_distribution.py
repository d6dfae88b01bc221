"""How the tests are dealt out to processes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent


@pytest.fixture
def conftest(request):
    return request.config.pluginmanager.get_plugin(str(TESTS / "conftest.py"))


def test_the_files_that_are_named_are_there(conftest):
    there = Counter(path.stem for path in TESTS.rglob("test_*.py"))
    named = {*conftest.LONGEST, *conftest.EACH_BY_ITSELF}
    assert {name: there[name] for name in named} == dict.fromkeys(named, 1)


def test_the_tests_of_a_file_stay_together_but_for_those_of_some_long_ones(conftest):
    assert conftest.unit_of("tests/flows/test_serve.py::test_a[x::y]") == "tests/flows/test_serve.py"
    assert conftest.unit_of("tests/flows/test_processes.py::test_a") == "tests/flows/test_processes.py::test_a"
