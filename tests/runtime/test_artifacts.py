import hashlib
import os
import stat
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.microdata.errors import InputError
from tasks.microdata.table import Microdata
from tasks.runtime import artifacts
from tasks.runtime.artifacts import Damaged, Store, content_address, is_content_address, serialise_table
from tasks.runtime.keyfile import private_key
from tasks.runtime.settings import Home

TABLE = Microdata.from_columns(
    {"age": [31, None, 64], "income": [1.5, -0.0, None], "town": ["a", "", None], "member": [True, None, False]}
)


def test_a_table_comes_back_as_it_was_put(home):
    store = Store()
    back = store.table(store.put_table(TABLE))
    assert back.arrow.equals(TABLE.arrow)


def test_a_second_put_of_the_same_content_does_nothing(home):
    store = Store()
    ref = store.put_table(TABLE)
    before = store._path(ref).stat()
    assert store.put_table(Microdata(TABLE.arrow)) == ref
    assert store._path(ref).stat().st_ino == before.st_ino


cells = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.floats(allow_nan=False, allow_infinity=False),
    pa.string(): st.text(max_size=5),
    pa.bool_(): st.booleans(),
    pa.date32(): st.dates(),
    pa.timestamp("us"): st.datetimes(),
    pa.time64("us"): st.times(),
}


@st.composite
def tables(draw):
    rows = draw(st.integers(0, 6))
    names = draw(st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=3, unique=True))
    columns = {}
    for name in names:
        kind = draw(st.sampled_from(list(cells)))
        columns[name] = pa.array(draw(st.lists(st.none() | cells[kind], min_size=rows, max_size=rows)), type=kind)
    return Microdata(pa.table(columns))


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables(), tables())
def test_the_address_is_the_content(home, one, other):
    same = one.arrow.schema.equals(other.arrow.schema) and one.arrow.equals(other.arrow)
    assert (content_address(one) == content_address(other)) == same


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables())
def test_every_logical_type_comes_back_from_the_store(home, table):
    store = Store()
    back = store.table(store.put_table(table))
    assert back.arrow.schema.equals(table.arrow.schema)
    assert back.arrow.equals(table.arrow)


@given(tables())
@settings(deadline=None)
def test_chunks_do_not_change_the_address(table):
    chunked = Microdata(pa.concat_tables([table.arrow.slice(0, 1), table.arrow.slice(1)]))
    assert b"".join(serialise_table(chunked)) == b"".join(serialise_table(table))


@pytest.mark.parametrize(
    "other",
    [
        {"a": [1, 2], "b": ["xy", "z"]},
        {"a": [1, 2], "b": ["x", None]},
        {"b": ["x", "yz"], "a": [1, 2]},
        {"a": [2, 1], "b": ["x", "yz"]},
        {"a": [1.0, 2.0], "b": ["x", "yz"]},
        {"a": [1, 2], "c": ["x", "yz"]},
    ],
)
def test_what_differs_has_another_address(other):
    assert content_address(Microdata.from_columns({"a": [1, 2], "b": ["x", "yz"]})) != content_address(
        Microdata.from_columns(other)
    )


def test_the_same_stored_numbers_of_another_type_have_another_address():
    whole = pa.array([0, 1, None], pa.int64())
    kinds = (pa.int64(), pa.timestamp("us"), pa.time64("us"))
    tables = [Microdata(pa.table({"a": whole.cast(kind)})) for kind in kinds]
    tables.append(Microdata(pa.table({"a": whole.cast(pa.int32()).cast(pa.date32())})))
    assert len({content_address(table) for table in tables}) == 4


def test_addresses_stay_what_they_were():
    """Made when the types were four; an address that moves orphans every stored table and every certificate."""
    assert content_address(TABLE) == "sha256:56f8afd282084f277f680a3c8350a77febed849426edcd7246b3ba5aebe80c02"


def test_the_address_of_a_private_table_depends_on_the_key_of_the_store(home, tmp_path, monkeypatch):
    ref = Store().put_table(TABLE)
    monkeypatch.setenv("SDCERT_HOME", str(tmp_path / "another"))
    assert Store().put_table(TABLE) != ref
    assert content_address(TABLE).removeprefix("sha256:") not in ref


def test_a_table_in_use_is_read_once_and_its_file_is_still_looked_at(home):
    store = Store()
    ref = store.put_table(TABLE)
    held, path = store.table(ref), store._path(ref)
    path.chmod(0o600)
    path.write_bytes(b"damaged")
    assert Store().table(ref).arrow is held.arrow
    assert not store.intact(ref)
    path.unlink()
    with pytest.raises(Damaged):
        store.table(ref)
    path.write_bytes(b"damaged")
    del held
    with pytest.raises(Damaged):
        store.table(ref)


def test_a_table_in_use_is_of_one_key(home, tmp_path, monkeypatch):
    ref = Store().put_table(TABLE)
    held = Store().table(ref)
    monkeypatch.setenv("SDCERT_HOME", str(tmp_path / "another"))
    with pytest.raises(Damaged):
        Store().table(ref)
    assert held.n == TABLE.n


@pytest.mark.parametrize("damage", ["flip", "truncate", "delete", "another"])
def test_damage_is_found_and_mended(home, damage):
    store = Store()
    ref = store.put_table(TABLE)
    path = store._path(ref)
    content = bytearray(path.read_bytes())
    path.unlink()
    if damage == "flip":
        content[len(content) // 2] ^= 1
    if damage == "another":
        content = bytearray(store._path(store.put_table(Microdata.from_columns({"a": [1]}))).read_bytes())
    if damage != "delete":
        path.write_bytes(content[: len(content) // 2] if damage == "truncate" else content)
    if damage != "flip" or not store.intact(ref):  # a flipped bit in Parquet's padding may leave the content as it was
        with pytest.raises(Damaged):
            store.table(ref)
    store.put_table(TABLE)
    assert store.intact(ref)


@pytest.mark.parametrize("kind", ["device", "pipe", "sparse"])
@pytest.mark.parametrize("put", ["table", "record", "page", "file"])
def test_what_is_no_file_or_has_no_end_is_damage_at_once(home, tmp_path, put, kind):
    store = Store()
    refs = {
        "table": store.put_table(TABLE),
        "record": store.put_record("text"),
        "page": store.put_page("<p>"),
        "file": store.put_file(b"file"),
    }
    ref = refs[put]
    path = store._path(ref)
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.touch()
        os.truncate(path, 1 << 40)
    assert not store.intact(ref)
    with pytest.raises(Damaged):
        store.content(ref)
    store.put_table(TABLE)
    assert store.intact(refs["table"])


@pytest.mark.parametrize("ref", ["table:../../etc/passwd", "pickle:00", "table:", "record:ab/../cd", ""])
def test_an_address_cannot_leave_the_store(home, ref):
    with pytest.raises(Damaged):
        Store().table(ref)
    assert not Store().intact(ref)


def test_files_are_private_and_read_only(home):
    store = Store()
    path = store._path(store.put_table(TABLE))
    assert stat.S_IMODE(path.stat().st_mode) == 0o400
    for folder in [path.parent, *path.parents[:4]]:
        if folder.is_relative_to(home):
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700, folder
    assert stat.S_IMODE((home / "keys" / "store.key").stat().st_mode) == 0o400


def test_a_key_is_made_once(home):
    path = Home.current().keys / "k"
    first = private_key(path)
    assert len(first) == 32
    assert private_key(path) == first
    assert [file.name for file in path.parent.iterdir()] == ["k"]


@pytest.mark.parametrize("left", [b"", b"x" * 31])
def test_a_key_that_was_cut_off_is_not_used(tmp_path, left):
    """Under an empty key a digest is a plain hash, by which anybody could confirm a guess."""
    path = tmp_path / "store.key"
    path.write_bytes(left)
    with pytest.raises(InputError, match="cut off"):
        private_key(path)
    assert path.read_bytes() == left


def test_records_and_pages(home):
    store = Store()
    record = store.put_record({"a": [1, 2.5, "x"]}, dict)
    assert store.record(record, dict) == {"a": [1, 2.5, "x"]}
    page = store.put_page("<p>é</p>")
    assert store.page(page) == "<p>é</p>"
    with pytest.raises(Damaged):
        store.table(record)
    assert store.intact(page)
    assert not store.intact("page:" + "0" * 64)


def test_negative_zero_is_zero():
    zero, negative = (Microdata.from_columns({"x": np.array([value])}) for value in (0.0, -0.0))
    assert content_address(zero) == content_address(negative)


def digest_by_hand(table: Microdata) -> str:
    return hashlib.sha256(b"".join(bytes(piece) for piece in serialise_table(table))).hexdigest()


class TestChunksOfRows:
    """A table of more rows than one chunk has the address of its chunks' digests."""

    TABLE = Microdata.from_columns({"a": [1, 2, 3, 4, 5, 6, 7], "b": ["x", None, "yz", "", "x", "w", "v"]})

    @pytest.fixture(autouse=True)
    def _small_chunks(self, monkeypatch):
        monkeypatch.setattr(artifacts, "ROWS_OF_A_CHUNK", 3)

    def test_a_table_of_one_chunk_is_digested_as_a_whole(self):
        some = self.TABLE.take(np.arange(3))
        assert content_address(some) == f"sha256:{digest_by_hand(some)}"

    def test_a_larger_one_by_the_digests_of_its_chunks(self):
        chunks = [self.TABLE.take(np.arange(begin, min(begin + 3, 7))) for begin in (0, 3, 6)]
        inner = b"".join(bytes.fromhex(digest_by_hand(chunk)) for chunk in chunks)
        expected = hashlib.sha256(b"7 rows in 3 chunks\n" + inner).hexdigest()
        assert content_address(self.TABLE) == f"sha256:{expected}"

    def test_an_address_from_before_there_were_chunks_is_still_one(self, home, monkeypatch):
        monkeypatch.setattr(artifacts, "ROWS_OF_A_CHUNK", 10)
        before, ref = content_address(self.TABLE), Store().put_table(self.TABLE)
        monkeypatch.setattr(artifacts, "ROWS_OF_A_CHUNK", 3)
        now, other = content_address(self.TABLE), self.TABLE.take(np.array([1, 0, 2, 3, 4, 5, 6]))
        assert before != now
        assert all(is_content_address(one, self.TABLE) and not is_content_address(one, other) for one in (before, now))
        assert Store().intact(ref)
        assert Store().table(ref).arrow.equals(self.TABLE.arrow)

    @pytest.mark.parametrize("cuts", [(0, 7), (0, 2, 7), (0, 1, 4, 5, 7)])
    def test_how_it_lies_in_memory_does_not_count(self, cuts):
        parts = [self.TABLE.arrow.slice(a, b - a) for a, b in pairwise(cuts)]
        assert content_address(Microdata(pa.concat_tables(parts))) == content_address(self.TABLE)

    @pytest.mark.parametrize(
        "rows", [[3, 4, 5, 0, 1, 2, 6], [1, 0, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5, 6, 6]]
    )
    def test_other_rows_or_another_order_have_another_address(self, rows):
        assert content_address(self.TABLE.take(np.array(rows))) != content_address(self.TABLE)

    def test_it_comes_back_from_the_store(self, home):
        store = Store()
        ref = store.put_table(self.TABLE)
        assert Store().table(ref).arrow.equals(self.TABLE.arrow)
        path = next((home / "store").rglob("*.parquet"))
        path.chmod(0o600)
        pq.write_table(self.TABLE.take(np.array([3, 4, 5, 0, 1, 2, 6])).arrow, path)
        with pytest.raises(Damaged):
            Store()._read_table(ref)
