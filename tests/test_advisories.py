"""`make audit` never says that all is well where nothing is known."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / ".ci" / "advisories.py"
_spec = importlib.util.spec_from_file_location("advisories", SCRIPT)
advisories = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(advisories)

GOOD = {"name": "six", "version": "1.17.0", "vulns": []}
BAD = {"name": "left", "version": "0.1", "vulns": [{"id": "CVE-2026-1"}, {"id": "CVE-2026-2"}]}
SKIPPED = {"name": "right", "skip_reason": "Dependency not found on PyPI and could not be audited: right (2)"}


@pytest.fixture
def told(tmp_path, capsys):
    """`told(code, packages)`: what is said where pip-audit ends so, and writes this (None: nothing)."""

    def call(code: int, packages: list[dict[str, object]] | None) -> tuple[int, str]:
        program = tmp_path / "pip-audit"
        answer = None if packages is None else json.dumps({"dependencies": packages, "fixes": []})
        body = ["import sys, pathlib", f"answer = {answer!r}", "place = sys.argv[sys.argv.index('--output') + 1]"]
        body += [
            "if answer is not None: pathlib.Path(place).write_text(answer)",
            "print('Traceback\\nProxyError: no way', file=sys.stderr)",
        ]
        program.write_text("\n".join([f"#!{sys.executable}", *body, f"sys.exit({code})"]))
        program.chmod(0o700)
        return advisories.main(program), capsys.readouterr().out

    return call


@pytest.mark.parametrize(
    ("code", "packages", "ends", "says"),
    [
        (0, None, 0, "no vulnerability is known"),
        (0, [GOOD], 0, "no vulnerability is known"),
        (1, [GOOD, BAD], 1, "left 0.1: CVE-2026-1\nleft 0.1: CVE-2026-2\n2 known vulnerabilities"),
        (1, None, 3, "NOT KNOWN whether the packages have vulnerabilities: the data on vulnerabilities could not be"),
        (1, None, 3, "(ProxyError)"),
        (0, [SKIPPED], 3, "NOT KNOWN whether the packages have vulnerabilities: nothing is told of 1 packages: right"),
        (0, [GOOD, SKIPPED], 3, "NOT KNOWN"),
        (1, [BAD, SKIPPED], 1, "CVE-2026-2"),
    ],
)
def test_what_is_said(told, code, packages, ends, says):
    found, out = told(code, packages)
    assert (found, says in out) == (ends, True)
    assert (ends == 0) == ("no vulnerability is known" in out)


def test_the_lock_pins_everything_with_hashes():
    """So that what is installed is what was looked up."""
    blocks = advisories.LOCK.read_text().replace("\\\n", "").splitlines()
    pinned = [line for line in blocks if line and not line.startswith((" ", "#"))]
    assert len(pinned) > 200
    assert [line for line in pinned if "==" not in line or "--hash=sha256:" not in line] == []
