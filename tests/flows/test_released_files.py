"""A released file is written row by row, and its digest is that of the bytes that lie there."""

from __future__ import annotations

import hashlib
from functools import partial

import numpy as np
import pytest

from flows.run.publish import digest_file, draft_release_folder
from tasks.microdata.errors import InputError
from tasks.microdata.table import Microdata
from tasks.report.publication import encode, write_released

N = (1 << 16) + 7  # rows of more than one piece
TABLE = Microdata.from_columns({"a": np.arange(N), "b": ["x;y", None, 'say "no"', ""] * (N // 4) + ["z"] * (N % 4)})


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_what_is_written_is_what_is_digested(form, home, tmp_path):
    write = partial(write_released, TABLE, form)
    with draft_release_folder(tmp_path, "survey", "20261121T093000Z-999999") as draft:
        digest = draft.add(f"released.{form}", write)
        folder = draft.appear()
    content = (folder / f"released.{form}").read_bytes()
    assert content == encode(TABLE, form)
    assert digest == digest_file("", write) == digest_file("", content) == hashlib.sha256(content).hexdigest()


def test_of_a_table_that_cannot_be_written_nothing_is_left(home, tmp_path):
    table = Microdata.from_columns({"a": ["x"] * N + ["a\0b"]})
    with pytest.raises(InputError), draft_release_folder(tmp_path, "survey", "20261121T093000Z-999999") as draft:
        draft.add("released.csv", partial(write_released, table, "csv"))
    assert list((tmp_path / "survey").iterdir()) == []
