"""How a release of one kind is made, after its source was masked: the parts of a kind that the flows need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from flows.release import ReleaseSpec
from flows.run.certificate import ReleasedFile
from flows.run.publish import AddFile
from flows.run.stage_runner import MaskingArtifacts, ReleaseArtifacts, StageRunner
from flows.table_stages import FileHolders
from tasks.attack.inference.outcomes import InferenceOutputs
from tasks.attack.outputs import AnswerOutputs, AttackOutputs, MembershipOutputs, PeopleOutputs
from tasks.attack.singling_out.outcomes import SinglingOutOutputs
from tasks.attack.target_looks import TargetLook
from tasks.attack.together.earlier_release import EarlierRelease
from tasks.attack.together.value_reconstruction import ReconstructionResult
from tasks.ingest.outputs import IngestOutputs
from tasks.mask.categories.promise import Epsilon
from tasks.microdata.refs import FileRef, RecordRef, TableRef
from tasks.report.kinds.base import KindReport
from tasks.report.outputs import ReportOutputs
from tasks.score.release_figures import Score
from tasks.score.release_kinds import ReleaseKind
from tasks.train.card import ModelCard


@dataclass(frozen=True, slots=True)
class ReleaseJob:
    """A release whose source is masked, and who runs the stages that are still to come.

    files: the intruders who have an external file. people: who is asked about by membership attacks; None: nobody.
    earlier: what attacks are given of the earlier releases about the same persons. epsilon_over_releases: what PRAM promises in
    all of them together, for the steward alone.
    """

    runner: StageRunner
    release: ReleaseSpec
    source: IngestOutputs
    masked: MaskingArtifacts
    files: FileHolders
    people: PeopleOutputs | None
    earlier: tuple[RecordRef[EarlierRelease], ...] = ()
    epsilon_over_releases: Epsilon | None = None


@dataclass(frozen=True, slots=True)
class MadeRelease:
    """What is to be released: a table, or the file of a model, which has a card."""

    address: TableRef | FileRef
    card: RecordRef[ModelCard] | None = None


@dataclass(frozen=True, slots=True)
class AttackResults:
    """What the attacks found.

    answers: what a model said of the people, if they could be asked about. reconstruction: what follows from this release and
    earlier ones together; None: no earlier release counts. inferred: what the attacks found that infer confidential values.
    isolated: whom predicates single out. look: of planned looks at targets the one that `results` are of; None: there are none.
    """

    results: list[AttackOutputs] = field(default_factory=list)
    members: list[MembershipOutputs] = field(default_factory=list)
    answers: AnswerOutputs | None = None
    reconstruction: RecordRef[ReconstructionResult] | None = None
    inferred: list[InferenceOutputs] = field(default_factory=list)
    isolated: list[SinglingOutOutputs] = field(default_factory=list)
    look: TargetLook | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KindFlow:
    """One kind of release: `flows/certify.py` calls its stages in this order.

    wording: which kind it is, and what report and certificate say of it.
    list_attempt_parts: what is attempted besides the masking, as the ledger counts it.
    make: what is released, from what the masking made; made_by: the names of the stages that make it, or adopt it.
    attack, score, report: the stages.
    write_file: writes the file that is published.
    """

    wording: KindReport
    list_attempt_parts: Callable[[ReleaseSpec], tuple[str, ...]]
    make: Callable[[ReleaseJob], MadeRelease]
    made_by: tuple[str, ...]
    attack: Callable[[ReleaseJob, MadeRelease], AttackResults]
    score: Callable[[ReleaseJob, AttackResults], RecordRef[Score]]
    report: Callable[[ReleaseJob, MadeRelease, AttackResults, RecordRef[Score]], ReportOutputs]
    write_file: Callable[[ReleaseArtifacts, ReleaseSpec, AddFile], ReleasedFile]

    @property
    def kind(self) -> ReleaseKind:
        return self.wording.kind
