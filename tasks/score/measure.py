"""What a measure declares: its meaning, range and rounding, the words of the report, and the function that computes it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal

Better = Literal["lower", "higher"]
FigureScope = Literal["table", "attribute", "table_and_attribute"]
DisclosureKind = Literal["identity", "insiders", "inference", "membership", "earlier_releases"]
Population = Literal["targets", "present", "absent"]
RoundingRule = Literal["share", "hidden_share", "mean", "error", "statistic", "exact", "withheld"]


LOWEST, HIGHEST, RARE = "lowest values", "highest values", "rare categories"
SUBGROUPS = (LOWEST, HIGHEST, RARE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One measure: everything that is known of it before it is computed. docs/ADD_A_MEASURE.md shows how to add one.

    function: where its formula is, as `module.function`. It is text, so that a declaration is light to import.
    unit, smallest, largest: the unit and the range; `largest` is None where there is no largest value.
    better: the direction a publisher wants; None: the figure is a baseline for another one, or read beside its chance, and
    decides nothing.
    about: one figure per table, one per attribute, or both.
    chance: what a guess without the release scores, for `sdcert methods score`; `none` where there is no such thing.
    rounding: how a figure appears in the public edition (`score.figure_rounding`). `share`: in classes of ten people.
    `hidden_share`: the same with 2 digits, because the release does not show of how many people it is a share. `mean`: 2
    digits. `error`: 2 digits, or 6 for a table of several attributes. `statistic`: 2 digits and at most 3 decimals. `exact`:
    as it is, because it discloses no count of people (`score.figure_rounding`). `withheld`: not at all.
    says: one line for `sdcert methods score`. title, sentence, analyst: the words of the report in plain text; `analyst` says
    what a loss means for an analysis. The sentence calls the targets `attacked records`.
    answers: the kind of disclosure that a limit on it answers (`score.kinds`): `identity` for a figure of the declared
    intruder, which a line with `intruder: insider` makes one of `insiders`. None: it answers none by itself.
    by_attack: is there one figure per attack and intruder? by_subgroup: one per subgroup of the targets as well, and only for
    the declared intruder?
    of_membership: is it about who is in the file, and so of no intruder of the linkage attacks?
    of_inference: is it about values that are inferred (`tasks/attack/inference`), and so of none of the linkage attacks?
    of_singling_out: is it about predicates that isolate people (`tasks/attack/singling_out`)?
    only_of_model: is it about a released model, and no table?
    of_nobody: can it be measured where the rows of the release belong to nobody? only_of_nobody: nowhere else?
    of_earlier_releases: is it about what this release tells together with earlier ones, and measured only where one counts?
    has_parameters: does its function take the parameters of an entry of `measures` in the release file?
    takes_p_percent, takes_false_positive_rate: is there one figure for each?
    infinite_without_value: is a figure that is not applicable infinite, so that it breaks every limit?
    is_tail: is it about the people who are easiest to find, and no average over all of them?
    bounded_below: is it at least what somebody finds who guesses among the rows that a part of the attack leaves?
    population: whom a share counts: all targets, those in the release, or those who are not.
    chance_counts_people: is the chance level a share of people too, and rounded like one?
    """

    name: str
    function: str
    unit: str
    smallest: float = 0.0
    largest: float | None = None
    better: Better | None
    about: FigureScope
    chance: str
    rounding: RoundingRule
    says: str
    title: str
    sentence: str
    analyst: str = ""
    answers: DisclosureKind | None = None
    by_attack: bool = False
    by_subgroup: bool = False
    of_membership: bool = False
    of_inference: bool = False
    of_singling_out: bool = False
    only_of_model: bool = False
    of_nobody: bool = False
    only_of_nobody: bool = False
    of_earlier_releases: bool = False
    has_parameters: bool = False
    takes_p_percent: bool = False
    takes_false_positive_rate: bool = False
    infinite_without_value: bool = False
    is_tail: bool = False
    bounded_below: bool = False
    population: Population = "targets"
    chance_counts_people: bool = False

    @property
    def compares_tables(self) -> bool:
        """Is its function one of the original and the masked table alone, which `score` calls for every release?"""
        return not (self.by_attack or self.only_of_model or self.has_parameters or self.of_earlier_releases)

    @property
    def compares_people(self) -> bool:
        """Is it measured against people who are not in the release, of a rehearsal where nobody is known?"""
        return self.of_inference or self.of_singling_out

    def load_function(self) -> Callable[..., Any]:
        """The function that computes it. Raises ImportError if `function` leads to nothing."""
        module, _, name = self.function.rpartition(".")
        try:
            found: Callable[..., Any] = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise ImportError(f"measure {self.name}: `function` leads to nothing: {error}") from error
        return found


def list_measures(family: ModuleType) -> tuple[Measure, ...]:
    """The measures that a module declares, in the order of its text."""
    return tuple(one for one in vars(family).values() if isinstance(one, Measure))
