"""Tables masked elsewhere: whose row is whose, what was changed, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pydantic import ValidationError

from tasks.classify.methods import ClassifyPlan, classify
from tasks.ingest.codebooks.codebook import AttributeSpec
from tasks.ingest.released_table import ingest_released_table
from tasks.mask.external_release.adoption import AdoptionPlan, ReleasedSpec, adopt
from tasks.mask.external_release.released import Synthetic, Undeclared
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.microdata.alignment import NoAlignment
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Role, Scale
from tasks.microdata.table import Microdata

ROWS = 6
SOURCE = Microdata.from_columns(
    {
        "id": np.arange(11, 11 + ROWS),
        "age": np.array([20, 30, 40, 50, 60, 70]),
        "income": [1.5, 2.5, 3.5, 4.5, 5.5, 6.5],
        "vote": ["yes", "no", "no", "yes", None, "no"],
    }
)
ATTRIBUTES = (
    AttributeSpec(name="id", role=Role.IDENTIFIER),
    AttributeSpec(name="age", role=Role.QUASI_IDENTIFIER, scale=Scale.NUMERIC),
    AttributeSpec(name="income", role=Role.QUASI_IDENTIFIER, scale=Scale.NUMERIC),
    AttributeSpec(name="vote", role=Role.CONFIDENTIAL, scale=Scale.NOMINAL),
)
SCHEMA = classify(SOURCE, ClassifyPlan(attributes=ATTRIBUTES, key="id"))


def masked(*rows: str, head: str = "id,age,income,vote") -> str:
    return "\n".join([head, *rows]) + "\n"


WHOLE = masked("11,25,1.5,yes", "12,25,2.5,no", "13,40,3.5,no", "14,50,4.5,yes", "15,60,5.5,", "16,70,6.5,no")
SHUFFLED = masked("16,70,6.5,no", "12,25,2.5,no", "14,50,4.5,yes", "11,25,1.5,yes")


def read_and_adopt(source, schema, plan):
    given = ingest_released_table(plan.create_reading_plan(schema))
    return adopt(source, schema, plan, given.data, given.notes)


@pytest.fixture
def adopted(tmp_path):
    """`adopted(text, **fields)` adopts a CSV that was masked elsewhere."""

    def call(text: str, **fields: object):
        (tmp_path / "masked.csv").write_text(text)
        spec = ReleasedSpec.model_validate({"table": str(tmp_path / "masked.csv"), **fields})
        return read_and_adopt(SOURCE, SCHEMA, AdoptionPlan(released=spec, attributes=ATTRIBUTES, key="id"))

    return call


def test_aligned_by_row_it_is_taken_as_it_is(adopted):
    found = adopted(WHOLE)
    assert found.data.names == ("age", "income", "vote")
    assert found.data.floats("age").tolist() == [25, 25, 40, 50, 60, 70]
    assert found.alignment.complete
    assert found.alignment.position.tolist() == list(range(ROWS))
    assert found.mechanisms == (Undeclared(attributes=("age",)),)
    assert "id" in found.notes[0]


def test_aligned_by_key_some_records_are_absent(adopted):
    found = adopted(SHUFFLED, align="key")
    assert found.alignment.record.tolist() == [0, 1, 3, 5]
    assert found.alignment.position.tolist() == [3, 1, 2, 0]
    assert found.data.floats("income").tolist() == [1.5, 2.5, 4.5, 6.5]
    assert found.alignment.row_by_record.tolist() == [0, 1, -1, 2, -1, 3]
    assert any("2 of 6" in note for note in found.notes)


def test_a_declared_step_stands_and_what_it_does_not_cover_is_undeclared(adopted):
    text = WHOLE.replace("3.5,no", "3.25,no")
    found = adopted(text, mechanism=({"method": "microaggregation", "attributes": ("age",), "k": 2},))
    assert found.mechanisms == (
        Microaggregation(method="microaggregation", attributes=("age",), k=2, count="rows"),
        Undeclared(attributes=("income",)),
    )


def test_an_untouched_table_has_no_mechanism(adopted):
    text = WHOLE.replace("11,25", "11,20").replace("12,25", "12,30")
    assert adopted(text).mechanisms == ()


def test_whole_numbers_may_become_decimals(adopted):
    found = adopted(WHOLE.replace("11,25", "11,25.5").replace("12,25", "12,25.5"))
    assert found.data.floats("age")[:2].tolist() == [25.5, 25.5]
    assert found.mechanisms == (Undeclared(attributes=("age",)),)


WRONG = {
    "rows-do-not-align": (SHUFFLED, {}),
    "released-lacks-column": (masked("11,25,yes", "12,25,no", head="id,age,vote"), {"align": "key"}),
    "released-has-column": (WHOLE.replace("vote", "vote,extra").replace("yes", "yes,1").replace("no", "no,2"), {}),
    "key-does-not-align": (masked("11,25,1.5,yes", "11,25,2.5,no"), {"align": "key"}),
    "no-key-column": ("\n".join(line.split(",", 1)[1] for line in WHOLE.splitlines()) + "\n", {"align": "key"}),
    "released-other-kind": ("id,age,income,vote\n" + "".join(f"{11 + i},25,{i}.5,{i}\n" for i in range(ROWS)), {}),
    "not-numeric": (WHOLE.replace("40", "forty"), {}),
    "no-such-source": (None, {}),
    "unknown-attribute": (WHOLE, {"mechanism": ({"method": "rank_swapping", "attributes": ("aeg",), "window_percent": 50.0},)}),
}


@pytest.mark.parametrize("code", WRONG)
def test_what_is_refused(adopted, code, tmp_path):
    text, fields = WRONG[code]
    if text is None:
        fields = {"table": str(tmp_path / "elsewhere.csv")}
    if code == "released-has-column":
        text = text.replace("5.5,", "5.5,,3")
    with pytest.raises(InputError) as caught:
        adopted(text or "", **fields)
    error = caught.value
    assert error.code == code
    assert error.where.startswith("released")
    assert error.allowed
    assert error.remedy


def test_a_key_of_nobody_is_refused(adopted):
    with pytest.raises(InputError, match="1 have one that the source does not know"):
        adopted(masked("11,25,1.5,yes", "99,25,2.5,no"), align="key")


def test_an_unmasked_function_of_a_masked_column_is_refused(tmp_path):
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, 60)
    source = Microdata.from_columns({"age": age, "double_age": age * 2, "vote": rng.choice(["a", "b"], 60)})
    attributes = (AttributeSpec(name="age", scale=Scale.NUMERIC), AttributeSpec(name="double_age", scale=Scale.NUMERIC))
    schema = classify(source, ClassifyPlan(attributes=attributes))
    votes = source.column("vote").to_pylist()
    rows = [f"{a + 1},{2 * a},{v}" for a, v in zip(age, votes, strict=True)]
    (tmp_path / "m.csv").write_text(masked(*rows, head="age,double_age,vote"))
    plan = AdoptionPlan(released=ReleasedSpec(table=str(tmp_path / "m.csv")), attributes=attributes)
    with pytest.raises(InputError) as caught:
        read_and_adopt(source, schema, plan)
    assert caught.value.code == "undoes-the-mask"


def shuffled_survey(tmp_path, change=lambda frame: frame, **released):
    """A table of 80 rows, its copy under `change` in the same order but for the rows, adopted by row."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {"age": rng.integers(18, 90, 80), "town": rng.integers(0, 10**6, 80), "vote": rng.choice(["a", "b"], 80)}
    )
    attributes = tuple(
        AttributeSpec(name=name, role=Role.QUASI_IDENTIFIER, scale=Scale.NUMERIC if name != "vote" else Scale.NOMINAL)
        for name in frame
    )
    source = Microdata.from_columns({name: pa.array(frame[name]) for name in frame})
    change(frame.copy()).to_csv(tmp_path / "m.csv", index=False)
    schema = classify(source, ClassifyPlan(attributes=attributes))
    spec = ReleasedSpec(table=str(tmp_path / "m.csv"), **released)
    return read_and_adopt(source, schema, AdoptionPlan(released=spec, attributes=attributes))


def swapped(frame, seed=1):
    return frame.apply(lambda column: column.sample(frac=1, random_state=seed + len(column.name)).to_numpy())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda frame: frame.sample(frac=1, random_state=1), "exactly the rows of the source, in another order"),
        (lambda frame: frame.assign(age=frame.age // 10).sample(frac=1, random_state=1), "no column"),
        (swapped, "no column"),
    ],
)  # fmt: skip
def test_rows_in_another_order_are_refused(tmp_path, change, words):
    with pytest.raises(InputError, match=f"(?i){words}"):
        shuffled_survey(tmp_path, change)


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame,
        lambda frame: frame.assign(age=frame.age // 10 * 10),
        lambda frame: swapped(frame).assign(vote=frame.vote),
    ],
)  # fmt: skip
def test_rows_in_order_pass_however_strong_the_mask_of_some(tmp_path, change):
    assert shuffled_survey(tmp_path, change).alignment.complete


def synthetic(frame, n=80):
    """Drawn anew from the same laws: nobody's rows."""
    rng = np.random.default_rng(9)
    return pd.DataFrame({"age": rng.integers(18, 90, n), "town": rng.integers(0, 10**6, n), "vote": rng.choice(["a", "b"], n)})


@pytest.mark.parametrize("change", [synthetic, lambda frame: synthetic(frame, 60), lambda frame: synthetic(frame, 200)])
def test_rows_of_nobody_are_aligned_with_nobody(tmp_path, change):
    with pytest.raises(InputError) as caught:
        shuffled_survey(tmp_path, change)
    assert "fully synthetic table" in caught.value.remedy
    assert "`align: none`" in caught.value.remedy
    found = shuffled_survey(tmp_path, change, align="none")
    assert isinstance(found.alignment, NoAlignment)
    assert found.alignment.n_rows == found.data.n
    assert found.alignment.n_records == 80
    assert found.mechanisms == (Synthetic(attributes=("age", "town", "vote")),)
    assert not any("not in the released table" in note for note in found.notes)


def test_rows_of_nobody_stand_in_an_order_of_their_own(adopted):
    rows = ["25,1.5,yes", "25,1.5,no", "70,,", "20,9.0,no", "25,0.5,yes"]
    once = adopted(masked(*rows, head="age,income,vote"), align="none")
    again = adopted(masked(*reversed(rows), head="age,income,vote"), align="none")
    assert once.data.arrow.equals(again.data.arrow)
    back = once.data.take(np.argsort(once.alignment.position)).arrow.to_pylist()
    given = [{"age": 25, "income": 1.5, "vote": "yes"}, {"age": 25, "income": 1.5, "vote": "no"}]
    assert back[:2] == given  # `position` is the row of the table as it was given


def test_rows_of_nobody_that_are_copies_are_told(adopted):
    copies = masked("20,1.5,yes", "20,1.5,no", "60,5.5,", head="age,income,vote")
    assert any("2 of the 3 rows" in note for note in adopted(copies, align="none").notes)
    assert not any("equal in" in note for note in adopted(masked("21,1.5,yes", head="age,income,vote"), align="none").notes)


@pytest.mark.parametrize("given", ["nobody", "synthetic", None])
def test_another_name_for_none_is_corrected(given):
    with pytest.raises(ValidationError, match="write `align: none`"):
        ReleasedSpec(table="m.csv", align=given)


def test_a_mechanism_of_nobodys_rows_is_refused():
    with pytest.raises(ValidationError, match="no record was"):
        ReleasedSpec(table="m.csv", align="none", mechanism=({"method": "microaggregation", "k": 3},))


WRONG_OF_NOBODY = {
    "released-lacks-column": masked("25,yes", head="age,vote"),
    "released-has-column": masked("25,1.5,yes,1", head="age,income,vote,extra"),
    "released-other-kind": masked("25,1.5,3", "26,1.5,4", head="age,income,vote"),
    "not-numeric": masked("forty,1.5,yes", head="age,income,vote"),
    "no-rows": masked(head="age,income,vote"),
}


@pytest.mark.parametrize("code", WRONG_OF_NOBODY)
def test_what_is_refused_of_nobody(adopted, code):
    with pytest.raises(InputError) as caught:
        adopted(WRONG_OF_NOBODY[code], align="none")
    assert caught.value.code == code
    assert caught.value.where.startswith("released")


def test_a_partly_synthetic_table_is_a_masked_one(tmp_path):
    # age is drawn anew from a model of it, each from the record's own row: the row is still somebody's
    rng = np.random.default_rng(10)
    done = shuffled_survey(tmp_path, lambda frame: frame.assign(age=(frame.age + rng.normal(0, 5, 80)).round()))
    assert [step.target_attributes for step in done.mechanisms] == [("age",)]
    assert done.alignment.complete


def test_an_identifier_in_both_tables_gives_another_order_away(adopted):
    lines = WHOLE.splitlines()
    with pytest.raises(InputError, match="`id`, which is not published, stands in both tables"):
        adopted("\n".join([lines[0], lines[2], lines[1], *lines[3:]]) + "\n")


def test_numbers_that_a_double_cannot_tell_apart_are_refused():
    numbers = Microdata.from_columns({"code": np.array([2**60 + i % 5 for i in range(20)]), "vote": ["a", "b"] * 10})
    attributes = (AttributeSpec(name="code", role=Role.QUASI_IDENTIFIER, scale=Scale.NUMERIC),)
    with pytest.raises(InputError, match="double precision"):
        classify(numbers, ClassifyPlan(attributes=attributes))
