"""What the attack stages return, by address. What a stage could not make is absent."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from tasks.attack.membership.inference import ExperimentScope
from tasks.attack.membership.methods import MembershipResult
from tasks.attack.outcomes.outcome import AttackResult
from tasks.attack.threat import Intruder
from tasks.attack.together.earlier_release import EarlierRelease
from tasks.attack.together.value_reconstruction import ReconstructionResult
from tasks.microdata.errors import Idle
from tasks.microdata.refs import RecordRef, TableRef


class AttackOutputs(TypedDict):
    """One attack by one intruder.

    outcomes: one row for each scored target, if the attack ran. file, holder: the external file that the intruder has, and the
    intruder. earlier: the earlier release whose rows were linked in place of this one's.
    """

    result: RecordRef[AttackResult]
    outcomes: NotRequired[TableRef]
    file: NotRequired[TableRef]
    holder: NotRequired[RecordRef[Intruder]]
    earlier: NotRequired[RecordRef[EarlierRelease]]


class PeopleOutputs(TypedDict):
    """The people about whom membership attacks are asked.

    people: their table. frame: the pools that they belong to. released: what was made of the members: the released table, or
    what a model was trained on. status: why nobody can be asked about, unless it is `not_applicable`.
    """

    asking: RecordRef[ExperimentScope]
    people: NotRequired[TableRef]
    frame: NotRequired[TableRef]
    released: NotRequired[TableRef]
    status: NotRequired[RecordRef[Idle]]


class MembershipOutputs(TypedDict):
    """One membership attack.

    scores: one for each person who is asked about, if the attack ran: `score`, and a column for each insider.
    """

    result: RecordRef[MembershipResult]
    scores: NotRequired[TableRef]


class AnswerOutputs(TypedDict):
    """What a model answers about the people.

    answers: for each row that is asked about the class (`label`) and the probability of each class. labels: the class of every
    row. loss: the mean loss of the model on its training set. Or `reason` and `status`, where it cannot be asked.
    """

    answers: NotRequired[TableRef]
    labels: NotRequired[TableRef]
    loss: NotRequired[RecordRef[float]]
    reason: NotRequired[RecordRef[str]]
    status: NotRequired[RecordRef[Idle]]


class ShadowOutputs(TypedDict):
    """answers: one row for each shadow model and each row of the people. Or `reason` and `status`, where none can be
    trained.
    """

    answers: NotRequired[TableRef]
    reason: NotRequired[RecordRef[str]]
    status: NotRequired[RecordRef[Idle]]


class ReconstructionOutputs(TypedDict):
    """What follows from the group means of this release and earlier ones together."""

    reconstruction: RecordRef[ReconstructionResult]
