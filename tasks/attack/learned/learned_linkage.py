"""Distance-based linkage at its worst: the distance is learned from who is who, so that it links as many as its family can."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal, assert_never

import numpy as np
from pydantic import Field

from tasks.attack.base import AttackContext, AttackDescription, AttackFindings, AttackTraits, DataAttack
from tasks.attack.descriptions import DataKnowledge
from tasks.attack.learned.attribute_differences import Apart
from tasks.attack.learned.constraint_rows import Problem, problem
from tasks.attack.learned.features import MOST_OF_CHOQUET, LearnedDistanceKind, arithmetic_mean
from tasks.attack.learned.forms import create_learned_form
from tasks.attack.learned.learn import Learned, Solver, chance, evaluate_held_out, learn, rate
from tasks.attack.learned.learning_summary import LearnedFacts
from tasks.attack.linkage.distance_linkage import check_names
from tasks.attack.neighbours.nearest import Search
from tasks.attack.neighbours.record_comparison import ComparedBy, Comparison, ScaleBy, create_comparison
from tasks.attack.neighbours.tree import find_embedding
from tasks.attack.outcomes.links import Links
from tasks.microdata.errors import NotApplicable, NotFollowed
from tasks.microdata.ground_truth import RecordPairs
from tasks.microdata.schema import Schema
from tasks.microdata.spec import Public
from tasks.microdata.table import Microdata

Family = Literal["weighted_mean", "owa", "choquet", "choquet_2_additive", "bilinear"]


class LearnedLinkage(DataAttack):
    """Parameters of linkage by a learned distance.

    id: what the attack is called in figures and policy lines; default: the method's name.
    scale_by, direction, compare: as for `distance_linkage`.
    learn: the family of distances: weighted mean, ordered weighted average (owa), Choquet integral of any fuzzy measure (at
        most 10 attributes) or of a 2-additive one (at most 12), or symmetric bilinear form (at most 30).
    metric: only distances that are metrics.
    solver: `search`; or `certified`, which also proves for the declared intruder how many records no distance of the family
        exceeds, for at most `time_limit_seconds` of CPU time. The links are the proof's where it ends in time, else those of
        the search. So the machine decides how far a proof comes that does not end and, near the limit, whether it ends.
    """

    about = AttackDescription(
        title="Linkage by a learned distance",
        infers="links each record to the nearest released rows by the distance of a family that links most",
        note=": the worst case of the family, no intruder's rate; which of its links can be asserted is calibrated on links "
        "that it has seen",
        knows_of_data="the original values of the known attributes, and, to learn the distance, who is who",
        knows_of_masking="nothing",
        parameters="id, learn (weighted_mean, owa, choquet, choquet_2_additive, bilinear), metric, solver (search, "
        "certified), time_limit_seconds, scale_by, direction, compare",
        holder=None,
        is_worst_case=True,
        has_probabilities=False,
        required_by="nobody",
        required_form="",
    )

    method: Public[Literal["learned_linkage"]]
    scale_by: Public[ScaleBy] = "release"
    direction: Public[Literal["to_release", "to_original"]] = "to_release"
    learn: Public[Family] = "weighted_mean"
    metric: Public[bool] = False
    solver: Public[Solver] = "search"
    time_limit_seconds: Public[Annotated[float, Field(gt=0, le=86_400)]] = 60.0
    compare: ComparedBy | None = None

    @property
    def kind(self) -> LearnedDistanceKind:
        return KINDS[self.learn]

    @property
    def rule(self) -> str:
        """What the attack does, in words."""
        among = f"{_NAMES[self.learn]}{' that is a metric' if self.metric else ''}"
        return f"links each record to the nearest released rows by the {among} that links most: learned from who is who"

    @property
    def traits(self) -> AttackTraits:
        to_original = self.direction == "to_original"
        return AttackTraits(
            searches_originals=to_original,
            scale_by=self.scale_by,
            assigns_together=False,
            depends_on_others=True,
            needs_originals=False,
            uses_external_files=True,
            needs_all_records="the released rows search all records of the source" if to_original else None,
            reads_similar_rows=False,
            attacks_synthetic_rows=False,
            is_required_form=True,
            sample_size=None,
        )

    def describe_known_data(self, known: DataKnowledge) -> str:
        owner = "; the distance is learned from who is who, of which nobody but the owner of the data knows all"
        return known.describe(own_file=True, of_records=owner)

    def run(self, context: AttackContext) -> AttackFindings:
        if context.of_persons:
            raise NotFollowed("a distance is learned from tables of one row per person")
        if context.intruder.greedy:
            raise NotApplicable("no distance is learned for intruders of the knowledge curve, whose figures decide nothing")
        files, pairs = (context.own_file, context.truth.masked, context.schema), context.truth.record_pairs
        links = link_by_learning(*files, self, context.knows, pairs, prove=context.intruder.name == "declared")
        return AttackFindings(links, permutation_chance=None if links.learned is None else links.learned.chance)


KINDS: dict[Family, LearnedDistanceKind] = {
    "weighted_mean": LearnedDistanceKind.WEIGHTED_MEAN,
    "owa": LearnedDistanceKind.OWA,
    "choquet": LearnedDistanceKind.CHOQUET,
    "choquet_2_additive": LearnedDistanceKind.CHOQUET_2ADDITIVE,
    "bilinear": LearnedDistanceKind.BILINEAR,
}
MOST_ATTRIBUTES: dict[Family, int] = {"choquet": MOST_OF_CHOQUET, "choquet_2_additive": 12, "bilinear": 30}
MOST_TERMS = 2_000_000_000  # that all pairs of distinct records add up, where no search tree helps: some ten minutes
LEARNING, HALVES, PERMUTING = 1, 2, 3  # the learner's streams: anybody's, the same for every table
_NAMES: dict[Family, str] = {
    "weighted_mean": "weighted mean of squared differences",
    "owa": "ordered weighted average of squared differences",
    "choquet": "Choquet integral of squared differences",
    "choquet_2_additive": "Choquet integral (2-additive) of squared differences",
    "bilinear": "symmetric bilinear form of differences",
}


def link_by_learning(
    original: Microdata,
    masked: Microdata,
    schema: Schema,
    spec: LearnedLinkage,
    knows: tuple[str, ...],
    pairs: RecordPairs,
    *,
    prove: bool = True,
) -> Links:
    """Link each record to all released rows at the least distance, by the distance of a family that links most.

    Meaning: what an intruder could reach who weighs the attributes as cleverly as it can be done. Only the data's owner knows
    who is who, so this is no intruder's rate but the worst case of a family.
    Formula in words: the parameters for which most records are nearer to their own row than to any row that differs from it; a
    link to t equal rows counts 1/t (`learned.learn`). Of all that was found, the plain distance included, those that earn
    most. Records whose own row is not released teach nothing and are linked as all others.

    Parameters
    ----------
    original, masked: tables of n and m rows; their order is not used. knows: published attributes, at least one.
    pairs: who is who, at least one pair. prove: may `solver: certified` prove?

    Attributes without an order differ by an amount without a sign, whose products with others a bilinear form weighs all the
    same. A missing value counts 2 against a present one, 0 against another missing one, and nothing in products.

    Returns the links of all records of the searching file with the least distance and the next, and what was learned.
    The learner's random numbers are the same for all tables: equal tables, in any order of their rows, give equal links.
    Raises NotApplicable where nothing is known or released, the family has too many parameters for so many attributes, or the
    tables are too large for a distance without a search tree; InputError as `create_comparison`.
    Cost: O(q f) for each round of the search, 40 rounds or fewer, by a tree O(q log f); and 20 searches for the chance.
    Source: D11.2, sections 2.6 and 3; Torra, Abril, Navarro-Arribas (2016). Done otherwise: see `learned`.
    Example: an attribute that was not masked and is unique gets all the weight, and everybody is linked.
    """
    _check_can_be_learned(spec, knows, pairs)
    check_names((name for name, _ in spec.compare or ()), schema, "attacks: learned_linkage")
    files = create_comparison(original, masked, schema, knows, spec.scale_by, spec.compare or ())
    of = _problem(files, spec, pairs)
    _check_size(files, of, spec)
    learned = learn(
        of,
        rng=np.random.default_rng(LEARNING),
        metric=spec.metric,
        solver=spec.solver if prove else "search",
        time_limit=spec.time_limit_seconds,
        settled=True,
    )
    released = len(pairs.records) / original.n
    return replace(_links(files, learned, spec), learned=_facts(of, learned, spec, knows, released))


def _problem(files: Comparison, spec: LearnedLinkage, pairs: RecordPairs) -> Problem:
    """Who is who, in an order that is not that of the files; columns that cannot differ are emptied, so that equal is equal."""
    own, shown = files.own_of_record[pairs.records], files.shown_of_row[pairs.rows]
    constant = files.columns.weight == 0
    records, rows = (np.where(constant & ~np.isnan(file), 0.0, file) for file in (files.own, files.shown))
    how = Apart.create_from_columns(files.columns)
    if spec.direction == "to_release":
        searching, found, everybody = (records, own), (rows, shown), np.sort(files.shown_of_row)
    else:
        searching, found, everybody = (rows, shown), (records, own), np.sort(files.own_of_record)
    order = np.lexsort((found[1], searching[1]))
    truth = np.searchsorted(everybody, found[1][order])
    return problem(spec.kind, searching[0][searching[1][order]], found[0][everybody], truth, strict=False, how=how)


def _links(files: Comparison, learned: Learned, spec: LearnedLinkage) -> Links:
    form = create_learned_form(learned.kind, learned.parameters, files.columns.n_attributes)
    match spec.direction:
        case "to_release":
            answer = Search(files.own, files.shown, files.columns, form).nearest()
            both = files.shown_of_row, files.own_of_record
        case "to_original":
            answer = Search(files.shown, files.own, files.columns, form).nearest()
            both = files.own_of_record, files.shown_of_row
        case _:
            assert_never(spec.direction)
    return Links(*both, answer.starts, answer.found, least=answer.least, runner_up=answer.runner_up)


def _facts(of: Problem, learned: Learned, spec: LearnedLinkage, knows: tuple[str, ...], released: float) -> LearnedFacts:
    """released: the share of the records whose own row is released."""
    q = len(of.searching)
    permuted = chance(of, metric=spec.metric, rng=np.random.default_rng(PERMUTING))
    weighs = learned.betraying / max(float(np.abs(learned.betraying).sum()), 1e-300)
    halves = evaluate_held_out(of, metric=spec.metric, rng=np.random.default_rng(HALVES)) if q > 1 else None
    return LearnedFacts(
        family=spec.learn,
        metric=spec.metric,
        records=q,
        rate=of.credit(learned.links) / q,
        euclidean=rate(of, arithmetic_mean(of.kind, of.how.d)),
        chance=released * float(permuted.mean()),
        sure=learned.rate,
        bound=None if learned.bound is None else learned.bound / q,
        stopped=not learned.complete,
        held_out=halves,
        betraying=() if spec.learn == "owa" else tuple(zip(knows, weighs.tolist(), strict=True)),
        parameters=tuple(learned.parameters.tolist()),
    )


def _check_can_be_learned(spec: LearnedLinkage, knows: tuple[str, ...], pairs: RecordPairs) -> None:
    if not knows:
        raise NotApplicable("the intruder knows no published attribute")
    if not len(pairs.records):
        raise NotApplicable("no record is released from which a distance could be learned")
    most = MOST_ATTRIBUTES.get(spec.learn)
    if most is not None and len(knows) > most:
        otherwise = "choquet_2_additive or weighted_mean" if spec.learn == "choquet" and len(knows) <= 12 else "weighted_mean"
        raise NotFollowed(
            f"`learn: {spec.learn}` takes at most {most} attributes, and {len(knows)} are known: learn {otherwise}"
        )


def _check_size(files: Comparison, of: Problem, spec: LearnedLinkage) -> None:
    pairs, d = len(files.own) * len(files.shown), files.columns.n_attributes
    if pairs * (d if spec.kind is LearnedDistanceKind.WEIGHTED_MEAN else d * (d + 1) // 2) <= MOST_TERMS:
        return
    plain = create_learned_form(of.kind, arithmetic_mean(of.kind, of.how.d), of.how.d)
    semidefinite = spec.kind is not LearnedDistanceKind.BILINEAR or spec.metric
    if not semidefinite or find_embedding(files.own, files.shown, files.columns, plain) is None:
        raise NotFollowed(
            f"{pairs:,} pairs of records are too many for a distance that no search tree knows: learn a weighted_mean, or a "
            "bilinear form with `metric: true`, of numbers without gaps"
        )
