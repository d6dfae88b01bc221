"""Draft the policy lines on inference and membership, or questions where no limit could be kept or would fail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flows.cli.draft.column_proposals import DraftColumn, DraftEntry
from flows.cli.draft.expected import UNUSED_SEED
from tasks.attack.inference.experiment import count_people_asked
from tasks.attack.inference.model_based_disclosure import DEFAULT_INFERENCE_ATTACKS
from tasks.attack.membership.closest_record import ClosestRecord
from tasks.attack.membership.density_ratio import DensityRatio
from tasks.attack.membership.frame import count_targets, create_frame
from tasks.attack.membership.methods import attack_table
from tasks.attack.membership.values_present import ValuesPresent
from tasks.mask.control import set_aside
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.microdata.codes import joint_codes, row_codes
from tasks.microdata.errors import InputError, NotFollowed
from tasks.microdata.escaping import escape_terminal
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Microdata
from tasks.microdata.units import find_units
from tasks.score.inference import compute_smallest_excess_limit
from tasks.score.membership.membership_estimates import membership_estimates
from tasks.score.membership.sample_size import find_sample_size

MORE_THAN_MAJORITY = 0.1
LARGEST_TOLD = 0.85  # by the most frequent value alone: where it is right of more, next to nobody's value is a secret
EXCESS_MARGIN = 0.05  # of a limit on the excess above the smallest that can be decided
LARGEST_EXCESS = 0.3
LARGEST_ASSERTED = 0.05
LONGEST_SHOWN = 60  # letters of a name in a question
MOST_NAMED = 3
MARGIN = 0.15  # of a limit on membership above what is rehearsed, for the interval and for chance
WIDEST = 0.06  # half of an interval that fits into the margin
MOST_REHEARSED_ROWS = 5000  # in fewer rows groups are wider, and tell no less
LARGEST_ADVANTAGE = 0.5  # a limit beyond it protects next to nobody: whether that is enough is a question
LARGEST_CONTROL = 0.2  # of the people
ENOUGH_CONTROL = 1000  # people: more make the interval hardly narrower
SAFE_DEVIATIONS = 4  # by how many standard deviations more people of a pattern of gaps may be set aside than on average
REASON = "If it does no harm, write in a sentence why not: it is signed, and stands beside the verdict."
TOO_FEW = (
    "May confidential values be told? The table is too small to measure how much more it tells of its people than of others, "
    "so that a limit on it (`inference_excess`) would be left undecided."
)
MEMBERSHIP = (
    "May anybody be able to tell that a person is in these data? If it does no harm (everybody of a register is in them, say), "
    "write in a sentence why it is not limited: it is signed, and stands beside the verdict. If it does, a line of the policy "
    "limits it: `measure: membership_advantage, at_most: 0.2`, with `control: 0.2` at the top of the file, the share of the "
    "people who are set aside so that it can be measured."
)


@dataclass(frozen=True, slots=True)
class InferenceLimits:
    """The lines on what the release tells of confidential columns, and the question that they leave open; None: none."""

    lines: tuple[DraftEntry, ...] = ()
    question: str | None = None


def limit_inference(data: Microdata, columns: Sequence[DraftColumn], control: float | None = None) -> InferenceLimits:
    """Limit what the release tells of its own people beyond others, what can be asserted of somebody, and what links tell.

    Columns whose most frequent value is right of nearly everybody, with the release or without it, have no limit on what can be
    asserted or what links tell: a question is about them. If too few people could decide the first limit, the question is about
    all, and only links are limited.

    control: the share of the people who are set aside.
    """
    told = _find_majorities(data, columns)
    if not told:
        return InferenceLimits()
    secrets = {name: share for name, share in told.items() if share <= LARGEST_TOLD}
    by_links = tuple(_limit_links(name, share) for name, share in secrets.items())
    limit = _find_excess_limit(data, columns, control)
    if limit is None:
        return InferenceLimits(by_links, f"{TOO_FEW} {REASON}")
    excess = (
        f"What is inferred of a person from the release is right of at most {limit:.0%} more of the people in it than of "
        "others: as tight as so many people can decide."
    )
    asserted = f"An intruder can be sure (right of 95 in 100) of the value of at most {LARGEST_ASSERTED:.0%} of the people."
    about = [{}] if len(secrets) == len(told) else [{"attribute": name} for name in secrets]
    lines = (
        DraftEntry({"measure": "inference_excess", "at_most": limit}, (excess,)),
        *(DraftEntry({"measure": "inference_asserted", **one, "at_most": LARGEST_ASSERTED}, (asserted,)) for one in about),
        *by_links,
    )
    return InferenceLimits(lines, _ask_about([name for name in told if name not in secrets]))


def _ask_about(names: Sequence[str]) -> str | None:
    """The question on columns of which nearly everybody has one value; None: there is no such column."""
    if not names:
        return None
    shown = ", ".join(_shorten(name) for name in names[:MOST_NAMED])
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return (
        f"May the value of {shown}{more} be told? The most frequent value is right of more than {LARGEST_TOLD:.0%} of the "
        f"people, with the release or without it, so that an intruder can be sure of many. {REASON} If it does, a line of the "
        "policy limits it: `measure: inference_asserted, at_most: 0.5`"
    )


def _find_majorities(data: Microdata, columns: Sequence[DraftColumn]) -> dict[str, float]:
    """For each confidential column the share of the rows that have its most frequent value."""
    names = [column.name for column in columns if column.attribute.role is Role.CONFIDENTIAL]
    return {name: float(np.bincount(row_codes(data, (name,))).max()) / data.n for name in names}


def _find_excess_limit(data: Microdata, columns: Sequence[DraftColumn], control: float | None) -> float | None:
    """A limit on the excess that this many people can decide; None: they could decide a weak one only."""
    persons = tuple(column.name for column in columns if column.attribute.role is Role.PERSON)
    people = int(row_codes(data, persons).max()) + 1 if persons else data.n
    asked = count_people_asked(people, control, DEFAULT_INFERENCE_ATTACKS[0].train_at_most)
    limit = math.ceil(20 * (compute_smallest_excess_limit(*asked) + EXCESS_MARGIN)) / 20
    return limit if limit <= LARGEST_EXCESS else None


def _limit_links(name: str, most: float) -> DraftEntry:
    limit = round(most + MORE_THAN_MAJORITY, 2)
    why = f"Linked rows tell {_shorten(name)} of at most {limit:.0%} of the people; its most frequent value of {most:.0%}."
    return DraftEntry({"measure": "linked_value_disclosed", "attribute": name, "at_most": limit}, (why,))


def _shorten(name: str) -> str:
    shown = escape_terminal(name)
    return shown if len(shown) <= LONGEST_SHOWN else f"{shown[:LONGEST_SHOWN]}..."


@dataclass(frozen=True, slots=True)
class MembershipLimit:
    """A limit on `membership_advantage`, and the share of the people who are set aside so that it can be measured."""

    at_most: float
    control: float

    @property
    def line(self) -> DraftEntry:
        """The line of the policy."""
        why = (
            "How much more often an intruder takes members for members than people who are not in the release (0: never, "
            f"1: always). A rehearsal of these groups found about {self.at_most - MARGIN:.0%}; larger groups tell less.",
            f"This is measured on the people whom `control` sets aside ({self.control:.0%}, at random), never released. "
            "To release everybody, take both out, and write under `not_limited` why membership needs no limit.",
        )
        return DraftEntry({"measure": "membership_advantage", "at_most": self.at_most}, why)


def propose_membership_limit(data: Microdata, schema: Schema, grouped: Sequence[str], k: int) -> MembershipLimit | None:
    """A limit that the drafted groups can be expected to keep; None: too few people could decide it, or it is weak.

    schema: of all columns. grouped: those that are masked in groups of k among records with the same gaps, of which enough must
    be left. Tables with several rows of a person are not rehearsed.
    """
    share = min(LARGEST_CONTROL, math.ceil(100 * ENOUGH_CONTROL / data.n) / 100)
    aside = round(share * data.n)
    fewest = find_sample_size("membership_advantage", WIDEST)
    if schema.find_by_role(Role.PERSON) or fewest is None or count_targets(data.n - aside, aside, data.n) < fewest:
        return None
    pattern = int(np.bincount(joint_codes([data.missing(name).astype(np.int64) for name in grouped], data.n)).min())
    if pattern * (1 - share) - SAFE_DEVIATIONS * math.sqrt(pattern * share * (1 - share)) < k:
        return None
    try:
        limit = math.ceil(20 * (_rehearse_membership(data, schema, grouped, k) + MARGIN)) / 20
    except (InputError, NotFollowed):
        return None
    return MembershipLimit(limit, share) if limit <= LARGEST_ADVANTAGE else None


def _rehearse_membership(data: Microdata, schema: Schema, grouped: Sequence[str], k: int) -> float:
    """The largest advantage of the attacks on membership, with some rows and a fifth of them set aside; 0: none has one."""
    rng = np.random.default_rng(0)  # of a rehearsal: nothing of it is released
    part = data.take(np.sort(rng.permutation(data.n)[:MOST_REHEARSED_ROWS]))
    units = find_units(part, schema)
    rest, _ = set_aside(units, LARGEST_CONTROL, rng=rng)
    member = np.zeros(part.n, dtype=bool)
    member[rest] = True
    step = Microaggregation(method="microaggregation", attributes=tuple(grouped), k=k)
    released = mask(part.take(rest).select(schema.release_columns), schema, (step,), seed=UNUSED_SEED, path=("draft",)).data
    frame = create_frame(units, member, ~member, rng=rng)
    knows = schema.find_by_role(Role.QUASI_IDENTIFIER)
    closest, density = ClosestRecord(method="closest_record"), DensityRatio(method="density_ratio")
    attacks = (closest, density, ValuesPresent(method="values_present"))
    results = (attack_table(spec, part, released, schema, frame, knows) for spec in attacks)
    found = (one for result in results for one in membership_estimates(result, frame))
    return max((one.value for one in found if one.measure == "membership_advantage" and one.value is not None), default=0.0)
