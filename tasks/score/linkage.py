"""What the linkage attacks found: rates over the targets, with intervals where only a sample of them was scored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tasks.attack.insiders import list_columns
from tasks.attack.linkage.assertable_links import compute_assertion_shares
from tasks.attack.methods import ATTACKS
from tasks.attack.outcomes.outcome import AttackResult
from tasks.attack.target_looks import TargetLook
from tasks.attack.threat import is_on_knowledge_curve
from tasks.microdata.alignment import ROWS_OF_NOBODY, NoAlignment
from tasks.microdata.estimate import Estimate
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.interval import Interval
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Booleans, encode_jointly
from tasks.score.catalogue import LINKAGE, MEASURES
from tasks.score.measures import linkage
from tasks.score.policy import DECLARED
from tasks.score.scored_targets import SAMPLED_MARGINS, ScoredTargets
from tasks.score.subgroups import Subgroup

EXPOSED_FROM = 0.5 - 1e-12  # the mean credit of a person's rows may miss one half in the last bits
WITH_PROBABILITIES = {name for name, kind in ATTACKS.items() if kind.about.has_probabilities}
OF_THE_CURVE = ("reidentification", "records_exposed")


def linkage_estimates(
    result: AttackResult,
    truth: GroundTruth,
    schema: Schema,
    subgroups: tuple[Subgroup, ...] = (),
    look: TargetLook | None = None,
) -> tuple[Estimate, ...]:
    """The figures of one attack: those of the `estimate_...` functions of this file, whose docstrings say what each means.

    Where some targets are not in the release, all figures but `reidentification_present` count them, with credit 0. For an
    intruder of the knowledge curve there are `reidentification` and `records_exposed` alone.

    result: one row of `outcomes` per scored target: all units of the scene, or a simple random sample in the order of its draw.
    look: the planned look at which the sample was taken; its bounds are surer than 95 % then (`TargetLook.error`).

    Returns exact estimates (low = high = value) where all targets were scored, else two one-sided 95 % bounds: hypergeometric
    for counts of targets, a bounded-mean interval for shared credit; for the present, the absent and a subgroup given how many
    of them are in the sample. The share of groups in which a sample exposes somebody bounds that of all targets from below
    alone, as does the largest credit where some released row is unlike all others: their `high` is 1.
    An attack that is not applicable or failed has None for every figure, never 0. One that was not followed, and has outcomes,
    has bounds: what the whole attack finds is at least as bad.
    Chance: 1/n for credit, less where an assignment leaves some without a guess (`GroundTruth.chance`); for a confidential
    value the release's most frequent one guessed for everybody; none for others.
    Raises ValueError where more targets were scored than there are.
    Where the rows of the release belong to nobody, the values are all that is left: every other figure is not applicable, and
    the control is that of `compute_synthetic_outcomes`.
    Cost: O(targets).
    Source: docs/SCIENCE.md sections 1 and 2; Torra (2024), Reid and K.Reid, with ties shared; the control is anonymeter's idea.

    Example: constant released data: every credit is 1/n, nobody is exposed, the truth is always among the nearest.
    """
    file = _File(truth, schema, subgroups)
    if result.outcomes is None or result.status not in ("ok", "not_followed"):
        return tuple(_create_blank_estimates(result, file))
    if result.status == "not_followed":
        followed = linkage_estimates(replace(result, status="ok"), truth, schema, subgroups, look)
        return tuple(_lower_bounds(result, followed, file))
    sample = ScoredTargets(result, result.outcomes, truth.units.n_units, truth, look)
    if isinstance(truth.belonging, NoAlignment):
        unknown = _create_blank_estimates(replace(result, status="not_applicable", reason=ROWS_OF_NOBODY), file)
        return (*(one for one in unknown if not MEASURES[one.measure].of_nobody), *estimate_disclosed_values(sample, file))
    if is_on_knowledge_curve(result.intruder):
        return tuple(one for one in estimate_linkage_rates(sample) if one.measure in OF_THE_CURVE)
    figures = (
        estimate_linkage_rates(sample),
        estimate_known_links(sample),
        estimate_present_and_absent(sample),
        estimate_group_exposure(sample, file),
        estimate_subgroup_rates(sample, file),
    )
    return (*(one for some in figures for one in some), *estimate_disclosed_values(sample, file))


def estimate_changed_people(
    result: AttackResult, truth: GroundTruth, changes: tuple[Subgroup, ...], look: TargetLook | None = None
) -> Iterator[Estimate]:
    """`reidentification` of those who are in one release alone, or whose confidential values changed since an earlier one.

    They are few, so that the mean over everybody hides them. The figures are of an attack by earlier releases, for each
    intruder who is not of the knowledge curve, and decide with the others of their measure.
    """
    if result.outcomes is None or result.status != "ok" or is_on_knowledge_curve(result.intruder):
        return
    sample = ScoredTargets(result, result.outcomes, truth.units.n_units, truth, look)
    targets = sample.targets()
    for change in changes:
        members = change.members[targets]
        if change.members.any():
            part = sample.part(members, int(change.members.sum()))
            rate = part.mean(linkage.REIDENTIFICATION, part.floats("credit"), subgroup=change.name)
            yield replace(rate, chance=_compute_chance(sample, truth, change.members), chance_kind="uniform_guess")


@dataclass(frozen=True, slots=True)
class _File:
    """What is attacked, and the parts of its targets that are looked at apart."""

    truth: GroundTruth
    schema: Schema
    subgroups: tuple[Subgroup, ...]


LEARNED_FROM_ALL = (
    "the margin is calibrated on people whose links the distance was learned from, as it was from those of the people counted: "
    "no intruder can assert as much"
)
LINKED_TO_OTHERS = (
    "read off the records of other people, as they stand in the source, because no released row is the target's own: what "
    "follows of such people from what the intruder knows"
)


def estimate_linkage_rates(sample: ScoredTargets) -> Iterator[Estimate]:
    """Rates over all targets.

    Credit: `outcomes.guesses.Guesses.credit`, of persons `outcomes.person_outcomes.fare`, both in `tasks.attack`.
    `reidentification`: the mean credit. `records_exposed`: the share of targets with credit >= 1/2. `max_record_risk`: the
    largest credit. `truth_among_nearest`: the share whose own record is among the guesses. `mean_candidate_set_size`: the mean
    number of records (persons) among which the intruder cannot choose, 0 where they have no guess.

    Of a sample, the first three are bounded from above for all records by how many released rows look alike as well
    (`attack.outcomes.credit_bounds`).
    """
    credit = sample.floats("credit")
    bounds = sample.credit_bounds
    rate = _lower_end(sample.mean(linkage.REIDENTIFICATION, credit), bounds.mean)
    yield replace(rate, chance=sample.result.chance, chance_kind=sample.result.chance_kind)
    if "posterior" in sample.outcomes.names:
        yield estimate_posterior_at_truth(sample)
    yield _lower_end(sample.share(linkage.RECORDS_EXPOSED, credit >= EXPOSED_FROM), bounds.exposed)
    largest = float(credit.max())
    most = Interval(largest, max(largest, bounds.largest))
    yield sample.estimate(linkage.MAX_RECORD_RISK, largest, most, credit_rule=sample.result.credit_rule)
    yield estimate_plausible_deniability(sample)
    yield sample.share(linkage.TRUTH_AMONG_NEAREST, sample.truths("among_nearest"))
    yield sample.mean_size(linkage.MEAN_CANDIDATE_SET_SIZE, sample.floats("candidates"))


def _lower_end(found: Estimate, bound: float) -> Estimate:
    """The estimate with an upper end of at most what no record, or no mean of all records, exceeds."""
    if found.high is None or found.value is None:
        return found
    return replace(found, high=min(found.high, max(bound, found.value)))


def estimate_posterior_at_truth(sample: ScoredTargets) -> Estimate:
    """The mean probability of the own row (a person's rows).

    Its chance is that of the same probabilities, were the released rows dealt out anew.
    """
    found, facts = sample.mean(linkage.POSTERIOR_AT_TRUTH, sample.floats("posterior")), sample.result.probable
    if facts is None:
        return replace(found, chance=sample.result.chance, chance_kind=sample.result.chance_kind)
    if facts.chance_at_truth is not None:
        return replace(found, chance=facts.chance_at_truth, chance_kind="permutation")
    return replace(found, chance=facts.dealt_out, chance_kind=None if facts.dealt_out is None else "uniform_guess")


def estimate_plausible_deniability(sample: ScoredTargets) -> Estimate:
    """The odds against the own row of the target to whom the attack gives it with the largest probability.

    Meaning: "this record is not mine" is credible while others are likely enough to be its subject. The anonymity set is the
    same thing seen by the intruder.
    Formula in words: (1 - q) / q for the largest q, the attack's probability of the own row (a person's rows); of an attack
    without probabilities its credit, 1/t where t rows look alike. A q below 1/m for m released rows counts as 1/m: an attack
    that is misled makes nobody safer than a guess.

    Returns odds from 0 (the attack is sure, and right) to m - 1. Of a sample it bounds the odds of all from above alone.
    Cost: O(targets).
    Source: Torra (2026), which names it for k-anonymity (at record level: odds of k - 1) and for differential privacy; the
    odds are ours.

    Example: groups of 12 rows that look alike: credit 1/12 for everybody, odds of 11.
    """
    rows = max(int(sample.truth.masked.n), 1)
    own = sample.floats("posterior" if "posterior" in sample.outcomes.names else "credit")
    likeliest = min(max(float(np.nan_to_num(own).max()), 1 / rows), 1.0)
    odds = 1 / likeliest - 1
    least = 0.0 if "posterior" in sample.outcomes.names else 1 / max(sample.credit_bounds.largest, likeliest) - 1
    return sample.estimate(linkage.PLAUSIBLE_DENIABILITY, odds, Interval(least, odds), credit_rule=None)


def estimate_known_links(sample: ScoredTargets) -> Iterator[Estimate]:
    """`known_links` and `known_reidentification`: the targets whose link the intruder can assert, and those asserted rightly.

    Where the attack has sound candidate sets: the share of targets whose set is one record (one person's rows), and the share
    where it is the target's own. Where it links to the nearest instead: the share whose link is asserted by its margin
    (`attack.linkage.assertable_links`), and the share where that is right; not where a sample of targets is scored, which would
    set another margin. Of a learned distance they are of the worst case too, and say so (`reason`): it has seen the links of
    both halves.
    """
    sound = sample.floats("sound_candidates")
    if not np.isnan(sound).all():
        yield sample.share(linkage.KNOWN_LINKS, sound == 1)
        yield sample.share(linkage.KNOWN_REIDENTIFICATION, sample.truths("known"))
    elif "margin" in sample.outcomes.names and not sample.exact:
        yield from (
            sample.nothing(measure, SAMPLED_MARGINS) for measure in (linkage.KNOWN_LINKS, linkage.KNOWN_REIDENTIFICATION)
        )
    elif "margin" in sample.outcomes.names:
        right = sample.truths("named_right")
        claims = compute_assertion_shares(sample.floats("margin"), right)
        caution = None if sample.result.learned is None else LEARNED_FROM_ALL
        yield replace(sample.mean(linkage.KNOWN_LINKS, claims), reason=caution)
        yield replace(sample.mean(linkage.KNOWN_REIDENTIFICATION, claims * right), reason=caution)


def estimate_present_and_absent(sample: ScoredTargets) -> Iterator[Estimate]:
    """`reidentification_present`: the mean credit of the targets in the release. `false_links_absent`: links to nobody.

    The latter is the share of the absent targets for whom the attack names exactly one record (person): a link without a rival,
    which is how the intruder's surest links look too, and is wrong. It decides nothing: a high one tells the intruder that
    their links are worth little, and is bad luck for the people whose records they name.
    """
    released = sample.truth.released_sizes > 0
    if released.all():
        return
    there, n_there = sample.truths("in_release"), int(released.sum())
    present = sample.part(there, n_there)
    rate = present.mean(linkage.REIDENTIFICATION_PRESENT, present.floats("credit"))
    chance = _compute_chance(sample, sample.truth, released) if n_there else None
    if n_there and sample.result.chance is not None and sample.result.chance_kind == "permutation":
        chance = sample.result.chance * len(released) / n_there  # of the absent nobody is linked rightly
    yield replace(rate, chance=chance, chance_kind=sample.result.chance_kind)
    absent = sample.part(~there, len(released) - n_there)
    yield absent.share(linkage.FALSE_LINKS_ABSENT, absent.floats("candidates") == 1)


def _compute_chance(sample: ScoredTargets, truth: GroundTruth, of: Booleans) -> float:
    return truth.chance(of, searched=sample.result.direction == "to_original", n_given=sample.result.n_given)


def estimate_group_exposure(sample: ScoredTargets, file: _File) -> Iterator[Estimate]:
    """`groups_exposed`, per group attribute (household): the share of groups with at least one exposed member.

    Groups are not published and no attack uses them: it says that one member was found by what was published of them, and that
    whoever knows the household then knows whose it is; it does not say that the other members' records can be told apart. Rows
    without a group belong to none.
    """
    exposed = np.zeros(file.truth.units.n_units, dtype=bool)
    exposed[sample.targets()[sample.floats("credit") >= EXPOSED_FROM]] = True
    for name in file.schema.find_by_role(Role.GROUP):
        (group,) = encode_jointly(file.truth.original.column(name))
        n_groups = int(group.max(initial=-1)) + 1
        found = np.unique(group[exposed[file.truth.units.of_row] & (group >= 0)])
        if n_groups:
            share = len(found) / n_groups
            yield sample.estimate(linkage.GROUPS_EXPOSED, share, Interval(share, 1.0), credit_rule="indicator", attribute=name)


def estimate_subgroup_rates(sample: ScoredTargets, file: _File) -> Iterator[Estimate]:
    """`subgroup_reidentification`: the mean credit of the targets of each subgroup, for the declared intruder.

    Of a sample that has few targets of a subgroup the interval is wide, and of one that has none nothing is known.
    """
    targets = sample.targets()
    for subgroup in _select_subgroups(sample.result, file):
        part = sample.part(subgroup.members[targets], int(subgroup.members.sum()))
        credit = part.floats("credit")
        rate = part.mean(linkage.SUBGROUP_REIDENTIFICATION, credit, attribute=subgroup.attribute, subgroup=subgroup.name)
        if sample.result.chance_kind == "permutation":
            yield rate  # what a learner finds by luck in one part of the targets was not measured
            continue
        chance = _compute_chance(sample, file.truth, subgroup.members)
        yield replace(rate, chance=chance, chance_kind="uniform_guess")


def estimate_disclosed_values(sample: ScoredTargets, file: _File) -> Iterator[Estimate]:
    """`linked_value_disclosed` and `linked_value_control`, per confidential attribute that the intruder does not know.

    The mean credit for its value read off the linked records (`tasks.attack.outcomes.value_disclosure`), and the same without
    the target's own records.
    """
    for name in (
        one for one in _list_unknown_attributes(sample.result, file.schema) if f"linked:{one}" in sample.outcomes.names
    ):
        known = sample.truth.find_known_units(name)
        part = sample if known.all() else sample.part(known[sample.targets()], int(known.sum()))
        linked = part.mean(linkage.LINKED_VALUE_DISCLOSED, part.floats(f"linked:{name}"), attribute=name)
        chance = compute_majority_chance(file.truth, name) if known.any() else None
        yield replace(linked, chance=chance, chance_kind="majority")
        if f"control:{name}" in part.outcomes.names:
            control = part.mean(linkage.LINKED_VALUE_CONTROL, part.floats(f"control:{name}"), attribute=name)
            nobodys = isinstance(sample.truth.belonging, NoAlignment) and control.status == "ok"
            yield replace(control, basis="control_group", reason=LINKED_TO_OTHERS) if nobodys else control


def compute_majority_chance(truth: GroundTruth, name: str) -> float:
    """The share of people whose value is the release's most frequent one; several equally frequent ones share the guess.

    Missing is a value of its own, as in the attack's `linked:` columns. A person counts with the share of their rows, whichever
    of them an intruder would use. Of a file of the intruder those count whose value the source tells.
    Example: a released constant c: the share of c.
    """
    if name not in truth.chances:
        truth.chances[name] = _compute_majority_chance(truth, name)
    return truth.chances[name]


def _compute_majority_chance(truth: GroundTruth, name: str) -> float:
    original, masked = encode_jointly(truth.original.column(name), truth.masked.column(name))
    counts = np.bincount(masked + 1)
    modes = np.flatnonzero(counts == counts.max()) - 1
    hits = np.isin(original, modes)
    known = truth.find_known_units(name)
    if truth.units.counts == "records":
        return float(hits[known].mean() / len(modes))
    rows = np.bincount(truth.units.of_row, minlength=truth.units.n_units)
    return float((np.bincount(truth.units.of_row, weights=hits) / rows)[known].mean() / len(modes))


def _create_blank_estimates(result: AttackResult, file: _File) -> Iterator[Estimate]:
    """None for every figure that a policy may limit, so that each line sees that the attack did not run."""
    for measure in LINKAGE:
        for attribute, subgroup in _list_subjects(measure.name, result, file) if measure.better is not None else ():
            yield Estimate(
                measure=measure.name,
                attack=result.attack,
                intruder=result.intruder,
                attribute=attribute,
                subgroup=subgroup,
                value=None,
                unit=measure.unit,
                status=result.status,
                reason=result.reason,
                counts=result.counts,
            )


def _lower_bounds(result: AttackResult, figures: tuple[Estimate, ...], file: _File) -> Iterator[Estimate]:
    """What somebody finds who does less than the attack that was not followed: it finds at least as much.

    A guess among sampled orbits bounds the measures that are `bounded_below`, an attack by what could be followed every risk.
    """
    known = (one for one in figures if one.status == "ok")
    found = {one.id: one for one in known if result.partly_followed or MEASURES[one.measure].bounded_below}
    for blank in _create_blank_estimates(result, file):
        one = found.get(blank.id)
        if one is None:
            yield blank
            continue
        measure, unfollowed = MEASURES[one.measure], replace(one, status="not_followed", reason=result.reason)
        yield replace(unfollowed, low=0.0) if measure.better == "higher" else replace(unfollowed, high=measure.largest or 1.0)


def _list_subjects(measure: str, result: AttackResult, file: _File) -> tuple[tuple[str | None, str | None], ...]:
    """What the figures of a measure would be about: attribute and subgroup."""
    if is_on_knowledge_curve(result.intruder) and measure not in OF_THE_CURVE:
        return ()
    match measure:
        case linkage.REIDENTIFICATION_PRESENT.name:
            nobodys = isinstance(file.truth.belonging, NoAlignment)
            return () if nobodys or (file.truth.released_sizes > 0).all() else ((None, None),)
        case linkage.POSTERIOR_AT_TRUTH.name:
            return ((None, None),) if result.method in WITH_PROBABILITIES else ()
        case linkage.GROUPS_EXPOSED.name:
            return tuple((name, None) for name in file.schema.find_by_role(Role.GROUP))
        case linkage.SUBGROUP_REIDENTIFICATION.name:
            return tuple((subgroup.attribute, subgroup.name) for subgroup in _select_subgroups(result, file))
        case linkage.LINKED_VALUE_DISCLOSED.name:
            return tuple((name, None) for name in _list_unknown_attributes(result, file.schema))
        case _:
            return ((None, None),)


def _select_subgroups(result: AttackResult, file: _File) -> tuple[Subgroup, ...]:
    return file.subgroups if result.intruder == DECLARED else ()


def _list_unknown_attributes(result: AttackResult, schema: Schema) -> tuple[str, ...]:
    """The confidential attributes that the intruder of an attack does not know already."""
    known = list_columns(result.intruder, schema.names)
    return tuple(name for name in schema.find_by_role(Role.CONFIDENTIAL) if name not in known)
