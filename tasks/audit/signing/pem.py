"""Private keys as text (PEM): opened, and written, with or without a passphrase. No message here holds anything of a key.

A passphrase is turned into the key of a PKCS8 file by PBKDF2 with 2,048 rounds, the library's only choice: who has the file
tries more than a thousand passphrases a second on one core. It must be long. A file that was locked harder elsewhere opens as
well (`openssl pkcs8 -topk8 -scrypt`).
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Callable
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from securesystemslib.signer import SSlibKey

from tasks.microdata.errors import InputError

PEM_VARIABLE = "SDCERT_SIGNING_KEY"
PASSPHRASE_VARIABLE = "SDCERT_KEY_PASSPHRASE"  # noqa: S105  # the name of a variable
SHORTEST_PASSPHRASE = 12
OTHERS = stat.S_IRWXG | stat.S_IRWXO

Ask = Callable[[str], str]  # shows a question, returns a passphrase

_opened: dict[bytes, Ed25519PrivateKey] = {}  # by the text: nobody is asked twice for a passphrase in one process


def opened_file(path: Path, ask: Ask | None = None) -> Ed25519PrivateKey:
    """Raises InputError: missing, open to others, locked, damaged, of another kind."""
    return _opened_text(_private_content(path), str(path), ask)


def opened_environment(ask: Ask | None = None) -> Ed25519PrivateKey | None:
    """The private key in SDCERT_SIGNING_KEY, if that is set. Raises InputError: locked, damaged, of another kind."""
    text = os.environ.get(PEM_VARIABLE)
    return _opened_text(text.encode(), PEM_VARIABLE, ask) if text else None


def written(private: Ed25519PrivateKey, passphrase: str | None) -> bytes:
    """The text of a key. This process opens it from now on without being asked."""
    lock = BestAvailableEncryption(passphrase.encode()) if passphrase else NoEncryption()
    content = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock)
    _opened[content] = private
    return content


def has_passphrase(content: bytes) -> bool:
    return b"ENCRYPTED" in content


def public_pem(private: Ed25519PrivateKey) -> str:
    return private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def id_of(private: Ed25519PrivateKey) -> str:
    return SSlibKey.from_crypto(private.public_key()).keyid


def chosen_passphrase(ask: Ask | None = None) -> str | None:
    """The passphrase for a new key: from `ask`, else from the environment, else none. Raises InputError: too short."""
    passphrase = ask("passphrase of the new key") if ask else os.environ.get(PASSPHRASE_VARIABLE) or None
    if passphrase is not None and len(passphrase) < SHORTEST_PASSPHRASE:
        what = f"the passphrase is too short: it has {len(passphrase)} characters"
        allowed = f"at least {SHORTEST_PASSPHRASE} characters: who gets hold of the file can try very many"
        raise InputError(
            "short-passphrase", "the passphrase of the new key", what, allowed, "take some words that nobody guesses"
        )
    return passphrase


def _private_content(path: Path) -> bytes:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & OTHERS:
            what, remedy = "the private key can be read or changed by others", f"chmod 400 {shlex.quote(str(path))}"
            allowed = "readable by its owner alone (0400); if others may have read it, revoke it (`sdcert keys revoke`)"
            raise InputError("open-key", str(path), what, allowed, remedy, f"{mode:04o}")
        return path.read_bytes()
    except FileNotFoundError:
        what = "the private key is not here"
        remedy = f"restore it from a backup of the private folder, or set {PEM_VARIABLE} to its PEM text"
    except OSError as error:
        what, remedy = f"the private key cannot be read ({error.strerror})", "mend that, or restore it from a backup"
    raise InputError("no-private-key", str(path), what, "a private key that its owner can read", remedy)


def _opened_text(content: bytes, where: str, ask: Ask | None) -> Ed25519PrivateKey:
    if content not in _opened:
        _opened[content] = _read(content, where, ask)
    return _opened[content]


def _read(content: bytes, where: str, ask: Ask | None) -> Ed25519PrivateKey:
    """Open a key with the passphrase in the environment; where that is not it, or not set, with the one that `ask` returns."""
    locked = has_passphrase(content)
    passphrase = os.environ.get(PASSPHRASE_VARIABLE) if locked else None
    if not locked or (passphrase and ask is None):
        return _loaded(content, passphrase, where)
    if ask is None:
        raise _locked(where)
    try:
        return _loaded(content, passphrase or ask(_question(where)), where)
    except InputError:
        if not passphrase:
            raise
        return _loaded(content, ask(_question(where)), where)


def _question(where: str) -> str:
    return f"passphrase of {where if where == PEM_VARIABLE else f'key {Path(where).stem[:16]}'}"


def _loaded(content: bytes, passphrase: str | None, where: str) -> Ed25519PrivateKey:
    try:
        private = load_pem_private_key(content, passphrase.encode() if passphrase else None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise _does_not_open(where, was_locked=passphrase is not None) from None
    if not isinstance(private, Ed25519PrivateKey):
        what, remedy = "this is a private key of another kind", "make one with `sdcert keys create`"
        raise InputError("other-kind-of-key", where, what, "an Ed25519 key (PKCS8, PEM)", remedy)
    return private


def _locked(where: str) -> InputError:
    what, allowed = (
        "the private key is locked with a passphrase, and none was given",
        f"its passphrase in {PASSPHRASE_VARIABLE}",
    )
    remedy = f"set {PASSPHRASE_VARIABLE}, or run this on a terminal and be asked"
    return InputError("no-passphrase", where, what, allowed, remedy)


def _does_not_open(where: str, *, was_locked: bool) -> InputError:
    if was_locked:
        what = "the private key does not open: this is another passphrase, or the file is damaged"
        allowed, remedy = "the passphrase it was made with", "try again; if it is the right one, restore the file from a backup"
        return InputError("wrong-passphrase", where, what, allowed, remedy)
    remedy = "restore it from a backup; a key that was made elsewhere is written as PKCS8 by `openssl pkey -in FILE`"
    return InputError("damaged-key", where, "this is no private key that can be read", "an Ed25519 key (PKCS8, PEM)", remedy)
