"""What is no longer as it was when a run was made: source files, the lock, what is installed, the machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tasks.microdata.words import join_first
from tasks.runtime.provenance import Provenance, select_room_files

ChangeKind = Literal["code", "lock", "packages", "platform"]
_MANY = 8
_PLATFORM = ("python", "system", "machine", "cpu")


@dataclass(frozen=True, slots=True)
class Changes:
    """Every difference between two programs on two machines.

    files: source files that were changed, added or removed, by path. lock: whether requirements.lock has other bytes; pins,
    packages: what it pins and what is installed otherwise, as `name 1.0 -> 1.1`. platform: as `python ... -> ...`.
    known: whether the run kept what it was made by; if not, nothing else is told.
    """

    known: bool
    files: tuple[str, ...] = ()
    lock: bool = False
    pins: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    platform: tuple[str, ...] = ()

    def list_room_files(self, rooms: tuple[str, ...]) -> tuple[str, ...]:
        """The changed files that a stage runs."""
        return select_room_files(self.files, rooms)

    def describe_by_kind(self, files: tuple[str, ...]) -> dict[ChangeKind, str]:
        """What has changed, by kind: some of the files, and all of the lock, of what is installed, and of the machine."""
        lock = self.pins or (("its hashes or comments",) if self.lock else ())
        changed: dict[ChangeKind, tuple[str, ...]] = {
            "code": files,
            "lock": lock,
            "packages": self.packages,
            "platform": self.platform,
        }
        return {kind: join_first(names, _MANY) for kind, names in changed.items() if names}

    @property
    def flow_files(self) -> tuple[str, ...]:
        """The changed files that decide what the stages are given."""
        return tuple(name for name in self.files if name.startswith("flows/"))


def changes(then: Provenance | None, now: Provenance) -> Changes:
    """What has changed since a run; None: it kept no list, or the store has lost it."""
    if then is None:
        return Changes(known=False)
    return Changes(
        known=True,
        files=tuple(sorted(_unlike(then.files, now.files))),
        lock=then.lock != now.lock,
        pins=_versions(then.pins, now.pins),
        packages=_versions(then.packages, now.packages),
        platform=_versions(_platform(then), _platform(now)),
    )


def _versions(then: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{name} {then.get(name, 'none')} -> {now.get(name, 'none')}" for name in sorted(_unlike(then, now)))


def _unlike(then: Mapping[str, str], now: Mapping[str, str]) -> set[str]:
    return {name for name in then.keys() | now.keys() if then.get(name) != now.get(name)}


def _platform(provenance: Provenance) -> dict[str, str]:
    return {name: getattr(provenance, name) for name in _PLATFORM}
