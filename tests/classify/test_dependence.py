import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from tasks.classify import dependence, finding
from tasks.classify.dependence import find_dependences
from tasks.classify.finding import Dependence, log_luck
from tasks.classify.identities import _find_complete_rows, _standardise_rows, linear_identity
from tasks.classify.pairs import _repeats, _spearman
from tasks.ingest.methods import IngestPlan, ingest
from tasks.ingest.sources import SourceSpec, read
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

REFERENCE = Path(os.environ.get("SDCERT_REFERENCE_DATA", "../shared/data"))
RNG_SEED = 20260


def schema_of(data: Microdata, **roles: Role) -> Schema:
    return Schema(
        tuple(
            Attribute(
                name, roles.get(name, Role.QUASI_IDENTIFIER), Scale.NOMINAL if data.is_text(name) else Scale.NUMERIC, "declared"
            )
            for name in data.names
        )
    )


def found(columns: dict[str, object], *masked: str, **roles: Role) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    data = Microdata.from_columns(columns)  # type: ignore[arg-type]  # arrays and lists
    return [(d.relation, d.masked, d.unmasked) for d in find_dependences(data, schema_of(data, **roles), masked)]


def draws(n: int = 400) -> np.random.Generator:
    return np.random.default_rng(RNG_SEED + n)


def test_worked_identity_of_ten_rows() -> None:
    a = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]
    b = [2, 7, 1, 8, 2, 8, 1, 8, 2, 8]
    total = [x + y for x, y in zip(a, b, strict=True)]
    columns: dict[str, object] = {"a": a, "b": b, "total": total}
    assert found(columns, "a") == [("sum", ("a",), ("b", "total"))]
    assert found(columns, "a", "b") == [("sum", ("a", "b"), ("total",))]
    assert found(columns, "total") == [("sum", ("total",), ("a", "b"))]
    assert found(columns, "a", "b", "total") == []
    assert found(columns, "a", total=Role.DERIVED) == []
    assert found(columns, "a", b=Role.IDENTIFIER) == []
    assert found({name: values[:9] for name, values in columns.items()}, "a") == []  # type: ignore[index]  # lists


def test_the_words_name_the_columns_and_the_kind() -> None:
    rng = draws()
    a, b = rng.normal(size=50), rng.normal(size=50)
    data = Microdata.from_columns({"a": a, "b": b, "c": a + b})
    (one,) = find_dependences(data, schema_of(data), ("a",))
    assert one.describe() == "c = a + b (in 100.00% of the rows; masked: a)"


RELATIONS = {
    "copy": lambda x, rng: x.copy(),
    "rank_correlation": lambda x, rng: np.log(x + 1) * -3,
    "one_to_one": lambda x, rng: (x * 7 + 3) % 101,
    "function_of_masked": lambda x, rng: x % 7,
}


@pytest.mark.parametrize("relation", list(RELATIONS))
def test_planted_relations_are_found_and_named(relation: str) -> None:
    rng = draws()
    x = rng.integers(0, 101, 1000).astype(float) if relation != "rank_correlation" else rng.exponential(100, 1000)
    columns = {"x": x, "other": rng.normal(size=1000), "y": RELATIONS[relation](x, rng)}
    assert found(columns, "x") == [(relation, ("x",), ("y",))]
    backward = "masked_is_function" if relation == "function_of_masked" else relation
    assert found(columns, "y") == [(backward, ("y",), ("x",))]
    assert found(columns, "x", "y") == []


def test_a_nominal_recoding_of_a_near_continuous_column_is_found() -> None:
    rng = draws()
    x = rng.integers(0, 5000, 2000)
    label = {value: f"c{code}" for code, value in enumerate(rng.permutation(np.unique(x)).tolist())}
    assert found({"x": x, "label": [label[value] for value in x.tolist()]}, "x") == [("one_to_one", ("x",), ("label",))]


def test_columns_without_repeats_determine_each_other_only_trivially() -> None:
    rng = draws()
    assert found({"x": rng.normal(size=500), "y": rng.normal(size=500), "z": rng.integers(0, 3, 500)}, "x", "z") == []


@pytest.mark.parametrize(("exceptions", "is_found"), [(8, True), (30, False)])
def test_one_row_in_a_hundred_may_differ_but_not_three(exceptions: int, is_found: bool) -> None:
    rng = draws()
    a, b = rng.normal(100, 10, 1000), rng.normal(50, 10, 1000)
    total, code, recoded = a + b, rng.integers(0, 9, 1000), np.empty(1000, dtype=np.int64)
    recoded[:] = (code * 5) % 9
    total[:exceptions] += 40
    recoded[:exceptions] = (recoded[:exceptions] + 1) % 9
    assert bool(found({"a": a, "b": b, "total": total}, "a")) is is_found
    assert bool(found({"code": code, "recoded": recoded}, "code")) is is_found


@pytest.mark.parametrize(("noise", "is_found"), [(0.01, True), (0.3, False)])
def test_only_near_perfect_rank_correlation_counts(noise: float, is_found: bool) -> None:
    rng = draws()
    x = rng.normal(size=1000)
    assert bool(found({"x": x, "y": np.exp(x + rng.normal(scale=noise, size=1000))}, "x")) is is_found


def test_an_identity_of_more_columns_is_found() -> None:
    rng = draws()
    a, b, c, d, e = rng.normal(size=(5, 300))
    columns: dict[str, object] = {"a": a, "b": b, "c": c, "d": d, "e": e, "total": 2 * a + b - 0.5 * c + d}
    assert found(columns, "a") == [("linear", ("a",), ("b", "c", "d", "total"))]
    assert found(columns, "a", "b", "c", "d") == [("linear", ("a", "b", "c", "d"), ("total",))]
    assert found(columns, "a", "b", "c", "d", "total") == []
    assert found(columns, "e") == []


def test_an_identity_among_masked_columns_does_not_hide_another() -> None:
    rng = draws()
    a, b, c, d = rng.normal(size=(4, 300))
    columns: dict[str, object] = {"a": a, "b": b, "ab": a + b, "c": c, "d": d, "u": a + c + d}
    (one,) = found(columns, "a", "b", "ab")
    assert (one[0], one[2]) == ("linear", ("c", "d", "u"))


def test_columns_that_are_constant_in_the_complete_rows_do_not_hide_an_identity() -> None:
    rng = draws()
    a, b, c, e = rng.normal(size=(4, 400))
    a[:380], c[:380], e[380:] = 0.1, 0.1, np.nan
    data = Microdata.from_columns({"a": a, "b": b, "c": c, "d": 2 * b, "e": e})
    columns = {name: finding.create_dependence_column(data, schema_of(data), name) for name in data.names}
    (one,) = linear_identity([columns[name] for name in "ab"], [columns[name] for name in "cde"])
    assert (one.masked, one.unmasked) == (("b",), ("d",))


def test_zeros_do_not_make_an_identity() -> None:
    rng = draws()
    sparse = [np.where(rng.random(2000) < 0.995, 0.0, rng.normal(size=2000)) for _ in range(3)]
    assert found(dict(zip("abc", sparse, strict=True)), "a") == []
    same = np.where(rng.random(2000) < 0.995, 0, 1)
    assert found({"a": same, "b": rng.permutation(same)}, "a") == []


def test_either_part_may_be_zero_by_turns() -> None:
    rng = draws()
    wages, working = rng.exponential(size=300), rng.random(300) < 0.5
    a, b = np.where(working, wages, 0), np.where(working, 0, wages)
    assert ("sum", ("a", "b"), ("total",)) in found({"a": a, "b": b, "total": a + b}, "a", "b")


def test_missing_values_do_not_hide_a_relation() -> None:
    rng = draws()
    x, y = rng.normal(size=400), rng.normal(size=400)
    order, total = np.exp(x), x + y
    order[:150], total[100:200], x[300:] = np.nan, np.nan, np.nan
    assert found({"x": x, "order": order}, "x") == [("rank_correlation", ("x",), ("order",))]
    assert found({"x": x, "y": y, "total": total}, "x") == [("sum", ("x",), ("y", "total"))]
    rare = np.full(5000, np.nan)
    rare[::200] = np.arange(25) ** 2.0
    x = rng.normal(size=5000)
    x[::200] = np.arange(25)
    assert found({"x": x, "rare": rare}, "x") == [("rank_correlation", ("x",), ("rare",))]


def test_what_a_household_shares_counts_once() -> None:
    rng = draws()
    household = np.repeat(np.arange(300), 4)
    income, walls = rng.normal(size=300)[household], rng.integers(0, 3, 300)[household]
    columns: dict[str, object] = {"household": household, "income": income, "walls": walls}
    assert found(columns, "walls") == [("masked_is_function", ("walls",), (name,)) for name in ("household", "income")]
    assert found(columns, "walls", household=Role.GROUP) == []


def test_a_linear_identity_is_screened_among_the_complete_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = draws()
    a, b, c, d = rng.normal(size=(4, 600))
    columns = {"a": a, "b": b, "c": c, "d": d, "total": a - b + c + d}
    columns["b"][:250] = np.nan
    monkeypatch.setattr(finding, "SCREEN_ROWS", 100)
    assert found(columns, "a") == [("linear", ("a",), ("b", "c", "d", "total"))]


def test_text_with_an_order_has_ranks() -> None:
    rng = draws()
    codes = rng.integers(0, 40, 500)
    words = [f"w{code:02}" for code in codes]
    data = Microdata.from_columns({"x": codes + rng.normal(scale=0.01, size=500), "t": words})
    order = tuple(f"w{code:02}" for code in range(40))
    text = Attribute("t", Role.QUASI_IDENTIFIER, Scale.ORDINAL, "declared", order=order)
    schema = Schema((Attribute("x", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared"), text))
    assert [d.relation for d in find_dependences(data, schema, ("x",))] == ["rank_correlation"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 3)), min_size=1, max_size=40))
def test_repeats_equal_a_plain_count(rows: list[tuple[int, int]]) -> None:
    x, y = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    groups: dict[int, list[int]] = {}
    for a, b in rows:
        if a >= 0 and b >= 0:
            groups.setdefault(a, []).append(b)
    again = [group for group in groups.values() if len(group) > 1]
    present = [b for group in groups.values() for b in group]
    tied, errors, repeats, majority = _repeats(x, y, None)
    assert tied == sum(map(len, again))
    assert errors == sum(len(group) - max(map(group.count, group)) for group in again)
    assert repeats == sum(len(group) - 1 for group in groups.values())
    assert majority == pytest.approx(max(map(present.count, present)) / len(present) if present else 1.0)


def test_rank_correlation_equals_scipy() -> None:
    rng = draws()
    for _ in range(5):
        x = rng.integers(0, 20, 60).astype(float)
        y = x + rng.normal(scale=5, size=60)
        assert _spearman(x, y) == pytest.approx(abs(spearmanr(x, y).statistic))


@pytest.mark.parametrize(("classes", "p"), [((2, 2, 2), 0.75), ((3, 2), 0.6), ((4,), 0.9), ((2, 1, 3), 0.5)])
def test_the_bound_on_luck_holds_by_enumeration(classes: tuple[int, ...], p: float) -> None:
    """The exact chance that independent 0/1 draws are constant in every class: the bound holds, and 30 % off it would not."""
    exact = 0.0
    for y in itertools.product((0, 1), repeat=sum(classes)):
        ends = np.cumsum(classes)
        constant = all(len(set(y[end - size : end])) == 1 for end, size in zip(ends, classes, strict=True))
        exact += constant * p ** sum(y) * (1 - p) ** (len(y) - sum(y))
    bound = np.exp(log_luck(sum(c for c in classes if c > 1), 0, sum(classes) - len(classes), max(p, 1 - p)))
    assert exact <= bound * (1 + 1e-12)
    if p == 0.5:
        assert exact > 0.7 * bound  # at p = 1/2 a bound 30 % smaller fails


@pytest.mark.parametrize("n", [10, 16])
def test_agreement_of_few_rows_of_two_categories_may_be_luck(n: int) -> None:
    half = [0, 1] * (n // 2)
    assert found({"a": half, "b": half}, "a") == []
    assert found({"a": half * 5, "b": half * 5}, "a") == [("copy", ("a",), ("b",))]


def test_unrelated_columns_are_never_refused() -> None:
    """Law: under independence a finding has chance under 1e-6, so that none may appear in 60 small tables of 8 columns."""
    rng = draws(7)
    for n in (10, 12, 20, 60):
        for _ in range(15):
            columns = {f"c{i}": rng.integers(0, rng.integers(2, 12), n) for i in range(8)}
            assert found(columns, "c0", "c1", "c2", "c3") == []


def test_the_finding_does_not_depend_on_the_order_of_rows_and_survives_screening(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = draws()
    n = 3000
    a, b, code = rng.normal(size=n), rng.normal(size=n), rng.integers(0, 9, n)
    columns = {
        "a": a,
        "b": b,
        "total": a + b,
        "code": code,
        "recoded": (code * 5) % 9,
        "rank": np.exp(b),
        "free": rng.integers(0, 9, n),
    }
    data = Microdata.from_columns(columns)
    whole = find_dependences(data, schema_of(data), ("a", "code", "b"))
    assert {d.relation for d in whole} == {"sum", "one_to_one", "rank_correlation"}
    monkeypatch.setattr(finding, "SCREEN_ROWS", 300)
    monkeypatch.setattr(dependence, "FIRST_SCREEN_ROWS", 100)
    screened = find_dependences(data.take(rng.permutation(n)), schema_of(data), ("a", "code", "b"))
    assert [rounded(d) for d in screened] == [rounded(d) for d in whole]


def rounded(one: Dependence) -> tuple[object, ...]:
    return one.relation, one.masked, one.unmasked, round(one.share, 9)


def anes96() -> Microdata:
    return Microdata(read(SourceSpec(dataset="anes96")).table)


def test_logpopul_undoes_the_mask_of_popul() -> None:
    """logpopul = log(popul + 0.1) in all 944 rows of anes96 (statsmodels 0.15)."""
    data = anes96()
    for masked in (("popul",), ("age", "educ", "income", "popul")):
        (one,) = find_dependences(data, schema_of(data), masked)
        assert (one.relation, one.masked, one.unmasked, one.share) == (
            "one_to_one",
            ("popul",),
            ("logpopul",),
            1.0,
        )
    assert find_dependences(data, schema_of(data, logpopul=Role.DERIVED), ("popul",)) == ()
    assert find_dependences(data, schema_of(data), ("popul", "logpopul")) == ()
    assert find_dependences(data, schema_of(data), ("age", "educ", "income")) == ()


def test_census_total_income_is_the_sum_of_its_parts() -> None:
    """PTOTVAL = PEARNVAL + POTHVAL in 1,080 of 1,080 rows of the Census table of the CASC project."""
    if not (REFERENCE / "census.csv").is_file():
        pytest.skip(f"reference tables are not at {REFERENCE}")
    data = ingest(IngestPlan(source=SourceSpec(table="census.csv").resolve_path(REFERENCE))).data
    schema = schema_of(data)
    (total,) = [d for d in find_dependences(data, schema, ("PEARNVAL", "POTHVAL")) if d.relation == "sum"]
    assert (total.masked, total.unmasked, total.share) == (("PEARNVAL", "POTHVAL"), ("PTOTVAL",), 1.0)
    assert total.identity == "PTOTVAL = PEARNVAL + POTHVAL"
    (part,) = [d for d in find_dependences(data, schema, ("PTOTVAL",)) if d.relation == "sum"]
    assert (part.masked, set(part.unmasked), part.share) == (("PTOTVAL",), {"PEARNVAL", "POTHVAL"}, 1.0)
    assert find_dependences(data, schema, data.names) == ()


@pytest.mark.parametrize("n", [10, 19_999, 20_001, 300_000])
def test_the_screened_rows_are_those_with_the_smallest_hashes(n: int) -> None:
    mixed = [(i + 0x9E3779B97F4A7C15) % 2**64 for i in range(n)]
    mixed = [(one ^ one >> 30) * 0xBF58476D1CE4E5B9 % 2**64 for one in mixed]
    mixed = [(one ^ one >> 27) * 0x94D049BB133111EB % 2**64 for one in mixed]
    mixed = [one ^ one >> 31 for one in mixed]
    assert finding.screen_rows(n).tolist() == sorted(range(n), key=mixed.__getitem__)[: finding.SCREEN_ROWS]


def test_columns_are_standardised_one_by_one_as_they_are_together() -> None:
    """To the last digit: a column's sums go row by row, as those of a table of rows do."""
    rng = draws()
    values = rng.normal(size=(5000, 5)) * 10.0 ** rng.integers(-5, 9, 5) + 10.0 ** rng.integers(0, 9, 5)
    values[:, 4] = 0.1
    values[rng.random(values.shape) < 0.05] = np.nan
    data = Microdata.from_columns(dict(zip("abcde", values.T, strict=True)))
    columns = [finding.create_dependence_column(data, schema_of(data), name) for name in data.names]
    complete = _find_complete_rows(columns)
    rows = values[~np.isnan(values).any(axis=1)]
    assert len(complete) == len(rows) < 5000
    varies = rows.min(axis=0) < rows.max(axis=0)
    expected = np.where(varies, rows - rows.mean(axis=0), 0.0) / np.where(varies, rows.std(axis=0), 1.0)
    assert np.array_equal(_standardise_rows(columns, complete), expected)
    assert np.array_equal(_standardise_rows(columns, complete, np.array([7, 3])), expected[[7, 3]])
