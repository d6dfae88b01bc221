"""Who attacks, what they know, and which attacks a masked table has to face."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from pydantic import Field

from tasks.attack.consistency.consistency import LEAST_SAMPLED, Consistency
from tasks.attack.insiders import (
    MaybeInsiders,
    check_knowledge,
    extend_worst_set,
    largest_complete_size,
    list_columns,
    list_complete_sets,
    name_insider,
)
from tasks.attack.learned.learned_linkage import LearnedLinkage
from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.linkage.external import FileSpec, FileUse, check_published, names_of, use_of
from tasks.attack.linkage.holding import Holding, Holdings
from tasks.attack.omissions import Omission, check_omission
from tasks.attack.probabilistic.probabilistic_linkage import ProbabilisticLinkage
from tasks.attack.profiles.profile_linkage import ProfileLinkage
from tasks.attack.row_position import RowPosition
from tasks.attack.transparency.transparency import Transparency
from tasks.mask.methods import Mechanism
from tasks.mask.ranks.rank_jitter import RankJitter
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.mask.sampling import Sampling
from tasks.microdata.codes import joint_codes, row_codes
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Role, Schema
from tasks.microdata.spec import Names, Public, Share, Spec
from tasks.microdata.suggestion import did_you_mean
from tasks.microdata.table import Microdata

AnyAttack = DistanceLinkage | Transparency | RowPosition | ProfileLinkage | LearnedLinkage | ProbabilisticLinkage | Consistency
ATTACKS = {
    "distance_linkage": DistanceLinkage,
    "transparency": Transparency,
    "consistency": Consistency,
    "row_position": RowPosition,
    "profile_linkage": ProfileLinkage,
    "learned_linkage": LearnedLinkage,
    "probabilistic_linkage": ProbabilisticLinkage,
}
MARGINALS = Transparency(method="transparency", id="transparency_marginals", matching="marginals")
MOST_RUNGS = 13  # of the knowledge curve one by one; with more attributes these many are known
RUNGS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
INSIDER_ROLES = (Role.CONFIDENTIAL, Role.WEIGHT, Role.OTHER)
CURVE = "knowing"


class IntruderSpec(Spec):
    """What the declared intruder knows.

    knows: attributes whose original values they know of every record; default: all quasi-identifiers.
    targets: the share of the records whose linkage is scored, a simple random sample.
    participation_known: do they know that their records are in the release?
    records: the share of the source's records that they hold, drawn at random: the targets are among these, and what takes all
        records, such as repeating a partition, they cannot do. Who holds an external file holds that instead.
    holds: what their own file says of some of these attributes instead of the original values: `{age: {rounded_to: 5}}`. It is
        of use to them in distance-based linkage; the other attacks, and the insiders, hold the original values all the same.
    curve: attack also as somebody who knows only the first 1, 2, ... of these attributes, for the curve of the report.
    files: external files that they hold besides, each of which makes an intruder of its own (`linkage.external`). A policy line
        that names no intruder is about them too.
    insiders: how much insiders know besides: `{know: 2}` for up to two of the other published columns; default: one of them.
    """

    knows: Public[Names | None] = None
    targets: Public[Share] = 1.0
    records: Public[Share] = 1.0
    participation_known: Public[bool] = True
    holds: Holdings = ()
    curve: Public[bool] = True
    files: tuple[FileSpec, ...] = ()
    insiders: Public[MaybeInsiders] = Field(None, exclude_if=lambda given: given is None)

    @property
    def insiders_know(self) -> int:
        """How many columns an insider knows at most."""
        return 1 if self.insiders is None else self.insiders.know


@dataclass(frozen=True, slots=True)
class Intruder:
    """One intruder.

    `declared`; or `insider:<attribute>`, who also knows one other published attribute, or several (`insider:a + b`); or
    `knowing:<i>`, who knows the first i of the declared intruder's attributes in a greedy order, which `greedy` says; or
    `file:<name>`, who holds the records of an external file, which `file` says how to use.
    holds: what their file says of some attributes instead of the original values. records: the share of the records they hold.
    """

    name: str
    knows: tuple[str, ...]
    participation_known: bool = True
    records: float = 1.0
    greedy: bool = False
    holds: tuple[tuple[str, Holding], ...] = ()
    file: FileUse | None = None


def holders(spec: IntruderSpec, schema: Schema, columns: tuple[tuple[str, ...], ...]) -> tuple[Intruder, ...]:
    """Who holds the files of the intruder, one for each file. columns: of each file, as it was read.

    Raises InputError as `names_of` and `use_of`.
    """
    names = names_of(spec.files)
    uses = (use_of(file, i, schema, columns[i]) for i, file in enumerate(spec.files))
    return tuple(
        Intruder(name, tuple(attribute for _, attribute in use.columns), spec.participation_known, file=use)
        for name, use in zip(names, uses, strict=True)
    )


def intruders(spec: IntruderSpec, schema: Schema, released: Microdata | None = None) -> tuple[Intruder, ...]:
    """The declared intruder, then the insiders, then those of the knowledge curve.

    An insider knows all quasi-identifiers and one other published attribute: confidential attributes and weights are link keys
    too (a person knows how a colleague votes). One of them for each such attribute, in the order of the table; those who know
    nothing beyond the declared intruder are left out. Insiders (docs/SCIENCE.md section 2) know attributes that are published;
    those that a mask touched are among them, because a light mask hides little, and because the transparency attack can follow
    a joint mask only if it knows all that was masked together. Where the declared intruder does not know all
    quasi-identifiers, somebody who does is an insider too, named by the first of them that the declared one lacks.
    Where insiders know several attributes, those of all sets that are tried follow; `find_larger_insiders` tells the others.
    The intruders of the curve know the first 1..d-1 of the d >= 2 attributes of the declared one, in the order of
    `order_attributes_greedily`; there are none without the released table, or with `curve: false`. Their figures decide
    nothing.

    Raises InputError where the spec names an attribute that does not exist or is not published, nothing can be known, or
    insiders are to know more than there is.
    """
    knows = _resolve_known_attributes(spec, schema)
    _check_holds(spec, knows)
    declared = Intruder("declared", knows, spec.participation_known, spec.records, holds=spec.holds)
    keys = schema.find_by_role(Role.QUASI_IDENTIFIER)
    unknown = [name for name in keys if name not in declared.knows][:1]  # who knows all keys is one intruder, of any name
    columns = schema.find_by_role(*INSIDER_ROLES)
    check_knowledge(spec.insiders_know, columns)
    sets = (*((name,) for name in (*unknown, *columns)), *list_complete_sets(spec.insiders_know, columns))
    insiders = (_insider(names, spec, schema) for names in sets)
    curve = () if released is None or not spec.curve else _curve(declared, released)
    return (declared, *(insider for insider in insiders if not set(insider.knows) <= set(declared.knows)), *curve)


def find_larger_insiders(spec: IntruderSpec, schema: Schema, rates: Mapping[str, float]) -> tuple[Intruder, ...]:
    """The insiders of one more column who attack next: the worst of those before with each other column in turn.

    rates: of the insiders who attacked, by name, the largest re-identification rate of their attacks; 0 where they have none.
    Returns none once insiders know as much as the spec says.
    """
    columns = schema.find_by_role(*INSIDER_ROLES)
    told = ((list_columns(name, schema.names), rate) for name, rate in rates.items())
    tried = {names: rate for names, rate in told if names and set(names) <= set(columns)}
    return tuple(_insider(names, spec, schema) for names in extend_worst_set(spec.insiders_know, columns, tried))


def adds_insiders(spec: IntruderSpec, schema: Schema) -> bool:
    """Are insiders added by what others find, so that not all are named before the attacks?"""
    return spec.insiders_know > largest_complete_size(spec.insiders_know, len(schema.find_by_role(*INSIDER_ROLES)))


def _insider(names: tuple[str, ...], spec: IntruderSpec, schema: Schema) -> Intruder:
    knows = tuple(dict.fromkeys((*schema.find_by_role(Role.QUASI_IDENTIFIER), *names)))
    return Intruder(name_insider(names), knows, spec.participation_known, spec.records)


def order_attributes_greedily(released: Microdata, names: tuple[str, ...]) -> tuple[str, ...]:
    """The attributes in a greedy order: each the one that, with those before it, leaves the released records least alike.

    Formula in words: the one with which the released records show most different combinations. Their number over the records is
    the mean of 1/F, F the records that show the same: the rate of an intruder who knows these attributes as they are released.
    Of equally telling attributes the first in the table. Greedy is not best: some other set of i attributes may tell more.
    Once all released records differ the rest follows in the order of the table. Cost: at most d^2 / 2 passes over the records.
    """
    left = {name: row_codes(released, (name,)) for name in released.names if name in names}
    order: list[str] = []
    together = np.zeros(released.n, dtype=np.int64)
    while left and int(together.max(initial=0)) + 1 < released.n:
        joined = {name: joint_codes([together, codes], released.n) for name, codes in left.items()}
        best = max(joined, key=lambda name: int(joined[name].max(initial=-1)))  # the first of several
        together = joined[best]
        del left[best]
        order.append(best)
    return (*order, *left)


REQUIRED_METHODS = (
    "distance_linkage",
    "transparency",
    "row_position",
    "consistency",
)  # of those that masking steps can ask for
NEEDS_ORIGINALS = "it looks for the source's records by their own values, or their order: an external file has others"


def links_files(spec: AnyAttack) -> bool:
    """Can the attack be carried out with an external file, whose records are not those of the source?"""
    by_distance = isinstance(spec, DistanceLinkage | LearnedLinkage | ProbabilisticLinkage)
    return by_distance or (isinstance(spec, ProfileLinkage) and spec.knows is None)


def can_attack_synthetic_rows(spec: AnyAttack) -> bool:
    """Does the attack find something on rows that belong to nobody: the values of those nearest to a record?

    A distance that is learned or fitted needs to know who is who, an assignment that nobody's row is another's as well, a
    mechanism or an order that there is something to follow; weights by likelihood that there are matches.
    """
    return isinstance(spec, DistanceLinkage) and spec.matching == "nearest" and not spec.is_fitted


def list_step_attacks(mechanism: Mechanism) -> tuple[str, ...]:
    """The attacks that a table masked in this way must face."""
    return tuple(dict.fromkeys(("distance_linkage", *mechanism.answered_by)))


def list_required_attacks(steps: tuple[Mechanism, ...], *, keeps_row_order: bool = False) -> tuple[str, ...]:
    """The attacks that a release must face, in the order of the default plan."""
    names = {name for step in steps for name in list_step_attacks(step)} | {"distance_linkage"}
    names |= {"row_position"} if keeps_row_order else set()
    return tuple(name for name in REQUIRED_METHODS if name in names)


def default_attacks(steps: tuple[Mechanism, ...], *, keeps_row_order: bool = False) -> tuple[AnyAttack, ...]:
    """One of each attack that the release requires, or that answers its steps.

    That is what the steps require (plain linkage where there are none; on values that were exchanged in pairs the consistency
    attack), the attack by row position on a release that keeps the source's row order, and on ranks that were jittered a
    second transparency attack that weighs all records together, where nobody is left out. What is omitted is run all the same:
    an omission only accepts that an attack gives no figure.
    """
    alone = tuple(ATTACKS[name](method=name) for name in list_required_attacks(steps, keeps_row_order=keeps_row_order))
    jittered = any(isinstance(step, RankJitter) for step in steps) and not any(isinstance(step, Sampling) for step in steps)
    return (*alone, *((MARGINALS,) if jittered else ()))


def add_omitted_attacks(
    attacks: tuple[AnyAttack, ...],
    omit: tuple[Omission, ...],
    steps: tuple[Mechanism, ...],
    *,
    keeps_row_order: bool = False,
) -> tuple[AnyAttack, ...]:
    """A plan and the required attacks that it leaves out because they are omitted: an omission stops no attack that can run."""
    planned, taken = {spec.method for spec in attacks if is_full_form(spec)}, {attack_id(spec) for spec in attacks}
    left_out = [name for name in list_required_attacks(steps, keeps_row_order=keeps_row_order) if name not in planned]
    omitted = [name for name in left_out if any(one.attack == name for one in omit)]
    return (*attacks, *(ATTACKS[name](method=name, id=f"{name}_required" if name in taken else None) for name in omitted))


def attack_id(spec: AnyAttack) -> str:
    """What an attack is called in figures and policy lines."""
    return spec.id or spec.method


def check_attacks(
    attacks: tuple[AnyAttack, ...],
    omit: tuple[Omission, ...],
    steps: tuple[Mechanism, ...],
    *,
    keeps_row_order: bool = False,
) -> None:
    """Refuse a plan of attacks that leaves out a required one without a reason, or calls two attacks by one name.

    Raises InputError for a required attack that is neither planned nor in `omit` for all, an `omit` that names no attack or
    no intruder, an id that occurs twice, a bound on windows that the steps do not keep, and too small a sample of orbits.
    """
    for i, omission in enumerate(omit):
        check_omission(omission, f"omit[{i}]", ATTACKS)
    ids = Counter(attack_id(spec) for spec in attacks)
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
        if isinstance(spec, Transparency) and spec.window_at_most is not None:
            _check_bound(spec.window_at_most, steps, f"attacks[{i}].window_at_most")
        if isinstance(spec, Consistency) and spec.sampled_orbits < LEAST_SAMPLED:
            what, place = "the orbits of so few targets bound what the attack finds too weakly", f"attacks[{i}].sampled_orbits"
            allowed, remedy = f"{LEAST_SAMPLED} to 100,000 targets", "raise it, or take it out"
            raise InputError("too-few-orbits", place, what, allowed, remedy, spec.sampled_orbits)
    planned = {spec.method for spec in attacks if is_full_form(spec)} | {one.attack for one in omit if one.intruder is None}
    names = list_required_attacks(steps, keeps_row_order=keeps_row_order)
    for name in names:
        if name not in planned:
            who = "a release that keeps the row order" if name == "row_position" else "the masking steps"
            how = _PLAIN.get(name, "")
            what = f"{who} must face the attack `{name}`{how}, which is neither in `attacks` nor in `omit`"
            allowed = f"attacks: {', '.join(names)}"
            raise InputError("required-attack-missing", "attacks", what, allowed, "add it, or omit it with a reason", name)


_PLAIN = {
    "distance_linkage": " (to_release, scaled by the release, its plain distance)",
    "transparency": " (each record for itself, knowing the windows)",
}


def is_full_form(spec: AnyAttack) -> bool:
    """Is the attack carried out as a required one must be?

    Other directions and scales than an intruder's serve to reproduce papers; other distances, other ways to choose a row, and
    an intruder who does not know the windows stand beside the plain attack.
    """
    if isinstance(spec, Transparency):
        return spec.matching == "likeliest" and spec.window_at_most is None
    return not isinstance(spec, DistanceLinkage) or (
        (spec.direction, spec.scale_by) == ("to_release", "release") and spec.is_plain
    )


def _check_bound(window_at_most: float, steps: tuple[Mechanism, ...], where: str) -> None:
    """Raises InputError for a bound on windows that no step has, or that a step breaks."""
    found = (step.window_percent for step in steps if isinstance(step, RankSwapping | RankJitter))
    widest = max((window for window in found if window is not None), default=None)
    if widest is None:
        what, remedy = "no masking step moves values within a window of ranks", "take it out"
        raise InputError("bound-without-window", where, what, "a release with rank swapping or jitter", remedy, window_at_most)
    if window_at_most < widest:
        what = "a masking step moves values further than the bound that the intruder is said to have"
        remedy = "raise the bound; too high a one only leaves the intruder more rows to choose from"
        allowed = f"at least {widest:g}, the widest window"
        raise InputError("window-above-its-bound", where, what, allowed, remedy, window_at_most)


def _curve(declared: Intruder, released: Microdata) -> tuple[Intruder, ...]:
    order = order_attributes_greedily(released, declared.knows)
    sizes = range(1, len(order)) if len(order) <= MOST_RUNGS else [size for size in RUNGS if size < len(order)]
    firsts = (order[:size] for size in sizes)
    return tuple(
        replace(declared, name=f"{CURVE}:{len(names)}", knows=names, greedy=True, holds=_select_holdings(declared, names))
        for names in firsts
    )


def _select_holdings(declared: Intruder, names: tuple[str, ...]) -> tuple[tuple[str, Holding], ...]:
    return tuple((name, holding) for name, holding in declared.holds if name in names)


def _check_holds(spec: IntruderSpec, knows: tuple[str, ...]) -> None:
    for name, _ in spec.holds:
        if name not in knows:
            remedy = did_you_mean(name, knows, "add it to `knows`, or take it out of `holds`")
            what = f"the intruder holds `{name}`, which is not among the attributes that they know"
            raise InputError("unknown-attribute", "intruder.holds", what, ", ".join(knows), remedy, name)


def _resolve_known_attributes(spec: IntruderSpec, schema: Schema) -> tuple[str, ...]:
    published = ", ".join(schema.release_columns)
    knows = schema.find_by_role(Role.QUASI_IDENTIFIER) if spec.knows is None else tuple(dict.fromkeys(spec.knows))
    if not knows:
        what = "no attribute is a quasi-identifier, so the declared intruder knows nothing"
        raise InputError(
            "nothing-known", "intruder.knows", what, published, "declare quasi-identifiers, or say what the intruder knows"
        )
    for name in knows:
        check_published(name, schema, "intruder", "knows")
    return knows
