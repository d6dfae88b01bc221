"""Attack the masked table of a point together with the earlier releases about the same persons, as a release is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from tasks.attack.outcomes.outcome import AttackResult, sample_unit_rows
from tasks.attack.threat import Intruder
from tasks.attack.together.earlier_release import EarlierRelease, EarlierView
from tasks.attack.together.earlier_releases import create_spec, create_unfollowed_result
from tasks.attack.together.joint_attack import attack_together
from tasks.attack.together.value_reconstruction import reconstruct_values
from tasks.mask.methods import MaskResult
from tasks.microdata.alignment import Alignment
from tasks.microdata.estimate import Estimate
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.randomness import stream
from tasks.microdata.schema import Schema
from tasks.microdata.table import Integers, Microdata
from tasks.score.joined_releases import JoinedTruth, judge_releases
from tasks.score.policy import PolicyLine
from tasks.score.reconstructed_values import estimate_reconstruction


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedEarlier:
    """The earlier releases that count for the trials of one group.

    releases: all of them. views: the tables of those that can be attacked. own: names of those that this home released: one
    whose source and masked table are those of the trial is the trial's own release, and is not joined with itself. known: names
    of those that are known to be so, because the same draw makes the same table.
    series: by which the pseudonyms of the trial stay the same. lines: of the policy, on values that follow from several
    releases. compute_address: the content address of a table.
    """

    releases: tuple[EarlierRelease, ...]
    views: tuple[EarlierView, ...]
    own: frozenset[str]
    known: frozenset[str]
    series: str
    lines: tuple[PolicyLine, ...]
    compute_address: Callable[[Microdata], str]

    def select_others(self, source: str, masked: Microdata) -> CountedEarlier:
        """Those that are other releases than that of this masked table. source: content address of what was masked."""
        address = self.compute_address(masked)
        same = {
            view.name
            for view in self.views
            if view.name in self.own
            and self.compute_address(view.masked) == address
            and self.compute_address(view.original) == source
        }
        gone = same | self.known
        return replace(
            self,
            releases=tuple(one for one in self.releases if one.name not in gone),
            views=tuple(one for one in self.views if one.name not in gone),
        )


@dataclass(slots=True)
class JointEvaluation:
    """The attacks on one masked table together with earlier releases, each carried out once.

    earlier: those of another table than this one. seed: chooses the targets where not all are.
    """

    table: Microdata
    schema: Schema
    done: MaskResult
    alignment: Alignment
    earlier: CountedEarlier
    seed: bytes
    attacked: dict[tuple[str | None, Intruder, float], AttackResult] = field(default_factory=dict)

    def attack(self, intruder: Intruder, share: float) -> Iterator[AttackResult]:
        """On the rows of the masked table, then on those of each earlier release, as a release is attacked."""
        if self.earlier.views:
            yield self._attack_once(None, intruder, share)
        for release in self.earlier.releases:
            if release.tables is None:
                yield create_unfollowed_result(create_spec(release.name), release, intruder)
            else:
                yield self._attack_once(release.name, intruder, share)

    def judge(self) -> dict[str | None, JoinedTruth]:
        """Whose rows these attacks link."""
        truth = GroundTruth.create_from_tables(self.table, self.done.data, self.schema, self.alignment)
        return judge_releases(truth, self.schema, self.earlier.views)

    def estimate_values(self) -> tuple[Estimate, ...]:
        """The figures on values that follow from all releases together; none where there is no other release."""
        if not self.earlier.releases:
            return ()
        tables = (self.table, self.done.data, self.alignment, self.schema, self.done.mechanisms)
        found = reconstruct_values(*tables, self.earlier.views)
        unread = tuple(sorted(one.name for one in self.earlier.releases if one.tables is None))
        return estimate_reconstruction(replace(found, unread=unread), self.earlier.lines, self.table.n)

    def _attack_once(self, of: str | None, intruder: Intruder, share: float) -> AttackResult:
        asked = (of, intruder, share)
        if asked not in self.attacked:
            self.attacked[asked] = attack_together(
                self._create_view(),
                self.earlier.views,
                create_spec(of),
                intruder,
                of=of,
                names={one.name: one.release for one in self.earlier.releases},
                choose_targets=self._choose_targets,
                share=share,
            )
        return self.attacked[asked]

    def _create_view(self) -> EarlierView:
        return EarlierView(
            name="",
            original=self.table,
            masked=self.done.data,
            schema=self.schema,
            mechanisms=self.done.mechanisms,
            alignment=self.alignment,
            record=np.arange(self.table.n, dtype=np.int64),
            series=self.earlier.series,
        )

    def _choose_targets(self, truth: GroundTruth, _: Schema, share: float) -> Integers:
        if share >= 1:
            return np.arange(truth.original.n, dtype=np.int64)
        rng = stream(self.seed, "targets", self.earlier.compute_address(truth.original))
        return sample_unit_rows(truth.units, share, rng)
