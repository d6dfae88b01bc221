"""Whatever is changed in a certificate or in a released file, it is found."""

from __future__ import annotations

import io
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.audit.certificates.certificate_verification import verify_file

BITS = 8


@pytest.fixture(scope="module")
def certificate(golden) -> bytes:
    return (golden / "certificate.json").read_bytes()


@pytest.fixture(scope="module")
def at():
    from datetime import UTC, datetime

    return datetime(2027, 1, 1, tzinfo=UTC)


def is_found(golden, golden_keys, at, changed: bytes) -> bool:
    return not verify_file(golden / "scorecard.json", changed, golden_keys, at).matches


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_every_changed_byte_of_a_certificate_is_found(golden, golden_keys, at, certificate, data):
    place = data.draw(st.integers(0, len(certificate) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != certificate[place]))
    assert is_found(golden, golden_keys, at, certificate[:place] + bytes([byte]) + certificate[place + 1 :])


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_every_changed_bit_of_a_certificate_is_found(golden, golden_keys, at, certificate, data):
    place = data.draw(st.integers(0, BITS * len(certificate) - 1))
    assert is_found(golden, golden_keys, at, flipped(certificate, place))


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_what_is_cut_out_put_in_or_put_behind_is_found(golden, golden_keys, at, certificate, data):
    start = data.draw(st.integers(0, len(certificate)))
    end = data.draw(st.integers(start, len(certificate)))
    more = data.draw(st.binary(max_size=4))
    changed = certificate[:start] + more + certificate[end:]
    if changed != certificate:
        assert is_found(golden, golden_keys, at, changed)


@pytest.mark.long
def test_every_single_bit_of_a_certificate(golden, golden_keys, at, certificate):
    missed = [n for n in range(BITS * len(certificate)) if not is_found(golden, golden_keys, at, flipped(certificate, n))]
    assert missed == []


def flipped(content: bytes, bit: int) -> bytes:
    byte, place = divmod(bit, BITS)
    return content[:byte] + bytes([content[byte] ^ (1 << place)]) + content[byte + 1 :]


def verdict_on(released: bytes, path: Path, certificate, keys, at) -> tuple[bool, str]:
    path.write_bytes(released)
    found = verify_file(path, certificate, keys, at)
    return found.matches, next(check.says for check in found.checks if check.what == "file")


def by_another_reader(content: bytes) -> pd.DataFrame:
    table = pd.read_csv(io.BytesIO(content), dtype={"region": str, "answer": str}, keep_default_na=False, na_values=[""])
    table["insured"] = table["insured"].astype(str).str.lower().replace({"1": "true", "0": "false"})
    for name in ("visit", "seen"):
        table[name] = pd.to_datetime(table[name], format="ISO8601")
    return table


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_every_changed_byte_of_a_released_file_is_found(golden, golden_keys, at, certificate, tmp_path_factory, data):
    """It is never taken for the file itself, and for the same data only where another reader finds the same values."""
    plain = (golden / "released.csv").read_bytes()
    place = data.draw(st.integers(0, len(plain) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != plain[place]) | st.just(plain[place] ^ 32))
    changed = plain[:place] + bytes([byte]) + plain[place + 1 :]
    matches, says = verdict_on(changed, tmp_path_factory.getbasetemp() / "mutated.csv", certificate, golden_keys, at)
    assert "byte for byte" not in says
    if matches:
        assert says.startswith("other bytes than released.csv, and the same data")
        pd.testing.assert_frame_equal(by_another_reader(changed), by_another_reader(plain))


@pytest.mark.long
def test_every_single_bit_of_a_released_file(golden, golden_keys, at, certificate, tmp_path):
    plain = (golden / "released.csv").read_bytes()
    for bit in range(BITS * len(plain)):
        changed = flipped(plain, bit)
        matches, says = verdict_on(changed, tmp_path / "mutated.csv", certificate, golden_keys, at)
        assert "byte for byte" not in says
        if matches:
            pd.testing.assert_frame_equal(by_another_reader(changed), by_another_reader(plain))
