"""`sdcert compare`: runs side by side, their public figures alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import TypeAdapter
from rich.cells import cell_len

from flows.cli import run
from flows.cli.compare.spec_differences import describe_masking, list_differences
from tasks.microdata.estimate import Estimate


def estimate(measure: str, value: float, unit: str = "share", **fields: Any) -> Estimate:
    return Estimate(measure=measure, value=value, low=value, high=value, unit=unit, **fields)


def estimates(rate: float, sse: float, attribute: str = "age") -> list[Estimate]:
    return [
        estimate("reidentification", rate, attack="distance_linkage", intruder="declared"),
        estimate("reidentification", rate + 0.123456, attack="transparency", intruder="declared"),
        estimate("reidentification", 0.9, attack="transparency", intruder="insider:vote"),
        estimate("k_anonymity", 3, "records"),
        estimate("sse_percent", sse, "percent"),
        estimate("sse_percent", sse, "percent", attribute=attribute),
        estimate("cells_changed", 0.5, attribute=attribute),
        estimate("mean_difference", 0.123456789, "sd", attribute=attribute),
    ]


def criterion(value: float) -> dict[str, Any]:
    fields = {"attack": "transparency", "intruder": "declared", "attribute": None, "p_percent": None, "reason": "", "line": 0}
    decided = {"direction": "at_most", "limit": 0.3, "deciding_bound": "value", "deciding_value": value, "decision": "pass"}
    return {"measure": "reidentification", "estimate": "", **fields, **decided}


@pytest.fixture
def keep(home):
    """`keep(run, ...)` leaves a run in the private folder, as a certified release does."""

    def call(name: str, rate: float = 0.1, sse: float = 20.0, **facts: Any) -> None:
        folder = home / "runs" / name
        folder.mkdir(parents=True)
        found = estimates(rate, sse, facts.pop("attribute", "age"))
        masking = [{"method": "microaggregation", "attributes": ["age"], "k": facts.pop("k", 10), "blocks": None}]
        declared = [{"name": facts.pop("column", "age"), "role": "quasi_identifier", "scale": "numeric"}]
        source = {"table": "/secret/place.csv"}
        manifest = {
            "run": name,
            "release": "survey",
            "series": "survey",
            "status": "finished",
            "started_at": "2026-11-01T00:00:00+00:00",
            "process": 1,
            "host": "elsewhere",
            "seed": "5eed" * 16,
            "spec": {"name": "r", "seed": 123456789, "source": source, "attributes": declared, "masking": masking},
            "stages": {"ingest": {"cached": False, "produced": {"data": "table:0"}}},
            "criteria": [criterion(rate + 0.123456)],
            "verdict": "certified",
            **facts,
        }
        (folder / "manifest.json").write_text(json.dumps({k: v for k, v in manifest.items() if v is not None}))
        figures = [{**json.loads(TypeAdapter(Estimate).dump_json(one)), "parameters": dict(one.parameters)} for one in found]
        (folder / "scorecard.json").write_text(json.dumps({"estimates": figures}))

    return call


def test_two_runs_side_by_side(keep, capsys):
    keep("20261101T000000Z-aaaaaa", 0.1, 20.0, k=10)
    keep("20261102T000000Z-bbbbbb", 0.05, 30.0, k=20)
    assert run(["compare", "20261101T000000Z-aaaaaa", "20261102"]) == 0
    out = capsys.readouterr().out
    assert "A  20261101T000000Z-aaaaaa  survey  CERTIFIED" in out
    rows = [" ".join(text.split()) for text in out.splitlines()]
    assert "reidentification, declared intruder 22.3 % 17.3 % *" in rows
    assert "sse_percent 20 % * 30 %" in rows
    assert "k_anonymity 3 records 3 records" in rows
    assert "masking[0].k: A 10, B 20" in out


def test_the_worst_over_the_attacks_is_shown_and_public_figures_alone(keep, capsys):
    keep("20261101T000000Z-aaaaaa", 0.1)
    keep("20261102T000000Z-bbbbbb", 0.05)
    assert run(["compare", "20261101", "20261102", "--json"]) == 0
    out = capsys.readouterr().out
    content = json.loads(out)
    worst = next(row for row in content["risks"] if row["what"].endswith("worst insider"))
    assert worst["values"] == [0.9, 0.9]
    assert worst["best"] == []
    assert not any(secret in out for secret in ("0.123456789", "5eed", "123456789", "/secret"))


def test_a_lower_bound_says_so_and_is_not_called_the_best(keep, home, capsys):
    for name, bound in (("20261101T000000Z-aaaaaa", True), ("20261102T000000Z-bbbbbb", False)):
        decided = criterion(0.26) | {"lower_bound": bound}
        keep(name, criteria=[decided])
        status = {"status": "not_followed", "high": 1.0} if bound else {}
        figure = estimate("reidentification", 0.26 if bound else 0.5, attack="consistency", intruder="declared")
        plain = {**json.loads(TypeAdapter(Estimate).dump_json(figure)), "parameters": {}, **status}
        (home / "runs" / name / "scorecard.json").write_text(json.dumps({"estimates": [plain]}))
    assert run(["compare", "20261101", "20261102"]) == 0
    out = " ".join(capsys.readouterr().out.replace("\u202f", " ").split())
    assert "reidentification, declared intruder at least 26 % 50 %" in out
    assert "not compared: a lower bound" in out
    assert "26 % *" not in out
    assert run(["compare", "20261101", "20261102", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["risks"][0]["lower_bounds"] == said["policy"][0]["lower_bounds"] == [0]


def test_a_share_of_people_is_shown_on_its_side_of_the_limit(keep, home, capsys):
    """0.26 of 100 people is in the class that is shown as 30 of them, and 0.28 is a limit that it keeps."""
    line = {"measure": "reidentification", "at_most": 0.28}
    name = "20261101T000000Z-aaaaaa"
    for run_name, limit in ((name, 0.28), ("20261102T000000Z-bbbbbb", 0.3)):
        spec = {"name": "r", "policy": [line | {"at_most": limit}], "masking": [], "attributes": [], "source": {}}
        decided = criterion(0.26) | {"limit": limit, "estimate": "reidentification|transparency|declared"}
        keep(run_name, spec=spec, criteria=[decided])
        figure = estimate("reidentification", 0.26, attack="transparency", intruder="declared", n_targets=100, n_in_release=100)
        content = {"estimates": [{**json.loads(TypeAdapter(Estimate).dump_json(figure)), "parameters": []}]}
        content["estimates"][0]["parameters"] = {}
        (home / "runs" / run_name / "scorecard.json").write_text(json.dumps(content | {"criteria": [decided]}))
    assert run(["compare", "20261101", "20261102", "--json"]) == 0
    (row,) = [
        row for row in json.loads(capsys.readouterr().out)["risks"] if row["what"].startswith("reidentification, declared")
    ]
    assert row["values"] == [0.28, 0.3]


def test_losses_over_other_attributes_are_not_ranked(keep, capsys):
    keep("20261101T000000Z-aaaaaa", 0.1, 20.0)
    keep("20261102T000000Z-bbbbbb", 0.1, 30.0, attribute="pay")
    assert run(["compare", "20261101", "20261102"]) == 0
    out = capsys.readouterr().out
    assert "Losses (not compared: other attributes are masked)" in out
    assert "20\u202f% *" not in out


def test_other_data_are_told(keep, capsys):
    keep("20261101T000000Z-aaaaaa")
    keep("20261102T000000Z-bbbbbb", stages={"ingest": {"cached": False, "produced": {"data": "table:1"}}})
    run(["compare", "20261101", "20261102"])
    assert "the source tables differ" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("tables", "files", "told"),
    [
        ((0, 0), (0, 0), None),
        ((0, 0), (0, 1), None),
        ((0, 1), (0, 0), "the source is the same, but it was read into different tables"),
        ((0, 1), (0, 1), "different data"),
        ((0, 1), (None, None), "different data"),
    ],
)
def test_only_other_data_are_called_different(keep, capsys, tables, files, told):
    for day, (table, file) in enumerate(zip(tables, files, strict=True), 1):
        stages = {"ingest": {"cached": False, "produced": {"data": f"table:{table}"}}}
        inputs = {} if file is None else {"ingest": ["record:plan", f"keyed:{file}"]}
        keep(f"2026110{day}T000000Z-aaaaaa", stages=stages, inputs=inputs)
    run(["compare", "20261101", "20261102"])
    out = capsys.readouterr().out
    both = ("read into different tables", "different data")
    assert [words for words in both if words in out] == [words for words in both if words in (told or "")]


def test_a_step_with_a_mapping_for_each_attribute_is_a_sentence():
    recode = {"OCCUPATION": {"intervals": None, "map": [["secret", "x"]], "others": "refuse"}, "age": {"publish": "mean"}}
    step = {"method": "recoding", "attributes": None, "by": None, "recode": recode}
    assert describe_masking({"masking": [step]}) == [
        "recoding of 2 attributes, recode OCCUPATION (others refuse); age (publish mean)"
    ]
    rounding = {"method": "rounding", "attributes": None, "base": {"age": 5.0}}
    assert describe_masking({"masking": [rounding]}) == ["rounding of 1 attribute, base age (5)"]
    grouping = {"method": "microaggregation", "attributes": None, "k": 5}
    assert describe_masking({"masking": [grouping]}) == ["microaggregation of all fitting quasi-identifiers, k 5"]


def test_a_line_that_one_run_lacks_is_a_dash(keep, capsys):
    keep("20261101T000000Z-aaaaaa")
    keep("20261102T000000Z-bbbbbb", criteria=[])
    assert run(["compare", "20261101", "20261102"]) == 0
    out = capsys.readouterr().out
    assert next(text for text in out.splitlines() if text.startswith("reidentification: at most")).split()[-1] == "-"


@pytest.mark.parametrize(("runs", "width"), [(2, 80), (6, 80), (6, 120)])
def test_the_tables_fit_the_terminal(runs, width, keep, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    for number in range(runs):
        keep(f"2026110{number}T000000Z-aaaaa{number}", 0.1 + number / 100, 20.0 + number, k=10 + number)
    assert run(["compare", *(f"2026110{number}" for number in range(runs))]) == 0
    out = capsys.readouterr().out
    assert max(cell_len(text) for text in out.split("The release files")[0].splitlines()) <= width
    assert "22.3\u202f% *" in out


def test_names_are_plain_text(keep, capsys):
    keep("20261101T000000Z-aaaaaa", column="[bold]x[/bold]\x1b[31m\n:smile:")
    keep("20261102T000000Z-bbbbbb", column="age")
    run(["compare", "20261101", "20261102"])
    out = capsys.readouterr().out
    assert "attributes.[bold]x[/bold]\\x1b[31m\\n:smile:.role: A quasi_identifier, B -" in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["20261101"], "One run cannot be compared"),
        (["20261101", "20261101T000000Z-aaaaaa"], "mean the same run"),
        (["20261101", "survy"], "did you mean `survey`?"),
        (["20261101", "2026110"], "runs begin so"),
        (["20261101", "20261103"], "it is failed"),
        (["20261101", "20261104"], "it is ended by force"),
        (["20261101", "survey"], "an earlier run: 20261102T000000Z-bbbbbb"),
        (["20261101", ""], "no such run"),
    ],
)
def test_a_run_that_cannot_be_compared_gets_one_message(words, says, keep, capsys):
    import socket

    keep("20261101T000000Z-aaaaaa")
    keep("20261102T000000Z-bbbbbb")
    keep("20261103T000000Z-cccccc", verdict=None, status="failed")
    keep("20261104T000000Z-dddddd", verdict=None, status="running", host=socket.gethostname(), process=2**22 + 1)
    assert run(["compare", *words]) == 2
    captured = capsys.readouterr()
    assert says in captured.err
    assert captured.err.startswith("error: ")
    assert captured.out == ""


def test_a_damaged_scorecard_is_told(keep, home, capsys):
    keep("20261101T000000Z-aaaaaa")
    keep("20261102T000000Z-bbbbbb")
    (home / "runs" / "20261102T000000Z-bbbbbb" / "scorecard.json").write_text("{")
    assert run(["compare", "20261101", "20261102"]) == 2
    assert "gone or damaged" in capsys.readouterr().err


def test_differences_by_hand():
    def spec(role: str, limit: float, names: list[str]) -> dict[str, Any]:
        policy = [{"measure": "m", "at_most": limit}]
        return {"attributes": [{"name": "a", "role": role}], "policy": policy, "masking": [{"attributes": names}]}

    one, two = spec("weight", 0.1, ["a", "b"]), spec("other", 0.2, ["a", "c"])
    assert list_differences([one, two]) == [
        "attributes.a.role: A weight, B other",
        "policy[0].at_most: A 0.1, B 0.2",
        "masking[0].attributes: only A has b; only B has c",
    ]
    assert list_differences([one, one]) == []
