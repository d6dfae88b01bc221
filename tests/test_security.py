"""SECURITY.md says what is so: the files and tests it names are there, its limits are those of the code, servers are local."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "SECURITY.md").read_text()
TESTS = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))


def test_every_file_and_test_that_it_names_is_there():
    named = re.findall(r"`([\w./-]+)`", TEXT)
    paths = [name for name in named if name.startswith(("tests/", "tasks/", "flows/", ".ci/"))]
    assert len(paths) >= 20
    assert [name for name in paths if not (ROOT / name).exists()] == []
    files = {path.name for room in ("tests", "tasks") for path in (ROOT / room).rglob("*.py")}
    bare = [name for name in named if name.endswith(".py") and "/" not in name]
    assert bare and set(bare) <= files
    tests = [name for name in named if re.fullmatch(r"test_\w+", name)]
    assert tests and all(f"def {name}(" in TESTS for name in tests)


def test_its_limits_are_those_of_the_code():
    from pydantic import TypeAdapter

    from flows.cli.terminal import MANY_COLUMNS
    from tasks.audit.signing import envelope, pem
    from tasks.ingest.readers import compressed, delimited, sql
    from tasks.ingest.sources import SourceSpec
    from tasks.microdata import compiled, document, regular_files, scaling
    from tasks.microdata.spec import LONGEST_NAME

    told = re.sub(r"\s+", " ", TEXT)
    assert (
        f"{document.LARGEST_BYTES:,} bytes, {document.DEEPEST} levels, numbers of {document.LONGEST_NUMBER} characters" in told
    )
    assert f"1 to {LONGEST_NAME} characters that can be seen" in told
    assert f"{delimited._LONGEST_CELL:,} characters a cell" in told
    assert compressed.LARGEST_BYTES == regular_files.LARGEST_TABLE >= regular_files.SMALLEST_LIMIT
    unpacked = f"as large as a table unpacked, and {compressed.LARGEST_RATIO:,} times the packed size"
    assert f"{unpacked} from {compressed._SMALL_BYTES >> 20} MiB on" in told
    assert f"at least {regular_files.SMALLEST_LIMIT >> 30} GiB, as a file" in told
    assert (
        f"{regular_files.LARGEST_RECORD >> 20} MiB; keys, seeds and notes of processes {regular_files.LARGEST_NOTE >> 20} MiB"
        in told
    )
    assert f"{sql._LONGEST_SECONDS // 60} minutes in these two" in told
    assert f"{scaling.LARGEST_VALUE:.0e} in size, with a standard deviation of at least {scaling.LEAST_DEVIATION:.0e}" in told
    assert f"nothing above {compiled.LARGEST:.0e}" in told
    assert f"of {MANY_COLUMNS} columns on" in told
    assert f"| {envelope.LARGEST_BYTES >> 20} MiB |" in told
    (longest,) = {part.get("maxLength") for part in TypeAdapter(SourceSpec).json_schema()["properties"]["sql"]["anyOf"]} - {
        None
    }
    assert f"of {longest:,} characters at most" in told
    assert "2,048 rounds" in (pem.__doc__ or "") and "2,048 rounds" in told


def test_private_folders_are_those_of_the_search():
    import leaks

    said = TEXT[TEXT.index("Private: ") : TEXT.index("Everywhere else")]
    assert set(re.findall(r"`(\w+)`", said)) == set(leaks.PRIVATE)


@pytest.mark.parametrize("name", ["README.md", "docs/*.md", "prefect.yaml", "Makefile", "CONTRIBUTING.md"])
def test_no_command_of_ours_opens_a_server_to_the_network(name):
    text = "".join(path.read_text() for path in ROOT.glob(name))
    assert text
    assert not re.search(r"0\.0\.0\.0|--host|\[::\]", text)


def test_servers_listen_on_this_machine_alone_unless_told_otherwise():
    import inspect

    from mlflow.cli import server
    from prefect.server.api.server import SubprocessASGIServer
    from prefect.settings import PREFECT_SERVER_API_HOST

    assert PREFECT_SERVER_API_HOST.value() == "127.0.0.1"
    assert '"--host",\n                "127.0.0.1"' in inspect.getsource(SubprocessASGIServer._run_uvicorn_command)
    (host,) = [option for option in server.params if option.name == "host"]
    assert host.default == "127.0.0.1"


def test_every_package_of_the_setup_is_checked_against_its_hash():
    assert "--no-deps --no-compile --require-hashes -r requirements.lock" in (ROOT / "Makefile").read_text()
