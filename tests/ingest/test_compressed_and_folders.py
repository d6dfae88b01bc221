import bz2
import gzip
import io
import lzma
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.ingest.readers import compressed
from tasks.ingest.sources import SourceSpec, list_source_files, read
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import LARGEST_TABLE

CSV = b"a,b\n1,x\n,y\n"


def zipped(**members: bytes) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return sink.getvalue()


def zstd(content: bytes) -> bytes:
    packed: bytes = pa.compress(content, codec="zstd", asbytes=True)
    return packed


PACKED = {
    "gzip": gzip.compress(CSV),
    "bzip2": bz2.compress(CSV),
    "xz": lzma.compress(CSV),
    "zstd": zstd(CSV),
    "zip": zipped(a=CSV),
}


def source(tmp_path: Path, name: str, content: bytes) -> SourceSpec:
    (tmp_path / name).write_bytes(content)
    return SourceSpec(table=name).resolve_path(tmp_path)


@pytest.mark.parametrize("kind", PACKED)
def test_a_compressed_table_is_known_by_its_content(tmp_path: Path, kind: str) -> None:
    raw = read(source(tmp_path, "a.csv", PACKED[kind]))
    assert raw.table.to_pydict() == {"a": ["1", None], "b": ["x", "y"]}
    assert raw.how == (f"unpacked from {kind}",)


@pytest.mark.parametrize("kind", ["gzip", "bzip2", "xz", "zstd", "zip"])
def test_a_truncated_archive_is_refused_wherever_it_ends(kind: str) -> None:
    for end in range(6, len(PACKED[kind])):
        with pytest.raises(InputError) as caught:
            compressed.decompress_content(PACKED[kind][:end], "a.gz")
        assert caught.value.code == "damaged-archive"


def test_a_flipped_bit_is_found() -> None:
    broken = bytearray(gzip.compress(CSV * 50))
    broken[20] ^= 4
    with pytest.raises(InputError, match="damaged"):
        compressed.decompress_content(bytes(broken), "a.gz")


def test_members_one_behind_the_other_are_one_file() -> None:
    assert compressed.decompress_content(gzip.compress(CSV) + gzip.compress(b"2,z\n"), "a.gz")[0] == CSV + b"2,z\n"


def test_a_bomb_is_refused_while_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compressed, "_SMALL_BYTES", 1 << 20)
    bomb = lzma.compress(bytes(8 << 20))
    with pytest.raises(InputError) as caught:
        compressed.decompress_content(bomb, "a.xz")
    assert (caught.value.code, f"{LARGEST_TABLE >> 30} GiB" in caught.value.allowed) == ("too-large", True)
    monkeypatch.setattr(compressed, "LARGEST_RATIO", 1 << 20)
    assert len(compressed.decompress_content(bomb, "a.xz")[0]) == 8 << 20
    monkeypatch.setattr(compressed, "LARGEST_BYTES", (8 << 20) - 1)
    with pytest.raises(InputError):
        compressed.decompress_content(bomb, "a.xz")


def test_a_parquet_file_and_a_folder_of_it_are_the_same(tmp_path: Path) -> None:
    table = pa.table({"n": [1, None, 3, 4], "t": ["a", "b", None, "d"]})
    (tmp_path / "t").mkdir()
    for place in (1, 0):  # written in another order than their names
        pq.write_table(table.slice(2 * place, 2), tmp_path / "t" / f"part-{place}.parquet")
    (tmp_path / "t" / "_SUCCESS").touch()
    (tmp_path / "t" / ".part.crc").write_bytes(b"x")
    assert read(SourceSpec(table="t").resolve_path(tmp_path)).table == table


def test_folders_named_by_keys_add_columns(tmp_path: Path) -> None:
    for folder, values in {"y=2020/c=a%20b": [1, 2], "y=9/c=01": [3], "y=9/c=__HIVE_DEFAULT_PARTITION__": [4]}.items():
        (tmp_path / "t" / folder).mkdir(parents=True)
        pq.write_table(pa.table({"n": values}), tmp_path / "t" / folder / "part-0.parquet")
    found = read(SourceSpec(table="t").resolve_path(tmp_path))
    assert found.table.to_pydict() == {"n": [1, 2, 3, 4], "y": [2020, 2020, 9, 9], "c": ["a b", "a b", "01", None]}
    names = [name for name, _ in list_source_files(SourceSpec(table="t").resolve_path(tmp_path))]
    assert names == sorted(names)


def test_a_part_without_rows_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"n": pa.array([], pa.int64())}), tmp_path / "t" / "0.parquet")
    with pytest.raises(InputError, match="no rows"):
        read(SourceSpec(table="t").resolve_path(tmp_path))
    pq.write_table(pa.table({"n": [1]}), tmp_path / "t" / "1.parquet")
    assert read(SourceSpec(table="t").resolve_path(tmp_path)).table.num_rows == 1
