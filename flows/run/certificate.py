"""What is signed at the end of a run: the statement about a release, and the entry of the ledger that names it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flows.release import ReleaseSpec
from flows.run.publish import CERTIFICATE, UNCERTIFIED, compute_sha256
from flows.run.run_entries import Trail
from tasks.audit.ledger.entries import MaskedAttribute, ReleasedTable, RunEnded, StageDone
from tasks.audit.signing.envelope import STATEMENT_PAYLOAD_TYPE, sign_envelope
from tasks.audit.signing.keys import SigningKey
from tasks.report.content import Content
from tasks.report.page import Stamp
from tasks.report.predicate import ATTACK_CATALOGUE_VERSION, ColumnClaim, DocumentClaim, EarlierReleaseClaim, SweepClaim
from tasks.report.statement import REVIEW_MONTHS, add_months, create_predicate, create_statement
from tasks.runtime.draws import SEED_ENTROPY_BITS


@dataclass(frozen=True, slots=True)
class ReleasedFile:
    """What was written to be released. sha256: of its bytes; content_address: of a table's content, whatever the format.

    Of a model, whose content has one form, both are the same; rows are those of its training table, and columns what it reads
    and, last, what it predicts.
    """

    name: str
    sha256: str
    content_address: str
    rows: int
    columns: tuple[ColumnClaim, ...]

    @property
    def subject(self) -> tuple[str, str, str]:
        return (self.name, self.sha256, self.content_address)

    @property
    def stamp_fields(self) -> dict[str, str]:
        return dict(zip(("released_file", "sha256", "content_address"), self.subject, strict=True))

    @property
    def ledger_table(self) -> ReleasedTable:
        name, digest, address = self.subject
        return ReleasedTable(name=name, sha256=digest, content_address=address, rows=self.rows, columns=self.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConclusion:
    """All that the end of a run says, but for what is known only while the ledger is held: the certificate before.

    documents: the files issued beside the table, the report first. source: address of the source's table. earlier: the earlier
    releases about the same persons.
    """

    trail: Trail
    release: ReleaseSpec
    content: Content
    stamp: Stamp
    source: str
    file: ReleasedFile | None
    documents: tuple[DocumentClaim, ...]
    criteria: list[dict[str, Any]]
    stages: dict[str, Any]
    manifest: str
    earlier: tuple[EarlierReleaseClaim, ...] = ()

    @property
    def statement_name(self) -> str:
        """What certifies nothing is not called a certificate: neither a refusal nor a rehearsal."""
        return CERTIFICATE if self.content.is_certified and not self.release.not_for_publication else UNCERTIFIED

    def sign_statement(self, key: SigningKey) -> tuple[bytes, RunEnded]:
        """The signed statement, and the entry that names it. Call while the ledger is held."""
        last = self.trail.series.find_last_release()
        previous = None if last is None or last.ending is None else last.ending.certificate
        envelope = sign_envelope(self._statement(previous), STATEMENT_PAYLOAD_TYPE, key.signer)
        return envelope, self._entry(compute_sha256(envelope), previous)

    def _statement(self, previous: str | None) -> dict[str, Any]:
        if self.trail.recorded is None:
            raise RuntimeError("a statement was asked for before an attempt was written down")
        secret = self.release.seed is None and self.release.released is None
        chosen = self.release.sweep
        certified = create_predicate(
            self.content,
            self.stamp,
            source_digest=self.source.partition(":")[2],
            recorded=self.trail.recorded,
            made_by=self.trail.made_by,
            columns=() if self.file is None else self.file.columns,
            documents=self.documents,
            previous_certificate=previous,
            policy_version=self.release.policy_version,
            policy_author=self.release.policy_author,
            seed_entropy_bits=SEED_ENTROPY_BITS if secret else None,
            earlier_releases=self.earlier,
            sweep=None if chosen is None else SweepClaim(name=chosen.name, points_tried=chosen.points_tried),
        )
        report = self.documents[0]
        return create_statement(certified, *((report.name, report.sha256) if self.file is None else self.file.subject))

    def _entry(self, digest: str, previous: str | None) -> RunEnded:
        return RunEnded(
            run=self.trail.run,
            release=self.release.name,
            series=self.release.series_name,
            outcome=self.content.verdict.verdict,
            not_for_publication=self.release.not_for_publication,
            released=None if self.file is None else self.file.ledger_table,
            documents=self.documents,
            certificate=digest,
            previous_certificate=previous,
            review_by=add_months(self.stamp.issued_at, REVIEW_MONTHS),
            attack_catalogue_version=ATTACK_CATALOGUE_VERSION,
            exceptions=tuple(name for name, _ in self.content.exceptions),
            criteria=tuple(self.criteria),
            attributes=_list_attributes(self.content),
            stages={name: StageDone(cached=one["cached"], produced=one["produced"]) for name, one in self.stages.items()},
            manifest=self.manifest,
        )


def _list_attributes(content: Content) -> tuple[MaskedAttribute, ...]:
    taught = set() if content.model is None else {content.model.target, *(one.name for one in content.model.inputs)}
    return tuple(
        MaskedAttribute(
            name=one.name,
            role=str(one.role),
            masks=tuple(step.method for step in content.steps_on(one.name)),
            published=content.kind.is_table and (one.is_published or one.name in content.pseudonym_columns),
            taught=one.name in taught,
        )
        for one in content.schema.attributes
    )
