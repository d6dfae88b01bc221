"""What the attributes of a table are: role, scale, and who decided it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal


class Role(StrEnum):
    """What an attribute is to an intruder and to the publisher."""

    IDENTIFIER = "identifier"  # names a unit by itself; never published
    QUASI_IDENTIFIER = "quasi_identifier"  # an intruder may know it from elsewhere
    CONFIDENTIAL = "confidential"  # what the intruder wants to learn
    WEIGHT = "weight"  # sampling weight
    PERSON = "person"  # the key of a unit with several rows; never published
    GROUP = "group"  # household, enterprise: the key of a group of units; never published
    DERIVED = "derived"  # a function of other attributes; not published, because it would undo their mask
    WITHHELD = "withheld"  # not published, for a reason of the publisher's own
    OTHER = "other"


class Scale(StrEnum):
    """What may be done with the values of an attribute."""

    NUMERIC = "numeric"  # differences mean something
    ORDINAL = "ordinal"  # only the order means something; codes, or texts with a declared order
    NOMINAL = "nominal"  # only equality means something
    DATE = "date"  # calendar dates (date32) or moments (timestamp): numbers of days
    TIME = "time"  # times of day: numbers of seconds
    CODE = "code"  # numbers that name things: only equality means something
    FREE_TEXT = "free_text"  # what somebody wrote in their own words: never published


MEASURED = frozenset({Scale.NUMERIC, Scale.DATE, Scale.TIME})  # differences mean something
CATEGORICAL = frozenset({Scale.NOMINAL, Scale.CODE, Scale.FREE_TEXT})  # only equality does
UNPUBLISHED = frozenset({Role.IDENTIFIER, Role.PERSON, Role.GROUP, Role.DERIVED, Role.WITHHELD})


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute as the pipeline treats it.

    `order` lists the categories of an ordinal text attribute from lowest to highest (None: numeric codes, ordered as numbers).
    `evidence` says in words why role and scale are what they are; it names counts and shares, never a value.
    """

    name: str
    role: Role
    scale: Scale
    decided_by: Literal["declared", "pipeline"]
    order: tuple[str, ...] | None = None
    derived_from: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()

    @property
    def is_published(self) -> bool:
        return self.role not in UNPUBLISHED


@dataclass(frozen=True, slots=True)
class Schema:
    """The attributes of a table, in the order of its columns; names are unique."""

    attributes: tuple[Attribute, ...]

    def __getitem__(self, name: str) -> Attribute:
        return next(attribute for attribute in self.attributes if attribute.name == name)

    def __contains__(self, name: object) -> bool:
        return any(attribute.name == name for attribute in self.attributes)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.attributes)

    def withhold_all_but(self, names: Collection[str]) -> Schema:
        """The schema of a table that has none of the other published attributes."""
        kept = (
            one if one.name in names or not one.is_published else replace(one, role=Role.WITHHELD) for one in self.attributes
        )
        return Schema(tuple(kept))

    @property
    def release_columns(self) -> tuple[str, ...]:
        """Names of the columns of the released table, in order."""
        return tuple(attribute.name for attribute in self.attributes if attribute.is_published)

    def find_by_role(self, *roles: Role) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.attributes if attribute.role in roles)

    def select(self, names: Iterable[str]) -> tuple[Attribute, ...]:
        return tuple(self[name] for name in names)


@dataclass(frozen=True, slots=True)
class MaskTargets:
    """Which attributes a masking step touches: those it names, or every quasi-identifier of a fitting scale.

    scales: what it can mask. by_default: what it masks unless attributes are named; None: all that it can.
    """

    named: tuple[str, ...] | None
    scales: tuple[Scale, ...]
    by_default: tuple[Scale, ...] | None = None

    def resolve(self, schema: Schema) -> tuple[str, ...]:
        if self.named is not None:
            return self.named
        candidates = schema.select(schema.find_by_role(Role.QUASI_IDENTIFIER))
        return tuple(attribute.name for attribute in candidates if attribute.scale in (self.by_default or self.scales))
