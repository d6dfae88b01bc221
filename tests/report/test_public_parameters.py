"""What is told of a spec: the fields that are declared public, whatever part of a release file they stand in, and no other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import pytest
from pydantic import Field

from flows.release import ReleaseSpec
from flows.release_file import load_release
from flows.sweep.file import SweepSpec
from tasks.mask.external_release.released import FalseDeclaration, Synthetic, Undeclared
from tasks.mask.methods import Masking
from tasks.mask.step import MaskStep
from tasks.microdata.public_paths import cut_at_private, is_public_path, list_parts
from tasks.microdata.spec import Public, Spec, find_declaration
from tasks.report.mask_description import describe_mask
from tasks.report.page import Stamp
from tasks.report.predicate import LedgerClaim, MadeBy
from tasks.report.statement import create_predicate
from tasks.runtime.tracking_names import flatten_parameters

CANARY = "Mr Smith of Oslo"
STAMP = Stamp(run="run-1", issued_at=datetime(2026, 11, 21, tzinfo=UTC), attempts=1)
RECORDED = LedgerClaim(ledger="1" * 32, attempt_entry=4, attempt_digest="23" * 32, tree_size=5, root="45" * 32)
MADE_BY = MadeBy(version="0.1", code="67" * 32, lock="89" * 32, platform="0a" * 32, python="3.11.2")


def parts() -> tuple[type[Spec], ...]:
    """Every part of a release or sweep file, and what stands for the mechanism of a table that was masked elsewhere."""
    found: dict[type[Spec], None] = {}
    waiting: list[type[Spec]] = [ReleaseSpec, SweepSpec, Undeclared, FalseDeclaration, Synthetic]
    while waiting:
        part = waiting.pop()
        if part not in found:
            found[part] = None
            waiting += [one for field in part.model_fields.values() for one in list_parts(field.annotation)]
    return tuple(found)


PARTS = parts()
METHODS = tuple(part for part in PARTS if issubclass(part, MaskStep))


def leaves(annotation: Any) -> Iterator[Any]:
    """The types of the single values that a field can hold."""
    if get_origin(annotation) is Literal:
        yield type(get_args(annotation)[0])
    elif get_args(annotation):
        arguments = get_args(annotation)[:1] if get_origin(annotation) is Annotated else get_args(annotation)
        for argument in arguments:
            yield from leaves(argument)
    elif annotation is not ...:
        yield annotation


class Reversal(Undeclared):
    """A masking method as somebody writes it who thinks of its values alone: `pivot` names people and declares nothing."""

    method: Public[Literal["reversal"]] = "reversal"
    pivot: tuple[str, ...]
    inner: Public[tuple[Reversal, ...]] = ()


def outputs(steps: tuple[MaskStep, ...], content) -> str:
    """What the tracking server and the signed statement are told of masking steps."""
    release = ReleaseSpec.model_construct(name="r", masking=steps, policy=())
    touched = replace(content, mechanisms=steps)
    said = create_predicate(touched, STAMP, source_digest="ef" * 32, recorded=RECORDED, made_by=MADE_BY)
    return json.dumps([list(flatten_parameters(release.public())), said])


def test_a_new_method_tells_nothing_that_nobody_declared_public(certified):
    step = Reversal(attributes=("age",), pivot=(CANARY,), inner=(Reversal(attributes=("age",), pivot=(CANARY,)),))
    written = outputs((step,), certified)
    assert "reversal" in written
    assert CANARY not in written
    assert "pivot" not in written


def test_every_method_is_among_the_parts():
    members = set(get_args(get_args(Masking)[0]))
    assert members | {Undeclared, FalseDeclaration, Synthetic} == set(METHODS)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_private_fields_of_a_part_are_not_told(part):
    assert "public" not in vars(part), "what is public is declared on the fields, nowhere else"
    private = {name: CANARY for name, field in part.model_fields.items() if find_declaration(field) is None}
    others = dict.fromkeys(set(part.model_fields) - set(private))
    assert part.model_construct(**private, **others).public() == {}


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_a_public_field_holds_plain_values_or_parts_that_declare_theirs(part):
    for name, field in part.model_fields.items():
        if (mark := find_declaration(field)) is not None and mark.summarise is None:
            kinds = {kind for kind in leaves(field.annotation) if not issubclass(kind, Spec)}
            plain = {kind for kind in kinds if issubclass(kind, StrEnum)} | {str, int, float, bool, type(None)}
            assert kinds <= plain, f"{part.__name__}.{name}"


def test_a_public_field_of_another_kind_is_refused():
    class Folder(Spec):
        place: Public[Any] = Field(None)

    with pytest.raises(TypeError, match="does not say what of it is public"):
        Folder(place=Path("home")).public()


CHANCES = f'{{"{CANARY}": {{"{CANARY}": 0.9, other: 0.1}}, other: {{"{CANARY}": 0.1, other: 0.9}}}}'
RELEASE = f"""
name: survey
source: {{table: "{CANARY}.csv"}}
codebook: "{CANARY}.yaml"
control: {{table: "{CANARY}.csv"}}
attributes:
  town: {{label: Town, description: "{CANARY}", missing: ["{CANARY}"], categories: {{"a": "{CANARY}", "b": B}}}}
  age: {{scale: ordinal, order: ["{CANARY}", old], unit: years}}
  grade: {{categories: ["{CANARY}", other], hierarchy: {{"{CANARY}": all, other: all}}}}
expect:
- {{expect: in_set, attribute: town, values: ["{CANARY}"]}}
- {{expect: matches, attribute: town, pattern: "{CANARY}"}}
masking:
- {{method: recoding, recode: {{town: {{map: {{"{CANARY}": b}}, others: {{become: "{CANARY}"}}}},
                               age: {{intervals: ["{CANARY}"], values: ["{CANARY}", "{CANARY}"]}}}}}}
- {{method: recoding, recode: {{town: {{file: "{CANARY}.csv"}}}}}}
- {{method: top_bottom_coding, limits: {{age: {{top: "{CANARY}"}}}}}}
- {{method: top_bottom_coding, limits: {{age: {{bottom: "{CANARY}", publish: median}}}}}}
- {{method: pram, attributes: [vote], matrix: {CHANCES}}}
- {{method: pram, attributes: [vote], invariant: true, matrix: {CHANCES}}}
- {{method: pram, attributes: [vote], warner: {{p: 0.5, p_yes: 0.5, yes: "{CANARY}"}}}}
intruder:
  holds: {{grade: {{coarser: {{"{CANARY}": all, other: all}}}}}}
  files: [{{sql: "SELECT '{CANARY}'", url_env: CANARY_OF_THE_NAME, key: id, name: register}}]
attacks:
- {{method: distance_linkage}}
- {{method: distance_linkage, id: by_place, compare: {{grade: {{by: hierarchy, hierarchy: {{"{CANARY}": all, other: all}}}}}}}}
- {{method: transparency}}
- {{method: learned_linkage, compare: {{grade: {{by: hierarchy, hierarchy: {{"{CANARY}": all, other: all}}}}}}}}
policy: [{{measure: k_anonymity, at_least: 2}}]
"""


@pytest.fixture
def planted(tmp_path):
    path = tmp_path / "release.yaml"
    path.write_text(RELEASE)
    (tmp_path / f"{CANARY}.csv").write_text(f"old,new\n{CANARY},b\n")
    (tmp_path / f"{CANARY}.yaml").write_text(f"attributes: {{vote: {{description: '{CANARY}'}}}}\n")
    return load_release(path)


def test_categories_values_paths_and_queries_of_a_release_file_are_not_told(planted, certified):
    assert CANARY in planted.model_dump_json()
    said = json.dumps(list(flatten_parameters(planted.public())))
    assert CANARY not in said
    assert "CANARY_OF_THE_NAME" not in said
    words = [describe_mask(step, certified.schema) for step in planted.masking]
    rules = [step.rule for step in planted.masking]
    assert CANARY not in outputs(planted.masking, certified) + str(words) + str(rules)
    assert CANARY not in " ".join(step.describe_knowledge() or "" for step in planted.masking)
    shown = planted.public()["masking"]
    assert shown[0]["recode"]["town"] == {"categories": 1, "become": 1, "others": "become one category"}
    assert shown[2]["limits"] == {"age": {"top": "stated", "publish": "limit"}}
    assert shown[4]["matrix"] == "a matrix of 2 categories"


def test_a_method_that_leaves_a_question_of_risk_open_cannot_be_made():
    class Forgetful(MaskStep):
        method: Public[Literal["forgetful"]] = "forgetful"

    with pytest.raises(TypeError, match=r"moves_values.*no_attack_reason.*rule"):
        Forgetful()  # type: ignore[abstract]  # made on purpose


@pytest.mark.parametrize(
    ("path", "public"),
    [
        (("masking", 0, "k"), True),
        (("masking", 0, "bases", "age"), True),
        (("masking", 0, "limits", "age", "top_percent"), True),
        (("masking", 0, "limits", "age"), False),
        (("masking", 0, "limits", "age", "top"), False),
        (("masking", 0, "warner"), False),
        (("masking", 0, "nothing"), False),
        (("intruder", "targets"), True),
        (("intruder", "holds", "age"), False),
        (("seed",), False),
    ],
)
def test_a_path_is_public_if_every_field_on_it_and_below_it_is(path, public):
    assert is_public_path(ReleaseSpec, path) is public


def test_a_path_is_cut_after_its_first_private_field():
    assert cut_at_private(ReleaseSpec, ("intruder", "holds", "age", "coarser", CANARY)) == ("intruder", "holds")
    assert cut_at_private(ReleaseSpec, ("masking", 0, "k")) == ("masking", 0, "k")
