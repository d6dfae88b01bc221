"""Names and categories that try to be something else come out of every stage inert and correct."""

import csv
import io
import json
from collections import Counter
from html.parser import HTMLParser

import numpy as np
import pytest
from outcomes import folder_of, newest_manifest, statement_in
from release_files import write_release

pytestmark = pytest.mark.drawn

ROWS = 120
NAMES = {
    "html": '<script>alert("1")</script>',
    "quotes": "a \"quoted\" 'name', with a comma",
    "formula": '=HYPERLINK("x")',
    "right to left": "\u202egnirts\u202c \u05d0\u05d1",
    "long": "n" * 300,
    "emoji": "\U0001f469\u200d\U0001f52c {{ 7 * 7 }} ${jndi}",
    "newline": "two\nlines %s $x^2$ {0.x} {",
}
CATEGORIES = ("<img src=x onerror=alert(1)>", "=1+1", '"', "two\nlines", "\u202edesrever", "\U0001f600" * 3, "&amp;", "c" * 300)


@pytest.fixture(scope="module")
def text():
    """Four columns of numbers and three of categories under hostile names."""
    rng = np.random.default_rng(5)
    names = list(NAMES.values())
    columns = [rng.integers(0, 40, ROWS) for _ in names[:4]] + [rng.choice(CATEGORIES, ROWS) for _ in names[4:]]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(zip(*columns, strict=True))
    return buffer.getvalue()


def release():
    html, quotes, formula, hebrew, long, emoji, newline = NAMES.values()
    numbers = {name: {"role": "quasi_identifier", "scale": "numeric"} for name in (html, quotes, formula, hebrew)}
    return {
        "key": None,
        "attributes": {
            **numbers,
            long: {"role": "quasi_identifier", "scale": "nominal"},
            emoji: {"role": "quasi_identifier", "scale": "nominal"},
            newline: {"role": "confidential", "scale": "nominal"},
        },
        "masking": [
            {"method": "microaggregation", "attributes": [html, quotes], "k": 4},
            {"method": "rank_swapping", "attributes": [formula, hebrew], "window_percent": 10.0},
            {"method": "pram", "attributes": [long], "retention": 0.7},
        ],
        "policy": [{"measure": "reidentification", "at_most": 1.0}],
        "not_for_publication": True,
        "context": {"purpose": CATEGORIES[0], "unit": CATEGORIES[3]},
    }


class Page(HTMLParser):
    """The elements of a page and their texts."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.elements, self.attributes, self.text = Counter(), [], []

    def handle_starttag(self, tag, attrs):
        self.elements[tag] += 1
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data):
        self.text.append(data)


def test_they_come_out_inert_and_correct(sdcert, tmp_path, text):
    path = write_release(tmp_path / "project", release(), text=text)
    ran = sdcert("certify", path, "--output", tmp_path / "releases")
    assert ran.code == 0, ran.err
    folder = folder_of(tmp_path, newest_manifest())

    rows = list(csv.reader(io.StringIO((folder / "released.csv").read_text(), newline="")))
    source = list(csv.reader(io.StringIO(text, newline="")))
    assert rows[0] == list(NAMES.values())
    assert len(rows) == len(source)
    for column in (2, 3, 5, 6):  # a swap and no mask keep the multiset of a column
        assert Counter(row[column] for row in rows[1:]) == Counter(row[column] for row in source[1:])
    assert {row[4] for row in rows[1:]} <= set(CATEGORIES)

    for report in (folder / "report.html", *newest_private("report-internal.html")):
        page = Page()
        page.feed(report.read_text())
        assert page.elements["script"] == page.elements["img"] == 0
        assert not [name for name in page.attributes if name.startswith("on")]
        assert "49" not in [word for part in page.text for word in part.split() if "7 * 7" in part]
        assert any('<script>alert("1")</script>' in part for part in page.text)

    scorecard = json.loads((folder / "scorecard.json").read_text())
    assert {figure["attribute"] for figure in scorecard["estimates"]} >= set(list(NAMES.values())[:5])
    statement = statement_in(folder)
    assert {one["name"] for one in statement["predicate"]["attributes"]} == set(NAMES.values())
    assert "\x1b" not in ran.out + ran.err


def newest_private(name):
    from tasks.runtime.settings import Home

    return [Home.current().root / "runs" / newest_manifest()["run"] / name]


@pytest.mark.parametrize("command", ["check", "runs"])
def test_the_other_commands_print_them_as_they_are(sdcert, tmp_path, text, command):
    path = write_release(tmp_path / "project", release(), text=text)
    ran = sdcert(command, *([path] if command == "check" else []))
    assert ran.code == 0, ran.err
    if command == "check":
        assert "<script>" in ran.out


def test_a_draft_of_them_masks_them_together_and_fits(home, tmp_path, monkeypatch, text, capsys):
    from flows.cli import run
    from tasks.microdata.document import read_document

    monkeypatch.chdir(tmp_path)
    (tmp_path / "hostile.csv").write_text(text, encoding="utf-8")
    assert run(["init", "hostile.csv"]) == 0
    (step,) = read_document(tmp_path / "hostile.yaml").content["masking"]
    taken = [name for key, name in NAMES.items() if key != "quotes"]  # a `name` of nobody knows what: an identifier
    assert (step["method"], step["attributes"]) == ("microaggregation", taken)
    out = capsys.readouterr().out
    assert not {c for c in out if not c.isprintable()} - {"\n"}
    assert not any(category in out for category in CATEGORIES if len(category) > 3)
