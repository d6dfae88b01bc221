"""`make notebooks`: run the notebooks of docs/notebooks, each in an empty folder, and store what their cells show.

What goes to stderr is left out: progress, with times and folders of the machine.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "notebooks"
SECONDS = 900  # that a cell may take on a small machine that is busy


def list_notebooks() -> list[Path]:
    """The stored notebooks, in their order."""
    return sorted(FOLDER.glob("*.ipynb"))


def execute(path: Path, folder: Path) -> nbformat.NotebookNode:
    """The notebook, run in a folder with a private folder of its own, with what its cells show.

    Raises CellExecutionError for a cell that fails.
    """
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=SECONDS,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    )
    own = {"SDCERT_HOME": str(folder / ".sdcert"), "SDCERT_SERVER_IDLE_SECONDS": "0"}
    client.execute(env={**os.environ, **own})
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def main() -> int:
    """Run and store all of them, or those whose names are given."""
    for path in list_notebooks():
        if sys.argv[1:] and not any(name in path.name for name in sys.argv[1:]):
            continue
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(execute(path, Path(folder)), path)
        print(path.name)  # noqa: T201  a command
    return 0


if __name__ == "__main__":
    sys.exit(main())
