"""The earlier releases that count, and which of them attacks are given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tasks.attack.omissions import Omission
from tasks.attack.together.earlier_release import EarlierRelease
from tasks.mask.categories.promise import Epsilon
from tasks.microdata.errors import InputError
from tasks.microdata.refs import RecordRef
from tasks.report.predicate import EarlierReleaseClaim
from tasks.runtime.artifacts import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedRelease:
    """One that counts. certificate, released: SHA-256 of the signed statement and of the file, as far as they are known.

    is_beside: it is attacked by itself alone, so that its attacks and those on the new release stand beside each other.
    """

    release: EarlierRelease
    certificate: str | None = None
    released: str | None = None
    is_beside: bool = False

    @property
    def claim(self) -> EarlierReleaseClaim:
        """What the certificate says of it."""
        one = self.release
        return EarlierReleaseClaim(
            name=one.name,
            certificate=self.certificate,
            released=self.released,
            attacked=one.tables is not None,
            reason=one.reason,
        )


@dataclass(frozen=True, slots=True)
class CountedReleases:
    """Those that count. to_attack: what attacks are given, ordered by content address; identity is undecided where one of them
    has no tables. claims: what the certificate says of all. epsilon: of a person who is in all of them and in this one, as
    `add_epsilons` says; None where no PRAM step draws anything anew, or none counts. For the steward alone.
    """

    to_attack: tuple[RecordRef[EarlierRelease], ...] = ()
    claims: tuple[EarlierReleaseClaim, ...] = ()
    epsilon: Epsilon | None = None


def hand_to_attacks(counted: Sequence[CountedRelease], omit: Sequence[Omission]) -> CountedReleases:
    """Give attacks the releases that are not attacked by themselves alone, without those whose absence is accepted by name.

    Raises InputError for an accepted absence of a release that does not count, or that can be attacked.
    """
    _refuse_idle_omissions(counted, omit)
    given = (one.release for one in counted if not one.is_beside and not (_is_absent(one) and _is_omitted(one, omit)))
    store = Store()
    return CountedReleases(
        tuple(sorted({store.put_record(release) for release in given})),
        tuple(sorted((one.claim for one in counted), key=lambda claim: claim.name)),
    )


def _is_absent(one: CountedRelease) -> bool:
    return one.release.tables is None and not one.is_beside


def _is_omitted(one: CountedRelease, omit: Iterable[Omission]) -> bool:
    named = (omission for omission in omit if omission.release is not None)
    return any(omission.covers_release(one.release.name, one.release.release) for omission in named)


def _refuse_idle_omissions(counted: Sequence[CountedRelease], omit: Sequence[Omission]) -> None:
    for i, omission in enumerate(omit):
        if omission.release is not None and not any(
            _is_absent(one) and omission.covers_release(one.release.name, one.release.release) for one in counted
        ):
            what = f"`{omission.release}` is no earlier release that counts and cannot be attacked"
            allowed = ", ".join(one.release.name for one in counted if _is_absent(one)) or "none: all that count are attacked"
            remedy = "name one of these, or take the entry out"
            raise InputError("unknown-release", f"omit[{i}].release", what, allowed, remedy, omission.release)
