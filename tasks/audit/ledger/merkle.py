"""The Merkle tree of RFC 6962 over the lines of the ledger: one root for all of them, and short proofs about it.

A leaf is SHA-256 of 0x00 and the line, a node SHA-256 of 0x01 and its two children; the left child of a node over n leaves
holds the largest power of two below n. (`pymerkle`, the maintained library, is GPL and pins packages that we need newer.)
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

EMPTY_ROOT = hashlib.sha256(b"").digest()


def leaf_hash(content: bytes) -> bytes:
    """The hash of one leaf."""
    return hashlib.sha256(b"\x00" + content).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of a node over two others."""
    return hashlib.sha256(b"\x01" + left + right).digest()


@dataclass(frozen=True, slots=True)
class CompactRange:
    """A tree by the roots of its full subtrees, largest first: enough to append to it and to tell its root.

    peaks has one hash for every 1 in the binary form of size.
    """

    size: int = 0
    peaks: tuple[bytes, ...] = ()

    def append(self, leaf: bytes) -> CompactRange:
        """The tree with one leaf more. Cost: O(log n)."""
        peaks, merges = self.peaks, _trailing_ones(self.size)
        for _ in range(merges):
            leaf = node_hash(peaks[-1], leaf)
            peaks = peaks[:-1]
        return CompactRange(self.size + 1, (*peaks, leaf))

    def root(self) -> bytes:
        """The hash of the whole tree; of an empty one the hash of nothing."""
        if not self.peaks:
            return EMPTY_ROOT
        root = self.peaks[-1]
        for peak in reversed(self.peaks[:-1]):
            root = node_hash(peak, root)
        return root


def _trailing_ones(number: int) -> int:
    return (number ^ (number + 1)).bit_length() - 1


def compute_root(leaves: Sequence[bytes]) -> bytes:
    """The root over leaf hashes. Cost: O(n)."""
    tree = CompactRange()
    for leaf in leaves:
        tree = tree.append(leaf)
    return tree.root()


def inclusion_proof(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """The hashes that lead from leaf `index` to the root over all given leaf hashes (PATH of RFC 6962). Cost: O(n).

    Raises IndexError where there is no such leaf.
    """
    if not 0 <= index < len(leaves):
        raise IndexError(f"leaf {index} of {len(leaves)}")
    if len(leaves) == 1:
        return []
    split = _split(len(leaves))
    if index < split:
        return [*inclusion_proof(leaves[:split], index), compute_root(leaves[split:])]
    return [*inclusion_proof(leaves[split:], index - split), compute_root(leaves[:split])]


def consistency_proof(leaves: Sequence[bytes], size: int) -> list[bytes]:
    """The hashes that show that the tree over the first `size` leaves is the beginning of the one over all. Cost: O(n).

    Empty for size 0 and for all leaves. Raises IndexError where there are fewer leaves.
    """
    if not 0 <= size <= len(leaves):
        raise IndexError(f"the first {size} leaves of {len(leaves)}")
    return _subproof(leaves, size, known=True) if size else []


def _subproof(leaves: Sequence[bytes], size: int, *, known: bool) -> list[bytes]:
    """SUBPROOF of RFC 6962; known: the verifier has the root over the first `size` of these leaves already."""
    if size == len(leaves):
        return [] if known else [compute_root(leaves)]
    split = _split(len(leaves))
    if size <= split:
        return [*_subproof(leaves[:split], size, known=known), compute_root(leaves[split:])]
    return [*_subproof(leaves[split:], size - split, known=False), compute_root(leaves[:split])]


def _split(n: int) -> int:
    """The largest power of two below n."""
    return 1 << ((n - 1).bit_length() - 1)


def verify_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> bool:
    """Whether the path leads from the leaf at `index` to the root of a tree of `size` leaves (RFC 9162, 2.1.3.2)."""
    if not 0 <= index < size:
        return False
    here, last, reached = index, size - 1, leaf
    for hashed in path:
        if last == 0:
            return False
        if here & 1 or here == last:
            reached = node_hash(hashed, reached)
            here, last = _up_to_a_right_child(here, last)
        else:
            reached = node_hash(reached, hashed)
        here, last = here >> 1, last >> 1
    return last == 0 and reached == root


def verify_consistency(first_size: int, first_root: bytes, size: int, root: bytes, path: Sequence[bytes]) -> bool:
    """Whether the path shows that the tree of `first_size` leaves is the beginning of that of `size` (RFC 9162, 2.1.4.2)."""
    if not 0 <= first_size <= size:
        return False
    if first_size in (0, size):
        expected = EMPTY_ROOT if first_size == 0 else root
        return not path and first_root == expected
    hashes = [first_root, *path] if first_size & (first_size - 1) == 0 else list(path)
    return bool(hashes) and _two_roots(first_size - 1, size - 1, hashes) == (first_root, root)


def _two_roots(here: int, last: int, hashes: list[bytes]) -> tuple[bytes, bytes] | None:
    """The roots of the smaller and the larger tree that the hashes of a consistency proof lead to."""
    while here & 1:
        here, last = here >> 1, last >> 1
    smaller = larger = hashes[0]
    for hashed in hashes[1:]:
        if last == 0:
            return None
        if here & 1 or here == last:
            smaller, larger = node_hash(hashed, smaller), node_hash(hashed, larger)
            here, last = _up_to_a_right_child(here, last)
        else:
            larger = node_hash(larger, hashed)
        here, last = here >> 1, last >> 1
    return (smaller, larger) if last == 0 else None


def _up_to_a_right_child(here: int, last: int) -> tuple[int, int]:
    while here and not here & 1:
        here, last = here >> 1, last >> 1
    return here, last
