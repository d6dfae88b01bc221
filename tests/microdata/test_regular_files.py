"""Files are opened in one way: regular ones alone, and up to a stated size."""

import ast
import os
import socket
from pathlib import Path

import pytest

from tasks.microdata import regular_files
from tasks.microdata.errors import InputError
from tasks.microdata.fingerprint import TASKS
from tasks.microdata.regular_files import LARGEST_TABLE, UnreadableFile, open_regular_file, read_file, read_text_file

ROOT = TASKS.parent
# What is opened otherwise, and why
ELSEWHERE = {
    "tasks/microdata/regular_files.py": "the one way itself",
    "tasks/runtime/processes.py": "files of the kernel in /proc",
    "tasks/runtime/provenance.py": "a file of the kernel in /proc",
    "flows/fork_server/request.py": "files of the kernel in /proc",
    "flows/cli/doctor/home.py": "tries what it has just written itself",
}
READS = {"read_bytes", "read_text"}
LIBRARIES = {"pq.read_table", "pq.ParquetDataset", "pd.read_parquet", "pd.read_csv", "np.fromfile"}


@pytest.fixture
def odd(tmp_path: Path) -> dict[str, Path]:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    (tmp_path / "link of a pipe").symlink_to(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
    names = ("pipe", "link", "link of a pipe", "socket")
    return {**{name: tmp_path / name for name in names}, "folder": tmp_path, "device": Path("/dev/zero")}


@pytest.mark.parametrize("kind", ["pipe", "link", "link of a pipe", "socket", "folder", "device"])
def test_only_regular_files_are_read(odd: dict[str, Path], kind: str) -> None:
    with pytest.raises(UnreadableFile, match="The file cannot be read: it is a") as refused:
        read_file(odd[kind])
    assert isinstance(refused.value, OSError)
    assert isinstance(refused.value, InputError)
    assert refused.value.strerror in str(refused.value)


def test_no_more_is_read_than_was_said(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    path.touch()
    os.truncate(path, 1 << 40)
    with pytest.raises(UnreadableFile, match=f"larger than {LARGEST_TABLE:,} bytes"):
        read_file(path, LARGEST_TABLE)
    (tmp_path / "ten").write_bytes(b"0123456789")
    assert read_file(tmp_path / "ten", 10) == b"0123456789"
    with pytest.raises(UnreadableFile, match="larger than 9 bytes"):
        read_file(tmp_path / "ten", 9)


@pytest.mark.parametrize(("added", "fits"), [(50, True), (60, False)])
def test_a_file_that_grows_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, added: int, fits: bool) -> None:
    path = tmp_path / "grows"
    path.write_bytes(b"x" * 50)
    known = os.fstat

    def grows(descriptor: int) -> os.stat_result:
        found = known(descriptor)
        if found.st_size == 50:
            with path.open("ab") as file:
                file.write(b"y" * added)
        return found

    monkeypatch.setattr(regular_files.os, "fstat", grows)
    if fits:
        assert read_file(path, 100) == b"x" * 50 + b"y" * 50
    else:
        with pytest.raises(UnreadableFile, match="larger than 100 bytes"):
            read_file(path, 100)


def test_texts_are_read_as_path_reads_them(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes("\ufeffa\r\nb\rc\n".encode())
    assert read_text_file(tmp_path / "text", encoding="utf-8-sig") == (tmp_path / "text").read_text(encoding="utf-8-sig")
    with pytest.raises(FileNotFoundError), open_regular_file(tmp_path / "nothing"):
        pass


def opens(node: ast.AST) -> bool:
    """Is it a call that opens a file for reading?"""
    if not isinstance(node, ast.Call) or any(key.arg == "fileobj" for key in node.keywords):  # of a file that was opened
        return False
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    called, modes = ast.unparse(function), [one.value for one in node.args if isinstance(one, ast.Constant)]
    by_name = name == "open" and called != "os.open" and (called == "open" or modes in ([], ["r"], ["rb"]))
    return by_name or called in LIBRARIES or (name in READS and isinstance(function, ast.Attribute))


def test_everything_is_read_in_the_one_way() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in [*(ROOT / "tasks").rglob("*.py"), *(ROOT / "flows").rglob("*.py")]
        for node in ast.walk(ast.parse(path.read_text()))
        if str(path.relative_to(ROOT)) not in ELSEWHERE and opens(node)
    }
    archives = {one for one in found if one.startswith(("tasks/ingest/readers/compressed.py", "tasks/train/skops_archive.py"))}
    assert not found - archives  # members of archives, whose bytes were read before
