"""Which attacks a masked table has to face, and the plan of attacks of a release."""

from __future__ import annotations

from collections import Counter

from tasks.attack.base import AttackSpec
from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.methods import ATTACK_CLASSES, ATTACKS, Attack
from tasks.attack.omissions import Omission, check_omission
from tasks.attack.simulated.simulated_law import SimulatedLaw
from tasks.attack.transparency.transparency import Transparency
from tasks.mask.coding.rounding import Rounding
from tasks.mask.external_release.released import Synthetic, Undeclared
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import Mechanism
from tasks.mask.noise.noise import Noise
from tasks.mask.ranks.rank_jitter import RankJitter
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.mask.sampling import Sampling
from tasks.microdata.errors import InputError

ASSIGNED = DistanceLinkage(method="distance_linkage", id="distance_one_to_one", matching="one_to_one")
MARGINALS = Transparency(method="transparency", id="transparency_marginals", matching="marginals")
SIMULATED = SimulatedLaw(method="simulated_law")


def list_required_attacks(steps: tuple[Mechanism, ...], *, keeps_row_order: bool = False) -> tuple[str, ...]:
    """The attacks that a release must face, in the order of the default plan."""
    return tuple(kind.get_method() for kind in ATTACK_CLASSES if kind.is_required(steps, keeps_row_order=keeps_row_order))


def default_attacks(steps: tuple[Mechanism, ...], *, keeps_row_order: bool = False) -> tuple[Attack, ...]:
    """One of each attack that the release requires, or that answers its steps.

    That is what the steps require (plain linkage where there are none; on values that were exchanged in pairs the consistency
    attack), the attack by row position on a release that keeps the source's row order, and where values were moved by a law
    (`_move_by_law`) a second transparency attack that weighs all records together, where nobody is left out: it finds more. So
    does a second linkage by distance after a partition drawn at random: it gives each group as many records as it published.
    The attack by a simulated law runs where no closed law may follow the steps (`may_lack_a_closed_law`). What is omitted is
    run all the same: an omission only accepts that an attack gives no figure.
    """
    alone = (ATTACKS[name].create_default() for name in list_required_attacks(steps, keeps_row_order=keeps_row_order))
    complete = not any(isinstance(step, Sampling) for step in steps)
    together = ((ASSIGNED, _draw_groups(steps)), (MARGINALS, _move_by_law(steps)))
    weighed = (spec for spec, finds_more in together if complete and finds_more)
    return (*alone, *weighed, *((SIMULATED,) if may_lack_a_closed_law(steps) else ()))


def _draw_groups(steps: tuple[Mechanism, ...]) -> bool:
    return any(isinstance(step, Microaggregation) and step.partition == "randomised" for step in steps)


def _move_by_law(steps: tuple[Mechanism, ...]) -> bool:
    """Is there noise, rank jitter, or a swap or rounding at random of an attribute that a later step masks again?

    After a swap that is the last step the consistency attack finds more.
    """
    if any(isinstance(step, RankJitter | Noise) for step in steps):
        return True
    at_random = [i for i, step in enumerate(steps) if isinstance(step, RankSwapping | Rounding) and step.randomness != "none"]
    return any(
        not set(steps[i].target_attributes).isdisjoint(later.target_attributes) for i in at_random for later in steps[i + 1 :]
    )


def may_lack_a_closed_law(steps: tuple[Mechanism, ...]) -> bool:
    """Does a step mask again what an earlier one masked, or is it one that no other attack follows?

    A table that somebody masked by unknown steps cannot be simulated either: False.
    """
    if any(isinstance(step, Undeclared | Synthetic) for step in steps):
        return False
    masking = [step for step in steps if step.explicit_attributes != ()]
    pairs = ((one.explicit_attributes, other.explicit_attributes) for i, one in enumerate(masking) for other in masking[:i])
    again = any(one is None or other is None or not set(one).isdisjoint(other) for one, other in pairs)
    return again or any(step.no_attack_reason is not None for step in masking)


def add_omitted_attacks(
    attacks: tuple[Attack, ...],
    omit: tuple[Omission, ...],
    steps: tuple[Mechanism, ...],
    *,
    keeps_row_order: bool = False,
) -> tuple[Attack, ...]:
    """A plan and the required attacks that it leaves out because they are omitted: an omission stops no attack that can run."""
    planned, taken = _list_required_forms(attacks), {spec.attack_id for spec in attacks}
    left_out = [name for name in list_required_attacks(steps, keeps_row_order=keeps_row_order) if name not in planned]
    omitted = [name for name in left_out if any(one.attack == name for one in omit)]
    return (*attacks, *(ATTACKS[name].create_default(f"{name}_required" if name in taken else None) for name in omitted))


def check_attacks(
    attacks: tuple[Attack, ...],
    omit: tuple[Omission, ...],
    steps: tuple[Mechanism, ...],
    *,
    keeps_row_order: bool = False,
) -> None:
    """Refuse a plan of attacks that leaves out a required one without a reason, or calls two attacks by one name.

    Raises InputError for a required attack that is neither planned nor in `omit` for all, an `omit` that names no attack, one
    that nothing ever requires, or no intruder, an id that occurs twice, and a parameter that the steps do not allow.
    """
    for i, omission in enumerate(omit):
        check_omission(omission, f"omit[{i}]", ATTACKS)
        _refuse_idle_omission(omission, f"omit[{i}]")
    ids = Counter(spec.attack_id for spec in attacks)
    for name, count in ids.items():
        if count > 1:
            raise InputError(
                "duplicate-attack-id",
                "attacks",
                f"{count} attacks are called `{name}`",
                "one attack per id",
                "give each an `id`",
                name,
            )
    for i, spec in enumerate(attacks):
        spec.check_parameters(steps, f"attacks[{i}]")
    planned = _list_required_forms(attacks) | {one.attack for one in omit if one.intruder is None}
    names = list_required_attacks(steps, keeps_row_order=keeps_row_order)
    for name in names:
        if name not in planned:
            about = ATTACKS[name].about
            who = "a release that keeps the row order" if about.required_by == "kept row order" else "the masking steps"
            what = f"{who} must face the attack `{name}`{about.required_form}, which is neither in `attacks` nor in `omit`"
            allowed = f"attacks: {', '.join(names)}"
            raise InputError("required-attack-missing", "attacks", what, allowed, "add it, or omit it with a reason", name)


def _refuse_idle_omission(omission: Omission, where: str) -> None:
    if ATTACKS[omission.attack].about.required_by != "nobody":
        return
    what = f"no release has to face the attack `{omission.attack}`, so that omitting it has no effect"
    required = ", ".join(name for name, kind in ATTACKS.items() if kind.about.required_by != "nobody")
    remedy = "take the entry out; what this attack finds counts where it runs, and `attacks` says which attacks run"
    raise InputError("idle-omission", f"{where}.attack", what, required, remedy, omission.attack)


def _list_required_forms(attacks: tuple[AttackSpec, ...]) -> set[str]:
    return {spec.method for spec in attacks if spec.traits.is_required_form}
