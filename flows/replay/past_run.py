"""Read a past run from its private manifest and the ledger, and check that it can be computed again."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from flows.release import ReleaseSpec
from flows.run.history import compute_run_status, manifest_path
from flows.run.recorder import KEY_MARK
from tasks.audit.ledger.entries import RunEnded
from tasks.audit.lookup.index import Index
from tasks.audit.signing.envelope import ENTRY_TYPE, NotAnEnvelope, open_envelope
from tasks.audit.signing.keyring import KeyRefused, Keyring
from tasks.microdata.errors import InputError
from tasks.microdata.refs import RecordRef
from tasks.microdata.regular_files import read_file
from tasks.microdata.suggestion import did_you_mean
from tasks.runtime.artifacts import Damaged, Store
from tasks.runtime.draws import current_pseudonym_key, draw_id, keep_chosen_seed, keep_seed, read_seed
from tasks.runtime.provenance import Provenance
from tasks.runtime.records import Produced
from tasks.runtime.settings import Home

WHERE = "sdcert audit replay RUN"


class _Stage(BaseModel):
    produced: Produced


class _Manifest(BaseModel):
    """The parts of a manifest that a replay needs; `inputs`, `provenance` and `store` came later than the others."""

    run: str
    status: str
    host: str
    process: int
    spec: dict[str, Any]
    stages: dict[str, _Stage]
    inputs: dict[str, list[Any]] = {}
    provenance: str | None = None
    store: str | None = None
    draw: str | None = None
    seed: str | None = None
    failure: str | None = None
    earlier: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class PastRun:
    """One run as it was written down.

    status: `finished`, `failed`, `interrupted` or `killed`. stages: what each stage made that ended. inputs: what each stage
    was given that began. draw: the id of its seed, None where it ended before one was needed. provenance: what it was made
    by, None where that was not kept. ended: what the ledger says of its end, None: nothing. earlier: the runs whose releases
    counted, None in a run of an earlier version, which asked for none.
    """

    run: str
    status: str
    release: ReleaseSpec
    stages: dict[str, Produced]
    inputs: dict[str, list[Any]]
    draw: str | None
    seed: str | None
    failure: str | None
    provenance: Provenance | None
    ended: RunEnded | None
    earlier: tuple[str, ...] | None = None


class ManifestChanged(Exception):
    """The private manifest is not the one that the ledger's entry about the end of the run names."""

    def __init__(self, run: str) -> None:
        super().__init__(f"the private manifest of run {run} was changed: it is not the one that the ledger names")
        self.run = run


def load_past_run(name: str) -> PastRun:
    """The run of an id, or of its beginning, as it was written down.

    Raises InputError where there is no such run, it still runs, its manifest is gone or cannot be read, or the store's key is
    another one; ManifestChanged where the ledger names another manifest.
    """
    run = _find_only_run(name)
    content = _read_manifest_bytes(run)
    _require_same_store_key(_parse_leniently(content).get("store"))
    ended = find_ending(run)
    if ended is not None and ended.manifest not in (None, Store().digest(content)):
        raise ManifestChanged(run)
    manifest, release = _parse_manifest(run, content)
    status = compute_run_status({"status": manifest.status, "host": manifest.host, "process": manifest.process})
    if status == "running":
        raise InputError("unfinished-run", WHERE, "The run has not ended.", "a run that has ended", "wait for it", run)
    stages = {stage: done.produced for stage, done in manifest.stages.items()}
    made_by = None if manifest.provenance is None else _read_provenance(manifest.provenance)
    facts = (manifest.draw, manifest.seed, manifest.failure)
    return PastRun(run, status, release, stages, manifest.inputs, *facts, made_by, ended, manifest.earlier)


def check_or_restore_secrets(run: PastRun) -> None:
    """See that the seed and the key of the pseudonyms are the run's; a seed that the folder has lost is put back if it can be.

    Raises InputError where one is lost or is not what its id says.
    """
    if run.draw is not None:
        _require_seed(run, run.draw)
    masked_here = run.release.adoption_plan is None
    pseudonyms = run.inputs.get("mask", [""])[-1] if masked_here else ""
    if pseudonyms and run.release.seed is None and current_pseudonym_key(run.release.series_name) != pseudonyms:
        what = "the private folder has lost the key of this series' pseudonyms, or has another one"
        remedy = "restore draws/ from a backup of the private folder"
        raise InputError("lost-pseudonym-key", "SDCERT_HOME", what, "the key that the run used", remedy)


def find_ending(run: str) -> RunEnded | None:
    """What the ledger says of the end of a run; None where there is no ledger, or it says nothing.

    Raises InputError where no key of this home signed the entry; `sdcert audit verify` examines the others.
    """
    if not (Home.current().root / "ledger" / "ledger.jsonl").exists():
        return None
    with Index.current() as index:
        try:
            found = index.run(run)
        except InputError as error:
            if error.code == "no-such-run":
                return None
            raise
        for number, entry in reversed(found.entries):
            if isinstance(entry.event, RunEnded):
                _check_signature(index.entry(number)[0].content)
                return entry.event
    return None


def _check_signature(line: bytes) -> None:
    try:
        Keyring.from_home(Home.current()).signer_of(open_envelope(line, ENTRY_TYPE), purpose="certificates")
    except (KeyRefused, NotAnEnvelope) as error:
        what, allowed = f"What the ledger says of this run is not to be relied on: {error}.", "an entry as it was signed"
        raise InputError("ledger-damaged", "ledger", what, allowed, "`sdcert audit verify` says what is wrong") from None


def _find_only_run(name: str) -> str:
    runs = sorted(path.parent.name for path in (Home.current().root / "runs").glob("*/manifest.json"))
    found = [run for run in runs if run == name] or [run for run in runs if name and run.startswith(name)]
    if len(found) > 1:
        raise InputError("ambiguous-run", WHERE, f"{len(found)} runs begin so.", ", ".join(found[:5]), "write more of it", name)
    if found:
        return found[0]
    what, allowed = "There is no private manifest of such a run in this home.", "the id of a run, or its beginning"
    remedy = did_you_mean(name, runs, "see `sdcert runs`; a manifest that is gone must come from a backup")
    raise InputError("no-such-run", WHERE, what, allowed, remedy, name)


def _read_manifest_bytes(run: str) -> bytes:
    try:
        return read_file(manifest_path(run))
    except OSError as error:
        raise _create_unreadable_error(run, f"cannot be read ({error.strerror})") from None


def _parse_leniently(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _require_same_store_key(mark: Any) -> None:
    path = Home.current().root / "keys" / "store.key"
    what = None if path.exists() else "The private folder has lost the key of its store."
    if what is None and mark is not None and mark != Store().digest(KEY_MARK):
        what = "The key of the store is not the one that this run used: every address would come out otherwise."
    if what is not None:
        remedy = "restore keys/store.key from a backup of the private folder"
        raise InputError("other-store-key", "SDCERT_HOME", what, "the key that the run used", remedy)


def _parse_manifest(run: str, content: bytes) -> tuple[_Manifest, ReleaseSpec]:
    try:
        manifest = _Manifest.model_validate_json(content)
    except ValidationError:
        raise _create_unreadable_error(run, "is damaged, or of another version of sdcert") from None
    if manifest.run != run:
        raise _create_unreadable_error(run, "is that of another run")
    try:
        return manifest, TypeAdapter(ReleaseSpec).validate_json(json.dumps(manifest.spec))
    except ValidationError as error:
        fields = ", ".join(sorted({".".join(str(step) for step in found["loc"][:2]) for found in error.errors()})[:5])
        what = f"its release file cannot be read by this version of sdcert any more ({fields})"
        raise _create_unreadable_error(run, f"is of another version: {what}") from None


def _create_unreadable_error(run: str, why: str) -> InputError:
    what, remedy = f"The private manifest {why}.", "replay with the version of sdcert that made it, or restore it from a backup"
    return InputError("unreadable-manifest", WHERE, what, "a manifest as this version writes it", remedy, run)


def _read_provenance(address: str) -> Provenance | None:
    try:
        return Store().record(RecordRef(address), Provenance)
    except (Damaged, ValidationError):
        return None


def _require_seed(run: PastRun, draw: str) -> None:
    try:
        read_seed(draw)
    except InputError as error:
        if error.code == "damaged-seed":
            what, remedy = "The seed of this run is damaged.", "restore draws/seeds from a backup of the private folder"
            raise InputError("damaged-seed", "SDCERT_HOME", what, "the seed that the run used", remedy, run.run) from None
        if _restore_seed(run) == draw:
            return
        what = "The private folder has lost the seed of this run, and its manifest does not hold it."
        remedy = "restore draws/seeds from a backup of the private folder"
        raise InputError("lost-seed", "SDCERT_HOME", what, "the seed that the run used", remedy, run.run) from None


def _restore_seed(run: PastRun) -> str | None:
    """Put the seed that the manifest holds, or that was chosen, back where it was; returns the id of its draw."""
    if run.release.seed is not None:
        return keep_chosen_seed(run.release.seed)
    if run.seed is None or re.fullmatch(r"([0-9a-f]{2})+", run.seed) is None or draw_id(bytes.fromhex(run.seed)) != run.draw:
        return None
    return keep_seed(bytes.fromhex(run.seed))
