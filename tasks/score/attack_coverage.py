"""Required attacks that gave no figure, and which of them a release omits with a reason."""

from __future__ import annotations

from tasks.attack.insiders import INSIDER
from tasks.attack.omissions import Omission
from tasks.attack.outcomes.outcome import AttackResult
from tasks.attack.plan import list_required_attacks
from tasks.attack.threat import is_on_knowledge_curve
from tasks.mask.methods import Mechanism

LINKAGE = "distance_linkage"
EARLIER = "earlier_releases"  # runs only where an earlier release counts; each must be answered for
ANY_STEPS = "simulated_law"  # learns what it is not told: it answers where a closed law cannot be followed
CLOSED_LAWS = ("transparency", "consistency")
BY_MECHANISM = (*CLOSED_LAWS, ANY_STEPS)  # with the original values, whatever the intruder's own file says
Unfollowed = frozenset[tuple[str, str]]  # attack and intruder


def find_unfollowed(attacks: tuple[AttackResult, ...], omit: tuple[Omission, ...], steps: tuple[Mechanism, ...]) -> Unfollowed:
    """The required attacks that sdcert could not compute for an intruder, and that the release does not omit for that one."""
    return frozenset(
        (one.attack, one.intruder)
        for one in list_unfollowed_attacks(attacks, steps)
        if not any(omission.covers(one.method, one.intruder) for omission in omit)
    )


def list_unfollowed_attacks(attacks: tuple[AttackResult, ...], steps: tuple[Mechanism, ...]) -> tuple[AttackResult, ...]:
    """The attacks that the steps require and that sdcert could not compute for an intruder whose figures can decide.

    The attack by earlier releases is required on each of those that count. Attacks in another form (`is_required_form`) neither
    answer nor are asked for. Of several in that form one that gave a figure is enough, but of earlier releases. The attack by a
    simulated law answers for those that follow the steps by closed laws.
    """
    names = (*list_required_attacks(steps), EARLIER)
    full = [one for one in attacks if one.full_form]
    answered = {(one.method, one.intruder) for one in full if one.status == "ok" and one.method != EARLIER}
    answered |= {(method, intruder) for by, intruder in answered if by == ANY_STEPS for method in CLOSED_LAWS}
    return tuple(
        one
        for one in full
        if one.status == "not_followed"
        and one.method in names
        and (one.method, one.intruder) not in answered
        and not is_on_knowledge_curve(one.intruder)
    )


def select_omissions_in_effect(
    attacks: tuple[AttackResult, ...],
    omit: tuple[Omission, ...],
    steps: tuple[Mechanism, ...],
    *,
    keeps_row_order: bool = False,
) -> tuple[Omission, ...]:
    """The omissions without which the release would be refused or undecided: the attack is required, and is not answered.

    An omission of an attack that gave a figure for everybody whom it names changes nothing, and the verdict excepts nothing.
    One that names an earlier release is in effect: a run refuses it where that release can be attacked.
    """
    names = (*list_required_attacks(steps, keeps_row_order=keeps_row_order), EARLIER)
    planned, idle = {one.method for one in attacks if one.full_form}, list_unfollowed_attacks(attacks, steps)
    return tuple(
        one
        for one in omit
        if one.release is not None
        or (
            one.attack in names
            and (one.attack not in (*planned, EARLIER) or any(one.covers(other.method, other.intruder) for other in idle))
        )
    )


def list_attacks_beyond_the_share(attacks: tuple[AttackResult, ...], steps: tuple[Mechanism, ...]) -> tuple[AttackResult, ...]:
    """The required attacks of which an intruder who has all records could follow more than one who has a share of them.

    The declared share decides what such an attack finds, so that the verdict excepts it.
    """
    names = list_required_attacks(steps)
    return tuple(
        one
        for one in attacks
        if one.needs_all_records and one.full_form and one.method in names and not is_on_knowledge_curve(one.intruder)
    )


def tries_original_values(attacks: tuple[AttackResult, ...]) -> bool:
    """Did somebody attack with the original values of all quasi-identifiers, whatever the declared intruder's own file says?

    Insiders hold them, and so does whoever follows the masking. Linkage by the declared intruder's file alone does not.
    """
    gave_a_figure = (one for one in attacks if one.full_form and one.status == "ok")
    return any(one.intruder.startswith(f"{INSIDER}:") or one.method in BY_MECHANISM for one in gave_a_figure)
