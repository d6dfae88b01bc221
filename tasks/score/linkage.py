"""What the linkage attacks found: rates over the targets, with intervals where only a sample of them was scored."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tasks.attack.insiders import list_columns
from tasks.attack.linkage.assertable_links import compute_assertion_shares
from tasks.attack.methods import ATTACKS
from tasks.attack.outcomes.outcome import AttackResult, GroundTruth
from tasks.attack.threat import CURVE
from tasks.microdata.alignment import ROWS_OF_NOBODY, NoAlignment
from tasks.microdata.estimate import Estimate
from tasks.microdata.interval import Interval, compute_bounded_mean_interval, hypergeometric_interval
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Booleans, Floats, Integers, Microdata, encode_jointly
from tasks.score.catalogue import LINKAGE, MEASURES
from tasks.score.policy import DECLARED
from tasks.score.subgroups import FEWEST, Subgroup

EXPOSED_FROM = 0.5 - 1e-12  # the mean credit of a person's rows may miss one half in the last bits
WITH_PROBABILITIES = {name for name, kind in ATTACKS.items() if kind.about.has_probabilities}
OF_THE_CURVE = ("reidentification", "records_exposed")
BOUNDED_BELOW = (  # by what somebody finds who guesses among the rows that a part of the attack leaves
    "reidentification",
    "reidentification_present",
    "records_exposed",
    "max_record_risk",
    "known_links",
    "known_reidentification",
    "groups_exposed",
    "subgroup_reidentification",
)


def linkage_estimates(
    result: AttackResult, scene: GroundTruth, schema: Schema, subgroups: tuple[Subgroup, ...] = ()
) -> tuple[Estimate, ...]:
    """The figures of one attack.

    `reidentification`: the mean credit. `posterior_at_truth`, where the attack has probabilities: the mean of that of the own
    row (a person's rows). `records_exposed`: the share of targets with credit >= 1/2. `max_record_risk`: the
    largest credit. `truth_among_nearest`: the share whose own record is among the guesses. `mean_candidate_set_size`: the
    mean number of records (persons) among which the intruder cannot choose, 0 where he has no guess. Where the attack has sound
    candidate sets: `known_links`, the share of targets whose set is one record (one person's rows), and
    `known_reidentification`, the share where it is the target's own; where it links to the nearest instead, the share whose
    link is asserted by its margin (`attack.linkage.known`), and the share where that is right; not where a sample of targets
    is scored, which would set another margin. Of a learned distance they are of the worst case too, and say so (`reason`): it
    has seen the links of both halves.
    Where some targets are not in the release, all of these count them, with credit 0; `reidentification_present` leaves them
    out, and `false_links_absent` is the share of them for whom the attack names exactly one record (person): a link without a
    rival, which is how the intruder's surest links look too, and is wrong. It decides nothing: a high one tells the intruder
    that his links are worth little, and is bad luck for the people whose records he names.
    Per group attribute (household): `groups_exposed`, the share of groups with at least one exposed member. Groups are not
    published and no attack uses them: it says that one member was found by what was published of him, and that whoever knows
    the household then knows whose it is; it does not say that the other members' records can be told apart. Rows without a
    group belong to none.
    Per confidential attribute that the intruder does not know: `linked_value_disclosed`, the mean credit for its value read
    off the linked records, and `linked_value_control`, the same without the target's own records.
    For the declared intruder and each subgroup, `subgroup_reidentification`: the mean credit of its targets.
    For an intruder of the knowledge curve the first two alone.

    result: one row of `outcomes` per scored target: all units of the scene, or a simple random sample in the order of its draw.

    Returns exact estimates (low = high = value) where all targets were scored, else two one-sided 95 % bounds: hypergeometric
    for counts of targets, a bounded-mean interval for shared credit; for the present, the absent and a subgroup given how many
    of them are in the sample. The largest credit of a sample, and the share of groups in which it exposes somebody, bound
    those of all targets from below alone: their `high` is 1. An attack that is not applicable or failed has None for every
    figure, never 0. One that was not followed, and has outcomes, has bounds: what the whole attack finds is at least as bad.
    Chance: 1/n for credit, less where an assignment leaves some without a guess (`Scene.chance`); for a confidential value the
    release's most frequent one guessed for everybody; none for others.
    Raises ValueError where more targets were scored than there are.
    Where the rows of the release belong to nobody, the values are all that is left: every other figure is not applicable, and
    the control is that of `outcomes_of_nobody`.
    Cost: O(targets).
    Source: SCIENCE sections 1 and 2; Torra 2024 (Reid, K.Reid), with ties shared; the control is anonymeter's idea.

    Example: constant released data: every credit is 1/n, nobody is exposed, the truth is always among the nearest.
    """
    file = _File(scene, schema, subgroups)
    if result.outcomes is None or result.status not in ("ok", "not_followed"):
        return tuple(_create_blank_estimates(result, file))
    if result.status == "not_followed":
        return tuple(_lower_bounds(result, linkage_estimates(replace(result, status="ok"), scene, schema, subgroups), file))
    sample = _Sample(result, result.outcomes, scene.units.n_units, scene)
    if isinstance(scene.belonging, NoAlignment):
        unknown = _create_blank_estimates(replace(result, status="not_applicable", reason=ROWS_OF_NOBODY), file)
        return (*(one for one in unknown if not MEASURES[one.measure].of_nobody), *_values(sample, file))
    if _is_of_the_curve(result):
        return tuple(one for one in _rates(sample) if one.measure in OF_THE_CURVE)
    figures = (_rates(sample), _estimate_known_links(sample), _absent(sample), _groups(sample, file), _subgroups(sample, file))
    return (*(one for some in figures for one in some), *_values(sample, file))


@dataclass(frozen=True, slots=True)
class _File:
    """What is attacked, and the parts of its targets that are looked at apart."""

    scene: GroundTruth
    schema: Schema
    subgroups: tuple[Subgroup, ...]


@dataclass(frozen=True, slots=True)
class _Sample:
    """The scored targets of one attack, and how many there are in all."""

    result: AttackResult
    outcomes: Microdata
    population: int
    scene: GroundTruth

    @property
    def exact(self) -> bool:
        return self.outcomes.n == self.population

    def part(self, members: Booleans, population: int) -> _Sample:
        """The scored targets that are members of a part of all targets, which has so many members."""
        return replace(self, outcomes=self.outcomes.take(np.flatnonzero(members)), population=population)

    def truths(self, name: str) -> Booleans:
        return np.asarray(self.outcomes.floats(name) == 1)

    def targets(self) -> Integers:
        """The unit of each scored target."""
        return self.scene.units.of_row[self.outcomes.floats("target").astype(np.int64)]

    def share(self, measure: str, hits: Booleans) -> Estimate:
        """A share of targets: counts of a sample are hypergeometric."""
        if not len(hits):
            return self.nobody(measure)
        count = int(hits.sum())
        interval = hypergeometric_interval(count, len(hits), self.population)
        return self.estimate(measure, count / len(hits), interval, credit="indicator")

    def mean(self, measure: str, values: Floats, *, attribute: str | None = None, subgroup: str | None = None) -> Estimate:
        """A mean of credits in [0, 1]."""
        if not len(values):
            return self.nobody(measure)
        interval = compute_bounded_mean_interval(values, self.population)
        mean = math.fsum(values) / len(values)
        return self.estimate(measure, mean, interval, credit="shared", attribute=attribute, subgroup=subgroup)

    def mean_size(self, measure: str, sizes: Floats) -> Estimate:
        """A mean of set sizes in 1..n, which is wide where a sample of small sets leaves room for one of n rows."""
        least = 1 if self.scene.complete else 0
        others = max(self.scene.most_candidates - least, 1)
        unit = compute_bounded_mean_interval((sizes - least) / others, self.population)
        interval = Interval(least + unit.low * others, least + unit.high * others)
        return self.estimate(measure, float(sizes.mean()), interval, credit=None)

    def nobody(self, measure: str) -> Estimate:
        """What is said of a part of the targets of whom none was drawn."""
        return self.nothing(measure, "none of the targets that were drawn belongs to this part")

    def nothing(self, measure: str, reason: str) -> Estimate:
        """A figure that cannot be given, and why."""
        blank = self.estimate(measure, 0.0, Interval(0, 0), credit=None)
        return replace(blank, value=None, low=None, high=None, status="not_applicable", reason=reason)

    def estimate(
        self,
        measure: str,
        value: float,
        interval: Interval,
        *,
        credit: str | None,
        attribute: str | None = None,
        subgroup: str | None = None,
    ) -> Estimate:
        if self.result.links_depend:
            interval = _widen_to_any_share(measure, interval)
        return Estimate(
            measure=measure,
            attack=self.result.attack,
            intruder=self.result.intruder,
            attribute=attribute,
            subgroup=subgroup,
            value=value,
            low=value if self.exact else interval.low,
            high=value if self.exact else interval.high,
            reason=ONE_SHARE if self.result.links_depend else None,
            unit=MEASURES[measure].unit,
            basis="exact" if self.exact else "sampled_targets",
            credit=credit,
            n_targets=self.outcomes.n,
            n_in_release=int(self.truths("in_release").sum()) if "in_release" in self.outcomes.names else None,
            counts=self.result.counts,
        )


ONE_SHARE = (
    "who is linked depends on which records he holds: what holds of this share bounds no other one from above, and limits are "
    "not shown to be kept"
)
LEARNED_FROM_ALL = (
    "the margin is calibrated on people whose links the distance was learned from, as it was from those of the people counted: "
    "no intruder can assert as much"
)
LINKED_TO_OTHERS = (
    "read off the records of other people, as they stand in the source, because no released row is the target's own: what "
    "follows of such people from what the intruder knows"
)
_SAMPLED_MARGINS = "whose margin is large enough is found on all targets, and only a sample of them was scored"


def _widen_to_any_share(measure: str, interval: Interval) -> Interval:
    """The interval without the end that would show a limit to be kept."""
    if MEASURES[measure].better == "higher":
        return Interval(0.0, interval.high)
    return Interval(interval.low, MEASURES[measure].largest or 1.0)


def _rates(sample: _Sample) -> Iterator[Estimate]:
    credit = sample.outcomes.floats("credit")
    yield replace(sample.mean("reidentification", credit), chance=sample.result.chance, chance_kind=sample.result.chance_kind)
    if "posterior" in sample.outcomes.names:
        yield _estimate_posterior_at_truth(sample)
    yield sample.share("records_exposed", credit >= EXPOSED_FROM)
    largest = float(credit.max())
    yield sample.estimate("max_record_risk", largest, Interval(largest, 1.0), credit=sample.result.credit)
    yield sample.share("truth_among_nearest", sample.truths("among_nearest"))
    yield sample.mean_size("mean_candidate_set_size", sample.outcomes.floats("candidates"))


def _estimate_posterior_at_truth(sample: _Sample) -> Estimate:
    """Its chance is that of the same probabilities, were the released rows dealt out anew."""
    found, facts = sample.mean("posterior_at_truth", sample.outcomes.floats("posterior")), sample.result.probable
    if facts is None:
        return replace(found, chance=sample.result.chance, chance_kind=sample.result.chance_kind)
    if facts.chance_at_truth is not None:
        return replace(found, chance=facts.chance_at_truth, chance_kind="permutation")
    return replace(found, chance=facts.dealt_out, chance_kind=None if facts.dealt_out is None else "uniform_guess")


def _estimate_known_links(sample: _Sample) -> Iterator[Estimate]:
    sound = sample.outcomes.floats("sound_candidates")
    if not np.isnan(sound).all():
        yield sample.share("known_links", sound == 1)
        yield sample.share("known_reidentification", sample.truths("known"))
    elif "margin" in sample.outcomes.names and not sample.exact:
        yield from (sample.nothing(measure, _SAMPLED_MARGINS) for measure in ("known_links", "known_reidentification"))
    elif "margin" in sample.outcomes.names:
        right = sample.truths("named_right")
        claims = compute_assertion_shares(sample.outcomes.floats("margin"), right)
        caution = None if sample.result.learned is None else LEARNED_FROM_ALL
        yield replace(sample.mean("known_links", claims), reason=caution)
        yield replace(sample.mean("known_reidentification", claims * right), reason=caution)


def _absent(sample: _Sample) -> Iterator[Estimate]:
    released = sample.scene.rows_by_unit.sizes > 0
    if released.all():
        return
    there, n_there = sample.truths("in_release"), int(released.sum())
    present = sample.part(there, n_there)
    rate = present.mean("reidentification_present", present.outcomes.floats("credit"))
    chance = _chance(sample, sample.scene, released) if n_there else None
    if n_there and sample.result.chance is not None and sample.result.chance_kind == "permutation":
        chance = sample.result.chance * len(released) / n_there  # of the absent nobody is linked rightly
    yield replace(rate, chance=chance, chance_kind=sample.result.chance_kind)
    absent = sample.part(~there, len(released) - n_there)
    yield absent.share("false_links_absent", absent.outcomes.floats("candidates") == 1)


def _chance(sample: _Sample, scene: GroundTruth, of: Booleans) -> float:
    return scene.chance(of, searched=sample.result.direction == "to_original", n_given=sample.result.n_given)


def _groups(sample: _Sample, file: _File) -> Iterator[Estimate]:
    exposed = np.zeros(file.scene.units.n_units, dtype=bool)
    exposed[sample.targets()[sample.outcomes.floats("credit") >= EXPOSED_FROM]] = True
    for name in file.schema.find_by_role(Role.GROUP):
        (group,) = encode_jointly(file.scene.original.column(name))
        n_groups = int(group.max(initial=-1)) + 1
        found = np.unique(group[exposed[file.scene.units.of_row] & (group >= 0)])
        if n_groups:
            share = len(found) / n_groups
            yield sample.estimate("groups_exposed", share, Interval(share, 1.0), credit="indicator", attribute=name)


def _subgroups(sample: _Sample, file: _File) -> Iterator[Estimate]:
    targets = sample.targets()
    for subgroup in _select_subgroups(sample.result, file):
        members = subgroup.members[targets]
        if members.sum() >= FEWEST:
            part = sample.part(members, int(subgroup.members.sum()))
            credit = part.outcomes.floats("credit")
            rate = part.mean("subgroup_reidentification", credit, attribute=subgroup.attribute, subgroup=subgroup.name)
            if sample.result.chance_kind == "permutation":
                yield rate  # what a learner finds by luck in one part of the targets was not measured
                continue
            chance = _chance(sample, file.scene, subgroup.members)
            yield replace(rate, chance=chance, chance_kind="uniform_guess")


def _values(sample: _Sample, file: _File) -> Iterator[Estimate]:
    for name in (one for one in _unknown_to(sample.result, file.schema) if f"linked:{one}" in sample.outcomes.names):
        told = sample.scene.find_known_units(name)
        part = sample if told.all() else sample.part(told[sample.targets()], int(told.sum()))
        linked = part.mean("linked_value_disclosed", part.outcomes.floats(f"linked:{name}"), attribute=name)
        chance = majority_chance(file.scene, name) if told.any() else None
        yield replace(linked, chance=chance, chance_kind="majority")
        if f"control:{name}" in part.outcomes.names:
            control = part.mean("linked_value_control", part.outcomes.floats(f"control:{name}"), attribute=name)
            nobodys = isinstance(sample.scene.belonging, NoAlignment) and control.status == "ok"
            yield replace(control, basis="control_group", reason=LINKED_TO_OTHERS) if nobodys else control


def majority_chance(scene: GroundTruth, name: str) -> float:
    """The share of people whose value is the release's most frequent one; several equally frequent ones share the guess.

    Missing is a value of its own, as in the attack's `linked:` columns. A person counts with the share of their rows, whichever
    of them an intruder would use. Of a file of the intruder those count whose value the source tells.
    Example: a released constant c: the share of c.
    """
    original, masked = encode_jointly(scene.original.column(name), scene.masked.column(name))
    counts = np.bincount(masked + 1)
    modes = np.flatnonzero(counts == counts.max()) - 1
    hits = np.isin(original, modes)
    told = scene.find_known_units(name)
    if scene.units.counts == "records":
        return float(hits[told].mean() / len(modes))
    rows = np.bincount(scene.units.of_row, minlength=scene.units.n_units)
    return float((np.bincount(scene.units.of_row, weights=hits) / rows)[told].mean() / len(modes))


def _create_blank_estimates(result: AttackResult, file: _File) -> Iterator[Estimate]:
    """None for every figure that a policy may limit, so that each line sees that the attack did not run."""
    for measure in LINKAGE:
        for attribute, subgroup in _subjects(measure.name, result, file) if measure.better is not None else ():
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

    A guess among sampled orbits bounds BOUNDED_BELOW alone, an attack by what could be followed of the steps every risk.
    """
    found = {one.id: one for one in figures if one.status == "ok" and (result.partly_followed or one.measure in BOUNDED_BELOW)}
    for blank in _create_blank_estimates(result, file):
        one = found.get(blank.id)
        if one is None:
            yield blank
            continue
        measure, told = MEASURES[one.measure], replace(one, status="not_followed", reason=result.reason)
        yield replace(told, low=0.0) if measure.better == "higher" else replace(told, high=measure.largest or 1.0)


def _subjects(measure: str, result: AttackResult, file: _File) -> tuple[tuple[str | None, str | None], ...]:
    """What the figures of a measure would be about: attribute and subgroup."""
    if _is_of_the_curve(result) and measure not in OF_THE_CURVE:
        return ()
    match measure:
        case "reidentification_present":
            nobodys = isinstance(file.scene.belonging, NoAlignment)
            return () if nobodys or (file.scene.rows_by_unit.sizes > 0).all() else ((None, None),)
        case "posterior_at_truth":
            return ((None, None),) if result.method in WITH_PROBABILITIES else ()
        case "groups_exposed":
            return tuple((name, None) for name in file.schema.find_by_role(Role.GROUP))
        case "subgroup_reidentification":
            return tuple((subgroup.attribute, subgroup.name) for subgroup in _select_subgroups(result, file))
        case "linked_value_disclosed":
            return tuple((name, None) for name in _unknown_to(result, file.schema))
        case _:
            return ((None, None),)


def _select_subgroups(result: AttackResult, file: _File) -> tuple[Subgroup, ...]:
    return file.subgroups if result.intruder == DECLARED else ()


def _unknown_to(result: AttackResult, schema: Schema) -> tuple[str, ...]:
    """The confidential attributes that the intruder of an attack does not know already."""
    known = list_columns(result.intruder, schema.names)
    return tuple(name for name in schema.find_by_role(Role.CONFIDENTIAL) if name not in known)


def _is_of_the_curve(result: AttackResult) -> bool:
    return result.intruder.startswith(f"{CURVE}:")
