"""Everything that the report and the statement are made from, in one record without a row of anybody's data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from tasks.attack.inference.outcomes import InferenceResult
from tasks.attack.membership.methods import MembershipResult
from tasks.attack.omissions import Omission
from tasks.attack.outcomes.outcome import AttackResult
from tasks.attack.singling_out.outcomes import SinglingOutResult
from tasks.attack.target_looks import TargetLook, find_largest_share
from tasks.attack.threat import IntruderSpec
from tasks.ingest.methods import IngestReport
from tasks.mask.categories.original_shares import EstimatedShares
from tasks.mask.categories.promise import Epsilon, Randomisation
from tasks.mask.methods import Mechanism
from tasks.mask.pseudonyms import Pseudonyms
from tasks.microdata.estimate import Estimate
from tasks.microdata.schema import Role, Schema
from tasks.microdata.units import Counts
from tasks.microdata.words import join_with_and
from tasks.report.charts.data import ChartData
from tasks.report.charts.editions import Edition
from tasks.report.publication import Context, Publish
from tasks.score.attack_coverage import (
    LINKAGE,
    list_attacks_beyond_the_share,
    select_omissions_in_effect,
    tries_original_values,
)
from tasks.score.catalogue import LOSS
from tasks.score.figure_rounding import round_criteria, round_for_publication
from tasks.score.kinds import NotLimited, Subject, find_disclosure_subject, list_kinds_not_limited
from tasks.score.measures.loss import RECORDS_ABSENT
from tasks.score.policy import DECLARED, FILE, INSIDER, ROUNDING_ERROR, PolicyLine
from tasks.score.release_kinds import MASKED_TABLE, MODEL, SYNTHETIC_TABLE, ReleaseKind
from tasks.score.verdict import Criterion, Verdict
from tasks.score.verdict_word import format_verdict
from tasks.train.card import ModelCard

NOTHING_EXCEPTED = NotLimited()


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What there is to say about one release.

    mechanisms: the steps with their attributes resolved. attacks: results without their outcomes, in the order of the plan.
    membership: what attacks that ask who is in the file said, without their scores. control: rows that were set aside for them.
    inference: what attacks that infer confidential values did. singling_out: what was asked of whom, without what was counted.
    outside: rows of a table of people who are not in the source, in place of a control.
    omitted: what the release file omits, and why; `omissions` are those that gave no figure.
    estimates, verdict: rounded for the public by `public_edition`.
    rows_in, rows_out: of the source (but the control) and of the released table. persons: how many persons the rows belong to;
    None where nobody counted.
    masked_elsewhere, tool: was the table masked by other means than this program, and by which, as far as was said.
    of_nobody: is it fully synthetic, its rows belonging to nobody? model: what is released where it is no table.
    keep_row_order: why the rows stand in the source's order; None: they were shuffled.
    randomised: attributes that PRAM drew anew, with the epsilon of those steps. epsilon_of_a_record: of all cells of one record
    that they drew. epsilon_over_releases: of somebody who is in this release and in the earlier ones that count; private.
    estimated_shares: what the released table tells of original frequencies, if there is one to be read.
    not_limited: the reasons for kinds of disclosure that no line limits.
    look: of planned looks at targets the one at which they ended; None: none were planned.
    edition: `internal` has figures at full precision and must stay private. charts: of the same edition; None: not computed.
    """

    name: str
    series: str
    not_for_publication: bool
    context: Context
    publish: Publish
    ingest: IngestReport
    schema: Schema
    mechanisms: tuple[Mechanism, ...]
    intruder: IntruderSpec
    attacks: tuple[AttackResult, ...]
    membership: tuple[MembershipResult, ...] = ()
    inference: tuple[InferenceResult, ...] = ()
    singling_out: tuple[SinglingOutResult, ...] = ()
    control: int | None = None
    outside: int | None = None
    omitted: tuple[Omission, ...] = ()
    estimates: tuple[Estimate, ...]
    verdict: Verdict
    policy: tuple[PolicyLine, ...]
    not_limited: NotLimited = NOTHING_EXCEPTED
    rows_in: int
    rows_out: int
    persons: int | None = None
    randomised: tuple[Randomisation, ...] = ()
    epsilon_of_a_record: Epsilon | None = None
    epsilon_over_releases: Epsilon | None = None
    estimated_shares: tuple[EstimatedShares, ...] = ()
    masked_elsewhere: bool = False
    of_nobody: bool = False
    model: ModelCard | None = None
    tool: str | None = None
    keep_row_order: str | None = None
    look: Annotated[TargetLook | None, Field(exclude_if=lambda look: look is None)] = None
    edition: Edition = "internal"
    charts: ChartData | None = None

    def __post_init__(self) -> None:
        if any(result.outcomes is not None for result in self.attacks):
            raise ValueError("attack results must come without outcomes: they hold one row per person")
        if len(self.policy) != len(self.verdict.criteria):
            raise ValueError(f"{len(self.policy)} policy lines and {len(self.verdict.criteria)} criteria")
        if self.edition == "public" and self.charts is not None and self.charts.edition != "public":
            raise ValueError("a public edition must not hold the charts of the internal one")

    @property
    def kind(self) -> ReleaseKind:
        """What is released."""
        if self.model is not None:
            return MODEL
        return SYNTHETIC_TABLE if self.of_nobody else MASKED_TABLE

    @property
    def share_of_targets(self) -> float:
        """The share of the intruder's records that was attacked."""
        return find_largest_share(self.intruder.targets) if self.look is None else self.look.share

    @property
    def unit(self) -> str:
        """What a unit of the table is called: what the release file says of a row, else (or where rows are joined) a person."""
        return "person" if self.persons is not None else self.context.unit or "person"

    @property
    def is_certified(self) -> bool:
        return self.verdict.verdict == "certified"

    @property
    def exceptions(self) -> tuple[tuple[str, str], ...]:
        """What the verdict excepts, each with its reason: kinds of disclosure without a limit, and attacks.

        Attacks are those that were omitted, and those that somebody could carry further who holds all records, not a share, or
        the original values.
        """
        kinds = (
            list_kinds_not_limited(self.policy, self.not_limited, self.subject) if self.not_limited != NOTHING_EXCEPTED else ()
        )
        attacks = dict.fromkeys(one.attack for one in (*self.omissions, *self.undeclared_knowledge_omissions))
        return (*kinds, *((attack, self._why_omitted(attack)) for attack in attacks))

    @property
    def subject(self) -> Subject:
        """What decides which kinds of disclosure are asked of the release."""
        return find_disclosure_subject(
            self.schema,
            self.intruder,
            self.mechanisms,
            self.rows_in if self.persons is None else self.persons,
            kind=self.kind,
            membership_is_attacked=bool(self.membership),
            not_for_publication=self.not_for_publication,
            file_holders=tuple({one.intruder: None for one in self.attacks if one.intruder.startswith(f"{FILE}:")}),
            adopted_share=1 - self.absent / self.rows_in if self.persons is None else 1.0,
        )

    @property
    def omissions(self) -> tuple[Omission, ...]:
        """The omissions of required attacks that gave no figure, for whom the verdict excepts them."""
        keeps_row_order = self.keep_row_order is not None
        return select_omissions_in_effect(self.attacks, self.omitted, self.mechanisms, keeps_row_order=keeps_row_order)

    @property
    def undeclared_knowledge_omissions(self) -> tuple[Omission, ...]:
        """Required attacks that somebody could carry further who holds more than is declared, as omissions with that reason."""
        names = dict.fromkeys(one.method for one in list_attacks_beyond_the_share(self.attacks, self.mechanisms))
        held = f"the intruder is declared to hold {100 * self.intruder.records:.6g} % of the records"
        omissions = [Omission(attack=name, reason=held) for name in names]
        if self.intruder.holds and self.kind.is_table and not tries_original_values(self.attacks):
            other = join_with_and(name for name, _ in self.intruder.holds)
            omissions.append(Omission(attack=LINKAGE, reason=f"the intruder is declared to hold other values of {other}"))
        return tuple(omissions)

    def _why_omitted(self, attack: str) -> str:
        excepted = (*self.omissions, *self.undeclared_knowledge_omissions)
        reasons = ((one.intruder, one.reason) for one in excepted if one.attack == attack)
        return "; ".join(reason if intruder is None else f"{intruder}: {reason}" for intruder, reason in reasons)

    @property
    def word(self) -> str:
        """The verdict's word: `is_certified`, or `certified except membership`."""
        return format_verdict(self.verdict.verdict, (name for name, _ in self.exceptions))

    @property
    def counts(self) -> Counts:
        """What the attacks' figures count."""
        return next((one.counts for one in self.estimates if one.attack is not None), "records")

    def counts_behind(self, criterion: Criterion) -> Counts:
        """What the figure that decided a line counts."""
        figure = self.figure(criterion.estimate)
        return self.counts if figure is None else figure.counts

    @property
    def is_membership_rehearsal(self) -> bool:
        """Is nobody known not to be in the release, so that membership can be asked of a rehearsal alone?"""
        return self.control is None and self.outside is None

    @property
    def rows_read(self) -> int:
        """The rows of the source, those of the control among them."""
        return self.rows_in + (self.control or 0)

    @property
    def absent(self) -> int:
        """How many records of the source are not in the release; of rows that belong to nobody none is missing."""
        return 0 if self.of_nobody else self.rows_in - self.rows_out

    @property
    def masking_targets(self) -> tuple[str, ...]:
        """Published attributes that at least one step touched, in the order of the table."""
        touched = {name for step in self.mechanisms for name in step.target_attributes}
        return tuple(name for name in self.schema.release_columns if name in touched)

    @property
    def intruder_knowledge(self) -> tuple[str, ...]:
        """What the declared intruder knows; of who may have taught a model, the whole record."""
        if not self.kind.is_table:
            return self.schema.release_columns
        return self.intruder.knows or self.schema.find_by_role(Role.QUASI_IDENTIFIER)

    @property
    def attack_ids(self) -> tuple[str, ...]:
        """Attacks that ran on at least one intruder's knowledge, in order."""
        return tuple(dict.fromkeys(result.attack for result in self.attacks if result.status == "ok"))

    def is_public(self, attribute: str) -> bool:
        """Does the released table hold this column of the source cell by cell, so that exact counts of it tell nothing more?"""
        whole = self.is_certified and not self.absent and self.control is None
        return whole and attribute in self.schema.release_columns and attribute not in self.masking_targets

    def methods(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(step.method for step in self.mechanisms))

    def steps_on(self, attribute: str) -> tuple[Mechanism, ...]:
        return tuple(step for step in self.mechanisms if attribute in (*step.target_attributes, *_list_identifiers(step)))

    @property
    def pseudonym_columns(self) -> tuple[str, ...]:
        """Identifiers in place of which the released table holds keyed pseudonyms, in the order of the table."""
        replaced = {name for step in self.mechanisms for name in _list_identifiers(step)}
        return tuple(name for name in self.schema.names if name in replaced)

    def figure(self, identity: str | None) -> Estimate | None:
        """The estimate of this id."""
        return next((estimate for estimate in self.estimates if estimate.id == identity), None)

    def figures(self, measure: str, *, declared: bool | None = None) -> Iterator[Estimate]:
        """The estimates of one measure that have a value; `declared` picks the declared intruder or the insiders."""
        for estimate in self.estimates:
            wanted = declared is None or (estimate.intruder == DECLARED if declared else is_insider(estimate))
            if estimate.measure == measure and estimate.value is not None and wanted:
                yield estimate

    def describe_attribute(self, attribute: str) -> str:
        """What a codebook says that an attribute is, with its unit: `Age at the interview (years)`; empty where nobody said."""
        column = next((one for one in self.ingest.columns if one.name == attribute), None)
        label, unit = (None, None) if column is None else (column.label, column.unit)
        return " ".join(filter(None, [label, unit and (f"({unit})" if label else f"in {unit}")]))

    def losses(self) -> Iterator[Estimate]:
        """What was lost in the whole table, in the order of the catalogue; that nobody is absent is no loss."""
        for measure in LOSS:
            for one in self.estimates:
                nobody_absent = one.measure == RECORDS_ABSENT.name and one.value == 0
                if one.measure == measure.name and one.attribute is None and not nobody_absent:
                    yield one

    def worst(self, measure: str, *, declared: bool | None = None, attribute: str | None = None) -> Estimate | None:
        """The largest figure of one measure, among all attacks run."""
        return self.largest(one for one in self.figures(measure, declared=declared) if attribute in (None, one.attribute))

    def worst_of_files(self, measure: str) -> Estimate | None:
        """The largest figure of one measure that the external files of the intruder gave."""
        return self.largest(one for one in self.figures(measure) if parse_external_file(one.intruder))

    def is_worst_of_all(self, figure: Estimate) -> bool:
        """Did no intruder and no attack find more of the same measure?"""
        return all((one.value or 0.0) <= (figure.value or 0.0) + ROUNDING_ERROR for one in self.figures(figure.measure))

    def largest(self, found: Iterable[Estimate], by: Callable[[Estimate], float] | None = None) -> Estimate | None:
        """The largest figure (or the one largest `by` something); of equal ones the one that decided a policy line, else the
        first in the order of the plan.
        """
        size = by or (lambda one: one.value or 0.0)
        candidates = list(found)
        most = max(map(size, candidates), default=0.0)
        deciding = {criterion.estimate for criterion in self.verdict.criteria}
        positions = {attack: position for position, attack in enumerate(self.attack_ids)}
        equal = [one for one in candidates if size(one) >= most - ROUNDING_ERROR]
        return min(equal, key=lambda one: (one.id not in deciding, positions.get(one.attack or "", -1)), default=None)

    def method_of(self, attack: str | None) -> str:
        """The method of the attack of this id; the id itself where no attack has it."""
        return next((result.method for result in self.attacks if result.attack == attack), attack or "")

    def lines(self) -> Iterator[tuple[PolicyLine, Criterion]]:
        """Each policy line with what became of it."""
        yield from zip(self.policy, self.verdict.criteria, strict=True)


def public_edition(content: Content, charts: ChartData | None = None) -> Content:
    """The content with its figures rounded as `score.figure_rounding` says: what may leave the private folders. Idempotent.

    Evidence and notes hold exact counts of the source: only those of columns that the release holds as they are stay in it.
    charts: those of the public edition, which cannot be had from the internal ones; default: the content's own where they are
    public already, else none.
    """
    figures, criteria = content.estimates, content.verdict.criteria
    if content.edition != "public":  # a rounded interval would be rounded again
        figures = round_for_publication(content.estimates, content.lines())
        criteria = round_criteria(criteria, content.estimates, figures)
    verdict = Verdict(content.verdict.verdict, criteria)
    own = content.charts if content.charts is not None and content.charts.edition == "public" else None
    schema, ingest = _remove_counts(content), _ingest_without_counts(content)
    readable = content.estimated_shares if content.is_certified else ()  # nobody can count a table that was refused
    attacks = tuple(
        replace(one, learned=one.learned and one.learned.public_summary, probable=one.probable and one.probable.public_summary)
        for one in content.attacks
    )
    rounded = replace(content, attacks=attacks, estimates=figures, verdict=verdict, estimated_shares=readable)
    rounded = replace(rounded, epsilon_over_releases=None)
    return replace(rounded, schema=schema, ingest=ingest, edition="public", charts=charts or own)


def _remove_counts(content: Content) -> Schema:
    attributes = content.schema.attributes
    return Schema(tuple(replace(one, evidence=_select_public_lines(content, one.evidence, one.name)) for one in attributes))


def _ingest_without_counts(content: Content) -> IngestReport:
    columns = tuple(replace(one, notes=_select_public_lines(content, one.notes, one.name)) for one in content.ingest.columns)
    return replace(content.ingest, columns=columns, notes=_select_public_lines(content, content.ingest.notes))


def _select_public_lines(content: Content, lines: tuple[str, ...], about: str | None = None) -> tuple[str, ...]:
    """The lines about a public column that name no other one: what a weight tells of a masked column is a count of that."""
    private = [re.escape(name) for name in content.schema.names if not content.is_public(name)]
    if about is not None and not content.is_public(about):
        return ()
    named = re.compile(rf"(?<!\w)(?:{'|'.join(private)})(?!\w)")
    return tuple(line for line in lines if not (private and named.search(line)))


def _list_identifiers(step: Mechanism) -> tuple[str, ...]:
    return step.attributes if isinstance(step, Pseudonyms) else ()


def is_insider(estimate: Estimate) -> bool:
    return (estimate.intruder or "").startswith(f"{INSIDER}:")


def parse_external_file(intruder: str | None) -> str:
    """The name of the external file that an intruder holds; empty for everybody else."""
    return (intruder or "").removeprefix(f"{FILE}:") if (intruder or "").startswith(f"{FILE}:") else ""


def extract_extra_knowledge(intruder: str) -> str:
    """The attribute that an insider knows beyond the quasi-identifiers (several as `a + b`); empty for everybody else."""
    return intruder.partition(":")[2] if intruder.startswith(f"{INSIDER}:") else ""
