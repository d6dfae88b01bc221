import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.ingest.readers import delimited
from tasks.ingest.readers.delimited import read
from tasks.ingest.readers.raw import RawTable
from tasks.microdata.errors import InputError


def cells(table: RawTable) -> dict[str, list[str | None]]:
    columns: dict[str, list[str | None]] = table.table.to_pydict()
    return columns


def test_worked_table_with_quotes_line_breaks_and_empty_cells() -> None:
    content = b'id,"the name",note\r\n007,"Smith, ""Al""","two\nlines"\r\n008,,""\r\n9,NA,null\r\n'
    found = read(io.BytesIO(content), "a.csv")
    assert cells(found) == {
        "id": ["007", "008", "9"],
        "the name": ['Smith, "Al"', None, "NA"],
        "note": ["two\nlines", None, "null"],
    }
    assert (found.format, found.encoding, found.delimiter, found.notes) == ("csv", "utf-8", ",", ())


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(delimiter: str) -> None:
    rows = [["place", "income", "share"], ["A, B; C", "1", "2,5"], ["D | E", "2", "3,5"]]
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(rows)
    found = read(io.BytesIO(out.getvalue().encode()), "a.csv")
    assert found.delimiter == delimiter
    assert list(zip(*cells(found).values(), strict=True)) == [tuple(row) for row in rows[1:]]


@settings(max_examples=500, deadline=None)
@given(st.text('ab,;|"\n', max_size=30))
def test_a_delimiter_that_is_not_there_may_be_found_by_its_absence(text: str) -> None:
    """All are tried by the slow twin."""
    scores = [delimited._score(text, delimiter, cut=False) for delimiter in delimited.DELIMITERS]
    assert delimited._detect_delimiter(text) == delimited.DELIMITERS[scores.index(max(scores))]


def test_a_header_without_delimiter_is_one_column() -> None:
    assert cells(read(io.BytesIO(b"age\n1\n2\n"), "a.csv")) == {"age": ["1", "2"]}


def test_a_declared_delimiter_wins() -> None:
    assert cells(read(io.BytesIO(b"income, total\n5\n6\n"), "a.csv", delimiter=";")) == {"income, total": ["5", "6"]}


TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00\ufeff"), max_size=8)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(TEXT, min_size=width, max_size=width), min_size=1, max_size=6))
)
def test_whatever_a_csv_writer_writes_is_read_back(rows: list[list[str]]) -> None:
    out = io.StringIO()
    names = [f"c{i}" for i in range(len(rows[0]))]
    csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([names, *rows])
    found = read(io.BytesIO(out.getvalue().encode()), "a.csv", delimiter=",")
    expected = {name: [row[i] or None for row in rows] for i, name in enumerate(names)}
    assert cells(found) == expected


@pytest.mark.parametrize(
    ("encoding", "reported"),
    [("utf-8", "utf-8"), ("utf-8-sig", "utf-8-sig"), ("utf-16", "utf-16"), ("utf-32", "utf-32"), ("cp1252", "cp1252")],
)
def test_encodings_are_found_and_reported(encoding: str, reported: str) -> None:
    text = "name,city\nJosé,Zürich\nÅsa,Malmö\n"
    found = read(io.BytesIO(text.encode(encoding)), "a.csv")
    assert cells(found) == {"name": ["José", "Åsa"], "city": ["Zürich", "Malmö"]}
    assert found.encoding == reported
    assert ("guess" in " ".join(found.notes)) == (encoding == "cp1252")


@pytest.mark.parametrize("place", ["Süd", "Île-de-France", "Öland", "Groß"])
def test_few_letters_beyond_ascii_are_taken_for_western_ones(place: str) -> None:
    """Whatever other encodings read as other letters that are as plausible."""
    text = "region,n\n" + "".join(f"{name},{i}\n" for i in range(100) for name in (place, "Nord", "Ost"))
    found = read(io.BytesIO(text.encode("cp1252")), "a.csv")
    assert (cells(found)["region"][0], found.encoding) == (place, "cp1252")


@pytest.mark.parametrize("delimiter", [",", ";"])
@pytest.mark.parametrize("other", ["said", 'x"y'])  # the second is left to the strict parser
def test_rows_that_a_quote_swallows_are_told(delimiter: str, other: str) -> None:
    rows = [f"{i},{i * i},said" for i in range(50)]
    rows[10], rows[20], rows[40] = '10,100,"he said', '20,400,so"', f"40,1600,{other}"
    text = "\n".join(["n,square,remark", *rows]).replace(",", delimiter) + "\n"
    found = read(io.BytesIO(text.encode()), "a.csv")
    assert found.table.num_rows == 40
    (note,) = found.notes
    assert "column remark (row 11)" in note
    assert "look like rows" in note


def test_a_cell_of_several_lines_with_some_delimiters_is_no_row() -> None:
    text = 'n,place,remark\n1,"Street 5,\nTown","one, two,\nthree"\n2,"a,b,c","first\na, b, c, d\nlast"\n'
    assert read(io.BytesIO(text.encode()), "a.csv").notes == ()


def test_cyrillic_eight_bit_text_is_recognised() -> None:
    text = "имя,город\n" + "Иван,Москва\nАнна,Тверь\nПётр,Казань\n" * 5
    assert cells(read(io.BytesIO(text.encode("cp1251")), "a.csv"))["имя"][:3] == ["Иван", "Анна", "Пётр"]


def test_a_declared_encoding_wins_and_a_mark_is_no_part_of_a_name() -> None:
    assert cells(read(io.BytesIO("ü\n1\n".encode("cp850")), "a.csv", encoding="cp850")) == {"ü": ["1"]}
    assert cells(read(io.BytesIO("ü\n1\n".encode("utf-8-sig")), "a.csv", encoding="utf-8")) == {"ü": ["1"]}
    assert cells(read(io.BytesIO("ü\n1\n".encode("utf-16-le")), "a.csv", encoding="utf-16-le")) == {"ü": ["1"]}


@pytest.mark.parametrize(
    ("content", "code", "where"),
    [
        (b"", "empty-file", "a.csv"),
        (b" \n\n", "empty-file", "a.csv"),
        (b"\x1c\x1d\n", "empty-file", "a.csv"),
        (b"a,b\n", "no-rows", "a.csv"),
        (b"a,b\n1,2\n3\n", "ragged-row", "row 2"),
        (b"a,b\n1,2,3\n", "ragged-row", "row 1"),
        (b"a,b\n1,2\n" * 2 + b"1,2,3\n", "ragged-row", "row 4"),
        (b"a,a\n1,2\n", "repeated-column", "header"),
        (b"a,\n1,2\n", "unnamed-column", "header"),
        (b"a, \n1,2\n", "unnamed-column", "header"),
        (b"a,b\n1,\x002\n", "zero-byte", "line 2"),
        (b"a,a\n1,2\n\x00,3\n", "zero-byte", "line 3"),
        (b"a,\n1,2\n\xff,3\n", "unnamed-column", "header"),
        ("a,b\n1,2\n".encode("utf-16-le"), "zero-byte", "line 1"),
        ("name\nJosé\nÅsa\n".encode() + b"\xff\n", "undecodable", "line 4"),
        (b'a,b\n1,"2\n3,4\n', "malformed-row", "row 1"),
        (b'a,b\n1,"2"3\n', "malformed-row", "row 1"),
        (b'a,"b\n1,2\n', "malformed-row", "header"),
        (b"a,b\n1,2\n\n3,4\n", "blank-line", "row 2"),
        (b"PK\x03\x04rest", "binary-file", "a.csv"),
        (b"\x1f\x8brest", "binary-file", "a.csv"),
    ],
)
def test_damaged_files_are_refused_with_their_place(content: bytes, code: str, where: str) -> None:
    with pytest.raises(InputError) as caught:
        read(io.BytesIO(content), "a.csv")
    assert caught.value.code == code
    assert where in caught.value.where


def test_blank_lines_at_the_end_are_no_rows() -> None:
    assert cells(read(io.BytesIO(b"a,b\n1,2\n\n\n"), "a.csv")) == {"a": ["1"], "b": ["2"]}


def test_an_unknown_encoding_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        read(io.BytesIO(b"a\n1\n"), "a.csv", encoding="utf-9")
    assert caught.value.code == "unknown-encoding"


def test_a_cell_beyond_the_limit_is_refused_rather_than_cut() -> None:
    with pytest.raises(InputError) as caught:
        read(io.BytesIO(b'a,b\n1,"' + b"x" * (2 << 20) + b'"\n'), "a.csv")
    assert (caught.value.code, caught.value.value) == ("malformed-row", None)


@pytest.mark.slow
def test_rows_beyond_one_chunk_keep_their_order() -> None:
    n = 70_000
    found = read(io.BytesIO(b"i,j\n" + b"".join(b"%d,%d\n" % (i, -i) for i in range(n))), "a.csv")
    assert cells(found)["j"] == [str(-i) for i in range(n)]
