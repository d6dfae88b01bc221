"""Rank swapping: in each attribute alone, pairs of values are exchanged, chosen by their ranks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from tasks.mask.carrying import follow_blocks
from tasks.mask.intruder_belief import Belief, DiscreteLikelihood
from tasks.mask.mask_text import MaskText
from tasks.mask.rank_law import spread_over_ranks
from tasks.mask.ranks.by_rank import (
    KEPT_COLUMNS,
    check_window,
    get_window_bound,
    infer_rank_intervals,
    move_bounds_by_ranks,
    permute_by_rank,
    ranks_in,
    window_ranks,
)
from tasks.mask.ranks.exchange import exchange_in_buckets, exchange_near, exchange_ranks, normal_targets
from tasks.mask.shared_advice import JOINTLY, Fields, begin_sentence, suggest_distance
from tasks.mask.step import Description, IntruderView, MaskContext, MaskingMethod, Randomness
from tasks.mask.value_bounds import ValueBounds
from tasks.microdata.errors import InputError
from tasks.microdata.numbers import SPACE, number
from tasks.microdata.schema import Scale, Schema
from tasks.microdata.spec import Percent, Public
from tasks.microdata.table import Integers, Microdata
from tasks.microdata.value_order import Rows
from tasks.microdata.words import join_with_and

Variant = Literal["classic", "p_buckets", "p_distribution"]
_TAKES: dict[Variant, str] = {"classic": "window_percent", "p_buckets": "buckets", "p_distribution": "p_percent"}


class RankSwapping(MaskingMethod):
    """Parameters of rank swapping: the variant, and exactly the one parameter that it takes.

    attributes: what is masked; default: the quasi-identifiers that are numeric, ordinal, dates or times.
    variant: classic (a partner within a window), p_buckets (a partner in the same or a higher bucket, each next bucket half as
        likely) or p_distribution (a partner at a distance drawn from a normal distribution).
    window_percent: for classic: how far a value may move, in percent of the number of present values.
    buckets: for p_buckets: into how many buckets of equal size the sorted values are cut; fewer move values further.
    p_percent: for p_distribution: half of it, in percent of the number of present values, is the mean of the distance, and its
        standard deviation; it is no bound.
    """

    method: Public[Literal["rank_swapping"]]
    variant: Public[Variant] = "classic"
    window_percent: Public[Percent | None] = None
    buckets: Public[Annotated[int, Field(ge=2)] | None] = None
    p_percent: Public[Percent | None] = None

    @model_validator(mode="after")
    def _takes_what_its_variant_takes(self) -> Self:
        given = {field for field in _TAKES.values() if getattr(self, field) is not None}
        if given != {_TAKES[self.variant]}:
            found = join_with_and(sorted(given)) or "neither"
            every = "; ".join(f"{variant} takes {field}" for variant, field in _TAKES.items())
            raise ValueError(f"variant {self.variant} takes exactly {_TAKES[self.variant]}, and here is {found} ({every})")
        return self

    @property
    def moves_values(self) -> bool:
        return True

    @property
    def rule(self) -> str:
        return f"rank swapping of {join_with_and(self.target_attributes)} {self.law}"

    @property
    def no_attack_reason(self) -> None:
        return None

    @property
    def law(self) -> str:
        """How far values move, in words."""
        if self.buckets is not None:
            return f"between {self.buckets} buckets of ranks, each next bucket half as likely"
        if self.p_percent is not None:
            return f"over distances drawn from a normal distribution (mean and sd {self.p_percent / 2:g} percent of the ranks)"
        return f"within {self.window_percent or 0.0:g} percent of the ranks"

    @property
    def randomness(self) -> Randomness:
        return "by_rank"

    @property
    def is_rule_for_values(self) -> bool:
        return False

    @classmethod
    def description(cls) -> Description:
        return DESCRIPTION

    def apply(self, context: MaskContext) -> Microdata:
        return rank_swap(context, self)

    def infer(self, view: IntruderView) -> Belief:
        return infer(view, self)

    def move_bounds(self, view: IntruderView, bounds: ValueBounds) -> ValueBounds | None:
        if self.variant != "classic":
            return None
        window = get_window_bound(view, self.window_percent or 0.0)
        return move_bounds_by_ranks(view, bounds, lambda n: window_ranks(window, n))

    def spread_ranks(self, view: IntruderView, law: DiscreteLikelihood) -> DiscreteLikelihood | None:
        if law.begins is None or self.variant != "classic" or view.window_at_most is not None:
            return None
        reach, middles = window_ranks(self.window_percent or 0.0, int(law.begins[-1])), (law.begins[:-1] + law.begins[1:]) / 2
        return follow_blocks(law, spread_over_ranks(middles - reach - 0.5, middles + reach + 0.5, law.begins))

    def describe(self, schema: Schema) -> MaskText:
        return describe_rank_swapping(self)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        return (
            cls(method="rank_swapping", attributes=("age", "size"), window_percent=10.0),
            cls(method="rank_swapping", attributes=("age", "size"), variant="p_buckets", buckets=5),
            cls(method="rank_swapping", attributes=("age", "size"), variant="p_distribution", p_percent=20.0),
        )

    @classmethod
    def suggest_stronger(cls, fields: Fields, named: str, line: Fields) -> Iterator[str]:
        if line.get("attack") == "consistency":
            yield (
                f"{named.capitalize()} (rank_swapping) exchanges pairs, and whoever follows the exchanges finds them however "
                f"far values move: {JOINTLY}."
            )
        else:
            yield f"{begin_sentence(suggest_distance(fields, named))}, or {JOINTLY}."

    @classmethod
    def suggest_weaker(cls, fields: Fields, named: str) -> Iterator[str]:
        yield suggest_distance(fields, named, back=True)


SCALES = (Scale.NUMERIC, Scale.DATE, Scale.TIME, Scale.ORDINAL)
DESCRIPTION = Description(
    method="rank_swapping",
    what_it_does="exchanges pairs of values whose ranks are near, in each attribute alone",
    scales=SCALES,
    parameters="variant (classic, p_buckets, p_distribution) with window_percent (how far a value moves, in percent of the "
    "ranks), buckets, or p_percent; attributes, by",
    intruder="classic: lists for each attribute the rows within the window and intersects the lists; a single row left is a "
    "certain match. All variants exchange pairs: the consistency attack uses that and finds many more",
    answered_by=("transparency", "consistency"),
)


def rank_swap(site: MaskContext, spec: RankSwapping) -> Microdata:
    """Exchange values in pairs chosen by their ranks, in each attribute independently.

    Meaning: the column keeps exactly its values, and somebody who has which is blurred.
    Formula in words: sort the n present values (equal ones in random order); from the lowest up, exchange each value that was
    not exchanged yet with another such value, above it; undo the sorting. Missing values stay missing. Which one:
    - classic: uniformly among those in the next w = floor(window_percent * n / 100) ranks; if there is none, it stays.
    - p_buckets: bucket b holds the ranks floor(b n / p) up to floor((b + 1) n / p), p = `buckets`. A value of bucket B_r draws
      the bucket B_s, s >= r, with probability (1/K) / 2^(s - r + 1), K such that these sum to 1 over the buckets that still
      hold a value to exchange; then uniformly one of these. The own bucket (s = r) is the likeliest, and for the last bucket
      the only one. Chances under 2^-60 of the largest count as zero.
    - p_distribution: the value of rank i aims at rank i + r, r normal with mean and standard deviation 0.5 p_percent * n / 100,
      rounded; r < 1 (all below have been exchanged) and i + r > n - 1 are drawn again. If the value there was exchanged before,
      the nearest that was not takes its place, the upper one of two equally near.
    In the last two only the last value of an odd number stays, and there is no bound on how far a value moves.

    Parameters
    ----------
    site: a table whose columns include the step's attributes. spec: with its attributes resolved.

    Returns the table with those columns replaced. Each column is the source's under an involution; the classic one moves no
    value by more than w ranks.

    Raises InputError if the window (or p) is under one rank, for more buckets than values, a constant column, an infinite
    value, or a text without order.
    Cost: O(n log n) per attribute, whatever the parameter.
    Source: Torra (2016), after Moore (1996) and, for the last two variants, Nin,
    Herranz and Torra (2008), "Rethinking rank swapping to decrease disclosure risk", of which Torra (2016) gives the two laws.
    Done otherwise than on the slide of the classic one: it chooses among all of the next ranks and leaves open what happens
    where the chosen one was exchanged before. Of the other two the slides leave open, and it is chosen here: how large the
    buckets are, what happens where a bucket has nothing left, draws outside the file, and partners that are taken.
    Example: buckets = n puts each value into a bucket of its own: it moves by 1 rank, 2, 3, ... with chances that halve.
    """

    def partners(name: str, n: int, rng: np.random.Generator) -> Rows:
        if spec.buckets is not None:
            return exchange_in_buckets(_check_buckets(spec.buckets, name, n, site.where), rng.random((n, 2)))
        if spec.p_percent is not None:
            check_window("p_percent", spec.p_percent, name, n, site.where)
            return exchange_near(normal_targets(float(ranks_in(spec.p_percent, n)), rng.random(n)))
        window = check_window("window_percent", spec.window_percent or 0.0, name, n, site.where)
        return exchange_ranks(window, rng.random(n))

    return permute_by_rank(site, spec.target_attributes, partners)


def _check_buckets(buckets: int, name: str, n: int, where: str) -> Integers:
    if buckets > n:
        what = f"there are more buckets than values: {buckets} buckets for {n} values of `{name}`"
        raise InputError("more-buckets-than-values", f"{where}.buckets", what, f"2 to {n}", "take fewer buckets", buckets)
    return bucket_begins(buckets, n)


def bucket_begins(buckets: int, n: int) -> Integers:
    """Shape (buckets + 1,): the rank at which each bucket begins, and n; sizes differ by at most one."""
    return np.arange(buckets + 1, dtype=np.int64) * n // buckets


def infer(view: IntruderView, spec: RankSwapping) -> Belief:
    """What the step lets an intruder conclude who knows it and sees the released table.

    Classic: as `infer_rank_intervals`, the reach being the window, or the bound of who does not know it. Of p_buckets and
    p_distribution nothing sound follows: every rank can be exchanged with every other. That pairs are exchanged is not used
    here, but by the consistency attack.
    """
    if spec.variant != "classic":
        return view.knowledge.forget(spec.target_attributes)
    window = get_window_bound(view, spec.window_percent or 0.0)
    return infer_rank_intervals(view, spec, lambda n: window_ranks(window, n))


KNOWN_LIMIT = (
    "Rank swapping exchanges pairs of values: a known limit of the method, in all its variants. If one record's released row "
    "is found, so is that of each person with whom it changed places. Somebody who knows all records and a few swapped "
    "attributes of which most values occur once can find nearly every record, however far the values moved"
)


def describe_rank_swapping(step: RankSwapping) -> MaskText:
    apart = ", each attribute by itself," if len(step.target_attributes) > 1 else ","
    return MaskText(
        title=f"Rank swapping, {_parameter(step)}",
        text=f"In {join_with_and(step.target_attributes)}{apart} {_describe_exchange(step)}. Each column keeps exactly "
        "its values; which record holds which value is blurred.",
        missing="Rank swapping exchanges present values only with present ones; records without a value take no part.",
        attribute=lambda _: _phrase(step),
        analysts=KEPT_COLUMNS,
    )


def _parameter(step: RankSwapping) -> str:
    if step.buckets is not None:
        return f"{step.buckets} buckets"
    if step.p_percent is not None:
        return f"normal distances, p {_percent(step.p_percent)}"
    return f"window {_percent(step.window_percent or 0.0)}"


def _describe_exchange(step: RankSwapping) -> str:
    if step.buckets is not None:
        return (
            f"the values were put in order and cut into {step.buckets} buckets of equal size, and values were exchanged "
            "between records of the same bucket or of two buckets, each next bucket half as often; a few values moved far"
        )
    if step.p_percent is not None:
        return (
            "values were exchanged between records whose ranks differ by a random number, drawn from a normal distribution "
            f"around {_percent(step.p_percent / 2)} of the number of records, with a standard deviation as large; a few values "
            "moved further than that"
        )
    return (
        "values were exchanged between records whose ranks differ by at most "
        f"{_percent(step.window_percent or 0.0)} of the number of records"
    )


def _phrase(step: RankSwapping) -> str:
    if step.buckets is not None:
        return f"exchanged within and between {step.buckets} buckets of ranks"
    if step.p_percent is not None:
        return f"exchanged over about {_percent(step.p_percent / 2)} of the ranks"
    return f"exchanged within {_percent(step.window_percent or 0.0)} of the ranks"


def _percent(percent: float) -> str:
    return f"{number(percent)}{SPACE}%"
