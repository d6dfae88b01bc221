"""What the command line promises without running a release."""

import json
import subprocess
import sys

import jsonschema
import pytest
from outcomes import ROOT
from ruamel.yaml import YAML

HEAVY = ("prefect", "mlflow", "pandas", "sklearn", "great_expectations", "numba", "scipy")


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["certify", "--help"]])
def test_help_imports_nothing_heavy(words):
    code = f"import sys; from flows.cli import run; run({words!r}); print(sorted(set({HEAVY!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("path", sorted((ROOT / "params" / "releases").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_shipped_releases_fit_the_shipped_schema(path):
    schema = json.loads((ROOT / "params" / "schema" / "release.json").read_text())
    jsonschema.validate(YAML(typ="safe", pure=True).load(path), schema)


@pytest.mark.slow
def test_the_schema_refuses_what_the_models_refuse():
    schema = json.loads((ROOT / "params" / "schema" / "release.json").read_text())
    good = YAML(typ="safe", pure=True).load(ROOT / "params" / "releases" / "anes96.yaml")
    for change in ({"polcy": []}, {"masking": []}, {"policy": []}, {"name": "A b"}, {"publish": {"format": "xlsx"}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**good, **change}, schema)


def test_the_schema_knows_the_example_of_the_documentation():
    """Every field of a release file in one example."""
    from flows.release import ReleaseSpec

    schema = json.loads((ROOT / "params" / "schema" / "release.json").read_text())
    example = {
        "name": "household-2026",
        "series": "household",
        "source": {"table": "household.csv"},
        "key": "person_id",
        "attributes": {
            "age": {"role": "quasi_identifier", "scale": "numeric"},
            "vote": {"role": "confidential", "scale": "nominal"},
            "logpop": {"role": "derived", "from": ["popul"]},
        },
        "masking": [
            {"method": "microaggregation", "attributes": ["age", "income"], "k": 5},
            {"method": "rank_swapping", "attributes": ["popul"], "window_percent": 10},
        ],
        "intruder": {"knows": ["age", "income", "popul"], "targets": 1.0, "participation_known": True},
        "attacks": [{"method": "distance_linkage"}, {"method": "transparency", "id": "transparency-2"}],
        "omit": [],
        "measures": [{"measure": "rank_interval_disclosure", "p_percent": [5, 10]}],
        "policy": [{"measure": "reidentification", "at_most": 0.15}, {"measure": "sse_percent", "at_most": 40}],
        "context": {"environment": "public", "purpose": "teaching"},
        "publish": {"format": "csv"},
    }
    jsonschema.validate(example, schema)
    spec = ReleaseSpec.model_validate_json(json.dumps(example))
    assert spec == ReleaseSpec.model_validate_json(spec.model_dump_json(by_alias=True))
    assert hash(spec) == hash(ReleaseSpec.model_validate_json(json.dumps(example)))


@pytest.mark.parametrize(("words", "code"), [(["methods", "score"], 0), (["certify", "x.yaml"], 3)])
@pytest.mark.parametrize("gone", [BrokenPipeError(), SystemExit(1)], ids=["the system's", "rich's"])
def test_a_reader_who_left_is_not_told_that_a_release_is_good(monkeypatch, words, code, gone):
    from flows import cli

    def left(**_):
        raise gone

    monkeypatch.setattr(cli, "build_command", lambda: left)
    monkeypatch.setattr("sys.stdout", None)
    assert cli.run(words) == code


@pytest.mark.parametrize(
    ("words", "code"), [(["--show-completion"], 0), (["--install-completion"], 0), (["certify", "x.yaml"], 130)]
)
def test_the_end_of_completion_is_no_interruption_but_that_of_a_run_is(monkeypatch, capsys, words, code):
    from flows import cli

    def end(**_):
        raise SystemExit(0)

    monkeypatch.setattr(cli, "build_command", lambda: end)
    assert cli.run(words) == code
    assert ("interrupted" in capsys.readouterr().err) == (code == 130)


def test_ctrl_c_during_an_import_is_an_interruption(monkeypatch, capsys):
    from flows import cli

    class Interrupted:
        def __set_name__(self, owner, name):
            raise KeyboardInterrupt

    def importing(**_):
        type("Imported", (), {"attribute": Interrupted()})

    monkeypatch.setattr(cli, "build_command", lambda: importing)
    assert cli.run(["certify", "x.yaml"]) == 130
    assert "interrupted" in capsys.readouterr().err


@pytest.mark.parametrize("columns", ["0", "20", "300"])
def test_methods_are_readable_on_any_terminal(columns, monkeypatch, capsys):
    from flows import cli

    monkeypatch.setenv("COLUMNS", columns)
    assert cli.run(["methods", "mask"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 500
    assert max(map(len, lines)) <= max(60, int(columns))


def test_no_summary_of_a_command_is_cut(capsys):
    """Help is at most 80 columns wide, however wide the terminal is."""
    from flows import cli

    assert cli.run(["--help"]) == 0
    commands = capsys.readouterr().out.partition("Commands:")[2].splitlines()
    assert len(commands) > 20
    assert [line for line in commands if line.endswith("...")] == []
