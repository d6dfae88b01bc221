"""Canonical JSON: equal values have equal bytes, so that they can be hashed and signed."""

from __future__ import annotations

import json
from typing import Any


def canonical(value: Any) -> bytes:
    """Sorted keys, no blanks, UTF-8, no NaN.

    Raises ValueError for NaN and infinities, and for texts that UTF-8 cannot hold.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
