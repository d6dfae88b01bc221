"""Each mask names the attacks that answer it; they run by default, or the report says that nothing answers."""

from __future__ import annotations

import numpy as np
import pytest
from mask_family import EXAMPLES, SCHEMA, apply_example, example_ids, make_table

from tasks.attack.methods import ATTACKS, attack
from tasks.attack.plan import default_attacks
from tasks.attack.threat import Intruder
from tasks.mask.external_release.released import FalseDeclaration, Synthetic, Undeclared
from tasks.mask.methods import infer_belief
from tasks.microdata.alignment import Alignment

each_example = pytest.mark.parametrize(("kind", "step"), EXAMPLES, ids=example_ids())


@pytest.mark.parametrize(
    "step",
    [
        *(step for _, step in EXAMPLES),
        Undeclared(attributes=("age",)),
        FalseDeclaration(attributes=("age",), aspects=("copies",)),
        Synthetic(attributes=("age",)),
    ],
)
def test_what_answers_a_mask_runs_by_default(step):
    assert step.answered_by
    assert set(step.answered_by) <= set(ATTACKS), f"{type(step).__name__} names an attack that does not exist"
    assert set(step.answered_by) <= {spec.method for spec in default_attacks((step,))}


@each_example
def test_an_attack_gains_by_knowing_it_or_the_report_says_that_none_does(kind, step):
    original, name = make_table(), kind.__name__
    done = apply_example(step, original)
    knows = SCHEMA.release_columns
    knowledge = infer_belief(original.select(knows), done.data, SCHEMA, done.mechanisms)
    *_, resolved = done.mechanisms
    concluded = bool(resolved.target_attributes) and not set(resolved.target_attributes) & set(knowledge.unclear)
    if step.no_attack_reason is not None:
        assert not concluded, f"{name} says that no attack gains by knowing it, and something follows from it"
        assert (resolved.describe_knowledge() or "").startswith("No transparency attack answers")
        return
    spec = ATTACKS["transparency" if concluded else "consistency"]
    assert spec in [ATTACKS[one] for one in step.answered_by], (
        f"{name}: nothing follows from the step, no other attack answers it, and `no_attack_reason` gives no reason"
    )
    everybody = np.arange(original.n)
    plan, alignment = spec(method=step.answered_by[0 if concluded else 1]), Alignment.complete_in(everybody)
    parts = (original, done.data, SCHEMA, done.mechanisms, plan, Intruder("declared", knows))
    assert attack(*parts, alignment=alignment, targets=everybody).status == "ok"
    assert not (resolved.describe_knowledge() or "").startswith("No transparency")
