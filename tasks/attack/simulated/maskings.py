"""Maskings that an intruder simulates: their own copy of the source, masked many times with seeds of their own."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np
import pyarrow.compute as pc
from pydantic import TypeAdapter

from tasks.mask.external_release.released import FalseDeclaration, Synthetic, Undeclared
from tasks.mask.methods import Masking, Mechanism, mask
from tasks.microdata.errors import InputError, NotFollowed
from tasks.microdata.schema import CATEGORICAL, Schema
from tasks.microdata.table import Booleans, Floats, Integers, Microdata, encode_jointly
from tasks.microdata.units import find_units

MOST_MASKINGS, FEWEST_MASKINGS = 100, 6
WANTED_PAIRS = 120_000  # of a record and its masked row, over all maskings
_SEED = hashlib.sha256(b"simulated law").digest()  # anybody's: it has nothing to do with that of the release


@dataclass(frozen=True, slots=True)
class SimulatedColumn:
    """One attribute in the source, in the release, and in the simulated maskings, as numbers; NaN is missing.

    own: shape (n,), in the order of `Simulation`. shown: shape (m,). images: shape (maskings, n), what each record became.
    is_ordered: are they positions, or codes of categories?
    """

    own: Floats
    shown: Floats
    images: Floats
    is_ordered: bool


@dataclass(frozen=True, slots=True)
class Simulation:
    """What the simulated maskings made of the source. columns: those that the intruder knows, in their order.

    order: shape (n,), the intruder's records in an order that depends on their values alone: in it they stand here. kept: shape
    (maskings, n): which records were released. Only these have images.
    """

    columns: tuple[SimulatedColumn, ...]
    order: Integers
    kept: Booleans


def simulate_maskings(
    original: Microdata,
    released: Microdata,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    knows: tuple[str, ...],
    *,
    n_masked: int | None = None,
) -> Simulation:
    """Mask the records again and again by the declared steps, and put what becomes of them beside the release.

    The records are put in an order that depends on their values alone, so that the order of the table tells nothing; the seeds
    are of the attack, never of the release. All attributes that the steps mask take part, whether this intruder knows them or
    not: the law is then at least as good as the one they could learn.

    n_masked: mask random units of about so many records each time; None: all records.

    Raises NotFollowed where a step is not known, or cannot be carried out on these records.
    """
    if any(isinstance(step, Undeclared | FalseDeclaration | Synthetic) for step in mechanisms):
        raise NotFollowed("nobody declared how the table was masked: there is nothing to simulate")
    steps = TypeAdapter(tuple[Masking, ...]).validate_python(mechanisms)
    names = sorted(original.names)
    order = pc.sort_indices(original.arrow, sort_keys=[(name, "ascending") for name in names]).to_numpy().astype(np.int64)
    people = original.take(order)
    shapes = replace(schema, attributes=tuple(sorted(schema.attributes, key=lambda one: one.name)))
    n_maskings = int(np.clip(-(-WANTED_PAIRS // max(original.n, 1)), FEWEST_MASKINGS, MOST_MASKINGS))
    try:
        drawn = [np.arange(people.n)] * n_maskings if n_masked is None else _draw_parts(people, shapes, n_masked, n_maskings)
        done = [mask(people.take(part), shapes, steps, seed=_SEED, path=(str(i),)) for i, part in enumerate(drawn)]
    except InputError as error:
        raise NotFollowed(f"the steps cannot be simulated on the intruder's records ({error.code})") from error
    rows = np.full((len(done), original.n), -1, dtype=np.int64)
    for row, part, one in zip(rows, drawn, done, strict=True):
        row[part[one.record]] = np.arange(one.data.n)
    tables = [one.data for one in done]
    columns = tuple(_create_column(people, released, tables, rows, schema, name) for name in knows)
    return Simulation(columns, order, rows >= 0)


def _draw_parts(people: Microdata, schema: Schema, n_masked: int, number: int) -> list[Integers]:
    """The records of random units, in ascending order, of about `n_masked` records each time."""
    units, rng = find_units(people, schema), np.random.default_rng(list(_SEED))
    size = min(max(round(units.n_units * n_masked / people.n), 1), units.n_units)
    chosen = np.argsort(rng.random((number, units.n_units)), axis=1)[:, :size]
    return [np.flatnonzero(np.isin(units.of_row, some)) for some in chosen]


def _create_column(
    original: Microdata, released: Microdata, tables: list[Microdata], rows: Integers, schema: Schema, name: str
) -> SimulatedColumn:
    attribute = schema[name]
    is_ordered = attribute.scale not in CATEGORICAL
    if is_ordered:
        own, shown, *masked = (table.positions(attribute) for table in (original, released, *tables))
    else:
        codes = encode_jointly(*(table.column(name) for table in (original, released, *tables)))
        own, shown, *masked = (np.where(one < 0, np.nan, one).astype(np.float64) for one in codes)
    images = np.stack(
        [np.where(row >= 0, values[np.maximum(row, 0)], np.nan) for values, row in zip(masked, rows, strict=True)]
    )
    return SimulatedColumn(own, shown, images, is_ordered)
