"""The claim of speed of look-ups in the audit trail: `python benchmarks/lookups.py [--entries N]`.

CPU seconds of whole commands, the start of the process included, in a home whose ledger has N entries; beside them a plain scan
of the same ledger in the same run, which decodes every line and looks for one release, as a look-up without an index would.
Building the index from nothing is a case of its own.
"""

from __future__ import annotations

import hashlib
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "flows"))

from trails import digest, ended, runs, write_trail  # noqa: E402  # the maker of ledgers stands with the tests

ENTRIES_A_RUN = 2.857  # of the trail that is made: some runs never end
REPORT = b"a report that was issued"
SCAN = """
import base64, json, sys
found = 0
for line in open(sys.argv[1], "rb"):
    event = json.loads(base64.b64decode(json.loads(line)["payload"]))["event"]
    found += event.get("release") == "release-7"
print(found)
"""
COMMANDS = {
    "the index from nothing, then the last runs": ("find", "--last", "20"),
    "the last runs": ("find", "--last", "20"),
    "runs of a release": ("find", "--release", "release-7"),
    "runs touching an attribute, refused": ("find", "--touching", "income", "--verdict", "refused"),
    "a run by the beginning of its id": ("show", "20260115T0900"),
    "a run by a digest": ("show", digest("20260115T090000Z-0007e0", "report.html")),
    "an issued file, by its bytes": ("find", "{file}"),
    "a file of nobody, which is read as a table": ("find", "{other}"),
}


def cpu_seconds(words: list[str], home: Path) -> float:
    """CPU seconds of one process; it must have answered."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "SDCERT_HOME": str(home), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, *words], env=environment, capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stderr.decode()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(home: Path, ledger: Path, folder: Path) -> pd.DataFrame:
    """One row for each command, and the plain scan."""
    file, other = folder / "report.html", folder / "notes.txt"
    file.write_bytes(REPORT)
    other.write_text("nothing of ours")
    rows = []
    for what, words in COMMANDS.items():
        chosen = [word.format(file=file, other=other) for word in words]
        rows.append((what, cpu_seconds(["-m", "flows.cli", "audit", *chosen], home)))
    rows.append(("plain scan for a release", cpu_seconds(["-c", SCAN, str(ledger)], home)))
    return pd.DataFrame(rows, columns=["look-up", "CPU seconds"]).round(2)


def main(entries: Annotated[int, typer.Option(help="entries of the ledger")] = 100_000) -> None:
    """Print CPU seconds of each look-up."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name) / "home"
        issued = ended(
            "20260101T000000Z-issued", documents=[{"name": "report.html", "sha256": hashlib.sha256(REPORT).hexdigest()}]
        )
        ledger = write_trail(home, [issued, *runs(round(entries / ENTRIES_A_RUN))])
        print(f"{entries:,} entries, {ledger.stat().st_size / 1e6:.0f} MB")
        print(measured(home, ledger, Path(name)).to_string(index=False))


if __name__ == "__main__":
    typer.run(main)
