"""Each mask names the attacks that answer it; they run by default, or the report says that nothing answers."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from tasks.attack.methods import ATTACKS, attack
from tasks.attack.plan import default_attacks
from tasks.attack.threat import Intruder
from tasks.mask.categories.pram import Pram
from tasks.mask.coding.recoding import Recoding
from tasks.mask.coding.rounding import Rounding
from tasks.mask.coding.top_bottom_coding import TopBottomCoding
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import DESCRIPTIONS, Masking, describe, infer_belief, mask
from tasks.mask.noise.noise import Noise
from tasks.mask.pseudonyms import Pseudonyms
from tasks.mask.ranks.rank_jitter import RankJitter
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.mask.ranks.reverse_mapping import ReverseMapping
from tasks.mask.sampling import Sampling
from tasks.microdata.alignment import Alignment
from tasks.microdata.schema import Role, Scale
from tasks.report.masks.mechanism_knowledge import describe_mechanism_knowledge

NUMBERS, WORDS = ("n", "m"), ("a",)
STEPS = (
    *(
        Microaggregation(method="microaggregation", attributes=NUMBERS, k=3, partition=partition)
        for partition in ("mdav", "v_mdav", "refined", "randomised", "individual_ranking", "projection")
    ),
    RankSwapping(method="rank_swapping", attributes=NUMBERS, window_percent=10.0),
    RankSwapping(method="rank_swapping", attributes=NUMBERS, variant="p_buckets", buckets=5),
    RankSwapping(method="rank_swapping", attributes=NUMBERS, variant="p_distribution", p_percent=20.0),
    RankJitter(method="rank_jitter", attributes=NUMBERS, window_percent=10.0),
    ReverseMapping(method="reverse_mapping", attributes=NUMBERS),
    Pram(method="pram", attributes=WORDS, retention=0.8),
    *(
        Noise(method="noise", attributes=NUMBERS, kind=kind, sd_percent=20)
        for kind in ("independent", "correlated", "variance_restoring")
    ),
    TopBottomCoding(method="top_bottom_coding", limits={"n": {"top": 25.0, "publish": "limit"}}),
    *(Rounding(method="rounding", bases={"n": 5.0, "m": 5.0}, kind=kind) for kind in ("deterministic", "random", "controlled")),
    Recoding(method="recoding", recode={"a": {"map": {"x": "v", "y": "v", "z": "w"}}}),
    Sampling(method="sampling", share=0.5),
    Pseudonyms(method="pseudonyms", attributes=("id",)),
)
BEFORE = {"reverse_mapping": (STEPS[0],)}  # what has to come before
ANSWERS = {one.method: one.answered_by for one in DESCRIPTIONS}


@pytest.fixture(scope="module")
def people(table):
    rng, n = np.random.default_rng(3), 40
    columns = {"a": ["xyz"[i % 3] for i in range(n)], "n": rng.permutation(n), "m": rng.permutation(n)}
    return table(
        {**columns, "id": [f"p{i}" for i in range(n)]},
        scales={"a": Scale.NOMINAL, "id": Scale.NOMINAL},
        roles={"id": Role.IDENTIFIER},
    )


def named(step):
    return f"{step.method}:{getattr(step, 'partition', None) or getattr(step, 'variant', None) or getattr(step, 'kind', '')}"


def test_no_mask_is_forgotten():
    methods = {get_args(kind.model_fields["method"].annotation)[0] for kind in get_args(get_args(Masking)[0])}
    assert methods == {step.method for step in STEPS} == {row["method"] for row in describe()}
    assert {name for names in ANSWERS.values() for name in names} <= set(ATTACKS)


@pytest.mark.parametrize("step", STEPS, ids=named)
def test_what_answers_a_mask_runs_by_default(step):
    assert set(ANSWERS[step.method]) <= {spec.method for spec in default_attacks((step,))}


@pytest.mark.parametrize("step", STEPS, ids=named)
def test_an_attack_gains_by_knowing_it_or_the_report_says_that_none_does(people, step):
    original, schema = people
    done = mask(original, schema, (*BEFORE.get(step.method, ()), step), seed=bytes(32), path=())
    knows = tuple(name for name in schema.release_columns if name != "id")
    knowledge = infer_belief(original.select(knows), done.data, schema, done.mechanisms)
    *_, resolved = done.mechanisms
    concluded = bool(resolved.target_attributes) and not set(resolved.target_attributes) & set(knowledge.unclear)
    if step.no_attack_reason is not None:
        assert not concluded
        assert next(describe_mechanism_knowledge([resolved])).startswith("No transparency attack answers")
        return
    spec = ATTACKS["transparency" if concluded else "consistency"]
    assert spec in [ATTACKS[name] for name in ANSWERS[step.method]]
    everybody = np.arange(original.n)
    plan, alignment = spec(method=ANSWERS[step.method][0 if concluded else 1]), Alignment.complete_in(everybody)
    parts = (original, done.data, schema, done.mechanisms, plan, Intruder("declared", knows))
    assert attack(*parts, alignment=alignment, targets=everybody).status == "ok"
    assert not any(text.startswith("No transparency") for text in describe_mechanism_knowledge([resolved]))
