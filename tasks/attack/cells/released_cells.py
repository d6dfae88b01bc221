"""What the cells of a released table tell of one confidential attribute, to an outsider and to coalitions of members."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.attack.cells.distribution_distance import compute_largest_distance
from tasks.attack.cells.group_sums import find_left_over_members
from tasks.attack.cells.homogeneous_rest import SLACK, find_exposed_members
from tasks.attack.inference.secret import measure_tolerance
from tasks.attack.together.group_equations import GroupMeans, read_group_means
from tasks.attack.together.recognisable_rows import ReleaseRows
from tasks.mask.methods import Mechanism
from tasks.microdata.alignment import Alignment
from tasks.microdata.codes import row_codes
from tasks.microdata.errors import NotApplicable
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Booleans, Integers, Microdata, encode_jointly
from tasks.microdata.units import Units
from tasks.microdata.words import join_with_and


@dataclass(frozen=True, slots=True)
class ReleasedCells:
    """A released table whose rows belong to people, and its cells: rows that agree in all published quasi-identifiers.

    original, masked: n rows each; row i of `masked` is the released form of record i. units: of these rows. cell: shape (n,).
    """

    original: Microdata
    masked: Microdata
    schema: Schema
    mechanisms: tuple[Mechanism, ...]
    units: Units
    cell: Integers

    @classmethod
    def create_from_tables(
        cls, original: Microdata, masked: Microdata, schema: Schema, mechanisms: tuple[Mechanism, ...], units: Units
    ) -> ReleasedCells:
        """The cells of a table. A missing value is a category of its own, as for k-anonymity.

        Raises NotApplicable where values of a quasi-identifier were swapped, drawn anew or had noise added: rows that look
        alike are then not those of the people who look so, and there is no cell of which an intruder knows who is in it.
        """
        keys = schema.find_by_role(Role.QUASI_IDENTIFIER)
        moved = [step.method for step in mechanisms if step.moves_values and set(step.target_attributes) & set(keys)]
        if moved:
            how = join_with_and(dict.fromkeys(moved))
            raise NotApplicable(f"after {how} nobody knows in which cell somebody is: rows that look alike are of other people")
        return cls(original, masked, schema, mechanisms, units, row_codes(masked, keys))

    def find_exposed(self, name: str, p_percent: float, coalition: int) -> Booleans:
        """Of whom one attribute follows for some coalition of so many other members of their cell or group.

        Meaning: the intruder knows in which cell somebody is, as k-anonymity assumes. An attribute that no step masks shows
        the values of the cell (`find_exposed_members`): the same category, or numbers so near each other that one guess is
        within p percent of the standard deviation of each. Of one that is published as means of groups the groups are the
        cells, and show sums (`find_left_over_members`). A value follows: nothing is guessed, and no share of it is chance.

        p_percent: of the standard deviation of the originals. coalition: members who know their own values; 0: an outsider.
        Returns shape (n_units,); False for those whose value is missing. Raises NotApplicable as `check_secret`.
        """
        self.check_secret(name)
        attribute = self.schema[name]
        tolerance = measure_tolerance(self.original, attribute, p_percent)
        unit, n = self.units.of_row, self.units.n_units
        if self._is_masked(name):
            means = read_group_means(self._as_release_rows(), name)
            assert means is not None  # noqa: S101  `check_secret` has seen to it
            reach = (tolerance or 0.0) * (1 + SLACK)
            kept = self._find_true_means(means, name)
            return find_left_over_members(means.group[kept], unit[means.rows[kept]], n, means.rounding, reach, coalition)
        if tolerance is not None:
            return find_exposed_members(self.cell, unit, self.masked.positions(attribute), n, 2 * tolerance, coalition)
        codes = self._encode(name)
        values = np.where(codes < 0, np.nan, codes)
        return find_exposed_members(self.cell, unit, values, n, 0.0, coalition)

    def find_known(self, name: str) -> Booleans:
        """Shape (n_units,): who has a value of an attribute in the release."""
        found = np.zeros(self.units.n_units, dtype=bool)
        found[self.units.of_row[~self.masked.missing(name)]] = True
        return found

    def measure_skewness(self, name: str) -> float | None:
        """`compute_largest_distance` of a category that no step masks; None for everything else, and where there is no row."""
        if self.is_number(name) or self._is_masked(name) or not self.masked.n:
            return None
        return compute_largest_distance(self.cell, self._encode(name))

    def is_number(self, name: str) -> bool:
        """Does a value follow within p percent of a standard deviation, and not exactly?"""
        return measure_tolerance(self.original, self.schema[name], 100.0) is not None

    def check_secret(self, name: str) -> None:
        """Raise NotApplicable for an attribute that is masked in another way than by means of groups."""
        if self._is_masked(name) and read_group_means(self._as_release_rows(), name) is None:
            raise NotApplicable(f"{name} is masked, and its released values are neither the original ones nor means of groups")

    def _find_true_means(self, means: GroupMeans, name: str) -> Booleans:
        """Which rows are in a group whose published value is the mean of its members.

        It is not where groups are frozen and somebody has left one: nothing follows from its sum.
        """
        original, size = self.original.floats(name)[means.rows], np.bincount(means.group)
        away = np.abs(np.bincount(means.group, weights=original) / size - means.mean)
        found: Booleans = (away <= means.rounding + SLACK * np.abs(means.mean).max())[means.group]
        return found

    def _is_masked(self, name: str) -> bool:
        return any(name in step.target_attributes for step in self.mechanisms)

    def _encode(self, name: str) -> Integers:
        (codes,) = encode_jointly(self.masked.column(name))
        return codes

    def _as_release_rows(self) -> ReleaseRows:
        here = np.arange(self.masked.n, dtype=np.int64)
        return ReleaseRows(self.original, self.masked, self.schema, self.mechanisms, Alignment.complete_in(here), here)
