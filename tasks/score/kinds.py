"""Which kinds of disclosure a release is asked about, and which of them its policy answers.

A policy that is silent on a kind of disclosure would certify a release by leaving a question out. For each kind that is asked,
the policy therefore has a line that can fail, or `not_limited` gives the reason why there is none. The rule is checked when a
release is asked for, never when a recorded one is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from tasks.attack.threat import IntruderSpec, intruders
from tasks.mask.methods import Mechanism
from tasks.mask.sampling import Sampling
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Role, Schema
from tasks.microdata.spec import Public, Reason, Spec
from tasks.score.catalogue import MEASURES
from tasks.score.measure import Kind
from tasks.score.policy import DECLARED, INSIDER, PolicyLine, cannot_fail

KINDS: tuple[Kind, ...] = get_args(Kind)
RIGHT_LINKS = ("reidentification", "records_exposed", "known_reidentification")  # 0 for who is not in the release
WHAT_IT_IS: dict[Kind, str] = {
    "identity": "somebody who knows the quasi-identifiers finds whose record is whose",
    "insiders": "somebody who also knows another published attribute finds more",
    "inference": "the release tells a confidential value of a person",
    "membership": "somebody can tell that a person is in the data",
    "earlier_releases": "this release and earlier ones about the same persons tell more together",
}
LIMITED_BY: dict[Kind, str] = {
    "identity": "measure: reidentification",
    "insiders": "measure: reidentification, intruder: insider",
    "inference": "measure: linked_value_disclosed",
    "membership": "measure: membership_advantage",
    "earlier_releases": "measure: reidentification",
}
TAIL = "measure: records_exposed"


class NotLimited(Spec):
    """Kinds of disclosure that the policy does not limit, each with the reason, which is signed and shown with the verdict."""

    identity: Public[Reason | None] = None
    insiders: Public[Reason | None] = None
    inference: Public[Reason | None] = None
    membership: Public[Reason | None] = None
    earlier_releases: Public[Reason | None] = None

    def reason(self, kind: Kind) -> str | None:
        """The reason that is given for a kind; None: there is none."""
        given: str | None = getattr(self, kind)
        return given


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What of a release decides which kinds of disclosure are asked, and which limits can fail on it.

    confidential: confidential attributes that it publishes, or that teach the model. insiders: names of intruders who know more
    than the declared one. largest_share: at most this share of the records (persons) is in the release.
    """

    what: Literal["masked table", "synthetic table", "model"]
    confidential: tuple[str, ...] = ()
    insiders: tuple[str, ...] = ()
    membership_is_attacked: bool = False
    largest_share: float = 1.0
    not_for_publication: bool = False


def subject_of(
    schema: Schema,
    intruder: IntruderSpec,
    steps: tuple[Mechanism, ...],
    units: int,
    *,
    of_model: bool,
    of_nobody: bool,
    membership_is_attacked: bool,
    not_for_publication: bool,
) -> Subject:
    """Read off a release and its schema what `Subject` says. units: how many records (persons) are masked."""
    what: Literal["masked table", "synthetic table", "model"] = (
        "model" if of_model else "synthetic table" if of_nobody else "masked table"
    )
    who = intruders(intruder, schema) if what == "masked table" else ()
    return Subject(
        what=what,
        confidential=schema.with_role(Role.CONFIDENTIAL),
        insiders=tuple(one.name for one in who if one.name.startswith(f"{INSIDER}:")),
        membership_is_attacked=membership_is_attacked,
        largest_share=_largest_share(steps, units),
        not_for_publication=not_for_publication,
    )


def kinds_asked(subject: Subject) -> tuple[Kind, ...]:
    """The kinds of disclosure that the policy of a release must answer.

    A kind without an object is not asked: insiders where nobody can know more than the declared intruder, inference where no
    attribute is confidential. `earlier_releases` is not asked: no attack combines this release with earlier ones yet.
    """
    asked: dict[Kind, bool] = {
        "identity": subject.what == "masked table",
        "insiders": subject.what == "masked table" and bool(subject.insiders),
        "inference": bool(subject.confidential),
        "membership": True,
        "earlier_releases": False,
    }
    return tuple(kind for kind in KINDS if asked[kind])


def kind_of(line: PolicyLine) -> Kind | None:
    """The kind of disclosure that a line is about; None: of none, as a limit on k or on a loss.

    A line on the external files alone, or on a single attack while others are accepted, answers no kind.
    """
    answers = MEASURES[line.measure].answers
    if answers is None or line.accept_other_attacks is not None:
        return None
    if answers == "identity" and (line.intruder or "").partition(":")[0] == INSIDER:
        return "insiders"
    return answers if line.intruder in (None, DECLARED) else None


def can_fail(line: PolicyLine, subject: Subject) -> bool:
    """Is the limit inside the range that the measure can reach on this release?

    Example: if a tenth of the records is released, at most a tenth can be re-identified, so that a limit of 0.15 cannot fail.
    """
    if cannot_fail(line):
        return False
    return line.measure not in RIGHT_LINKS or line.limit < subject.largest_share


def unanswered(policy: Iterable[PolicyLine], subject: Subject) -> dict[Kind, tuple[str, ...]]:
    """The kinds that are asked and that no line answers, each with what its lines still have to measure.

    Identity needs a rate and a tail: 8 % on average can hide outliers who are found with certainty. A line on one insider or
    on one confidential attribute answers the kind only together with lines on all the others.
    """
    lines = [line for line in policy if can_fail(line, subject)]
    of_kind = {kind: [line for line in lines if kind_of(line) == kind] for kind in kinds_asked(subject)}
    missing = {kind: tuple(_missing(kind, found, subject)) for kind, found in of_kind.items()}
    return {kind: what for kind, what in missing.items() if what}


def _missing(kind: Kind, lines: list[PolicyLine], subject: Subject) -> Iterator[str]:
    match kind:
        case "identity":
            tails = [MEASURES[line.measure].is_tail and line.subgroup is None and line.attribute is None for line in lines]
            if not any(not MEASURES[line.measure].is_tail for line in lines):
                yield LIMITED_BY[kind]
            if not any(tails):
                yield TAIL
        case "insiders":
            if not _covers({line.intruder for line in lines}, INSIDER, subject.insiders):
                yield LIMITED_BY[kind]
        case "inference":
            if not _covers({line.attribute for line in lines}, None, subject.confidential):
                yield LIMITED_BY[kind]
        case _:
            if not lines:
                yield LIMITED_BY[kind]


def _covers(named: set[str | None], whole: str | None, parts: tuple[str, ...]) -> bool:
    return whole in named or named.issuperset(parts)


def kinds_not_limited(policy: Iterable[PolicyLine], not_limited: NotLimited, subject: Subject) -> tuple[tuple[Kind, str], ...]:
    """The kinds that are asked and that a reason stands for in place of a limit, with that reason."""
    reasons = ((kind, not_limited.reason(kind)) for kind in unanswered(policy, subject))
    return tuple((kind, reason) for kind, reason in reasons if reason is not None)


def refuse_silence(policy: tuple[PolicyLine, ...], not_limited: NotLimited, subject: Subject) -> None:
    """Raise InputError where a kind of disclosure that is asked has neither a line that can fail nor a reason.

    Identity cannot go without a limit where the rows have owners, unless nothing is published; of a model or a synthetic table
    membership and inference cannot both go without.
    """
    missing = unanswered(policy, subject)
    silent = {kind: what for kind, what in missing.items() if not_limited.reason(kind) is None}
    if silent:
        told = "; ".join(f"{kind} ({WHAT_IT_IS[kind]}{_how_far(kind, what)})" for kind, what in silent.items())
        raise InputError(
            code="kind-not-limited",
            where="policy",
            what=f"the policy says nothing on {'this kind' if len(silent) == 1 else 'these kinds'} of disclosure: {told}",
            allowed="for each kind a line whose limit can fail on this release, or a signed reason under `not_limited`",
            remedy="add these lines, with limits and reasons of your own (`sdcert check --upgrade FILE` writes them down):",
            lines=lines_to_add(silent, subject),
        )
    if "identity" in missing and not subject.not_for_publication:
        raise InputError(
            code="identity-not-limited",
            where="not_limited.identity",
            what="the rows of this table belong to people, so that the risk of finding them must be limited",
            allowed="`identity` without a limit only with `not_for_publication: true`",
            remedy="replace the reason by lines of the policy:",
            lines=lines_to_add({"identity": missing["identity"]}, subject),
        )
    both: tuple[Kind, ...] = ("inference", "membership")
    if subject.what != "masked table" and all(kind in missing for kind in both):
        raise InputError(
            code="nothing-limited",
            where="not_limited",
            what=f"nothing would be limited that this {subject.what} can disclose",
            allowed="a limit on membership or on inference, and a reason for at most one of them",
            remedy="replace one of the reasons by a line of the policy:",
            lines=lines_to_add({"membership": missing["membership"]}, subject),
        )


def _how_far(kind: Kind, what: tuple[str, ...]) -> str:
    """That of identity one half is limited already."""
    if kind != "identity" or len(what) > 1:
        return ""
    if what[0] == TAIL:
        return "; an average is limited, and nothing limits how easily the people are found who are easiest to find"
    return "; the people who are easiest to find are limited, and no average is"


def lines_to_add(missing: dict[Kind, tuple[str, ...]], subject: Subject) -> tuple[str, ...]:
    """The lines of a release file that answer these kinds: a limit where one can be measured, and a reason as the other way."""
    limits = {kind: what for kind, what in missing.items() if can_be_limited(kind, subject)}
    lines = ["policy:"] if limits else []
    lines += [f"  - {{{what}, at_most: <limit>}}" for whats in limits.values() for what in whats]
    with_reason = [kind for kind in missing if kind != "identity" or subject.not_for_publication]
    if "membership" in limits and not subject.membership_is_attacked:
        lines.append("control: 0.2 # set aside, so that membership can be measured")
    if with_reason:
        lines.append("not_limited: # instead of a limit" if limits else "not_limited:")
        lines += [f'  {kind}: "<reason>"' for kind in with_reason]
    return tuple(lines)


def can_be_limited(kind: Kind, subject: Subject) -> bool:
    """Does a measure exist that answers the kind of such a release?"""
    return not (kind == "earlier_releases" or (kind == "inference" and subject.what == "model"))


def _largest_share(steps: tuple[Mechanism, ...], units: int) -> float:
    """The largest share of the records that can be released; 1 but for simple random samples, whose size may be rounded up."""
    shares = [1.0]
    for step in steps:
        if isinstance(step, Sampling) and step.by is None and units:
            shares.append(step.share + 1 / units if step.share is not None else (step.size or units) / units)
    return min(shares)
