"""Shadow models a few at a time: the same as all at once; and what teaches them where the released model saw a masked table."""

from __future__ import annotations

import numpy as np
import pytest
from membership_models import TREE, halves, noisy

from tasks.attack.membership.inference import MembershipExperiment
from tasks.attack.membership.shadow_training import (
    answers_as_table,
    compute_table_answers,
    create_training_masker,
    plan_shadows,
)
from tasks.attack.membership.shadows import ShadowAnswers, train_shadow_model
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.sampling import Sampling
from tasks.microdata.errors import NotApplicable
from tasks.microdata.schema import Scale
from tasks.train.examples import create_encoder
from tasks.train.spec import ModelSpec
from tasks.train.training import learn_with

SEED = b"s" * 32
GROUPS = Microaggregation(method="microaggregation", attributes=("x0", "x1"), k=5)


@pytest.fixture
def people(table):
    rng = np.random.default_rng(1)
    examples = noisy(120, rng, d=2)
    columns = {name: examples.frame[name].to_numpy() for name in examples.frame}
    data, schema = table({**columns, "class": examples.labels}, scales={"class": Scale.CODE})
    coding = create_encoder(ModelSpec(learner=TREE, target="class"), schema, data)
    return MembershipExperiment(data, halves(120, rng), data), schema, coding


def test_the_first_plans_do_not_depend_on_how_many_there_are(people):
    asked, _, _ = people
    few, many = (plan_shadows(asked, "inserted", k, SEED) for k in (4, 12))
    assert all(np.array_equal(one.rows, other.rows) for one, other in zip(few.plans, many.plans[:4], strict=True))
    assert [one.random_state for one in few.plans] == [one.random_state for one in many.plans[:4]]
    assert plan_shadows(asked, "inserted", 4, b"t" * 32).plans[0].random_state != few.plans[0].random_state


def test_answers_come_back_from_their_table_as_they_were():
    rng = np.random.default_rng(2)
    answers = [ShadowAnswers(rng.random((7, 3)), rng.random(7) < 0.5) for _ in range(4)]
    back = compute_table_answers(answers_as_table(answers), 4)
    for one, other in zip(answers, back, strict=True):
        assert np.array_equal(one.outputs, other.outputs) and np.array_equal(one.taught, other.taught)


def test_a_shadow_of_a_model_of_the_masked_table_learns_from_masked_records(people):
    asked, schema, coding = people
    pool = plan_shadows(asked, "apart", 2, SEED)
    prepare = create_training_masker(asked.table, schema, coding, (GROUPS,), SEED, "apart")
    train, rows = prepare(pool.plans[0].rows, 0)
    assert np.array_equal(rows, pool.plans[0].rows)
    assert np.unique(train.frame[["x0", "x1"]], axis=0, return_counts=True)[1].min() >= 5
    plain = train_shadow_model(pool, 0, coding.examples(asked.table), learn_with(TREE))
    masked = train_shadow_model(pool, 0, coding.examples(asked.table), learn_with(TREE), prepare)
    assert np.array_equal(plain.taught, masked.taught)
    truth = coding.examples(asked.table).labels[pool.asked]
    right = [(one.outputs.argmax(axis=1) == truth)[one.taught].mean() for one in (plain, masked)]
    assert right[0] == 1.0 > right[1]


def test_whoever_a_sampling_leaves_out_has_not_taught_the_shadow(people):
    asked, schema, coding = people
    sampling = Sampling(method="sampling", share=0.5)
    pool = plan_shadows(asked, "apart", 2, SEED)
    prepare = create_training_masker(asked.table, schema, coding, (sampling,), SEED, "apart")
    found = train_shadow_model(pool, 1, coding.examples(asked.table), learn_with(TREE), prepare)
    assert found.taught.sum() == round(len(pool.plans[1].rows) / 2)
    assert set(pool.asked[found.taught]) < set(pool.plans[1].rows)


def test_steps_that_a_shadows_records_cannot_bear_are_told(people):
    asked, schema, coding = people
    large = GROUPS.model_copy(update={"k": 100})
    with pytest.raises(NotApplicable, match="what teaches a shadow model"):
        create_training_masker(asked.table, schema, coding, (large,), SEED, "apart")(np.arange(20), 0)
