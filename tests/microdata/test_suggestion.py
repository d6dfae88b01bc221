"""Names that somebody probably meant: near ones are suggested, and others are not."""

from __future__ import annotations

import pytest

from flows.cli import run
from tasks.microdata.suggestion import did_you_mean, did_you_mean_file

FILES = ("anes96.yaml", "anes96-refused.yaml", "census.yaml", "survey.yml", "survey.csv")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("anes69.yaml", "anes96.yaml"),
        ("anes96_refused.yaml", "anes96-refused.yaml"),
        ("Census.YAML", "census.yaml"),
        ("surevy.csv", "survey.csv"),
        ("survey.yaml", "survey.yml"),
        ("nosuch.yaml", None),
        ("senses.yaml", None),
        ("x.yaml", None),
        ("", None),
    ],
)
def test_files_are_compared_without_the_suffix_that_most_of_them_share(name, meant):
    assert did_you_mean_file(name, FILES, "check the path") == (
        "check the path" if meant is None else f"did you mean `{meant}`?"
    )


def test_other_names_are_compared_as_a_whole():
    assert did_you_mean("Incme", ("age", "income"), "check the name") == "did you mean `income`?"
    assert did_you_mean("town", ("age", "income"), "check the name") == "check the name"


def test_a_release_file_that_is_not_there_is_not_taken_for_another(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in FILES:
        (tmp_path / name).touch()
    assert run(["certify", "nosuch.yaml"]) == 2
    assert "did you mean" not in capsys.readouterr().err
    assert run(["certify", "anes69.yaml"]) == 2
    assert "did you mean `anes96.yaml`?" in capsys.readouterr().err
