"""Who attacks, and what they know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from pydantic import Field

from tasks.attack.insiders import (
    MaybeInsiders,
    check_knowledge,
    extend_worst_set,
    largest_complete_size,
    list_columns,
    list_complete_sets,
    name_insider,
)
from tasks.attack.linkage.combined_files import CombinedFilesSpec, name_combined_files
from tasks.attack.linkage.external_files import FileSpec, FileUse, check_published, create_file_use, name_files
from tasks.attack.linkage.holding import Holding, Holdings
from tasks.attack.target_looks import Targets
from tasks.microdata.codes import joint_codes, row_codes
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Role, Schema
from tasks.microdata.spec import Names, Public, Share, Spec
from tasks.microdata.suggestion import did_you_mean
from tasks.microdata.table import Microdata

MOST_RUNGS = 13  # of the knowledge curve one by one; with more attributes these many are known
RUNGS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
INSIDER_ROLES = (Role.CONFIDENTIAL, Role.WEIGHT, Role.OTHER)
CURVE_PREFIX = "knowing:"


class IntruderSpec(Spec):
    """What the declared intruder knows.

    knows: attributes whose original values they know of every record; default: all quasi-identifiers.
    targets: the share of the records whose linkage is scored, a simple random sample; or planned looks, of which as many are
        taken as the policy needs: `{first: 0.001, last: 0.1, looks: 4}`.
    participation_known: do they know that their records are in the release?
    records: the share of the source's records that they hold, drawn at random: the targets are among these, and what takes all
        records, such as repeating a partition, they cannot do. Somebody who has an external file holds that instead.
    holds: what their own file says of some of these attributes instead of the original values: `{age: {rounded_to: 5}}`. It is
        of use to them in distance-based linkage; the other attacks, and the insiders, hold the original values all the same.
    curve: attack also as somebody who knows only the first 1, 2, ... of these attributes, for the curve of the report.
    files: external files that they hold besides, each of which makes an intruder of its own (`linkage.external_files`). A
    policy line
        that names no intruder is about them too.
    combine: which of these files somebody holds together, who is one intruder more (`linkage.combined_files`).
    insiders: how much insiders know besides: `{know: 2}` for up to two of the other published columns; default: one of them.
    """

    knows: Public[Names | None] = None
    targets: Public[Targets] = 1.0
    records: Public[Share] = 1.0
    participation_known: Public[bool] = True
    holds: Holdings = ()
    curve: Public[bool] = True
    files: tuple[FileSpec, ...] = ()
    combine: tuple[CombinedFilesSpec, ...] = Field((), exclude_if=lambda given: not given)
    insiders: Public[MaybeInsiders] = Field(None, exclude_if=lambda given: given is None)

    @property
    def insiders_know(self) -> int:
        """How many columns an insider knows at most."""
        return 1 if self.insiders is None else self.insiders.know

    @property
    def file_holders(self) -> tuple[str, ...]:
        """What those are called who hold a file, then those who hold several together; InputError for names that do not fit."""
        names = name_files(self.files)
        return (*names, *name_combined_files(self.combine, names))


@dataclass(frozen=True, slots=True)
class Intruder:
    """One intruder.

    `declared`; or `insider:<attribute>`, who also knows one other published attribute, or several (`insider:a + b`); or
    `knowing:<i>`, who knows the first i of the declared intruder's attributes in a greedy order, which `greedy` says; or
    `file:<name>`, who holds the records of an external file (`file:<name>+<name>`: of several), which `file` says how to use.
    holds: what their file says of some attributes instead of the original values. records: the share of the records they hold.
    """

    name: str
    knows: tuple[str, ...]
    participation_known: bool = True
    records: float = 1.0
    greedy: bool = False
    holds: tuple[tuple[str, Holding], ...] = ()
    file: FileUse | None = None


def is_on_knowledge_curve(intruder: str | None) -> bool:
    """Is this the name of an intruder who knows only the first of the declared intruder's attributes?"""
    return (intruder or "").startswith(CURVE_PREFIX)


def holders(spec: IntruderSpec, schema: Schema, columns: tuple[tuple[str, ...], ...]) -> tuple[Intruder, ...]:
    """Somebody who has the files of the intruder, one for each file. columns: of each file, as it was read.

    Raises InputError as `name_files` and `create_file_use`.
    """
    names = name_files(spec.files)
    uses = (create_file_use(file, i, schema, columns[i]) for i, file in enumerate(spec.files))
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


def list_membership_intruders(spec: IntruderSpec, schema: Schema) -> tuple[Intruder, ...]:
    """Who asks whether somebody is in the file: the declared intruder, then the insiders who know one other column each."""
    asks = spec.model_copy(update={"insiders": None, "curve": False})
    return tuple(Intruder(one.name, one.knows) for one in intruders(asks, schema))


def find_larger_insiders(spec: IntruderSpec, schema: Schema, rates: Mapping[str, float]) -> tuple[Intruder, ...]:
    """The insiders of one more column who attack next: the worst of those before with each other column in turn.

    rates: of the insiders who attacked, by name, the largest re-identification rate of their attacks; 0 where they have none.
    Returns none once insiders know as much as the spec says.
    """
    columns = schema.find_by_role(*INSIDER_ROLES)
    declared = ((list_columns(name, schema.names), rate) for name, rate in rates.items())
    tried = {names: rate for names, rate in declared if names and set(names) <= set(columns)}
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


def _curve(declared: Intruder, released: Microdata) -> tuple[Intruder, ...]:
    order = order_attributes_greedily(released, declared.knows)
    sizes = range(1, len(order)) if len(order) <= MOST_RUNGS else [size for size in RUNGS if size < len(order)]
    firsts = (order[:size] for size in sizes)
    return tuple(
        replace(declared, name=f"{CURVE_PREFIX}{len(names)}", knows=names, greedy=True, holds=_select_holdings(declared, names))
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
