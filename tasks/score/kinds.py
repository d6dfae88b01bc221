"""Which kinds of disclosure a release is asked about, and which of them its policy answers.

A policy that is silent on a kind of disclosure would certify a release by leaving a question out. For each kind that is asked,
the policy therefore has a line that can fail, or `not_limited` gives the reason why there is none. The rule is checked when a
release is asked for, never when a recorded one is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import get_args

from tasks.attack.threat import IntruderSpec, adds_insiders, intruders
from tasks.mask.methods import Mechanism
from tasks.mask.sampling import Sampling, count_sampled
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Role, Schema
from tasks.microdata.spec import Public, Reason, Spec
from tasks.microdata.words import join_with_and
from tasks.score.catalogue import MEASURES
from tasks.score.measure import DisclosureKind
from tasks.score.measures.inference import DECIDING as INFERENCE_DECIDING
from tasks.score.measures.linkage import KNOWN_REIDENTIFICATION, RECORDS_EXPOSED, REIDENTIFICATION
from tasks.score.policy import DECLARED, INSIDER, PolicyLine, cannot_fail, is_by, is_within
from tasks.score.release_kinds import ReleaseKind

KINDS: tuple[DisclosureKind, ...] = get_args(DisclosureKind)
RIGHT_LINKS = (REIDENTIFICATION.name, RECORDS_EXPOSED.name, KNOWN_REIDENTIFICATION.name)  # 0 for who is not in the release
WHAT_IT_IS: dict[DisclosureKind, str] = {
    "identity": "somebody who knows the quasi-identifiers finds whose record is whose",
    "insiders": "somebody who also knows another published attribute finds more",
    "inference": "the release tells a confidential value of a person",
    "membership": "somebody can tell that a person is in the data",
    "earlier_releases": "this release and earlier ones about the same persons tell more together",
}
LIMITED_BY: dict[DisclosureKind, str] = {
    "identity": "measure: reidentification",
    "insiders": "measure: reidentification, intruder: insider",
    "inference": "measure: inference_excess",
    "membership": "measure: membership_advantage",
    "earlier_releases": "measure: reidentification",
}
TAIL = "measure: records_exposed"
ASSERTED = "measure: inference_asserted"
_LIMIT = r"at[_ ](?:most|least)\s*[:=]"
_WRITTEN_LINE = re.compile(rf"\W*(?:measure\s*[:=]|{_LIMIT}|(?:measure\s+)?\w+,?\s+{_LIMIT})", re.IGNORECASE)


class NotLimited(Spec):
    """Kinds of disclosure that the policy does not limit, each with the reason, which is signed and shown with the verdict."""

    identity: Public[Reason | None] = None
    insiders: Public[Reason | None] = None
    inference: Public[Reason | None] = None
    membership: Public[Reason | None] = None
    earlier_releases: Public[Reason | None] = None

    def reason(self, kind: DisclosureKind) -> str | None:
        """The reason that is given for a kind; None: there is none."""
        given: str | None = getattr(self, kind)
        return given


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What of a release decides which kinds of disclosure are asked, and which limits can fail on it.

    confidential: confidential attributes that it publishes, or that teach the model. known_secrets: those of them that the
    declared intruder knows already. insiders: names of intruders who know more than the declared one. adds_insiders: are others
    added by what these find, so that no list of names covers all? file_holders: names of those who hold an external file,
    `file:<name>`.
    largest_share: at most this share of the records (persons) is in the release.
    """

    kind: ReleaseKind
    confidential: tuple[str, ...] = ()
    known_secrets: tuple[str, ...] = ()
    insiders: tuple[str, ...] = ()
    adds_insiders: bool = False
    file_holders: tuple[str, ...] = ()
    membership_is_attacked: bool = False
    largest_share: float = 1.0
    not_for_publication: bool = False


def find_disclosure_subject(
    schema: Schema,
    intruder: IntruderSpec,
    steps: tuple[Mechanism, ...],
    units: int,
    *,
    kind: ReleaseKind,
    membership_is_attacked: bool,
    not_for_publication: bool,
    file_holders: tuple[str, ...] | None = None,
    adopted_share: float = 1.0,
) -> Subject:
    """Read off a release and its schema what `Subject` says.

    units: how many records (persons) are masked. file_holders: default: one for each file of the intruder. adopted_share: of
    them that a table masked elsewhere holds.
    """
    who = intruders(intruder, schema) if "insiders" in kind.discloses else ()
    holders = intruder.file_holders if file_holders is None else file_holders
    confidential = schema.find_by_role(Role.CONFIDENTIAL)
    return Subject(
        kind=kind,
        confidential=confidential,
        known_secrets=tuple(name for name in confidential if name in (intruder.knows or ())),
        insiders=tuple(one.name for one in who if one.name.startswith(f"{INSIDER}:")),
        adds_insiders=adds_insiders(intruder, schema),
        file_holders=holders,
        membership_is_attacked=membership_is_attacked,
        largest_share=min(adopted_share, compute_largest_share(steps, units)),
        not_for_publication=not_for_publication,
    )


def list_kinds_asked(subject: Subject) -> tuple[DisclosureKind, ...]:
    """The kinds of disclosure that the policy of a release must answer.

    A kind without an object is not asked: insiders where nobody can know more than the declared intruder, inference where no
    attribute is confidential. `earlier_releases` is not asked: the lines on identity are about what earlier ones add, too.
    """
    objects = {"insiders": subject.insiders, "inference": subject.confidential}
    return tuple(kind for kind in KINDS if kind in subject.kind.discloses and objects.get(kind, True))


def find_kind(line: PolicyLine) -> DisclosureKind | None:
    """The kind of disclosure that a line is about; None: of none, as a limit on k or on a loss.

    A line on a single attack while others are accepted answers no kind.
    """
    answers = MEASURES[line.measure].answers
    if answers is None or line.accept_other_attacks is not None:
        return None
    if answers == "identity":
        return "insiders" if (line.intruder or "").partition(":")[0] == INSIDER else "identity"
    return answers if line.intruder in (None, DECLARED) else None


def can_fail(line: PolicyLine, subject: Subject) -> bool:
    """Is the limit inside the range that the measure can reach on this release?

    Example: if a tenth of the records is released, at most a tenth can be re-identified, so that a limit of 0.15 cannot fail.
    """
    if cannot_fail(line):
        return False
    return line.measure not in RIGHT_LINKS or not is_within(subject.largest_share, line.limit, "at_most")


def find_unlimited_kinds(policy: Iterable[PolicyLine], subject: Subject) -> dict[DisclosureKind, tuple[str, ...]]:
    """The kinds that are asked and that no line answers, each with what its lines still have to measure.

    Identity needs a rate and a tail: 8 % on average can hide outliers who are found with certainty. A line on one intruder or
    on one confidential attribute answers the kind only together with lines on all the others: of identity the declared
    intruder and each holder of a file. Inference needs a limit on what the release tells of its own people alone, and one on
    what can be asserted of somebody, of everybody alike or not. What the declared intruder knows already nobody learns here,
    so that no line answers inference of it.
    """
    lines = [line for line in policy if can_fail(line, subject)]
    of_kind = {kind: [line for line in lines if find_kind(line) == kind] for kind in list_kinds_asked(subject)}
    missing = {kind: tuple(_find_missing(kind, found, subject)) for kind, found in of_kind.items()}
    return {kind: what for kind, what in missing.items() if what}


def _find_missing(kind: DisclosureKind, lines: list[PolicyLine], subject: Subject) -> Iterator[str]:
    match kind:
        case "identity":
            everybody = (DECLARED, *subject.file_holders)
            rates = [line for line in lines if not MEASURES[line.measure].is_tail]
            tails = [line for line in lines if line not in rates and line.subgroup is None and line.attribute is None]
            if not _concern_all(rates, everybody):
                yield LIMITED_BY[kind]
            if not _concern_all(tails, everybody):
                yield TAIL
        case "insiders":
            named = {line.intruder for line in lines}
            if (subject.adds_insiders and INSIDER not in named) or not _concern_all(lines, subject.insiders):
                yield LIMITED_BY[kind]
        case "inference":
            for measure, what in zip(INFERENCE_DECIDING, (LIMITED_BY[kind], ASSERTED), strict=True):
                limited = [line for line in lines if line.measure == measure]
                if subject.known_secrets or not _concern_every_secret(limited, subject):
                    yield what
        case _:
            if not lines:
                yield LIMITED_BY[kind]


def _concern_every_secret(lines: list[PolicyLine], subject: Subject) -> bool:
    attributes = {line.attribute for line in lines}
    return None in attributes or attributes.issuperset(subject.confidential)


def _concern_all(lines: list[PolicyLine], everybody: tuple[str, ...]) -> bool:
    """Is each of these intruders among those whom one of the lines is about? Subgroups are measured of the declared one."""
    return all(
        any(is_by(one, line.intruder) and (one == DECLARED or not MEASURES[line.measure].by_subgroup) for line in lines)
        for one in everybody
    )


def list_kinds_not_limited(
    policy: Iterable[PolicyLine], not_limited: NotLimited, subject: Subject
) -> tuple[tuple[DisclosureKind, str], ...]:
    """The kinds that are asked and that a reason stands for in place of a limit, with that reason."""
    reasons = ((kind, not_limited.reason(kind)) for kind in find_unlimited_kinds(policy, subject))
    return tuple((kind, reason) for kind, reason in reasons if reason is not None)


def begins_as_policy_line(reason: str) -> bool:
    """Was a limit probably meant, and not a reason why there is none? Example: `measure: reidentification, at most: 0.2`."""
    return _WRITTEN_LINE.match(reason) is not None


def refuse_limits_as_reasons(not_limited: NotLimited) -> None:
    """Raise InputError for a reason that begins as a policy line does: signed as a reason, it would limit nothing."""
    for kind in KINDS:
        reason = not_limited.reason(kind)
        if reason is not None and begins_as_policy_line(reason):
            raise InputError(
                code="limit-as-reason",
                where=f"not_limited.{kind}",
                what="this reads as a policy line, and as a reason it would be signed and limit nothing",
                allowed="a sentence that says why there is no limit",
                remedy="write the line under `policy` and take this entry out, or write the reason in a sentence",
                value=reason,
            )


def refuse_silence(policy: tuple[PolicyLine, ...], not_limited: NotLimited, subject: Subject) -> None:
    """Raise InputError where a kind of disclosure that is asked has neither a line that can fail nor a reason.

    Identity cannot go without a limit where the rows have owners, unless nothing is published. Of a model or a synthetic table
    something must be limited of membership or inference, be it in part; where inference has no object, membership must, unless
    nothing is published.
    """
    missing = find_unlimited_kinds(policy, subject)
    silent = {kind: what for kind, what in missing.items() if not_limited.reason(kind) is None}
    if silent:
        text = "; ".join(f"{kind} ({WHAT_IT_IS[kind]}{_describe_gap(kind, what, subject)})" for kind, what in silent.items())
        raise InputError(
            code="kind-not-limited",
            where="policy",
            what=f"the policy says nothing on {'this kind' if len(silent) == 1 else 'these kinds'} of disclosure: {text}",
            allowed="for each kind a line whose limit can fail on this release, or a signed reason under `not_limited`",
            remedy="add these lines, with limits and reasons of your own (`sdcert check --upgrade FILE` writes them down):",
            lines=propose_lines(silent, subject),
        )
    if "identity" in missing and not subject.not_for_publication:
        raise InputError(
            code="identity-not-limited",
            where="not_limited.identity",
            what="the rows of this table belong to people, so that the risk of finding them must be limited",
            allowed="`identity` without a limit only with `not_for_publication: true`",
            remedy="replace the reason by lines of the policy:",
            lines=propose_lines({"identity": missing["identity"]}, subject),
        )
    asked = list_kinds_asked(subject)
    without_object = "inference" not in asked
    if (
        "identity" not in subject.kind.discloses
        and not any(find_kind(line) in asked and can_fail(line, subject) for line in policy)
        and not (without_object and subject.not_for_publication)
    ):
        raise InputError(
            code="nothing-limited",
            where="not_limited",
            what=f"nothing would be limited that this {subject.kind.name} can disclose",
            allowed="a limit on membership (without a confidential attribute nothing else can be limited), or "
            "`not_for_publication: true`"
            if without_object
            else "a limit on membership or on what is inferred",
            remedy=f"replace {'the reason' if without_object else 'one of the reasons'} by a line of the policy:",
            lines=propose_lines({"membership": missing["membership"]}, subject),
        )


def _describe_gap(kind: DisclosureKind, what: tuple[str, ...], subject: Subject) -> str:
    """That of identity one half is limited already, or limited for some of the intruders; what of inference no line limits."""
    if kind == "inference" and subject.known_secrets:
        names = join_with_and(subject.known_secrets)
        return (
            f"; the declared intruder knows {names}, so that no line is about it: take it out of `intruder.knows` to limit it"
        )
    if kind == "inference" and len(what) == 1:
        excess = (
            "; what the release tells of its own people alone is limited, and nothing limits what can be asserted of anybody"
        )
        asserted = "; what can be asserted is limited, and nothing limits what the release tells of its own people alone"
        return excess if what[0] == ASSERTED else asserted
    if kind != "identity":
        return ""
    text = ""
    if len(what) == 1:
        tail = "; an average is limited, and nothing limits how easily the people are found who are easiest to find"
        rate = "; the people who are easiest to find are limited, and no average is"
        text = tail if what[0] == TAIL else rate
    holders = ", ".join(subject.file_holders)
    return f"{text}; lines that name an intruder leave out the others: {DECLARED}, {holders}" if holders else text


def propose_lines(missing: dict[DisclosureKind, tuple[str, ...]], subject: Subject) -> tuple[str, ...]:
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


def can_be_limited(kind: DisclosureKind, subject: Subject) -> bool:
    """Does a measure exist that answers the kind of such a release?"""
    if kind == "inference" and subject.known_secrets:
        return False
    return kind != "earlier_releases" and kind not in subject.kind.cannot_limit


def compute_largest_share(steps: tuple[Mechanism, ...], units: int) -> float:
    """The share of the records (persons) that the samples of all steps leave, each drawn from what the one before left.

    Of strata, however they are allocated, as many are drawn together as of the whole. units: before the first step; 0: unknown.
    Example: a half of a half of 100 records: 0.25.
    """
    left = units
    for step in steps:
        if isinstance(step, Sampling):
            left = min(left, count_sampled(step, left))
    return left / units if units else 1.0
