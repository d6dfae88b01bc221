"""The literature's tables, for the benchmarks: from the folder that SDCERT_REFERENCE_DATA names, or `../shared/data`."""

from __future__ import annotations

import sys

import pandas as pd

from tasks.ingest.readers.datasets import DatasetName, find_dataset_file
from tasks.microdata.errors import InputError


def reference(name: DatasetName) -> pd.DataFrame:
    """A table as its file has it; where it is absent the benchmark ends with a message and exit code 2."""
    try:
        return pd.read_csv(find_dataset_file(name))
    except InputError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
