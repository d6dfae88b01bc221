"""What is said of the attacks: what each does, what an intruder knows, and how far it can be concluded from."""

from __future__ import annotations

from tasks.attack.learned.learned_linkage import LearnedLinkage
from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.linkage.holding import describe_holdings
from tasks.attack.probabilistic.probabilistic_linkage import ProbabilisticLinkage
from tasks.attack.profiles.profile_linkage import ProfileLinkage
from tasks.attack.row_position import RowPosition
from tasks.attack.threat import AnyAttack, Intruder
from tasks.mask.intruder_belief import Belief
from tasks.mask.methods import Mechanism
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.words import join_with_and

INFERS = {
    "row_position": "takes the released row that stands where the record stands in the source",
    "distance_linkage": "links each record to the released rows that are nearest to it, ties shared",
    "learned_linkage": "links each record to the nearest released rows by the distance of a family that links most",
    "transparency": "leaves out every released row that cannot be the record's image, then takes the likeliest and nearest",
    "probabilistic_linkage": "links each record to the rows that are most probably its own, by weights found from both files",
    "consistency": "leaves out every link that, values having been exchanged in pairs, would force a contradiction elsewhere",
    "profile_linkage": "links the records of a file without the release's attributes, or without their names",
}


def describe() -> tuple[dict[str, str], ...]:
    """One row per attack, for `sdcert methods attack`."""
    return (
        {
            "method": "distance_linkage",
            "what it does": INFERS["distance_linkage"],
            "knows of the data": "the original values of the known attributes",
            "knows of the masking": "nothing",
            "parameters": "id, scale_by (release, original, own), direction (to_release, to_original), distance (euclidean, "
            "mahalanobis, kernel, weighted_mean, owa, choquet, choquet_2_additive, bilinear, gower), compare (per attribute: "
            "squared, absolute, rank, equality, hierarchy, date_parts), matching (nearest, one_to_one)",
        },
        {
            "method": "transparency",
            "what it does": INFERS["transparency"],
            "knows of the data": "the original values of the known attributes, of all records",
            "knows of the masking": "the steps and their parameters, not the seed",
            "parameters": "id, matching (likeliest, one_to_one, marginals), probabilities (true: also posterior_at_truth)",
        },
        {
            "method": "consistency",
            "what it does": INFERS["consistency"],
            "knows of the data": "the original values of the known attributes, of all records",
            "knows of the masking": "the steps and their parameters, not the seed; that rank swapping exchanges pairs",
            "parameters": "id",
        },
        {
            "method": "row_position",
            "what it does": INFERS["row_position"],
            "knows of the data": "the order of the source's records",
            "knows of the masking": "nothing",
            "parameters": "id",
        },
        {
            "method": "profile_linkage",
            "what it does": INFERS["profile_linkage"],
            "knows of the data": "the original values of attributes that the release lacks, or calls by other names",
            "knows of the masking": "nothing",
            "parameters": "id, match (no_shared_attributes, names_unknown), knows (also what is not published), "
            "release_attributes, scores (ranks, standardised), powers, orientation (common_factor, as_recorded), units "
            "(unknown, same), matching (nearest, one_to_one)",
        },
        {
            "method": "learned_linkage",
            "what it does": f"{INFERS['learned_linkage']}: the worst case of the family, no intruder's rate; which of its "
            "links can be asserted is calibrated on links that it has seen",
            "knows of the data": "the original values of the known attributes, and, to learn the distance, who is who",
            "knows of the masking": "nothing",
            "parameters": "id, learn (weighted_mean, owa, choquet, choquet_2_additive, bilinear), metric, solver (search, "
            "certified), time_limit_seconds, scale_by, direction, compare",
        },
        {
            "method": "probabilistic_linkage",
            "what it does": INFERS["probabilistic_linkage"],
            "knows of the data": "the original values of the known attributes, of all records; with `supervised` who is who",
            "knows of the masking": "nothing; an assumption of what share of the values it kept",
            "parameters": "id, estimate (tied, plain, supervised), assumed (kept, weight), compare (per attribute a ladder of "
            "exact, within, same_bin, similar), interactions, false_links, missed, matching (likeliest, one_to_one)",
        },
    )


def describe_known_data(spec: AnyAttack, intruder: Intruder, *, complete: bool) -> str:
    """What the intruder knows of the data."""
    there = "that each of them is in the release" if complete else "of those that are in the release, that they are"
    if not intruder.participation_known:
        there = "not whether a record is in the release"
    every = "every record" if intruder.records == 1 else f"{100 * intruder.records:.3g} % of the records, drawn at random"
    if isinstance(spec, RowPosition):
        return f"the order of the source's records, and {there}"
    chosen = " (those that leave the released records least alike, chosen one by one)" if intruder.greedy else ""
    if isinstance(spec, ProfileLinkage):
        chosen += (
            ", none of which they find in the release" if spec.match == "no_shared_attributes" else ", without their names"
        )
    if isinstance(spec, LearnedLinkage):
        there += "; the distance is learned from who is who, of which nobody but the owner of the data knows all"
    if isinstance(spec, ProbabilisticLinkage):
        there += ", how many of them" if not intruder.participation_known else ""
        there += "; and who is who, of which nobody but the owner of the data knows all" if spec.knows_who_is_who else ""
    if intruder.holds and isinstance(spec, DistanceLinkage | ProfileLinkage | LearnedLinkage | ProbabilisticLinkage):
        holdings = describe_holdings(intruder.holds)
        return f"{join_with_and(intruder.knows)} of {every}{chosen}, in a file of their own: {holdings}; and {there}"
    return f"the original {join_with_and(intruder.knows)} of {every}{chosen}, and {there}"


def describe_synthetic_attack(spec: AnyAttack) -> str:
    """What an attack does where the released rows belong to nobody."""
    if not isinstance(spec, DistanceLinkage):
        return INFERS[spec.method]
    return f"{spec.rule}; the most frequent confidential value among them is the guess"


def describe_source_knowledge(intruder: Intruder) -> str:
    """What an intruder knows of the data who attacks rows that belong to nobody, whoever went into them."""
    held = f", in a file of their own: {describe_holdings(intruder.holds)}" if intruder.holds else ", as it has them"
    whose = "every record" if intruder.records == 1 else f"{100 * intruder.records:.3g} % of the records"
    return f"{join_with_and(intruder.knows)} of {whose} of the source{held}"


def describe_file_knowledge(intruder: Intruder, scene: GroundTruth) -> str:
    """What the holder of a file knows of the data: how many are in it, and how many of them in the release; no value of it."""
    there = "of those who are in the release, that they are" if intruder.participation_known else "not who is in the release"
    n, n_there = scene.units.n_units, int((scene.rows_by_unit.sizes > 0).sum())
    file = intruder.file
    converted = f", converted: {describe_holdings(file.convert)}" if file is not None and file.convert else ""
    of = f"the {n:,} {scene.units.counts} of an external file, of which {n_there:,} are in the release"
    return f"{join_with_and(intruder.knows)} of {of}, as the file has them{converted}; and {there}"


def describe_known_steps(mechanisms: tuple[Mechanism, ...]) -> str:
    """What the intruder knows of the masking, who knows the steps."""
    steps = ", then ".join(_describe_step(step) for step in mechanisms) or "no step"
    return f"the masking steps and their parameters, not the seed: {steps}"


def describe_unclear_attributes(knowledge: Belief) -> str:
    """Attributes whose masking says nothing for sure."""
    names = join_with_and(knowledge.unclear)
    return f"; heuristic in {names}, of which nothing is concluded and only the distance is used" if names else ""


def describe_exchanges(names: tuple[str, ...]) -> str:
    """Attributes of which it is used that their values were exchanged in pairs."""
    return f"; that in {join_with_and(names)} the values were exchanged in pairs"


def soundness(intruder: Intruder, *, complete: bool, sampled: bool) -> str:
    """Is the true row sure to be among the candidates?"""
    if sampled and intruder.participation_known and not complete:
        return (
            "; they know who was sampled, look for nobody else, and repeat what came after the sampling on these alone; the "
            "candidate sets are sound: the true row of a sampled record is never left out"
        )
    if not complete:
        return (
            "; heuristic, not sound: records of the source are absent from the release, so that what is repeated on all "
            "records need not be what was done to the released ones"
        )
    if not intruder.participation_known:
        return "; the candidate sets are not sound, because the record may not be in the release"
    return "; the candidate sets are sound: the true row is never left out"


def _describe_step(step: Mechanism) -> str:
    return step.rule if step.by is None else f"{step.rule}, within each stratum by {join_with_and(step.by)}"
