"""The form of the statement's predicate: what a certificate says, field by field. A change of meaning takes a new version."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field, StringConstraints

from tasks.microdata.spec import Spec
from tasks.score.verdict_word import format_verdict

OLDER_PREDICATE_TYPES = ("urn:sdcert:predicate:release:2",)  # which this form reads: it only has more
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:sdcert:predicate:release:3"
ATTACK_CATALOGUE_VERSION = "16"  # raised with every attack that is added or made stronger

NOT_ASSESSED: NotAssessed = "not assessed"
NotAssessed = Literal["not assessed"]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Texts = tuple[str, ...]
AT_LEAST = "true: the figure is a lower bound, of a part of an attack that could not be followed whole; it finds at least this"
Decision = Literal["pass", "fail", "undecided"]


class ColumnClaim(Spec):
    """A published column and its logical type (`int64`, `double`, `string`, `bool`, `date32[day]`, ...)."""

    name: str
    type: str


class FileClaim(Spec):
    """The released file: the digest of its bytes, and the address of its content whatever the format.

    rows, columns: its shape, by which the same data in another format is told from other data. kind: of a model, the rows are
    those of the table that it was trained on, the columns what it reads and, last, what it predicts.
    """

    name: str
    sha256: Digest
    content_address: str | NotAssessed
    rows: Annotated[int, Field(ge=0)]
    columns: tuple[ColumnClaim, ...]
    kind: Literal["table", "model"] = "table"


class DocumentClaim(Spec):
    """A file issued beside the released one, by the SHA-256 of its bytes."""

    name: str
    sha256: Digest


class PolicyClaim(Spec):
    """The policy that decided. digest: SHA-256 of the canonical JSON of its lines. author: a role or a name."""

    id: str
    version: str | NotAssessed
    author: str | NotAssessed
    digest: Digest
    lines: tuple[dict[str, Any], ...]


class AttackClaim(Spec):
    """One attack by one intruder. settings: direction, scale and credit in words; status `ok` means that it gave a figure."""

    attack: str
    method: str
    intruder: str
    status: Literal["ok", "not_applicable", "not_followed", "failed"]
    knows_data: str
    knows_mechanism: str
    settings: str
    reason: str | None = None


class CriterionClaim(Spec):
    """One line of the policy and its outcome, as `score.verdict.Criterion`."""

    measure: str
    attack: str | None
    intruder: str | None
    attribute: str | None
    p_percent: float | None
    direction: Literal["at_most", "at_least"]
    limit: float
    deciding_bound: Literal["low", "high", "value"] | None
    deciding_value: float | None
    decision: Decision
    reason: str
    subgroup: str | None = None
    false_positive_rate: float | None = None
    lower_bound: bool = Field(default=False, description=AT_LEAST)
    bound_confidence: float | None = Field(
        default=None,
        exclude_if=lambda given: given is None,
        description="of the one-sided bound that decided, where that is another than 0.95",
    )


class Claim(Spec):
    """What is claimed: what became of this file under this policy, these attacks and this knowledge, on this date."""

    verdict: Literal["certified", "refused", "undecided"]
    not_for_publication: bool
    file: FileClaim | Literal["not released"]
    policy: PolicyClaim
    criteria: tuple[CriterionClaim, ...]
    attacks: tuple[AttackClaim, ...]
    date: AwareDatetime


class OmissionClaim(Spec):
    """An attack that the release file omits with a reason.

    intruder: for whom alone; None: for all. release: the earlier release that the attack could not use.
    An attack is omitted for whom it gave no figure. An omission of one that gave a figure changed nothing.
    """

    attack: str
    intruder: str | None = None
    release: str | None = None
    reason: str


class KindClaim(Spec):
    """A kind of disclosure that the policy does not limit, why, and what was found of it."""

    kind: str
    reason: str
    found: str


class InsiderClaim(Spec):
    """The figure of the insider who re-identifies most, whether a line limits it or not."""

    intruder: str
    attack: str
    reidentification: float
    lower_bound: bool = Field(default=False, description=AT_LEAST)


class NotClaimed(Spec):
    """What is not claimed. exceptions: what the verdict's word excepts: kinds of disclosure, then omitted attacks."""

    anonymity_in_law: str
    attacks_omitted: tuple[OmissionClaim, ...]
    attacks_not_in_catalogue: Texts
    kinds_not_limited: tuple[KindClaim, ...] = ()
    exceptions: Texts = ()


class WorkingPartyCriterion(Spec):
    """One of the three risks of WP29's Opinion 05/2014.

    measure, value, decision: of the worst policy line about this risk. Without such a line the worst figure found among the
    attacks run, and no decision. reason: why there is none: what the policy says, or which lines it lacks.
    """

    attacks: Texts | NotAssessed
    measure: str | NotAssessed
    value: float | NotAssessed
    decision: Decision | NotAssessed
    lower_bound: bool | NotAssessed = Field(default=NOT_ASSESSED, description=AT_LEAST)
    reason: str | None = Field(default=None, exclude_if=lambda given: given is None)


class WorkingPartyCriteria(Spec):
    """The three risks. note: of a model, of which none is assessed, what the figures of membership mean for them."""

    singling_out: WorkingPartyCriterion
    linkability: WorkingPartyCriterion
    inference: WorkingPartyCriterion
    note: str | None = None


class EarlierReleaseClaim(Spec):
    """An earlier release about the same persons, by its digests.

    name: the run that certified it, or its place among those that the release file names. certificate: SHA-256 of the signed
    statement. released: SHA-256 of the file. attacked: did intruders hold it when they attacked this release? reason: why not.
    """

    name: str
    certificate: Digest | None = None
    released: Digest | None = None
    attacked: bool
    reason: str | None = None


class ContextClaim(Spec):
    """The context. prior_releases: what the release file says. earlier_releases: those that count, whoever declared them."""

    environment: Literal["public", "licensed", "enclave"]
    purpose: str | NotAssessed
    recipients: Texts | NotAssessed
    prior_releases: Texts | NotAssessed
    earlier_releases: tuple[EarlierReleaseClaim, ...] = ()


class KeyedDigest(Spec):
    """Names the source to somebody who has the key, and confirms no guess to others."""

    algorithm: Literal["hmac-sha256"] = "hmac-sha256"
    digest: str


class MaskClaim(Spec):
    method: str
    parameters: dict[str, Any]


class DataClaim(Spec):
    """The data. sampling_fraction: the share of the population in the source; sampled: what then left records out of it.

    rows_control: of rows_in, those that were set aside before masking, to measure whether the release tells who is in it.
    rows_outside: rows of another table, of people who are declared not to be in the source, used for the same.
    """

    unit: str | NotAssessed
    persons: int | NotAssessed
    rows_in: int
    rows_out: int
    rows_control: int = 0
    rows_outside: int = 0
    rows_belong_to: Literal["records", "nobody"] = Field(
        default="records", description="nobody: a fully synthetic table, as declared; whose row is whose has no answer there"
    )
    sampling_fraction: float | NotAssessed
    sampled: tuple[MaskClaim, ...]
    period: str | NotAssessed
    special_categories: Texts | NotAssessed
    source: KeyedDigest


class LooksClaim(Spec):
    """Targets that were taken in planned looks, each with the targets of the one before and more.

    planned_shares: of the records that the intruder holds, at each planned look. ended_at: the look whose figures decided; the
    looks after it were not taken. planned: how many there were. bound_confidence: of each one-sided bound at each look; the
    bounds of all looks together leave it at 0.95 (Bonferroni).
    """

    basis: Literal["sequential_targets"] = "sequential_targets"
    planned_shares: tuple[float, ...]
    ended_at: int
    planned: int
    bound_confidence: float


class AttackModel(Spec):
    """How risk was measured.

    maximum_risk, average_risk: the worst figures of the DECLARED intruder alone, with what they know or with one of their
    external files (each is an intruder of its own among the attacks of the claim). Insiders, who know more attributes, may find
    more: insiders_know is how many more at most, and all sets of up to insiders_all_sets_up_to of them were tried; larger sets
    were chosen greedily (the worst so far and one more) and are not proven the worst. Without these two insiders know one more.
    worst_insider is the figure of the one who finds most; None where no insider gave one, and in older certificates.
    """

    declared_knows: Texts
    participation_known: bool
    targets: float = Field(description="the share of the intruder's records that were attacked")
    looks: LooksClaim | None = Field(default=None, exclude_if=lambda given: given is None)
    records: float = Field(default=1.0, description="of the source's, the share that the intruder holds, at random")
    insiders: Texts
    maximum_risk: float | NotAssessed = Field(description="worst `max_record_risk`, by the declared intruder; no insider's")
    average_risk: float | NotAssessed = Field(description="worst `reidentification`, by the declared intruder; no insider's")
    direction: Texts | NotAssessed
    scale: Texts | NotAssessed
    credit: Texts | NotAssessed
    worst_insider: InsiderClaim | None = None
    insiders_know: int = Field(default=1, exclude_if=lambda given: given == 1)
    insiders_all_sets_up_to: int | None = Field(default=None, exclude_if=lambda given: given is None)
    maximum_risk_is_lower_bound: bool = Field(default=False, description=AT_LEAST)
    average_risk_is_lower_bound: bool = Field(default=False, description=AT_LEAST)


class AttributeClaim(Spec):
    """One attribute of the source; masks: the steps that touched it, in order.

    epsilon: the PRAM steps on the attribute are epsilon-LDP, its categories taken as public; it says nothing of the release.
    """

    name: str
    role: str
    scale: str
    decided_by: Literal["declared", "pipeline"]
    mask: tuple[str, ...]
    parameters: tuple[MaskClaim, ...]
    known_to_intruder: bool
    published: bool
    published_as_pseudonym: bool
    published_unmasked: bool
    derived_from: Texts
    epsilon: float | Literal["infinite"] | NotAssessed


class Approval(Spec):
    """A person's approval that was known when the certificate was issued."""

    by: str
    role: str
    reason: str
    at: AwareDatetime


class SweepClaim(Spec):
    """The sweep from which the parameters were chosen."""

    name: str
    points_tried: Annotated[int, Field(ge=1)]


class LedgerClaim(Spec):
    """What the ledger held before the masking was made: proves that attempts and policy were written down first.

    attempt_entry, attempt_digest: the entry's index, and its leaf hash as RFC 6962 defines it. tree_size, root: of the tree
    over all entries up to that one or a later one.
    """

    ledger: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
    attempt_entry: Annotated[int, Field(ge=0)]
    attempt_digest: Digest
    tree_size: Annotated[int, Field(ge=1)]
    root: Digest


class MadeBy(Spec):
    """The program that decided: its version, digests of its source files, of requirements.lock and of what was installed."""

    version: str
    code: Digest
    lock: Digest
    platform: Digest
    python: str


class Predicate(Spec):
    """What the certificate says of a released file; what is not known is the text "not assessed".

    revoked_by: always null; a revocation comes later, signed, in a file of its own. previous_certificate: SHA-256 of the last
    one of the series.
    """

    schema_version: Literal["2"] = "2"
    release: str
    series: str
    run: str
    claim: Claim
    not_claimed: NotClaimed
    criteria_wp29: WorkingPartyCriteria
    context: ContextClaim
    data: DataClaim
    attack_model: AttackModel
    attributes: tuple[AttributeClaim, ...]
    documents: tuple[DocumentClaim, ...]
    approvals: tuple[Approval, ...] = Field(description="known at issue; persons sign later, in files beside the certificate")
    issued_at: AwareDatetime
    review_by: AwareDatetime
    revoked_by: str | None
    previous_certificate: Digest | Literal["none"]
    attempts: Annotated[int, Field(ge=1)]
    recorded: LedgerClaim
    made_by: MadeBy
    sweep: SweepClaim | NotAssessed
    seed_entropy_bits: Annotated[int, Field(ge=0)] | NotAssessed
    attack_catalogue_version: str
    utility: Texts
    residual: Texts

    @property
    def verdict_word(self) -> str:
        """The verdict as it is shown: `certified except membership`."""
        return format_verdict(self.claim.verdict, self.not_claimed.exceptions)


def create_predicate_schema() -> dict[str, Any]:
    """The JSON schema of the predicate, for those who check statements without this program."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": PREDICATE_TYPE, **Predicate.model_json_schema()}
