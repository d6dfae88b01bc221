"""Signed envelopes (DSSE): one form to write, every other refused; `verify_signature` checks the signature apart.

DSSE signs the payload, not the envelope: base64 with spare bits, blanks and extra fields change a file and leave its signature
good. Here an envelope has exactly one form, and so has the JSON inside; everything else is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tasks.audit.signing.library import Envelope, Key, Signer, UnverifiedSignatureError, VerificationError
from tasks.microdata.canonical import canonical

LARGEST_BYTES = 16 << 20  # a certificate of 10,000 attributes has about 4 MB
STATEMENT_PAYLOAD_TYPE = "application/vnd.in-toto+json"
ENTRY_TYPE = "application/vnd.sdcert.ledger-entry+json"
TREE_HEAD_TYPE = "application/vnd.sdcert.tree-head+json"
TRUST_TYPE = "application/vnd.sdcert.trust+json"


class NotAnEnvelope(Exception):
    """The bytes are not an envelope in its one form; the text says why and holds nothing of the bytes."""


class NotSignedByGivenKeys(Exception):
    """No given key signed this."""


@dataclass(frozen=True, slots=True)
class SignedEnvelope:
    """What an envelope holds, before its signature is checked. key_id: the key that it says it was signed with."""

    payload_type: str
    payload: bytes
    value: Any
    key_id: str
    dsse: Envelope


def sign_envelope(value: Any, payload_type: str, signer: Signer) -> bytes:
    """Sign a JSON value; returns the envelope in its one form.

    Raises ValueError where the value has no canonical JSON, or the envelope would be larger than `open_envelope` takes.
    """
    dsse = Envelope(canonical(value), payload_type, {})
    dsse.sign(signer)
    content = canonical(dsse.to_dict())
    if len(content) > LARGEST_BYTES:
        raise ValueError(f"an envelope of {len(content):,} bytes; at most {LARGEST_BYTES:,}")
    return content


def open_envelope(content: bytes, payload_type: str) -> SignedEnvelope:
    """Read an envelope. Says nothing of its signature: ask `verify_signature`.

    Raises NotAnEnvelope unless the bytes are the canonical form of an envelope of this type with one signature over canonical
    JSON.
    """
    if len(content) > LARGEST_BYTES:
        raise NotAnEnvelope(f"it has {len(content):,} bytes; an envelope has at most {LARGEST_BYTES:,}")
    try:
        fields = json.loads(content)
        dsse = Envelope.from_dict(json.loads(content))
        ((key_id, signature),) = dsse.signatures.items()
        same = canonical(fields) == content and canonical(dsse.to_dict()) == content and not signature.unrecognized_fields
        same = same and isinstance(key_id, str)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise NotAnEnvelope("it is not a signed envelope (DSSE) with one signature") from None
    if not same:
        raise NotAnEnvelope("it is not byte for byte as it was written: blanks, order, spare bits or fields were changed")
    if dsse.payload_type != payload_type:
        raise NotAnEnvelope("it is an envelope of another type")
    return SignedEnvelope(payload_type, dsse.payload, _parse_value(dsse.payload), key_id, dsse)


def verify_signature(envelope: SignedEnvelope, keys: Iterable[Key]) -> Key:
    """The key that signed; raises BadSignature where none of the given ones did."""
    candidates = [key for key in keys if key.keyid == envelope.key_id]
    try:
        accepted = envelope.dsse.verify(candidates, threshold=1)
    except (ValueError, VerificationError, UnverifiedSignatureError):
        raise NotSignedByGivenKeys(envelope.key_id) from None
    return accepted[envelope.key_id]


def _parse_value(payload: bytes) -> Any:
    try:
        value = json.loads(payload)
        if canonical(value) == payload:
            return value
    except (ValueError, RecursionError):
        pass
    raise NotAnEnvelope("what it holds is not canonical JSON")
