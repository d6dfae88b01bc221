"""The law of the composed mask over all known attributes, learned from simulated maskings, and what it says of every pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tasks.attack.simulated.column_law import ColumnLaw, LearnedColumn, learn_column
from tasks.attack.simulated.displacements import DisplacementLaw
from tasks.attack.simulated.maskings import Simulation
from tasks.microdata.compiled import njit
from tasks.microdata.table import Booleans, Floats, Integers

SHRUNK = 0.02  # how far the correlations of displacements are drawn to 0
LOST = 30.0  # a row e^-30 times as likely as a record's likeliest is left out
JOINTLY_LOST = 45.0  # before what the attributes have in common is weighed

_UNKNOWN = "a missing value, for which the compiled code tests"


class LawTables(NamedTuple):
    """The laws of d attributes as arrays, by kinds of records and kinds of rows.

    centre, group, own_missing: shape (d, r). place: shape (d, c), NaN is missing. first, width: shape (d,): where the tables of
    an attribute begin in `density` and `normal`, and how many cells each of its groups has. grid: shape (d, 4): scale, low,
    step and still of displacements; scale 0 of a table. first_group: shape (d,), of the atoms. missing: shape (d, 2, 2).
    best: shape (d,): the largest logarithm of each. tie: shape (d, d): the inverse of the correlations, less the identity.
    """

    centre: Floats
    group: Integers
    own_missing: Booleans
    place: Floats
    first: Integers
    width: Integers
    grid: Floats
    density: Floats
    normal: Floats
    first_group: Integers
    atom: Floats
    normal_atom: Floats
    missing: Floats
    best: Floats
    tie: Floats


@dataclass(frozen=True, slots=True)
class JointLaw:
    """The learned law. tables: by distinct records and rows. forms: of each attribute, in the order of the tables.

    log P(row | record) is known up to a term of the row alone: comparing rows of one record needs `compute_evidence`.
    """

    tables: LawTables
    forms: tuple[str, ...]

    def compute_log_likelihood(self, records: Integers, rows: Integers) -> Floats:
        """Shape (k,): the logarithm of the learned density of rows given their records, for k pairs of distinct ones."""
        return _score_pairs(records, rows, self.tables)


def learn_joint_law(simulation: Simulation, own_of_record: Integers, shown_of_row: Integers) -> JointLaw:
    """Learn the law of each attribute, and how the displacements of the attributes go together (a Gaussian copula).

    own_of_record: shape (n,), of the records in the order of the simulation, which distinct record each is; shown_of_row: shape
    (m,), the same of the released rows. Equal records have one law: the mean of theirs.
    """
    learned = [learn_column(column, simulation.kept) for column in simulation.columns]
    learned.sort(key=lambda one: -one.gain)  # the attribute that tells most is looked at first
    tie = _correlate(learned, simulation.kept)
    record, row = (np.unique(kinds, return_index=True)[1] for kinds in (own_of_record, shown_of_row))
    return JointLaw(
        _stack([one.law for one in learned], tie, own_of_record, record, row), tuple(one.law.form for one in learned)
    )


def _correlate(learned: list[LearnedColumn], kept: Booleans) -> Floats:
    """Shape (d, d): the inverse of the correlations of the normal quantiles, less the identity."""
    normal = []
    for one in learned:
        of_pairs = []
        for masking in range(len(kept)):
            records = np.flatnonzero(kept[masking])
            of_pairs.append(one.evaluate_images(masking, records, records)[1])
        normal.append(np.concatenate(of_pairs))
    matrix = np.array(normal)
    moves = matrix.std(axis=1) > 1e-9 if matrix.size else np.zeros(len(learned), dtype=bool)
    correlation = np.eye(len(learned))
    if moves.sum() > 1:
        correlation[np.ix_(moves, moves)] = np.corrcoef(matrix[moves])
    correlation = (1 - SHRUNK) * correlation + SHRUNK * np.eye(len(learned))
    correlation[np.abs(correlation) < 0.05] = 0.0
    tie: Floats = np.linalg.inv(correlation) - np.eye(len(learned))
    return tie


def _stack(laws: list[ColumnLaw], tie: Floats, own_of_record: Integers, record: Integers, row: Integers) -> LawTables:
    counts = np.bincount(own_of_record)
    density, normal, atoms, normal_atoms, grid, best = [], [], [], [], [], []
    for law in laws:
        if isinstance(law.law, DisplacementLaw):
            one = law.law
            density.append(one.density)
            normal.append(one.normal)
            atoms.append(one.atom)
            normal_atoms.append(one.normal_atom)
            grid.append([one.scale, one.low, one.step, one.still])
            best.append(max(one.density.max(), np.nanmax(one.atom, initial=-np.inf), 0.0))
        else:
            density.append(law.law)
            normal.append(np.zeros_like(law.law))
            atoms.append(np.full(len(law.law), np.nan))
            normal_atoms.append(np.full(len(law.law), np.nan))
            grid.append([0.0] * 4)
            best.append(max(float(law.law.max()), 0.0))
    sizes = np.array([table.size for table in density])
    groups = np.array([len(table) for table in density])
    return LawTables(
        centre=np.stack([np.bincount(own_of_record, law.centre) / counts for law in laws]),
        group=np.stack([law.group[record] for law in laws]),
        own_missing=np.stack([law.own_missing[record] for law in laws]),
        place=np.stack([law.place[row] for law in laws]),
        first=np.append(0, np.cumsum(sizes))[:-1],
        width=np.array([table.shape[1] for table in density]),
        grid=np.array(grid),
        density=np.concatenate([table.ravel() for table in density]),
        normal=np.concatenate([table.ravel() for table in normal]),
        first_group=np.append(0, np.cumsum(groups))[:-1],
        atom=np.concatenate(atoms),
        normal_atom=np.concatenate(normal_atoms),
        missing=np.stack([law.missing for law in laws]),
        best=np.array(best),
        tie=tie,
    )


@njit
def _look_up(j: int, i: int, row: int, laws: LawTables) -> tuple[float, float]:
    """log P of one attribute, and the displacement as a normal quantile."""
    place, group = laws.place[j, row], laws.group[j, i]
    scale = laws.grid[j, 0]
    if scale == 0.0:
        return laws.density[laws.first[j] + group * laws.width[j] + int(place)], 0.0
    gone, unknown = np.isnan(place), laws.own_missing[j, i]
    if gone or unknown:
        return laws.missing[j, int(unknown), int(gone)], 0.0
    state, d = laws.missing[j, 0, 0], place - laws.centre[j, i]
    atom = laws.atom[laws.first_group[j] + group]
    if abs(d) <= laws.grid[j, 3] and not np.isnan(atom):
        return atom + state, laws.normal_atom[laws.first_group[j] + group]
    last = laws.width[j] - 1
    position = min(max((np.arcsinh(d / scale) - laws.grid[j, 1]) / laws.grid[j, 2], 0.0), float(last))
    below = min(int(position), last - 1)
    share, at = position - below, laws.first[j] + group * laws.width[j] + below
    density = laws.density[at] * (1 - share) + laws.density[at + 1] * share
    return density + state, laws.normal[at] * (1 - share) + laws.normal[at + 1] * share


@njit
def _score(i: int, row: int, laws: LawTables, normal: Floats) -> float:
    """log P(row | record) over all attributes."""
    d, score = len(laws.first), 0.0
    for j in range(d):
        one, normal[j] = _look_up(j, i, row, laws)
        score += one
    return score + _weigh_together(normal, laws.tie)


@njit
def _weigh_together(normal: Floats, tie: Floats) -> float:
    found = 0.0
    for j in range(len(normal)):
        if normal[j] != 0.0:
            for k in range(len(normal)):
                found -= normal[j] * tie[j, k] * normal[k] / 2
    return found


@njit(missing={f"laws.{name}": _UNKNOWN for name in ("place", "atom", "normal_atom")})
def _score_pairs(records: Integers, rows: Integers, laws: LawTables) -> Floats:
    found, normal = np.empty(len(records)), np.empty(len(laws.first))
    for e in range(len(records)):
        found[e] = _score(records[e], rows[e], laws, normal)
    return found


@njit(missing={f"laws.{name}": _UNKNOWN for name in ("place", "atom", "normal_atom")})
def list_likely_pairs(laws: LawTables, wanted: int, most: int) -> tuple[Integers, Integers, Floats]:
    """Starts, rows and log P of the likely rows of each record: the `wanted` likeliest, and all as likely; empty for too many.

    Rows are left out that are e^-30 times as likely as the likeliest. Attributes are looked at one after the other; a row that
    could not catch up any more is left. Cost: O(r c), of which most pairs are looked at in one attribute only.
    """
    d, r, c = len(laws.first), laws.centre.shape[1], laws.place.shape[1]
    starts, used = np.zeros(r + 1, dtype=np.int64), 0
    rows, scores = np.empty(1024, dtype=np.int64), np.empty(1024)
    left, part, normal = np.empty(c, dtype=np.int64), np.empty(c), np.empty((c, d))
    tied = np.abs(laws.tie).max() > 0 if d > 1 else False
    margin = JOINTLY_LOST if tied else LOST
    for i in range(r):
        n_left, rest = c, laws.best[1:].sum()
        for row in range(c):
            left[row] = row
            part[row], normal[row, 0] = _look_up(0, i, row, laws)
        for j in range(1, d):
            ahead = 0
            for e in range(n_left):
                if part[e] > part[ahead]:
                    ahead = e
            sure = part[ahead]
            for k in range(j, d):
                sure += _look_up(k, i, left[ahead], laws)[0]
            kept = 0
            for e in range(n_left):
                if part[e] + rest > sure - margin:
                    row = left[e]
                    one, quantile = _look_up(j, i, row, laws)
                    left[kept], part[kept] = row, part[e] + one
                    normal[kept] = normal[e]
                    normal[kept, j] = quantile
                    kept += 1
            n_left = kept
            rest -= laws.best[j]
        if tied:
            for e in range(n_left):
                part[e] += _weigh_together(normal[e], laws.tie)
        top = part[:n_left].max()
        least = top - LOST
        if n_left > wanted:
            least = max(least, np.partition(part[:n_left], n_left - wanted)[n_left - wanted])
        for e in range(n_left):
            if part[e] >= least:
                if used == len(rows):
                    rows, scores = _grow_integers(rows), _grow_floats(scores)
                rows[used], scores[used] = left[e], part[e]
                used += 1
        if used > most:
            return starts[:0], rows[:0], scores[:0]
        starts[i + 1] = used
    return starts, rows[:used].copy(), scores[:used].copy()


@njit
def _grow_integers(values: Integers) -> Integers:
    longer = np.empty(2 * len(values), dtype=np.int64)
    longer[: len(values)] = values
    return longer


@njit(missing={"values": "not yet written"}, infinite={"values": "not yet written"})
def _grow_floats(values: Floats) -> Floats:
    longer = np.empty(2 * len(values))
    longer[: len(values)] = values
    return longer
