"""Random numbers that belong to a person and a value: the same person shows the same mask as long as the value stays.

An ordinary draw belongs to a version of the source, so an intruder who holds several releases averages the noise. Here a number
follows from (secret of the series, person, attribute, value) by HMAC-SHA-256, so it is the same in every release, whoever else
is in the table, and a changed value is drawn independently. Where the scale of the noise or the matrix changed, two draws from
the same number would give the value away; so these are those of the first release (`tasks/mask/personal_laws.py`).

HMAC stands in place of a generator for each person: a generator is set up in about 20 microseconds, an HMAC takes one, and its
output is cryptographic. Source: RFC 2104.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from tasks.microdata.table import Floats, Microdata, write_plain_texts
from tasks.microdata.words import join_with_and

_BITS = 53  # of a float64 between 0 and 1


def draw_personal_uniforms(secret: bytes, purpose: Sequence[str], persons: Sequence[str], values: Sequence[str]) -> Floats:
    """Shape (n,): a number in (0, 1) for each row, the same for the same purpose, person and value.

    secret: 32 bytes; who has it can undo the mask. purpose: what the number is for, such as the method and the attribute.
    persons, values: n texts each. Cost: O(n), with `list_persons` and `list_values` about 0.7 s for 100,000 rows.
    """
    key = hmac.digest(secret, json.dumps(["per person", *purpose]).encode(), "sha256")
    digests = b"".join(
        hmac.digest(key, f"{len(person)}:{person}{value}".encode(), hashlib.sha256)[:8]
        for person, value in zip(persons, values, strict=True)
    )
    whole = np.frombuffer(digests, dtype="<u8") >> np.uint64(64 - _BITS)
    uniforms: Floats = (whole.astype(np.float64) + 0.5) / 2.0**_BITS
    return np.minimum(uniforms, np.nextafter(1.0, 0.0))


def draw_personal_normals(secret: bytes, purpose: Sequence[str], persons: Sequence[str], values: Sequence[str]) -> Floats:
    """Shape (n,): a standard normal number for each row, the inverse of the normal distribution at the uniform one."""
    normals: Floats = ndtri(draw_personal_uniforms(secret, purpose, persons, values))
    return normals


def list_persons(source: Microdata, key: str) -> list[str]:
    """The person of each row as text: a number and its text are one person. key: a column without missing values."""
    return [str(text) for text in write_plain_texts(source.column(key))]


def list_values(columns: Sequence[pa.Array]) -> list[str]:
    """The value of each row as text, of several columns their combination; 1, 1.0 and "1" are one value.

    So a column that is read as another type in a later version of the source draws nothing anew.
    """
    return [json.dumps(row) for row in zip(*(write_plain_texts(column) for column in columns), strict=True)]


def describe_personal_draws(names: Sequence[str]) -> str:
    """What risk remains of draws per person, a sentence."""
    return (
        f"In all releases of the series the same value of a person shows the same mask in {join_with_and(tuple(names))}: who "
        "holds two of them sees whose value has changed, and has one draw more of it."
    )
