"""anonymeter's figures beside ours: `python benchmarks/anonymeter_beside.py (--python PATH | --make FOLDER) [--splits N]`.

Three tables, a quarter of the people set aside (of the made one a half), released in several ways: anes96 (four known
attributes, the vote is secret), Census (twelve, the quarter of the state tax) and made incomes (a function of age and tenure
but for a small error). On each release, of the same people: anonymeter's singling out, linkability and inference evaluators,
run by the Python of an environment of their own (`--make` makes it from `benchmarks/peers/anonymeter.txt`, which takes some
minutes), and our linkage by distance, singling out and inference, means over the splits. Exit 1 where the orders of the two
differ in what both can see: of a table that is released as it is, both must report more than of any masked form of it.
Census is read from SDCERT_REFERENCE_DATA.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from pydantic import TypeAdapter
from reference import reference
from scipy.stats import norm
from statsmodels.datasets import anes96
from threadpoolctl import threadpool_limits

from tasks.attack.inference.experiment import create_experiment
from tasks.attack.inference.model_based_disclosure import DEFAULT_INFERENCE_ATTACKS, infer_values
from tasks.attack.inference.outcomes import InferenceOutcome, InferenceResult, InferredAttribute
from tasks.attack.linkage.distance_linkage import DistanceLinkage, link_by_distance
from tasks.attack.singling_out.isolation import single_out
from tasks.mask.methods import Masking, mask
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.score.inference import inference_figures
from tasks.score.singling_out import singling_out_figures

PEERS = Path(__file__).parent / "peers"
ATTACKS = 200  # of each evaluator
STEPS: dict[str, list[dict[str, Any]]] = {
    "as it is": [],
    "MDAV k = 5": [{"method": "microaggregation", "k": 5}],
    "MDAV k = 12": [{"method": "microaggregation", "k": 12}],
    "noise of 30 %": [{"method": "noise", "kind": "independent", "sd_percent": 30}],
}
KEYS = ("popul", "age", "educ", "income")
OURS, THEIRS = ("linked", "singled out", "inferred", "excess", "asserted"), (
    "singling out, univariate",
    "singling out, multivariate",
    "linkability",
    "inference",
)  # fmt: skip
SEEN_BY_BOTH = ("singled out", "excess", "singling out, multivariate", "inference")


@dataclass(frozen=True)
class Case:
    """A table: what is known of people, what is secret, and the share of people who are not released."""

    frame: pd.DataFrame
    knows: tuple[str, ...]
    secret: str
    is_number: bool = False
    share: float = 0.25

    @property
    def schema(self) -> Schema:
        scale = Scale.NUMERIC if self.is_number else Scale.NOMINAL
        known = (Attribute(name, Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared") for name in self.knows)
        return Schema((*known, Attribute(self.secret, Role.CONFIDENTIAL, scale, "declared")))

    @property
    def parts(self) -> tuple[list[str], list[str]]:
        """The known attributes, every other one, as two holders have them."""
        return list(self.knows[::2]), list(self.knows[1::2])


def create_case(name: str) -> Case:
    """One of the tables."""
    if name == "anes96":
        return Case(anes96.load_pandas().data[[*KEYS, "vote"]].astype({"vote": int}), KEYS, "vote")
    if name == "census":
        frame = reference("census").iloc[:, :13]
        frame["QUARTER"] = pd.qcut(frame.pop("STATETAX"), 4, labels=False)
        return Case(frame, tuple(frame.columns[:-1]), "QUARTER")
    rng = np.random.default_rng(7)
    age = rng.uniform(20, 65, 2000).round()
    tenure = (rng.uniform(0, 1, 2000) * (age - 18)).round()
    told, unit = 800 * age + 300 * tenure, 0.05 / norm.ppf(0.97)
    income = told + rng.normal(0, unit / np.sqrt(1 - unit**2) * told.std(), 2000)
    frame = pd.DataFrame({"age": age, "tenure": tenure, "income": income})
    return Case(frame, ("age", "tenure"), "income", is_number=True, share=0.5)


def compare(name: str, peer: Path, seed: int) -> Iterator[dict[str, Any]]:
    """The figures of both, for each release of one split of a table."""
    case, rng = create_case(name), np.random.default_rng(seed)
    order, aside = rng.permutation(len(case.frame)), round(case.share * len(case.frame))
    data = Microdata.from_columns({str(column): case.frame[column].to_numpy() for column in case.frame})
    others, members = (data.take(np.sort(part)) for part in (order[:aside], order[aside:]))
    for label, written in STEPS.items():
        steps = [{**step, "attributes": list(case.knows)} for step in written]
        chain = TypeAdapter(tuple[Masking, ...]).validate_python(steps, strict=False)
        released = mask(members, case.schema, chain, seed=seed.to_bytes(32, "big"), path=()).data
        yield {
            "table": name,
            "release": label,
            **measure_ours(case, members, others, released, rng),
            **measure_theirs(case, members, others, released, peer, seed),
        }


def measure_ours(
    case: Case, members: Microdata, others: Microdata, released: Microdata, rng: np.random.Generator
) -> dict[str, float]:
    """What our attacks find: by distance, by predicates, by inference."""
    schema, (spec,) = case.schema, DEFAULT_INFERENCE_ATTACKS
    links = link_by_distance(members, released, schema, DistanceLinkage(method="distance_linkage"), case.knows)
    own = np.arange(members.n)
    linked = links.guesses(own).credit(own).mean()
    isolated = single_out(create_experiment(members, others, released, None, schema, 2**62, rng), schema, ())
    excess = [one.value for one in singling_out_figures([isolated], "records") if one.measure == "singling_out"]
    asked = create_experiment(members, others, released, own, schema, spec.train_at_most, rng)
    spec = spec.model_copy(update={"inputs_at_most": 0})
    fates = infer_values(spec, asked, schema, (), case.knows, case.secret, rng).fates
    named = {"member": asked.is_member, **{f"0|{name}": fates.column(name) for name in fates.names}}
    result = InferenceResult(
        attack=spec.method, method=spec.method, intruder="declared", evaluates="this file", knows=case.knows,
        secrets=(InferredAttribute(name=case.secret, is_number=case.is_number),), learners=spec.learners,
        p_percent=spec.p_percent, fewest_of_subgroup=spec.fewest_of_subgroup, has_control=True, population=asked.population,
    )  # fmt: skip
    outcome = InferenceOutcome(result, asked.people, Microdata.from_columns(named))
    found = {one.measure: one.value for one in inference_figures((outcome,), schema, "records")}
    return {
        "linked": float(linked),
        "singled out": max(value for value in excess if value is not None),
        "inferred": found["inference_success"],
        "inferred of others": found["inference_control"],
        "excess": found["inference_excess"],
        "asserted": found["inference_asserted"],
    }  # fmt: skip


def measure_theirs(
    case: Case, members: Microdata, others: Microdata, released: Microdata, peer: Path, seed: int
) -> dict[str, float]:
    """anonymeter's risks, the ends of its intervals, and its shares of successful attacks."""
    spec = {
        "texts": [] if case.is_number else [case.secret],
        "knows": list(case.knows),
        "parts": case.parts,
        "secret": case.secret,
        "is_number": case.is_number,
        "attacks": ATTACKS,
        "seed": seed,
    }
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "spec.json").write_text(json.dumps(spec))
        for name, table in (("members", members), ("others", others), ("released", released)):
            table.arrow.to_pandas().to_csv(Path(folder) / f"{name}.csv", index=False)
        done = subprocess.run([peer, PEERS / "anonymeter_evaluators.py", folder], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.stderr.write(f"error: anonymeter did not run:\n{done.stderr}")
        raise typer.Exit(3)
    found = json.loads(done.stdout.splitlines()[-1])
    return {
        f"{name}{'' if what == 'risk' else f', {what}'}": value for name, one in found.items() for what, value in one.items()
    }


def create_environment(folder: Path) -> Path:
    """The Python of an environment that has anonymeter, made where it is not there."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        install = [python, "-m", "pip", "install", "--no-deps", "--requirement", PEERS / "anonymeter.txt"]
        subprocess.run(install, check=True)
    return python


def show(rows: pd.DataFrame) -> str:
    """A row of markdown for each release: ours, theirs."""
    names = [*OURS, *THEIRS]
    lines = [f"| table | release | {' | '.join(names)} |", "|---" * (len(names) + 2) + "|"]
    for (table, release), one in rows.iterrows():
        cells = [f"{one[name]:.3f}" for name in names]
        lines.append(f"| {table} | {release} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(
    python: Annotated[Path | None, typer.Option(help="The Python of an environment that has anonymeter.")] = None,
    make: Annotated[Path | None, typer.Option(help="Make such an environment in this folder, and use it.")] = None,
    splits: Annotated[int, typer.Option(help="How many splits of each table.")] = 3,
) -> None:
    """Print the figures of both; exit 1 where the orders differ."""
    if (python is None) == (make is None):
        sys.stderr.write("error: give either --python, of an environment that has anonymeter, or --make\n")
        raise typer.Exit(2)
    peer = create_environment(make) if make is not None else Path(str(python))
    with threadpool_limits(limits=1):
        found = [
            row for name in ("anes96", "census", "made") for seed in range(splits) for row in compare(name, peer, seed)
        ]  # fmt: skip
    every = pd.DataFrame(found).groupby(["table", "release"], sort=False)
    rows = every.mean()
    print(show(rows))
    print(rows.drop(columns=[*OURS, *THEIRS]).round(3).T.to_string())
    print(every[[*OURS, *THEIRS]].std().round(3).to_string())
    held = [
        bool((rows.loc[table, name].drop("as it is") <= rows.loc[(table, "as it is"), name]).all())
        for table in ("anes96", "census")
        for name in SEEN_BY_BOTH
    ]
    raise typer.Exit(0 if all(held) else 1)


if __name__ == "__main__":
    typer.run(main)
