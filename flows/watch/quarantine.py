"""Quarantine: versions of a source that a release file does not fit, written down with the reason, and not tried again.

One private record each, in `quarantine/<series>/` of the home: the reason may hold values of the source. The ledger has the
failed run with the code alone. A record counts for one version with one release file, until a person asks for another try.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import AwareDatetime, ValidationError

from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import read_file, read_text_file
from tasks.microdata.spec import Spec
from tasks.runtime.artifacts import Store
from tasks.runtime.files import write_whole
from tasks.runtime.settings import Home

if TYPE_CHECKING:  # records are read without what a release imports
    from flows.release import ReleaseSpec
    from flows.watch.source_poll import Version

FOLDER, BEGUN = "quarantine", ".begun"
DEATHS = 3  # so many runs killed on one version, and it is quarantined
WHERE = "sdcert quarantine ID"


class QuarantineRecord(Spec):
    """One record. label: the file's name or what messages call the source. code: kind and place of what is wrong, no value.

    reason: the whole message. run: the run that failed, if one began. times: how often it was quarantined. retry_at: when a
    person asked for another try; the record counts no more. passed_by: the run that certified a later version; it is not
    looked at any more, and nobody has to do anything about it.
    """

    id: str
    watch: str
    release: str
    series: str
    label: str
    code: str
    reason: str
    run: str | None
    at: AwareDatetime
    times: int
    retry_at: AwareDatetime | None = None
    passed_by: str | None = None


def record_id(release: ReleaseSpec, version: Version) -> str:
    """What names a version of a source with a release file."""
    from flows.watch.identity import release_key

    parts = (release_key(release), version.source_file, version.adopted or "")
    return Store().digest(":".join(("quarantine", *parts)).encode())[:16]


def is_quarantined(series: str, name: str) -> bool:
    """A record that cannot be read counts: nothing is tried because a file was damaged."""
    path = _path(series, name)
    found = _read(path)
    return path.exists() if found is None else found.retry_at is None


def put(record: QuarantineRecord) -> QuarantineRecord:
    """Write a record down, with how often that version was quarantined before."""
    path = _path(record.series, record.id)
    before = _read(path)
    counted = record.model_copy(update={"times": 1 if before is None else before.times + 1})
    Home.current().folder(FOLDER, record.series)
    write_whole(path, counted.model_dump_json(indent=1).encode())
    return counted


def read_quarantine_records() -> list[QuarantineRecord]:
    """Every record of this home that waits for somebody, newest first; one that cannot be read as well as it can be told."""
    found = (_read(path) or _create_damaged_record(path) for path in sorted((Home.current().root / FOLDER).glob("*/*.json")))
    return sorted(
        (one for one in found if one.retry_at is None and one.passed_by is None), key=lambda one: one.at, reverse=True
    )


def record(beginning: str) -> QuarantineRecord:
    """The record of an id, or the only one whose id begins so; InputError where there is none, or more than one."""
    found = [one for one in read_quarantine_records() if beginning and one.id.startswith(beginning)]
    if len(found) == 1:
        return found[0]
    what = f"{len(found)} records begin so" if found else "there is no such record"
    raise InputError("no-such-record", WHERE, what, "the id of a record, or its beginning",
                     "`sdcert quarantine list` lists them", beginning)  # fmt: skip


def retry(one: QuarantineRecord) -> None:
    """Let the next look try a version again. The record is kept, and says when that was asked for."""
    asked = one.model_copy(update={"retry_at": datetime.now(UTC)})
    write_whole(_path(one.series, one.id), asked.model_dump_json(indent=1).encode())
    _get_starts_path(one.series, one.id).unlink(missing_ok=True)


def lift(series: str, name: str) -> None:
    """A version that passed after all is no longer in quarantine."""
    found = _read(_path(series, name))
    if found is not None and found.retry_at is None:
        retry(found)


def close_older_records(series: str, watch: str, run: str) -> None:
    """A later version of a watch's source was certified: those before it are nobody's business any more."""
    for one in read_quarantine_records():
        if (one.series, one.watch) == (series, watch):
            write_whole(_path(series, one.id), one.model_copy(update={"passed_by": run}).model_dump_json(indent=1).encode())


def count_deaths(series: str, name: str) -> int:
    """How many runs on this version began and were killed without a word since the last that was not."""
    with suppress(OSError, ValueError):
        return int(read_text_file(_get_starts_path(series, name)))
    return 0


def count_start(series: str, name: str) -> None:
    """Written before a run, so that one that takes the whole process with it is not begun for ever."""
    Home.current().folder(FOLDER, series)
    write_whole(_get_starts_path(series, name), str(count_deaths(series, name) + 1).encode())


def clear_starts(series: str, name: str) -> None:
    """The process is there still, whatever became of the run."""
    _get_starts_path(series, name).unlink(missing_ok=True)


def is_first_report(series: str, run: str) -> bool:
    """Whether a certificate's overdue review is told for the first time."""
    mark = Home.current().folder(FOLDER, series) / f"{run}.review-told"
    if mark.exists():
        return False
    write_whole(mark, b"")
    return True


def _path(series: str, name: str) -> Path:
    return Home.current().root / FOLDER / series / f"{name}.json"


def _get_starts_path(series: str, name: str) -> Path:
    return _path(series, name).with_suffix(BEGUN)


def _read(path: Path) -> QuarantineRecord | None:
    try:
        return QuarantineRecord.model_validate_json(read_file(path))
    except (OSError, ValidationError):
        return None


def _create_damaged_record(path: Path) -> QuarantineRecord:
    at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return QuarantineRecord(id=path.stem, watch="?", release="?", series=path.parent.name, label="?", code="damaged-record",
                          reason="the record cannot be read", run=None, at=at, times=1)  # fmt: skip
