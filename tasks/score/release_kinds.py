"""What can be released: a masked table, a synthetic one, a model. What each kind can disclose, and who is asked about it.

This is the part of a kind that its policy needs. `tasks/report/kinds/` has what is said of it, `flows/kinds/` how it is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tasks.attack.membership.methods import DEFAULT_MODEL_ATTACKS, DEFAULT_TABLE_ATTACKS, Attacks
from tasks.score.measure import DisclosureKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseKind:
    """One kind of release.

    name: as messages call it, and the key of its other parts. thing: what a certificate calls the published file.
    discloses: the kinds of disclosure that its policy must answer, unless they have no object. cannot_limit: those of them that
    no measure answers.
    membership_attacks: those that run by default. Each class of attack is about one `thing`.
    is_rehearsed: do they run without a control too?
    """

    name: str
    thing: Literal["table", "model"]
    discloses: tuple[DisclosureKind, ...]
    cannot_limit: tuple[DisclosureKind, ...] = ()
    membership_attacks: Attacks
    is_rehearsed: bool = False

    @property
    def is_table(self) -> bool:
        return self.thing == "table"

    @property
    def has_owners(self) -> bool:
        """Can somebody's own row be found in it?"""
        return "identity" in self.discloses

    def is_asked_by(self, attack: object) -> bool:
        """Is this membership attack one on such a release?"""
        return isinstance(attack, tuple(type(one) for one in self.membership_attacks))


MASKED_TABLE = ReleaseKind(
    name="masked table",
    thing="table",
    discloses=("identity", "insiders", "inference", "membership"),
    membership_attacks=DEFAULT_TABLE_ATTACKS,
)
SYNTHETIC_TABLE = ReleaseKind(
    name="synthetic table",
    thing="table",
    discloses=("inference", "membership"),
    membership_attacks=DEFAULT_TABLE_ATTACKS,
)
MODEL = ReleaseKind(
    name="model",
    thing="model",
    discloses=("inference", "membership"),
    membership_attacks=DEFAULT_MODEL_ATTACKS,
    is_rehearsed=True,
)
RELEASE_KINDS = (MASKED_TABLE, SYNTHETIC_TABLE, MODEL)
