"""Names that a reader of the field can search for: functions are verbs, and a class name stands for one thing.

At most 4 % of the functions are named by a participle and 2 % by a preposition, and no class name is defined in two rooms.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PARTICIPLES = """
told said made kept found shown given held drawn written known taken seen sent built brought caught chosen dealt done fed gone
grown laid led lost meant met paid sold spent stood struck sworn thought thrown understood won worn begun borne bound broken
"""
VERBS = "need embed feed seed speed exceed proceed succeed shed bed bleed breed"
PREPOSITIONS = """
of by in on with at beside within without among between beyond under over before after whose whence elsewhere
"""
MOST = {"participle": 0.04, "preposition": 0.02}


def classify_name(name: str) -> str:
    """`participle`, `preposition` or `fine`, by the first word of a function's name."""
    word = name.strip("_").split("_")[0]
    if word in PREPOSITIONS.split():
        return "preposition"
    is_participle = word in PARTICIPLES.split() or (word.endswith("ed") and len(word) > 3 and word not in VERBS.split())
    return "participle" if is_participle else "fine"


@pytest.fixture(scope="module")
def definitions() -> list[tuple[Path, ast.stmt]]:
    """Every function and class of the production code, with its file."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    files = [path for room in ("flows", "tasks") for path in sorted((ROOT / room).rglob("*.py"))]
    return [(path, one) for path in files for one in ast.walk(ast.parse(path.read_text())) if isinstance(one, kinds)]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("_told", "participle"),
        ("masked_table", "participle"),
        ("of", "preposition"),
        ("_with_names", "preposition"),
        ("need_key", "fine"),
        ("read_table", "fine"),
        ("from_columns", "fine"),
    ],
)
def test_the_rule(name, kind):
    assert classify_name(name) == kind


@pytest.mark.parametrize("kind", list(MOST))
def test_few_functions_are_named_by(kind, definitions):
    names = [one.name for _, one in definitions if not isinstance(one, ast.ClassDef) and not one.name.startswith("__")]
    assert len(names) > 4_000
    assert sum(classify_name(name) == kind for name in names) / len(names) <= MOST[kind]


def test_no_class_name_stands_for_two_things(definitions):
    rooms = defaultdict(set)
    for path, one in definitions:
        if isinstance(one, ast.ClassDef):
            rooms[one.name].add(path.relative_to(ROOT).parts[:2])
    assert not [name for name, places in rooms.items() if len(places) > 1]
