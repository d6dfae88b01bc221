from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import BeforeValidator, Field

from tasks.microdata.document import read_document, validate_document
from tasks.microdata.errors import InputError
from tasks.microdata.spec import Name, Percent, Spec


class Named(Spec):
    name: Name
    scale: Literal["numeric", "nominal"]


class Group(Spec):
    method: Literal["group"]
    k: Annotated[int, Field(ge=2)]
    over: tuple[Name, ...] = ()


class Swap(Spec):
    method: Literal["swap"]
    window_percent: Percent


Attributes = Annotated[
    tuple[Named, ...], BeforeValidator(lambda v: tuple({"name": k, **w} for k, w in v.items()) if isinstance(v, dict) else v)
]


class File(Spec):
    name: Name
    share: Annotated[float, Field(le=1)] = 1.0
    steps: Annotated[tuple[Annotated[Group | Swap, Field(discriminator="method")], ...], Field(min_length=1)]
    attributes: Attributes = ()


def read(tmp_path: Path, text: str) -> File:
    path = tmp_path / "f.yaml"
    path.write_text(text)
    return validate_document(File, read_document(path))


GOOD = "name: a\nsteps:\n  - {method: group, k: 3, over: [x, y]}\n"


def test_a_good_file(tmp_path):
    found = read(tmp_path, GOOD + "attributes:\n  age: {scale: numeric}\n")
    assert found == File(
        name="a", steps=(Group(method="group", k=3, over=("x", "y")),), attributes=(Named(name="age", scale="numeric"),)
    )
    assert hash(found) == hash(found.model_copy())


WRONG = {
    "duplicate key": ("name: a\nname: b\nsteps: [{method: group, k: 3}]", 2, "`name` stands twice"),
    "nested duplicate": ("name: a\nsteps:\n - method: group\n   k: 3\n   k: 4", 5, "stands twice"),
    "anchor": ("name: &n a\nsteps: [{method: group, k: 3}]", 1, "anchors"),
    "alias": ("name: &n a\nsteps: [{method: *n, k: 3}]", 1, "anchors"),
    "merge": ("base: &b {k: 3}\nname: a\nsteps: [{method: group, <<: *b}]", 1, "anchors"),
    "tag": ("name: !!python/object/apply:os.system ['true']\nsteps: []", 1, "no plain value"),
    "no as yaml 1.1": ("name: NO\nsteps: [{method: group, k: 3}]", 1, "different things"),
    "octal of yaml 1.1": ("name: a\nsteps: [{method: group, k: 012}]", 2, "different things"),
    "sexagesimal of yaml 1.1": ("name: 12:30\nsteps: [{method: group, k: 3}]", 1, "different things"),
    "underscore number": ("name: a\nsteps: [{method: group, k: 1_000}]", 2, "different things"),
    "nan": ("name: a\nshare: .nan\nsteps: [{method: group, k: 3}]", 2, "no plain value"),
    "infinity": ("name: a\nshare: .inf\nsteps: [{method: group, k: 3}]", 2, "no plain value"),
    "two documents": (GOOD + "---\nname: b\n", 1, "one mapping"),
    "list at the top": ("- a\n- b\n", 1, "one mapping"),
    "empty": ("", 1, "one mapping"),
    "key that is a number": ("name: a\n1: b\nsteps: [{method: group, k: 3}]", 2, "not a text"),
    "key that is a list": ("name: a\n? [x]\n: b\n", 2, "not a text"),
    "not yaml": ("name: [a\nsteps: }", 2, "not YAML"),
    "tab": ("name: a\n\tsteps: b", 2, "not YAML"),
    "unknown field": (GOOD + "nmae: b\n", 4, "unknown field `nmae`"),
    "unknown field in a step": ("name: a\nsteps:\n  - {method: group, k: 3, ovr: [x]}", 3, "unknown field `ovr`"),
    "unknown method": ("name: a\nsteps:\n  - {method: gruop, k: 3}", 3, "steps[0]"),
    "missing method": ("name: a\nsteps:\n  - {k: 3}", 3, "steps[0]"),
    "missing k": ("name: a\nsteps:\n  - {method: group}", 3, "steps[0].k"),
    "k too small": ("name: a\nsteps:\n  - {method: group, k: 1}", 3, "steps[0].k"),
    "k is true": ("name: a\nsteps:\n  - {method: group, k: true}", 3, "steps[0].k"),
    "k is a text": ('name: a\nsteps:\n  - {method: group, k: "3"}', 3, "steps[0].k"),
    "k is half": ("name: a\nsteps:\n  - {method: group, k: 3.5}", 3, "steps[0].k"),
    "percent above 100": ("name: a\nsteps:\n  - {method: swap, window_percent: 101}", 3, "steps[0].window_percent"),
    "no steps": ("name: a\nsteps: []", 2, "steps"),
    "steps missing": ("name: a", 1, "steps"),
    "attribute scale": (GOOD + "attributes:\n  age: {scale: nmeric}", 5, "attributes.age.scale"),
    "nested too deep": ("name: " + "[" * 40 + "]" * 40, 1, "deeper"),
    "nested endlessly": ("name: " + "[" * 200_000, 1, "deeper"),
    "an endless number": ("name: a\nsteps: [{method: group, k: " + "9" * 5000 + "}]", 2, "no plain value"),
    "a set": ("name: !!set {a, b}", 1, "tag"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_gets_one_message_with_its_line(tmp_path, case):
    text, line, words = WRONG[case]
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    message = str(caught.value)
    assert words in message, message
    assert f"f.yaml, line {line}" in message, message
    for part in ("where:", "allowed:", "to do:"):
        assert part in message


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (GOOD + "nmae: b\n", "did you mean `name`?"),
        ("name: a\nsteps:\n  - {method: gruop, k: 3}", "did you mean `group`?"),
        ("name: a\nsteps:\n  - {method: group, k: 3, ovr: [x]}", "did you mean `over`?"),
        (GOOD + "attributes:\n  age: {scael: numeric}", "did you mean `scale`?"),
    ],
)
def test_a_slip_of_the_pen_is_recognised(tmp_path, text, hint):
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert hint in str(caught.value)


def test_a_missing_file_names_the_yaml_file_beside_it(tmp_path):
    (tmp_path / "release.yaml").write_text(GOOD)
    (tmp_path / "relase.txt").write_text("nearer, and no release")
    with pytest.raises(InputError, match=r"did you mean `release\.yaml`"):
        read_document(tmp_path / "relase.yaml")


@pytest.mark.parametrize("content", [b"\xff\xfe\x00a", b"a" * 1_000_001])
def test_files_that_are_no_text_or_too_large(tmp_path, content):
    (tmp_path / "f.yaml").write_bytes(content)
    with pytest.raises(InputError):
        read_document(tmp_path / "f.yaml")


@pytest.mark.parametrize(
    ("name", "content"),
    [("t.csv", b"a,b\n1,2\n"), ("t.CSV", b"a: [\n"), ("t.parquet", b"PAR1\xff\xfe"), ("t.csv", b"1,2\n" * 300_000)],
)
def test_whoever_gives_the_table_itself_is_told_how_to_begin(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as refused:
        read_document(tmp_path / name)
    assert f"`sdcert init {name}`" in refused.value.remedy


def test_the_public_side_holds_no_value(tmp_path):
    with pytest.raises(InputError) as caught:
        read(tmp_path, "name: a\nsteps:\n  - {method: group, k: -77123}")
    assert "-77123" in str(caught.value)
    assert "-77123" not in caught.value.public


def test_a_percent_where_a_fraction_is_meant(tmp_path):
    with pytest.raises(InputError) as refused:
        read(tmp_path, GOOD + "share: 80\n")
    assert refused.value.remedy == "write a fraction: 80 percent is 0.8"
