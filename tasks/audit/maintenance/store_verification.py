"""Verify the store: everything in it matches its address, is private, and is there if a run needs it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from tasks.audit.maintenance.inventory import (
    AN_HOUR,
    CacheRecord,
    PrivateFile,
    StoreFiles,
    is_draft,
    list_home_store,
    read_cache_records,
)
from tasks.audit.maintenance.retention import History, KnownRun, create_link_finder, find_reachable_addresses, find_runs_to_keep
from tasks.microdata.regular_files import read_file
from tasks.runtime.artifacts import Store
from tasks.runtime.draws import draw_id, read_pointer_id
from tasks.runtime.keyfile import read_key
from tasks.runtime.seals import key_fits
from tasks.runtime.settings import Home

StoreFindingKind = Literal["key", "ledger", "damaged", "missing", "open", "unknown", "left over", "record", "manifest", "seed"]
CountProgress = Callable[[int, int], None]
BACKUP = "restore the private folder from a backup; without one, move it away and start anew"
SHORT = 12


@dataclass(frozen=True, slots=True)
class StoreFinding:
    """One thing that is wrong. subject: an address, or a path in the private folder. runs: those that need it."""

    kind: StoreFindingKind
    subject: str
    says: str
    to_do: str
    runs: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class StoreVerification:
    """What was found. artifacts, bytes: how many were looked at, and how large they are. needed: how many some run needs.

    dangling: records of Prefect's that point to artifacts that are not there, which is harmless; torn: of which a full disk
    kept the beginning, and unsealed: which a version wrote that made no seals, which is so too. emptied: runs that need
    nothing any more, and of whose artifacts some were removed.
    """

    findings: tuple[StoreFinding, ...]
    artifacts: int
    bytes: int
    needed: int
    runs: int
    dangling: int
    torn: int
    unsealed: int
    emptied: int


def verify_store(home: Home, past: History, progress: CountProgress = lambda done, of: None) -> StoreVerification:
    """Look at everything in the store. Changes nothing; hold `use_store` meanwhile.

    progress: called with how many artifacts were looked at, and how many there are.
    Cost: every artifact is read and hashed once; some seconds a gigabyte.
    """
    files = list_home_store(home)
    kept = find_runs_to_keep(past.runs)
    reasons = {run: why for run, why in kept.items() if why != "released"}  # without its tables a file is not attacked, no more
    keeping = [run for run in past.runs if run.run in reasons]
    needs = _needs(keeping, files)
    gone = list(_check_store_key(home, files))
    records = tuple(read_cache_records(home.records))
    findings = (
        *gone,
        *_check_ledger(past.doubt),
        *(() if gone else _find_damaged_artifacts(home, files, needs, progress)),
        *_find_missing(files, needs),
        *_open(home, files),
        *_find_unknown(home, files.others),
        *_find_strange_records(home, records),
        *(() if gone else _find_edited_records(home, records)),
        *_find_unreadable_runs(past.unreadable),
        *(() if gone else (*_check_manifests(home, keeping), *_check_seeds(home, keeping))),
    )
    others = (run for run in past.runs if run.run not in reasons)
    return StoreVerification(
        findings=findings,
        artifacts=len(files.artifacts),
        bytes=sum(file.size for file in files.artifacts.values()),
        needed=len(needs.keys() & files.artifacts.keys()),
        runs=len(keeping),
        dangling=sum(record.refs is not None and not record.refs <= files.artifacts.keys() for record in records),
        torn=sum(record.torn for record in records),
        unsealed=sum(record.is_of_older_version for record in records),
        emptied=sum(not run.addresses <= files.artifacts.keys() for run in others),
    )


def _needs(runs: Iterable[KnownRun], files: StoreFiles) -> dict[str, tuple[str, ...]]:
    """By which runs each address is needed, newest first."""
    needs: defaultdict[str, list[str]] = defaultdict(list)
    links = create_link_finder(files.artifacts, files.content)
    for run in runs:
        for ref in find_reachable_addresses(run.addresses, links):
            needs[ref].insert(0, run.run)
    return {ref: tuple(named) for ref, named in needs.items()}


def _check_store_key(home: Home, files: StoreFiles) -> Iterator[StoreFinding]:
    path = home.root / "keys" / "store.key"
    if files.artifacts and not path.is_file():
        says = "the key of the store is gone: nothing in the store can be checked, and none of it can be found again"
        yield StoreFinding("key", "keys/store.key", says, BACKUP)
    elif path.is_file() and not key_fits(home, read_key(path)):
        says = "the key is not the one that the store was made with: it was damaged or exchanged, and nothing can be checked"
        yield StoreFinding("key", "keys/store.key", says, BACKUP)


def _check_ledger(doubt: str) -> Iterator[StoreFinding]:
    if doubt:
        says = f"{doubt}: runs may need more of the store than is known"
        yield StoreFinding("ledger", "ledger/ledger.jsonl", says, "restore it from a backup; `sdcert audit verify` says more")


def _find_damaged_artifacts(
    home: Home, files: StoreFiles, needs: dict[str, tuple[str, ...]], progress: CountProgress
) -> Iterator[StoreFinding]:
    store, of = Store(home), len(files.artifacts)
    for done, ref in enumerate(files.artifacts, 1):
        if not store.intact(ref) and files.exists(ref):
            says = f"{_shorten_address(ref)} is not what its address says: its file was changed or torn"
            yield StoreFinding("damaged", ref, says, _to_restore(needs.get(ref, ())), needs.get(ref, ()))
        progress(done, of)


def _find_missing(files: StoreFiles, needs: dict[str, tuple[str, ...]]) -> Iterator[StoreFinding]:
    for ref, runs in sorted(needs.items()):
        if ref not in files.artifacts:
            yield StoreFinding("missing", ref, f"{_shorten_address(ref)} is not in the store", _to_restore(runs), runs)


def _open(home: Home, files: StoreFiles) -> Iterator[StoreFinding]:
    for file in (*files.artifacts.values(), *files.others):
        if not file.private:
            name = _name_within_home(home, file.path)
            says = f"{name} may be read or written by others than its owner, or belongs to somebody else"
            yield StoreFinding("open", name, says, "make it yours alone: chmod go-rwx, and chown where it belongs to another")


def _find_unknown(home: Home, others: Iterable[PrivateFile]) -> Iterator[StoreFinding]:
    for file in others:
        name = _name_within_home(home, file.path)
        if not is_draft(file):
            says = f"{name} lies in the store and is none of its artifacts"
            yield StoreFinding("unknown", name, says, "look what it is (it may hold values), and move it away")
        elif file.older_than(AN_HOUR):
            says = f"{name} was left by a writer that was killed, and may hold values"
            yield StoreFinding("left over", name, says, "`sdcert store gc --yes` removes it")


def _find_strange_records(home: Home, records: Iterable[CacheRecord]) -> Iterator[StoreFinding]:
    for record in records:
        if record.refs is None:
            name = _name_within_home(home, record.file.path)
            says = f"{name} is not a record that this program wrote"
            yield StoreFinding("record", name, says, "`sdcert store gc --yes` removes it; no run reads it")


def _find_edited_records(home: Home, records: Iterable[CacheRecord]) -> Iterator[StoreFinding]:
    for record in records:
        if record.returned is not None and not record.is_sealed(home):
            name = _name_within_home(home, record.file.path)
            says = f"{name} does not have its seal: it was edited, or exchanged for another, after its stage had returned"
            yield StoreFinding(
                "record", name, says, "find out who writes there; `sdcert store gc --yes` removes it, and no run reads it"
            )


def _find_unreadable_runs(runs: Iterable[str]) -> Iterator[StoreFinding]:
    for run in runs:
        name = f"runs/{run}/manifest.json"
        says = f"{name} cannot be read, and the ledger does not say what the run needs of the store"
        yield StoreFinding("manifest", name, says, f"restore it from a backup, or move runs/{run} away", (run,))


def _check_manifests(home: Home, runs: Iterable[KnownRun]) -> Iterator[StoreFinding]:
    """The private manifests that the ledger names: a replay needs them."""
    store = Store(home)
    for run in runs:
        name = f"runs/{run.run}/manifest.json"
        path = home.root / name
        if run.manifests and not path.is_file():
            yield StoreFinding(
                "manifest", name, f"{name} is gone: the run cannot be replayed", "restore it from a backup", (run.run,)
            )
        elif run.manifests and store.digest(read_file(path)) not in run.manifests:
            says = f"{name} is not the one that the ledger names: it was changed after the run had ended"
            yield StoreFinding("manifest", name, says, "restore it from a backup", (run.run,))


def _check_seeds(home: Home, runs: Iterable[KnownRun]) -> Iterator[StoreFinding]:
    """The seeds of the runs that are kept, and what each series draws with now."""
    used: defaultdict[str, list[str]] = defaultdict(list)
    for run in runs:
        if run.draw is not None:
            used[run.draw].insert(0, run.run)
    for path in (path for path in (home.root / "draws").glob("*.*") if path.suffix in (".current", ".pseudonyms")):
        used[read_pointer_id(path) or path.stem].extend(())
    for draw, of in sorted(used.items()):
        name = f"draws/seeds/{draw}"
        what = _explain_bad_seed(home.root / name)
        if what is not None:
            says = f"the seed {name} {what}: what was masked with it cannot be masked so again"
            yield StoreFinding("seed", name, says, _SEED_FROM, tuple(of))


_SEED_FROM = "restore it from a backup; the private manifest of a finished run holds its seed too (`seed`, in hexadecimal)"


def _explain_bad_seed(path: Path) -> str | None:
    if not path.is_file():
        return "is gone"
    return None if draw_id(read_file(path)) == path.name else "is not what its name says"


def _to_restore(runs: tuple[str, ...]) -> str:
    if runs:
        return f"`sdcert audit replay {runs[0]}` computes it again, if its source is unchanged"
    return "nothing: no run needs it, and one that wants it computes it again"


def _shorten_address(ref: str) -> str:
    kind, _, address = ref.partition(":")
    return f"the {kind} {address[:SHORT]}..."


def _name_within_home(home: Home, path: Path) -> str:
    return path.relative_to(home.root).as_posix() if path.is_absolute() else path.as_posix()
