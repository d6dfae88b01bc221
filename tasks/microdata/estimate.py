"""`Estimate`: a figure that can decide something, with its interval, its chance baseline and its counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

Basis = Literal["exact", "sampled_targets", "sequential_targets", "control_group", "simulation"]
Status = Literal["ok", "not_applicable", "not_followed", "failed"]
ChanceKind = Literal["uniform_guess", "all_pairs", "majority", "permutation", "independent_columns"]
CONFIDENCE = 0.90  # two-sided; so each end alone is the one-sided 95 % bound that a policy decides on
BOUND_CONFIDENCE = (1 + CONFIDENCE) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """One figure about a release.

    measure: name of the measure (`sdcert methods score` lists them).
    basis: `sequential_targets` for a sample of targets that was taken at one of several planned looks.
    attack, intruder: id of the attack and of the intruder (`declared`, `insider:<attribute>`); None: no attack measured it.
    attribute: the attribute (or pair `a,b`) that the figure is about; None: the whole table.
    parameters: what else identifies the figure, e.g. (("p_percent", 5.0),).
    value, low, high: the figure and its interval at `confidence`; low = high = value where nothing was sampled; None where
        `status` is not ok, but for lower bounds (`is_lower_bound`). Measures of loss have no interval (None).
    chance, chance_kind: what a guess without the release would score, and what kind; None where there is no such thing.
    credit_rule: how a hit is counted (`shared`: a tie of t candidates earns 1/t; `indicator`; None).
    n_targets, n_in_release: how many targets were scored, how many of them are in the release; None for whole-table measures.
    subgroup: the part of the targets that the figure is about, e.g. `highest values` of the attribute; None: all targets.
    counts: what the targets are.
    unit: `share`, `percent`, `records`, or the unit of the attribute.
    """

    __pydantic_config__ = ConfigDict(serialize_by_alias=True)  # stored figures say `credit` for the rule

    measure: str
    value: float | None
    unit: str
    basis: Basis = "exact"
    status: Status = "ok"
    attack: str | None = None
    intruder: str | None = None
    attribute: str | None = None
    parameters: tuple[tuple[str, float], ...] = ()
    low: float | None = None
    high: float | None = None
    confidence: float = CONFIDENCE
    chance: float | None = None
    chance_kind: ChanceKind | None = None
    credit_rule: Annotated[str | None, Field(alias="credit")] = None
    n_targets: int | None = None
    n_in_release: int | None = None
    reason: str | None = None
    subgroup: str | None = None
    counts: Literal["records", "persons"] = "records"

    @property
    def bound_confidence(self) -> float:
        """Of each end of the interval alone: 0.95 of a two-sided interval of 0.9."""
        return (1 + self.confidence) / 2

    @property
    def is_lower_bound(self) -> bool:
        """Is the value only what a part of an attack found that could not be followed whole, so that it finds at least this?"""
        return self.status == "not_followed" and self.value is not None

    @property
    def id(self) -> str:
        """What tells this figure from every other of the same release; `split_id` takes it apart."""
        by = [part for part in (self.attack, self.intruder) if part is not None]
        of = [] if self.attribute is None else [self.attribute]
        given = [f"{name}={_format_shortest(number)}" for name, number in self.parameters]
        part = [] if self.subgroup is None else [self.subgroup]
        return "|".join(one.replace("~", "~0").replace("|", "~1") for one in (self.measure, *by, *of, *part, *given))


def name_bound(confidence: float) -> str:
    """`one-sided 98.75 % bound`. confidence: of this bound alone."""
    return f"one-sided {100 * confidence:.4g} % bound"


def join_attributes(names: Iterable[str]) -> str:
    """Several attributes as the one `attribute` of a figure: `a,b`; a comma inside a name is `\\,`, a backslash `\\\\`.

    So the list of a and b is another attribute than a column that is called `a,b`.
    """
    return ",".join(name.replace("\\", "\\\\").replace(",", "\\,") for name in names)


def split_id(figure_id: str) -> tuple[str, ...]:
    """The parts of an id in their order: measure, attack, intruder, attribute, subgroup, parameters; those that it has.

    Example: the bar inside a column's name is `~1` in the id, and a bar again here.
    """
    return tuple(part.replace("~1", "|").replace("~0", "~") for part in figure_id.split("|"))


def _format_shortest(number: float) -> str:
    short = f"{number:g}"
    return short if float(short) == number else repr(number)
