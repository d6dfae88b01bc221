"""Does this tree give the figures of another revision? `python benchmarks/equal_figures.py REVISION [--releases N]`.

Random tables (numbers with and without ties, few and many categories, grades, gaps of several patterns, repeated rows, a
constant column, a weight) are written as CSV, read, classified, masked by one to three random steps, attacked by the default
plan as the declared intruder and as an insider, with all targets and with some of them, scored, decided and rounded. All that
follows is written to the last bit, errors too: by the code of the revision, in a folder of its own, and then by this tree's.
Each kind of difference is printed with how often it occurs and an example; the exit code is 1 if there is one.

It is for changes that are to leave the figures as they are: explain each difference, or mend it. Every twentieth table has
--most rows, the others 20 to 3,000. Most of the time of a first run goes into the machine code of both trees, which is kept;
after it a table takes 10 s.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow.csv
import typer
from drawn_releases import draw_steps, draw_table
from pydantic import BaseModel, TypeAdapter

from tasks.attack.methods import attack, sample_for_part
from tasks.attack.outcomes.outcome import sample_unit_rows
from tasks.attack.plan import default_attacks
from tasks.attack.threat import IntruderSpec, intruders
from tasks.classify.methods import ClassifyPlan, classify
from tasks.ingest.methods import IngestPlan, ingest_raw_table
from tasks.ingest.sources import SourceSpec, read
from tasks.mask.methods import Masking, MaskResult, mask
from tasks.microdata.alignment import Alignment
from tasks.microdata.cache_folder import find_cache_folder
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Schema
from tasks.microdata.table import Microdata
from tasks.microdata.units import find_units
from tasks.runtime.artifacts import content_address
from tasks.score.attack_coverage import find_unfollowed
from tasks.score.figure_rounding import round_for_publication
from tasks.score.methods import score
from tasks.score.policy import PolicyLine
from tasks.score.verdict import decide

ROOT = Path(__file__).resolve().parent.parent
MASKING = TypeAdapter(tuple[Masking, ...])
LIMITS = {"reidentification": 0.1, "records_exposed": 0.05, "max_record_risk": 0.34, "known_links": 0.05}
POLICY = tuple(PolicyLine(measure=measure, at_most=limit) for measure, limit in LIMITS.items())
Fields = dict[str, str]
Found = dict[tuple[int, str], Fields]


def compute_release(number: int, most: int, folder: Path) -> Iterator[tuple[str, object]]:
    """What follows of one release, in its order, each with a name."""
    rng = np.random.default_rng(number)
    n = most if number % 20 == 19 else int(np.exp(rng.uniform(np.log(20), np.log(3000))))
    table, declared = draw_table(n, rng)
    pyarrow.csv.write_csv(table, folder / "table.csv")
    source = SourceSpec(table=str(folder / "table.csv"))
    plan = IngestPlan.model_validate({"source": source, "attributes": declared}, strict=False)
    ingested = ingest_raw_table(read(source), plan)
    yield "ingest", ingested
    yield "classify, undeclared", catch(lambda: classify(ingested.data, ClassifyPlan()))
    schema = classify(ingested.data, ClassifyPlan(attributes=plan.attributes))
    yield "classify", schema
    steps = MASKING.validate_python(draw_steps(schema, n, rng), strict=False)
    done = catch(lambda: mask(ingested.data, schema, steps, seed=bytes(32), path=("equal", str(number))))
    yield "mask", done
    if isinstance(done, MaskResult):
        for share in (1.0, float(rng.choice([0.05, 0.5]))):
            for name, value in attack_and_score(ingested.data, schema, done, share, number):
                yield f"{name}, {'all' if share == 1 else 'some'} targets", value


def attack_and_score(
    source: Microdata, schema: Schema, done: MaskResult, share: float, number: int
) -> Iterator[tuple[str, object]]:
    rows, units, steps = Alignment(done.record, np.argsort(done.order), source.n), find_units(source, schema), done.mechanisms
    targets = np.arange(source.n) if share == 1 else sample_unit_rows(units, share, np.random.default_rng(number))
    results = []
    for who in intruders(IntruderSpec(curve=False), schema)[:2]:
        for spec in default_attacks(steps):
            sample = sample_for_part(spec, units, targets, np.random.default_rng(1))
            found = attack(source, done.data, schema, steps, spec, who, alignment=rows, targets=targets, sample=sample)
            yield f"{spec.attack_id} by {who.name}", found
            results.append(found)
    attacked = tuple(results)
    figures = score(source, done.data, schema, steps, attacked, (), alignment=rows, n_targets=units.n_units)
    verdict = decide(POLICY, figures, find_unfollowed(attacked, (), steps))
    shown = round_for_publication(figures, zip(POLICY, verdict.criteria, strict=True))
    yield "verdict", verdict
    for one, public in zip(figures, shown, strict=True):
        yield f"figure {one.id}", one
        yield f"public figure {one.id}", public


def catch(work: Callable[[], object]) -> object:
    """What some work returns, or the text of the error."""
    try:
        return work()
    except InputError as error:
        return str(error)


def write_exactly(value: object, path: str = "") -> Fields:
    """Each part of a value by its path, to the last bit; arrays and columns by their digests."""
    match value:
        case float():
            return {path: float(value).hex()}
        case np.ndarray():
            return {path: f"{value.dtype} {value.shape} {hashlib.sha256(np.ascontiguousarray(value)).hexdigest()}"}
        case Microdata():
            return {f"{path} {name}": content_address(value.select([name])) for name in value.names}
        case BaseModel():
            parts = {f"{path}.{name}": part for name, part in value}
        case dict():
            parts = {f"{path}.{name}": part for name, part in value.items()}
        case tuple() | list():
            parts = {f"{path}[{i}]": part for i, part in enumerate(value)}
        case _ if dataclasses.is_dataclass(value):
            parts = {f"{path}.{one.name}": getattr(value, one.name) for one in dataclasses.fields(value)}
        case _:
            return {path: str(value) if isinstance(value, enum.Enum) else repr(value)}
    return {name: text for place, part in parts.items() for name, text in write_exactly(part, place).items()}


def write_releases(path: Path, numbers: range, most: int) -> None:
    """Write what follows of each release with the code that is on the path, a line for each part."""
    with path.open("w") as file, tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            for name, value in compute_release(number, most, Path(folder)):
                file.write(json.dumps([number, name, write_exactly(value)]) + "\n")
            print(f"release {number}, to {numbers.stop - 1}", end="\r", file=sys.stderr, flush=True)


def unpack_tree(revision: str) -> Path:
    """The files of a revision, in a folder that is kept: numba would compile the code of another folder anew."""
    git = ["git", "-C", str(ROOT)]
    named = subprocess.run([*git, "rev-parse", f"{revision}^{{commit}}"], check=True, capture_output=True, text=True)
    commit = named.stdout.strip()
    tree = find_cache_folder() / "trees" / commit
    if not tree.exists():
        tree.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=tree.parent) as folder:
            archive = Path(folder) / "tree.tar"
            subprocess.run([*git, "archive", "--output", archive, commit], check=True)
            shutil.unpack_archive(archive, Path(folder) / "tree")
            (Path(folder) / "tree").rename(tree)
    return tree


def compute_with_tree(tree: Path, path: Path, numbers: range, most: int) -> Found:
    """What the code of a tree makes of the releases that this script draws."""
    words = [sys.executable, __file__, "--here", str(path), "--first", str(numbers.start)]
    words += ["--releases", str(len(numbers)), "--most", str(most)]
    subprocess.run(words, env=os.environ | {"PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"}, check=True)
    with path.open() as lines:
        return {(number, name): fields for number, name, fields in map(json.loads, lines)}


def find_differences(before: Found, after: Found) -> dict[str, list[str]]:
    """Of each kind of difference (what, which field) where it occurs and both texts."""
    found = defaultdict(list)
    for number, name in {**before, **after}:
        one, other, part = before.get((number, name)), after.get((number, name)), re.sub("[|,].*", "", name)
        if one is None or other is None:
            found[f"{part}, {'now' if one is None else 'before'} alone"].append(f"release {number}, {name}")
            continue
        for path in {**one, **other}:
            if one.get(path) != other.get(path):
                kind = re.sub(r"\[\d+\]", "[...]", f"{part} {path}")
                found[kind].append(f"release {number}, {name}{path}: {one.get(path)} before, {other.get(path)} now")
    return dict(found)


def main(
    revision: Annotated[str, typer.Argument(help="of the code that is compared with this tree")] = "HEAD",
    releases: Annotated[int, typer.Option(help="how many random tables are masked")] = 40,
    first: Annotated[int, typer.Option(help="the number of the first of them")] = 0,
    most: Annotated[int, typer.Option(help="rows of every twentieth table")] = 10_000,
    here: Annotated[Path | None, typer.Option(hidden=True)] = None,
) -> None:
    """Print each kind of difference between the figures of a revision and those of this tree."""
    numbers = range(first, first + releases)
    if here is not None:
        return write_releases(here, numbers, most)
    tree = unpack_tree(revision)
    with tempfile.TemporaryDirectory() as folder:
        before = compute_with_tree(tree, Path(folder) / "before", numbers, most)
        after = compute_with_tree(ROOT, Path(folder) / "now", numbers, most)
    differences = find_differences(before, after)
    print(f"{len(after):,} parts of {releases} releases, {sum(map(len, after.values())):,} fields, compared with {revision}")
    for kind, places in differences.items():
        print(f"{len(places)} times: {kind}\n    {places[0]}")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    typer.run(main)
