"""Tell whether two runs are of the same release file: by everything in it that decides, whatever table it was applied to."""

from __future__ import annotations

import json

from pydantic import TypeAdapter, ValidationError

from flows.release import ReleaseSpec
from flows.run.history import read_manifest
from tasks.microdata.canonical import canonical
from tasks.microdata.refs import RecordRef
from tasks.report.publication import PriorTable
from tasks.runtime.artifacts import Damaged, Store

_MORE = "; others are not assessed"  # so earlier versions named other versions of a series; now the ledger itself is asked


def release_key(release: ReleaseSpec) -> str:
    """The keyed digest of a release file without the places of its tables, and without what earlier versions of
    sdcert added of other versions of its series."""
    declared = _extract_prior_releases(release)
    plain = release.model_copy(update={"context": release.context.model_copy(update={"prior_releases": declared})})
    tables = {"source": {"table"}, "released": {"table"}}
    return Store().digest(canonical(plain.model_dump(mode="json", by_alias=True, exclude=tables)))


def find_past_release_key(spec: str, run: str) -> str | None:
    """The same of an earlier run: of what the ledger names, else of its private manifest; None where neither can be read."""
    try:
        return release_key(Store().record(RecordRef(spec), ReleaseSpec))
    except (Damaged, ValidationError):
        pass
    try:
        return release_key(TypeAdapter(ReleaseSpec).validate_json(json.dumps(read_manifest(run)["spec"])))
    except (OSError, ValueError, KeyError):
        return None


def _extract_prior_releases(release: ReleaseSpec) -> tuple[str | PriorTable, ...] | None:
    """The earlier releases that the release file itself declares."""
    before = release.context.prior_releases
    if before is None:
        return None
    added = [one for one in before if isinstance(one, str) and one.startswith(_find_series(release))]
    kept = tuple(one for one in before if one not in added)
    return None if not kept and any(one.endswith(_MORE) for one in added) else kept


def _find_series(release: ReleaseSpec) -> str:
    return f"series {release.series_name}: "
