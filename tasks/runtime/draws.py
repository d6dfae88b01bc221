"""Draw, keep and find the secret seeds with which sources are masked.

A seed is 256 bits of the system's generator. It is kept in a private file and reused until the steward asks for a new draw,
so that a retry or a second run never masks again; the rest of the program names it by its draw id, a keyed digest. The key of
a series' pseudonyms is kept in the same way, and never drawn anew.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable
from pathlib import Path

from tasks.microdata.errors import InputError
from tasks.microdata.randomness import SEED_BYTES
from tasks.microdata.regular_files import LARGEST_NOTE, UnreadableFile, read_text_file
from tasks.runtime.artifacts import Store
from tasks.runtime.files import hold_file_lock, write_whole
from tasks.runtime.keyfile import read_key
from tasks.runtime.seals import compute_seal, is_sealed
from tasks.runtime.settings import Home
from tasks.runtime.store_sharing import claim_series

SEED_ENTROPY_BITS = 8 * SEED_BYTES
OR_DRAW_ANEW = "or draw anew with `sdcert certify FILE --new-draw`"
OR_ANOTHER_SERIES = "or, without one, begin another `series`"
_DRAW_ID = re.compile(r"[0-9a-f]{32}")
Earlier = Callable[[], str | None]


def find_or_create_draw(series: str, *, new: bool = False, earlier: Earlier = lambda: None) -> str:
    """The id of the series' current draw; a first or a new one is drawn where there is none or one is asked for.

    earlier: the draw of the series' last attempt, if there was one; asked where an older version wrote down without a seal
    which draw is current. Raises InputError where what says so was changed, and where its seed is lost or damaged, also where
    everything is served from the cache and none is needed.
    """
    home = Home.current()
    current = home.folder("draws") / f"{series}.current"
    with hold_file_lock(home.locks / f"draw-{series}.lock"):
        claim_series(series)
        kept = None if new else _resolve_pointer(home, current, earlier, OR_DRAW_ANEW)
        if kept is not None:
            read_seed(kept)
            return kept
        draw = keep_seed(secrets.token_bytes(SEED_BYTES))
        _point(home, current, draw)
        return draw


def current_draw(series: str) -> str | None:
    """The id of the series' draw; None where none was drawn yet. Draws nothing. Raises InputError where its file is damaged."""
    return _id_in(Home.current().root / "draws" / f"{series}.current", OR_DRAW_ANEW)


def current_pseudonym_key(series: str) -> str | None:
    """The id of the key of the series' pseudonyms; None where there is none yet. Raises InputError: its file is damaged."""
    return _id_in(Home.current().root / "draws" / f"{series}.pseudonyms", OR_ANOTHER_SERIES)


def find_or_create_pseudonym_key(series: str, *, earlier: Earlier = lambda: None) -> str:
    """The id of the key of the series' pseudonyms, made when it is first asked for; a new draw leaves it as it is.

    earlier: the key of the series' last run that used one, as with `find_or_create_draw`. Raises InputError where the key is
    lost or damaged.
    """
    home = Home.current()
    with hold_file_lock(home.locks / f"draw-{series}.lock"):
        claim_series(series)
        current = home.folder("draws") / f"{series}.pseudonyms"
        kept = _resolve_pointer(home, current, earlier, OR_ANOTHER_SERIES)
        if kept is None:
            kept = keep_seed(secrets.token_bytes(SEED_BYTES))
            _point(home, current, kept)
        pseudonym_secret(kept)
        return kept


def read_pointer_id(path: Path) -> str:
    """The id that a file of the private folder says is current, not checked; empty where it says none."""
    return next(iter(_words(path)), "")


def is_pointer_sealed(home: Home, path: Path) -> bool | None:
    """Whether such a file has its seal; None where an older version wrote it, without one."""
    words = _words(path)
    return None if len(words) == 1 else len(words) == 2 and is_sealed(home, words[1], "current", path.name, words[0])


def _words(path: Path) -> list[str]:
    try:
        return read_text_file(path, LARGEST_NOTE, errors="replace").split()
    except UnreadableFile:
        return []


def _point(home: Home, path: Path, kept: str) -> None:
    write_whole(path, f"{kept} {compute_seal(home, 'current', path.name, kept)}\n".encode())


def _resolve_pointer(home: Home, path: Path, earlier: Earlier, otherwise: str) -> str | None:
    """The id that is current; None where nothing was ever made with one.

    A file that is gone is written again as the ledger has it: nothing is drawn anew by itself.
    """
    named = _id_in(path, otherwise)
    if named is None:
        used = earlier()
        if used is not None:
            read_seed(used)
            _point(home, path, used)
        return used
    if is_pointer_sealed(home, path):
        return named
    if is_pointer_sealed(home, path) is None:
        used = earlier()
        if used == named:
            _point(home, path, used)
        if used in (None, named):
            return used
    raise _create_damage_error(path, "was changed: it says otherwise than this program wrote", otherwise)


def _id_in(path: Path, otherwise: str) -> str | None:
    """The id that a file says is current; None where there is no file. Its seal is left to `_resolve_pointer`."""
    try:
        words = _words(path)
    except FileNotFoundError:
        return None
    if not words or _DRAW_ID.fullmatch(words[0]) is None:
        raise _create_damage_error(path, f"was {'changed' if words else 'emptied'}: it does not name a seed", otherwise)
    return words[0]


def _create_damage_error(path: Path, what: str, otherwise: str) -> InputError:
    remedy = f"restore it from a backup of the private folder, {otherwise}"
    return InputError(
        "damaged-draw", "SDCERT_HOME", f"draws/{path.name} {what}", "the file as it was written", remedy, str(path)
    )


def keep_chosen_seed(number: int) -> str:
    """The draw of a seed that somebody chose: reproducible and therefore no secret; never for publication."""
    return keep_seed(derive_chosen_seed(number))


def derive_chosen_seed(number: int) -> bytes:
    """The 32 bytes of a seed that somebody chose, which everybody can compute. Keeps nothing."""
    return hashlib.sha256(f"chosen seed {number}".encode()).digest()


def keep_seed(seed: bytes) -> str:
    """Keep a seed in the private folder and return its draw id. A file of its name that holds something else is replaced."""
    draw = draw_id(seed)
    path = _seed_path(draw)
    try:
        is_kept = read_key(path) == seed
    except (OSError, InputError):
        is_kept = False
    if not is_kept:
        write_whole(path, seed, mode=0o400)
    return draw


def draw_id(seed: bytes) -> str:
    """What names a seed to somebody who has the store's key, and tells others nothing."""
    return Store().digest(b"draw" + seed)[:32]


def read_seed(draw: str) -> bytes:
    """The secret behind a draw id; InputError where the private folder has lost it, or it was emptied or changed."""
    try:
        seed = read_key(_seed_path(draw))
    except FileNotFoundError:
        what = "the private folder has lost the seed of this series' current draw"
        remedy = "restore the folder from a backup, or draw anew with `--new-draw`"
        raise InputError("lost-seed", "SDCERT_HOME", what, "the seeds of earlier draws under draws/seeds", remedy) from None
    if draw_id(seed) != draw:
        what = f"a seed of this series was {'changed' if seed else 'emptied'}: it is not the one that its name says"
        remedy = "restore the file from a backup, or draw anew with `--new-draw`"
        raise InputError(
            "damaged-seed", "SDCERT_HOME", what, f"{SEED_BYTES} bytes, as they were drawn", remedy, f"draws/seeds/{draw}"
        )
    return seed


def pseudonym_secret(kept: str) -> bytes:
    """The secret behind the id of a key of pseudonyms; InputError where the private folder has lost it, or it was changed."""
    try:
        return read_seed(kept)
    except InputError:
        what = "the key of this series' pseudonyms is lost or was changed: a new one would give everybody another pseudonym"
        remedy = "restore the folder from a backup; without one, begin another `series`"
        raise InputError("lost-pseudonym-key", "SDCERT_HOME", what, "the keys under draws/seeds", remedy) from None


def _seed_path(draw: str) -> Path:
    return Home.current().folder("draws", "seeds") / draw
