"""The in-toto statement about one release: the predicate filled from the content, and its canonical form."""

from __future__ import annotations

import calendar
import hashlib
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from typing import Any

from tasks.mask.methods import Mechanism
from tasks.mask.sampling import Sampling
from tasks.microdata.canonical import canonical
from tasks.microdata.table import Microdata
from tasks.report.attack_claims import list_attack_claims
from tasks.report.attack_model import build_attack_model
from tasks.report.content import Content
from tasks.report.page import Stamp
from tasks.report.predicate import (
    ATTACK_CATALOGUE_VERSION,
    NOT_ASSESSED,
    PREDICATE_TYPE,
    STATEMENT_TYPE,
    Approval,
    AttributeClaim,
    Claim,
    ColumnClaim,
    ContextClaim,
    CriterionClaim,
    DataClaim,
    DocumentClaim,
    EarlierReleaseClaim,
    FileClaim,
    KeyedDigest,
    KindClaim,
    LedgerClaim,
    MadeBy,
    MaskClaim,
    NotClaimed,
    OmissionClaim,
    PolicyClaim,
    Predicate,
    SweepClaim,
)
from tasks.report.views import residual
from tasks.report.views.exceptions import describe_disclosure
from tasks.report.views.policy_lines import explain_decision
from tasks.report.wording.sentence import say
from tasks.report.working_party import judge_working_party
from tasks.score.kinds import KINDS
from tasks.score.policy import PolicyLine
from tasks.score.verdict import Criterion
from tasks.train.card import ModelCard

REVIEW_MONTHS = 24


def create_predicate(
    content: Content,
    stamp: Stamp,
    *,
    source_digest: str,
    recorded: LedgerClaim,
    made_by: MadeBy,
    columns: tuple[ColumnClaim, ...] = (),
    documents: tuple[DocumentClaim, ...] = (),
    previous_certificate: str | None = None,
    policy_version: str | None = None,
    policy_author: str | None = None,
    seed_entropy_bits: int | None = None,
    sweep: SweepClaim | None = None,
    approvals: tuple[Approval, ...] = (),
    earlier_releases: tuple[EarlierReleaseClaim, ...] = (),
) -> dict[str, Any]:
    """Everything the certificate says, as plain JSON values.

    Parameters
    ----------
    content: its public edition. stamp: what was issued, and when.
    source_digest: HMAC-SHA-256 of the source under a private key; a plain hash would confirm guesses.
    recorded: what the ledger held before the masking was made. columns: of the released table (`create_column_claims`).
    documents: what is issued beside it. previous_certificate: SHA-256 of the last one of the series; None: there is none.
    seed_entropy_bits: None for a chosen seed, whose strength nobody knows. earlier_releases: those about the same persons.

    Nothing in it is a value of the source. The same arguments give the same values.
    """
    filled = Predicate(
        release=content.name,
        series=content.series,
        run=stamp.run,
        claim=_create_claim(content, stamp, columns, policy_version, policy_author),
        not_claimed=_list_not_claimed(content),
        criteria_wp29=judge_working_party(content),
        context=_create_context_claim(content, earlier_releases),
        data=_create_data_claim(content, stamp, source_digest),
        attack_model=build_attack_model(content),
        attributes=_list_attributes(content),
        documents=documents,
        approvals=approvals,
        issued_at=stamp.issued_at,
        review_by=add_months(stamp.issued_at, REVIEW_MONTHS),
        revoked_by=None,
        previous_certificate=previous_certificate or "none",
        attempts=stamp.attempts,
        recorded=recorded,
        made_by=made_by,
        sweep=NOT_ASSESSED if sweep is None else sweep,
        seed_entropy_bits=NOT_ASSESSED if seed_entropy_bits is None else seed_entropy_bits,
        attack_catalogue_version=ATTACK_CATALOGUE_VERSION,
        utility=residual.fitness(content),
        residual=residual.residual_risks(content),
    )
    return filled.model_dump(mode="json")


def create_statement(
    predicate: dict[str, Any], file_name: str, sha256: str, content_address: str | None = None
) -> dict[str, Any]:
    """An in-toto Statement v1 about one file.

    file_name, sha256: of the released table; where nothing was released, of the report, because a statement needs a subject.
    content_address: the address of the table's content, the same in every format.
    """
    digests = {"sha256": sha256} | ({} if content_address is None else {"sdcertContent": content_address})
    return {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": file_name, "digest": digests}],
        "predicateType": PREDICATE_TYPE,
        "predicate": predicate,
    }


def create_column_claims(table: Microdata) -> tuple[ColumnClaim, ...]:
    """The columns of a released table, in their order."""
    return tuple(ColumnClaim(name=name, type=str(table.column(name).type)) for name in table.names)


def create_model_column_claims(card: ModelCard) -> tuple[ColumnClaim, ...]:
    """What a released model reads, in its order, and last what it predicts."""
    target = ColumnClaim(name=card.target, type=card.target_type)
    return (*(ColumnClaim(name=one.name, type=one.type) for one in card.inputs), target)


def add_months(moment: datetime, months: int) -> datetime:
    """The same day and time so many months later; the last day of the month where that day does not exist."""
    years, month = divmod(moment.month - 1 + months, 12)
    year = moment.year + years
    return moment.replace(year=year, month=month + 1, day=min(moment.day, calendar.monthrange(year, month + 1)[1]))


def digest_policy(policy: Iterable[PolicyLine]) -> str:
    """SHA-256 of the canonical JSON of a policy's lines: the same before the attempt and in the certificate."""
    return hashlib.sha256(canonical(_serialise_policy(policy))).hexdigest()


def _serialise_policy(policy: Iterable[PolicyLine]) -> tuple[dict[str, object], ...]:
    return tuple(line.public() for line in policy)


def _create_claim(
    content: Content, stamp: Stamp, columns: tuple[ColumnClaim, ...], version: str | None, author: str | None
) -> Claim:
    return Claim(
        verdict=content.verdict.verdict,
        not_for_publication=content.not_for_publication,
        file=_create_file_claim(content, stamp, columns) or "not released",
        policy=PolicyClaim(
            id=f"{content.series}/policy",
            version=version or NOT_ASSESSED,
            author=author or NOT_ASSESSED,
            digest=digest_policy(content.policy),
            lines=_serialise_policy(content.policy),
        ),
        criteria=tuple(_create_criterion_claim(content, line, one) for line, one in content.lines()),
        attacks=list_attack_claims(content),
        date=stamp.issued_at,
    )


def _create_criterion_claim(content: Content, line: PolicyLine, criterion: Criterion) -> CriterionClaim:
    fields = _omit_fields(asdict(criterion), "line", "estimate", "reason", "caution")
    return CriterionClaim(**fields, reason=explain_decision(line, criterion, content.counts_behind(criterion)))


def _create_file_claim(content: Content, stamp: Stamp, columns: tuple[ColumnClaim, ...]) -> FileClaim | None:
    if stamp.released_file is None or stamp.sha256 is None:
        return None
    return FileClaim(
        name=stamp.released_file,
        sha256=stamp.sha256,
        content_address=stamp.content_address or NOT_ASSESSED,
        rows=content.rows_out,
        columns=columns,
        kind=content.kind.thing,
    )


def _list_not_claimed(content: Content) -> NotClaimed:
    omitted = tuple(OmissionClaim.model_validate(one.model_dump()) for one in content.omitted)
    not_asked = () if any(one.evaluates == "this file" for one in content.membership) else (residual.MEMBERSHIP,)
    kinds = {name: reason for name, reason in content.exceptions if name in KINDS}
    return NotClaimed(
        anonymity_in_law=say("residual.not_in_law"),
        attacks_omitted=omitted,
        attacks_not_in_catalogue=not_asked,
        kinds_not_limited=tuple(
            KindClaim(kind=kind, reason=reason, found=describe_disclosure(content, kind)) for kind, reason in kinds.items()
        ),
        exceptions=tuple(name for name, _ in content.exceptions),
    )


def _create_context_claim(content: Content, earlier: tuple[EarlierReleaseClaim, ...]) -> ContextClaim:
    context = content.context
    return ContextClaim(
        environment=context.environment,
        purpose=context.purpose or NOT_ASSESSED,
        recipients=context.recipients or NOT_ASSESSED,
        prior_releases=NOT_ASSESSED if context.prior_texts is None else context.prior_texts,
        earlier_releases=earlier,
    )


def _create_data_claim(content: Content, stamp: Stamp, source_digest: str) -> DataClaim:
    context = content.context
    return DataClaim(
        unit=context.unit or NOT_ASSESSED,
        persons=NOT_ASSESSED if content.persons is None else content.persons,
        rows_in=content.rows_read,
        rows_control=content.control or 0,
        rows_outside=content.outside or 0,
        rows_out=0 if stamp.released_file is None else content.rows_out,
        rows_belong_to="nobody" if content.of_nobody else "records",
        sampling_fraction=context.sampling_fraction or NOT_ASSESSED,
        sampled=tuple(_mask_claim(step) for step in content.mechanisms if isinstance(step, Sampling)),
        period=context.period or NOT_ASSESSED,
        special_categories=NOT_ASSESSED if context.special_categories is None else context.special_categories,
        source=KeyedDigest(digest=source_digest),
    )


def _list_attributes(content: Content) -> tuple[AttributeClaim, ...]:
    epsilons = {one.attribute: one.epsilon for one in content.randomised}
    return tuple(
        AttributeClaim(
            name=attribute.name,
            role=str(attribute.role),
            scale=str(attribute.scale),
            decided_by=attribute.decided_by,
            mask=tuple(step.method for step in content.steps_on(attribute.name)),
            parameters=_list_mask_parameters(content, attribute.name),
            known_to_intruder=attribute.name in content.intruder_knowledge,
            published=attribute.is_published and content.kind.is_table,
            published_as_pseudonym=attribute.name in content.pseudonym_columns,
            published_unmasked=attribute.is_published and content.kind.is_table and not content.steps_on(attribute.name),
            derived_from=attribute.derived_from,
            epsilon=epsilons.get(attribute.name, NOT_ASSESSED),
        )
        for attribute in content.schema.attributes
    )


def _list_mask_parameters(content: Content, name: str) -> tuple[MaskClaim, ...]:
    return tuple(_mask_claim(step) for step in content.steps_on(name))


def _mask_claim(step: Mechanism) -> MaskClaim:
    return MaskClaim(method=step.method, parameters=_omit_fields(step.public(), "method"))


def _omit_fields(fields: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in names}
