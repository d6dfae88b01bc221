"""Arrow takes its memory in small pages, because a virtual machine may wait for large ones."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SUMMARY, MODE = Path("/proc/self/smaps_rollup"), Path("/sys/kernel/mm/transparent_hugepage/enabled")
ALLOCATE = f"""
import flows.environment
import numpy as np, pyarrow as pa
def count():
    line, = (line for line in open("{SUMMARY}") if line.startswith("AnonHugePages:"))
    return int(line.split()[1])
before = count()
filled = pa.allocate_buffer(64 << 20, memory_pool=pa.mimalloc_memory_pool())
np.frombuffer(filled, dtype=np.uint8)[:] = 1
print(count() - before)
"""


@pytest.mark.skipif(not SUMMARY.exists() or not MODE.exists(), reason="this system does not tell which pages are large")
@pytest.mark.skipif(
    MODE.exists() and "[madvise]" not in MODE.read_text(), reason="here it is not Arrow that asks for large pages"
)
def test_arrow_takes_its_memory_in_small_pages(tmp_path):
    assert run_alone(ALLOCATE, tmp_path) == "0"


def test_what_the_user_chose_stays(tmp_path):
    assert run_alone("import flows.environment, os; print(os.environ['MIMALLOC_ALLOW_THP'])", tmp_path, chosen="1") == "1"


def run_alone(code: str, folder: Path, chosen: str | None = None) -> str:
    environment = {**os.environ, "SDCERT_HOME": str(folder / "home"), "PYTHONPATH": str(ROOT)}
    environment.pop("MIMALLOC_ALLOW_THP", None)
    environment |= {"MIMALLOC_ALLOW_THP": chosen} if chosen else {}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()
