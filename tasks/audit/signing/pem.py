"""Read and write private keys as text (PEM), with or without a passphrase. No message here holds anything of a key.

A passphrase is turned into the key of a PKCS8 file by PBKDF2 with 2,048 rounds, the library's only choice: who has the file
tries more than a thousand passphrases a second on one core. It must be long. A file that was locked harder elsewhere opens as
well (`openssl pkcs8 -topk8 -scrypt`).
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Callable
from dataclasses import dataclass
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

from tasks.audit.ledger.entries import KeyClaim, KeyPurpose
from tasks.audit.signing.library import SSlibKey
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import LARGEST_NOTE, read_file

PEM_VARIABLE = "SDCERT_SIGNING_KEY"
PASSPHRASE_VARIABLE = "SDCERT_KEY_PASSPHRASE"  # noqa: S105  # the name of a variable
APPROVAL_VARIABLE = "SDCERT_APPROVAL_PASSPHRASE"  # of keys for approvals; where it is not set, the other one
SHORTEST_PASSPHRASE = 12
OTHERS = stat.S_IRWXG | stat.S_IRWXO

AskPassphrase = Callable[[str], str]  # shows a question, returns a passphrase


@dataclass(frozen=True, slots=True)
class _Whose:
    """Which key is opened: told where a passphrase is asked for, or is another one."""

    purpose: KeyPurpose
    name: str

    def __str__(self) -> str:
        return f"the key for {self.purpose} ({self.name})"


_opened: dict[bytes, Ed25519PrivateKey] = {}  # by the text: nobody is asked twice for a passphrase in one process


def open_key_file(path: Path, claim: KeyClaim, ask: AskPassphrase | None = None) -> Ed25519PrivateKey:
    """claim: whose key it should be. Raises InputError: missing, open to others, locked, damaged, of another kind."""
    return _open_key_text(_read_private_content(path), str(path), _Whose(claim.purpose, _describe_key(claim)), ask)


def open_environment_key(ask: AskPassphrase | None = None) -> Ed25519PrivateKey | None:
    """The private key in SDCERT_SIGNING_KEY, if that is set. Raises InputError: locked, damaged, of another kind."""
    text = os.environ.get(PEM_VARIABLE)
    return _open_key_text(text.encode(), PEM_VARIABLE, _Whose("certificates", PEM_VARIABLE), ask) if text else None


def serialise_private_key(private: Ed25519PrivateKey, passphrase: str | None) -> bytes:
    """The text of a key. This process opens it from now on without being asked."""
    lock = BestAvailableEncryption(passphrase.encode()) if passphrase else NoEncryption()
    content = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock)
    _opened[content] = private
    return content


def has_passphrase(content: bytes) -> bool:
    return b"ENCRYPTED" in content


def write_public_pem(private: Ed25519PrivateKey) -> str:
    return private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def compute_key_id(private: Ed25519PrivateKey) -> str:
    return SSlibKey.from_crypto(private.public_key()).keyid


def read_passphrase(purpose: KeyPurpose) -> str | None:
    """The passphrase that the environment has for keys of this purpose."""
    names = (APPROVAL_VARIABLE, PASSPHRASE_VARIABLE) if purpose == "approvals" else (PASSPHRASE_VARIABLE,)
    return next((given for name in names if (given := os.environ.get(name))), None)


def name_passphrase_variable(purpose: KeyPurpose) -> str:
    """The environment variable for the passphrase of keys of this purpose."""
    return APPROVAL_VARIABLE if purpose == "approvals" else PASSPHRASE_VARIABLE


def choose_passphrase(ask: AskPassphrase | None = None, *, purpose: KeyPurpose = "certificates") -> str | None:
    """The passphrase for a new key: from `ask`, else from the environment, else none. Raises InputError: too short."""
    passphrase = ask("passphrase of the new key") if ask else read_passphrase(purpose)
    if passphrase is not None and len(passphrase) < SHORTEST_PASSPHRASE:
        what = f"the passphrase is too short: it has {len(passphrase)} characters"
        allowed = f"at least {SHORTEST_PASSPHRASE} characters: who gets hold of the file can try very many"
        raise InputError(
            "short-passphrase", "the passphrase of the new key", what, allowed, "take some words that nobody guesses"
        )
    return passphrase


def _describe_key(claim: KeyClaim) -> str:
    """What a key is called, harmless on a terminal, and the beginning of its id."""
    key = f"key {claim.key_id[:16]}"
    return key if claim.name == key else f"{ascii(claim.name) if not claim.name.isprintable() else claim.name}, {key}"


def _read_private_content(path: Path) -> bytes:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & OTHERS:
            what, remedy = "the private key can be read or changed by others", f"chmod 400 {shlex.quote(str(path))}"
            allowed = "readable by its owner alone (0400); if others may have read it, revoke it (`sdcert keys revoke`)"
            raise InputError("open-key", str(path), what, allowed, remedy, f"{mode:04o}")
        return read_file(path, LARGEST_NOTE)
    except FileNotFoundError:
        what = "the private key is not here"
        remedy = f"restore it from a backup of the private folder, or set {PEM_VARIABLE} to its PEM text"
    except OSError as error:
        what, remedy = f"the private key cannot be read ({error.strerror})", "mend that, or restore it from a backup"
    raise InputError("no-private-key", str(path), what, "a private key that its owner can read", remedy)


def _open_key_text(content: bytes, where: str, whose: _Whose, ask: AskPassphrase | None) -> Ed25519PrivateKey:
    if content not in _opened:
        _opened[content] = _read(content, where, whose, ask)
    return _opened[content]


def _read(content: bytes, where: str, whose: _Whose, ask: AskPassphrase | None) -> Ed25519PrivateKey:
    """Open a key with the passphrase in the environment; where that is not it, or not set, with the one that `ask` returns."""
    locked = has_passphrase(content)
    passphrase = read_passphrase(whose.purpose) if locked else None
    if not locked or (passphrase and ask is None):
        return _load_private_key(content, passphrase, where, whose)
    if ask is None:
        raise _create_locked_error(where, whose)
    question = f"passphrase of {whose}"
    try:
        return _load_private_key(content, passphrase or ask(question), where, whose)
    except InputError:
        if not passphrase:
            raise
        return _load_private_key(content, ask(question), where, whose)


def _load_private_key(content: bytes, passphrase: str | None, where: str, whose: _Whose) -> Ed25519PrivateKey:
    try:
        private = load_pem_private_key(content, passphrase.encode() if passphrase else None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise _does_not_open(where, whose, was_locked=passphrase is not None) from None
    if not isinstance(private, Ed25519PrivateKey):
        what, remedy = "this is a private key of another kind", "make one with `sdcert keys create`"
        raise InputError("other-kind-of-key", where, what, "an Ed25519 key (PKCS8, PEM)", remedy)
    return private


def _create_locked_error(where: str, whose: _Whose) -> InputError:
    what = f"{whose} is locked with a passphrase, and none was given"
    variable = name_passphrase_variable(whose.purpose)
    remedy = f"set {variable}, or run this on a terminal and be asked"
    return InputError("no-passphrase", where, what, f"its passphrase in {variable}", remedy)


def _does_not_open(where: str, whose: _Whose, *, was_locked: bool) -> InputError:
    if was_locked:
        what = f"{whose} does not open: this is another passphrase, or the file is damaged"
        allowed = f"the passphrase it was made with (typed, or in {name_passphrase_variable(whose.purpose)})"
        remedy = "try again; if it is the right one, restore the file from a backup"
        return InputError("wrong-passphrase", where, what, allowed, remedy)
    remedy = "restore it from a backup; a key that was made elsewhere is written as PKCS8 by `openssl pkey -in FILE`"
    return InputError("damaged-key", where, "this is no private key that can be read", "an Ed25519 key (PKCS8, PEM)", remedy)
