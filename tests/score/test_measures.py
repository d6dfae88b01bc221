"""What every measure must have, whatever it measures: a new one is held to this without being listed anywhere (0 s).

docs/ADD_A_MEASURE.md shows how to add one.
"""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from tasks.mask.groups.microaggregation import Microaggregation
from tasks.microdata.alignment import Alignment
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.score import catalogue
from tasks.score.catalogue import FAMILIES, LOSS, MEASURES
from tasks.score.figure_rounding import round_for_publication
from tasks.score.measure import Better, DisclosureKind, FigureScope, Measure, Population, RoundingRule, list_measures
from tasks.score.measures import disclosure, inference, linkage, local_privacy, loss, membership, model, singling_out
from tasks.score.methods import score

MODULES = (linkage, membership, inference, singling_out, model, disclosure, local_privacy, loss)
EVERY = pytest.mark.parametrize("measure", [one for family in FAMILIES for one in family], ids=lambda one: one.name)
NAMES = ("x", "y", "g")
SCALES = (Scale.NUMERIC, Scale.NUMERIC, Scale.NOMINAL)
SCHEMA = Schema(tuple(Attribute(n, Role.QUASI_IDENTIFIER, s, "declared") for n, s in zip(NAMES, SCALES, strict=True)))
PAIRS = np.arange(30) // 2
ORIGINAL = Microdata.from_columns({"x": np.arange(30.0), "y": np.arange(30.0) ** 2, "g": list("aab") * 10})
MASKED = Microdata.from_columns({"x": 2 * PAIRS + 0.5, "y": 4.0 * PAIRS**2, "g": ["a"] * 30})


def test_the_catalogue_holds_the_declarations_of_all_families():
    assert tuple(list_measures(module) for module in MODULES) == FAMILIES
    assert len(MEASURES) == sum(map(len, FAMILIES)), "two measures have one name"
    assert catalogue.LOSS in FAMILIES


def test_a_declaration_is_called_what_its_measure_is_called():
    for module in MODULES:
        for name, one in vars(module).items():
            assert not isinstance(one, Measure) or name == one.name.upper(), f"{one.name} is declared as {name}"


@EVERY
def test_the_words_of_a_measure_are_complete(measure):
    name = measure.name
    assert measure.says, f"{name}: `says` is missing"
    assert not measure.says.endswith("."), f"{name}: `says` is a line of a table, without a full stop"
    assert measure.title, f"{name}: `title` is missing"
    assert measure.sentence.endswith("."), f"{name}: `sentence` is no sentence"
    assert measure.chance, f"{name}: `chance` is missing; `none` if there is none"
    if measure in LOSS:
        assert measure.analyst.endswith("."), f"{name}: `analyst` does not say what the loss means for an analysis"


@EVERY
def test_the_range_and_the_rounding_of_a_measure_are_decided(measure):
    name = measure.name
    assert measure.unit, f"{name}: `unit` is missing"
    assert measure.better in (*get_args(Better), None), f"{name}: `better` is lower, higher or None"
    assert measure.about in get_args(FigureScope), f"{name}: `about` is unknown"
    assert measure.rounding in get_args(RoundingRule), f"{name}: `rounding` is unknown"
    assert measure.population in get_args(Population), f"{name}: `population` is unknown"
    assert measure.answers in (*get_args(DisclosureKind), None), f"{name}: `answers` names no kind of disclosure"
    assert measure.largest is None or measure.smallest < measure.largest, f"{name}: the range is empty"
    assert measure.unit != "share" or measure.largest == 1, f"{name}: a share is at most 1"
    of_people = measure.rounding in ("share", "hidden_share")
    assert not of_people or measure.unit == "share", f"{name}: only shares are rounded as shares of people"
    assert not measure.only_of_nobody or measure.of_nobody, f"{name}: `only_of_nobody` needs `of_nobody`"


@EVERY
def test_the_function_of_a_measure_is_there(measure):
    function = measure.load_function()
    assert callable(function), f"{measure.name}: `function` names no function"
    assert function.__doc__, f"{measure.name}: {measure.function} has no docstring with the formula"


@EVERY
def test_a_measure_of_two_tables_gives_figures_within_its_declaration(measure):
    if not measure.compares_tables or measure.only_of_nobody or measure.name == "epsilon":
        return  # epsilon is about PRAM steps, and there is none here
    steps = (Microaggregation(method="microaggregation", attributes=("x", "y"), k=2),)
    complete = Alignment.complete_in(np.arange(30))
    every = score(ORIGINAL, MASKED, SCHEMA, steps, (), (), alignment=complete, n_targets=30)
    found = [one for one in every if one.measure == measure.name]
    assert found, f"{measure.name}: {measure.function} gives no figure of this name"
    assert {one.unit for one in found} == {measure.unit}, f"{measure.name}: a figure has another unit"
    if measure.about != "table_and_attribute":
        assert {one.attribute is not None for one in found} == {measure.about == "attribute"}, f"{measure.name}: about whom?"
    for one in found:
        assert one.value is None or measure.smallest <= one.value, f"{measure.name}: {one.value} is below the range"
        assert one.value is None or measure.largest is None or one.value <= measure.largest, f"{measure.name}: {one.value}"
    shown = [one for one in round_for_publication(every) if one.measure == measure.name]
    assert [one.id for one in shown] == [one.id for one in found], f"{measure.name}: the public edition lacks a figure"
