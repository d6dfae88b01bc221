"""Two threads never import the same packages at once: what threads need is there before they start."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tasks.microdata.imports import one_at_a_time
from tasks.runtime import tracking, tracking_calls
from tasks.runtime.stages import IMPORTED_WHERE_USED

ROOT = Path(__file__).resolve().parents[2]
IN_THREADS = ("tasks/attack", "tasks/train")  # attacks run side by side, and fit models
TRACKED = """
import sys, threading
seen = []
def note(event, arguments):
    if event == "import" and threading.current_thread() is not threading.main_thread():
        seen.append(arguments[0])
sys.addaudithook(note)
import flows.environment
from tasks.runtime.tracking import Tracking
one = Tracking(series="s", run="r")
one.parameters({"a": 1}); one.metric("m", 1.0); one.tag("a", "b")
assert one.close("FINISHED") is None
print(sorted({name for name in seen if name.partition(".")[0] in ("sqlalchemy", "alembic") or name == "mlflow"}))
"""


def test_what_tracking_needs_is_imported_before_its_thread_is_there(home, monkeypatch):
    done = []

    class Line:
        def __init__(self, *_: object, **__: object) -> None:
            done.append("thread")

        def submit(self, *_: object) -> None:
            done.append("work")

    monkeypatch.setattr(tracking, "import_before_threads", lambda names: done.append(sorted(names)))
    monkeypatch.setattr(tracking, "ThreadPoolExecutor", Line)
    tracking.Tracking(series="s", run="r")
    imported, *rest = done
    assert rest == ["thread", "work"]
    assert {"sqlalchemy.orm", "alembic.command", "sqlalchemy.dialects.sqlite.pysqlite"} <= set(imported)


@pytest.mark.parametrize("address", ["nonsense://", "postgresql+nodriver://h/d", "://", "databricks", "http://127.0.0.1:9"])
def test_an_address_that_leads_nowhere_stops_no_run(home, monkeypatch, address):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    monkeypatch.setattr(tracking_calls, "open_client", lambda: None)
    assert tracking.Tracking(series="s", run="r").close("FINISHED") is not None


@pytest.mark.slow
def test_the_thread_of_tracking_imports_nothing_that_others_import(tmp_path):
    environment = {**os.environ, "SDCERT_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", TRACKED], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def late_imports(tree: ast.AST) -> list[int]:
    """The lines of imports inside functions, neither in a block of `one_at_a_time` nor of what every stage imports first."""
    guarded = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.With) and ast.unparse(node.items[0].context_expr) == f"{one_at_a_time.__name__}()"
        for inner in ast.walk(node)
    }
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    late = [node for function in functions for node in ast.walk(function) if isinstance(node, ast.Import | ast.ImportFrom)]
    return [node.lineno for node in late if id(node) not in guarded and getattr(node, "module", "") not in IMPORTED_WHERE_USED]


@pytest.mark.parametrize("folder", IN_THREADS)
def test_what_attacks_import_late_they_import_one_at_a_time(folder):
    files = sorted((ROOT / folder).rglob("*.py"))
    found = {str(file.relative_to(ROOT)): lines for file in files if (lines := late_imports(ast.parse(file.read_text())))}
    assert len(files) > 5
    assert found == {}
