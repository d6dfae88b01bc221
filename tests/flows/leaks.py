"""What no file outside the private folders may hold, in whatever writing, and the search for it.

After each test with a home, everything it left under its `tmp_path` is searched for the secrets of its homes; at the end of the
session, what tests share (Prefect's database, the session's home) for all secrets of all tests.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from release_files import CANARY, CANARY_LINE, WRITTEN

PRIVATE = {
    "store": "the tables and records of the stages, the source among them; 0400 in 0700",
    "keys": "the store's key and the private keys that sign",
    "draws": "the seeds",
    "runs": "manifests and scorecards at full precision",
    "failures": "tracebacks, which may hold values",
    "quarantine": "why a version of a source was quarantined, which may hold values",
    "scheduled": "what commands of deployments printed, which may name values",
    "sweeps": "the working sets of sweeps: the source and exact figures of it",
}
"""Folders of a home where secrets belong, and why. All else in a home is searched, the ledger too."""

ORIGINAL = ("person_id", "income", "town")  # `age` is too short to be told from other numbers, `vote` is published as it is
HASHES = ("sha256", "sha1", "md5")
PASSPHRASES = {"SDCERT_KEY_PASSPHRASE", "SDCERT_APPROVAL_PASSPHRASE"}
"""Environment variables that hold one."""

SECRET_BYTES = 32
_WINDOW = 8
_MIX = np.uint64(0x9E3779B97F4A7C15)
_CHUNK = 1 << 22


@dataclass
class Secrets:
    """Writings of secrets, each with the name under which a leak is told. Long ones are found in one pass over a file."""

    long: dict[bytes, str] = field(default_factory=dict)
    short: dict[bytes, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.long or self.short)

    def add(self, name: str, writings: Iterable[bytes]) -> None:
        for writing in writings:
            if len(writing) >= _WINDOW:
                self.long.setdefault(writing, name)
            elif writing:
                self.short.setdefault(writing, name)

    def update(self, other: Secrets) -> None:
        self.long |= other.long
        self.short |= other.short

    def found_in(self, content: bytes) -> set[str]:
        """The names of the secrets that the bytes hold."""
        short = {name for writing, name in self.short.items() if writing in content}
        return short | {self.long[writing] for writing in self._long_in(content)}

    def _long_in(self, content: bytes) -> Iterator[bytes]:
        """One pass, whatever the number of writings: windows of 8 bytes that begin one are looked up by a hash."""
        if not self.long:
            return
        by_start: dict[bytes, list[bytes]] = {}
        for writing in self.long:
            by_start.setdefault(writing[:_WINDOW], []).append(writing)
        bits = len(by_start).bit_length() + 8  # one window in 256 or fewer is looked up for nothing
        table = np.zeros(1 << bits, dtype=bool)
        table[_hashed(np.frombuffer(b"".join(by_start), dtype="<u8"), bits)] = True
        for begin in range(0, max(len(content) - _WINDOW + 1, 0), _CHUNK):
            count = min(_CHUNK, len(content) - _WINDOW + 1 - begin)
            windows = np.ndarray((count,), dtype="<u8", buffer=content, offset=begin, strides=(1,))
            for place in begin + np.flatnonzero(table[_hashed(windows, bits)]):
                for writing in by_start.get(content[place : place + _WINDOW], ()):
                    if content.startswith(writing, place):
                        yield writing


def _hashed(windows: np.ndarray, bits: int) -> np.ndarray:
    return (windows * _MIX) >> np.uint64(64 - bits)


def writings_of_bytes(secret: bytes) -> set[bytes]:
    """Raw, hexadecimal, a number, base64 wherever it stands in a longer text; halves too: a database may split what is long."""
    texts = {secret.hex().encode(), secret.hex().upper().encode()}
    numbers = {str(int.from_bytes(secret, order)).encode() for order in ("big", "little")}
    encoded = {writing for text in (secret, *texts) for writing in _base64_inside(text)}
    whole = {secret, *texts, *encoded}
    return numbers | {half for writing in whole for half in _halves(writing)}


def writings_of_text(text: str) -> set[bytes]:
    """As it is, and in base64 wherever it stands in a longer text."""
    return {text.encode(), *_base64_inside(text.encode())}


def _halves(writing: bytes) -> tuple[bytes, ...]:
    middle = len(writing) // 2
    return (writing[:middle], writing[middle:]) if middle >= 2 * _WINDOW else (writing,)


def _base64_inside(content: bytes) -> set[bytes]:
    """What base64 makes of these bytes whatever stands before and after them, in both alphabets."""
    found = set()
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + content)
        first, last = -(-before * 8 // 6), (before + len(content)) * 8 // 6
        middle = encoded[first:last]
        found |= {middle, middle.replace(b"+", b"-").replace(b"/", b"_")}
    return found


def secrets_of(homes: Iterable[Path]) -> Secrets:
    """The seeds, the store's keys, the private keys that sign and the passphrases of these homes."""
    secrets = Secrets()
    for home in homes:
        for name, place in (("a seed", "draws/seeds/*"), ("the store's key", "keys/store.key")):
            for content in (path.read_bytes() for path in home.glob(place)):
                if len(content) == SECRET_BYTES and len(set(content)) > 1:  # tests tear some, or write one sign over them
                    secrets.add(name, writings_of_bytes(content))
        for pem in (home / "keys").rglob("*.pem"):
            secrets.add("a private key that signs", _writings_of_key(pem.read_bytes()))
    if os.environ.get("SDCERT_SIGNING_KEY"):
        secrets.add("a private key that signs", _writings_of_key(os.environ["SDCERT_SIGNING_KEY"].encode()))
    for name in PASSPHRASES & set(os.environ):
        secrets.add("a passphrase", writings_of_text(os.environ[name]))
    return secrets


@cache
def _writings_of_key(pem: bytes) -> frozenset[bytes]:
    """The lines of the file, and the 32 bytes of the key itself where they are not encrypted or the passphrase is at hand."""
    if b"PRIVATE KEY" not in pem:
        return frozenset()
    body = [line for line in pem.splitlines() if line and not line.startswith(b"-")]
    found = {writing for line in body if len(line) >= 2 * _WINDOW for writing in {line, *_base64_inside(line)}}
    try:
        key = load_pem_private_key(pem, None)
    except (TypeError, ValueError):
        return frozenset(found)
    raw = key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    return frozenset(found | writings_of_bytes(raw))


def secrets_of_inputs(folder: Path, homes: Iterable[Path]) -> Secrets:
    """The plain hashes of the sources that were certified, and what a planted record holds, where a test planted one."""
    planted = {path for path in WRITTEN if path.is_relative_to(folder) and path.is_file()}
    secrets = Secrets()
    for source in planted | {path for home in homes for path in _sources(home)}:
        content = source.read_bytes()
        for kind in HASHES:
            digest = hashlib.new(kind, content, usedforsecurity=False).digest()
            secrets.add(f"the {kind} of a source", writings_of_bytes(digest))
        if CANARY_LINE.encode() in content:
            for name in ORIGINAL:
                secrets.add(f"the planted {name}", writings_of_text(str(CANARY[name])))
    return secrets


def _sources(home: Path) -> Iterator[Path]:
    """The files that the runs of a home read."""
    for manifest in home.glob("runs/*/manifest.json"):
        try:
            source = json.loads(manifest.read_bytes()).get("spec", {}).get("source", {})
        except ValueError:  # a test tore it
            continue
        path = Path(source.get("table") or "")
        if path.is_file():
            yield path


def homes_in(folder: Path) -> list[Path]:
    """The homes under a folder, copies of one too: what holds keys."""
    return [Path(place) for place, folders, _ in os.walk(folder) if "keys" in folders and _is_home(Path(place))]


def _is_home(folder: Path) -> bool:
    return (folder / "keys" / "store.key").is_file() or (folder / "keys" / "signing").is_dir()


def leaks_in(folder: Path, secrets: Secrets, *, homes: Iterable[Path] = (), but: Iterable[Path] = ()) -> list[str]:
    """`<file> holds <which secret>` for every file under a folder, but the private folders of the homes and some files."""
    if not secrets:
        return []
    closed = {home / name for home in homes for name in PRIVATE}
    skipped = set(but)
    found = []
    for place, folders, files in os.walk(folder):
        here = Path(place)
        folders[:] = [name for name in folders if here / name not in closed]
        for path in (here / name for name in files):
            if path not in skipped and path.is_file():
                found += [f"{path} holds {name}" for name in sorted(secrets.found_in(_content(path)))]
    return found


def _content(path: Path) -> bytes:
    """The bytes of a file; a Parquet file, which is compressed, as the text of its cells besides."""
    content = path.read_bytes()
    if not content.startswith(b"PAR1"):
        return content
    cells = io.StringIO()
    table = pq.read_table(io.BytesIO(content))
    csv.writer(cells).writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return content + cells.getvalue().encode()


SEEN = Secrets()
"""All secrets of the tests of this session, for the places that they share."""


def leaks_of_test(folder: Path) -> list[str]:
    """What a test leaked under its folder. Its secrets are remembered for the end of the session."""
    homes = homes_in(folder)
    if not homes:
        return []
    secrets = secrets_of(homes)
    SEEN.update(secrets)
    secrets.update(secrets_of_inputs(folder, homes))
    return leaks_in(folder, secrets, homes=homes, but=[path for path in WRITTEN if path.is_relative_to(folder)])
