"""What a verdict excepts: kinds of disclosure without a limit, and omitted attacks, each with its reason and what was found."""

from __future__ import annotations

from collections.abc import Iterator

from tasks.report.content import Content
from tasks.report.views.cell_members import describe_worst_cell_members
from tasks.report.views.inference import describe_worst_inference
from tasks.report.views.membership import worst_of_membership
from tasks.report.views.planned_looks import describe_looks
from tasks.report.views.residual import summary
from tasks.report.views.table_risks import (
    describe_declared_intruder,
    describe_reconstruction,
    insiders_in_words,
    values_in_words,
)
from tasks.report.wording.names import expand_code_names, intruder_in_words
from tasks.report.wording.sentence import Sentence, say
from tasks.score.attack_coverage import list_unfollowed_attacks
from tasks.score.kinds import KINDS, WHAT_IT_IS
from tasks.score.measure import DisclosureKind


def summarise_for_terminal(content: Content) -> tuple[str, ...]:
    """The sentences on a terminal: what was found, the worst insider always among it, how targets were taken, and what the
    verdict excepts.
    """
    found = summary(content)
    insider = [one for one in insiders_in_words(content) if content.kind.is_table][:1]
    unsaid = (one for one in insider if one not in found)
    return (*found, *unsaid, *describe_looks(content), *exceptions_in_words(content))


def exceptions_in_words(content: Content) -> tuple[str, ...]:
    """One sentence or more on each kind that is not limited and each omitted attack, in the order of the verdict's word."""
    return tuple(
        say(
            "exceptions.excepted",
            what=_describe_exception(content, name),
            found=_find_first_figure(content, name),
            reason=reason,
        )
        for name, reason in content.exceptions
    )


def describe_disclosure(content: Content, name: str) -> str:
    """What was found of a kind of disclosure; that nothing was measured, where nothing was."""
    return _find_first_figure(content, name) or say("exceptions.no_figure")


def _describe_exception(content: Content, name: str) -> Sentence:
    kind = _kind(name)
    if kind is not None:
        return say("exceptions.no_limit", kind=kind, what=WHAT_IT_IS[kind])
    asked = [one for one in content.omissions if one.attack == name]
    if not asked:
        return say("exceptions.not_tried", attack=name)
    idle = [
        one
        for one in list_unfollowed_attacks(content.attacks, content.mechanisms)
        if any(omission.covers(one.method, one.intruder) for omission in asked)
    ]
    if not idle:
        return say("exceptions.not_attacked", attack=name)
    return say("exceptions.not_computed", attack=name, why=expand_code_names(idle[0].reason or "no reason was given"),
               intruders=tuple(dict.fromkeys(f"the {intruder_in_words(one.intruder)}" for one in idle)))  # fmt: skip


def _find_first_figure(content: Content, name: str) -> str:
    """What was found of a kind, in a sentence; empty for what is no kind of disclosure."""
    kind = _kind(name)
    return "" if kind is None else next(_figures(content, kind), say("exceptions.no_figure"))


def _known_values_in_words(content: Content) -> Iterator[str]:
    """What others learn of a confidential attribute that the declared intruder knows: no figure of theirs is about it."""
    found = (one for one in content.figures("linked_value_disclosed") if one.attribute in (content.intruder.knows or ()))
    worst = content.largest(found)
    if worst is not None:
        yield say("exceptions.known_value", told=worst)


def _kind(name: str) -> DisclosureKind | None:
    return next((kind for kind in KINDS if kind == name), None)


def _figures(content: Content, kind: DisclosureKind) -> Iterator[str]:
    match kind:
        case "identity":
            yield from describe_declared_intruder(content)
        case "insiders":
            yield from insiders_in_words(content)
        case "inference" if kind not in content.kind.cannot_limit:
            yield from _known_values_in_words(content)
            yield from values_in_words(content)
            yield from describe_worst_inference(content)
            yield from describe_reconstruction(content)
            yield from describe_worst_cell_members(content)
        case "membership":
            yield from filter(None, (worst_of_membership(content),))
        case _:
            return
