"""What an inference attack leaves behind: who attacked whom, and how each person fared, for each confidential attribute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NotRequired, TypedDict

from tasks.attack.membership.frame import Evaluates
from tasks.microdata.estimate import Status
from tasks.microdata.refs import RecordRef, TableRef
from tasks.microdata.table import Microdata

INFERS = "takes the release for lessons, and infers from what is known of a person what is not"


@dataclass(frozen=True, slots=True, kw_only=True)
class InferredAttribute:
    """One confidential attribute. reason: why there are no figures of it. is_number: is it right within p percent of a sd?
    inputs: the known attributes from which most is inferred, greedily (`infer_from_few`).
    """

    name: str
    is_number: bool = False
    status: Status = "ok"
    reason: str | None = None
    inputs: tuple[str, ...] = ()


ProtocolTest = Literal["singling out by one attribute", "singling out by three attributes", "linkability", "inference"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolCounts:
    """How many attacks of one of anonymeter's tests succeed, on members and on people who are not in the release.

    people: how many members are attacked. members, others: attacks on either side: of singling out these are predicates.
    """

    test: ProtocolTest
    attribute: str | None
    people: int
    members: int
    successes: int
    others: int
    successes_of_others: int


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceResult:
    """What an inference attack did.

    knows: attributes. secrets: those that were to be inferred. evaluates: whether the people are those of the file, or of a
    rehearsal. has_control: are there people who are not in the release? population: of how many units the members are a sample,
    or all. fewest_of_subgroup, p_percent, learners: as in `ModelBasedDisclosure`. protocol: what anonymeter counts, if asked.
    """

    attack: str
    method: str
    intruder: str
    evaluates: Evaluates
    knows: tuple[str, ...]
    secrets: tuple[InferredAttribute, ...]
    learners: tuple[str, ...]
    p_percent: float
    fewest_of_subgroup: int
    has_control: bool = False
    population: int = 0
    protocol: tuple[ProtocolCounts, ...] = ()
    status: Status = "ok"
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class InferenceOutcome:
    """What an attack found, and of whom. people, fates: as in `InferenceOutputs`; None: it did not run."""

    result: InferenceResult
    people: Microdata | None = None
    fates: Microdata | None = None


class InferenceOutputs(TypedDict):
    """One inference attack.

    people: the original records of those who are asked about. fates: one row per unit of these: `member`, and the columns of
    `infer_values` for each attribute, their names after the attribute's place in `secrets` and a bar; absent where nothing ran.
    """

    result: RecordRef[InferenceResult]
    people: NotRequired[TableRef]
    fates: NotRequired[TableRef]
