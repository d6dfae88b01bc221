"""What an attack leaves behind: who attacked, knowing what, and how each scored target fared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import InstanceOf
from scipy.stats import hypergeom

from tasks.attack.learned.learning_summary import LearnedFacts
from tasks.attack.linkage.assertable_links import SurestLinks, find_surest_links
from tasks.attack.outcomes.disclosure import compute_value_credits
from tasks.attack.outcomes.links import Links
from tasks.attack.outcomes.persons import fare, fare_searched
from tasks.attack.outcomes.posterior import posterior_columns
from tasks.attack.probabilistic.linkage_summary import ProbableFacts
from tasks.microdata.alignment import ABSENT, Alignment, RowAlignment, require_alignment
from tasks.microdata.estimate import ChanceKind, Status
from tasks.microdata.schema import Schema
from tasks.microdata.table import Booleans, Floats, Integers, Microdata
from tasks.microdata.units import Counts, RowGroups, Units, group_rows, units_of


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackResult:
    """One attack by one intruder.

    attack: the attack's id. infers, knows_data, knows_mechanism: sentences for the report.
    direction, scale_by: None where the attack has no such choice. credit: a tie of t rows earns 1/t.
    n_release: rows of the release. counts: what the targets are; see `fare` for persons of several rows.
    chance: the mean credit, over all targets, of any guess that does not look: exactly 1 over their number, or less where some
    records are absent and the released rows look for them, or some are given no guess; None where rows belong to nobody.
    n_given: where a one-to-one assignment gives some of those who search nothing, how many it gives something; else None.
    links_depend: does the intruder hold a share of the records, and does who is linked depend on which these are?
    full_form: did it run as a required one must (`is_required_form`)? partly_followed: was a part of the steps
    not followed, so that the outcomes are those of an attack that uses the rest?
    needs_all_records: does the intruder hold a share of the records, and could one who holds all follow more of the steps?
    outcomes: one row per scored target; None where status is not ok (`reason` says why):
        target: its row of the original, a person's first one. in_release: has it a released row?
        credit: 1/t if the own row is among the t linked ones, else 0.
        among_nearest: is it? candidates: t, or the number of persons among the t rows; 0 where the attack has no guess.
        sound_candidates: rows (persons) that the intruder cannot rule out, the own one surely among them; missing where the
        attack has no such set. known: is it the only one?
        margin, named_right: for links to the nearest how far the runner-up of the target's surest link is behind, 0 where none
        names one row alone (`linkage.known`), and does that link name the target?
        posterior, claimed: for attacks with probabilities that of the own row, and the largest of any row; of a person that of
        any own row, both as means over the records that are used.
        linked:A, control:A: for each confidential attribute A that the intruder does not know, see `linked_values`; none for
        an intruder of the knowledge curve; missing for who is not in the source: nobody knows the original value.
        Where the released rows belong to nobody, target, candidates, linked:A and control:A alone (`outcomes_of_nobody`).
    learned: of an attack by a learned distance, what is to be said of it. probable: of probabilistic linkage.
    """

    attack: str
    method: str
    intruder: str
    status: Status
    reason: str | None = None
    infers: str
    knows_data: str
    knows_mechanism: str
    direction: str | None
    scale_by: str | None
    credit: Literal["shared"] = "shared"
    n_release: int
    chance: float | None
    chance_kind: ChanceKind = "uniform_guess"
    counts: Counts = "records"
    outcomes: InstanceOf[Microdata] | None = None
    learned: LearnedFacts | None = None
    probable: ProbableFacts | None = None
    n_given: int | None = None
    links_depend: bool = False
    full_form: bool = True
    partly_followed: bool = False
    needs_all_records: bool = False


@dataclass(frozen=True, slots=True)
class RecordPairs:
    """Who is who: record records[i] is released as row rows[i]."""

    records: Integers
    rows: Integers


@dataclass(frozen=True, slots=True)
class GroundTruth:
    """What the scoring knows and no intruder does: whose row is whose.

    original, masked: n and m rows. units: of the original's rows. belonging: whose the masked rows are; what needs to know that
    raises NotApplicable where they are nobody's.
    For a file of the intruder `original` is that file (`linkage.whose`), and two more are given. whose: shape (m,), the unit of
    each masked row, from n_units on those of people who are not in the file. told: of some attributes, shape (n,) each, of
    which records the original value is known.
    """

    original: Microdata
    masked: Microdata
    belonging: RowAlignment
    units: Units
    whose: Integers | None = None
    told: Mapping[str, Booleans] = field(default_factory=dict)

    @classmethod
    def create_from_tables(cls, original: Microdata, masked: Microdata, schema: Schema, belonging: RowAlignment) -> GroundTruth:
        """Raises ValueError where the alignment is not that of the tables, InputError as `units_of`."""
        if original.n != belonging.n_records or masked.n != belonging.n_rows:
            shapes = f"{belonging.n_records} records and {belonging.n_rows} masked rows"
            raise ValueError(f"the tables have {original.n} and {masked.n} rows, their alignment {shapes}")
        return cls(original, masked, belonging, units_of(original, schema))

    @property
    def alignment(self) -> Alignment:
        """Of the source's records; raises NotApplicable where the masked rows belong to nobody."""
        return require_alignment(self.belonging)

    def restrict_to(self, held: Integers) -> GroundTruth:
        """The scene of somebody who holds a share of the records: rows of `original`, ascending, of persons all or none."""
        _, of_record = np.unique(self.units.of_row[held], return_inverse=True)
        kept = np.zeros(self.units.n_units, dtype=bool)
        kept[self.units.of_row[held]] = True
        number = np.where(kept, np.cumsum(kept) - 1, int(kept.sum()) + np.cumsum(~kept) - 1)
        others = self.unit_of_row >= self.units.n_units
        whose = np.where(others, self.unit_of_row, number[np.where(others, 0, self.unit_of_row)])
        return replace(
            self,
            original=self.original.take(held),
            units=Units(of_record.astype(np.int64), int(kept.sum()), self.units.counts),
            whose=whose.astype(np.int64),
            told={name: told[held] for name, told in self.told.items()},
        )

    @property
    def unit_of_row(self) -> Integers:
        """Shape (m,): the unit of each masked row."""
        return self.units.of_row[self.alignment.record] if self.whose is None else self.whose

    @property
    def own_row(self) -> Integers:
        """Shape (n,): the masked row of each record, ABSENT where it is not released. Where records are units."""
        if self.whose is None:
            return self.alignment.row_by_record
        rows = np.full(self.units.n_units, ABSENT, dtype=np.int64)
        of_the_file = np.flatnonzero(self.whose < self.units.n_units)
        rows[self.whose[of_the_file]] = of_the_file
        return rows

    @property
    def record_pairs(self) -> RecordPairs:
        """Who is who, for attacks that learn from it: the worst case of a family of attacks."""
        if self.whose is None:
            return RecordPairs(self.alignment.record, np.arange(self.masked.n))
        own = self.own_row
        return RecordPairs(np.flatnonzero(own >= 0), own[own >= 0])

    @property
    def complete(self) -> bool:
        """Is every unit in the release?"""
        return self.alignment.complete if self.whose is None else bool((self.rows_by_unit.sizes > 0).all())

    @property
    def most_candidates(self) -> int:
        """Among how many units a guess may be: those of the original, or those that are released."""
        n_released = 0 if self.whose is None else len(np.unique(self.whose))
        return max(self.units.n_units, n_released)

    def find_known_units(self, name: str) -> Booleans:
        """Shape (n_units,): is the original value of an attribute known of the unit?"""
        units = np.ones(self.units.n_units, dtype=bool)
        if name in self.told:
            units[self.units.of_row] = self.told[name]
        return units

    @property
    def rows_by_unit(self) -> RowGroups:
        """The masked rows of each unit; absent units have none."""
        return group_rows(self.unit_of_row, self.units.n_units)

    def chance(self, of: Booleans | None = None, *, searched: bool, n_given: int | None = None) -> float:
        """The mean credit over some units of a guess that does not look; `searched`: the released rows look for their records.

        A unit with r of the m released rows expects r/m, which add up to 1 over all units. Searched, a unit with r of the n
        records expects r/n if one of its rows is released, else 0. of: shape (n_units,); default: all.
        n_given: so many of those who search, drawn at random, are given a guess, and the others none, as where records and rows
        are assigned to each other one to one and there are more that search. Default: all of them.
        Example: 80 records, of whom 60 are released, are assigned to the 60 rows: 60/80 of them a row, which is 1/60 of those
        that are there: 1/80, and over all 60/80^2.
        """
        released = self.rows_by_unit.sizes
        records = np.bincount(self.units.of_row, minlength=self.units.n_units)
        held: npt.NDArray[Any] = records * (released > 0) if searched else released
        if n_given is not None:
            held = held * (n_given / self.masked.n if searched else _some_of(records, n_given, self.original.n))
        chosen = held if of is None else held[of]
        return float(chosen.sum()) / (len(chosen) * (self.original.n if searched else self.masked.n))


def _some_of(records: Integers, drawn: int, n: int) -> Floats:
    """How likely one of the records of each unit is among those drawn from n at random."""
    counts, place = np.unique(records, return_inverse=True)
    chances: Floats = np.asarray(hypergeom.sf(0, n, drawn, counts))
    return chances[place]


def compute_outcomes(
    scene: GroundTruth, links: Links, secrets: tuple[str, ...], targets: Integers, *, searched: bool, sound: bool
) -> Microdata:
    """The outcomes of an attack.

    links: of records to released rows, or of released rows to records where these are `searched`.
    secrets: confidential attributes of which the linked values are scored. targets: rows of the original; of persons, any.
    sound: may the intruder assert that the true row is in the candidate set?
    """
    if scene.units.counts == "persons":
        return _compute_person_outcomes(scene, links, secrets, targets, searched=searched, sound=sound)
    return _compute_record_outcomes(scene, links, secrets, targets, searched=searched, sound=sound)


def persons_of(units: Units, targets: Integers) -> Integers:
    """The persons of some rows, in the order in which they occur first."""
    persons = units.of_row[targets]
    return persons[np.sort(np.unique(persons, return_index=True)[1])]


def sample_targets(original: Microdata, schema: Schema, share: float, rng: np.random.Generator) -> Integers:
    """The rows whose linkage is scored: all of them, or those of a simple random sample without replacement, in random order.

    Where the schema names a person key, persons are drawn, each with all their rows.
    """
    if share >= 1:
        return np.arange(original.n, dtype=np.int64)
    return sample_unit_rows(units_of(original, schema), share, rng)


def sample_unit_rows(units: Units, share: float, rng: np.random.Generator) -> Integers:
    """The rows of a simple random sample of the units without replacement, in random order."""
    drawn = rng.permutation(units.n_units)[: max(1, round(share * units.n_units))].astype(np.int64)
    return units.rows().find_rows(drawn)[0]


def searching_records(units: Units, targets: Integers) -> Integers:
    """The records whose links the scoring needs: the targets, or all rows of the targeted persons."""
    return units.rows().find_rows(persons_of(units, targets))[0] if units.counts == "persons" else targets


def _compute_record_outcomes(
    scene: GroundTruth, links: Links, secrets: tuple[str, ...], targets: Integers, *, searched: bool, sound: bool
) -> Microdata:
    own = scene.own_row[targets]
    there = own >= 0
    guesses = links.guesses(own[there] if searched else targets)
    truth = targets[there] if searched else own
    scored = there if searched else np.ones(len(targets), dtype=bool)
    sizes = None if guesses.sound_sizes is None or not sound else _spread(guesses.sound_sizes, scored)
    among = _spread(guesses.truth_among(truth), scored)
    outcomes = _columns(
        targets,
        there,
        _spread(guesses.credit(truth), scored),
        among,
        _spread(guesses.tie_sizes().astype(np.int64), scored),
        sizes,
        among if sizes is None else among & (sizes == 1),
    )
    used = (targets, np.arange(len(targets)))
    searching = (own[there], np.flatnonzero(there)) if searched else used
    sure = _sure(find_surest_links(links, *searching, len(targets), _units_of_found(scene, searched=searched)), targets)
    likely = posterior_columns(links.posterior, used, scene.units.of_row, scene.rows_by_unit, len(targets))
    return Microdata.from_columns(
        {**outcomes, **sure, **likely, **_values(scene, links, secrets, used, len(targets), searched=searched)}
    )


def _compute_person_outcomes(
    scene: GroundTruth, links: Links, secrets: tuple[str, ...], targets: Integers, *, searched: bool, sound: bool
) -> Microdata:
    units, persons = scene.units, persons_of(scene.units, targets)
    if searched:
        found = fare_searched(links, persons, scene.rows_by_unit, units.of_row)
    else:
        found = fare(links, persons, units.of_row, scene.unit_of_row)
    first = units.rows()
    outcomes = _columns(
        first.rows[first.starts[persons]],
        scene.rows_by_unit.sizes[persons] > 0,
        found.credit,
        found.among_nearest,
        found.candidates,
        found.sound if sound else None,
        found.known,
    )
    searching = scene.rows_by_unit.find_rows(persons) if searched else found.used
    sure = _sure(find_surest_links(links, *searching, len(persons), _units_of_found(scene, searched=searched)), persons)
    likely = posterior_columns(links.posterior, found.used, units.of_row, scene.rows_by_unit, len(persons))
    values = _values(scene, links, secrets, found.used, len(persons), searched=searched)
    return Microdata.from_columns({**outcomes, **sure, **likely, **values})


def _units_of_found(scene: GroundTruth, *, searched: bool) -> Integers:
    """Whose each found record is: a record of the original, or a released row."""
    return scene.units.of_row if searched else scene.unit_of_row


def _sure(named: SurestLinks | None, units: Integers) -> dict[str, pa.Array]:
    if named is None:
        return {}
    return {"margin": pa.array(named.margin), "named_right": pa.array(named.unit == units)}


def _columns(
    targets: Integers,
    in_release: Booleans,
    credit: Floats,
    among: Booleans,
    candidates: Integers | Floats,
    sound: Integers | None,
    known: Booleans,
) -> dict[str, pa.Array]:
    return {
        "target": pa.array(targets),
        "in_release": pa.array(in_release),
        "credit": pa.array(credit),
        "among_nearest": pa.array(among),
        "candidates": pa.array(candidates),
        "sound_candidates": pa.nulls(len(targets), pa.int64()) if sound is None else pa.array(sound),
        "known": pa.nulls(len(targets), pa.bool_()) if sound is None else pa.array(known),
    }


def _values(
    scene: GroundTruth, links: Links, secrets: tuple[str, ...], used: tuple[Integers, Integers], n: int, *, searched: bool
) -> dict[str, pa.Array]:
    """For each secret what the linked rows say of the records that are used, averaged over those of one target."""
    by_record = links.invert_links() if searched else links
    records, place = used
    counts = np.bincount(place, minlength=n)
    columns = {}
    for name in secrets:
        original, shown = scene.original.column(name), scene.masked.column(name)
        found = compute_value_credits(by_record, original, shown, records, scene.rows_by_unit, scene.units.of_row[records])
        for kind, values in zip(("linked", "control"), found, strict=True):
            means = np.bincount(place, weights=values, minlength=n) / counts
            if name in scene.told:
                means[place[~scene.told[name][records]]] = np.nan
            columns[f"{kind}:{name}"] = pa.array(means, from_pandas=True)
    return columns


def _spread(values: npt.NDArray[Any], scored: Booleans) -> npt.NDArray[Any]:
    """Values of the scored targets among all of them; 0 for the rest."""
    everywhere = np.zeros(len(scored), dtype=values.dtype)
    everywhere[scored] = values
    return everywhere
