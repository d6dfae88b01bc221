"""The transparency attack of noise and PRAM, and how its time grows: `python benchmarks/transparency_scale.py`.

Six correlated numbers, independent noise on all of them in percent of their standard deviations, and PRAM of two nominal
columns (16 and 4 categories, retention 0.8) before it in one of the kinds. The intruder knows all columns. `links` is the
attack, `probabilities` what is asked besides with `probabilities: true`. CPU seconds, after a warm-up that compiles; the
exponent is that of the time since the number of rows before. `--share` is that of the records that are targets.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Annotated, TypeVar

import numpy as np
import pandas as pd
import typer

from tasks.attack.transparency.image_posterior import ImagePosterior, posterior
from tasks.attack.transparency.transparency import link_by_mechanism
from tasks.mask.categories.pram import Pram
from tasks.mask.methods import Masking, mask
from tasks.mask.noise.noise import Noise
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Integers, Microdata

KINDS = ("noise", "pram and noise", "pram")
NUMBERS = tuple(f"x{j}" for j in range(6))
CATEGORIES = {"u": 16, "v": 4}
WARM_UP = 300
T = TypeVar("T")


def make_table(n: int, kind: str) -> tuple[Microdata, Schema]:
    rng = np.random.default_rng(20261127)
    values = rng.multivariate_normal(np.zeros(6), 0.5 + 0.5 * np.eye(6), n)
    columns: dict[str, object] = dict(zip(NUMBERS, values.T, strict=True))
    if kind != "noise":
        for name, count in CATEGORIES.items():
            columns[name] = [f"{name}{code:02d}" for code in rng.integers(0, count, n)]
    data = Microdata.from_columns(columns)
    scales = dict.fromkeys(CATEGORIES, Scale.NOMINAL)
    attributes = (Attribute(one, Role.QUASI_IDENTIFIER, scales.get(one, Scale.NUMERIC), "declared") for one in data.names)
    return data, Schema(tuple(attributes))


def list_steps(kind: str, percent: float) -> tuple[Masking, ...]:
    noise = Noise(method="noise", kind="independent", attributes=NUMBERS, sd_percent=percent)
    pram = Pram(method="pram", attributes=tuple(CATEGORIES), retention=0.8)
    return {"noise": (noise,), "pram and noise": (pram, noise), "pram": (pram,)}[kind]


def measure(kind: str, percent: float, n: int, share: float) -> dict[str, object]:
    data, schema = make_table(n, kind)
    done = mask(data, schema, list_steps(kind, percent), seed=bytes(32), path=())
    targets: Integers = np.sort(np.random.default_rng(1).permutation(n)[: max(round(n * share), 1)])
    (links, _), linked = _time(
        lambda: link_by_mechanism(data, done.data, schema, done.mechanisms, data.names, searching=targets)
    )
    held, claimed = _time(lambda: posterior(links, targets))
    rate = float(links.guesses(targets).credit(targets).mean())
    what = {"steps": kind, "noise percent": percent, "targets": share, "rows": n}
    return {**what, "links": linked, "probabilities": claimed, "found": rate, "claimed": _mean(held, targets)}


def _mean(held: ImagePosterior, targets: Integers) -> float:
    return float(held.compute_guess_probabilities(targets).mean())


def _time(work: Callable[[], T]) -> tuple[T, float]:
    begin = time.process_time()
    found = work()
    return found, time.process_time() - begin


def list_cases(kinds: list[str], percents: list[float], rows: list[int], share: float) -> Iterator[dict[str, object]]:
    for kind in kinds:
        for percent in percents if kind != "pram" else percents[:1]:
            measure(kind, percent, WARM_UP, share)
            for n in rows:
                yield measure(kind, percent, n, share)


def main(
    rows: Annotated[list[int] | None, typer.Option(help="numbers of rows")] = None,
    kind: Annotated[list[str] | None, typer.Option(help="noise, pram, or pram and noise")] = None,
    percent: Annotated[list[float] | None, typer.Option(help="standard deviation of the noise, in percent")] = None,
    share: Annotated[float, typer.Option(help="of the records that are targets")] = 1.0,
) -> None:
    """Print one row for each kind of steps, noise and number of rows."""
    sizes, percents = rows or [10_000, 30_000, 100_000], percent or [3.0, 10.0, 30.0]
    table = pd.DataFrame(list_cases(kind or list(KINDS), percents, sizes, share))
    grouped = table.groupby(["steps", "noise percent"], sort=False)
    growth = grouped["rows"].transform(lambda of: np.log(of / of.shift()))
    table["exponent"] = grouped["links"].transform(lambda of: np.log(of / of.shift())) / growth
    print(table.round(3).to_string(index=False))


if __name__ == "__main__":
    typer.run(main)
