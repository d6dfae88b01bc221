"""PRAM in words: for who uses the data, and for who looks for a way to mask more or less."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tasks.mask.categories.warner import Warner, warner_matrix
from tasks.mask.mask_text import MaskText
from tasks.mask.shared_advice import JOINTLY, MORE_RISK, Fields, begin_sentence, state_value
from tasks.microdata.numbers import number
from tasks.microdata.words import join_with_and

if TYPE_CHECKING:
    from tasks.mask.categories.pram import Pram

_SINGLE = {"max_record_risk", "records_exposed"}  # measures of single people
_CUT = "An estimate below 0 or above 1 is not to be cut off: it says that the error is larger than the share."
_GROUPS = (
    "Within groups by attributes that were published as they are the same correction holds; relations with other attributes "
    "are weakened until it is made."
)
_WHERE_EQUAL = " Where d = q, nothing can be estimated: the chances are the same whatever the truth."


def matrix_in_words(step: Pram) -> str:
    """A stated matrix by its size: which categories it is over, and their chances, are not for the public."""
    return f"a matrix of {len(step.matrix or ())} categories"


def suggest_stronger_pram(fields: Fields, named: str, line: Fields) -> str:
    """How the step would protect more."""
    if line["measure"] in _SINGLE:
        return (
            f"After {named} (pram) single people are found by luck as well: limit known_reidentification (links that can "
            f"be asserted) instead of {line['measure']}."
        )
    return (
        f"{begin_sentence(_suggest_exchange(fields, named, 'lower'))}; or {JOINTLY}, which hides more for the same loss "
        "(categories: each group shows its most frequent one)."
    )


def suggest_weaker_pram(fields: Fields, named: str) -> str:
    """How the step would cost less."""
    return f"{_suggest_exchange(fields, named, 'raise')}, so that fewer cells are exchanged ({MORE_RISK})"


def _suggest_exchange(fields: Fields, named: str, verb: str) -> str:
    """Exchange more (lower) or fewer cells (raise) by the parameter that says how often a category stays."""
    for field in ("retention", "epsilon"):
        if fields.get(field) is not None:
            return f"{verb} `{field}` of {named}{state_value(fields, field)}"
    if fields.get("warner") is not None:
        return f"{verb} `p` of `warner` in {named}{state_value(fields['warner'], 'p')}"
    return f"let {'less' if verb == 'lower' else 'more'} stay by the `matrix` of {named}"


def describe_pram(step: Pram) -> MaskText:
    return MaskText(
        title=_title(step),
        text=f"{_how(step)}: {_rule(step)}. {_correction(step)}; a single cell may be true or not.",
        missing="PRAM draws present values anew; a gap stays a gap, so that it is certain who gave no answer.",
        attribute=lambda _: f"randomised{_describe_joint_draw(step)}: {_rule(step)}",
        analysts=tuple(_for_analysts(step)),
    )


def _title(step: Pram) -> str:
    kind = f"{'Invariant ' * step.invariant}{'joint ' * step.jointly}PRAM"
    kind = kind[:1].upper() + kind[1:]
    if step.retention is not None:
        kept = "at first kept" if step.invariant else "kept"
        return f"{kind}, {'combinations' if step.jointly else 'values'} {kept} with probability {number(step.retention)}"
    if step.epsilon is not None:
        return f"{kind}, {'at first ' * step.invariant}randomised response with epsilon {number(step.epsilon)}"
    if step.warner is not None:
        return f"{kind}, randomised response to a question of two answers"
    return f"{kind} by {matrix_in_words(step)}"


def _how(step: Pram) -> str:
    if step.jointly:
        return f"{join_with_and(step.target_attributes)} were drawn anew together, one of their combinations for each record"
    return f"In {join_with_and(step.target_attributes)}, every cell by itself was drawn anew among its categories"


def _describe_joint_draw(step: Pram) -> str:
    return f", {join_with_and(step.target_attributes)} together" if step.jointly else ""


def _rule(step: Pram) -> str:
    return step.law if step.matrix is None else step.law.replace("a stated matrix", matrix_in_words(step))


def _correction(step: Pram) -> str:
    if step.invariant:
        kept = "On average each category keeps the frequency that it had"
        alone = " within each of the groups; where all records of a group have one value, it stays" if step.by else ""
        return f"{kept}{alone}. The chances of this come from the data and are not published"
    if _says_nothing(step):
        return "The chances are the same whatever the truth, so that nobody can correct how often a category occurs"
    if step.matrix is None:
        return "Whoever knows this rule can correct how often a category occurs"
    held_back = "The chances in the matrix are not published, as they could tell what is not released"
    return f"{held_back}; who has them can correct how often a category occurs"


def _says_nothing(step: Pram) -> bool:
    return step.epsilon == 0 or (step.warner is not None and step.warner.p == 0)


def _for_analysts(step: Pram) -> Iterator[str]:
    names = join_with_and(step.target_attributes)
    if step.invariant:
        yield (
            f"Frequencies of {names} need no correction: on average they are the original ones. Relations with others "
            "are weakened, and cannot be corrected, because the chances are not published."
        )
    elif step.matrix is not None:
        yield f"Frequencies of {names} are biased; only who has the matrix can correct them."
    elif _says_nothing(step):
        yield f"Of the original frequencies of {names} the release says nothing: the chances are the same whatever the truth."
    else:
        yield _yes_or_no(names, step.warner) if step.warner is not None else _spread(names, step)
        yield _CUT
        yield _GROUPS


def _spread(names: str, step: Pram) -> str:
    c = "combinations" if step.jointly else "categories"
    if step.retention is not None:
        chances = f"d = {number(step.retention)} and q = (1 \u2212 d) / (c \u2212 1)"
    else:
        chances = f"q = 1 / (exp({number(step.epsilon or 0.0)}) + c \u2212 1) and d = exp({number(step.epsilon or 0.0)}) q"
    return (
        f"Shares of {names} before this step are estimated without bias as (o \u2212 q) / (d \u2212 q): o the share in the "
        f"release among records without a gap, c the number of {c}, with {chances}. The error of the draw is enlarged "
        "1 / |d \u2212 q| times (the condition number of the matrix)."
        f"{_WHERE_EQUAL * (step.retention is not None)}"
    )


def _yes_or_no(names: str, warner: Warner) -> str:
    forced = (1 - warner.p) * warner.p_yes
    question = warner.model_copy(update={"yes": "yes"})
    condition = float(np.linalg.cond(warner_matrix(question, ("yes", "no"), where="masking")))
    return (
        f"The share of Yes in {names} before this step is estimated without bias as (o \u2212 {number(forced)}) / "
        f"{number(warner.p)}, o the share of Yes in the release among records without a gap; the condition number of the "
        f"matrix is {number(condition)}."
    )
