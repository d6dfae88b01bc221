"""What is printed and shown elsewhere is what a name is: a name is no markup, no link, no HTML and no command."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from outcomes import ROOT, Ran
from release_files import survey, write_release

from flows.cli import run
from flows.cli.terminal import terminal
from flows.run.interface import _create_page_key, as_markdown
from flows.run.progress import Lines
from tasks.microdata.escaping import escape_terminal

STEERING = ("[red]x[/oops]", "[link=http://x]x[/link]", ":smile:", "[/]", "\\[x]", "[bold")
MARKDOWN = ("[x](http://x)", "![x](y)", "<img src=x onerror=alert(1)>", "**x**", "_x_ `x`", "# x", "- x", "https://x.example",
            "\\", "a\n\n# x", "|a|b|\n|-|-|", "&amp;", "<!-- x -->", "~~x~~", "1. x")  # fmt: skip


@pytest.fixture
def light(home, capfd, monkeypatch):
    """`sdcert` for what ends before any flow does: without a server."""
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")

    def call(*words):
        capfd.readouterr()
        code = run([str(word) for word in words])
        captured = capfd.readouterr()
        return Ran(code, captured.out, captured.err)

    return call


@pytest.mark.parametrize("name", STEERING)
def test_a_terminal_prints_names_as_they_are(name, capsys):
    from rich.table import Table

    table = Table(title=name)
    table.add_column(name)
    table.add_row(name)
    console = terminal(width=100)
    console.print(name)
    console.print(table)
    Lines(console).end_step(name, 1.0, "computed")
    assert capsys.readouterr().out.count(name) == 5


def test_there_is_one_way_to_a_terminal():
    found = [path for path in (ROOT / "flows").rglob("*.py") if re.search(r"(?<!def )\bConsole\(", path.read_text())]
    assert [path.name for path in found] == ["terminal.py"]


@pytest.mark.parametrize("name", MARKDOWN)
def test_the_page_in_prefect_shows_names_as_they_are(name):
    reader = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    (paragraph,) = reader.parse(f"x {as_markdown(name)}")[1:-1]
    assert {child.type for child in paragraph.children} <= {"text", "text_special"}
    assert "".join(child.content for child in paragraph.children) == f"x {escape_terminal(name)}"


@given(st.text("a0.-_", min_size=1, max_size=4), st.text("a0.-_", min_size=1, max_size=4))
def test_no_two_releases_share_a_page_in_prefect(one, other):
    keys = [_create_page_key(f"a{name}") for name in (one, other)]
    assert (keys[0] == keys[1]) == (one == other)
    assert all(re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", key) for key in keys)


@pytest.mark.long
def test_a_terminal_of_other_letters_gets_codes(home, tmp_path):
    text = survey().replace("town", "\u05d0\u05d1")
    path = write_release(tmp_path, text=text)
    spec = json.loads(path.read_text().replace('"town"', '"\\u05d0\\u05d1"'))
    path.write_text(json.dumps(spec))
    words = [sys.executable, "-m", "flows.cli", "check", str(path)]
    ran = subprocess.run(words, cwd=ROOT, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "latin-1"}, check=False)
    assert ran.returncode == 0, ran.stderr
    assert b"\\u05d0\\u05d1" in ran.stdout


LONG = ("x" * 300, "nowhere/" + "x" * 300 + "/releases", "\u05d0" * 128, "/".join(["x" * 200] * 20))


@pytest.mark.parametrize("output", LONG, ids=["a name", "below a folder that is not there", "of 256 bytes", "a path"])
def test_an_output_folder_whose_name_is_too_long_is_told_before_anything_is_computed(light, home, tmp_path, output):
    ran = light("certify", write_release(tmp_path / "project"), "--output", tmp_path / output)
    assert ran.code == 2, ran.err
    for word in ("--output", "too long", "255 bytes"):
        assert word in ran.err
    assert not list((home / "runs").glob("*"))


@pytest.mark.parametrize(
    "words",
    [
        ("check", "LONG"),
        ("certify", "LONG"),
        ("init", "LONG"),
        ("init", "survey.csv", "--output", "LONG"),
        ("verify", "LONG"),
        ("audit", "find", "LONG"),
        ("sweep", "LONG", "--yes"),
        ("watch", "LONG"),
        ("serve", "LONG"),
    ],
    ids=lambda words: " ".join(words[: 1 + (words[0] == "audit") + 2 * (words[1] != "LONG")]),
)
def test_a_path_that_is_too_long_is_a_wrong_input(light, tmp_path, monkeypatch, words):
    write_release(tmp_path)
    monkeypatch.chdir(tmp_path)
    ran = light(*(word.replace("LONG", "x" * 300) for word in words))
    assert ran.code == 2, ran.err
    assert "too long" in ran.err or "300 characters" in ran.err
    assert "Traceback" not in ran.err


def test_a_message_shows_names_and_is_steered_by_none(light, tmp_path):
    names = "person_id,age,income,town,vote"
    text = survey().replace(names, '"\x1b[2J\u202e","a\n  to do:   rm -rf /",income,town,vote')
    ran = light("check", write_release(tmp_path, text=text))
    assert ran.code == 2
    assert "\\x1b[2J\\u202e" in ran.err
    assert ran.err.count("\n  to do: ") == 1
    assert not {one for one in ran.err if not one.isprintable()} - {"\n"}
