"""Inputs that are wrong on purpose, drawn by a seed: tables, release files, and private folders that something damaged."""

from __future__ import annotations

import copy
import csv
import gzip
import io
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from release_files import RELEASE, survey

Rng = np.random.Generator

NUMBERS = (
    "0 -0 1e308 -1.7976931348623157e308 1e309 5e-324 1e-320 9007199254740993 -9223372036854775808 18446744073709551616 0.1 1,5 "
    "1.5.2 +3 \u0663 0x10 1_000 NaN inf -inf 1e 00012 1e400 " + "1" * 400
).split()
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "cp437", "shift_jis", "gb18030"]
# fmt: off
TEXTS = (
    "", " ", "NA", "null", "None", "=1+1", "{0.x}", "{{7*7}}", "%s", "$x^2$", "'; drop table runs; --", "<b>", "\u202eabc",
    "\x00", "\ufeff", "a\nb", "a\rb", '"', '""', "\t", "\u00e9", "e\u0301", "\U0001f600", "x" * 5000, "[red]", "../../etc",
    "2026-02-30", "1988-12-23T23:00:00-01:00", "|", "#", "\x1b[31m", "\ud7ff", "__all__", "true", "nan",
)
NAMES = (
    "", " ", "a", "A", "town{0.x}", "{data:>30}", "x" * 300, "a/b", "..", "|", "-rf", "score", "insider:x", "name\nline", "[0]",
    "\u202eabc", "$y$", "`x`", "id", "age ", "%d", "*", "\u00e9", "e\u0301", "None", "true", "1", "=cmd",
)
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 1e308, -1e308, float("nan"), float("inf"), 10**30, 0.5, "", " ", "x" * 3000, "{0.x}",
    "../../../etc/passwd", "/dev/zero", "/dev/stdin", "..", [], {}, [[]], {"a": {}}, ["age", "age"], "age", "quasi_identifier",
    "dataset:anes96", "2026-11-23", "1e3", "%s", "<script>", "\x00", [None], {"method": "pram"}, {"table": "survey.csv"}, "no",
    "0o7",
)
# fmt: on


@dataclass(frozen=True, slots=True)
class HostileTable:
    """A file that may or may not be a table. rows: what an independent reader finds in it, header first; None: unknown."""

    name: str
    content: bytes
    rows: list[list[str]] | None


def draw_table(rng: Rng) -> HostileTable:
    """A table with values, names, widths, encodings or bytes that are out of the ordinary."""
    rows = _draw_rows(rng)
    for damage in rng.choice(
        [_plant_cells, _plant_names, _scale_column, _tear_row, _repeat_rows, _nothing], rng.integers(1, 4)
    ):
        rows = damage(rng, rows)
    delimiter = str(rng.choice([",", ";", "\t", "|"], p=[0.7, 0.1, 0.1, 0.1]))
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator=str(rng.choice(["\n", "\r\n"]))).writerows(rows)
    encoding = str(rng.choice(ENCODINGS)) if rng.random() < 0.3 else "utf-8"
    content = text.getvalue().encode(encoding, errors="replace" if encoding != "utf-8" else "surrogatepass")
    known = encoding == "utf-8"
    if rng.random() < 0.3:
        content, known = _mutate_bytes(rng, content), False
    if rng.random() < 0.1:
        return HostileTable("table.csv.gz", gzip.compress(content), rows if known else None)
    return HostileTable("table.csv", content, rows if known else None)


def _draw_rows(rng: Rng) -> list[list[str]]:
    n, width = (
        int(rng.choice([0, 1, 2, 30, 60, 120], p=[0.03, 0.03, 0.04, 0.4, 0.3, 0.2])),
        int(rng.choice([1, 2, 4, 6, 40], p=[0.05, 0.15, 0.5, 0.27, 0.03])),
    )
    makers: list[Callable[[], list[str]]] = [
        lambda: [str(x) for x in rng.integers(0, 90, n)],
        lambda: [repr(x) for x in rng.normal(0, 10.0 ** rng.integers(-12, 13), n)],
        lambda: [str(x) for x in rng.choice(["yes", "no", "maybe", ""], n)],
        lambda: [f"2026-0{m}-{d:02d}" for m, d in zip(rng.integers(1, 10, n), rng.integers(1, 29, n), strict=True)],
        lambda: [f"{x:05d}" for x in rng.integers(0, 99999, n)],
        lambda: ["7"] * n,
        lambda: [str(x) for x in rng.choice(list(TEXTS[:12]), n)],
    ]
    columns = [[f"c{i}", *makers[rng.integers(len(makers))]()] for i in range(width)]
    return [list(row) for row in zip(*columns, strict=True)]


def _plant_cells(rng: Rng, rows: list[list[str]]) -> list[list[str]]:
    pool = NUMBERS if rng.random() < 0.6 else TEXTS
    for _ in range(int(rng.integers(1, 12))):
        if len(rows) > 1 and rows[0]:
            row = rows[rng.integers(1, len(rows))]
            if row:
                row[rng.integers(len(row))] = str(pool[rng.integers(len(pool))])
    return rows


def _plant_names(rng: Rng, rows: list[list[str]]) -> list[list[str]]:
    for _ in range(int(rng.integers(1, 3))):
        if rows[0]:
            rows[0][rng.integers(len(rows[0]))] = str(NAMES[rng.integers(len(NAMES))])
    return rows


def _scale_column(rng: Rng, rows: list[list[str]]) -> list[list[str]]:
    """One column of numbers of an extreme size."""
    at, exponent = rng.integers(len(rows[0])) if rows[0] else 0, int(rng.choice([308, 200, 150, 100, 18, -300, -320]))
    for row in rows[1:]:
        if len(row) > at:
            row[at] = f"{rng.integers(-17, 18) / 10:.1f}e{exponent}"
    return rows


def _tear_row(rng: Rng, rows: list[list[str]]) -> list[list[str]]:
    if len(rows) > 1:
        at = int(rng.integers(len(rows)))
        rows[at] = rows[at][:-1] if rng.random() < 0.5 else [*rows[at], "more"]
    return rows


def _repeat_rows(rng: Rng, rows: list[list[str]]) -> list[list[str]]:
    return rows[:1] + [list(row) for row in rows[1:2]] * max(len(rows) - 1, 1)


def _nothing(_: Rng, rows: list[list[str]]) -> list[list[str]]:
    return rows


def _mutate_bytes(rng: Rng, content: bytes) -> bytes:
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 6))):
        at, kind = int(rng.integers(len(data) + 1)), rng.integers(5)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del data[at:]
        elif kind == 2:
            data[at:at] = rng.bytes(int(rng.integers(1, 20)))
        elif kind == 3:
            data[at:at] = bytes([int(rng.choice([0, 10, 13, 34, 44, 0xFF]))])
        else:
            del data[at : at + int(rng.integers(1, 200))]
    return bytes(data)


BASES: tuple[dict[str, Any], ...] = (
    {},
    {
        "masking": [
            {"method": "rank_swapping", "attributes": ["age", "income"], "window_percent": 20},
            {"method": "pram", "attributes": ["vote"], "retention": 0.8},
        ],
        "policy": [{"measure": "records_exposed", "at_most": 1.0}],
    },
    {
        "masking": [{"method": "noise", "attributes": ["age", "income", "town"], "sd_percent": 30}],
        "measures": [{"measure": "k_anonymity"}],
    },
    {
        "masking": [{"method": "rounding", "attributes": ["income"], "base": 1000.0}, {"method": "sampling", "fraction": 0.5}],
        "intruder": {"knows": ["age", "income"], "curve": False},
    },
    {
        "control": 0.3,
        "attacks": [{"method": "distance_linkage"}, {"method": "transparency"}, {"method": "closest_record"}],
        "policy": [
            {"measure": "membership_auc", "at_most": 0.9},
            {"measure": "reidentification", "at_most": 0.4, "attack": None},
        ],
    },
    {
        "masking": None,
        "released": {"table": "survey.csv", "align": "none"},
        "policy": [{"measure": "uniques_released", "at_most": 1.0}],
    },
    {"context": {"environment": "public", "purpose": "teaching"}, "publish": {"format": "parquet"}, "omit": []},
)


def draw_release(rng: Rng) -> str:
    """The text of a release file for the small survey, some of whose fields were changed, moved or torn."""
    release = copy.deepcopy(RELEASE) | copy.deepcopy(BASES[rng.integers(len(BASES))])
    release = {name: value for name, value in release.items() if value is not None}
    for _ in range(int(rng.integers(1, 4))):
        release = _mutate_tree(rng, release)
    text = json.dumps(release, indent=1, ensure_ascii=False).replace("Infinity", ".inf").replace("NaN", ".nan")
    if rng.random() < 0.15:
        return _mutate_bytes(rng, text.encode()).decode("utf-8", errors="replace")
    return text


def _mutate_tree(rng: Rng, tree: dict[str, Any]) -> dict[str, Any]:
    """Change one place of the tree: another value, gone, renamed, repeated, or the value of another place."""
    tree = copy.deepcopy(tree)
    places = list(_places(tree))
    if not places:
        return tree
    holder, key = places[rng.integers(len(places))]
    kind = rng.integers(6)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[str(NAMES[rng.integers(len(NAMES))])] = holder.pop(key)
    elif kind == 2 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    elif kind == 3:
        other, where = places[rng.integers(len(places))]
        holder[key] = copy.deepcopy(other[where])
    else:
        holder[key] = copy.deepcopy(VALUES[rng.integers(len(VALUES))])
    return tree


def _places(tree: Any) -> list[tuple[Any, Any]]:
    keys = list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    return [place for key in keys for place in [(tree, key), *_places(tree[key])]]


def damage_home(rng: Rng, home: Path) -> list[str]:
    """Damage one to three files of a private folder; returns what was done to which."""
    done = []
    for _ in range(int(rng.choice([1, 2, 3], p=[0.7, 0.2, 0.1]))):
        rooms = sorted(path for path in home.iterdir() if path.name not in {"prefect", "compiled", "matplotlib", "numba"})
        room = rooms[rng.integers(len(rooms))]
        files = sorted(
            path for path in (room.rglob("*") if room.is_dir() else [room]) if path.is_file() and not path.is_symlink()
        )
        if files:
            path = files[rng.integers(len(files))]
            kind = str(rng.choice(list(DAMAGES)))
            DAMAGES[kind](rng, path)
            done.append(f"{kind}: {path.relative_to(home)}")
    return done


def _flip(rng: Rng, path: Path) -> None:
    data = bytearray(path.read_bytes())
    if data:
        data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
    _rewrite(path, bytes(data))


def _cut(rng: Rng, path: Path) -> None:
    data = path.read_bytes()
    _rewrite(path, data[: rng.integers(len(data) + 1)])


def _swap(rng: Rng, path: Path) -> None:
    others = sorted(one for one in path.parent.iterdir() if one.is_file() and one != path)
    if others:
        other = others[rng.integers(len(others))]
        mine, theirs = path.read_bytes(), other.read_bytes()
        _rewrite(path, theirs)
        _rewrite(other, mine)


def _edit_text(rng: Rng, path: Path) -> None:
    """Change one number or word of a text file: what somebody would do by hand."""
    words = path.read_bytes().split(b'"')
    at = int(rng.integers(len(words)))
    words[at] = bytes(rng.choice([b"0", b"certified", b"", b"null", b"table:00", words[rng.integers(len(words))]]))
    _rewrite(path, b'"'.join(words))


def _link_to(target: str) -> Callable[[Rng, Path], None]:
    def link(_: Rng, path: Path) -> None:
        path.unlink()
        path.symlink_to(target)

    return link


def _make_pipe(_: Rng, path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _make_folder(_: Rng, path: Path) -> None:
    path.unlink()
    path.mkdir()


def _rewrite(path: Path, content: bytes) -> None:
    mode = path.stat().st_mode
    path.unlink()
    path.write_bytes(content)
    path.chmod(mode & 0o777)


DAMAGES: dict[str, Callable[[Rng, Path], None]] = {
    "flip": _flip,
    "cut": _cut,
    "empty": lambda _, path: _rewrite(path, b""),
    "remove": lambda _, path: path.unlink(),
    "swap": _swap,
    "edit": _edit_text,
    "random": lambda rng, path: _rewrite(path, rng.bytes(300)),
    "append": lambda rng, path: _rewrite(path, path.read_bytes() + rng.bytes(40)),
    "link to zeros": _link_to("/dev/zero"),
    "link to itself": lambda _, path: _link_to(path.name)(_, path),
    "pipe": _make_pipe,
    "folder": _make_folder,
}


def copy_home(source: Path, target: Path) -> None:
    """A copy of a private folder with its permissions."""
    shutil.copytree(source, target, symlinks=True)


def write_survey(folder: Path, release: str) -> Path:
    """The small survey and the text of a release file beside it; returns the release file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "survey.csv").write_text(survey())
    path = folder / "release.yaml"
    path.write_text(release, encoding="utf-8", errors="surrogateescape")
    return path
