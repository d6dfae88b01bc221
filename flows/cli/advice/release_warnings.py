"""What `sdcert check` warns of: parts of a release file that are legal, and cannot give what they ask for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tasks.attack.inference.model_answers import FEWEST_OF_SUBGROUP
from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.outcomes.outcome import count_sampled_units
from tasks.attack.target_looks import TargetLooks, find_largest_share, plan_looks
from tasks.mask.methods import resolve_steps
from tasks.microdata.alignment import ROWS_OF_NOBODY
from tasks.microdata.interval import ERROR
from tasks.microdata.schema import Role, Scale
from tasks.score.inference import compute_smallest_excess_limit
from tasks.score.look_decisions import BOUNDED_BY_GROUPS, BOUNDED_FROM_BELOW, compute_smallest_bound, is_beyond_samples
from tasks.score.measures.inference import INFERENCE_EXCESS, OF_CELLS, SUBGROUP_INFERENCE_EXCESS
from tasks.score.measures.linkage import KNOWN_LINKS, KNOWN_REIDENTIFICATION
from tasks.score.measures.singling_out import SINGLING_OUT
from tasks.score.membership.membership_estimates import others_needed
from tasks.score.membership.sample_size import GUESSES, compute_guess_bound, find_sample_size
from tasks.score.policy import FILE, PolicyLine, cannot_fail, find_rate
from tasks.score.singling_out import compute_smallest_singling_out_limits

if TYPE_CHECKING:
    from flows.release import ReleaseSpec
    from tasks.microdata.schema import Schema

OF_MARGINS = (KNOWN_LINKS.name, KNOWN_REIDENTIFICATION.name)


BUT_OF_GROUPS = (
    " (unless so many released rows are equal in all that the intruder knows that they bound it for everybody, as after "
    "microaggregation of all of it together)"
)


def list_release_warnings(
    release: ReleaseSpec,
    schema: Schema,
    asked: int | None = None,
    inferred: tuple[int, int] | None = None,
    isolated: tuple[int, int] | None = None,
    units: int | None = None,
) -> list[str]:
    """Warnings on attacks that are asked for and cannot answer, on policy lines that no release could keep, on odd classes.

    asked: members and others whom attacks on membership ask about, so many of each; None: there are no such attacks.
    inferred: members and others whose values are inferred; None: nobody's are. isolated: those on whom predicates are tried.
    units: the records, or persons, that are masked; None: not known.
    Pure: nothing is read. Each names its location in the release file.
    """
    return [
        *_find_silent_attacks(release),
        *_find_lines_on_a_share(release),
        *_find_lines_on_sampled_margins(release),
        *_find_lines_beyond_samples(release, units),
        *_find_lines_on_few_people(release, asked),
        *_find_narrow_inference_lines(release, inferred),
        *_find_narrow_singling_out_lines(release, isolated),
        *_find_lines_without_cells(release, schema),
        *_find_uncut_targets(release, schema),
    ]


def _find_uncut_targets(release: ReleaseSpec, schema: Schema) -> Iterator[str]:
    """A numeric target that is not cut: the model takes each of its values for a class that is unlike every other."""
    spec = release.model
    if spec is None or spec.learner is None or spec.target_quantiles is not None or spec.target not in schema:
        return
    recoded = any(
        step.method == "recoding" and spec.target in (step.explicit_attributes or ()) for step in release.masking or ()
    )
    if schema[spec.target].scale is Scale.NUMERIC and not recoded:
        yield (
            f"release.model.target ({spec.target}) is numeric, and each of its values is a class of its own, without order: "
            "cut it with `target_quantiles` (4 makes four classes of about equal size), or, if the numbers are codes, declare "
            f"that: `{spec.target}: {{scale: code}}` under `attributes`"
        )


def _find_silent_attacks(release: ReleaseSpec) -> Iterator[str]:
    for i, attack in enumerate(release.attacks or ()):
        location = f"attacks[{i}] ({attack.attack_id})"
        if not release.kind.has_owners and not attack.traits.attacks_synthetic_rows:
            yield f"{location} will end as not applicable, because {ROWS_OF_NOBODY}; take it out"
        elif release.intruder.records < 1 and (why := attack.traits.needs_all_records) is not None:
            yield (
                f"{location} will end as not applicable to the declared intruder and to insiders: {why}, and they "
                f"hold a share of "
                f"the records (`intruder.records: {release.intruder.records:g}`)"
            )


def _find_lines_on_a_share(release: ReleaseSpec) -> Iterator[str]:
    for i, line in enumerate(release.policy):
        fields = _list_fields_that_leave_out(release, line)
        if line.measure in BOUNDED_FROM_BELOW and fields and not cannot_fail(line):
            given = " and ".join(f"`intruder.{name}: {share:g}`" for name, share in fields.items())
            yield (
                f"policy[{i}] ({line.measure}) can only fail or stay undecided, so that the release is never certified: with "
                f"{given} not every record is looked at, and the others may be found more easily"
                f"{BUT_OF_GROUPS if line.measure in BOUNDED_BY_GROUPS else ''}; write 1.0 there, or limit another measure"
            )


def _find_lines_on_sampled_margins(release: ReleaseSpec) -> Iterator[str]:
    """Lines on links that are asserted by their margins, which all targets together set."""
    nearest = [attack.attack_id for attack in release.attacks_to_run if isinstance(attack, DistanceLinkage)]
    for i, line in enumerate(release.policy):
        fields = _list_fields_that_leave_out(release, line)
        if nearest and fields and line.measure in OF_MARGINS and line.accept_other_attacks is None and not cannot_fail(line):
            yield (
                f"policy[{i}] ({line.measure}) can only fail or stay undecided: which links of {', '.join(nearest)} can be "
                f"asserted is found on all targets, and with `intruder.{next(iter(fields))}` below 1 only some are scored; "
                "write 1.0 there, or limit another measure"
            )


def _find_lines_beyond_samples(release: ReleaseSpec, units: int | None) -> Iterator[str]:
    """Limits on a share of the targets that are below what the sample can show, however few of them are found."""
    attacked = find_largest_share(release.intruder.targets) * release.intruder.records
    if units is None or attacked >= 1 or not release.kind.is_table:
        return
    planned, sample = plan_looks(release.intruder.targets), count_sampled_units(units, attacked)
    bound = compute_smallest_bound(sample, units, planned[-1].error if planned else ERROR)
    for i, line in enumerate(release.policy):
        of_file = (line.intruder or "").startswith(FILE)
        if line.measure not in BOUNDED_FROM_BELOW and not of_file and is_beyond_samples(line, bound):
            yield (
                f"policy[{i}] ({line.measure}) can only fail or stay undecided, so that the release is never certified: "
                f"{sample:,} of {units:,} are attacked at most, and if nobody of them is found the bound is {bound:.2g}, "
                f"beyond {line.limit:g}{BUT_OF_GROUPS if line.measure in BOUNDED_BY_GROUPS else ''}; raise "
                f"`{'intruder.targets.last' if planned else 'intruder.targets'}`, or the limit"
            )


def _find_lines_on_few_people(release: ReleaseSpec, asked: int | None) -> Iterator[str]:
    """Upper limits on membership that so few people can hardly show to be kept, whatever the release tells."""
    if not asked:
        return
    whose = "this table" if release.control is None else "a control of this size"
    people = f"with {whose} attacks ask about {asked:,} members and as many others"
    for i, line in enumerate(release.policy):
        location, rate = f"policy[{i}] ({line.measure})", find_rate(line)
        if line.direction == "at_least" or cannot_fail(line):
            continue
        if rate is not None and asked < (needed := others_needed(rate)):
            yield f"{location} will stay undecided: {people}, and a rate of {100 * rate:g} % needs {needed:,} others"
        elif line.measure in GUESSES and (bound := compute_guess_bound(line.measure, asked)) > line.limit:
            enough = find_sample_size(line.measure, line.limit)
            more = "no number is enough for that" if enough is None else f"it needs at least {enough:,} of each"
            yield (
                f"{location} is likely to stay undecided although nothing is told: {people}, and what a guess reaches "
                f"has a 95 % "
                f"bound of {bound:.3g} then, beyond {line.limit:g}; {more}"
            )


def _find_narrow_inference_lines(release: ReleaseSpec, inferred: tuple[int, int] | None) -> Iterator[str]:
    """Limits on the excess of inference that so few people cannot show to be kept, whatever the release tells."""
    if inferred is None:
        return
    smallest = compute_smallest_excess_limit(*inferred)
    fewest = min((attack.fewest_of_subgroup for attack in release.inference_attacks), default=FEWEST_OF_SUBGROUP)
    of_part = compute_smallest_excess_limit(fewest, fewest)
    for i, line in enumerate(release.policy):
        if line.measure == INFERENCE_EXCESS.name and line.limit < smallest:
            yield (
                f"policy[{i}] ({line.measure}) is likely to stay undecided although nothing is told: with {inferred[0]:,} "
                f"people in the release and {inferred[1]:,} who are not, an excess of 0 has a 95 % bound of up to "
                f"{smallest:.3f}; limits below that cannot be decided"
            )
        elif line.measure == SUBGROUP_INFERENCE_EXCESS.name and line.limit < of_part:
            yield (
                f"policy[{i}] ({line.measure}) is likely to stay undecided although nothing is told: in a part of so few "
                f"people as `fewest_of_subgroup` allows, an excess of 0 has a 95 % bound of up to {of_part:.3f}; raise "
                "`fewest_of_subgroup`, or the limit"
            )


def _find_narrow_singling_out_lines(release: ReleaseSpec, isolated: tuple[int, int] | None) -> Iterator[str]:
    """Limits on singling out that so few people cannot show to be kept, however few of them chance isolates."""
    if isolated is None:
        return
    smallest, _ = compute_smallest_singling_out_limits(*isolated)
    for i, line in enumerate(release.policy):
        if line.measure == SINGLING_OUT.name and line.limit < smallest:
            yield (
                f"policy[{i}] ({line.measure}) is likely to stay undecided although nothing is told: with {isolated[0]:,} "
                f"people in the release and {isolated[1]:,} who are not, an excess of 0 has a 95 % bound of at least "
                f"{smallest:.3f}; limits below that cannot be decided"
            )


def _find_lines_without_cells(release: ReleaseSpec, schema: Schema) -> Iterator[str]:
    """Lines on cells where a step moves values of quasi-identifiers, so that nobody knows who is in a cell."""
    lines = [(i, line) for i, line in enumerate(release.policy) if line.measure in OF_CELLS]
    if not lines:
        return
    keys = set(schema.find_by_role(Role.QUASI_IDENTIFIER))
    moving = [step for step in resolve_steps(release.steps, schema, "masking") if step.moves_values]
    moved = {step.method: None for step in moving if keys.intersection(step.target_attributes)}
    for i, line in lines if moved else ():
        yield (
            f"policy[{i}] ({line.measure}) stays undecided: {', '.join(moved)} moves values of quasi-identifiers, and nobody "
            "knows in which cell somebody is; take the line out"
        )


def _list_fields_that_leave_out(release: ReleaseSpec, line: PolicyLine) -> dict[str, float]:
    """The fields of the intruder that leave records out of what a line is about, with their shares.

    Somebody who has an external file holds that, whatever share of the source's records the others hold.
    """
    of_files = (line.intruder or "").startswith(FILE)
    targets = release.intruder.targets
    last = "targets.last" if isinstance(targets, TargetLooks) else "targets"
    shares = {"records": 1.0 if of_files else release.intruder.records, last: find_largest_share(targets)}
    return {name: share for name, share in shares.items() if share < 1}
