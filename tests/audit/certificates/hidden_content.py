"""Ways to hide a text in a file beside the table, or to make a cell of it lie: each returns the file's name and its bytes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
from table_files import Written, compressed_by, dated, faithful_files, faithful_statistical, gzipped, parquet, zipped

from tasks.microdata.table import Microdata
from tasks.report.publication import encode

SECRET = b"SECRET Alice"
TEXT = SECRET.decode()


def member(name: bytes, content: bytes) -> bytes:
    """A local header of a zip archive and its data, which no directory lists."""
    header = struct.pack(
        "<4sHHHHHLLLHH", b"PK\x03\x04", 20, 0, 0, 0, 33, zlib.crc32(content), *[len(content)] * 2, len(name), 0
    )
    return header + name + content


def in_archives(csv: bytes) -> Iterator[Written]:
    plain = zipped(csv)
    end = struct.Struct("<4sHHHHLLH").unpack(plain[-22:])
    directory = plain[end[6] : -22]
    hidden = member(b"hidden.csv", SECRET)
    moved = struct.pack("<4sHHHHLLH", *end[:6], end[6] + len(hidden), 0)
    yield "hidden-member.zip", plain[: end[6]] + hidden + directory + moved
    yield "before.zip", SECRET + plain
    yield "member-before.zip", hidden + plain
    yield "behind.zip", plain + SECRET
    yield "between.zip", plain[:-22] + SECRET + plain[-22:]
    for name, change in {
        "comment.zip": lambda archive, _: setattr(archive, "comment", SECRET * 1500),
        "member-comment.zip": lambda _, info: setattr(info, "comment", SECRET),
        "extra.zip": lambda _, info: setattr(info, "extra", struct.pack("<HH", 0xCAFE, len(SECRET)) + SECRET),
        "folder.zip": lambda archive, _: archive.writestr(f"{TEXT}/", b""),
    }.items():
        sink = io.BytesIO()
        with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
            info = zipfile.ZipInfo("released.csv")
            change(archive, info)
            archive.writestr(info, csv)
        yield name, sink.getvalue()
    yield "name.zip", zipped(csv, f"{TEXT}.csv")
    yield "twice.zip", zipped_twice(csv)
    packed = zlib.compressobj(wbits=-15)
    stream = packed.compress(csv) + packed.flush()
    yield "inside-member.zip", stretched(stream, csv)
    head, rest = gzip.compress(csv)[:10], gzip.compress(csv)[10:]
    flagged = {flag: head[:3] + bytes([flag]) + head[4:] for flag in (0x4, 0x8, 0x10)}
    yield "comment.csv.gz", flagged[0x10] + SECRET + b"\0" + rest
    yield "extra.csv.gz", flagged[0x4] + struct.pack("<H", len(SECRET)) + SECRET + rest
    yield "name.csv.gz", flagged[0x8] + SECRET + b"\0" + rest
    yield "member.csv.gz", gzip.compress(csv) + gzipped(b"", TEXT)
    yield "zeros.csv.gz", gzip.compress(csv) + bytes(8)
    yield "behind.csv.bz2", bz2.compress(csv) + SECRET
    yield "behind.csv.xz", lzma.compress(csv) + SECRET
    yield "skipped.csv.zst", compressed_by("zstd", csv) + skippable(SECRET)
    yield "skipped-first.csv.zst", skippable(SECRET) + compressed_by("zstd", csv)


def skippable(content: bytes) -> bytes:
    return b"\x50\x2a\x4d\x18" + len(content).to_bytes(4, "little") + content


def zipped_twice(csv: bytes) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("released.csv", SECRET)
    first = sink.getvalue()
    end = struct.Struct("<4sHHHHLLH").unpack(first[-22:])
    second = zipped(csv)
    return first[: end[6]] + second  # readers find the second archive from its end


def stretched(stream: bytes, csv: bytes) -> bytes:
    """A zip archive whose member has bytes behind the end of the deflated stream."""
    packed = stream + SECRET
    sizes = (zlib.crc32(csv), len(packed), len(csv), 12)
    local = struct.pack("<4sHHHHHLLLHH", b"PK\x03\x04", 20, 0, 8, 0, 33, *sizes, 0) + b"released.csv" + packed
    central = struct.pack("<4sHHHHHHLLLHHHHHLL", b"PK\x01\x02", 20, 20, 0, 8, 0, 33, *sizes, 0, 0, 0, 0, 0, 0) + b"released.csv"
    return local + central + struct.pack("<4sHHHHLLH", b"PK\x05\x06", 0, 0, 1, 1, len(central), len(local), 0)


def in_parquet(table: Microdata) -> Iterator[Written]:
    arrow = table.arrow
    yield "metadata.parquet", parquet(arrow.replace_schema_metadata({"note": TEXT}))
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, arrow.schema) as writer:
        writer.write_table(arrow)
        writer.add_key_value_metadata({"note": TEXT})
    yield "footer-metadata.parquet", sink.getvalue()
    fields = [field.with_metadata({"note": TEXT}) if field.name == "age" else field for field in arrow.schema]
    yield "field.parquet", parquet(arrow.cast(pa.schema(fields)))
    town = arrow.column("town").combine_chunks().dictionary_encode()
    more = pa.DictionaryArray.from_arrays(town.indices, pa.concat_arrays([town.dictionary, pa.array([TEXT])]))
    yield "dictionary.parquet", parquet(arrow.set_column(2, "town", more))
    yield "dictionary-unstored.parquet", parquet(arrow.set_column(2, "town", more), store_schema=False, compression="none")
    frame = arrow.to_pandas()
    frame.attrs["note"] = TEXT
    sink = io.BytesIO()
    frame.to_parquet(sink)
    yield "attributes.parquet", sink.getvalue()
    named = arrow.to_pandas()
    named.columns.name = TEXT
    sink = io.BytesIO()
    named.to_parquet(sink)
    yield "axis.parquet", sink.getvalue()
    plain = parquet(arrow, compression="none")
    program = pq.read_metadata(io.BytesIO(plain)).created_by.encode()
    yield "program.parquet", plain.replace(program, SECRET.ljust(len(program)))
    yield "root.parquet", plain.replace(b"\x18\x06schema", b"\x18\x06SECRET")
    at = plain.rindex(b"n9\x18")  # the largest note, in the statistics of the footer
    yield "statistics.parquet", plain[:at] + b"AL" + plain[at + 2 :]
    yield "page-statistics.parquet", plain.replace(b"n9\x18\x02n0", b"AL\x18\x02n0", 1)
    length = int.from_bytes(plain[-8:-4], "little")
    footer = plain[-8 - length : -8]
    yield "behind-columns.parquet", plain[: -8 - length] + SECRET + plain[-8 - length :]
    field = b"\x88" + bytes([len(SECRET)]) + SECRET + b"\0"  # a field that nobody knows, at the end of the footer
    longer = footer[:-1] + field
    yield "unknown-field.parquet", plain[: -8 - length] + longer + len(longer).to_bytes(4, "little") + b"PAR1"
    padded = footer + SECRET
    yield "padded-footer.parquet", plain[: -8 - length] + padded + len(padded).to_bytes(4, "little") + b"PAR1"
    # the town's element: its number of the column (field 9) becomes a text, which readers skip
    element = b"\x15\x0c%\x02\x18\x04town%\x00"
    assert element in footer
    skipped = footer.replace(element, element + b"\x38" + bytes([len(SECRET)]) + SECRET)
    yield "skipped-field.parquet", plain[: -8 - length] + skipped + len(skipped).to_bytes(4, "little") + b"PAR1"
    encodings = b"\x195\x00\x06\x10"  # a list of three numbers of one byte each
    assert encodings in footer
    numbers = footer.replace(encodings, b"\x19\xf5" + bytes([3 + len(SECRET)]) + b"\x00\x06\x10" + SECRET, 1)
    yield "numbers.parquet", plain[: -8 - length] + numbers + len(numbers).to_bytes(4, "little") + b"PAR1"


def in_text(csv: bytes) -> Iterator[Written]:
    lines = csv.split(b"\n")
    yield "comment.csv", b"# " + SECRET + b"\n" + csv
    yield "row.csv", csv + SECRET + b"\n"
    yield "column.csv", lines[0] + b"," + SECRET + b"\n" + b"".join(line + b",\n" for line in lines[1:-1])
    yield "cells.csv", lines[0] + b"\n" + lines[1] + b"," + SECRET + b"\n" + b"\n".join(lines[2:])
    yield "blank.csv", csv + b"\n\n"
    yield "blank-first.csv", b"\n" + csv
    yield "zero.csv", csv + b"\0" + SECRET


def in_statistical(table: Microdata, folder: Path) -> Iterator[Written]:
    frame = table.arrow.to_pandas()
    frame["town"] = frame["town"].fillna("")
    labels = {"age": {20.0: TEXT}}
    writers: dict[str, Callable[[Path], object]] = {
        "values.sav": lambda path: pyreadstat.write_sav(frame, path, variable_value_labels=labels),
        "columns.sav": lambda path: pyreadstat.write_sav(frame, path, column_labels=[TEXT, "", "", ""]),
        "title.sav": lambda path: pyreadstat.write_sav(frame, path, file_label=TEXT),
        "notes.sav": lambda path: pyreadstat.write_sav(frame, path, note=TEXT),
        "missing.sav": lambda path: pyreadstat.write_sav(frame, path, missing_ranges={"age": [{"lo": 900, "hi": 999}]}),
        "format.sav": lambda path: pyreadstat.write_sav(frame, path, variable_format={"age": "DOLLAR8.0"}),
        "values.dta": lambda path: pyreadstat.write_dta(frame, path, variable_value_labels={"age": {20: TEXT}}),
        "columns.dta": lambda path: pyreadstat.write_dta(frame, path, column_labels=[TEXT, "", "", ""]),
        "title.dta": lambda path: pyreadstat.write_dta(frame, path, file_label=TEXT),
        "title.xpt": lambda path: pyreadstat.write_xport(frame, path, file_label=TEXT),
        "name.xpt": lambda path: pyreadstat.write_xport(frame, path, table_name="SECRET"),
        "title-pandas.dta": lambda path: dated(frame).to_stata(path, write_index=False, data_label=TEXT),
    }
    for name, write in writers.items():
        write(folder / name)
        yield name, (folder / name).read_bytes()
    whole = (folder / "columns.sav").read_bytes()
    yield "behind.sav", next(iter(faithful_statistical(table, folder)))[1] + SECRET
    assert SECRET in whole


def hidden_files(table: Microdata) -> Iterator[Written]:
    csv = encode(table, "csv")
    yield from in_archives(csv)
    yield from in_parquet(table)
    yield from in_text(csv)


def mutated(content: bytes, random: Random) -> bytes:
    """The file with the secret put in, written over something or put in the place of something; or with other bytes."""
    place = random.randrange(len(content))
    end = min(place + random.randrange(1, 40), len(content))
    match random.randrange(6):
        case 0:
            return content[:place] + SECRET + content[place:]
        case 1:
            return content[:place] + SECRET + content[place + len(SECRET) :]
        case 2:
            return content[:place] + SECRET + content[end:]
        case 3:
            return content[:place] + bytes([content[place] ^ 1 << random.randrange(8)]) + content[place + 1 :]
        case 4:
            return content[:place] + random.randbytes(end - place) + content[end:]
        case _:
            return content[:place] + content[place:end] * 2 + content[end:]


def pick(table: Microdata, small: Microdata, folder: Path) -> list[tuple[Microdata, Written]]:
    files = [(table, written) for written in faithful_files(table)]
    return files + [(small, written) for written in faithful_statistical(small, folder)]
