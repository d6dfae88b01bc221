"""The masking methods: which there are, what each does, and how the steps of a release are applied in order."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, assert_never

import numpy as np
from pydantic import Field

from tasks.mask import microaggregation, pram, rank_swapping
from tasks.mask.fitting import fitting_attributes
from tasks.mask.images import Knowledge, before_masking
from tasks.mask.microaggregation import Microaggregation, microaggregate
from tasks.mask.pram import Pram, randomise
from tasks.mask.precision import Precision, precision_of
from tasks.mask.rank_swapping import RankSwapping, rank_swap
from tasks.mask.released import Undeclared
from tasks.mask.shown_digits import as_shown, in_kinds_of, together
from tasks.microdata.randomness import stream
from tasks.microdata.schema import MaskTargets, Schema
from tasks.microdata.table import Integers, Microdata

Masking = Annotated[Microaggregation | RankSwapping | Pram, Field(discriminator="method")]  # what a release file may ask for
Mechanism = Annotated[Microaggregation | RankSwapping | Pram | Undeclared, Field(discriminator="method")]  # what was done
Draw = Callable[..., np.random.Generator]  # the stream of a step, or of a named part of it


@dataclass(frozen=True, slots=True)
class Masked:
    """A masked table before it is shuffled.

    data: the published columns, masked, in the order of the source's rows.
    mechanisms: the steps with their attributes resolved: all that an intruder can know who knows the method. Never the seed.
    order: a random permutation of the rows: row order[i] of `data` is row i of the released file.
    """

    data: Microdata
    mechanisms: tuple[Mechanism, ...]
    order: Integers


def targets(step: Masking) -> MaskTargets:
    """Which attributes a step names, and which scales it can mask."""
    match step:
        case Microaggregation():
            return MaskTargets(step.named, microaggregation.SCALES)
        case RankSwapping():
            return MaskTargets(step.attributes, rank_swapping.SCALES)
        case Pram():
            return MaskTargets(step.attributes, pram.SCALES)
        case _:
            assert_never(step)


def mask(data: Microdata, schema: Schema, steps: tuple[Masking, ...], *, seed: bytes, path: tuple[str, ...]) -> Masked:
    """Apply masking steps in order.

    Each step draws from a stream of its own, named by `path`, its place and its parameters: changing one moves no other.
    Numbers are rounded after each step to the precision that the source column shows; columns that no step names, and all
    rows, stay as they are, bit for bit.

    Parameters
    ----------
    data: the source, with at least the columns of `schema`. seed: 32 secret bytes. path: names the source and the release.

    Returns the published columns, aligned with the source's rows, what was done, and an order for the released file.

    Raises InputError for a step that does not fit the table. Example: without steps the published columns come back unchanged.
    """
    mechanisms = tuple(resolved(step, schema, f"masking[{i}]") for i, step in enumerate(steps))
    published = data.select(schema.published)
    precision = precision_of(published, {name for step in mechanisms for name in step.attributes or ()})
    for i, step in enumerate(mechanisms):
        draw = partial(stream, seed, *path, f"{i}:{step.method}", _canonical(step))
        published = _applied(published, data, schema, step, precision=precision, draw=draw, where=f"masking[{i}]")
    # steps and columns are in the path: two different releases of one source must not show their rows in one order
    steps_and_columns = (*(_canonical(step) for step in mechanisms), *schema.published)
    order = stream(seed, *path, "order", *steps_and_columns).permutation(data.n)
    return Masked(published, mechanisms, order)


def resolved(step: Masking, schema: Schema, where: str) -> Masking:
    """The step with the attributes it masks written out; InputError where one of them does not fit."""
    return step.model_copy(update={"attributes": fitting_attributes(targets(step), schema, where)})


def refuse_unfit(data: Microdata, schema: Schema, steps: tuple[Mechanism, ...]) -> None:
    """Refuse steps that `mask` would refuse for what the table holds, without masking it. steps: resolved."""
    for i, step in enumerate(steps):
        if isinstance(step, Microaggregation):
            microaggregation.refuse_unfit(data, schema, step, where=f"masking[{i}]")


def conclusions(originals: Microdata, released: Microdata, schema: Schema, mechanisms: tuple[Mechanism, ...]) -> Knowledge:
    """What an intruder concludes who holds `originals` (his attributes, all records), the released table and the steps.

    originals: one row per record, the columns he knows. released: the released table, rows in any order; one that was masked
    elsewhere may show decimals where the source has whole numbers, and more or fewer digits than the source.
    """
    originals = in_kinds_of(originals, released)
    precision = precision_of(together(originals, released.select(originals.names)), originals.names)
    knowledge = before_masking(originals)
    for step in mechanisms:
        match step:
            case Microaggregation():
                knowledge = microaggregation.conclude(knowledge, schema, step, precision=precision)
            case RankSwapping():
                knowledge = rank_swapping.conclude(knowledge, schema, step, released=released)
            case Pram():
                knowledge = pram.conclude(knowledge, originals, schema, step, released=released)
            case Undeclared():
                knowledge = knowledge.doubting(step.attributes)
            case _:
                assert_never(step)
    return replace(knowledge, believed=as_shown(knowledge.believed, released))


def describe() -> tuple[dict[str, str], ...]:
    """One row per method, for `sdcert methods mask`."""
    return (
        {
            "method": "microaggregation",
            "what it does": "groups records by MDAV and publishes the group's mean (ordinal: its median category)",
            "scales": "numeric, ordinal, date, time",
            "parameters": "k (smallest group), attributes, blocks (parts grouped separately; default: all jointly)",
            "an intruder who knows it": "repeats the partition on his own file and is left with one group; the groups of "
            "two or more blocks intersect, and little is left to guess",
            "answered by": "transparency",
        },
        {
            "method": "rank_swapping",
            "what it does": "exchanges pairs of values whose ranks are near, in each attribute alone",
            "scales": "numeric, ordinal, date, time",
            "parameters": "window_percent (how far a value moves, in percent of the ranks), attributes",
            "an intruder who knows it": "lists for each attribute the rows within the window and intersects the lists; "
            "a single row left is a certain match",
            "answered by": "transparency",
        },
        {
            "method": "pram",
            "what it does": "draws each category anew by a transition matrix, each cell by itself",
            "scales": "nominal, code, ordinal",
            "parameters": "one of retention (probability that a category stays), epsilon (randomised response), matrix; "
            "attributes",
            "an intruder who knows it": "weighs each row by Bayes' rule: how probable it is as the image of his "
            "record, against how probable it is at all",
            "answered by": "transparency",
        },
    )


def _applied(
    data: Microdata, source: Microdata, schema: Schema, step: Masking, *, precision: Precision, draw: Draw, where: str
) -> Microdata:
    match step:
        case Microaggregation():
            return microaggregate(data, schema, step, precision=precision, where=where)
        case RankSwapping():
            return rank_swap(data, schema, step, rng=draw(), where=where)
        case Pram():
            rngs = {name: draw(name) for name in step.attributes or ()}
            return randomise(data, source, schema, step, rngs=rngs, where=where)
        case _:
            assert_never(step)


def _canonical(step: Masking) -> str:
    return json.dumps(step.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
