"""What every attack must have and keep: the tests iterate over the union of attacks, and a failure names the attack."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from pydantic import TypeAdapter

from tasks.attack.descriptions import DataKnowledge
from tasks.attack.linkage.external_files import FileUse
from tasks.attack.methods import ATTACK_CLASSES, Attack, attack, describe
from tasks.attack.plan import list_required_attacks
from tasks.attack.threat import Intruder
from tasks.mask.methods import mask
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.alignment import Alignment, NoAlignment
from tasks.microdata.schema import Role, Scale
from tasks.sweep.calibration.checks import checks

ROOT = Path(__file__).parents[2]
SWAP = RankSwapping(method="rank_swapping", attributes=("age", "size"), window_percent=20.0)
INTRUDER = Intruder("declared", ("age", "size"))
MAY_BE_EMPTY = {"note", "required_form", "holder"}
each = pytest.mark.parametrize("kind", ATTACK_CLASSES, ids=lambda kind: kind.get_method())


@pytest.fixture(scope="module")
def release(table):
    """A table of 60 records, and what rank swapping and a shuffle made of it: (original, masked, schema, steps, alignment)."""
    rng, n = np.random.default_rng(2), 60
    age = rng.permutation(n).astype(float)
    columns = {"age": age, "size": age + rng.normal(0, 3, n), "income": age + rng.normal(0, 9, n), "vote": list("abc" * 20)}
    roles, scales = {"income": Role.CONFIDENTIAL, "vote": Role.CONFIDENTIAL}, {"vote": Scale.NOMINAL}
    original, schema = table(columns, roles=roles, scales=scales)
    done, record = mask(original, schema, (SWAP,), seed=bytes(32), path=()), rng.permutation(n)
    return original, done.data, schema, done.mechanisms, Alignment.complete_in(record)


def run(release, spec, **changes):
    *parts, alignment = release
    arguments = {"alignment": alignment, "targets": np.arange(parts[0].n), **changes}
    return attack(*parts, spec, arguments.pop("intruder", INTRUDER), **arguments)


@each
def test_it_answers_every_question(kind):
    lacks = sorted(kind.__abstractmethods__)
    assert not lacks, f"the attack `{kind.get_method()}` ({kind.__name__}) lacks {', '.join(lacks)}"
    spec = kind.create_default()
    assert (spec.method, spec.attack_id) == (kind.get_method(), kind.get_method())
    plan = TypeAdapter(Attack)
    assert plan.validate_json(plan.dump_json(spec)) == spec


@each
def test_it_has_words(kind):
    name, spec = kind.get_method(), kind.create_default()
    empty = [one.name for one in fields(kind.about) if getattr(kind.about, one.name) == "" and one.name not in MAY_BE_EMPTY]
    assert not empty, f"the attack `{name}` has no words for {', '.join(empty)} in `about`"
    assert kind.about.title[0].isupper(), f"the title of the attack `{name}` begins with a capital letter"
    assert spec.rule, f"the attack `{name}` has no rule"
    assert spec.describe_known_data(DataKnowledge(INTRUDER, complete=True)), f"what `{name}` knows of the data is empty"
    assert name in [row["method"] for row in describe()]


@each
def test_the_page_on_attacks_names_it(kind):
    name = kind.get_method()
    assert f"`{name}`" in (ROOT / "docs" / "ATTACKS.md").read_text(), f"docs/ATTACKS.md does not name the attack `{name}`"


@each
def test_it_is_calibrated(kind):
    name = kind.get_method()
    lacks = {"null", "planted", "coverage", "recount"} - {one.kind for one in checks((name,))}
    assert not lacks, f"the attack `{name}` lacks checks in tasks/sweep/calibration/checks.py: {', '.join(sorted(lacks))}"


@each
def test_its_answers_fit_together(kind):
    name, traits = kind.get_method(), kind.create_default().traits
    assert not (traits.needs_originals and traits.uses_external_files), f"`{name}` needs originals that no file has"
    assert traits.reads_similar_rows or not traits.attacks_synthetic_rows, f"`{name}` reads rows of nobody, or does it not?"
    assert traits.depends_on_others or not traits.assigns_together, f"`{name}` assigns all records together"
    for keeps in (False, True):
        found = name in list_required_attacks((), keeps_row_order=keeps) or name in list_required_attacks((SWAP,))
        assert not found or kind.about.required_by != "nobody", f"`{name}` is required, and `about` says by nobody"
    assert traits.is_required_form, f"the default parameters of `{name}` are not the form that a release can require"


@each
def test_it_attacks_a_small_table(kind, release):
    name, spec = kind.get_method(), kind.create_default()
    found = run(release, spec)
    assert found.status == "ok", f"the attack `{name}` gives no figure: {found.reason}"
    credit = found.outcomes.floats("credit")
    assert ((credit >= 0) & (credit <= 1)).all()
    assert (found.method, found.infers, 0 < found.chance < 0.5) == (name, spec.rule, True)
    assert run(release, spec).outcomes.arrow.equals(found.outcomes.arrow), f"`{name}` does not find the same twice"


@each
def test_the_order_of_the_released_rows_tells_nothing_but_to_who_uses_it(kind, release):
    *parts, alignment = release
    other = (*parts, Alignment.complete_in(np.random.default_rng(4).permutation(len(alignment.record))))
    spec = kind.create_default()
    same = run(release, spec).outcomes.floats("credit") == pytest.approx(run(other, spec).outcomes.floats("credit"))
    assert same or kind.about.required_by == "kept row order", f"`{kind.get_method()}` depends on the order of the rows"


@each
def test_its_traits_are_true(kind, release):
    name, spec = kind.get_method(), kind.create_default()
    original, masked, schema, *_ = release
    nobody = run((original, masked, schema, (), NoAlignment(np.arange(masked.n), original.n)), spec)
    assert (nobody.status == "ok") == spec.traits.attacks_synthetic_rows, f"`{name}` on rows of nobody: {nobody.reason}"
    some = np.arange(0, original.n, 2)
    intruder = Intruder("declared", INTRUDER.knows, records=0.5)
    share = run(release, spec, intruder=intruder, targets=some, held=some)
    assert (share.status == "not_applicable") == (spec.traits.needs_all_records is not None), f"`{name}`: {share.reason}"
    use = FileUse(location="intruder.files[0]", key=("age", "age"), columns=(("age", "age"), ("size", "size")))
    holder = Intruder("file:own", INTRUDER.knows, file=use)
    with_file = run(release, spec, intruder=holder, file=original.select(INTRUDER.knows))
    assert (with_file.status == "ok") == spec.traits.uses_external_files, f"`{name}` with a file: {with_file.reason}"
