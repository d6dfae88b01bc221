"""The only maker of random generators.

A stream is named by a path (`("mask", source address, "0:rank_swapping", ...)`). Streams of different paths are independent,
so that adding an attack or a masking step moves no other number.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np

SEED_BYTES = 32


def stream(seed: bytes, *path: str) -> np.random.Generator:
    """The generator of one named stream.

    Parameters
    ----------
    seed: 32 secret bytes (ValueError otherwise). Somebody who has them can undo the masking.
    path: names from the general to the special; the order counts, and ("a", "bc") differs from ("ab", "c").

    PCG64 is not a cryptographic generator: an intruder who learns enough raw outputs could in principle reconstruct its state.
    """
    if len(seed) != SEED_BYTES:
        raise ValueError(f"a seed has {SEED_BYTES} bytes, not {len(seed)}")
    digest = hashlib.sha256(json.dumps(path).encode()).digest()
    words = tuple(int(word) for word in np.frombuffer(digest, dtype="<u4"))
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(int.from_bytes(seed, "big"), spawn_key=words)))
