"""What a release costs by stage as its table grows: `python benchmarks/scale.py [--most ROWS] [--full] [--kind K] [--mask M]`.

Six correlated numbers (`numeric`); besides them 16 regions and a vote (`nominal`); the six numbers with 2 % missing in each, no
record missing two (`gaps`). Each family of masks that fits the kind, every attack that its default plan runs, by somebody who
knows all quasi-identifiers, with at most 10,000 targets, and the score of these attacks. Each measurement has a process of its
own, after first calls on smaller tables that load the machine code: CPU seconds, those of them that the system takes to give
it memory, and the memory at the peak beyond what the process held before (the table, and what the stages before made of it).
The exponent is that of the time since the number of rows before, with and without what the system takes. A stage that would
take more than `--seconds` by its exponent (the first time by 1.5) is left out, and said so; so is one that has not ended after
three times as long. What takes less than 20 s is measured three times, and the least counts; reading and its peers, where
they take less than 0.3 s, twenty times more in turns. The report needs a private folder, and is not measured.

Below are the peers that do the same work on the same columns, measured alike: pandas, polars and Arrow that read the files and
take the size of the smallest class, the k-d trees of scipy and scikit-learn and faiss that find the nearest row of the targets
(the trees take no missing values: with gaps, scikit-learn compares all pairs). polars reads CSV twice: with types by all rows,
as ours, and as it does unless asked otherwise, with types by the first 100, which is less work, and not compared.
polars and faiss are none of our dependencies (`pip install polars faiss-cpu`): without them their lines are missing.

A virtual machine may give freed memory back to its host at once, and wait for it at the next array; then large tables wait, and
small ones, whose arrays the C library keeps, do not. With `--large-pages` the stages take memory that the system keeps for
large pages (`sysctl vm.nr_hugepages=6000`), which is not given back. polars would not take it: the peers are then left out.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import typer
from own_process import Cost, measure_alone, use_large_pages
from scale_peers import WARM_UP, describe_missing, measure_peers
from score import CATEGORIES, NUMBERS, make_table

from tasks.attack.methods import Attack, attack, sample_for_part
from tasks.attack.outcomes.outcome import AttackResult
from tasks.attack.plan import default_attacks
from tasks.attack.threat import Intruder
from tasks.classify.methods import ClassifyPlan, classify
from tasks.ingest.methods import IngestPlan, ingest_raw_table
from tasks.ingest.sources import SourceSpec, read
from tasks.mask.categories.pram import Pram
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import Masking, MaskResult, mask
from tasks.mask.noise.noise import Noise
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.alignment import Alignment, invert_permutation
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Integers, Microdata
from tasks.microdata.units import find_units
from tasks.runtime.settings import OF_ARROW
from tasks.score.methods import score

Kind = Literal["numeric", "nominal", "gaps", "ties"]
StageName = tuple[str, str, str]  # kind of table, mask, stage
# In the larger one values are sorted by digits, what speaks for rows is estimated, and some records alone are searched for.
WARM_UPS = (WARM_UP, 60_000)
MOST_TARGETS = 10_000
FIRST_EXPONENT = 1.5  # before two sizes are known
GAPS = 0.02
CONFIDENTIAL = "vote"
COLUMNS: dict[Kind, tuple[str, ...]] = {
    "numeric": NUMBERS,
    "nominal": (*NUMBERS, *CATEGORIES),
    "gaps": NUMBERS,
    "ties": NUMBERS,  # rounded: equal records, which can come into different groups
}
STEPS = {"age": 5, "income": 500, "wealth": 20_000, "hours": 8, "height": 5, "spend": 50}  # to which "ties" are rounded
GROUPS = Microaggregation(method="microaggregation", attributes=NUMBERS, k=10)
MASKS: dict[str, Masking] = {
    "microaggregation": GROUPS,
    "microaggregation, parts": GROUPS.model_copy(update={"records_per_part": 100_000}),
    "rank swapping": RankSwapping(method="rank_swapping", attributes=NUMBERS, window_percent=10.0),
    "noise": Noise(method="noise", attributes=NUMBERS, kind="independent", sd_percent=20.0),
    "PRAM": Pram(method="pram", attributes=("region",), retention=0.8),  # of the kind `nominal` alone
}


@dataclass(frozen=True, slots=True)
class Masked:
    """A table, what a mask made of it, and who is attacked."""

    source: Microdata
    schema: Schema
    done: MaskResult
    targets: Integers

    @property
    def alignment(self) -> Alignment:
        return Alignment(self.done.record, invert_permutation(self.done.order), self.source.n)


def make_source(n: int, kind: Kind) -> Microdata:
    table = make_table(n).arrow.select(COLUMNS[kind])
    if kind == "ties":
        numbers = {name: table.column(name).to_numpy() for name in NUMBERS}
        return Microdata.from_columns({name: step * np.rint(numbers[name] / step) for name, step in STEPS.items()})
    if kind != "gaps":
        return Microdata(table)
    gap = np.random.default_rng(1).random(n)
    for j, name in enumerate(NUMBERS):
        missing = (j * GAPS <= gap) & (gap < (j + 1) * GAPS)
        values = pa.array(table.column(name).to_numpy(), table.schema.field(name).type, mask=missing)
        table = table.set_column(j, name, values)
    return Microdata(table)


def write_files(n: int, kind: Kind, folder: Path) -> tuple[SourceSpec, SourceSpec]:
    """The table as CSV and as Parquet."""
    paths = (folder / f"{kind}{n}.csv", folder / f"{kind}{n}.parquet")
    table = make_source(n, kind).arrow
    pyarrow.csv.write_csv(table, paths[0])
    pyarrow.parquet.write_table(table, paths[1])
    return SourceSpec(table=str(paths[0])), SourceSpec(table=str(paths[1]))


def ingest(source: SourceSpec) -> None:
    ingest_raw_table(read(source, ()), IngestPlan(source=source))


def find_schema(source: Microdata) -> Schema:
    declared = [
        {
            "name": name,
            "role": Role.CONFIDENTIAL if name == CONFIDENTIAL else Role.QUASI_IDENTIFIER,
            "scale": "nominal" if name in CATEGORIES else "numeric",
        }
        for name in source.names
    ]
    return classify(source, ClassifyPlan.model_validate({"attributes": declared}))


def mask_source(source: Microdata, schema: Schema, step: Masking) -> Masked:
    done = mask(source, schema, (step,), seed=bytes(32), path=("benchmark",))
    drawn = np.random.default_rng(2).choice(source.n, min(MOST_TARGETS, source.n), replace=False)  # of many few: in no time
    return Masked(source, schema, done, np.sort(drawn))


def attack_masked(masked: Masked, spec: Attack) -> AttackResult:
    source, schema, done, targets = masked.source, masked.schema, masked.done, masked.targets
    who = Intruder("declared", schema.find_by_role(Role.QUASI_IDENTIFIER))
    sample = sample_for_part(spec, find_units(source, schema), targets, np.random.default_rng(3))
    tables = (source, done.data, schema, done.mechanisms)
    return attack(*tables, spec, who, alignment=masked.alignment, targets=targets, sample=sample)


def score_masked(masked: Masked, results: tuple[AttackResult, ...]) -> None:
    done, n = masked.done, masked.source.n
    score(masked.source, done.data, masked.schema, done.mechanisms, results, (), alignment=masked.alignment, n_targets=n)


def warm_up(kind: Kind, step: Masking, spec: Attack | None, *, scores: bool = False) -> None:
    """Mask small tables, attack them if an attack is to be measured, and compute their scores."""
    parts = {"records_per_part": WARM_UP // 3} if getattr(step, "records_per_part", None) else {}
    for n in WARM_UPS:
        source = make_source(n, kind)
        masked = mask_source(source, find_schema(source), step.model_copy(update=parts))
        results = () if spec is None else (attack_masked(masked, spec),)
        if scores:
            score_masked(masked, results)


@dataclass(slots=True)
class Growth:
    """The costs that were measured, by kind, mask and stage, each by rows."""

    most_seconds: float
    costs: dict[StageName, dict[int, Cost]] = field(default_factory=dict)
    peers: defaultdict[str, dict[str, tuple[int, float]]] = field(default_factory=lambda: defaultdict(dict))

    def measure(
        self,
        name: StageName,
        n: int,
        work: Callable[..., Any],
        first: Callable[[], object],
        *inputs: Any,
    ) -> Any:
        """Measure a stage unless it would take too long; returns what it made, or None."""
        known = self.costs.setdefault(name, {})
        if self.predict_seconds(known, n) > self.most_seconds:
            known[n] = Cost(None)
            return None
        known[n], made = measure_alone(work, first, *inputs, seconds=3 * self.most_seconds)
        print(*name, f"{n:,}", known[n], file=sys.stderr, flush=True)
        return made

    def predict_seconds(self, known: dict[int, Cost], n: int) -> float:
        measured = {rows: cost.seconds for rows, cost in known.items() if cost.seconds is not None}
        if not measured:
            return float("inf") if known else 0.0
        last, exponent = max(measured), compute_exponent(measured)
        return measured[last] * (n / last) ** (FIRST_EXPONENT if exponent is None else max(exponent, 1.0))

    def list_lines(self) -> Iterator[dict[str, object]]:
        for (kind, step, stage), known in self.costs.items():
            measured: dict[int, float] = {}
            own: dict[int, float] = {}
            for n, cost in known.items():
                line: dict[str, object] = {"table": kind, "mask": step, "stage": stage, "rows": n}
                if cost.seconds is None or cost.peak_bytes is None:
                    yield {**line, "note": "left out: too long"}
                    continue
                measured[n] = cost.seconds
                if cost.own_seconds is not None:
                    own[n] = cost.own_seconds
                cells = n * len(COLUMNS[kind])  # type: ignore[index]  # a kind that was asked for is a key
                shown = {"CPU seconds": cost.seconds, "the system's": cost.system_seconds}
                exponents = {"exponent": compute_exponent(measured), "without the system": compute_exponent(own)}
                yield {**line, **shown, **exponents, "peak MB": cost.peak_bytes / 1e6, "bytes a cell": cost.peak_bytes / cells}


def compute_exponent(measured: dict[int, float]) -> float | None:
    """That of the time between the last two numbers of rows; None: there is one alone."""
    if len(measured) < 2:
        return None
    (rows, seconds), (more, longer) = sorted(measured.items())[-2:]
    return float(np.log(max(longer, 1e-3) / max(seconds, 1e-3)) / np.log(more / rows))


def measure_release(
    growth: Growth, kind: Kind, n: int, masks: list[str], folder: Path, *, peers: bool
) -> list[dict[str, object]]:
    """Measure all stages on one table; returns the lines of the peers, if they are asked for."""
    files, small = write_files(n, kind, folder), write_files(WARM_UP, kind, folder)
    for file, little, name in zip(files, small, ("ingest CSV", "ingest Parquet"), strict=True):
        growth.measure((kind, "", name), n, ingest, partial(ingest, little), file)
    source = make_source(n, kind)
    schema = growth.measure((kind, "", "classify"), n, find_schema, partial(_classify_small, kind), source)
    for name in masks:
        if schema is not None and set(MASKS[name].attributes or ()) <= set(source.names):
            measure_mask(growth, kind, name, source, schema)
    if not peers:
        return []
    ours = {stage: cost[n] for (table, _, stage), cost in growth.costs.items() if table == kind and n in cost}
    lines = measure_peers(source, ingest, (files, small), MOST_TARGETS, ours, growth.peers[kind])
    return [{"table": kind, **line} for line in lines]


def _classify_small(kind: Kind) -> None:
    find_schema(make_source(WARM_UP, kind))


def measure_mask(growth: Growth, kind: Kind, name: str, source: Microdata, schema: Schema) -> None:
    step, n = MASKS[name], source.n
    warm, plan = partial(warm_up, kind, step), default_attacks((step,))
    masked = growth.measure((kind, name, "mask"), n, mask_source, partial(warm, None), source, schema, step)
    results = []
    for spec in plan:
        stage = (kind, name, spec.attack_id)
        if masked is None:
            growth.costs.setdefault(stage, {})[n] = Cost(None)
        else:
            results.append(growth.measure(stage, n, attack_masked, partial(warm, spec), masked, spec))
    made = tuple(result for result in results if result is not None)
    if made:
        growth.measure((kind, name, "score"), n, score_masked, partial(warm, plan[0], scores=True), masked, made)


def main(
    rows: Annotated[list[int] | None, typer.Option(help="numbers of rows, in ascending order")] = None,
    most: Annotated[int, typer.Option(help="the largest of the tables of 10^4, 10^5, ... rows")] = 100_000,
    full: Annotated[bool, typer.Option(help="as --most 10000000")] = False,
    kind: Annotated[list[str] | None, typer.Option(help=f"of {', '.join(COLUMNS)}")] = None,
    mask_name: Annotated[list[str] | None, typer.Option("--mask", help=f"of {', '.join(MASKS)}")] = None,
    seconds: Annotated[float, typer.Option(help="a stage that would take longer is left out")] = 120.0,
    large_pages: Annotated[bool, typer.Option(help="the stages alone, in memory kept for large pages")] = False,
) -> None:
    """Print one row for each kind of table, mask, stage and number of rows, and then the peers if they are measured."""
    sizes = rows or [n for n in (10**4, 10**5, 10**6, 10**7) if n <= (10**7 if full else most)]
    if unknown := [name for name in mask_name or () if name not in MASKS]:
        raise typer.BadParameter(f"{unknown[0]} is none of {', '.join(MASKS)}", param_hint="--mask")
    os.environ |= OF_ARROW  # as in every run of the project; pandas and Arrow, as peers, take small pages too
    if large_pages:
        use_large_pages()
    growth, lines = Growth(seconds), []
    with tempfile.TemporaryDirectory() as folder:
        for n in sizes:
            for one in COLUMNS:
                if kind is None or one in kind:
                    lines += measure_release(growth, one, n, mask_name or list(MASKS), Path(folder), peers=not large_pages)
    print(pd.DataFrame(growth.list_lines()).round(3).to_string(index=False, na_rep=""))
    if lines:
        print(f"\npeers ({describe_missing()})")
        print(pd.DataFrame(lines).round(3).to_string(index=False, na_rep=""))


if __name__ == "__main__":
    typer.run(main)
