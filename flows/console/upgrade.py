"""`sdcert check --upgrade`: write down which lines an older release file lacks, as questions that a person must answer."""

from __future__ import annotations

import flows.environment  # noqa: F401  # a private home and no telemetry, before the libraries are imported

# isort: split
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path

from flows.console.inert import shown
from flows.console.terminal import terminal
from flows.limits import classified, subject_of
from flows.release import load_release, located
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import read_text_file
from tasks.runtime.files import write_whole
from tasks.score.kinds import WHAT_IT_IS, Subject, lines_to_add, unanswered
from tasks.score.measure import Kind

HEADING = "# What the policy must answer since every kind of disclosure needs a limit or a reason (docs/UPGRADING.md):"


def upgrade(path: Path) -> int:
    """Append the missing lines to a release file, commented out: `certify` refuses the file until somebody has answered them.

    Raises InputError as `check` does, and where the file cannot be written.
    """
    release = load_release(path)
    try:
        schema, data = classified(release)
        subject = subject_of(release, schema, data)
    except InputError as error:
        raise located(error, path) from None
    missing = {
        kind: what for kind, what in unanswered(release.policy, subject).items() if release.not_limited.reason(kind) is None
    }
    out, text = terminal(soft_wrap=True), read_text_file(path)
    if not missing:
        out.print(shown(f"{path}: the policy answers every kind of disclosure that is asked; nothing was written"))
        return 0
    told = ", ".join(missing)
    if HEADING in text:
        out.print(shown(f"{path}: the questions on {told} stand at its end already, and are not answered; nothing was written"))
        return 0
    lines = [line for kind, what in missing.items() for line in _question(kind, what, subject)]
    _write(path, f"{text.rstrip()}\n\n" + "\n".join([HEADING, *lines]) + "\n")
    out.print(shown(f"{path}: {len(missing)} open question(s) were added at its end, on {told}"))
    out.print("Answer each of them with a limit or a reason, move the lines to `policy` and `not_limited`, and then run:")
    out.print(f"  sdcert check {shlex.quote(shown(str(path)))}")
    return 0


def _question(kind: Kind, what: tuple[str, ...], subject: Subject) -> Iterator[str]:
    yield "#"
    yield f"# DECIDE on {kind}: {WHAT_IT_IS[kind]}."
    yield from (f"#   {line}" for line in lines_to_add({kind: what}, subject))


def _write(path: Path, text: str) -> None:
    try:
        target = path.resolve()
        write_whole(target, text.encode(), mode=stat.S_IMODE(target.stat().st_mode), whatever_umask=True)
    except OSError as error:
        what = f"the file cannot be written ({error.strerror})"
        remedy = "correct its permissions, or upgrade a copy of it"
        raise InputError(
            "unwritable", "sdcert check --upgrade", what, "a file that can be written", remedy, str(path)
        ) from None
