"""The working set of sweeps under one address: a private folder, or a place that several machines share.

    <base>/table.arrow             the table, memory-mapped by workers where the address is a folder
    <base>/schemas/<digest>.json   what its attributes are, one file per distinct classification
    <base>/files/<digest>/table.arrow  an external file of the intruder, as it was read
    <base>/results/<digest>.parquet  the results of one block; the digest is that of its keys
    <sweep>/sweep.json, plan.json, table.parquet, page.html, blocks/<number>.json
    ingested/<digest>.json         which base a source had when it was read

It holds exact figures of the source and the source itself: a folder is private (0700, files 0600). A key in `results` says
all that its figures depend on, so nothing that stands there is computed again, in this sweep or another.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.microdata.canonical import canonical
from tasks.microdata.errors import InputError
from tasks.microdata.parquet_files import read_parquet
from tasks.microdata.regular_files import open_regular_file
from tasks.microdata.table import Microdata
from tasks.runtime.settings import Home
from tasks.runtime.shared_storage import SharedStorage
from tasks.sweep.evaluation import TrialResult

RESULT = pa.schema(
    [
        ("key", pa.string()),
        ("status", pa.string()),
        ("reason", pa.string()),
        ("figures", pa.string()),
        ("seconds", pa.float64()),
    ]
)


class WorkingSet(SharedStorage):
    """The working set under one address."""

    def __init__(self, url: str) -> None:
        super().__init__(url, "--store")

    def table(self, base: str) -> Microdata:
        """The table of a base: from a folder memory-mapped, so that all processes of a machine share one copy."""
        name = f"{base}/table.arrow"
        path = self.path(name)
        try:
            if path is None:
                return Microdata(pa.ipc.open_file(pa.BufferReader(self.read(name))).read_all())
            with open_regular_file(path):  # what is mapped is a file, no device
                return Microdata(pa.ipc.open_file(pa.memory_map(str(path))).read_all())
        except (pa.ArrowException, ValueError):
            raise _create_damage_error(name) from None

    def put_table(self, base: str, table: Microdata) -> None:
        buffer = io.BytesIO()
        arrow = table.arrow.replace_schema_metadata(None).combine_chunks()
        with pa.ipc.new_file(buffer, arrow.schema) as file:
            file.write_table(arrow)
        self.write(f"{base}/table.arrow", buffer.getvalue())

    def json(self, name: str) -> Any:
        try:
            found = json.loads(self.read(name))
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise _create_damage_error(name)
        return found

    def put_json(self, name: str, content: Any) -> None:
        self.write(name, canonical(content))

    def put_rows(self, base: str, rows: Iterable[TrialResult]) -> None:
        """Keep the results of a block in one file, synced once."""
        rows = list(rows)
        columns = {
            **{name: [getattr(row, name) for row in rows] for name in ("key", "status", "reason", "seconds")},
            "figures": [canonical(row.figures).decode() for row in rows],
        }
        buffer = io.BytesIO()
        pq.write_table(pa.table(columns, RESULT), buffer, compression="zstd", write_statistics=False, write_page_checksum=True)
        self.write(f"{base}/results/{results_name(row.key for row in rows)}", buffer.getvalue())

    def read_result_seconds(self, base: str) -> dict[str, float]:
        """What `results` holds: the seconds of each key. A file that cannot be read holds nothing: it is computed again."""
        found: dict[str, float] = {}
        for part in self._results(base):
            found.update(zip(part.column("key").to_pylist(), part.column("seconds").to_pylist(), strict=True))
        return found

    def rows(self, base: str, wanted: set[str]) -> Iterator[dict[str, Any]]:
        """The results of these keys, each once, as the columns of the file; `figures` is JSON."""
        left = set(wanted)
        for part in self._results(base):
            positions = [i for i, key in enumerate(part.column("key").to_pylist()) if key in left]
            for row in part.take(pa.array(positions, pa.int64())).to_pylist():
                if row["key"] in left:
                    left.remove(row["key"])
                    yield row

    def results(self, base: str, name: str) -> pa.Table | None:
        """One file of results; None where it is not there, or is damaged."""
        try:
            return read_parquet(self.read(f"{base}/results/{name}"), page_checksum_verification=True)
        except (pa.ArrowException, OSError):
            return None

    def has_results(self, base: str, keys: list[str]) -> bool:
        """Does the file of a block hold its results? Another file of this name is not taken for them."""
        found = self.results(base, results_name(keys))
        return found is not None and found.schema.equals(RESULT) and found.column("key").to_pylist() == keys

    def _results(self, base: str) -> Iterator[pa.Table]:
        for name in self.names(f"{base}/results"):
            found = self.results(base, name)
            if found is not None and found.schema.equals(RESULT):
                yield found


def _create_damage_error(name: str) -> InputError:
    what, remedy = f"{name} in the working set of sweeps was emptied or changed", "remove it: the same command makes it again"
    return InputError("damaged-working-set", "--store", what, "the file as it was written", remedy)


def open_default_working_set() -> WorkingSet:
    """The folder of sweeps in the private home."""
    return WorkingSet(str(Home.current().folder("sweeps")))


def results_name(keys: Iterable[str]) -> str:
    """The file of a block's results, named by its keys: the same block, computed twice, is one file."""
    return hashlib.sha256("\n".join(keys).encode()).hexdigest() + ".parquet"
