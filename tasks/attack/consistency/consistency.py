"""The consistency attack: the intruder knows that values changed hands in pairs, and that a link is never alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from tasks.attack.base import AttackContext, AttackDescription, AttackFindings, AttackTraits, Files
from tasks.attack.consistency.belief import beliefs, likeliest
from tasks.attack.consistency.condition_boxes import create_boxes
from tasks.attack.consistency.displacements import LEAST, count_copies, log_displacement, mid_ranks
from tasks.attack.consistency.exchanges import Exchange, KindCounts, create_exchange
from tasks.attack.consistency.orbits import Boxes, PossiblePairs, consistent_pairs
from tasks.attack.consistency.propagation import propagate_constraints
from tasks.attack.consistency.swapped_attributes import (
    find_exchanged,
    find_last_swap,
    is_sampled_after,
    select_exchanged_attributes,
    select_swapped_attributes,
)
from tasks.attack.consistency.tolerance import exchange_within_bounds
from tasks.attack.descriptions import DataKnowledge, describe_exchanges
from tasks.attack.mechanism_attack import (
    Following,
    MechanismAttack,
    describe_soundness,
    follow_known_sample,
    prepare_following,
    take_known_sample,
)
from tasks.attack.neighbours.record_comparison import Comparison
from tasks.attack.outcomes.bounded import OnlyBounded
from tasks.attack.outcomes.links import Links
from tasks.attack.outcomes.outcome import searching_records
from tasks.attack.transparency.estimated_evidence import describe_estimates
from tasks.attack.transparency.intersection import Conditions, is_ruled_out
from tasks.attack.transparency.transparency import link_by_mechanism
from tasks.mask.intruder_belief import Belief
from tasks.mask.methods import Mechanism
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.mask.value_bounds import ValueBounds
from tasks.microdata.codes import find_first_rows, row_codes
from tasks.microdata.errors import AttackFailed, InputError, NotApplicable, NotFollowed
from tasks.microdata.schema import Schema
from tasks.microdata.spec import Public
from tasks.microdata.table import Booleans, Floats, Integers, Microdata, encode_jointly
from tasks.microdata.words import join_with_and

LEAST_SAMPLED = 300  # targets: of fewer the lower bound says little; records of earlier versions may have fewer
MOST_KEPT = 1_500_000  # pairs: some 100 bytes for each and attribute while beliefs are found


class Consistency(MechanismAttack):
    """Parameters of the consistency attack.

    id: what the attack is called in figures and policy lines; default: the method's name.
    sampled_orbits: where the table is too large for all pairs, of how many targets, drawn at random, the orbits are followed:
        they give a lower bound on what the attack finds.
    """

    about = AttackDescription(
        title="Consistency attack",
        infers="leaves out every link that, values having been exchanged in pairs, would force a contradiction elsewhere",
        note="",
        knows_of_data="the original values of the known attributes, of all records",
        knows_of_masking="the steps and their parameters, not the seed; that rank swapping exchanges pairs",
        parameters="id",
        holder=None,
        is_worst_case=False,
        has_probabilities=False,
        required_by="masking steps",
        required_form="",
    )

    method: Public[Literal["consistency"]]
    sampled_orbits: Public[Annotated[int, Field(ge=30, le=100_000)]] = 300

    @property
    def rule(self) -> str:
        return self.about.infers

    @property
    def traits(self) -> AttackTraits:
        return AttackTraits(
            searches_originals=False,
            scale_by="release",
            assigns_together=False,
            depends_on_others=True,
            needs_originals=True,
            uses_external_files=False,
            needs_all_records=None,
            reads_similar_rows=False,
            attacks_synthetic_rows=False,
            is_required_form=True,
            sample_size=self.sampled_orbits,
        )

    def describe_known_data(self, known: DataKnowledge) -> str:
        return known.describe(own_file=False)

    def check_parameters(self, steps: tuple[Mechanism, ...], where: str) -> None:
        """Refuse a sample of orbits that is too small."""
        if self.sampled_orbits < LEAST_SAMPLED:
            what, location = "the orbits of so few targets bound what the attack finds too weakly", f"{where}.sampled_orbits"
            allowed, remedy = f"{LEAST_SAMPLED} to 100,000 targets", "raise it, or take it out"
            raise InputError("too-few-orbits", location, what, allowed, remedy, self.sampled_orbits)

    def list_unfollowed(self, files: Files, *, present: Integers | None, n_records: int) -> frozenset[str]:
        *_, mechanisms, knows = files
        known = take_known_sample(files, present)
        if known is not None:
            files, present, n_records = known, None, known[0].n
        exchanged = find_exchanged(*files, present=present, n_records=n_records)
        return frozenset(select_swapped_attributes(mechanisms, knows)).difference(exchanged)

    def explain_gap(self, mechanisms: tuple[Mechanism, ...], names: tuple[str, ...]) -> str:
        return (
            f"what was rank-swapped in {join_with_and(names)} was masked again, or not known for sure before: no pairs "
            "to look for there"
        )

    def run(self, context: AttackContext) -> AttackFindings:
        sample = None if context.sample is None else searching_records(context.truth.units, context.sample)
        links, names = _link_known_sample(context.files, prepare_following(context), sample)
        estimates = describe_estimates(links.evidence_levels)
        return AttackFindings(links, describe_exchanges(names) + estimates + describe_soundness(context))


def _link_known_sample(files: Files, how: Following, sample: Integers | None) -> tuple[Links, tuple[str, ...]]:
    """As `link_by_consistency`, where a known sample is the whole source (`take_known_sample`)."""
    present = how["present"]
    known = take_known_sample(files, present)
    if known is None or present is None:
        return link_by_consistency(*files, **how, sample=sample)
    n, some = files[0].n, None if sample is None else np.flatnonzero(np.isin(present, sample))
    try:
        links, names = link_by_consistency(*known, **follow_known_sample(how, present), sample=some)
    except OnlyBounded as answer:
        raise replace(answer, links=answer.links.expand_links(present, n)) from None
    return links.expand_links(present, n), names


def link_by_consistency(
    original: Microdata,
    masked: Microdata,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    knows: tuple[str, ...],
    *,
    few: int = 0,
    searching: Integers | None = None,
    present: Integers | None = None,
    n_records: int | None = None,
    sample: Integers | None = None,
) -> tuple[Links, tuple[str, ...]]:
    """Link each record to the likeliest of the rows that can be its image without a contradiction anywhere else.

    Meaning: rank swapping exchanges PAIRS. If a record's row shows the value that somebody else held, that person's row shows
    the record's own value: each link implies one more for each swapped attribute, and those imply others. A false one soon
    contradicts another; a true one never does.
    Formula in words: the transparency attack's sets of possible images; of these the pairs whose orbits hold
    (`consistent_pairs`), then those that are left by `propagate_constraints`; of a record's rows that are left those of the
    largest belief (`beliefs`), ties shared. The prior is how far values move (`log_displacement`), among the rows of a stratum.
    Where other attributes were randomised, nothing is concluded of some, or the intruder does not know the strata, the belief
    is not asked, and a row chosen as by `link_by_mechanism`.

    Parameters: as `link_by_mechanism`. sample: the records whose orbits are followed where the table is too large for all.

    Returns the links, with the sizes of the sets that are left, and the attributes that were exchanged. The sets are sound, and
    hold the true row, if every record is in the release (or it is known who is) and the steps are those that were applied;
    several people with one value are all tried, and where another step masked the attribute besides, all whose values can be
    shown so (`find_exchanged`; those of noise err with a chance of 1e-6). For that nothing is used of
    how far values moved but the window of the classic variant: of the other two all pairs are tried. By chance the credit
    is 1/n.

    Raises NotApplicable where no known attribute was exchanged; NotFollowed where each was masked again, or too many pairs
    would have to be looked at, OnlyBounded if those of the sample are not too many; AttackFailed where no assignment is left,
    as on columns that were not exchanged, and as `link_by_mechanism`.
    Cost: that of `consistent_pairs`, `propagate_constraints` and `beliefs`: 1,080 records with 3 attributes in 0.2 s.
    Source: none published; found on the reference data of this project. After Nin, Herranz and Torra (2008), whose intersection
    it starts from.
    Example: records that held 1, 2, 3, 4 show 2, 1, 4, 3: whoever is taken to have become 2 from 1 settles who became 1 from 2.
    """
    if not select_swapped_attributes(mechanisms, knows):
        raise NotApplicable("no attribute that the intruder knows was rank-swapped: nothing is known to be exchanged in pairs")
    found: list[_Left] = []

    def narrow_conditions(both: Comparison, conditions: Conditions, knowledge: Belief) -> Conditions:
        exchanged = find_exchanged(original, masked, schema, mechanisms, knows, present=present, n_records=n_records)
        names = tuple(exchanged)
        if not names:
            if n_records not in (None, original.n) and select_exchanged_attributes(mechanisms, knows, lambda *_: True):
                raise NotApplicable("who holds a share of the records does not know what the values were before the exchange")
            raise NotFollowed("what was rank-swapped was masked again, or not known for sure before: no pairs to look for")
        cut = knowledge.believed.n < original.n
        unpaired = frozenset(name for name in names if cut and is_sampled_after(mechanisms, name))
        n_source = n_records or original.n
        all_rows = cut or masked.n == n_source
        counts = KindCounts(np.bincount(both.own_of_record), conditions.sizes, n_source == original.n, all_rows)
        strata = {name for step in mechanisms if isinstance(step, RankSwapping) for name in step.by or ()}
        used = tuple(name for name in masked.names if name in strata.union(names))
        files = knowledge.believed.select(name for name in used if name in knowledge.believed.names), masked.select(used)
        bounds = {name: one for name, one in exchanged.items() if one}
        problem = _ExchangeProblem.create_from_comparison(both, conditions, files, counts, unpaired, bounds, schema, names)
        try:
            found.append(_left(problem))
            return _add_pair_condition(found[0].pairs, conditions)
        except NotFollowed as too_large:
            reason = too_large.reason  # raised anew below: within this handler it would keep what it met in memory
        who = np.arange(original.n) if present is None else present
        followed = who if cut else np.arange(original.n)
        links = None
        if sample is not None:
            is_followed = np.bincount(sample, minlength=original.n) * np.bincount(who, minlength=original.n) > 0
            links = _link_sample(problem, both, is_followed[followed], few)
        if links is None:
            raise NotFollowed(reason)
        own = links.search_class if len(followed) == len(who) else links.search_class[who]
        links = replace(links, search_class=own)
        links = links if present is None else links.expand_links(present, original.n)
        raise OnlyBounded(reason, links, sampled=True)

    who = (original, masked, schema, mechanisms, knows)
    links, knowledge = link_by_mechanism(
        *who, few=few, searching=searching, present=present, narrow=narrow_conditions, n_records=n_records
    )
    (left,) = found
    if not knowledge.likelihoods and not knowledge.blurred and set(knowledge.unclear) <= set(left.problem.names):
        links = _relink_by_belief(links, left, mechanisms, schema)
    return links, left.problem.names


@dataclass(frozen=True, slots=True)
class _ExchangeProblem:
    """The distinct records and rows: conditions on their pairs, and how many there are.

    files: the records as they are believed to have been, and the rows: the exchanged attributes, and those of strata. record,
    row: where a record or row of each kind stands in them: whole copies of large files would fill the memory.
    bounds: of the attributes that were masked besides, where the value of each record is shown. names: what was exchanged;
    exchanges: what is known of each of these. boxes: the conditions as intervals.
    """

    conditions: Conditions
    files: tuple[Microdata, Microdata]
    record: Integers
    row: Integers
    counts: KindCounts
    bounds: dict[str, ValueBounds]
    schema: Schema
    names: tuple[str, ...]
    exchanges: tuple[Exchange, ...]
    boxes: Boxes

    @classmethod
    def create_from_comparison(
        cls,
        both: Comparison,
        conditions: Conditions,
        files: tuple[Microdata, Microdata],
        counts: KindCounts,
        unpaired: frozenset[str],
        bounds: dict[str, ValueBounds],
        schema: Schema,
        names: tuple[str, ...],
    ) -> _ExchangeProblem:
        """unpaired: attributes that were exchanged with people who were left out afterwards, and are not among the records."""
        record, row = (find_first_rows(kinds) for kinds in (both.own_of_record, both.shown_of_row))
        exchanges, of_kinds = [], dict[str, ValueBounds]()
        for name in names:
            shown = files[1].select((name,)).take(row)
            if name in bounds:
                bound, positions = bounds[name].select_rows(record), shown.positions(schema[name])
                exchanges.append(exchange_within_bounds(bound.low, bound.high, positions, counts, bound.spread))
                of_kinds[name] = bound
            else:
                known = name not in unpaired
                some = replace(counts, all_records=counts.all_records and known, all_rows=counts.all_rows and known)
                held = files[0].select((name,)).take(record)
                codes, shown_codes = encode_jointly(held.column(name), shown.column(name))
                exchanges.append(create_exchange(codes, shown_codes, some))
        boxes = create_boxes(conditions, tuple(exchanges))
        return cls(conditions, files, record, row, counts, of_kinds, schema, names, tuple(exchanges), boxes)

    def take_held(self, names: tuple[str, ...]) -> Microdata:
        """What a record of each kind held."""
        return self.files[0].select(names).take(self.record)

    def take_shown(self, names: tuple[str, ...]) -> Microdata:
        """What a row of each kind shows."""
        return self.files[1].select(names).take(self.row)


@dataclass(frozen=True, slots=True)
class _Left:
    """The pairs that are left."""

    problem: _ExchangeProblem
    pairs: PossiblePairs


def _left(problem: _ExchangeProblem) -> _Left:
    pairs = consistent_pairs(problem.boxes, problem.exchanges, MOST_KEPT)
    pairs = pairs.select_pairs(~is_ruled_out(problem.conditions, pairs.records, pairs.rows))
    return _Left(problem, propagate_constraints(pairs, problem.exchanges, problem.counts))


def _link_sample(problem: _ExchangeProblem, both: Comparison, wanted: Booleans, few: int) -> Links | None:
    """The links of some records to all rows that their orbits leave; None where even these are too many.

    wanted: shape (number of records,). Of the other records nothing is looked at, and their links stand empty.
    """
    kinds = np.bincount(both.own_of_record[wanted], minlength=len(problem.counts.records)) > 0
    some = np.flatnonzero(kinds)
    try:
        pairs = consistent_pairs(problem.boxes, problem.exchanges, MOST_KEPT, some)
    except NotFollowed:
        return None
    pairs = pairs.select_pairs(~is_ruled_out(problem.conditions, pairs.records, pairs.rows))
    sizes = np.bincount(pairs.records, weights=problem.counts.rows[pairs.rows], minlength=len(kinds)).astype(np.int64)
    if (kinds & (sizes == 0)).any() and problem.counts.all_rows:
        raise AttackFailed("no assignment of the records to the rows is left: the stated steps are not those that were applied")
    small = pairs.select_pairs(sizes[pairs.records] <= few)
    return Links(
        both.shown_of_row,
        both.own_of_record,
        pairs.starts,
        pairs.rows,
        sizes,
        (small.starts, small.rows),
        _add_pair_condition(pairs, problem.conditions),
    )


def _add_pair_condition(pairs: PossiblePairs, conditions: Conditions) -> Conditions:
    """The conditions with one more: the row is one of those that are left for the record."""
    return replace(
        conditions,
        begins=np.vstack([pairs.starts[:-1], conditions.begins]),
        ends=np.vstack([pairs.starts[1:], conditions.ends]),
        allowed=(pairs.rows, *conditions.allowed),
        shown=np.vstack([np.arange(pairs.n_rows), conditions.shown]),
    )


def _relink_by_belief(links: Links, left: _Left, mechanisms: tuple[Mechanism, ...], schema: Schema) -> Links:
    """The same links, but to the rows of the largest belief."""
    found, sizes = (
        np.empty((len(left.problem.names), len(left.pairs.rows))),
        np.empty((len(left.problem.names), len(left.pairs.rows))),
    )
    for j, name in enumerate(left.problem.names):
        step = mechanisms[find_last_swap(mechanisms, name)]
        if not isinstance(step, RankSwapping) or not set(step.by or ()) <= set(left.problem.files[0].names):
            return links
        found[j], sizes[j] = _log_displacement(step, left, name, schema)
    beside_strangers = np.log(sizes).sum(axis=0) - np.log(sizes.min(axis=0))  # of whom each row is as likely as any other
    belief = beliefs(left.pairs, left.problem.exchanges, left.problem.counts, found.sum(axis=0) + beside_strangers)
    starts, classes = likeliest(left.pairs, belief)
    absent = len(links.starts) - len(starts)  # records that are not released stand after all others, with no links
    return replace(links, starts=np.append(starts, np.repeat(starts[-1:], absent)), classes=classes)


def _log_displacement(step: RankSwapping, left: _Left, name: str, schema: Schema) -> tuple[Floats, Floats]:
    """Of each pair: how probable its change of value is among the rows of its row's stratum, and how many these are."""
    problem, pairs = left.problem, left.pairs
    bounds = problem.bounds.get(name)
    held = problem.take_held((name,)).positions(schema[name]) if bounds is None else (bounds.low + bounds.high) / 2
    by = tuple(step.by or ())
    rows = problem.take_shown(tuple(dict.fromkeys((name, *by))))
    shown, stratum = rows.positions(schema[name]), row_codes(rows, by)
    order = np.argsort(stratum[pairs.rows], kind="stable")
    found, sizes = np.empty(len(order)), np.empty(len(order))
    for at in np.split(order, np.flatnonzero(np.diff(stratum[pairs.rows][order])) + 1):
        there = stratum == stratum[pairs.rows[at[:1]]]
        released = np.repeat(shown[there], problem.counts.rows[there])
        found[at] = _compute_stratum_displacement(step, released, held[pairs.records[at]], shown[pairs.rows[at]])
        if (
            bounds is not None and step.variant == "classic"
        ):  # ranks have moved a little, so that the window is no end: that is for the bounds to say
            found[at] = np.maximum(found[at], found[at].max())
        sizes[at] = len(released)
    return found, sizes


def _compute_stratum_displacement(step: RankSwapping, released: Floats, held: Floats, shown: Floats) -> Floats:
    n = int((~np.isnan(released)).sum())
    if n < 2:
        return np.where((held == shown) | (np.isnan(held) & np.isnan(shown)), 0.0, LEAST)
    return log_displacement(step, n, mid_ranks(held, released), mid_ranks(shown, released), count_copies(shown, released))
