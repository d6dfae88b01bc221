"""Required attacks whose absence a release accepts, with a reason."""

from __future__ import annotations

from collections.abc import Collection

from pydantic import Field, model_validator

from tasks.microdata.errors import InputError
from tasks.microdata.spec import Public, Reason, Spec
from tasks.microdata.suggestion import did_you_mean

EARLIER_RELEASES = "earlier_releases"


class Omission(Spec):
    """A required attack whose absence the release accepts, and why.

    intruder: for whom it may be absent: `declared`, `insider:income`, `file:register`, or all of a kind, `insider` and `file`;
        default: for all. The attack is run all the same where it can be, and what it then finds decides.
    release: of the attack `earlier_releases`: the earlier release that cannot be attacked, by the run that certified it or by
        its name; default: all of them.
    """

    attack: Public[str]
    intruder: str | None = None
    release: str | None = Field(None, exclude_if=lambda given: given is None)
    reason: Public[Reason]

    @model_validator(mode="after")
    def _only_that_attack_has_releases(self) -> Omission:
        if self.release is not None and self.attack != EARLIER_RELEASES:
            raise ValueError(
                f"`release` names an earlier release, which only `attack: {EARLIER_RELEASES}` attacks: take it out"
            )
        if self.release is not None and self.intruder is not None:
            raise ValueError("a release that cannot be attacked is omitted for every intruder: take `intruder` out")
        return self

    def covers(self, method: str, intruder: str) -> bool:
        same_intruder = self.intruder in (None, intruder, intruder.partition(":")[0])
        return self.attack == method and self.release is None and same_intruder

    def covers_release(self, *names: str) -> bool:
        """May this earlier release be absent from the attack? names: its run and its name."""
        return self.attack == EARLIER_RELEASES and self.intruder is None and self.release in (None, *names)


def check_omission(omission: Omission, where: str, attacks: Collection[str]) -> None:
    """Raises InputError for an omission of none of these attacks, or of no kind of intruder. where: its place in the file."""
    if omission.attack not in (*attacks, EARLIER_RELEASES):
        remedy = did_you_mean(omission.attack, attacks, "see `sdcert methods attack`")
        raise InputError(
            "unknown-attack",
            f"{where}.attack",
            f"there is no attack `{omission.attack}`",
            ", ".join(attacks),
            remedy,
            omission.attack,
        )
    if omission.intruder is not None and omission.intruder.partition(":")[0] not in ("declared", "insider", "file"):
        raise _unknown_intruder(omission.intruder, where, "declared, insider, insider:<attribute>, file, file:<name>")


def refuse_unknown_intruders(omit: tuple[Omission, ...], names: tuple[str, ...]) -> None:
    """Raises InputError for an omission that names an intruder who does not attack this release. names: of those who do."""
    for i, omission in enumerate(omit):
        if omission.intruder is not None and not any(omission.covers(omission.attack, name) for name in names):
            raise _unknown_intruder(omission.intruder, f"omit[{i}]", ", ".join(names))


def _unknown_intruder(given: str, where: str, allowed: str) -> InputError:
    what, remedy = f"there is no intruder `{given}`", "name one of these, or leave `intruder` out for all"
    return InputError("unknown-intruder", f"{where}.intruder", what, allowed, remedy, given)
