"""Witnesses and proofs: what they show to somebody without the ledger, and that nothing else passes for one."""

import json
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ledgers import NOON, began, changed, filled, forge_head, new_key, short, trusting

from tasks.audit.ledger.ledger import Ledger
from tasks.audit.ledger.ledger_verification import verify_ledger
from tasks.audit.ledger.merkle import compute_root, hash_leaf, verify_consistency, verify_inclusion
from tasks.audit.ledger.proofs import InclusionProof, check_proof, prove_entry, prove_since, read_proof, serialise_proof
from tasks.audit.ledger.witness import create_witness, open_tree_head, read_witness
from tasks.audit.signing.envelope import STATEMENT_PAYLOAD_TYPE, TREE_HEAD_TYPE, sign_envelope
from tasks.audit.signing.keyring import Keyring, KnownKey
from tasks.microdata.errors import InputError

KEY, OTHER = new_key(), new_key()
ENTRIES = 7


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    made = filled(tmp_path_factory.mktemp("witnessed") / "ledger", KEY, 4)
    for run in ("20261121-one", "20261121-two"):
        made.append(began(run), KEY)
    made.append(short(6), KEY)
    return made


@pytest.fixture
def saved(tmp_path):
    def save(content: bytes, name: str = "witness.json"):
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    return save


def certificate(of: Ledger, size: int, entry: int, key=KEY, **other: object) -> bytes:
    leaves = [line.leaf for line in of.lines()]
    recorded = {
        "ledger": of.head().ledger,
        "attempt_entry": entry,
        "attempt_digest": leaves[entry].hex(),
        "tree_size": size,
        "root": compute_root(leaves[:size]).hex(),
    }
    return sign_envelope({"_type": "x", "predicate": {"recorded": recorded | other}}, STATEMENT_PAYLOAD_TYPE, key.signer)


def says(ledger: Ledger, witness) -> list[str]:
    return [finding.says for finding in verify_ledger(ledger, trusting(KEY), [witness]).findings]


def test_a_witness_is_size_and_root_signed(ledger):
    head, envelope = open_tree_head(create_witness(ledger, KEY, NOON))
    leaves = [hash_leaf(line) for line in ledger.path.read_bytes().splitlines()]
    assert (head.size, head.root, head.at) == (ENTRIES, compute_root(leaves).hex(), NOON)
    assert set(envelope.value) == {"ledger", "size", "root", "at"}


@pytest.mark.parametrize("size", range(1, ENTRIES + 1))
def test_a_witness_of_any_size_holds(ledger, saved, size):
    head = {"ledger": ledger.head().ledger, "at": "2026-11-21T12:00:00Z", "size": size}
    head["root"] = compute_root([line.leaf for line in ledger.lines()][:size]).hex()
    right = read_witness(saved(sign_envelope(head, TREE_HEAD_TYPE, KEY.signer) + b"\n"))
    wrong = read_witness(saved(sign_envelope(head | {"size": size + 1}, TREE_HEAD_TYPE, KEY.signer)))
    assert says(ledger, right) == []
    assert len(says(ledger, wrong)) == 1


def test_a_certificate_is_a_witness_of_what_was_before_its_masking(ledger, saved):
    assert says(ledger, read_witness(saved(certificate(ledger, 5, 4)))) == []
    cases = {
        "is not the attempt": certificate(ledger, 5, 4, attempt_digest="0" * 64),
        "not those that it saw": certificate(ledger, 5, 4, root="0" * 64),
        "missing at the end": certificate(ledger, 5, 4, tree_size=99),
        "another ledger": certificate(ledger, 5, 4, ledger="0" * 32),
        "no key of this ledger": certificate(ledger, 5, 4, OTHER),
    }
    for said, content in cases.items():
        found = says(ledger, read_witness(saved(content, "certificate.json")))
        assert len(found) == 1
        assert said in found[0]
        assert found[0].startswith("certificate.json: ")


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff", b"{}", b"[" * 5_000, sign_envelope({}, TREE_HEAD_TYPE, KEY.signer),
     sign_envelope([], STATEMENT_PAYLOAD_TYPE, KEY.signer),
     sign_envelope({"predicate": {"recorded": 5}}, STATEMENT_PAYLOAD_TYPE, KEY.signer),
     sign_envelope({"predicate": []}, STATEMENT_PAYLOAD_TYPE, KEY.signer)],
)  # fmt: skip
def test_what_is_no_witness_is_refused(saved, content):
    with pytest.raises(InputError) as caught:
        read_witness(saved(content))
    assert caught.value.code == "not-a-witness"


def test_a_witness_that_cannot_be_read_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(InputError) as caught:
            read_witness(path)
        assert caught.value.code == "unreadable-file"


def test_a_damaged_ledger_gets_no_witness(ledger, tmp_path):
    copy = filled(tmp_path / "ledger", KEY, 5)
    content = bytearray(copy.path.read_bytes())
    content[200] ^= 1
    copy.path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        create_witness(copy, KEY)
    assert caught.value.code == "ledger-damaged"


@pytest.mark.parametrize("index", range(ENTRIES))
def test_every_entry_can_be_proved(ledger, index):
    proof, found = prove_entry(ledger, str(index), KEY)
    line, head = proof.entry.encode(), json.loads(open_tree_head(proof.head.encode())[1].payload)
    path = [bytes.fromhex(step) for step in proof.path]
    assert found == index
    assert verify_inclusion(hash_leaf(line), index, ENTRIES, path, bytes.fromhex(head["root"]))
    checked = check_proof(proof, trusting(KEY))
    assert (checked.faults, checked.entry.index, checked.head.size) == ((), index, ENTRIES)


def test_a_run_is_proved_by_its_last_entry_and_named_by_its_beginning(ledger):
    assert prove_entry(ledger, "20261121-t", KEY)[1] == 5
    for which, said in (("20261121", "several"), ("nothing", "no such"), ("99", "no such"), ('a"', "no such")):
        with pytest.raises(InputError) as caught:
            prove_entry(ledger, which, KEY)
        assert said in caught.value.what


def test_what_a_witness_saw_is_proved_to_be_the_beginning(tmp_path, saved):
    ledger = filled(tmp_path / "ledger", KEY, 3)
    witness = saved(create_witness(ledger, KEY) + b"\n")
    for n in range(3, 9):
        proof, size = prove_since(ledger, witness, KEY)
        checked = check_proof(proof, trusting(KEY))
        assert (checked.faults, checked.first.size, checked.head.size, size) == ((), 3, n, 3)
        ledger.append(short(n), KEY)
    first, now = (bytes.fromhex(head.root) for head in (checked.first, checked.head))
    assert verify_consistency(3, first, 8, now, [bytes.fromhex(step) for step in proof.path])
    ledger.path.write_bytes(b"".join(ledger.path.read_bytes().splitlines(keepends=True)[:2]))
    forge_head(ledger)
    for _ in range(2):
        with pytest.raises(InputError) as caught:
            prove_since(ledger, witness, KEY)
        assert caught.value.code == "no-proof"
        ledger.append(short(77), KEY)


def test_a_proof_is_checked_by_the_keys_that_are_given(ledger):
    proof, _ = prove_entry(ledger, "3", KEY)
    assert len(check_proof(proof, trusting(OTHER)).faults) == 2
    known = trusting(KEY).keys[0]
    retired = Keyring((KnownKey(known.claim, known.key, retired_at=NOON - timedelta(days=9_000)),))
    assert "retired" in check_proof(proof, retired).faults[0]


def test_an_older_key_may_have_signed_the_entry(tmp_path):
    ledger = filled(tmp_path / "ledger", KEY, 3)
    ledger.append(changed("created", OTHER), KEY)
    proof, _ = prove_entry(ledger, "1", OTHER)
    assert check_proof(proof, trusting(KEY, OTHER)).faults == ()
    assert check_proof(proof, trusting(OTHER)).faults[0].startswith("the entry: ")


def test_parts_of_two_proofs_do_not_make_one(ledger, tmp_path):
    third, _ = prove_entry(ledger, "3", KEY)
    fourth, _ = prove_entry(ledger, "4", KEY)
    elsewhere, _ = prove_entry(filled(tmp_path / "other", KEY, ENTRIES), "3", KEY)
    for entry, path, head in (
        (third, fourth, third),
        (fourth, third, third),
        (elsewhere, third, third),
        (third, third, elsewhere),
    ):
        mixed = InclusionProof(entry=entry.entry, path=path.path, head=head.head)
        assert check_proof(mixed, trusting(KEY)).faults


@given(data=st.data())
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_proof_with_one_byte_changed_is_none(ledger, saved, data):
    content = serialise_proof(prove_entry(ledger, "2", KEY)[0])
    byte, value = data.draw(st.integers(0, len(content) - 1)), data.draw(st.integers(0, 255))
    path = saved(content[:byte] + bytes([value]) + content[byte + 1 :], "proof.json")
    assert holds(path) == (value == content[byte])


@pytest.mark.slow
def test_every_byte_of_a_proof_is_watched(tmp_path, saved):
    ledger = filled(tmp_path / "ledger", KEY, 3)
    witness = saved(create_witness(ledger, KEY))
    ledger.append(short(3), KEY)
    for proof in (prove_entry(ledger, "1", KEY)[0], prove_since(ledger, witness, KEY)[0]):
        content = serialise_proof(proof)
        for byte, value in enumerate(content):
            path = saved(content[:byte] + bytes([value ^ 1 << byte % 7]) + content[byte + 1 :], "proof.json")
            assert not holds(path), byte


def holds(path) -> bool:
    try:
        return not check_proof(read_proof(path), trusting(KEY)).faults
    except InputError as error:
        assert error.code == "not-a-proof"
        return False
