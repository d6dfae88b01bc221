"""What an intruder concludes of a step that draws nothing at random: they repeat it on their own records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tasks.mask.intruder_belief import Belief, DiscreteLikelihood, EqualTo
from tasks.mask.step import IntruderView, MaskContext
from tasks.microdata.codes import joint_codes, row_codes
from tasks.microdata.errors import InputError
from tasks.microdata.table import Integers, Microdata, encode_jointly


def infer_by_repeating_step(
    view: IntruderView,
    names: tuple[str, ...],
    masked: Callable[[MaskContext], Microdata],
    also: Integers | None = None,
) -> Belief:
    """A step whose result depends on all records together, such as a partition.

    Somebody who has all records in all of `names` gets the published values themselves; only of records that were equal in them
    they cannot say which one got what. Who lacks one of them, is not certain of one, or does not know which records the step
    was applied to, concludes nothing.

    also: shape (n,), what else the step tells the records apart by, and the intruder knows.
    """
    knowledge = view.knowledge
    if not knowledge.is_certain(names) or not knowledge.complete or (also is not None and len(also) != view.originals.n):
        return knowledge.forget(names)
    twins = row_codes(knowledge.believed, names)
    if also is not None:
        twins = joint_codes([twins, also], len(twins))
    believed = masked(create_mask_context(view))
    last = int(twins.max(initial=0))
    certain = last == len(twins) - 1 or last == int(joint_codes([twins, row_codes(believed, names)], len(twins)).max(initial=0))
    rest = replace(knowledge.drop_attributes(names), believed=believed)
    return replace(rest, shown=(*rest.shown, EqualTo(names, None if certain else twins)))


def can_repeat_rule(knowledge: Belief, name: str) -> bool:
    """Is the attribute known for certain, or by a law of its values, so that a rule for values can be repeated?"""
    return knowledge.is_certain((name,)) or any(name in law.names and law.values is not None for law in knowledge.likelihoods)


def infer_by_value_rule(view: IntruderView, name: str, masked: Callable[[MaskContext], Microdata]) -> Belief:
    """A step that turns each value of one attribute into another by a stated rule, whoever else is there.

    Of an attribute that was randomised before, the law of what its rows show is turned into that of the classes: a class is
    shown with the sum of the chances of its values.
    """
    knowledge = view.knowledge
    if not knowledge.is_certain((name,)):
        likelihood = next(
            (likelihood for likelihood in knowledge.likelihoods if name in likelihood.names and likelihood.values is not None),
            None,
        )
        return knowledge.forget((name,)) if likelihood is None else _recode_likelihood(view, likelihood, masked)
    believed = masked(create_mask_context(view))
    rest = replace(knowledge.drop_attributes((name,)), believed=believed)
    return replace(rest, shown=(*rest.shown, EqualTo((name,))))


def _recode_likelihood(
    view: IntruderView, likelihood: DiscreteLikelihood, masked: Callable[[MaskContext], Microdata]
) -> Belief:
    try:
        values = masked(
            replace(create_mask_context(view), data=view.originals if likelihood.values is None else likelihood.values)
        )
    except InputError:  # of a category that may be drawn, but of which the rule says nothing
        return view.knowledge.forget(likelihood.names)
    coded = [encode_jointly(values.column(name), view.released.column(name)) for name in likelihood.names]
    codes = joint_codes([np.concatenate(pair) for pair in coded], values.n + view.released.n)
    _, first, of_value = np.unique(codes[: values.n], return_index=True, return_inverse=True)
    probability = np.zeros_like(likelihood.probability)
    np.add.at(probability.T, np.append(first[of_value], values.n), likelihood.probability.T)
    position = np.full(int(codes.max()) + 1, values.n)
    position[codes[first]] = first
    classes = replace(likelihood, shown=position[codes[values.n :]], probability=probability, values=values)
    return replace(
        view.knowledge, likelihoods=tuple(classes if one is likelihood else one for one in view.knowledge.likelihoods)
    )


def create_mask_context(view: IntruderView) -> MaskContext:
    """What a method would be given that is carried out on the intruder's own records."""
    return MaskContext(
        data=view.knowledge.believed,
        source=view.originals,
        table=view.table,
        schema=view.schema,
        precision=view.precision,
        draw=_nothing_is_drawn,
        where="masking",
    )


def _nothing_is_drawn(*names: str) -> np.random.Generator:
    raise TypeError("a step that draws at random cannot be repeated")
