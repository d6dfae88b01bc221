"""What an intruder who knows the masking steps concludes about the released rows of the records they know.

B_j(x), the set of released rows that can be the image of record x by what is known of attribute j, is never written out: it is
held as a condition on the values a row may show. The image of x lies in the intersection of all of them.

Source: Nin, Herranz and Torra (2008), "Rethinking rank swapping to decrease disclosure risk"; Torra (2016).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from tasks.mask.value_bounds import ValueBounds
from tasks.microdata.table import Floats, Integers, Microdata


@dataclass(frozen=True, slots=True)
class EqualTo:
    """The row of record i equals, in all of `names` together, the believed values of one of its twins.

    twins: shape (n,); records with the same number were equal in everything that the step looked at: it could not tell them
        apart. None: all twins are believed to show the same, so that the image of each record has exactly one possible value.
    """

    names: tuple[str, ...]
    twins: Integers | None = None

    @property
    def certain(self) -> bool:
        return self.twins is None

    def select_records(self, rows: Integers) -> EqualTo:
        return self if self.twins is None else replace(self, twins=self.twins[rows])


@dataclass(frozen=True, slots=True)
class InInterval:
    """The row of record i shows a position within [low[i], high[i]]; where low is NaN it shows a missing value."""

    name: str
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class DiscreteLikelihood:
    """The row of record i shows category s with probability probability[own[i], s]; released row l shows category shown[l].

    A category is a combination of values of `names`; the attributes of one law were randomised together.
    own: shape (n,), shown: shape (m,): codes of the rows and columns of `probability`, which is square and has a category for
    missing values and one for what no record can show.
    values: what the categories that a record can show stand for, in order; None where they do not stand for one value each.
    begins: at which ranks the categories begin that are blocks of ranks, and the number of values; None: they are no ranks.
        A released row is then in the block of its rank, and the law outlasts steps that keep the order of the values, or blur
        it by a known law.
    """

    names: tuple[str, ...]
    own: Integers
    shown: Integers
    probability: Floats
    values: Microdata | None = None
    begins: Integers | None = None


@dataclass(frozen=True, slots=True)
class GaussianLikelihood:
    """The row of record i shows centre[i] and normal noise of mean 0 and known covariance, in coordinates made for that.

    centre: shape (n, d), one column for each of `names`; placed: shape (m, d), where each released row stands; NaN is missing.
    covariance: shape (g, d, d); of_record, of_row: shapes (n,) and (m,), whose noise has which covariance. A row of another
    covariance than the record's is not its image.
    factors: do the coordinates stand for logarithms, so that noise that is added does not add up with this one?
    """

    names: tuple[str, ...]
    centre: Floats
    placed: Floats
    covariance: Floats
    of_record: Integers
    of_row: Integers
    factors: bool = False

    def drop_attributes(self, names: Iterable[str]) -> GaussianLikelihood:
        """What is left of the law if `names` are not looked at."""
        kept = [j for j, name in enumerate(self.names) if name not in names]
        return replace(
            self,
            names=tuple(self.names[j] for j in kept),
            centre=self.centre[:, kept],
            placed=self.placed[:, kept],
            covariance=self.covariance[:, kept][:, :, kept],
        )

    def select_rows(self, rows: Integers, released: Integers) -> GaussianLikelihood:
        """The same for some of the records, and some of the released rows."""
        return replace(
            self,
            centre=self.centre[rows],
            placed=self.placed[released],
            of_record=self.of_record[rows],
            of_row=self.of_row[released],
        )


@dataclass(frozen=True, slots=True)
class Belief:
    """The intruder's records and what they conclude of them after some of the steps.

    believed: one row per record, one column per known attribute: its value after those steps, as far as they can follow.
    unclear: known attributes of which nothing is concluded any more. likelihoods: attributes that were randomised after
    `believed`.
    blurred: attributes to which noise was added after `believed`.
    complete: do they know all the records that the next step is applied to? Not after some were sampled, nor if they hold a
    share of them: then they cannot repeat what depends on all of them.
    bounds: between what the values of attributes lie that are not certain any more, for the steps to come (`carry_bounds`).
        Those of noise err with a chance of 1e-6. Released rows are held against `between` alone.
    lost: of `unclear`, those that even an intruder who knows all published attributes could not follow; found by the attack
    (`link_by_mechanism`), empty before.
    """

    believed: Microdata
    shown: tuple[EqualTo, ...]
    between: tuple[InInterval, ...] = ()
    unclear: tuple[str, ...] = ()
    likelihoods: tuple[DiscreteLikelihood, ...] = ()
    blurred: tuple[GaussianLikelihood, ...] = ()
    complete: bool = True
    bounds: tuple[ValueBounds, ...] = ()
    lost: tuple[str, ...] = ()

    def is_certain(self, names: Iterable[str]) -> bool:
        """Does the intruder know what each record shows in all of these attributes?"""
        certain = {name for part in self.shown if part.certain for name in part.names}
        return certain.issuperset(names)

    def drop_attributes(self, names: Iterable[str]) -> Belief:
        """The same with every conclusion about `names` dropped; attributes drawn jointly with one of them become unclear."""
        dropped = frozenset(names)
        kept = (replace(part, names=tuple(n for n in part.names if n not in dropped)) for part in self.shown)
        likelihoods = tuple(likelihood for likelihood in self.likelihoods if dropped.isdisjoint(likelihood.names))
        halved = (
            name for likelihood in self.likelihoods if likelihood not in likelihoods for name in likelihood.names
        )  # nothing is left of a joint law
        return replace(
            self,
            shown=tuple(part for part in kept if part.names),
            between=tuple(part for part in self.between if part.name not in dropped),
            unclear=tuple(name for name in (*self.unclear, *halved) if name not in dropped),
            likelihoods=likelihoods,
            blurred=tuple(part for part in (part.drop_attributes(dropped) for part in self.blurred) if part.names),
            bounds=tuple(part for part in self.bounds if part.name not in dropped),
        )

    def select_rows(self, rows: Integers, released: Integers) -> Belief:
        """The same for some of the records, and some of the released rows."""
        return replace(
            self,
            believed=self.believed.take(rows),
            shown=tuple(part.select_records(rows) for part in self.shown),
            between=tuple(replace(part, low=part.low[rows], high=part.high[rows]) for part in self.between),
            likelihoods=tuple(
                replace(likelihood, own=likelihood.own[rows], shown=likelihood.shown[released], begins=None)
                for likelihood in self.likelihoods
            ),
            blurred=tuple(part.select_rows(rows, released) for part in self.blurred),
            bounds=tuple(part.select_rows(rows) for part in self.bounds),
        )

    def drop_intervals(self) -> Belief:
        """Without the intervals of the records, which fill the memory where tables are large."""
        nothing = np.empty(0)
        return replace(self, between=tuple(replace(part, low=nothing, high=nothing) for part in self.between))

    def drop_records(self) -> Belief:
        """What is known of which attributes, without the records and rows, which fill the memory where tables are large."""
        nobody = np.empty(0, dtype=np.int64)
        likelihoods = tuple(replace(likelihood, own=nobody, shown=nobody) for likelihood in self.likelihoods)
        return replace(self.select_rows(nobody, nobody), likelihoods=likelihoods)

    def forget(self, names: Iterable[str]) -> Belief:
        """`drop_attributes` of those of `names` that the intruder knows, which are then unclear."""
        known = tuple(name for name in names if name in self.believed.names)
        rest = self.drop_attributes(known)
        return replace(rest, unclear=rest.unclear + known)


def create_initial_belief(originals: Microdata, *, complete: bool = True) -> Belief:
    """What is known before the first step: each row shows the record's own values (a missing one is shown as missing)."""
    return Belief(originals, tuple(EqualTo((name,)) for name in originals.names), complete=complete)
