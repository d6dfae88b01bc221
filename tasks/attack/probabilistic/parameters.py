"""The parameters of probabilistic linkage in a release file."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tasks.attack.base import DataAttack
from tasks.attack.probabilistic.fellegi_sunter import Interactions
from tasks.attack.probabilistic.levels import Ladders
from tasks.microdata.spec import Name, Public, Spec

Rate = Annotated[float, Field(ge=0, le=1)]
Interaction = Annotated[tuple[Name, ...], Field(min_length=2, max_length=2)]
FALSE_PER_MATCH = 0.05  # false links, where the release file sets no rate
KEPT = 0.6  # assumed, where nobody says better and the files do not tell


class Assumed(Spec):
    """What the intruder assumes of the mask before they look: their own guess, which the report states.

    kept: the share of the values that it kept alike, the same in every attribute but those that look as if they were published
        as they are; or `estimated` for each attribute from how much less the released ones hang together than their own.
    weight: what this counts, over what the patterns count.
    """

    kept: Public[Annotated[float, Field(gt=0, lt=1)] | Literal["estimated"]] = KEPT
    weight: Public[Annotated[float, Field(gt=0, le=100)]] = 1.0


class ProbabilisticParameters(DataAttack):
    """The parameters of `ProbabilisticLinkage`, which says what each is."""

    estimate: Public[Literal["tied", "plain", "supervised"]] = "tied"
    assumed: Public[Assumed] = Assumed()
    compare: Ladders | None = None
    interactions: Public[tuple[Interaction, ...]] = ()
    false_links: Public[Rate | None] = None
    missed: Public[Rate] = 0.05
    matching: Public[Literal["likeliest", "one_to_one"]] = "likeliest"

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.interactions and self.estimate == "plain":
            raise ValueError("`interactions` are for the estimates `tied` and `supervised`")
        if self.knows_who_is_who and self.matching == "one_to_one":
            raise ValueError("`matching: one_to_one` is for the estimates `tied` and `plain`")
        if len({frozenset(pair) for pair in self.interactions}) < len(self.interactions):
            raise ValueError("an interaction is given twice")
        return self

    @property
    def knows_who_is_who(self) -> bool:
        return self.estimate == "supervised"

    def false_links_of(self, prevalence: float) -> float:
        """P(LP|U) as it was asked for. prevalence: the share of matches of all pairs."""
        return FALSE_PER_MATCH * prevalence if self.false_links is None else self.false_links

    def interactions_of(self, names: tuple[str, ...]) -> Interactions:
        """The interactions of attributes that are among these."""
        return tuple((one[0], one[1]) for one in self.interactions if set(one) <= set(names))
