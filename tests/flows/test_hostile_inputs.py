"""Hostile tables, release files and private folders: init, check and certify give an answer or one sentence, no wrong verdict.

SDCERT_HOSTILE_CASES cases of each, default 30, from SDCERT_HOSTILE_SEED on: the first two in the default tier, one more in
the slow one, the rest in the long one.
`pytest -k tables` and so on takes one kind.
"""

from __future__ import annotations

import csv
import json
import os
import resource
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import hostile_inputs as hostile
import numpy as np
import pytest
from outcomes import Ran, newest_manifest
from release_files import answer_as_proposed, write_release
from undrawn_charts import leave_charts_undrawn

from flows.cli.draft.answer import answer_questions

CASES = int(os.environ.get("SDCERT_HOSTILE_CASES", "30"))
FIRST_SEED = int(os.environ.get("SDCERT_HOSTILE_SEED", "1"))
TIERS: dict[int, tuple[pytest.MarkDecorator, ...]] = {
    0: (),
    **dict.fromkeys((1, 2), (pytest.mark.slow,)),
}
SEEDS = [
    pytest.param(FIRST_SEED + number, marks=TIERS.get(number, (pytest.mark.long,)), id=f"{FIRST_SEED + number}")
    for number in range(CASES)
]
MOST_KILOBYTES = 4 << 20
MOST_ADDRESSES = 12 << 30  # what eats memory ends this process, not the machine
SECONDS = 240
CLEAR_REFERENCES = Path("/proc/self/clear_refs")
pytestmark = pytest.mark.skipif(not CLEAR_REFERENCES.exists(), reason="peaks of memory are read as Linux tells them")
WEAK, STRONG = 2, 8


@pytest.fixture
def call(prefect, made_store, capfd, tmp_path, monkeypatch) -> Iterator[Callable[..., Ran]]:
    """`call(*words)` runs the command line in this process, in a time and a memory that no case may exceed."""
    from flows.cli import run

    monkeypatch.setenv("SDCERT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    leave_charts_undrawn(monkeypatch)
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES, before[1]))

    def too_long(*_: object) -> None:
        raise TimeoutError(f"no answer in {SECONDS} s")

    def called(*words: object) -> Ran:
        capfd.readouterr()
        CLEAR_REFERENCES.write_text("5")  # the peak of memory is counted anew
        signal.signal(signal.SIGALRM, too_long)
        signal.alarm(SECONDS)
        try:
            code = run([str(word) for word in words])
        finally:
            signal.alarm(0)
        captured = capfd.readouterr()
        ran = Ran(code, captured.out, captured.err)
        told = f"{' '.join(str(word) for word in words)}\nexit code {code}\n{ran.err[-3000:]}"
        assert code in (0, 1, 2), told
        assert "Traceback" not in ran.out + ran.err, told
        assert "something broke" not in ran.err, told
        assert _peak_kilobytes() < MOST_KILOBYTES, told
        return ran

    yield called
    resource.setrlimit(resource.RLIMIT_AS, before)


def _peak_kilobytes() -> int:
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1])


@pytest.mark.parametrize("seed", SEEDS)
def test_tables(call, tmp_path, seed):
    """A table is drafted, checked and certified, or refused; what is published as it is, is what stands in the file."""
    table = hostile.draw_table(np.random.default_rng([seed, 1]))
    (tmp_path / table.name).write_bytes(table.content)
    if call("init", table.name, "--output", "draft.yaml").code == 2:
        assert not (tmp_path / "draft.yaml").exists()
        return
    answer_questions(Path("draft.yaml"), answer_as_proposed)  # as it is proposed
    checked = call("check", "draft.yaml")
    ran = call("certify", "draft.yaml", "--output", tmp_path / "releases")
    assert checked.code == 0 or ran.code == 2, checked.err
    if ran.code == 0 and table.rows is not None:
        _assert_unmasked_columns_are_those_of_the_source(tmp_path, table.rows)


def _assert_unmasked_columns_are_those_of_the_source(tmp_path: Path, rows: list[list[str]]) -> None:
    manifest = newest_manifest()
    masked = {name for step in manifest["spec"]["masking"] for name in step["attributes"] or ()}
    with (tmp_path / "releases" / manifest["release"] / manifest["run"] / "released.csv").open(newline="") as file:
        header, *released = csv.reader(file)
    source = [row for row in rows[1:] if row]
    assert len(released) == len(source)
    for at, name in enumerate(header):
        if name not in masked and rows[0].count(name) == 1:
            before = Counter(_value_of(row[rows[0].index(name)]) for row in source)
            assert Counter(_value_of(row[at]) for row in released) == before, name


def _value_of(cell: str) -> object:
    """A cell as a number where it is one: 1.50 and 1.5 are the same."""
    try:
        return float(cell)
    except ValueError:
        return cell.strip()


@pytest.mark.parametrize("seed", SEEDS)
def test_release_files(call, tmp_path, seed):
    """A release file whose fields were changed is checked and carried out, or refused with a place and a remedy."""
    path = hostile.write_survey(tmp_path / "project", hostile.draw_release(np.random.default_rng([seed, 2])))
    checked = call("check", path)
    ran = call("certify", path, "--output", tmp_path / "releases")
    if checked.code == 2:
        assert ran.code == 2
        assert "to do:" in checked.err
    if ran.code == 2:
        assert not list((tmp_path / "releases").glob("*/*/released*"))


@pytest.fixture(scope="module")
def certified_home(prefect, made_store, tmp_path_factory) -> Path:
    """A folder with a home in which one release was certified and one was refused."""
    from flows.cli import run

    folder = tmp_path_factory.mktemp("certified")
    before = os.environ["SDCERT_HOME"]
    os.environ["SDCERT_HOME"] = str(folder / "home")
    try:
        for k, code in ((STRONG, 0), (WEAK, 1)):
            assert run(["certify", str(_write_survey(folder, k)), "--output", str(folder / "releases")]) == code
        assert run(["keys", "export", "--output", str(folder / "sdcert.pem")]) == 0
    finally:
        os.environ["SDCERT_HOME"] = before
    return folder


def _write_survey(folder: Path, k: int) -> Path:
    masking = [{"method": "microaggregation", "attributes": ["age", "income", "town"], "k": k}]
    change = {"name": f"survey-{k}", "masking": masking, "policy": [{"measure": "reidentification", "at_most": 0.2}]}
    return write_release(folder / f"project-{k}", change)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_damaged_homes(call, tmp_path, certified_home, seed):
    """After damage the same figures come out or none: what was refused stays refused."""
    hostile.copy_home(certified_home / "home", tmp_path / "home")
    done = hostile.damage_home(np.random.default_rng([seed, 3]), tmp_path / "home")
    call("init", certified_home / f"project-{STRONG}" / "survey.csv", "--output", "draft.yaml")
    for k in (STRONG, WEAK):
        path = certified_home / f"project-{k}" / "release.yaml"
        call("check", path)
        ran = call("certify", path, "--output", tmp_path / "releases")
        assert ran.code in ((0, 2) if k == STRONG else (1, 2)), done
        if ran.code != 2:
            _assert_same_figures(tmp_path, certified_home, f"survey-{k}", done)
    call("audit", "verify")
    call("store", "verify")
    call("doctor")


def _assert_same_figures(tmp_path: Path, certified_home: Path, release: str, done: list[str]) -> None:
    def figures(folder: Path) -> list[object]:
        paths = sorted((folder / "releases" / release).glob("*Z-*/scorecard.json"))
        card = json.loads(paths[-1].read_text())
        return [(one["id"], one["value"]) for one in card["estimates"]]

    assert figures(tmp_path) == figures(certified_home), done
