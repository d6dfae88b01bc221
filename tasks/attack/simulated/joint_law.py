"""The law of the composed mask over all known attributes, learned from simulated maskings, and what it says of every pair."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy

from tasks.attack.simulated.column_law import JUDGE, ColumnLaw, LearnedColumn, learn_column
from tasks.attack.simulated.displacements import DisplacementLaw
from tasks.attack.simulated.maskings import Simulation
from tasks.microdata.compiled import njit
from tasks.microdata.table import Booleans, Floats, Integers

SHRUNK = 0.02  # how far the correlations of displacements are drawn to 0
LOST = 9.0  # a row e^-9 times as likely as a record's likeliest is left out
JOINTLY_LOST = 16.0  # before what the attributes have in common is weighed
TRIED = 6  # of the nearest rows, to know what the likeliest has at least

_LOG_2 = math.log(2)
_LOGS = np.log(0.5 + (np.arange(4096) + 0.5) / 8192)  # of numbers from 1/2 to 1

_UNKNOWN = "a missing value, for which the compiled code tests"


class LawTables(NamedTuple):
    """The laws of d attributes as arrays, by kinds of records and kinds of rows.

    centre, group, own_missing: shape (d, r). place: shape (d, c), NaN is missing. first, width: shape (d,): where the tables of
    an attribute begin in `density` and `normal`, and how many cells each of its groups has. grid: shape (d, 4): scale, low,
    step and still of displacements; scale 0 of a table. first_group: shape (d,), of the atoms. missing: shape (d, 2, 2).
    best: as `atom`, the largest logarithm of each group. spread: shape (d,), of
    displacements, 0 of a table. tie: shape (d, d): the inverse of the correlations, less the identity.
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
    spread: Floats
    tie: Floats


@dataclass(frozen=True, slots=True)
class JointLaw:
    """The learned law. tables: by distinct records and rows. forms: of each attribute, in the order of the tables.

    judge: the law without one simulated masking, and that masking in place of the release: its rows are those of the records
    that were released, in their order.

    log P(row | record) is known up to a term of the row alone: comparing rows of one record needs `compute_evidence`.
    """

    tables: LawTables
    judge: LawTables
    forms: tuple[str, ...]

    def compare_all_rows(self, records: Integers) -> Floats:
        """Shape (k, c): the logarithm of the learned density of all distinct rows given each of k distinct records."""
        return _score_all_rows(records, self.tables)


def learn_joint_law(simulation: Simulation, own_of_record: Integers, shown_of_row: Integers) -> JointLaw:
    """Learn the law of each attribute, and how the displacements of the attributes go together (a Gaussian copula).

    own_of_record: shape (n,), of the records in the order of the simulation, which distinct record each is; shown_of_row: shape
    (m,), the same of the released rows. Equal records have one law: the mean of theirs.
    """
    learned = [learn_column(column, simulation.kept) for column in simulation.columns]
    learned.sort(key=lambda one: -one.gain)  # the attribute that tells most is looked at first
    tie = _correlate(learned, simulation.kept)
    record, row = (np.unique(kinds, return_index=True)[1] for kinds in (own_of_record, shown_of_row))
    everybody = np.arange(len(own_of_record))
    judged = [replace(one.law, centre=one.centres[JUDGE], group=one.groups[JUDGE], place=one.places[JUDGE]) for one in learned]
    return JointLaw(
        tables=_stack([one.law for one in learned], tie, own_of_record, record, row),
        judge=_stack(judged, tie, everybody, everybody, np.flatnonzero(simulation.kept[JUDGE])),
        forms=tuple(one.law.form for one in learned),
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
    density, normal, atoms, normal_atoms, grid, best, spread = [], [], [], [], [], [], []
    for law in laws:
        if isinstance(law.law, DisplacementLaw):
            one = law.law
            density.append(one.density)
            normal.append(one.normal)
            atoms.append(one.atom)
            normal_atoms.append(one.normal_atom)
            grid.append([one.scale, one.low, one.step, one.still])
            spread.append(one.spread)
            best.append(np.maximum(one.density.max(axis=1), np.fmax(one.atom, 0.0)))
        else:
            density.append(law.law)
            normal.append(np.zeros_like(law.law))
            atoms.append(np.full(len(law.law), np.nan))
            normal_atoms.append(np.full(len(law.law), np.nan))
            grid.append([0.0] * 4)
            spread.append(0.0)
            best.append(law.law.max(axis=1))
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
        best=np.concatenate(best),
        spread=np.array(spread),
        tie=tie,
    )


@njit
def _add_attribute(j: int, i: int, laws: LawTables, left: Integers, part: Floats, n_left: int, least: float) -> int:
    """Add log P of one attribute to what is known of the rows that are left; returns how many are. The others are dropped.

    least: a row whose sum so far is less is dropped. What is the same for all rows is looked up once.
    """
    scale, low, step, still = laws.grid[j]
    group, centre, unknown, place = laws.group[j, i], laws.centre[j, i], laws.own_missing[j, i], laws.place[j]
    last = laws.width[j] - 1
    density = laws.density[laws.first[j] + group * laws.width[j] : laws.first[j] + (group + 1) * laws.width[j]]
    atom, state, gone = laws.atom[laws.first_group[j] + group], laws.missing[j, 0, 0], laws.missing[j, int(unknown)]
    kept = 0
    for e in range(n_left):
        if part[e] < least:
            continue
        row = left[e]
        x = place[row]
        if scale == 0.0:
            one = density[int(x)]
        elif unknown or np.isnan(x):
            one = gone[int(np.isnan(x))]
        elif abs(x - centre) <= still and not np.isnan(atom):
            one = atom + state
        else:
            y = abs(x - centre) / scale  # its inverse hyperbolic sine by a table of logarithms: three times as fast
            part_of_two, power = math.frexp(y + math.sqrt(1 + y * y))
            size = power * _LOG_2 + _LOGS[int((part_of_two - 0.5) * 2 * len(_LOGS))]
            position = min(max(((size if x > centre else -size) - low) / step, 0.0), float(last))
            below = min(int(position), last - 1)
            one = density[below] + (density[below + 1] - density[below]) * (position - below) + state
        left[kept], part[kept] = row, part[e] + one
        kept += 1
    return kept


@njit
def _list_quantiles(j: int, i: int, laws: LawTables, left: Integers, n_left: int, normal: Floats) -> None:
    """Write the displacements of the rows that are left in one attribute as quantiles of a normal variable; 0 where unknown."""
    scale, low, step, still = laws.grid[j]
    group, centre, last = laws.group[j, i], laws.centre[j, i], laws.width[j] - 1
    table = laws.normal[laws.first[j] + group * laws.width[j] : laws.first[j] + (group + 1) * laws.width[j]]
    atom = laws.normal_atom[laws.first_group[j] + group]
    for e in range(n_left):
        x = laws.place[j, left[e]]
        normal[e, j] = 0.0
        if scale == 0.0 or laws.own_missing[j, i] or np.isnan(x):
            continue
        if abs(x - centre) <= still and not np.isnan(atom):
            normal[e, j] = atom
            continue
        position = min(max((np.arcsinh((x - centre) / scale) - low) / step, 0.0), float(last))
        below = min(int(position), last - 1)
        normal[e, j] = table[below] + (table[below + 1] - table[below]) * (position - below)


@njit
def _sum_attributes(i: int, row: int, laws: LawTables) -> float:
    """log P(row | record) but for what the attributes have in common."""
    left, part = np.array([row]), np.zeros(1)
    for j in range(len(laws.first)):
        _add_attribute(j, i, laws, left, part, 1, -np.inf)
    return float(part[0])


@njit
def _weigh_together(normal: Floats, tie: Floats) -> float:
    found = 0.0
    for j in range(len(normal)):
        if normal[j] != 0.0:
            for k in range(len(normal)):
                found -= normal[j] * tie[j, k] * normal[k] / 2
    return found


@njit(missing={f"laws.{name}": _UNKNOWN for name in ("place", "atom", "normal_atom")})
def _score_all_rows(records: Integers, laws: LawTables) -> Floats:
    d, c = len(laws.first), laws.place.shape[1]
    found, normal, rows = np.zeros((len(records), c)), np.empty((c, d)), np.arange(c)
    tied = bool(np.abs(laws.tie).max() > 1e-9)
    for k in range(len(records)):
        for j in range(d):
            _add_attribute(j, records[k], laws, rows, found[k], c, -np.inf)
            if tied:
                _list_quantiles(j, records[k], laws, rows, c, normal)
        if tied:
            for row in range(c):
                found[k, row] += _weigh_together(normal[row], laws.tie)
    return found


def list_likely_pairs(laws: LawTables, wanted: int, most: int) -> tuple[Integers, Integers, Floats]:
    """Starts, rows and log P of the likely rows of each record: the `wanted` likeliest, and all as likely; empty for too many.

    Rows are left out that are e^-9 times as likely as the likeliest. Attributes are looked at one after the other; a row that
    could not catch up any more is left. Cost: O(r c), of which most pairs are looked at in one attribute only.
    """
    scale = np.where(laws.spread > 0, laws.spread, np.inf)[:, None]
    own, shown = (np.where(np.isnan(x), 0.0, x).T.copy() for x in (laws.centre / scale, laws.place / scale))
    _, near = scipy.spatial.cKDTree(shown).query(own, k=min(TRIED, len(shown)))
    return _list_likely_pairs(laws, near.reshape(len(own), -1).astype(np.int64), wanted, most)


@njit(missing={f"laws.{name}": _UNKNOWN for name in ("place", "atom", "normal_atom")})
def _list_likely_pairs(laws: LawTables, near: Integers, wanted: int, most: int) -> tuple[Integers, Integers, Floats]:
    d, r, c = len(laws.first), laws.centre.shape[1], laws.place.shape[1]
    starts, used = np.zeros(r + 1, dtype=np.int64), 0
    rows, scores = np.empty(1024, dtype=np.int64), np.empty(1024)
    left, part, normal = np.empty(c, dtype=np.int64), np.empty(c), np.empty((c, d))
    tied = bool(np.abs(laws.tie).max() > 1e-9)
    margin = JOINTLY_LOST if tied else LOST
    for i in range(r):
        n_left, rest, sure = c, 0.0, -np.inf
        for row in near[i]:
            sure = max(sure, _sum_attributes(i, row, laws))
        for j in range(d):
            rest += laws.best[laws.first_group[j] + laws.group[j, i]]
        for row in range(c):
            left[row], part[row] = row, 0.0
        for j in range(d):
            n_left = _add_attribute(j, i, laws, left, part, n_left, sure - margin - rest)
            rest -= laws.best[laws.first_group[j] + laws.group[j, i]]
        if tied:
            for j in range(d):
                _list_quantiles(j, i, laws, left, n_left, normal)
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
