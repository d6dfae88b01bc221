"""Certify a release file and verify a released file, as the command line does."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from tasks.microdata.regular_files import LARGEST_TABLE, read_file, read_text_file
from tasks.runtime.settings import PRIVATE, USERS_UMASK

if TYPE_CHECKING:
    from flows.cli.verify import VerifiedFile

_RELEASED = ("released.csv", "released.parquet")


@dataclass(frozen=True, slots=True, eq=False)
class CertifiedRelease:
    """A run of a release file, and the folder that it left.

    run: its id. verdict: `certified`, `refused` or `undecided`. exceptions: what the verdict excepts. folder: holds what may be
    published; of a release that is not certified there is no table in it.
    """

    run: str
    verdict: str
    exceptions: tuple[str, ...]
    folder: Path

    @property
    def scorecard(self) -> dict[str, Any]:
        """Every figure and every line of the policy, as published: shares of people by classes of ten."""
        found: dict[str, Any] = json.loads(read_text_file(self.folder / "scorecard.json"))
        return found

    @property
    def report(self) -> Path:
        """The report, one page of HTML."""
        return self.folder / "report.html"

    @property
    def certificate(self) -> Path | None:
        """The signed certificate; None where the release is not certified, or is a rehearsal (`statement`)."""
        return self._find("certificate.json")

    @property
    def statement(self) -> Path | None:
        """The signed statement that takes the certificate's place; None where there is a certificate."""
        return self._find("statement.json")

    @property
    def released_file(self) -> Path | None:
        """The file that is published; None where nothing is, or a model."""
        return next(filter(None, map(self._find, _RELEASED)), None)

    @property
    def table(self) -> pd.DataFrame | None:
        """The released table, its rows shuffled, as a reader of the file sees it; None where none is published."""
        file = self.released_file
        if file is None:
            return None
        return pd.read_parquet(file) if file.suffix == ".parquet" else pd.read_csv(file)

    def _find(self, name: str) -> Path | None:
        path = self.folder / name
        return path if path.exists() else None

    def _repr_html_(self) -> str:
        from sdcert.pages import frame_page

        return frame_page(read_file(self.report, LARGEST_TABLE).decode())


@dataclass(frozen=True, slots=True, eq=False)
class VerifiedRelease:
    """What was found of a released file; it is true if the file is what its certificate says.

    conclusion: one sentence. checks: what was looked at, one row each. predicate: what the certificate says, once its signature
    was found good. broken_by: later releases of the same persons that break it, as far as the ledger of this machine knows.
    """

    matches: bool
    conclusion: str
    checks: pd.DataFrame = field(repr=False)
    predicate: dict[str, Any] | None = field(repr=False)
    broken_by: list[dict[str, Any]] = field(repr=False)

    def __bool__(self) -> bool:
        return self.matches


def certify(
    release: str | os.PathLike[str],
    *,
    output: str | os.PathLike[str] = "releases",
    refresh: bool = False,
    new_draw: bool = False,
) -> CertifiedRelease:
    """Certify a release file (YAML), as `sdcert certify` does: the same private folder, seed, cache, ledger and release folder.

    output: where the release folder is made. refresh: compute every stage again, with the same seed. new_draw: draw another
    seed, which counts as an attempt. A seed cannot be chosen for what is published.

    Raises InputError for wrong input, with the line of the file. It tells its progress on stderr.
    """
    with keep_rights():
        from flows.cli.certify import certify_file

        done = certify_file(Path(release), Path(output), refresh=refresh, new_draw=new_draw)
    exceptions = tuple(filter(None, done["exceptions"].split(",")))
    return CertifiedRelease(done["run"], done["verdict"], exceptions, Path(done["folder"]))


def verify(
    path: str | os.PathLike[str],
    *,
    key: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    certificate: str | os.PathLike[str] | None = None,
    at: str | None = None,
    content_only: bool = False,
) -> VerifiedRelease:
    """Is a released file what its certificate says? As `sdcert verify`: offline, and it writes nothing.

    path: the released table, or its report. key: the issuer's public key (PEM) or trust file, or several; default: the keys of
    the private folder. certificate: default: the one beside the file. at: judge as of this date, `2028-11-21`. content_only: of
    other bytes compare the table alone.

    Raises InputError for what cannot be read, and where no key is known.
    """
    from flows.cli.verify import verify_released_file

    named = Path(certificate) if certificate is not None else None
    return _describe(verify_released_file(Path(path), named, list_paths(key), at, content_only=content_only))


def list_paths(given: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None) -> list[Path]:
    """One path, several, or none, as a list."""
    if given is None:
        return []
    return [Path(given)] if isinstance(given, str | os.PathLike) else [Path(one) for one in given]


def _describe(verified: VerifiedFile) -> VerifiedRelease:
    found = verified.serialise()
    checks = pd.DataFrame(found["checks"], columns=["what", "matches", "says", "warning"])
    return VerifiedRelease(found["matches"], found["conclusion"], checks, found["predicate"], found["broken_by"])


@contextmanager
def keep_rights() -> Iterator[None]:
    """What is published has the rights of the present umask, and what is written afterwards too: certifying changes it."""
    before, told = os.umask(PRIVATE), os.environ.get(USERS_UMASK)
    os.umask(before)
    os.environ[USERS_UMASK] = f"{before:03o}"
    try:
        yield
    finally:
        os.umask(before)
        if told is None:
            os.environ.pop(USERS_UMASK, None)
        else:
            os.environ[USERS_UMASK] = told
