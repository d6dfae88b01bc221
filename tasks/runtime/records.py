"""What a record of the cache says that a stage returned, and the seal that binds it to the key of that call.

A record is Prefect's file; its result is ours: the addresses and the seal in one text, so that neither is ever there alone.
What has no seal, or another one, is computed again: a record that was edited, exchanged for another, or written by an older
version.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.runtime.seals import compute_seal, is_sealed
from tasks.runtime.settings import Home

Produced = dict[str, str]
SERIALIZER = {"type": "sealed"}
LARGEST_RECORD = 1 << 24


@dataclass(frozen=True, slots=True)
class Returned:
    """What a record says that the call of a cache key returned, not yet believed."""

    key: str
    produced: Produced
    seal: str

    def is_of(self, home: Home, key: str) -> bool:
        """Whether this home's store key sealed it for the call of this cache key."""
        return self.key == _name(key) and self.is_sealed(home)

    def is_sealed(self, home: Home) -> bool:
        """Whether this home's store key sealed it for the call that it names itself."""
        return is_sealed(home, self.seal, *_list_seal_parts(self.key, self.produced))


def seal_result(home: Home, key: str, produced: Produced) -> bytes:
    """The result of a record: what the call of a cache key returned, with its seal."""
    name = _name(key)
    return json.dumps(
        {"key": name, "produced": produced, "seal": compute_seal(home, *_list_seal_parts(name, produced))}
    ).encode()


def parse_returned(result: bytes | str) -> Returned | None:
    """What the result of a record says; None where it is not of the form that `seal_result` writes."""
    try:
        found = json.loads(result)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.keys() != {"key", "produced", "seal"}:
        return None
    if not isinstance(found["key"], str) or not isinstance(found["seal"], str) or not is_produced(found["produced"]):
        return None
    return Returned(found["key"], found["produced"], found["seal"])


def read_returned(record: bytes | str) -> Returned | None:
    """What a whole record says that its stage returned; None where it is none that this version writes."""
    try:
        found = json.loads(record)
        serializer, result = found["metadata"]["serializer"], found["result"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return parse_returned(result) if serializer == SERIALIZER and isinstance(result, str) else None


def is_produced(value: Any) -> bool:
    """Whether it is what a stage returns: addresses by name, and nothing else."""
    return isinstance(value, dict) and all(isinstance(one, str) for part in value.items() for one in part)


def _name(key: str) -> str:
    """A cache key as Prefect gives it, alone or as the path of its record: a home that moved keeps its records."""
    return Path(key).name


def _list_seal_parts(key: str, produced: Produced) -> tuple[str, ...]:
    return ("returned", key, json.dumps(produced, sort_keys=True))
