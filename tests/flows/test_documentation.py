"""README and docs/: every example is read by what it is an example for, every command is one, every link leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer
from documents import (
    BASE,
    DECISIONS,
    PAGES,
    README,
    SUBJECTS,
    blocks,
    commands,
    table_of_the_release_file,
    tables_of_the_attacks,
    text_of,
    written,
)
from outcomes import ROOT, newest_manifest, scorecard_of
from release_files import write_release

from flows.cli import app
from flows.cli.check import print_plan
from flows.cli.sweep.group import RUN, FileOrCommand
from flows.release_file import load_draft
from flows.sweep.spec import load_sweep
from flows.watch.spec import load_watch
from tasks.microdata.document import read_document

EXAMPLES = blocks("yaml")
ATTACKS = [text for page, text in EXAMPLES if page == "docs/ATTACKS.md"]


def whole_file(folder):
    """The first example of the page on attacks, as plain values: what the others leave to it."""
    path = folder / "whole.yaml"
    path.write_text(ATTACKS[0])
    return {"not_limited": BASE["not_limited"], **read_document(path).content}


@pytest.mark.parametrize(("page", "text"), EXAMPLES, ids=[f"{page}-{i}" for i, (page, _) in enumerate(EXAMPLES)])
def test_every_example_is_read(tmp_path, page, text):
    (tmp_path / "isco-1-digit.csv").write_text("old,new\n11,1\n")
    write_release(tmp_path).rename(tmp_path / "staff.yaml")
    path = tmp_path / "example.yaml"
    if "look_at:" in text:
        path.write_text(text)
        assert load_watch(path).spec.name == "staff"
    elif "pipelines:" in text:
        named = text.replace("params/releases", str(ROOT / "params" / "releases"))
        path.write_text(named.replace("base: release.yaml", "base: staff.yaml"))
        assert load_sweep(path).spec.name == "my-sweep"
    else:
        assert load_draft(written(tmp_path, text, BASE)).policy


def test_the_release_file_of_the_page_fits_a_table_as_it_describes(tmp_path, capsys):
    table_of_the_release_file(tmp_path)
    (text,) = (text for page, text in EXAMPLES if page == "docs/RELEASE_FILE.md" and "person_id" in text)
    assert print_plan(written(tmp_path, text, BASE)) == 0
    assert "born                 quasi_identifier  date" in capsys.readouterr().out


@pytest.mark.parametrize("i", range(3))
def test_the_examples_of_attacks_fit_a_table_without_a_warning(tmp_path, capsys, i):
    tables_of_the_attacks(tmp_path)
    assert print_plan(written(tmp_path, ATTACKS[i], whole_file(tmp_path))) == 0
    assert "warning" not in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.parametrize("i", [0, 2])
def test_the_examples_of_attacks_are_certified_and_each_attack_answers(sdcert, tmp_path, i):
    tables_of_the_attacks(tmp_path)
    ran = sdcert("certify", written(tmp_path, ATTACKS[i], whole_file(tmp_path)), "--output", tmp_path / "releases")
    assert ran.code == 0, ran.err
    found = scorecard_of(tmp_path, newest_manifest())["estimates"]
    of_declared = [one for one in found if (one["measure"], one["intruder"]) == ("reidentification", "declared")]
    silent = {one["attack"] for one in of_declared if one["status"] != "ok"}
    assert silent == {0: set(), 2: {"transparency"}}[i]  # a partition cannot be repeated from a half of the records
    assert len(of_declared) == {0: 8, 2: 3}[i]


def test_every_command_is_one_and_has_its_options():
    seen = 0
    for page, text in blocks("sh", "console"):
        for words in commands(text):
            here, rest = typer.main.get_command(app), words
            while rest and rest[0] in getattr(here, "commands", {}):
                here, rest = here.commands[rest[0]], rest[1:]
            here = here.commands[RUN] if isinstance(here, FileOrCommand) else here  # `sdcert sweep FILE`
            assert not hasattr(here, "commands"), (page, words)
            known = {option for parameter in here.params for option in (*parameter.opts, *parameter.secondary_opts)}
            assert {word for word in rest if word.startswith("-")} <= known, (page, words)
            seen += 1
    assert seen > 30


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_to_a_file_and_a_heading(page):
    for target in re.findall(r"\]\(([^)]+)\)", text_of(page)):
        file, _, place = target.partition("#")
        if "://" in target:
            continue
        path = (ROOT / page).parent / file if file else ROOT / page
        assert path.exists(), target
        headings = re.findall(r"^#+ (.+)$", path.read_text() if place else "", re.MULTILINE)
        assert not place or place in map(anchor, headings), target
    assert text_of(page).count("<details>") == text_of(page).count("</details>")


def test_every_page_of_docs_is_linked_from_the_readme():
    index = "docs/decisions/README.md"
    assert all(f"]({page})" in text_of(README) for page in (*SUBJECTS, index))
    assert all(f"]({Path(page).name})" in text_of(index) for page in DECISIONS if page != index)


@pytest.mark.slow
def test_the_notebook_of_the_contributors_page_runs(capsys, monkeypatch):
    (code,) = (text for page, text in blocks("python") if page == "CONTRIBUTING.md")
    monkeypatch.chdir(ROOT)
    exec(compile(code, "CONTRIBUTING.md", "exec"), {})  # noqa: S102  # our own page
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [words[:2] for words in printed] == [["distance_linkage", "ok"], ["transparency", "ok"]]
    assert all(0 < float(words[2]) < 0.12 for words in printed)


def test_the_readme_is_short():
    assert len(text_of(README).split()) < 1400
