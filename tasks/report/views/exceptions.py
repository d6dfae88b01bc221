"""What a verdict excepts: kinds of disclosure without a limit, and omitted attacks, each with its reason and what was found."""

from __future__ import annotations

from collections.abc import Iterator

from tasks.microdata.numbers import share
from tasks.microdata.words import join_with_and
from tasks.report.content import Content
from tasks.report.views.membership import worst_of_membership
from tasks.report.views.residual import describe_declared_intruder, insiders_in_words, summary, values_in_words
from tasks.report.wording.sentences import attack_named, expand_code_names, intruder_in_words
from tasks.score.attack_coverage import list_unfollowed_attacks
from tasks.score.kinds import KINDS, WHAT_IT_IS
from tasks.score.measure import Kind

NO_FIGURE = "Nothing was measured of it."


def summarise_for_terminal(content: Content) -> tuple[str, ...]:
    """The sentences on a terminal: what was found, the worst insider always among it, and what the verdict excepts."""
    found = summary(content)
    insider = [one for one in insiders_in_words(content) if content.model is None][:1]
    return (*found, *(one for one in insider if one not in found), *exceptions_in_words(content))


def exceptions_in_words(content: Content) -> tuple[str, ...]:
    """One sentence or more on each kind that is not limited and each omitted attack, in the order of the verdict's word."""
    told = ((name, _describe_exception(content, name), reason) for name, reason in content.exceptions)
    return tuple(f"{excepted} {_describe_first_figure(content, name)}Reason given: {reason}" for name, excepted, reason in told)


def describe_disclosure(content: Content, name: str) -> str:
    """What was found of a kind of disclosure; that nothing was measured, where nothing was."""
    return _describe_first_figure(content, name).strip() or NO_FIGURE


def _describe_exception(content: Content, name: str) -> str:
    kind = _kind(name)
    if kind is not None:
        return f"The policy sets no limit on {name} ({WHAT_IT_IS[kind]})."
    asked = [one for one in content.omissions if one.attack == name]
    if not asked and name == "distance_linkage":
        return f"Somebody who holds the original values could link more, and was not tried with the {attack_named(name)}."
    if not asked:
        return (
            f"Somebody who holds all records could follow more of the masking, and was not tried with the {attack_named(name)}."
        )
    idle = [
        one
        for one in list_unfollowed_attacks(content.attacks, content.mechanisms)
        if any(omission.covers(one.method, one.intruder) for omission in asked)
    ]
    if not idle:
        return f"The release was not attacked by the {attack_named(name)}, which it should have faced."
    who = join_with_and(dict.fromkeys(f"the {intruder_in_words(one.intruder)}" for one in idle))
    why = expand_code_names(idle[0].reason or "no reason was given")
    return f"sdcert could not compute the {attack_named(name)}, which the release must face, for {who} ({why})."


def _describe_first_figure(content: Content, name: str) -> str:
    kind = _kind(name)
    if kind is None:
        return ""
    return f"{next(_figures(content, kind), NO_FIGURE)} "


def _known_values_in_words(content: Content) -> Iterator[str]:
    """What others learn of a confidential attribute that the declared intruder knows: no figure of theirs is about it."""
    found = (one for one in content.figures("linked_value_disclosed") if one.attribute in (content.intruder.knows or ()))
    worst = content.largest(found)
    if worst is not None:
        yield (
            f"The declared intruder knows {worst.attribute} already. The links of another, the "
            f"{intruder_in_words(worst.intruder or '')}, tell it rightly for {share(worst.value or 0.0)} of the {worst.counts} "
            f"({attack_named(worst.attack)})."
        )


def _kind(name: str) -> Kind | None:
    return next((kind for kind in KINDS if kind == name), None)


def _figures(content: Content, kind: Kind) -> Iterator[str]:
    match kind:
        case "identity":
            yield from describe_declared_intruder(content)
        case "insiders":
            yield from insiders_in_words(content)
        case "inference" if content.model is None:
            yield from _known_values_in_words(content)
            yield from values_in_words(content)
        case "membership":
            yield from filter(None, (worst_of_membership(content),))
        case _:
            return
