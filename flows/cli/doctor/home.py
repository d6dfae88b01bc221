"""What `sdcert doctor` says of the private folder: owner, permissions, room, locks, clock, seeds, keys, dead runs."""

from __future__ import annotations

import fcntl
import os
import shlex
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import psutil

from flows.run.history import compute_run_status, read_manifests
from tasks.audit.ledger.ledger import Ledger
from tasks.audit.lookup.index_rows import find_signer, parse_entry
from tasks.audit.lookup.trust import Trust
from tasks.audit.maintenance.inventory import find_drafts, is_abandoned, read_cache_records
from tasks.audit.maintenance.review_due import IssuedCertificate, collect_certificates, find_due_certificates, select_standing
from tasks.audit.signing.keyring import Keyring
from tasks.microdata.cache_folder import find_cache_folder
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import read_file
from tasks.runtime.draws import is_pointer_sealed, read_pointer_id
from tasks.runtime.keyfile import read_key
from tasks.runtime.seals import key_fits
from tasks.runtime.servers import orphans
from tasks.runtime.settings import Home

CheckStatus = Literal["ok", "warn", "fail"]
OTHERS = stat.S_IRWXG | stat.S_IRWXO
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
NO_SECRETS = ("compiled", "numba")  # machine code of published functions: may be read, but not written, by others
KEY_BYTES = 32
CRITICAL_FREE_BYTES, LOW_FREE_BYTES = 100_000_000, 1_000_000_000
FEW_INODES, LITTLE_INODES = 1_000, 20_000
NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "9p", "afs", "ceph", "glusterfs", "fuse.glusterfs"})
CLOCK_SECONDS = 5.0
LARGE_LEDGER_BYTES = 20_000_000  # read in a second or two
NOT_BEFORE = datetime(2026, 11, 1, tzinfo=UTC)  # this version was written then
_NAMED = 20


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. says: what was found, without any secret or address; to_do: what mends it."""

    topic: str
    status: CheckStatus
    says: str
    to_do: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def fine(topic: str, says: str) -> Finding:
    return Finding(topic, "ok", says)


def warn(topic: str, says: str, to_do: str) -> Finding:
    return Finding(topic, "warn", says, to_do)


def fail(topic: str, says: str, to_do: str) -> Finding:
    return Finding(topic, "fail", says, to_do)


def format_count(n: int, what: str, many: str = "") -> str:
    """`1 run`, `2 runs`"""
    return f"{n:,} {what if n == 1 else many or what + 's'}"


def check_home(root: Path) -> Iterator[Finding]:
    """All findings on the private folder; where it does not exist yet, on the place where it will be made."""
    named = "SDCERT_HOME" if os.environ.get("SDCERT_HOME") else ".sdcert in this folder; SDCERT_HOME names another"
    existing = next(path for path in (root, *root.parents) if path.exists())
    if existing == root and not root.is_dir():
        yield fail("home", f"{root} is not a folder", "set SDCERT_HOME to a folder of your own")
        return
    if existing != root:
        yield fine("home", f"{root} ({named}) does not exist yet: it will be made at the first run")
    else:
        yield from _check_ownership(root, named)
        yield from _check_permissions(root)
    yield from _check_compiled_code(find_cache_folder(), root)
    yield from _check_storage(existing)
    if existing == root:
        yield _check_run_clock()
        yield from _check_secrets(root)
        yield from _check_leftovers(root)
        yield _check_certificates(root)


def _check_ownership(root: Path, named: str) -> Iterator[Finding]:
    found = root.stat()
    if found.st_uid != os.geteuid():
        yield fail("home", f"{root} belongs to another user", "set SDCERT_HOME to a folder of your own")
    elif found.st_mode & OTHERS:
        yield fail("home", f"{root} can be entered by others ({_format_mode(root)})", f"chmod 700 {shlex.quote(str(root))}")
    else:
        yield fine("home", f"{root} ({named}) is yours alone")


def _check_permissions(root: Path) -> Iterator[Finding]:
    wrong = sorted(path for path in root.rglob("*") if _is_open(path, root))
    if not wrong:
        yield fine("permissions", "every file in the private folder is readable by its owner alone")
        return
    for path in wrong[:_NAMED]:
        others = stat.S_IMODE(path.lstat().st_mode) & OTHERS
        to_do = f"chmod go-rwx {shlex.quote(str(path))}"
        if path.lstat().st_uid != os.geteuid():
            yield fail("permissions", f"{path} belongs to another user", f"chown it back, or move {root} away and start anew")
        else:
            yield fail("permissions", f"{path} is open to others ({_format_mode(path)}, of which {others:o} is theirs)", to_do)
    if len(wrong) > _NAMED:
        yield fail("permissions", f"{len(wrong) - _NAMED} more such files", f"chmod -R go-rwx {shlex.quote(str(root))}")


def _check_compiled_code(folder: Path, home: Path) -> Iterator[Finding]:
    """Machine code is run as this user, so nobody else may write it. In the home it is looked at with the other files."""
    if folder.is_relative_to(home) or not folder.is_dir():
        return
    found = ((path, path.lstat()) for path in (folder, *folder.rglob("*")) if not path.is_symlink())
    wrong = sorted(path for path, now in found if now.st_mode & WRITABLE_BY_OTHERS or now.st_uid != os.geteuid())
    if wrong:
        says = f"{folder} holds compiled code that others can write ({format_count(len(wrong), 'file')}; {wrong[0]})"
        yield fail("compiled code", says, f"remove it: rm -r {shlex.quote(str(folder))}; it is made again")
    else:
        yield fine("compiled code", f"only this user can write in {folder}")


def _is_open(path: Path, root: Path) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False
    if stat.S_ISLNK(found.st_mode):
        return False
    secret = path.relative_to(root).parts[0] not in NO_SECRETS
    return bool(found.st_mode & (OTHERS if secret else WRITABLE_BY_OTHERS)) or found.st_uid != os.geteuid()


def _format_mode(path: Path) -> str:
    return f"{stat.S_IMODE(path.lstat().st_mode):04o}"


def _check_storage(folder: Path) -> Iterator[Finding]:
    yield _check_free_bytes(folder)
    yield _check_free_inodes(folder)
    try:
        with tempfile.TemporaryDirectory(prefix=".sdcert-doctor-", dir=folder) as name:
            yield _write_test(Path(name))
            yield _check_locks(Path(name))
            yield _check_file_clock(Path(name))
    except OSError as error:
        yield fail(
            "write test", f"nothing can be written in {folder} ({error.strerror})", "make it writable, or set SDCERT_HOME"
        )
    kind = _find_file_system(folder)
    if kind in NETWORK:
        to_do = "set SDCERT_HOME to a folder on a disk of this machine"
        yield warn("file system", f"{folder} is on a network file system ({kind}): locks and databases may fail there", to_do)


def _check_free_bytes(folder: Path) -> Finding:
    free = shutil.disk_usage(folder).free
    says, to_do = f"{free / 1e9:,.1f} GB free", "free some room, or set SDCERT_HOME to a larger disk"
    if free < LOW_FREE_BYTES:
        return (fail if free < CRITICAL_FREE_BYTES else warn)("disk space", says, to_do)
    return fine("disk space", says)


def _check_free_inodes(folder: Path) -> Finding:
    found = os.statvfs(folder)
    if found.f_files == 0:
        return fine("inodes", "this file system does not count them")
    says, to_do = f"{found.f_favail:,} files can still be made", "remove files, or set SDCERT_HOME to another disk"
    if found.f_favail < LITTLE_INODES:
        return (fail if found.f_favail < FEW_INODES else warn)("inodes", says, to_do)
    return fine("inodes", says)


def _write_test(folder: Path) -> Finding:
    draft, final = folder / "draft", folder / "final"
    with draft.open("wb") as file:
        file.write(b"written")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(final)
    if read_file(final) == b"written":
        return fine("write test", "a file was written, synced, renamed and read back")
    return fail("write test", "a file came back otherwise than it was written", "set SDCERT_HOME to another disk")


def _check_locks(folder: Path) -> Finding:
    """Are locks kept between two openings of one file? (Runs and caches rely on it.)"""
    with (folder / "lock").open("wb") as first, (folder / "lock").open("rb") as second:
        try:
            fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return fine("locks", "flock works on this file system")
        except OSError:
            pass
    to_do = "set SDCERT_HOME to a folder on a disk of this machine"
    return fail("locks", "flock does not work on this file system: two runs could spoil each other's files", to_do)


def _check_file_clock(folder: Path) -> Finding:
    (folder / "clock").write_bytes(b"")
    apart = abs((folder / "clock").stat().st_mtime - time.time())
    to_do = "set the clock of this machine (NTP); statements carry the date of the release"
    if datetime.now(UTC) < NOT_BEFORE:
        return fail("clock", f"the clock says {datetime.now(UTC):%Y-%m-%d}, before this version was written", to_do)
    if apart > CLOCK_SECONDS:
        return warn("clock", f"the clock of the disk is {apart:.0f} s apart from that of this machine", to_do)
    return fine("clock", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, and the disk agrees")


def _check_run_clock() -> Finding:
    now = datetime.now(UTC) + timedelta(seconds=CLOCK_SECONDS)
    later = [manifest["run"] for manifest in read_manifests() if datetime.fromisoformat(manifest["started_at"]) > now]
    if not later:
        return fine("clock", "no run began in the future")
    to_do = "set the clock of this machine (NTP): runs are told apart and sorted by their time"
    return warn("clock", f"{format_count(len(later), 'run')} began later than now, the last of them {later[0]}", to_do)


def _find_file_system(folder: Path) -> str:
    mounts = [part for part in psutil.disk_partitions(all=True) if folder.is_relative_to(part.mountpoint)]
    return max(mounts, key=lambda part: len(part.mountpoint)).fstype if mounts else "unknown"


def _check_secrets(root: Path) -> Iterator[Finding]:
    """Are the key and the seeds there, and whole? Their content is not shown, nor anything made from it."""
    key = root / "keys" / "store.key"
    used = (root / "store").is_dir() and any((root / "store").iterdir())
    restore = "restore the private folder from a backup; without one, move it away and start anew"
    if not key.exists():
        if used:
            yield fail("keys", "the key of the store is gone: nothing in the store can be read", restore)
        else:
            yield fine("keys", "none yet: the key of the store is made at the first run")
    elif key.stat().st_size != KEY_BYTES:
        yield fail("keys", f"{key} has {key.stat().st_size} bytes, not {KEY_BYTES}", restore)
    elif not key_fits(Home(root), read_key(key)):
        yield fail("keys", f"{key} is not the key that the store was made with: it was damaged or exchanged", restore)
    else:
        yield fine("keys", "the key of the store is there, and is the one that the store was made with")
        yield from _check_records(Home(root))
        yield from _check_pointers(Home(root))
    yield _check_seeds(root / "draws", restore)


def _check_records(home: Home) -> Iterator[Finding]:
    """Does every record of the cache have its seal? (Its artifacts are left to `sdcert store verify`.)"""
    found = [one for one in read_cache_records(home.root / "records") if one.returned is not None]
    edited = [one.file.path.name for one in found if not one.is_sealed(home)]
    if edited:
        records = format_count(len(edited), "record")
        says = f"{records} edited or exchanged after a stage had returned: {', '.join(edited[:_NAMED])}"
        yield fail("cache", says, "find out who writes there; no run reads them, and `sdcert store gc --yes` removes them")
    elif found:
        yield fine("cache", f"{format_count(len(found), 'record')}, each with its seal")


def _check_pointers(home: Home) -> Iterator[Finding]:
    """Does what says which draw is current have its seal? One of an older version has none, and the ledger vouches for it."""
    found = sorted(path for path in (home.root / "draws").glob("*.*") if path.suffix in (".current", ".pseudonyms"))
    changed = [path.name for path in found if is_pointer_sealed(home, path) is False]
    if changed:
        says = f"changed after it was written: draws/{', draws/'.join(changed[:_NAMED])}"
        yield fail(
            "seeds", says, "restore it from a backup of the private folder, or draw anew with `sdcert certify --new-draw`"
        )


def _check_seeds(draws: Path, restore: str) -> Finding:
    series = sorted(draws.glob("*.current")) if draws.is_dir() else []
    lost = [path.stem for path in series if not _has_seed(draws, path)]
    if lost:
        says = f"the seed of the current draw is gone for: {', '.join(lost)}"
        return fail("seeds", says, "restore the private folder from a backup, or draw anew with `sdcert certify --new-draw`")
    keys = sorted(draws.glob("*.pseudonyms")) if draws.is_dir() else []
    lost = [path.stem for path in keys if not _has_seed(draws, path)]
    if lost:
        says = f"the key of the pseudonyms is gone for: {', '.join(lost)}"
        return fail("seeds", says, "restore the private folder from a backup, or begin another `series`")
    short = [path for path in (draws / "seeds").glob("*") if path.stat().st_size != KEY_BYTES]
    if short:
        return fail("seeds", f"{len(short)} seeds have not {KEY_BYTES} bytes", restore)
    return fine("seeds", f"the seeds of {len(series)} series are there" if series else "none yet")


def _has_seed(draws: Path, pointer: Path) -> bool:
    named = read_pointer_id(pointer)
    return bool(named) and (draws / "seeds" / named).is_file()


def _check_leftovers(root: Path) -> Iterator[Finding]:
    left = orphans(str(root))
    if left:
        says = f"left by runs that were killed: {format_count(len(left), 'process', 'processes')}"
        yield warn("servers", says, "nothing: the next `sdcert certify` ends them")
    else:
        yield fine("servers", "no temporary server was left behind")
    dead = [manifest["run"] for manifest in read_manifests() if compute_run_status(manifest) == "killed"]
    if dead:
        text = ", ".join(dead[:_NAMED])
        says = f"{format_count(len(dead), 'run')} killed before the end: {text}"
        yield warn("runs", says, "run them again; what was computed is kept")
    else:
        yield fine("runs", "no run is shown as running whose process is gone")
    left_files = sum(is_abandoned(file) for file in find_drafts(root))
    if left_files:
        says = f"{format_count(left_files, 'file')} left by writers that were killed; there may be values or secrets inside"
        yield warn("drafts", says, "`sdcert store gc --yes` removes them")
    else:
        yield fine("drafts", "no writer that was killed has left a file")


def _check_certificates(root: Path) -> Finding:
    path = root / "ledger" / "ledger.jsonl"
    if path.exists() and path.stat().st_size > LARGE_LEDGER_BYTES:
        return fine("certificates", "the ledger is large: `sdcert audit due` says which are to be looked at again")
    now = datetime.now(UTC)
    try:
        known = _find_standing_certificates(Home(root), now)
    except InputError as error:
        return fail("certificates", f"the ledger cannot be read: {error.what}", error.remedy)
    late = [one for one in find_due_certificates(known, at=now, within=timedelta(0)) if one.certificate.superseded_by is None]
    if late:
        to_do = "`sdcert audit due` says which, and what to do"
        says = f"{len(late)} are past their date of review, older than the attacks of today, or of a key that was revoked"
        return warn("certificates", says, to_do)
    return fine("certificates", "none is past its date of review, older than the attacks of today, or of a revoked key")


def _find_standing_certificates(home: Home, now: datetime) -> tuple[IssuedCertificate, ...]:
    lines = [(line, entry) for line in Ledger(home.root / "ledger").lines() if (entry := parse_entry(line.content)) is not None]
    trust = Trust.from_keyring(Keyring.from_home(home), (one for one in lines if one[1].event.kind == "key"))
    issued = collect_certificates((entry, find_signer(line.content)) for line, entry in lines)
    return select_standing(issued, at=now, revoked=trust.find_revocation)
