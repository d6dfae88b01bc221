"""Seeds: with which secret a source was masked.

A seed is 256 bits of the system's generator. It is kept in a private file and reused until the steward asks for a new draw,
so that a retry or a second run never masks again; the rest of the program names it by its draw id, a keyed digest. The key of
a series' pseudonyms is kept in the same way, and never drawn anew.
"""

from __future__ import annotations

import hashlib
import secrets
from pathlib import Path

from tasks.microdata.errors import InputError
from tasks.microdata.randomness import SEED_BYTES
from tasks.runtime.artifacts import Store
from tasks.runtime.files import locked, write_whole
from tasks.runtime.settings import Home
from tasks.runtime.shared import claim_series

SEED_ENTROPY_BITS = 8 * SEED_BYTES


def draw_of(series: str, *, new: bool = False) -> str:
    """The id of the series' current draw; a first or a new one is drawn where there is none or one is asked for."""
    home = Home.current()
    current = home.folder("draws") / f"{series}.current"
    with locked(home.locks / f"draw-{series}.lock"):
        claim_series(series)
        if current.exists() and not new:
            return current.read_text().strip()
        draw = keep_seed(secrets.token_bytes(SEED_BYTES))
        write_whole(current, draw.encode())
        return draw


def pseudonym_key_of(series: str) -> str:
    """The id of the key of the series' pseudonyms, made when it is first asked for; a new draw leaves it as it is."""
    home = Home.current()
    current = home.folder("draws") / f"{series}.pseudonyms"
    with locked(home.locks / f"draw-{series}.lock"):
        claim_series(series)
        if current.exists():
            return current.read_text().strip()
        kept = keep_seed(secrets.token_bytes(SEED_BYTES))
        write_whole(current, kept.encode())
        return kept


def chosen_draw(number: int) -> str:
    """The draw of a seed that somebody chose: reproducible and therefore no secret; never for publication."""
    return keep_seed(hashlib.sha256(f"chosen seed {number}".encode()).digest())


def keep_seed(seed: bytes) -> str:
    """Keep a seed in the private folder and return its draw id."""
    draw = draw_id(seed)
    path = _seed_path(draw)
    if not path.exists():
        write_whole(path, seed, mode=0o400)
    return draw


def draw_id(seed: bytes) -> str:
    """What names a seed to who holds the store's key, and tells others nothing."""
    return Store().digest(b"draw" + seed)[:32]


def seed_of(draw: str) -> bytes:
    """The secret behind a draw id; InputError where the private folder has lost it."""
    try:
        return _seed_path(draw).read_bytes()
    except FileNotFoundError:
        what = "the private folder has lost the seed of this series' current draw"
        remedy = "restore the folder from a backup, or draw anew with `--new-draw`"
        raise InputError("lost-seed", "SDCERT_HOME", what, "the seeds of earlier draws under draws/seeds", remedy) from None


def pseudonym_secret(kept: str) -> bytes:
    """The secret behind the id of a key of pseudonyms; InputError where the private folder has lost it."""
    try:
        return seed_of(kept)
    except InputError:
        what = (
            "the private folder has lost the key of this series' pseudonyms: a new one would give everybody another pseudonym"
        )
        remedy = "restore the folder from a backup; without one, begin another `series`"
        raise InputError("lost-pseudonym-key", "SDCERT_HOME", what, "the keys under draws/seeds", remedy) from None


def _seed_path(draw: str) -> Path:
    return Home.current().folder("draws", "seeds") / draw
