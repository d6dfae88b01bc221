"""`make audit`: has any package of requirements.lock a known vulnerability?

Exit codes: 0 none is known of any of them, 1 some are, 3 it is not known (the data could not be reached, or do not have every
package). pip-audit by itself says "No known vulnerabilities found" where an index answers that it knows none of the packages.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

FINE, FOUND, NOT_KNOWN = 0, 1, 3
LOCK = Path(__file__).resolve().parent.parent / "requirements.lock"
WORDS = ("--require-hashes", "--disable-pip", "--progress-spinner", "off", "--format", "json")
_NAMED = 10


def main(program: Path, lock: Path = LOCK) -> int:
    """Ask, say what came out in a sentence or a line per vulnerability, and return the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        command = [program, "--requirement", lock, *WORDS, "--output", answer]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        told = json.loads(answer.read_text()) if answer.is_file() else None
    if told is None and done.returncode != 0:
        return _not_known("the data on vulnerabilities could not be reached from here", done.stderr)
    packages: list[dict[str, Any]] = told["dependencies"] if told else []
    found = [f"{one['name']} {one['version']}: {it['id']}" for one in packages for it in one.get("vulns", ())]
    skipped = sorted(one["name"] for one in packages if "skip_reason" in one)
    if found:
        _say(*found, f"{len(found)} known vulnerabilities; of {len(skipped)} packages nothing is told")
        return FOUND
    if skipped:
        return _not_known(f"nothing is told of {len(skipped)} packages: {', '.join(skipped[:_NAMED])}")
    _say("no vulnerability is known of any package in requirements.lock")
    return FINE


def _not_known(why: str, details: str = "") -> int:
    kind = details.strip().rpartition("\n")[2].partition(":")[0]
    _say(f"NOT KNOWN whether the packages have vulnerabilities: {why}{f' ({kind})' if kind else ''}")
    return NOT_KNOWN


def _say(*lines: str) -> None:
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main(Path(sys.executable).with_name("pip-audit")))
