"""What every format of source files must do: a new one is held to this without being listed anywhere (0 s).

docs/ADD_A_FORMAT.md shows how to add one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.ingest.readers import compressed
from tasks.ingest.sources import FORMATS, TEXT, SourceSpec, read, read_content
from tasks.microdata.errors import InputError

EVERY = pytest.mark.parametrize("format_", FORMATS, ids=lambda one: one.name)
TABLE = b"age,sex\n31,f\n40,m\n"
DAMAGED = (b"", b"x", TABLE, bytes(range(256)) * 20)
OPTIONS = {"encoding": "utf-8", "delimiter": ";"}


@EVERY
def test_a_format_has_a_name_and_suffixes_of_its_own(format_):
    assert format_.name, f"a format with the suffixes {sorted(format_.suffixes)} has no name"
    assert format_.suffixes, f"{format_.name}: no suffix"
    for suffix in format_.suffixes:
        assert suffix.startswith("."), f"{format_.name}: the suffix {suffix} has no dot"
        assert suffix == suffix.lower(), f"{format_.name}: the suffix {suffix} is not in lower case"
        assert suffix not in compressed.SUFFIXES, f"{format_.name}: {suffix} is that of a compressed file"
        others = [other.name for other in FORMATS if other is not format_ and suffix in other.suffixes]
        assert not others, f"{format_.name}: {suffix} is that of {others} too"


@EVERY
def test_a_format_does_not_recognise_text_tables(format_):
    for content in (TABLE, b"", "größe;maß\n1;2\n".encode(), TABLE.decode().encode("utf-16")):
        assert not format_.recognise(content), f"{format_.name}: recognises a text table"


@EVERY
def test_a_format_refuses_damaged_files_with_an_error_for_users(format_):
    for suffix in sorted(format_.suffixes):
        for content in DAMAGED:
            with pytest.raises(InputError) as caught:
                read_content(content, f"canary{suffix}")
            assert f"canary{suffix}" in caught.value.where, f"{format_.name}: the error does not say which file"
            assert caught.value.remedy, f"{format_.name}: the error does not say what to do"


@EVERY
@pytest.mark.parametrize("option", OPTIONS)
def test_a_format_refuses_an_option_that_it_does_not_know(tmp_path: Path, format_, option):
    if option in format_.options:
        return
    path = tmp_path / f"a{sorted(format_.suffixes)[0]}"
    path.write_bytes(TABLE)
    with pytest.raises(InputError, match=f"`{option}` means nothing in a file of {format_.name}"):
        read(SourceSpec(table=str(path), **{option: OPTIONS[option]}))


def test_whatever_no_format_knows_is_a_text_table():
    assert TEXT not in FORMATS
    assert read_content(TABLE, "a.data").format == "csv"
