"""The entries of the ledger: one for each thing that happened, none with a value of anybody's data.

Sources, maskings, draws and manifests are named by keyed digests, which tell who holds the store's key whether two are equal
and tell others nothing. Only what is public has a plain digest: released files, documents, certificates and policies.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field, StringConstraints

from tasks.microdata.spec import Spec
from tasks.report.predicate import ColumnClaim, DocumentClaim, MadeBy
from tasks.report.predicate import Digest as Digest

ArtifactAddress = Annotated[str, StringConstraints(pattern=r"^[a-z]+:[0-9a-f]{64}$")]  # of the store: a keyed digest
NOTHING_BEFORE = "0" * 64

KeyPurpose = Literal["certificates", "approvals"]
RunOutcome = Literal["certified", "refused", "undecided", "failed", "interrupted"]


class KeyClaim(Spec):
    """A public key. purpose: `certificates` signs certificates and entries (the machine), `approvals` is a person's."""

    key_id: Digest
    purpose: KeyPurpose
    name: str
    public_key: str = Field(description="PEM, SubjectPublicKeyInfo")
    created_at: AwareDatetime


class AskedBy(Spec):
    """Who asked for a run: a user at a host, or a deployment of Prefect's."""

    user: str
    host: str
    deployment: str | None = None
    flow_run: str | None = None


class ReleasedTable(Spec):
    """The released table: its file, and the address of its content whatever the format."""

    name: str
    sha256: Digest
    content_address: str
    rows: Annotated[int, Field(ge=0)]
    columns: tuple[ColumnClaim, ...]


class MaskedAttribute(Spec):
    """An attribute of the source, how it was masked (empty: not at all), and whether it is published or taught a model."""

    name: str
    role: str
    masks: tuple[str, ...]
    published: bool
    taught: bool = False


class LedgerOpened(Spec):
    """The first entry: its key is the one that all others are traced to."""

    kind: Literal["opened"] = "opened"
    key: KeyClaim


class KeyChanged(Spec):
    """A key was made, retired (what it signed stays good) or revoked (what it signed since then, or ever, is no longer)."""

    kind: Literal["key"] = "key"
    change: Literal["created", "retired", "revoked"]
    key: KeyClaim
    since: AwareDatetime | None = None
    reason: str | None = None


class RunBegan(Spec):
    """A run was asked for. spec: keyed address of its release file."""

    kind: Literal["began"] = "began"
    run: str
    release: str
    series: str
    spec: ArtifactAddress
    dataset: str | None
    asked_by: AskedBy
    made_by: MadeBy


class AttemptMade(Spec):
    """Written before a masking is made.

    source: keyed address of the table. source_file: keyed digest of the file or query. masking: keyed address of the steps, or
    of the adoption with the digest of the adopted file. draw: the id of the seed. policy: SHA-256 of the policy's canonical
    lines.
    attempts: how many different ones the series has made on this source, this one included.
    """

    kind: Literal["attempt"] = "attempt"
    run: str
    series: str
    source: ArtifactAddress
    source_file: Digest
    masking: str
    draw: str
    policy: Digest
    attempts: Annotated[int, Field(ge=1)]


class StageDone(Spec):
    """One stage of a run: served from the cache or computed, and the addresses of what it made."""

    cached: bool
    produced: dict[str, str]


class RunEnded(Spec):
    """What became of a run.

    stage, code: of a failure, where and of which kind; never a value. certificate: SHA-256 of the signed statement, called
    `certificate.json` where the release is certified. criteria: the lines of the policy as in the public scorecard.
    manifest: keyed digest of the private manifest, for a replay. previous_certificate: of the series. exceptions: what a
    verdict of `certified` excepts, kinds of disclosure and omitted attacks.
    """

    kind: Literal["ended"] = "ended"
    run: str
    release: str
    series: str
    outcome: RunOutcome
    not_for_publication: bool
    stage: str | None = None
    code: str | None = None
    released: ReleasedTable | None = None
    documents: tuple[DocumentClaim, ...] = ()
    certificate: Digest | None = None
    previous_certificate: Digest | None = None
    review_by: AwareDatetime | None = None
    attack_catalogue_version: str | None = None
    exceptions: tuple[str, ...] = ()
    criteria: tuple[dict[str, Any], ...] = ()
    attributes: tuple[MaskedAttribute, ...] = ()
    stages: dict[str, StageDone] = Field(default_factory=dict)
    manifest: Digest | None = None

    @property
    def is_release(self) -> bool:
        """Did it end with a certificate for publication? A refusal and a rehearsal are no releases."""
        return self.outcome == "certified" and not self.not_for_publication


class ReleaseApproved(Spec):
    """A person signed an approval of a certificate.

    approval: SHA-256 of its file. independent: the approver is not who wrote the policy; not assessed where none is declared.
    """

    kind: Literal["approved"] = "approved"
    run: str
    certificate: Digest
    approval: Digest
    by: str
    role: str
    reason: str
    key_id: Digest
    independent: bool | Literal["not assessed"]
    flags: tuple[str, ...] = ()


class CertificateRevoked(Spec):
    """A certificate is no longer to be relied upon.

    never_published: nobody outside was given the file, so that it does not count as an earlier release about its persons.
    """

    kind: Literal["revoked"] = "revoked"
    run: str
    certificate: Digest
    revocation: Digest
    reason: str
    asked_by: AskedBy
    never_published: bool = False


class RunReplayed(Spec):
    """A run was computed again from its manifest and seed. differs: the stages that came out otherwise; causes: why."""

    kind: Literal["replayed"] = "replayed"
    run: str
    outcome: Literal["identical", "differs", "failed"]
    differs: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    asked_by: AskedBy
    made_by: MadeBy


class ClockSetBack(Spec):
    """The clock says less than an earlier entry, and the holder of the key says that this is right.

    latest: the time of the entry before this one; the time of this one is what the clock says now.
    """

    kind: Literal["clock"] = "clock"
    latest: AwareDatetime
    reason: str
    asked_by: AskedBy


EntryEvent = Annotated[
    LedgerOpened
    | KeyChanged
    | RunBegan
    | AttemptMade
    | RunEnded
    | ReleaseApproved
    | CertificateRevoked
    | RunReplayed
    | ClockSetBack,
    Field(discriminator="kind"),
]


class Entry(Spec):
    """One entry. previous: the leaf hash of the entry before it; the first has `NOTHING_BEFORE`."""

    schema_version: Literal["1"] = "1"
    ledger: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
    index: Annotated[int, Field(ge=0)]
    previous: Digest
    at: AwareDatetime
    event: EntryEvent
