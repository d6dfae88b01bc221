"""The notebooks of docs/notebooks: what is stored is small and says nothing of a machine, and running them gives it again."""

from __future__ import annotations

import ast
import importlib.util
import json
import platform
import re
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
ALLOWED = {"pandas", "pathlib", "sdcert", "statsmodels"}
FIGURES = "figures"  # tag of cells whose figures are the same in every run
BYTES = 30_000
FIGURE = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?|True|False|'\w+'")
SLOW = {"1_mask_attack_compare": pytest.mark.slow}


def list_code_cells(path):
    return [one for one in json.loads(path.read_text())["cells"] if one["cell_type"] == "code"]


def join_text(text):
    return text if isinstance(text, str) else "".join(text)


def list_outputs(cells):
    """What the cells show; AssertionError for an error, and for what is displayed while they run."""
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert {output["output_type"] for output in outputs} <= {"execute_result", "stream"}
    return outputs


def find_figures(cells):
    """The numbers, truth values and quoted words that each tagged cell shows."""
    found = []
    for cell in cells:
        if FIGURES in cell["metadata"].get("tags", ()):
            shown = (one.get("text") or one["data"]["text/plain"] for one in cell["outputs"])
            figures = [figure for text in shown for figure in FIGURE.findall(join_text(text))]
            found.append([float(one) if one[-1].isdigit() else one for one in figures])
    return found


def test_there_are_three():
    assert len(NOTEBOOKS) == 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_stored(path):
    cells = list_code_cells(path)
    assert [cell["execution_count"] for cell in cells] == list(range(1, 1 + len(cells)))
    outputs = list_outputs(cells)
    assert {output.get("name") for output in outputs} <= {None, "stdout"}
    assert len(find_figures(cells)) >= 1
    assert all(find_figures(cells))
    text = path.read_text()
    assert len(text) < BYTES
    for of_machine in (ROOT, Path.home(), tempfile.gettempdir(), platform.node()):
        assert not re.search(rf"(?<![\w/]){re.escape(str(of_machine))}(?!\w)", text)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_they_import_the_library_alone(path):
    code = ast.parse("\n".join(join_text(cell["source"]) for cell in list_code_cells(path)))
    named = {one.name for node in ast.walk(code) if isinstance(node, ast.Import) for one in node.names}
    named |= {str(node.module) for node in ast.walk(code) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in named} <= ALLOWED


@pytest.fixture
def execute():
    pytest.importorskip("nbclient", reason="the extra dev brings nbclient and ipykernel")
    spec = importlib.util.spec_from_file_location("notebooks", ROOT / ".ci" / "notebooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.execute


@pytest.mark.parametrize(
    "path", [pytest.param(path, marks=SLOW.get(path.stem, pytest.mark.long), id=path.stem) for path in NOTEBOOKS]
)
def test_they_run_and_give_the_stored_figures(execute, tmp_path, path):
    ran = [cell for cell in execute(path, tmp_path).cells if cell.cell_type == "code"]
    assert list_outputs(ran)
    stored, found = find_figures(list_code_cells(path)), find_figures(ran)
    assert [len(one) for one in found] == [len(one) for one in stored]
    for now, before in zip(found, stored, strict=True):
        assert now == pytest.approx(before, abs=2e-4)
