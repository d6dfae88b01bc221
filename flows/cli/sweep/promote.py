"""`sdcert sweep promote`: the release file of one point of a sweep."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.sweep.group import StoreOption, group
from flows.cli.terminal import terminal
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal
from tasks.runtime.files import write_whole

if TYPE_CHECKING:
    import pyarrow as pa

    from flows.release import ReleaseSpec
    from flows.sweep.promote import PointOrigin
    from flows.sweep.working_set import WorkingSet

READABLE = 0o644
WHERE = "sdcert sweep promote --output"


@group.command()
def promote(
    of: Annotated[str, typer.Argument(help="id of a sweep, its beginning, or its name", metavar="SWEEP", show_default=False)],
    point: Annotated[int, typer.Argument(help="number of the point", metavar="POINT", show_default=False, min=0)],
    output: Annotated[Path, typer.Option("--output", "-o", help="the release file to write", show_default=False)],
    store: StoreOption = None,
    force: Annotated[bool, typer.Option("--force", help="write over an existing file")] = False,
) -> int:
    """Write the release file of one point of a sweep, to be certified with a fresh seed."""
    import flows.environment  # noqa: F401  # a private home and no telemetry, before the libraries are imported

    # isort: split
    from flows.release_file import load_release
    from flows.sweep.promote import PointOrigin, SweepFiles, find_point, format_promoted_release
    from flows.sweep.record import read_sweep_record
    from flows.sweep.working_set import WorkingSet, open_default_working_set

    storage = open_default_working_set() if store is None else WorkingSet(store).readable()
    record = read_sweep_record(storage, of)
    table = _read_table(storage, record)
    files = SweepFiles.from_record(record["files"])
    chosen = find_point(table, point, files.spaces)
    _refuse_output(output, force=force)
    origin = PointOrigin(record["name"], record["id"], _count_points_tried(table))
    text = format_promoted_release(files, chosen, origin, output.absolute().parent)
    with TemporaryDirectory() as folder:
        draft = Path(folder) / output.name
        _write(draft, format_promoted_release(files, chosen, origin, Path(folder)))
        release = load_release(draft)  # before anything is written over
        _refuse_unanswered_kinds(release)
    _write(output, text)
    _say(output, origin, point)
    _warn(table, point, release)
    return 0


def _refuse_unanswered_kinds(release: ReleaseSpec) -> None:
    """Raise InputError if the base release leaves a kind of disclosure unanswered. It names the field, not the file."""
    from flows.limits import REFUSALS, load_classified, refuse_silence

    try:
        refuse_silence(release, *load_classified(release))
    except InputError as error:
        if error.code not in REFUSALS:
            raise
        remedy = f"write them into the base release of the sweep, and run the sweep again: {error.remedy}"
        raise replace(error, where=f"the base release of the sweep: {error.where}", remedy=remedy) from None


def _read_table(storage: WorkingSet, record: dict[str, Any]) -> pa.Table:
    from flows.sweep.record import TABLE
    from tasks.microdata.parquet_files import read_parquet

    name = f"{record['id']}/{TABLE}"
    if not storage.exists(name):
        raise InputError("no-table", "SWEEP", "the sweep has not finished, so its points have no figures yet",
                         "a sweep that has finished", f"continue it: sdcert sweep --resume {record['id']}")  # fmt: skip
    return read_parquet(storage.read(name))


def _warn(table: pa.Table, point: int, release: ReleaseSpec) -> None:
    """Warn if the point did not meet the policy in the sweep."""
    import pyarrow.compute as pc

    from tasks.sweep.frontier import find_policy_region, find_required
    from tasks.sweep.results import Results

    own = Results.from_table(table.filter(pc.equal(table.column("point"), point)))
    keeps_row_order = release.keep_row_order is not None
    required = find_required(release.attacks_to_run, release.steps, keeps_row_order=keeps_row_order)
    (region,) = find_policy_region(own, release.policy_of_sweep, lambda _: required, release.omit)
    if region != "inside":
        how = "did not meet" if region == "outside" else "is not known to meet"
        text = f"warning: in the sweep the point {how} the policy of {release.name} under every seed: it may well be refused"
        terminal(soft_wrap=True).print(text)


def _count_points_tried(table: pa.Table) -> int:
    """Points of which at least one trial was made; those that are wrong in themselves could not be chosen."""
    rows = zip(table.column("point").to_pylist(), table.column("status").to_pylist(), strict=True)
    return len({point for point, status in rows if status != "skipped"})


def _refuse_output(path: Path, *, force: bool) -> None:
    allowed, remedy = "a file that does not exist yet, in a folder that can be written", "choose another --output"
    parent = path.absolute().parent
    try:
        problem = "That is a folder." if path.is_dir() else None if parent.is_dir() else "There is no such folder."
        there = path.exists() or path.is_symlink()
    except OSError as error:
        problem, there = f"That place cannot be looked at ({error.strerror}).", False
    if problem is None and not os.access(parent, os.W_OK | os.X_OK):
        problem = "Nothing can be written there (permission denied)."
    if problem is not None:
        raise InputError("output", WHERE, problem, allowed, remedy, str(path))
    if there and not force:
        remedy = "choose another --output, or write over it with --force"
        raise InputError("output-exists", WHERE, "There is such a file already.", allowed, remedy, str(path))


def _write(path: Path, text: str) -> None:
    try:
        write_whole(path, text.encode(), mode=READABLE, whatever_umask=True)  # a release file holds no secret
    except OSError as error:
        raise InputError("output", WHERE, f"The file cannot be written ({error.strerror}).",
                         "a file in a folder that can be written", "choose another --output", str(path)) from None  # fmt: skip


def _say(path: Path, origin: PointOrigin, point: int) -> None:
    console = terminal(soft_wrap=True)
    console.print(
        f"Wrote {escape_terminal(str(path))}: point {point} of {origin.id}, one of {origin.points_tried:,} that were tried."
    )
    console.print("Its figures in the sweep are those of a choice; certifying masks with a fresh seed and measures again:")
    console.print(f"  sdcert check {shlex.quote(str(path))}\n  sdcert certify {shlex.quote(str(path))}")
