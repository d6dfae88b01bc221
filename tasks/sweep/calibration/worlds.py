"""Tables whose truth is known: made from a stated law, masked by the real masks, their rows dealt out or planted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tasks.mask.methods import Masking, MaskResult, Mechanism, mask
from tasks.microdata.alignment import Alignment, invert_permutation
from tasks.microdata.randomness import SEED_BYTES
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Integers, Microdata

Steps = tuple[Masking, ...]

KNOWN = {"age": Scale.NUMERIC, "size": Scale.NUMERIC, "grade": Scale.ORDINAL, "group": Scale.NOMINAL}
CONFIDENTIAL = "vote"
UNIQUE = ("key", "code", "name")  # three, so that no difference in what is masked outweighs them


@dataclass(frozen=True, slots=True)
class World:
    """A release and its truth. What an intruder knows: the originals of `knows`, the released rows, the steps."""

    original: Microdata
    masked: Microdata
    schema: Schema
    steps: tuple[Mechanism, ...]
    alignment: Alignment
    knows: tuple[str, ...]


Make = Callable[[int, Steps, np.random.Generator], World]  # of n records, masked by these steps


def create_schema(scales: Mapping[str, Scale], roles: Mapping[str, Role] | None = None) -> Schema:
    """Quasi-identifiers, unless another role is given."""
    given = roles or {}
    return Schema(
        tuple(Attribute(name, given.get(name, Role.QUASI_IDENTIFIER), scale, "declared") for name, scale in scales.items())
    )


SCHEMA = create_schema({**KNOWN, CONFIDENTIAL: Scale.NOMINAL}, {CONFIDENTIAL: Role.CONFIDENTIAL})


def draw_people(n: int, rng: np.random.Generator) -> Microdata:
    """n independent records: a number with ties, one without, an ordinal code, a nominal one (rare, and gaps), a secret."""
    group = rng.choice(np.array([*"abcdef", None], dtype=object), n, p=(0.4, 0.3, 0.04, 0.04, 0.04, 0.04, 0.14))
    columns: dict[str, Any] = {
        "age": rng.integers(18, 48, n),
        "size": np.round(rng.lognormal(3.0, 0.5, n), 2),
        "grade": rng.integers(1, 6, n),
        "group": pa.array(group.tolist(), pa.string()),
        CONFIDENTIAL: rng.choice(np.array(["x", "y", "z"]), n, p=(0.5, 0.3, 0.2)),
    }
    return Microdata.from_columns(columns)


def mask_data(data: Microdata, schema: Schema, steps: Steps, rng: np.random.Generator) -> MaskResult:
    """The real masks, with a seed drawn for the occasion."""
    return mask(data, schema, steps, seed=rng.bytes(SEED_BYTES), path=("calibration",))


def make_shuffled_rows_world(n: int, steps: Steps, rng: np.random.Generator) -> World:
    """A masked table whose rows are dealt out to the records at random: all is as stated but whose row is whose."""
    original = draw_people(n, rng)
    done = mask_data(original, SCHEMA, steps, rng)
    dealt = done.data.take(rng.permutation(n))
    return World(original, dealt, SCHEMA, done.mechanisms, create_shuffled_alignment(n, rng), tuple(KNOWN))


def make_shuffled_columns_world(n: int, steps: Steps, rng: np.random.Generator) -> World:
    """A masked table of which every column is shuffled by itself: the values are right, and the rows belong to nobody."""
    original = draw_people(n, rng)
    done = mask_data(original, SCHEMA, steps, rng)
    columns = {name: done.data.column(name).take(pa.array(rng.permutation(n))) for name in done.data.names}
    return World(
        original, Microdata.from_columns(columns), SCHEMA, done.mechanisms, create_shuffled_alignment(n, rng), tuple(KNOWN)
    )


def make_unrelated_world(n: int, steps: Steps, rng: np.random.Generator) -> World:
    """A table of other people, drawn from the same law and masked in the same way."""
    original = draw_people(n, rng)
    done = mask_data(draw_people(n, rng), SCHEMA, steps, rng)
    return World(original, done.data, SCHEMA, done.mechanisms, create_shuffled_alignment(n, rng), tuple(KNOWN))


def make_masked_world(n: int, steps: Steps, rng: np.random.Generator) -> World:
    """A release as it is made, sampled records left out; its rows are whose they are."""
    original = draw_people(n, rng)
    done = mask_data(original, SCHEMA, steps, rng)
    alignment = Alignment(done.record, invert_permutation(done.order), n)
    return World(original, done.data, SCHEMA, done.mechanisms, alignment, tuple(KNOWN))


def make_ordered_world(n: int, steps: Steps, rng: np.random.Generator) -> World:
    """A release that keeps the order of the source."""
    made = make_masked_world(n, steps, rng)
    alignment = Alignment(made.alignment.record, np.arange(made.masked.n), n)
    return replace(made, alignment=alignment)


def make_person_world(n: int, steps: Steps, rng: np.random.Generator) -> World:
    """The same of persons who have two rows each on average, some one and some many; n: rows."""
    data = draw_people(n, rng)
    columns = {"who": rng.integers(0, n // 2, n), **{name: data.column(name) for name in data.names}}
    original = Microdata.from_columns(columns)
    schema = Schema((Attribute("who", Role.PERSON, Scale.CODE, "declared"), *SCHEMA.attributes))
    done = mask_data(original, schema, steps, rng)
    return World(original, done.data, schema, done.mechanisms, Alignment.complete_in(done.order), tuple(KNOWN))


def make_partial_world(n: int, steps: Steps, rng: np.random.Generator) -> World:
    """Rows of other people for 60 % of the records, who are anybody; the others are not released."""
    apart = make_unrelated_world(n, steps, rng)
    m = round(0.6 * n)
    record = np.sort(rng.permutation(n)[:m])
    alignment = Alignment(record, rng.permutation(m), n)
    return World(apart.original, apart.masked.take(np.arange(m)), SCHEMA, apart.steps, alignment, apart.knows)


def make_planted_world(n: int, share: float, steps: Steps, rng: np.random.Generator) -> tuple[World, Integers]:
    """A share of the records keep a key that nobody else has; the rest share one, and their rows are dealt out among them.

    Returns the world and the records that can be found for certain, who stand in their own place of the released file as well.
    """
    data = draw_people(n, rng)
    known = np.sort(rng.permutation(n)[: round(share * n)])
    rest = np.setdiff1d(np.arange(n), known)
    key = np.full(n, "of the rest", dtype=object)
    key[known] = [f"of {i}" for i in known]
    original = Microdata.from_columns(
        {**{name: data.column(name) for name in KNOWN}, **dict.fromkeys(UNIQUE, pa.array(key.tolist()))}
    )
    schema = create_schema({**KNOWN, **dict.fromkeys(UNIQUE, Scale.NOMINAL)})
    done = mask_data(original, schema, steps, rng)
    row, order = np.arange(n), np.arange(n)
    row[rest], order[rest] = rng.permutation(rest), rng.permutation(rest)
    world = World(original, done.data.take(row), schema, done.mechanisms, Alignment.complete_in(order), schema.names)
    return world, known


def create_shuffled_alignment(n: int, rng: np.random.Generator) -> Alignment:
    """Row i of the masked table is record i's; the released file stands in a random order."""
    return Alignment.complete_in(rng.permutation(n))
