"""An envelope has one form: whatever differs from it by one bit, one blank or one field is refused."""

from __future__ import annotations

import base64
import json

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given, settings
from hypothesis import strategies as st
from securesystemslib.dsse import Envelope
from securesystemslib.signer import CryptoSigner, SSlibKey

from tasks.audit.signing import envelope as module
from tasks.audit.signing.envelope import (
    ENTRY_TYPE,
    STATEMENT_PAYLOAD_TYPE,
    NotAnEnvelope,
    NotSignedByGivenKeys,
    open_envelope,
    sign_envelope,
    verify_signature,
)
from tasks.microdata.canonical import canonical

# RFC 8032, section 7.1, test 1: keys for everybody to see
SECRET = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
PUBLIC = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
PRIVATE = Ed25519PrivateKey.from_private_bytes(SECRET)
KEY = SSlibKey.from_crypto(PRIVATE.public_key())
SIGNER = CryptoSigner(PRIVATE)
OTHER = CryptoSigner(Ed25519PrivateKey.from_private_bytes(bytes(32)))

texts = st.text(st.characters(codec="utf-8"), max_size=9)
numbers = st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def pae(payload_type: bytes, payload: bytes) -> bytes:
    """The bytes that DSSE signs, by hand from its specification."""
    return b" ".join([b"DSSEv1", str(len(payload_type)).encode(), payload_type, str(len(payload)).encode(), payload])


def by_hand(payload: bytes, payload_type: str = ENTRY_TYPE, **more: object) -> bytes:
    """An envelope of a payload as it is, with a good signature, made without securesystemslib."""
    signature = PRIVATE.sign(pae(payload_type.encode(), payload))
    one = {"keyid": KEY.keyid, "sig": base64.b64encode(signature).decode()}
    fields = {"payload": base64.b64encode(payload).decode(), "payloadType": payload_type, "signatures": [one], **more}
    return canonical(fields)


def is_refused(content: bytes) -> bool:
    try:
        verify_signature(open_envelope(content, ENTRY_TYPE), [KEY])
    except (NotAnEnvelope, NotSignedByGivenKeys):
        return True
    return False


def library_takes(content: bytes) -> bool:
    """What a bare DSSE verification says of it."""
    return KEY.keyid in Envelope.from_dict(json.loads(content)).verify([KEY], 1)


def test_by_hand():
    payload = b'{"a":1}'
    signature = base64.b64encode(PRIVATE.sign(b"DSSEv1 40 application/vnd.sdcert.ledger-entry+json 7 " + payload)).decode()
    expected = (
        '{"payload":"eyJhIjoxfQ==","payloadType":"application/vnd.sdcert.ledger-entry+json",'
        f'"signatures":[{{"keyid":"{KEY.keyid}","sig":"{signature}"}}]}}'
    )
    assert sign_envelope({"a": 1}, ENTRY_TYPE, SIGNER) == expected.encode() == by_hand(payload)


@given(json_values)
def test_what_was_signed_is_opened(value):
    envelope = open_envelope(sign_envelope(value, ENTRY_TYPE, SIGNER), ENTRY_TYPE)
    assert canonical(envelope.value) == canonical(value) == envelope.payload
    assert (envelope.key_id, verify_signature(envelope, [KEY]).keyid) == (KEY.keyid, KEY.keyid)


@given(json_values)
def test_anybody_can_check_a_seal_with_bare_cryptography(value):
    fields = json.loads(sign_envelope(value, STATEMENT_PAYLOAD_TYPE, SIGNER))
    signed = pae(fields["payloadType"].encode(), base64.b64decode(fields["payload"], validate=True))
    Ed25519PublicKey.from_public_bytes(PUBLIC).verify(base64.b64decode(fields["signatures"][0]["sig"]), signed)
    with pytest.raises(InvalidSignature):
        Ed25519PublicKey.from_public_bytes(PUBLIC).verify(base64.b64decode(fields["signatures"][0]["sig"]), signed + b" ")


def test_every_single_bit_counts():
    content = sign_envelope({"a": 1, "ü": [None, "x"]}, ENTRY_TYPE, SIGNER)
    flipped = (
        content[:i] + bytes([content[i] ^ (1 << bit)]) + content[i + 1 :] for i in range(len(content)) for bit in range(8)
    )
    assert not is_refused(content)
    assert all(is_refused(changed) for changed in flipped)


@settings(max_examples=150)
@given(json_values, st.data())
def test_any_changed_byte_is_refused(value, data):
    content = sign_envelope(value, ENTRY_TYPE, SIGNER)
    place = data.draw(st.integers(0, len(content) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != content[place]))
    assert is_refused(content[:place] + bytes([byte]) + content[place + 1 :])
    assert is_refused(content[:place] + content[place + 1 :])
    assert is_refused(content[:place] + bytes([byte]) + content[place:])


def changed(change: str) -> bytes:
    content = sign_envelope({"a": 1}, ENTRY_TYPE, SIGNER)
    fields = json.loads(content)
    one = fields["signatures"][0]
    match change:
        case "spare bits":
            return content.replace(b'"eyJhIjoxfQ=="', b'"eyJhIjoxfR=="')
        case "blank":
            return content.replace(b":[", b": [")
        case "line break at the end":
            return content + b"\n"
        case "extra field":
            return canonical({**fields, "zzz": 1})
        case "extra field of the signature":
            return canonical({**fields, "signatures": [{**one, "zzz": 1}]})
        case "order":
            return json.dumps(dict(reversed(fields.items())), separators=(",", ":")).encode()
        case "key twice":
            return content[:-1] + b',"payloadType":"' + ENTRY_TYPE.encode() + b'"}'
        case "escape":
            return content.replace(b'"payload"', b'"\\u0070ayload"')
        case "padding left out":
            return content.replace(b"fQ==", b"fQ")
    raise AssertionError(change)


@pytest.mark.parametrize(
    "change",
    ["spare bits", "blank", "line break at the end", "extra field", "extra field of the signature", "order", "key twice",
     "escape"],
)  # fmt: skip
def test_what_bare_dsse_lets_pass_is_refused(change):
    content = changed(change)
    assert library_takes(content)
    assert is_refused(content)


def test_padding_left_out_is_refused():
    assert is_refused(changed("padding left out"))


@pytest.mark.parametrize("signatures", [[], ["own", "own"], ["own", "other"], ["other"]])
def test_one_signature_of_a_given_key(signatures):
    envelope = Envelope(b'{"a":1}', ENTRY_TYPE, {})
    by = {"own": SIGNER, "other": OTHER}
    all_signed = [by[who].sign(envelope.pae()) for who in signatures]
    listed = [{"keyid": one.keyid, "sig": base64.b64encode(bytes.fromhex(one.signature)).decode()} for one in all_signed]
    fields = {"payload": "eyJhIjoxfQ==", "payloadType": ENTRY_TYPE, "signatures": listed}
    assert is_refused(canonical(fields))


@pytest.mark.parametrize(
    "payload", [b'{"a": 1}', b'{"b":1,"a":1}', b'{"a":1,"a":1}', b"{", b"\xff", b'"\\ud800"', b"NaN", b"1e400"]
)
def test_what_is_signed_must_be_canonical(payload):
    content = by_hand(payload)
    assert library_takes(content)
    with pytest.raises(NotAnEnvelope, match="not canonical JSON"):
        open_envelope(content, ENTRY_TYPE)


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[]", b"null", b"1", b'"x"', b"\xff\xfe", b"{", b"[" * 100_000,
     b'{"payload":1,"payloadType":"x","signatures":[]}', b'{"payload":"","payloadType":"x","signatures":{}}',
     b'{"payload":"","payloadType":"x","signatures":[1]}'],
    ids=lambda content: content[:12].decode(errors="replace"),
)  # fmt: skip
def test_anything_else_is_no_envelope(content):
    with pytest.raises(NotAnEnvelope):
        open_envelope(content, ENTRY_TYPE)


def test_an_envelope_of_another_type_is_not_opened():
    with pytest.raises(NotAnEnvelope, match="another type"):
        open_envelope(sign_envelope({"a": 1}, STATEMENT_PAYLOAD_TYPE, SIGNER), ENTRY_TYPE)


def test_the_type_is_signed_too():
    content = sign_envelope({"a": 1}, STATEMENT_PAYLOAD_TYPE, SIGNER).replace(
        STATEMENT_PAYLOAD_TYPE.encode(), ENTRY_TYPE.encode()
    )
    with pytest.raises(NotSignedByGivenKeys):
        verify_signature(open_envelope(content, ENTRY_TYPE), [KEY])


def test_a_signature_of_another_key_under_this_name_is_bad():
    content = sign_envelope({"a": 1}, ENTRY_TYPE, OTHER).replace(OTHER.public_key.keyid.encode(), KEY.keyid.encode())
    with pytest.raises(NotSignedByGivenKeys):
        verify_signature(open_envelope(content, ENTRY_TYPE), [KEY])


def test_no_key_no_trust():
    with pytest.raises(NotSignedByGivenKeys):
        verify_signature(open_envelope(sign_envelope({"a": 1}, ENTRY_TYPE, SIGNER), ENTRY_TYPE), [])


def test_what_is_too_large_is_neither_signed_nor_opened(monkeypatch):
    content = sign_envelope({"a": "x" * 1000}, ENTRY_TYPE, SIGNER)
    monkeypatch.setattr(module, "LARGEST_BYTES", len(content))
    assert open_envelope(content, ENTRY_TYPE).value == {"a": "x" * 1000}
    monkeypatch.setattr(module, "LARGEST_BYTES", len(content) - 1)
    with pytest.raises(NotAnEnvelope, match="at most"):
        open_envelope(content, ENTRY_TYPE)
    with pytest.raises(ValueError, match="at most"):
        sign_envelope({"a": "x" * 1000}, ENTRY_TYPE, SIGNER)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": "\ud800"}])
def test_what_has_no_canonical_form_is_not_signed(value):
    with pytest.raises(ValueError, match=r"."):
        sign_envelope(value, ENTRY_TYPE, SIGNER)


def test_a_refusal_tells_nothing_of_the_content():
    with pytest.raises(NotAnEnvelope) as refused:
        open_envelope(by_hand(b'{"secret": "canary"}'), ENTRY_TYPE)
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize("key_id", [5, 1.5, None, True])
def test_a_key_has_its_id_as_a_text(key_id):
    content = json.loads(sign_envelope({"a": 1}, ENTRY_TYPE, SIGNER))
    content["signatures"][0]["keyid"] = key_id
    with pytest.raises(NotAnEnvelope):
        open_envelope(canonical(content), ENTRY_TYPE)
