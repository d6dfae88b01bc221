"""Names that a reader of the field can search for: functions are verbs, and a name means one thing.

At most 4 % of the functions are named by a participle and 2 % by a preposition. A class, an alias of a type, a function that
other rooms import, and a module have a name that no other room uses, but for those listed here, which mean the same everywhere.
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
SAME_MEANING = {
    "class": "Microaggregation Noise RankJitter RankSwapping Rounding TopBottomCoding",  # masks, and as transformers
    "alias": "Decision Environment Floats Outputs Steps",
    "function": "adopt attack decide describe mask refuse_silence score",  # of tables, and of data frames
    # commands, and what they run; what each stage has; parts of a release kind; measures or figures, and their chart or chapter
    "module": """base masked_table synthetic_table backup calibrate certify keys promote quarantine replay run serve
        methods outputs plan spec task
        inference membership missing_limits model singling_out subgroups units waterfall""",
}
MOST = {"participle": 0.04, "preposition": 0.02}


def classify_name(name: str) -> str:
    """`participle`, `preposition` or `fine`, by the first word of a function's name."""
    word = name.strip("_").split("_")[0]
    if word in PREPOSITIONS.split():
        return "preposition"
    is_participle = word in PARTICIPLES.split() or (word.endswith("ed") and len(word) > 3 and word not in VERBS.split())
    return "participle" if is_participle else "fine"


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    """The production code, by file."""
    files = [path for room in ("flows", "sdcert", "tasks") for path in sorted((ROOT / room).rglob("*.py"))]
    return {path: ast.parse(path.read_text()) for path in files}


@pytest.fixture(scope="module")
def imported(trees) -> set[tuple[str, str]]:
    """Modules with the names that other rooms import from them."""
    return {one for path, tree in trees.items() for one in list_imports(find_room(path), tree)}


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
def test_few_functions_are_named_by(kind, trees):
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = [one.name for tree in trees.values() for one in ast.walk(tree) if isinstance(one, functions)]
    names = [name for name in found if not name.startswith("__")]
    assert len(names) > 4_000
    assert sum(classify_name(name) == kind for name in names) / len(names) <= MOST[kind]


def find_room(path: Path) -> tuple[str, ...]:
    return path.relative_to(ROOT).with_suffix("").parts[:2]


def list_aliases(tree: ast.Module) -> list[str]:
    """Names of the form `Name = ...` of a module."""
    assigned = [one.targets[0] for one in tree.body if isinstance(one, ast.Assign)]
    names = [one.id for one in assigned if isinstance(one, ast.Name)]
    return [name for name in names if name[0].isupper() and not name.isupper() and "_" not in name]


def list_imports(room: tuple[str, ...], tree: ast.Module) -> set[tuple[str, str]]:
    """Modules of other rooms with the names that this one imports from them."""
    found = [one for one in ast.walk(tree) if isinstance(one, ast.ImportFrom) and one.module]
    others = [one for one in found if tuple(str(one.module).split(".")[:2]) != room]
    return {(str(one.module), name.name) for one in others for name in one.names}


def list_names(kind: str, path: Path, tree: ast.Module, imported: set[tuple[str, str]]) -> list[str]:
    """The names of one kind that a file defines."""
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    match kind:
        case "class":
            return [one.name for one in ast.walk(tree) if isinstance(one, ast.ClassDef)]
        case "alias":
            return list_aliases(tree)
        case "function":
            return [one.name for one in tree.body if isinstance(one, ast.FunctionDef) and (module, one.name) in imported]
        case _:
            return [path.stem] if path.stem.strip("_") not in ("init", "main") else []


@pytest.mark.parametrize("kind", list(SAME_MEANING))
def test_no_name_means_two_things(kind, trees, imported):
    rooms = defaultdict(set)
    for path, tree in trees.items():
        for name in list_names(kind, path, tree, imported):
            rooms[name].add(find_room(path))
    assert sorted(name for name, found in rooms.items() if len(found) > 1) == sorted(SAME_MEANING[kind].split())
