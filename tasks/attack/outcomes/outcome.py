"""What an attack leaves behind: who attacked, knowing what, and how each scored target fared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import ConfigDict, Field, InstanceOf

from tasks.attack.learned.learning_summary import LearnedFacts
from tasks.attack.linkage.assertable_links import SurestLinks, find_surest_links
from tasks.attack.outcomes.credit_bounds import CreditBounds
from tasks.attack.outcomes.links import Links
from tasks.attack.outcomes.person_outcomes import fare, fare_searched
from tasks.attack.outcomes.posterior_outcomes import posterior_columns
from tasks.attack.outcomes.value_disclosure import compute_value_credits
from tasks.attack.probabilistic.linkage_summary import ProbableFacts
from tasks.microdata.estimate import ChanceKind, Status
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.schema import Schema
from tasks.microdata.table import Booleans, Floats, Integers, Microdata
from tasks.microdata.units import Counts, Units, find_units


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedRelease:
    """An earlier release that an attack joined with the attacked one.

    name, release: as in `EarlierRelease`. credit_without: the mean credit of the same attack without it; None where it is not
    known, or no other earlier release was joined.
    """

    name: str
    release: str
    credit_without: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackResult:
    """One attack by one intruder.

    attack: the attack's id. infers, knows_data, knows_mechanism: sentences for the report.
    direction, scale_by: None where the attack has no such choice. credit_rule: how hits are counted: a tie of t rows earns 1/t.
    n_release: rows of the release. counts: what the targets are; see `fare` for persons of several rows.
    chance: the mean credit, over all targets, of any guess that does not look: exactly 1 over their number, or less where some
    records are absent and the released rows look for them, or some are given no guess; None where rows belong to nobody.
    n_given: where a one-to-one assignment gives some of those who search nothing, how many it gives something; else None.
    links_depend: does the intruder hold a share of the records, and does who is linked depend on which these are?
    full_form: did it run as a required one must (`is_required_form`)? partly_followed: was a part of the steps
    not followed, so that the outcomes are those of an attack that uses the rest?
    needs_all_records: does the intruder hold a share of the records, and could one who has all follow more of the steps?
    joined: the earlier releases that the attack joined. earlier: the earlier release whose rows were to be linked, in place of
    those of this one. credit_bounds: of all records where some of them are scored; None where nothing is known of the others.
    outcomes: one row per scored target; None where status is not ok (`reason` says why):
        target: its row of the original, a person's first one. in_release: has it a released row?
        credit: 1/t if the own row is among the t linked ones, else 0.
        among_nearest: is it? candidates: t, or the number of persons among the t rows; 0 where the attack has no guess.
        sound_candidates: rows (persons) that the intruder cannot rule out, the own one surely among them; missing where the
        attack has no such set. known: is it the only one?
        margin, named_right: for links to the nearest how far the runner-up of the target's surest link is behind, 0 where none
        names one row alone (`linkage.assertable_links`), and does that link name the target?
        posterior, claimed: for attacks with probabilities that of the own row, and the largest of any row; of a person that of
        any own row, both as means over the records that are used.
        linked:A, control:A: for each confidential attribute A that the intruder does not know, see `compute_value_credits`;
        none for an intruder of the knowledge curve; missing for who is not in the source: nobody knows the original value.
        Where the released rows belong to nobody, target, candidates, linked:A and control:A alone
        (`compute_synthetic_outcomes`).
    learned: of an attack by a learned distance, what is to be said of it. probable: of probabilistic linkage.
    """

    __pydantic_config__ = ConfigDict(serialize_by_alias=True)  # stored results say `credit` for the rule

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
    credit_rule: Annotated[Literal["shared"], Field(alias="credit")] = "shared"
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
    joined: tuple[JoinedRelease, ...] = ()
    earlier: str | None = None
    credit_bounds: CreditBounds | None = None


def compute_outcomes(
    ground_truth: GroundTruth, links: Links, secrets: tuple[str, ...], targets: Integers, *, searched: bool, sound: bool
) -> Microdata:
    """The outcomes of an attack.

    links: of records to released rows, or of released rows to records where these are `searched`.
    secrets: confidential attributes of which the linked values are scored. targets: rows of the original; of persons, any.
    sound: may the intruder assert that the true row is in the candidate set?
    """
    if ground_truth.units.counts == "persons":
        return _compute_person_outcomes(ground_truth, links, secrets, targets, searched=searched, sound=sound)
    return _compute_record_outcomes(ground_truth, links, secrets, targets, searched=searched, sound=sound)


def list_persons(units: Units, targets: Integers) -> Integers:
    """The persons of some rows, in the order in which they occur first."""
    persons = units.of_row[targets]
    return persons[np.sort(np.unique(persons, return_index=True)[1])]


def sample_targets(original: Microdata, schema: Schema, share: float, rng: np.random.Generator) -> Integers:
    """The rows whose linkage is scored: all of them, or those of a simple random sample without replacement, in random order.

    Where the schema names a person key, persons are drawn, each with all their rows.
    """
    if share >= 1:
        return np.arange(original.n, dtype=np.int64)
    return sample_unit_rows(find_units(original, schema), share, rng)


def sample_unit_rows(units: Units, share: float, rng: np.random.Generator) -> Integers:
    """The rows of a simple random sample of the units without replacement, in random order.

    Samples of several shares by generators in the same state are nested: the smaller one begins the larger one.
    """
    drawn = rng.permutation(units.n_units)[: count_sampled_units(units.n_units, share)].astype(np.int64)
    return units.rows().find_rows(drawn)[0]


def count_sampled_units(n_units: int, share: float) -> int:
    """How many records or persons a share of them is: at least one."""
    return n_units if share >= 1 else max(1, round(share * n_units))


def searching_records(units: Units, targets: Integers) -> Integers:
    """The records whose links the scoring needs: the targets, or all rows of the targeted persons."""
    return units.rows().find_rows(list_persons(units, targets))[0] if units.counts == "persons" else targets


def _compute_record_outcomes(
    ground_truth: GroundTruth, links: Links, secrets: tuple[str, ...], targets: Integers, *, searched: bool, sound: bool
) -> Microdata:
    own = ground_truth.own_row[targets]
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
    sure = _sure(
        find_surest_links(links, *searching, len(targets), _find_units_of_found(ground_truth, searched=searched)), targets
    )
    likely = posterior_columns(links.posterior, used, ground_truth.units.of_row, ground_truth.rows_by_unit, len(targets))
    return Microdata.from_columns(
        {**outcomes, **sure, **likely, **_values(ground_truth, links, secrets, used, len(targets), searched=searched)}
    )


def _compute_person_outcomes(
    ground_truth: GroundTruth, links: Links, secrets: tuple[str, ...], targets: Integers, *, searched: bool, sound: bool
) -> Microdata:
    units, persons = ground_truth.units, list_persons(ground_truth.units, targets)
    if searched:
        found = fare_searched(links, persons, ground_truth.rows_by_unit, units.of_row)
    else:
        found = fare(links, persons, units.of_row, ground_truth.unit_of_row)
    first = units.rows()
    outcomes = _columns(
        first.rows[first.starts[persons]],
        ground_truth.rows_by_unit.sizes[persons] > 0,
        found.credit,
        found.among_nearest,
        found.candidates,
        found.sound if sound else None,
        found.known,
    )
    searching = ground_truth.rows_by_unit.find_rows(persons) if searched else found.used
    sure = _sure(
        find_surest_links(links, *searching, len(persons), _find_units_of_found(ground_truth, searched=searched)), persons
    )
    likely = posterior_columns(links.posterior, found.used, units.of_row, ground_truth.rows_by_unit, len(persons))
    values = _values(ground_truth, links, secrets, found.used, len(persons), searched=searched)
    return Microdata.from_columns({**outcomes, **sure, **likely, **values})


def _find_units_of_found(ground_truth: GroundTruth, *, searched: bool) -> Integers:
    """Whose each found record is: a record of the original, or a released row."""
    return ground_truth.units.of_row if searched else ground_truth.unit_of_row


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
    ground_truth: GroundTruth,
    links: Links,
    secrets: tuple[str, ...],
    used: tuple[Integers, Integers],
    n: int,
    *,
    searched: bool,
) -> dict[str, pa.Array]:
    """For each secret what the linked rows say of the records that are used, averaged over those of one target."""
    by_record = links.invert_links() if searched else links
    records, position = used
    counts = np.bincount(position, minlength=n)
    columns = {}
    for name in secrets:
        original, shown = ground_truth.original.column(name), ground_truth.masked.column(name)
        found = compute_value_credits(
            by_record, original, shown, records, ground_truth.rows_by_unit, ground_truth.units.of_row[records]
        )
        for kind, values in zip(("linked", "control"), found, strict=True):
            means = np.bincount(position, weights=values, minlength=n) / counts
            if name in ground_truth.known:
                means[position[~ground_truth.known[name][records]]] = np.nan
            columns[f"{kind}:{name}"] = pa.array(means, from_pandas=True)
    return columns


def _spread(values: npt.NDArray[Any], scored: Booleans) -> npt.NDArray[Any]:
    """Values of the scored targets among all of them; 0 for the rest."""
    everywhere = np.zeros(len(scored), dtype=values.dtype)
    everywhere[scored] = values
    return everywhere
