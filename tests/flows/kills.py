"""Kill -9 of what `sdcert serve` runs, again and again, at moments drawn from a seed: does each run end once, or is it told?

By hand, with a line of JSON for each kill and a table at the end (some minutes a kill on a busy machine):

    python tests/flows/kills.py FOLDER --database postgresql --kills 15 --seed 7
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import time
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil
from postgres import postgres
from release_files import write_release
from serving import FINAL, Serving, deployment, served, until

VICTIMS = ("run", "worker", "run and worker", "server", "everything")
KINDS = tuple((victim, moment) for moment in ("PENDING", "RUNNING") for victim in VICTIMS)
LONGEST_WAIT = {"PENDING": 4.0, "RUNNING": 20.0}  # seconds into the state, where the kill comes
SECONDS_TO_END = 900
CRASHED = "prefect.flow-run.Crashed"


@dataclass
class Kill:
    """One kill and what became of the run that was in that state. states: of the run, and of its repetition if there is one.

    endings: what the ledger says of the commands that they asked for, in order; folders: that these left.
    """

    victim: str
    moment: str
    wait: float
    killed: int = 0
    was: str = ""
    runs: list[str] = field(default_factory=list)
    states: list[str] = field(default_factory=list)
    endings: list[str] = field(default_factory=list)
    folders: int = 0
    crashes_told: int = 0
    seconds: float = 0.0

    @property
    def outcome(self) -> str:
        certified = self.endings.count("certified")
        if "running" in self.endings or certified > 1 or self.folders != certified:
            return "WRONG"
        crashed = sum(state == "CRASHED" for state in self.states)
        if self.crashes_told < crashed:
            return "NOT TOLD"
        if certified:
            return "once, told and run again" if crashed else "once"
        return "told" if crashed or "FAILED" in self.states else "LOST"


def kinds(kills: int, rng: random.Random) -> list[tuple[str, str]]:
    """Each kind in turn, in a drawn order, as often as the number of kills allows."""
    found: list[tuple[str, str]] = []
    while len(found) < kills:
        found += rng.sample(KINDS, len(KINDS))
    return found[:kills]


def kill_once(serving: Serving, victim: str, moment: str, rng: random.Random) -> Kill:
    """Ask for a run, kill when it is in the state, and wait for what becomes of it."""
    kill, began = Kill(victim, moment, rng.uniform(0, LONGEST_WAIT[moment])), time.monotonic()
    run = serving.begin("good")
    until(lambda: serving.run(run)["state_type"] in {moment, *FINAL}, SECONDS_TO_END, every=0.2)
    until_then = time.monotonic() + kill.wait
    while time.monotonic() < until_then and serving.run(run)["state_type"] == moment:
        time.sleep(0.2)
    if victim.startswith("run"):  # there is one to kill, unless it has come further
        with suppress(AssertionError):
            until(lambda: serving.run(run)["state_type"] != moment or of_run(serving, run), 60, every=0.1)
    kill.was = serving.run(run)["state_name"]
    kill.killed = killed(serving, victim, run)
    if victim == "everything":
        serving.start()
    until(lambda: all(one["state_type"] in FINAL for one in chain(serving, run)), SECONDS_TO_END, every=2)
    ended = chain(serving, run)
    kill.runs, kill.states = [one["id"] for one in ended], [one["state_type"] for one in ended]
    until(lambda: "running" not in serving.endings_of(*kill.runs).values(), 180, every=2)
    found = serving.endings_of(*kill.runs)
    kill.endings = list(found.values())
    kill.folders = sum((serving.folder / "releases" / "survey" / name).is_dir() for name in found)
    crashed = [one["id"] for one in ended if one["state_type"] == "CRASHED"]
    with suppress(AssertionError):
        until(lambda: sum(tells(serving, one) for one in crashed) >= len(crashed), 60, every=2)
    kill.crashes_told = sum(tells(serving, one) for one in crashed)
    kill.seconds = round(time.monotonic() - began)
    return kill


def of_run(serving: Serving, run: str) -> list[psutil.Process]:
    """The processes of a flow run, without those of its command, which end with it."""
    return [one for one in serving.processes() if _variable(one, "PREFECT__FLOW_RUN_ID") == run]


def killed(serving: Serving, victim: str, run: str) -> int:
    """Kill all at once, as a lack of memory or a power cut would; returns how many there were."""
    found: list[psutil.Process] = []
    if victim in ("run", "run and worker"):
        found += of_run(serving, run)
    if victim in ("worker", "run and worker"):
        found += serving.processes("prefect worker start")
    if victim == "server":
        found += serving.processes("flows.scheduled.listening")
    if victim == "everything":
        found += [psutil.Process(serving.process.pid), *serving.processes()]
    for one in found:
        with suppress(psutil.NoSuchProcess):
            one.send_signal(signal.SIGKILL)
    if victim == "everything":
        serving.process.wait()
    return len(found)


def chain(serving: Serving, run: str) -> list[dict[str, Any]]:
    """A run and what the server made to repeat it."""
    again = [one for one in serving.runs("good") if (one.get("idempotency_key") or "").endswith(run)]
    first = serving.run(run)
    is_to_come = "it is run again" in (first["state"]["message"] or "") and not again
    return [first, *again, *([{"id": "", "state_type": "to come"}] if is_to_come else [])]


def tells(serving: Serving, run: str) -> int:
    """How many events of a crash the server has of a run: the automation tells of each."""
    wanted = {"event": {"name": [CRASHED]}, "resource": {"id": [f"prefect.flow-run.{run}"]}}
    return len(serving.ask("POST", "events/filter", {"filter": wanted, "limit": 10})["events"])


def _variable(one: psutil.Process, name: str) -> str | None:
    try:
        return one.environ().get(name)
    except (psutil.Error, OSError):
        return None


def kill_again_and_again(folder: Path, database: str, wanted: list[tuple[str, str]], seed: int) -> list[Kill]:
    """Serve a home on a database and kill in it; what is left must verify. Writes a line for each kill as it is over."""
    rng, kills = random.Random(seed), []
    write_release(folder / "good")
    with ExitStack() as stack:
        environment = {}
        if database == "postgresql":
            server = stack.enter_context(postgres())
            environment = {
                "PREFECT_SERVER_DATABASE_CONNECTION_URL": server.url("asyncpg", server.new("prefect")),
                "MLFLOW_TRACKING_URI": server.url(database=server.new("mlflow")),
                "SDCERT_INDEX_URL": server.url(database=server.new("audit")),
            }
        good = deployment("good", "certify_release", release="good/release.yaml", limit_minutes=15)
        serving = stack.enter_context(served(folder, good, **environment))
        for victim, moment in wanted:
            kills.append(kill_once(serving, victim, moment, rng))
            line = {"database": database, "seed": seed, **asdict(kills[-1]), "outcome": kills[-1].outcome}
            with (folder / "kills.jsonl").open("a") as file:
                file.write(f"{json.dumps(line)}\n")
            sys.stderr.write(f"{json.dumps(line)}\n")
        assert serving.ended(serving.begin("good"))[:2] == ("COMPLETED", "Completed"), "the place is not free"
        assert serving.half_made() == []
        for words in (("audit", "verify"), ("store", "verify")):
            checked = serving.sdcert(*words)
            assert checked.returncode == 0, (words, checked.stdout, checked.stderr)
        certified = [outcome for outcome in endings_of_all(serving) if outcome == "certified"]
        folders = [path for path in (folder / "releases" / "survey").iterdir() if path.is_dir() and not path.is_symlink()]
        assert len(folders) == len(certified), "a doubled or a lost release"
    return kills


def endings_of_all(serving: Serving) -> list[str]:
    return [line["event"]["outcome"] for line in serving.entries() if "outcome" in line["event"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--kills", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    given.folder.mkdir(parents=True)
    wanted = kinds(given.kills, random.Random(given.seed))
    found = kill_again_and_again(given.folder, given.database, wanted, given.seed)
    for (victim, moment, outcome), count in sorted(Counter((one.victim, one.moment, one.outcome) for one in found).items()):
        sys.stdout.write(f"{given.database:<12}{moment:<9}{victim:<16}{outcome:<28}{count}\n")


if __name__ == "__main__":
    main()
