from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from tasks.ingest.codebooks.categories import Category, CategoryTree, Hierarchy
from tasks.ingest.codebooks.codebook import AttributeSpec
from tasks.ingest.codebooks.codebook_file import Codebook, CodebookEntry, load_codebook, merge_codebook
from tasks.ingest.methods import IngestPlan, ingest
from tasks.ingest.sources import SourceSpec
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Role, Scale

WRITTEN = """\
title: A survey
attributes:
  age: {label: Age at interview, unit: years, missing: {"-9": refused}}
  opinion:
    label: Opinion of the service
    scale: ordinal
    order: ["1", "2", "3"]
    categories: {"1": low, "2": middle, "3": high}
  town:
    categories: [Oslo, Bergen, Malmo]
    hierarchy:
      - {Oslo: Norway, Bergen: Norway, Malmo: Sweden}
      - {Norway: Nordic, Sweden: Nordic}
  free:
"""
TREE: TypeAdapter[CategoryTree] = TypeAdapter(Hierarchy)


def codebook(tmp_path: Path, text: str = WRITTEN) -> Codebook:
    (tmp_path / "codebook.yaml").write_text(text)
    return load_codebook(tmp_path / "codebook.yaml")


def test_a_codebook_is_read(tmp_path: Path) -> None:
    found = codebook(tmp_path)
    assert found.label == "codebook.yaml"
    assert [entry.name for entry in found.entries] == ["age", "opinion", "town", "free"]
    entries = found.index_by_name()
    assert entries["age"] == CodebookEntry(name="age", label="Age at interview", unit="years",
                                   missing=(Category(code="-9", label="refused"),))  # fmt: skip
    assert entries["town"].valid == ("Oslo", "Bergen", "Malmo")
    assert entries["town"].hierarchy is not None
    assert entries["town"].hierarchy.ancestors(2) == dict.fromkeys(("Oslo", "Bergen", "Malmo"), "Nordic")


def test_the_release_file_wins_field_by_field(tmp_path: Path) -> None:
    declared = (AttributeSpec(name="opinion", role=Role.CONFIDENTIAL, label="Mine"), AttributeSpec(name="other"),
                AttributeSpec(name="age", missing=("-8",)))  # fmt: skip
    opinion, other, age, town, free = merge_codebook(declared, codebook(tmp_path))
    assert (opinion.role, opinion.label, opinion.order) == (Role.CONFIDENTIAL, "Mine", ("1", "2", "3"))
    assert other == AttributeSpec(name="other")
    assert (age.missing, age.unit, age.only_in) == (("-8",), "years", None)
    assert (town.name, town.only_in, free.only_in) == ("town", "codebook.yaml", "codebook.yaml")
    assert merge_codebook((opinion, other, age, town, free), codebook(tmp_path)) == (opinion, other, age, town, free)
    assert AttributeSpec.model_validate_json(town.model_dump_json(by_alias=True)) == town
    assert len({opinion, town, opinion}) == 2


def test_the_declarations_of_a_codebook_type_and_check_the_table(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("age,opinion,town,free\n30,1,Oslo,x\n-9,3,Malmo,\n")
    plan = IngestPlan(
        source=SourceSpec(table="a.csv").resolve_path(tmp_path), attributes=merge_codebook((), codebook(tmp_path))
    )
    found = ingest(IngestPlan.model_validate_json(plan.model_dump_json(by_alias=True)))
    assert found.data.arrow.to_pydict()["age"] == [30, None]
    age, opinion, town, free = found.report.columns
    assert (age.label, age.unit, age.n_categories) == ("Age at interview", "years", None)
    assert (opinion.logical_type, opinion.n_categories, town.n_categories, free.label) == ("string", 3, 3, None)


@pytest.mark.parametrize(
    ("cells", "codes", "fails"),
    [
        ("1\n2\n", ["1", "2"], False),
        ("1\n7\n", ["1", "2"], True),
        ("1.5\n2.5\n", ["1.5", "2.5"], False),
        ("a\nb\n", ["a"], True),
    ],
)
def test_values_outside_the_categories_are_counted_not_named(tmp_path: Path, cells: str, codes: list[str], fails: bool) -> None:
    (tmp_path / "a.csv").write_text(f"n\n{cells}")
    declared = AttributeSpec(name="n", categories=tuple(Category(code=code) for code in codes))
    plan = IngestPlan(source=SourceSpec(table="a.csv").resolve_path(tmp_path), attributes=(declared,))
    if not fails:
        assert [check.n_violations for check in ingest(plan).report.checks] == [0, 0]
        return
    with pytest.raises(InputError) as caught:
        ingest(plan)
    assert caught.value.code == "expectation-failed"
    assert "1 rows fail, first 2" in caught.value.what
    assert "7" not in caught.value.what


def test_a_flat_hierarchy_means_the_same_as_its_levels() -> None:
    flat = TREE.validate_json('{"Oslo": "Norway", "Norway": "Nordic", "Malmo": "Sweden", "Sweden": "Nordic"}')
    levels = TREE.validate_json('[{"Oslo": "Norway", "Malmo": "Sweden"}, {"Norway": "Nordic", "Sweden": "Nordic"}]')
    assert flat == levels
    assert flat.ancestors(0) == {"Oslo": "Oslo", "Malmo": "Malmo"}
    assert flat.ancestors(1) == {"Oslo": "Norway", "Malmo": "Sweden"}
    with pytest.raises(IndexError):
        flat.ancestors(3)


def test_one_name_may_stand_at_two_levels_of_a_list() -> None:
    tree = TREE.validate_json('[{"New York": "New York", "Buffalo": "New York"}, {"New York": "USA"}]')
    assert tree.ancestors(2) == {"New York": "USA", "Buffalo": "USA"}


@given(st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=4))
def test_trees_keep_every_category_at_every_level(parents: list[list[int]]) -> None:
    """Random trees of levels 4 wide, written flat; the ancestors are found by walking up, slowly."""
    used, edges = range(4), []
    for level, chosen in enumerate(parents):
        edges += [(f"{level}.{child}", f"{level + 1}.{chosen[child]}") for child in used]
        used = sorted({chosen[child] for child in used})
    tree = TREE.validate_python(dict(edges))
    assert TREE.validate_json(TREE.dump_json(tree)) == tree
    for category, ancestor in tree.ancestors(len(parents)).items():
        here = category
        for _ in parents:
            here = dict(edges)[here]
        assert here == ancestor


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": "b", "b": "a"}', "cycle"),
        ('{"a": "a"}', "cycle"),
        ('{"a": "b", "b": "c", "d": "c"}', "fewer ancestors"),
        ('[{"a": "x"}, {"y": "z"}]', "every category needs a parent"),
        ('[{"a": "x", "b": "y"}, {"x": "z"}]', "every category needs a parent"),
        ('[{"a": "x"}, {}]', "at least one level"),
        ("[]", "at least one level"),
        ("{}", "at least one level"),
        ('{"a": 1}', "string"),
        ("7", "mapping"),
    ],
)
def test_what_is_no_hierarchy(text: str, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        TREE.validate_json(text)


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"scale": Scale.NOMINAL}, "ordinal"),
        ({"missing": ("3",)}, "missing"),
        ({"categories": (Category(code="1"), Category(code="2"))}, "different codes"),
    ],
)
def test_a_contradiction_names_both_sides(tmp_path: Path, declared: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        merge_codebook((AttributeSpec.model_validate({"name": "opinion", **declared}),), codebook(tmp_path))
    assert (caught.value.code, caught.value.where) == ("contradictory-codebook", "attributes.opinion")
    assert "codebook.yaml" in caught.value.what
