"""What a watch file says: a release, and where new versions of its source appear."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from flows.release import ReleaseSpec
from flows.release_file import load_release
from tasks.microdata.document import EXAMPLE, Document, read_document, validate_document
from tasks.microdata.errors import InputError
from tasks.microdata.spec import Name, Slug, Spec

WATCH_EXAMPLE = "params/watches/anes96.yaml"


class LookAt(Spec):
    """Either `folder` (a drop folder: each new file is a version) or `source: release` (the release's own table or query).

    folder: relative to the watch file. pattern: of the names of files, as a shell has it; names that begin with a dot are
        matched only by a pattern that does. Links, folders and whatever else is no plain file are never looked at.
    newest_by: which of several files is the newest: the one `modified` last, or the last by `name` (`survey-2026-11.csv`).
    settled_seconds: a file that was touched less long ago is still being written; also the release's own file.
    largest_mb: a file above this size is quarantined unread.
    """

    folder: Name | None = None
    pattern: Name = "*"
    newest_by: Literal["modified", "name"] = "modified"
    settled_seconds: Annotated[int, Field(ge=0, le=86_400)] = 60
    largest_mb: Annotated[int, Field(ge=1, le=1_000_000)] = 4_000
    source: Literal["release"] | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.folder is None) == (self.source is None):
            raise ValueError("look at exactly one of `folder: <path>` and `source: release`")
        given = {"pattern", "newest_by", "largest_mb"} & self.model_fields_set
        if self.folder is None and given:
            raise ValueError("`pattern`, `newest_by` and `largest_mb` belong to a `folder`")
        if "/" in self.pattern or "\0" in self.pattern:
            raise ValueError("`pattern` is of file names, not of paths: it has no /")
        return self


class WatchSpec(Spec):
    """A watch: certify a series whenever its source has a new version.

    release, output: relative to the watch file. review: what happens when the review of the last certificate is overdue and its
    source is still the newest: `certify` measures it again, with the same draw, by the attacks of today; `tell` only says so.
    """

    name: Slug
    release: Name
    look_at: LookAt
    output: Name = Field(description="where release folders are made: OUTPUT/<release>/<run>/")
    review: Literal["certify", "tell"] = "certify"


@dataclass(frozen=True, slots=True)
class WatchDefinition:
    """A watch file that was read and checked, with its release; paths are absolute. folder: None for `source: release`."""

    spec: WatchSpec
    release_file: Path
    release: ReleaseSpec
    folder: Path | None
    output: Path


def load_watch(path: Path) -> WatchDefinition:
    """Read and check a watch file and its release file; no data is touched. InputError says what is wrong, and what to do."""
    document = read_document(path)
    try:
        spec = validate_document(WatchSpec, document)
    except InputError as error:
        raise _about_a_watch(error) from None
    base = path.absolute().parent
    release_file = base / spec.release
    if not os.path.isfile(release_file):  # noqa: PTH113  Path.is_file raises for a name that is too long
        remedy = "correct `release`; it is relative to the watch file"
        raise _create_watch_error(
            document, "release", "there is no such release file", "the path of a release file (YAML)", remedy, spec.release
        )
    release = load_release(release_file)
    if spec.look_at.folder is not None:
        _refuse_unfit(release, document)
    folder = None if spec.look_at.folder is None else Path(os.path.normpath(base / spec.look_at.folder))
    return WatchDefinition(
        spec, Path(os.path.normpath(release_file)), release, folder, Path(os.path.normpath(base / spec.output))
    )


def create_watch_schema() -> dict[str, Any]:
    """The JSON schema that editors use; params/schema/watch.json holds it, and a test says when it is stale."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **WatchSpec.model_json_schema(by_alias=True)}


def _refuse_unfit(release: ReleaseSpec, document: Document) -> None:
    """A drop folder holds files: each takes the place of the release's own, and is masked here."""
    what = None
    if release.source.table is None:
        what = "the source of the release is no file, so that no file of a folder can take its place"
    elif release.released is not None:
        what = "the release adopts one table that was masked elsewhere, which fits one version of the source"
    if what is not None:
        raise _create_watch_error(
            document, "look_at", what, "a release with `source: {table: ...}` and `masking`", "look at `source: release`"
        )


def _create_watch_error(
    document: Document, field: str, what: str, allowed: str, remedy: str, value: object = None
) -> InputError:
    return InputError("watch-file", document.where((field,)), what, allowed, remedy, value)


def _about_a_watch(error: InputError) -> InputError:
    """The error of a YAML file, with advice that fits a watch file."""
    texts = (text.replace("schema/release.json", "schema/watch.json") for text in (error.allowed, error.remedy))
    allowed, remedy = (text.replace(EXAMPLE, WATCH_EXAMPLE).replace("a release file", "a watch file") for text in texts)
    return dataclasses.replace(error, code="watch-file", allowed=allowed, remedy=remedy)
