"""What `import sdcert` promises: its names, that it is light, and that its examples are true."""

import ast
import doctest
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sdcert

ROOT = Path(__file__).resolve().parents[2]
NAMES = """
mask adopt attack score decide certify verify sweep audit InputError
MaskedFrame AttackFigures FrameScore RehearsedVerdict CertifiedRelease VerifiedRelease ParameterSweep
Microaggregation Noise RankJitter RankSwapping Rounding TopBottomCoding
"""
MODULES = sorted(f"sdcert.{path.stem}".removesuffix(".__init__") for path in (ROOT / "sdcert").glob("*.py"))
HEAVY = ("prefect", "mlflow", "pandas", "numpy", "sklearn", "numba", "scipy", "pyarrow", "narwhals", "pydantic")
LIGHT = """
import json, sys, time
before = time.process_time()
import sdcert
print(json.dumps([time.process_time() - before, [name for name in {heavy} if name in sys.modules]]))
"""
HOMELESS = """
import sys
import pandas as pd
import sdcert as sc
df = pd.DataFrame({"age": [20, 21, 30, 31] * 3, "town": [1, 1, 2, 2] * 3})
r = sc.mask(df, "noise", kind="independent", sd_percent=50, attributes=["age"])
a = sc.attack(df, r, knows=["age"], attacks=["distance_linkage"])
sc.decide(sc.score(df, r, attacks=[a]), [{"measure": "reidentification", "at_most": 1.0}], omit=[
    {"attack": "transparency", "reason": "not what this is about"}])
print([name for name in ("prefect", "mlflow", "great_expectations") if name in sys.modules])
"""


def run_python(code: str, **environment: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name != "SDCERT_HOME"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, env={**kept, "PYTHONPATH": str(ROOT), **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_names():
    assert sorted(sdcert.__all__) == sorted(NAMES.split())
    assert set(sdcert.__all__) <= set(dir(sdcert))
    for name in sdcert.__all__:
        assert getattr(sdcert, name).__doc__
    with pytest.raises(AttributeError):
        sdcert.maks  # noqa: B018  looking it up is what is tried


def test_the_type_checker_knows_the_same_names():
    tree = ast.parse((ROOT / "sdcert" / "__init__.py").read_text())
    (block,) = (one for one in tree.body if isinstance(one, ast.If))
    typed = {name.asname: one.module for one in block.body for name in one.names}
    assert typed == {**sdcert._HOMES, "audit": "sdcert"}


def test_the_import_alone_is_light():
    seconds, heavy = json.loads(run_python(LIGHT.format(heavy=HEAVY)))
    assert heavy == []
    assert seconds < 0.3


@pytest.mark.slow
def test_a_rehearsal_needs_no_home_and_no_server(tmp_path):
    assert run_python(f"import os; os.chdir({str(tmp_path)!r})\n{HOMELESS}") == "[]\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_docstrings(module):
    assert doctest.testmod(importlib.import_module(module)).failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    found = [one.name for name in MODULES for one in finder.find(importlib.import_module(name)) if one.examples]
    assert {"mask", "adopt", "attack", "score", "decide", "Microaggregation"} <= {name.rpartition(".")[2] for name in found}


def test_the_examples_of_the_page():
    assert doctest.testfile(str(ROOT / "docs" / "LIBRARY.md"), module_relative=False).failed == 0
