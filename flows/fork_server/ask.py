"""`sdcert`: run a command in a process that the fork server of the home forks, or in this one where there is none.

Importing what a command needs takes longer than most commands. A fork server has imported it, and gives each command a process
of its own, with the folder, the environment, the streams and the limits of this one. Signals are handed on, and who kills this
process kills that one. One is started when a command ends soon after another.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NamedTuple, NoReturn

from flows.fork_server import request

COMMANDS = {
    "approve", "audit", "certify", "check", "compare", "datasets", "init", "methods", "open", "quarantine",
    "revoke", "runs", "verify", "watch",
}  # fmt: skip  # the others serve until Ctrl-C, examine the machine, or take long anyway
PROGRAM = ("-m", "flows.fork_server.serve_forks")
BROKEN, INTERRUPTED = 3, 130
SECONDS_TO_START, SECONDS_TO_ANSWER = 60.0, 20.0


def main() -> None:
    arguments, environment = sys.argv[1:], dict(os.environ)
    wanted = bool(arguments) and arguments[0] in COMMANDS and request.can_be_kept(environment)
    wanted = wanted and bool(request.parse_idle_seconds(environment))
    try:
        ended = ask(arguments) if wanted else None
    except KeyboardInterrupt:  # before the command began
        sys.exit(INTERRUPTED)
    if ended is not None:
        _end_like(ended.code)
    from flows.cli import main as run_here

    try:
        run_here()
    finally:
        if wanted:
            _start_if_used_again(environment)


class Ended(NamedTuple):
    """How a forked command ended. code: as `subprocess` has it, negative for a signal; cpu_seconds: that it took."""

    code: int
    cpu_seconds: float


def ask(arguments: list[str]) -> Ended | None:
    """Let the fork server run a command; None where none did. Signals that this process gets are handed on from then on."""
    folder = request.find_folder()
    if folder is None or not _has_streams():
        return None
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.settimeout(SECONDS_TO_ANSWER)
            connection.connect(str(folder / request.SOCKET))
            if not request.is_of_this_user(connection) or not _read_line(connection):
                return None  # one that stands still says nothing, and must not get the streams: they would stay open in it
            content = request.write_request(arguments)
            socket.send_fds(connection, [content[:1]], [0, 1, 2])
            connection.sendall(content[1:])
            begun = _read_line(connection)
        except (OSError, ValueError):
            return None
        if not begun:
            return None
        connection.settimeout(None)
        _hand_signals_on(int(begun))
        ended = _read_line(connection)
    if not ended:  # who waited for it was killed
        with suppress(ProcessLookupError):
            os.kill(int(begun), signal.SIGKILL)
        sys.stderr.write("error: the process that ran the command was ended\n  to do:   run again; what was finished is kept\n")
        return Ended(BROKEN, 0.0)
    code, cpu_seconds = ended.split()
    return Ended(int(code), float(cpu_seconds))


def _has_streams() -> bool:
    """Are all three standard streams open? Else the connection would get the number of one."""
    try:
        for number in range(3):
            os.fstat(number)
    except OSError:
        return False
    return True


def _read_line(connection: socket.socket) -> bytes:
    """A line, byte by byte: they are short, and a connection with a time limit has no file. Nothing where it was closed."""
    line = b""
    while not line.endswith(b"\n"):
        try:
            more = connection.recv(1)
        except ConnectionResetError:  # it was closed before everything was read
            more = b""
        if not more:
            return b""
        line += more
    return line


def _hand_signals_on(process: int) -> None:
    def hand_on(number: int, _: FrameType | None) -> None:
        with suppress(ProcessLookupError):  # it has just ended
            os.kill(process, number)

    def stop(number: int, _: FrameType | None) -> None:
        """Ctrl-Z stops both; this one goes on first."""
        hand_on(signal.SIGSTOP, None)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.signal(number, stop)
        hand_on(signal.SIGCONT, None)

    for number in request.HANDED_ON:
        if signal.getsignal(number) != signal.SIG_IGN:  # as `nohup` leaves it
            signal.signal(number, hand_on)
    if signal.getsignal(signal.SIGTSTP) == signal.SIG_DFL:
        signal.signal(signal.SIGTSTP, stop)


def _end_like(code: int) -> NoReturn:
    """End with a code; or by a signal, if the command was ended by one."""
    if code >= 0:
        sys.exit(code)
    with suppress(OSError):  # of SIGKILL nothing can be set
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
    os._exit(128 - code)


def _start_if_used_again(environment: Mapping[str, str]) -> None:
    """Start a fork server if the last command was not long ago. What goes wrong here costs the next command its speed alone.

    environment: that of this command before it changed it.
    """
    home, idle_seconds = request.find_home(environment), request.parse_idle_seconds(environment)
    try:
        if not home.is_dir():
            return
        (home / request.FOLDER).mkdir(mode=0o700, exist_ok=True)
        folder = request.find_folder(environment)
        if folder is None or not idle_seconds:
            return
        last = folder / request.LAST
        again = last.exists() and abs(time.time() - last.stat().st_mtime) < idle_seconds
        last.touch(mode=0o600)
        if again:
            _start(home, folder, environment, idle_seconds)
    except OSError:
        return


def _start(home: Path, folder: Path, environment: Mapping[str, str], idle_seconds: float) -> None:
    log = folder / "errors"
    if log.exists() and abs(time.time() - log.stat().st_mtime) < SECONDS_TO_START:  # another one has just been started
        return
    log.unlink(missing_ok=True)
    log.touch(mode=0o600)
    with log.open("wb") as errors:
        subprocess.Popen(
            [sys.executable, "-P", *PROGRAM, str(folder), f"{idle_seconds}"],
            env={**request.select_at_import(environment), "SDCERT_HOME": str(home)},
            stdin=subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
            cwd=folder,
            start_new_session=True,
        )


if __name__ == "__main__":
    main()
