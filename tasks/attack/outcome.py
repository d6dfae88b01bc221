"""What an attack leaves behind: who attacked, knowing what, and how each scored target fared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from pydantic import InstanceOf

from tasks.attack.disclosure import linked_values
from tasks.attack.guesses import Guesses
from tasks.attack.links import Links
from tasks.microdata.estimate import Status
from tasks.microdata.table import Integers, Microdata


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackResult:
    """One attack by one intruder.

    attack: the attack's id. infers, knows_data, knows_mechanism: sentences for the report.
    direction, scale_by: None where the attack has no such choice. credit: a tie of t rows earns 1/t.
    n_release: rows of the release. chance: the mean credit of any guess that does not look, exactly 1/n_release.
    outcomes: one row per scored target; None where status is not ok (`reason` says why):
        target: the row of the original. credit: 1/t if the own row is among the t linked ones, else 0.
        among_nearest: is it? candidates: t. sound_candidates: rows that the intruder cannot rule out, the own one surely among
        them; missing where the attack has no such set.
        linked:A, control:A: for each confidential attribute A that the intruder does not know, see `linked_values`.
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
    chance: float
    outcomes: InstanceOf[Microdata] | None = None


def outcomes_of(
    original: Microdata,
    masked: Microdata,
    secrets: tuple[str, ...],
    guesses: Guesses,
    by_record: Links,
    targets: Integers,
    *,
    sound: bool,
) -> Microdata:
    """The outcomes of an attack, row i of `masked` being the released form of row i of `original`.

    secrets: confidential attributes of which the linked values are scored. guesses: those of the targets, in their order.
    by_record: links of the records to released rows.
    sound: may the intruder assert that the true row is in the candidate set?
    """
    sizes = guesses.sound_sizes
    columns = {
        "target": pa.array(targets),
        "credit": pa.array(guesses.credit(targets)),
        "among_nearest": pa.array(guesses.truth_among(targets)),
        "candidates": pa.array(guesses.tie_sizes().astype(np.int64)),
        "sound_candidates": pa.nulls(len(targets), pa.int64()) if sizes is None or not sound else pa.array(sizes),
    }
    for name in secrets:
        linked, control = linked_values(by_record, original.column(name), masked.column(name), targets)
        columns[f"linked:{name}"] = pa.array(linked)
        columns[f"control:{name}"] = pa.array(control)
    return Microdata.of(columns)
