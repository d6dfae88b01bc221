"""The lines of a drafted policy on inference and on membership, or the questions where no limit could be kept or would fail."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flows.cli.draft.column_proposals import DraftColumn, DraftEntry
from flows.cli.draft.expected import UNUSED_SEED
from flows.questions import DECIDE
from tasks.attack.membership.closest_record import ClosestRecord
from tasks.attack.membership.density_ratio import DensityRatio
from tasks.attack.membership.frame import count_targets, create_frame
from tasks.attack.membership.methods import attack_table
from tasks.mask.control import set_aside
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.microdata.codes import joint_codes, row_codes
from tasks.microdata.errors import InputError, NotFollowed
from tasks.microdata.escaping import escape_terminal
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Microdata
from tasks.microdata.units import find_units
from tasks.score.membership.membership_estimates import membership_estimates
from tasks.score.membership.sample_size import find_sample_size

MORE_THAN_MAJORITY = 0.1
LARGEST_LIMIT = 0.95  # of what is told of a confidential value: beyond it a limit says next to nothing
LONGEST_SHOWN = 60  # letters of a name in a question
LONGEST_EXAMPLE = 450  # letters of a line in a question, of which a name whose letters are escaped could fill six times as many
MARGIN = 0.15  # of a limit on membership above what is rehearsed, for the interval and for chance
WIDEST = 0.06  # half of an interval that fits into the margin
REHEARSED = 5000  # rows at most; in fewer rows groups are wider, and tell no less
LARGEST_ADVANTAGE = 0.5  # a limit beyond it protects next to nobody: whether that is enough is a question
LARGEST_CONTROL = 0.2  # of the people
ENOUGH_CONTROL = 1000  # people: more make the interval hardly narrower
SAFE_DEVIATIONS = 4  # by how many standard deviations more people of a pattern of gaps may be set aside than on average
MEMBERSHIP = (
    "May anybody be able to tell that a person is in these data? If it does no harm (everybody of a register is in them, say), "
    "write in a sentence why it is not limited: it is signed, and stands beside the verdict. If it does, a line of the policy "
    "limits it: `measure: membership_advantage, at_most: 0.2`, with `control: 0.2` at the top of the file, the share of the "
    "people who are set aside so that it can be measured."
)


def limit_inference(data: Microdata, columns: Sequence[DraftColumn]) -> list[DraftEntry]:
    """A line for each confidential column: its values are told a little more often than its most frequent value is right.

    Where that value is right of nearly everybody, such a limit could not fail, and a question stands in its place.
    """
    return [_limit_column(data, column.name) for column in columns if column.attribute.role is Role.CONFIDENTIAL]


def _limit_column(data: Microdata, name: str) -> DraftEntry:
    most = float(np.bincount(joint_codes([row_codes(data, (name,))], data.n)).max()) / data.n
    column = (
        escape_terminal(name) if len(escape_terminal(name)) <= LONGEST_SHOWN else f"{escape_terminal(name)[:LONGEST_SHOWN]}..."
    )
    if most + MORE_THAN_MAJORITY <= LARGEST_LIMIT:
        limit = round(most + MORE_THAN_MAJORITY, 2)
        why = f"The value of {column} is told of at most {limit:.0%} of the people; the most frequent alone of {most:.0%}."
        return DraftEntry({"measure": "linked_value_disclosed", "attribute": name, "at_most": limit}, (why,))
    halfway = round((1 + most) / 2, 4)
    line = f"`measure: linked_value_disclosed, attribute: {json.dumps(name)}, at_most: {halfway:g}`"
    example = f", such as {line} (half of the others)" if len(line) <= LONGEST_EXAMPLE else ""
    half = f"Write a limit below 1{example}" if halfway < 1 else "No limit could fail"
    question = (
        f"Of how many people may the value of {column} be told rightly? The most frequent value alone is right of "
        f"{100 * most:.4g} %. {half}; or delete this line, and write under `not_limited`, as the reason for `inference`, why "
        "no confidential value needs a limit"
    )
    return DraftEntry({DECIDE: question}, (f"How often the value of {column} is told.",))


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
    part = data.take(np.sort(rng.permutation(data.n)[:REHEARSED]))
    units = find_units(part, schema)
    rest, _ = set_aside(units, LARGEST_CONTROL, rng=rng)
    member = np.zeros(part.n, dtype=bool)
    member[rest] = True
    step = Microaggregation(method="microaggregation", attributes=tuple(grouped), k=k)
    released = mask(part.take(rest).select(schema.release_columns), schema, (step,), seed=UNUSED_SEED, path=("draft",)).data
    frame = create_frame(units, member, ~member, rng=rng)
    knows = schema.find_by_role(Role.QUASI_IDENTIFIER)
    attacks = (ClosestRecord(method="closest_record"), DensityRatio(method="density_ratio"))
    results = (attack_table(spec, part, released, schema, frame, knows) for spec in attacks)
    found = (one for result in results for one in membership_estimates(result, frame))
    return max((one.value for one in found if one.measure == "membership_advantage" and one.value is not None), default=0.0)
