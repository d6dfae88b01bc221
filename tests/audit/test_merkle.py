"""The Merkle tree against the published vectors of Certificate Transparency and the recursive definition of RFC 6962."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.audit.ledger.merkle import (
    EMPTY_ROOT,
    CompactRange,
    compute_root,
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    verify_consistency,
    verify_inclusion,
)

CONTENTS = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
SECOND_LEAF = "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7"
THIRD_PAIR = "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e"
LAST_FOUR = "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"
FIFTH_LEAF = "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"
LAST_PAIR = "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0"
THIRD_OF_PAIRS = "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a"
PATHS = {  # (leaf counted from 0, size)
    (0, 1): [],
    (0, 8): [SECOND_LEAF, THIRD_PAIR, LAST_FOUR],
    (5, 8): [FIFTH_LEAF, LAST_PAIR, ROOTS[3]],
    (2, 3): [ROOTS[1]],
    (1, 5): [ROOTS[0], THIRD_PAIR, FIFTH_LEAF],
}
BEGINNINGS = {
    (1, 1): [],
    (1, 8): [SECOND_LEAF, THIRD_PAIR, LAST_FOUR],
    (6, 8): [THIRD_OF_PAIRS, LAST_PAIR, ROOTS[3]],
    (2, 5): [THIRD_PAIR, FIFTH_LEAF],
}
MOST = 70
LEAVES = [leaf_hash(bytes([n])) for n in range(MOST)]


def published(size: int) -> list[bytes]:
    return [leaf_hash(bytes.fromhex(content)) for content in CONTENTS[:size]]


def in_hex(path: list[bytes]) -> list[str]:
    return [step.hex() for step in path]


def root_by_definition(leaves: list[bytes]) -> bytes:
    """MTH of RFC 6962, 2.1, with the split found by counting up."""
    if len(leaves) < 2:
        return leaves[0] if leaves else hashlib.sha256().digest()
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    return hashlib.sha256(b"\x01" + root_by_definition(leaves[:k]) + root_by_definition(leaves[k:])).digest()


ALL_ROOTS = [root_by_definition(LEAVES[:size]) for size in range(MOST + 1)]


@pytest.mark.parametrize("size", range(1, 9))
def test_root_is_the_published_one(size):
    assert compute_root(published(size)).hex() == ROOTS[size - 1]


@pytest.mark.parametrize(("index", "size"), PATHS)
def test_inclusion_path_is_the_published_one(index, size):
    leaves = published(size)
    path = inclusion_proof(leaves, index)
    assert in_hex(path) == PATHS[index, size]
    assert verify_inclusion(leaves[index], index, size, path, bytes.fromhex(ROOTS[size - 1]))


@pytest.mark.parametrize(("first", "size"), BEGINNINGS)
def test_consistency_path_is_the_published_one(first, size):
    path = consistency_proof(published(size), first)
    assert in_hex(path) == BEGINNINGS[first, size]
    assert verify_consistency(first, bytes.fromhex(ROOTS[first - 1]), size, bytes.fromhex(ROOTS[size - 1]), path)


def test_the_empty_tree_is_the_hash_of_nothing():
    assert compute_root([]) == CompactRange().root() == EMPTY_ROOT == hashlib.sha256().digest()


def test_a_leaf_is_no_node():
    """Without the first byte, the concatenation of two hashes would be a leaf with the same root."""
    left, right = LEAVES[:2]
    assert compute_root([leaf_hash(left + right)]) != compute_root([left, right])


def test_appending_keeps_the_root_and_one_peak_for_each_one_in_the_size():
    tree = CompactRange()
    for size, leaf in enumerate(LEAVES, 1):
        tree = tree.append(leaf)
        assert tree.root() == ALL_ROOTS[size]
        assert len(tree.peaks) == size.bit_count()


def test_every_leaf_of_every_tree_has_a_proof_that_holds_for_it_alone():
    for size in range(1, MOST + 1):
        for index in range(size):
            path = inclusion_proof(LEAVES[:size], index)
            assert verify_inclusion(LEAVES[index], index, size, path, ALL_ROOTS[size])
            other = (index + 1) % size
            assert size == 1 or not verify_inclusion(LEAVES[other], index, size, path, ALL_ROOTS[size])
            assert size == 1 or not verify_inclusion(LEAVES[index], other, size, path, ALL_ROOTS[size])
            assert not verify_inclusion(LEAVES[index], index, size, [*path, LEAVES[0]], ALL_ROOTS[size])
            assert not path or not verify_inclusion(LEAVES[index], index, size, path[:-1], ALL_ROOTS[size])


def test_every_tree_is_shown_to_begin_with_every_smaller_one_and_with_no_other():
    for size in range(MOST + 1):
        for first in range(size + 1):
            path = consistency_proof(LEAVES[:size], first)
            assert verify_consistency(first, ALL_ROOTS[first], size, ALL_ROOTS[size], path)
            assert not verify_consistency(first, LEAVES[0][::-1], size, ALL_ROOTS[size], path)
            assert first == 0 or not verify_consistency(first, ALL_ROOTS[first], size, LEAVES[0][::-1], path)
            assert not verify_consistency(first, ALL_ROOTS[first], size, ALL_ROOTS[size], [*path, LEAVES[0]])
            assert not path or not verify_consistency(first, ALL_ROOTS[first], size, ALL_ROOTS[size], path[:-1])


@given(st.data())
def test_a_proof_with_one_bit_changed_holds_no_longer(data):
    size = data.draw(st.integers(2, MOST))
    index, first = data.draw(st.integers(0, size - 1)), data.draw(st.integers(1, size - 1))
    inclusion, beginning = inclusion_proof(LEAVES[:size], index), consistency_proof(LEAVES[:size], first)
    assert not verify_inclusion(LEAVES[index], index, size, one_bit_changed(inclusion, data), ALL_ROOTS[size])
    changed = one_bit_changed(beginning, data)
    assert not verify_consistency(first, ALL_ROOTS[first], size, ALL_ROOTS[size], changed)


def one_bit_changed(path: list[bytes], data: st.DataObject) -> list[bytes]:
    step, bit = data.draw(st.integers(0, len(path) - 1)), data.draw(st.integers(0, 255))
    changed = (int.from_bytes(path[step]) ^ (1 << bit)).to_bytes(32)
    return [*path[:step], changed, *path[step + 1 :]]


@given(st.integers(-5, 1 << 70), st.integers(-5, 1 << 70), st.lists(st.binary(min_size=32, max_size=32), max_size=80))
def test_arbitrary_numbers_and_hashes_prove_nothing_and_break_nothing(first, size, path):
    root = hashlib.sha256(b"another").digest()
    assert not verify_inclusion(LEAVES[0], first, size, path, root)
    assert not verify_consistency(first, LEAVES[0], size, root, path)


@pytest.mark.parametrize("index", [-1, 5])
def test_there_is_no_proof_of_a_leaf_that_is_not_there(index):
    with pytest.raises(IndexError):
        inclusion_proof(LEAVES[:5], index)
    with pytest.raises(IndexError):
        consistency_proof(LEAVES[:4], index)
