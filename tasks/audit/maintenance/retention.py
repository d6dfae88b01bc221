"""Find what earlier runs need of the store, and why, in their private manifests and in the ledger.

An address is a text of one form, so every reference is found wherever it nests: in a manifest, in an entry of the ledger, in a
record that names another artifact. Too much is kept rather than too little.
"""

from __future__ import annotations

import json
import re
import socket
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal

from tasks.audit.ledger.entries import CertificateRevoked, Entry, RunBegan, RunEnded
from tasks.audit.ledger.ledger import Ledger
from tasks.audit.lookup.index_rows import RunEntries, parse_entry
from tasks.audit.series.past_releases import KEEP_RELEASED, PERSONS, PastRelease
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import read_file
from tasks.runtime.artifacts import SUFFIX
from tasks.runtime.processes import is_taken
from tasks.runtime.settings import Home

RetentionReason = Literal["certified", "in progress", "newest of its series", "young", "released"]
FindLinks = Callable[[str], frozenset[str]]
ADDRESS = re.compile(rf"\b(?:{'|'.join(SUFFIX)}):[0-9a-f]{{64}}\b".encode())


@dataclass(frozen=True, slots=True)
class KnownRun:
    """One run of this home.

    certified: for publication, and not revoked. decided: it ended with a verdict. draw: the id of its seed, where one was used.
    manifests: the keyed digests that the ledger has of its private manifest. addresses: what it names of the store.
    of_persons: of these what later releases about the same persons are compared and attacked with, where it released a file.
    """

    run: str
    release: str
    series: str
    began: datetime
    certified: bool
    decided: bool
    in_progress: bool
    draw: str | None
    manifests: tuple[str, ...]
    addresses: frozenset[str]
    of_persons: frozenset[str] = frozenset()

    def list_needed(self, reason: RetentionReason) -> frozenset[str]:
        """What is kept of it for a reason: a file that was released and revoked leaves its tables alone."""
        return self.of_persons if reason == "released" else self.addresses


@dataclass(frozen=True, slots=True)
class History:
    """Every run, oldest first.

    unreadable: those of which neither the manifest nor the ledger says what they need. doubt: why the ledger may not tell all
    that it was told; "" where it is whole.
    """

    runs: tuple[KnownRun, ...]
    unreadable: tuple[str, ...] = ()
    doubt: str = ""


def collect_history(manifests: Mapping[str, dict[str, Any] | None], entries: Iterable[Entry]) -> History:
    """What is known of the runs. manifests: by run; None for one that cannot be read."""
    by_run: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        if (run := getattr(entry.event, "run", None)) is not None:
            by_run[run].append(entry)
    ended = {run for run, entries in by_run.items() if any(isinstance(one.event, RunEnded) for one in entries)}
    lost = {run for run, manifest in manifests.items() if manifest is None} - ended
    runs = [_build_known_run(run, manifests.get(run) or {}, by_run.get(run, [])) for run in {*manifests, *by_run} - lost]
    return History(tuple(sorted(runs, key=lambda run: (run.began, run.run))), tuple(sorted(lost)))


def find_runs_to_keep(runs: Iterable[KnownRun], *, since: datetime | None = None) -> dict[str, RetentionReason]:
    """Which runs keep what they need, and why; the strongest reason of each. since: runs that began later are young."""
    ordered = sorted(runs, key=lambda run: (run.began, run.run))
    newest = {run.series: run.run for run in ordered}
    newest_decided = {run.series: run.run for run in ordered if run.decided}
    reasons: dict[str, RetentionReason] = {}
    for run in ordered:
        if run.certified:
            reasons[run.run] = "certified"
        elif run.in_progress:
            reasons[run.run] = "in progress"
        elif run.run in (newest[run.series], newest_decided.get(run.series)):
            reasons[run.run] = "newest of its series"
        elif since is not None and run.began > since:
            reasons[run.run] = "young"
        elif run.of_persons:
            reasons[run.run] = "released"
    return reasons


def find_addresses(content: bytes) -> frozenset[str]:
    """Every address of the store that stands in some text."""
    return frozenset(found.decode() for found in ADDRESS.findall(content))


def create_link_finder(there: Collection[str], content: Callable[[str], bytes]) -> FindLinks:
    """What an artifact names, of those that are there: records alone name others. Each is read once."""

    @cache
    def find_named_addresses(ref: str) -> frozenset[str]:
        return find_addresses(content(ref)) if ref.startswith("record:") and ref in there else frozenset()

    return find_named_addresses


def find_reachable_addresses(roots: Iterable[str], named_by: FindLinks) -> frozenset[str]:
    """The addresses that can be reached: the roots, what they name, what those name, and so on."""
    found, waiting = set[str](), list(roots)
    while waiting:
        ref = waiting.pop()
        if ref not in found:
            found.add(ref)
            waiting.extend(named_by(ref))
    return frozenset(found)


def read_entries(home: Home) -> Iterator[Entry]:
    """The entries of the home's ledger, oldest first; signatures are not checked, and what cannot be read is passed over."""
    for line in Ledger(home.root / "ledger").lines():
        entry = parse_entry(line.content)
        if entry is not None:
            yield entry


def read_history(home: Home) -> History:
    """What is known of the runs of a home. Cost: about 10 s for a ledger of 100,000 entries."""
    size, doubt = _check_ledger_size(home)
    entries = [] if doubt else list(read_entries(home))
    if len(entries) < size:
        doubt = f"{size - len(entries)} of {size} entries of ledger.jsonl cannot be read"
    return replace(collect_history(read_manifests(home), entries), doubt=doubt)


def _check_ledger_size(home: Home) -> tuple[int, str]:
    """How many entries the ledger has, and why that must be doubted."""
    try:
        size = Ledger(home.root / "ledger").head().size
    except InputError as error:
        return 0, error.what
    signs = any((home.root / "keys" / "signing").glob("current-*"))
    return size, "ledger.jsonl is gone, and there is a key that signed in it" if signs and not size else ""


def read_manifests(home: Home) -> dict[str, dict[str, Any] | None]:
    """The private manifest of every run folder, by run; None for one that cannot be read."""
    folders = sorted((home.root / "runs").glob("*/"))
    return {folder.name: _read_manifest(folder / "manifest.json") for folder in folders if (folder / "manifest.json").exists()}


def _read_manifest(path: Path) -> dict[str, Any] | None:
    try:
        manifest = json.loads(read_file(path))
        began = datetime.fromisoformat(manifest["started_at"])
        complete = (
            began.tzinfo is not None and {"run", "release", "series", "status", "process", "host", "stages"} <= manifest.keys()
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return manifest if complete and manifest["run"] == path.parent.name else None


def _build_known_run(run: str, manifest: dict[str, Any], entries: list[Entry]) -> KnownRun:
    events = [entry.event for entry in entries]
    endings = [event for event in events if isinstance(event, RunEnded)]
    revoked = any(isinstance(event, CertificateRevoked) for event in events)
    named = manifest or _find_release_and_series(events)
    named_by = json.dumps({name: value for name, value in manifest.items() if name != "spec"})
    texts = (named_by.encode(), *(event.model_dump_json().encode() for event in events))
    return KnownRun(
        run=run,
        release=named["release"],
        series=named["series"],
        began=datetime.fromisoformat(manifest["started_at"]) if manifest else entries[0].at,
        certified=_is_certified(manifest, endings) and not revoked,
        decided="verdict" in manifest or any(ending.outcome in ("certified", "refused", "undecided") for ending in endings),
        in_progress=bool(manifest) and _is_in_progress(manifest),
        draw=manifest.get("draw") or next((event.draw for event in events if event.kind == "attempt"), None),
        manifests=tuple(ending.manifest for ending in endings if ending.manifest is not None),
        addresses=frozenset().union(*map(find_addresses, texts)),
        of_persons=_list_tables_of_persons(run, manifest, entries),
    )


def _list_tables_of_persons(run: str, manifest: dict[str, Any], entries: list[Entry]) -> frozenset[str]:
    """The tables of a release that counts as an earlier one, revoked or not, and the digests of its persons."""
    past = PastRelease.from_entries(RunEntries(run, tuple((entry.index, entry) for entry in entries)))
    if past is None or past.never_published:
        return frozenset()
    persons = manifest.get(PERSONS)
    groups = past.made.get(KEEP_RELEASED, {}).values()
    return frozenset((*past.tables.values(), *groups, *([persons] if isinstance(persons, str) else [])))


def _find_release_and_series(events: list[Any]) -> dict[str, str]:
    """The release and series of a run whose manifest is gone."""
    found = [event for event in events if isinstance(event, RunBegan | RunEnded)]
    return {"release": found[0].release, "series": found[0].series} if found else {"release": "", "series": ""}


def _is_certified(manifest: dict[str, Any], endings: list[RunEnded]) -> bool:
    """By the ledger or, where a crash or an older version left no entry, by the manifest."""
    if endings:
        return any(ending.is_release for ending in endings)
    return manifest.get("verdict") == "certified" and not manifest.get("spec", {}).get("not_for_publication", False)


def _is_in_progress(manifest: dict[str, Any]) -> bool:
    """Shown as running, and its process lives, or is not on this machine."""
    here = manifest["host"] == socket.gethostname()
    return bool(manifest["status"] == "running" and not (here and not is_taken(manifest["process"])))
