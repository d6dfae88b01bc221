"""Compiled code reads and writes where an index says: what Python hands over is looked at first, at its one door."""

import ast
import fcntl
import importlib
import pkgutil
import threading
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import tasks
from tasks.microdata.compiled import CACHE, LARGEST, Compiled, UnfitNumber, njit
from tasks.microdata.errors import InputError
from tasks.microdata.fingerprint import TASKS

FAULTS = {"NaN": np.nan, "an infinite number": np.inf, "a number too large": 10 * LARGEST}


class Pair(NamedTuple):
    low: np.ndarray
    bits: int


@njit
def total(values: np.ndarray, factor: float) -> float:
    result = 0.0
    for value in values:
        result += value * factor
    return result


@njit
def reach(pair: Pair) -> float:
    return total(pair.low, 2.0)


@njit
def of_nothing(values: np.ndarray) -> float:
    return total(values / 0.0, 1.0)


@njit(missing={"values": "it counts them"}, infinite={"pair.low": "it does not look at them"})
def count_missing(values: np.ndarray, pair: Pair) -> int:
    return np.isnan(values).sum() + pair.bits


def compiled_functions() -> list[Compiled]:
    modules = [importlib.import_module(found.name) for found in pkgutil.walk_packages(tasks.__path__, "tasks.")]
    found = {id(value): value for module in modules for value in vars(module).values() if isinstance(value, Compiled)}
    return list(found.values())


def test_every_compiled_function_refuses_what_it_did_not_declare():
    functions = compiled_functions()
    assert len(functions) > 150
    for function in functions:
        for place, name in enumerate(function.arguments):
            for fault, number in FAULTS.items():
                if name in (function.missing if fault == "NaN" else function.infinite):
                    continue
                for given_ in (np.array([[0.0, number]]), number, (1, np.array([number]))):
                    before = [0] * place
                    with pytest.raises(UnfitNumber) as refused:
                        function(*before, given_)
                    assert refused.value.fault == fault
                    assert refused.value.argument.startswith(name)


def test_every_exception_has_a_reason():
    for function in compiled_functions():
        assert all(len(reason) > 10 for reason in (*function.missing.values(), *function.infinite.values()))


def test_there_is_one_door():
    for path in [*TASKS.rglob("*.py"), *(TASKS.parent / "flows").rglob("*.py")]:
        tree = ast.parse(path.read_text())
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert path.name == "compiled.py" or not any(name.split(".")[0] == "numba" for name in names), path


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 1e200, -1e200, np.float64(1e101)])
def test_a_new_function_is_checked_without_doing_anything(number):
    with pytest.raises(UnfitNumber, match=r"double precision") as refused:
        total(np.array([1.0, number, 2.0]), 1.0)
    assert refused.value.where.endswith("total: values")
    with pytest.raises(UnfitNumber, match=r"double precision"):
        total(np.array([1.0]), factor=number)
    with pytest.raises(UnfitNumber) as refused:
        reach(Pair(np.array([number]), 1))
    assert refused.value.argument == "pair.low"
    assert isinstance(refused.value, InputError)
    assert str(number) not in str(refused.value) or np.isinf(number)


def test_what_fits_comes_through():
    assert total(np.array([1.0, -LARGEST, LARGEST]), 2.0) == pytest.approx(2.0, abs=1e86)
    assert total(np.array([5e-324, 0.0]), 1.0) == 5e-324
    assert total(np.empty(0), 1.0) == 0.0
    assert total(np.ones((3, 4))[:, 1], 1.0) == 3.0
    assert total(np.array([2**63 - 1, -(2**63)]), 1.0) == pytest.approx(0.0, abs=2)
    assert reach(Pair(np.ones(3), 1)) == 6.0


def test_compiled_functions_call_each_other_without_the_door():
    assert np.isnan(of_nothing(np.array([1.0, -1.0])))


def test_what_is_declared_comes_through_and_no_more():
    assert count_missing(np.array([np.nan, 1.0]), Pair(np.array([np.inf, 1e300]), 0)) == 1
    with pytest.raises(UnfitNumber):
        count_missing(np.array([np.inf]), Pair(np.array([1.0]), 0))
    with pytest.raises(UnfitNumber):
        count_missing(np.array([1.0]), Pair(np.array([np.nan]), 0))
    with pytest.raises(TypeError, match="no argument other"):
        njit(missing={"other": "a typing error"})(lambda values: 0)


@given(values=arrays(np.float64, st.tuples(st.integers(0, 5), st.integers(0, 3)), elements=st.floats()), fortran=st.booleans())
def test_fits_by_a_slow_twin(values, fortran):
    from tasks.microdata.compiled import _fits

    expected = all(abs(number) <= LARGEST for number in values.ravel().tolist())
    assert _fits(np.asfortranarray(values) if fortran else values) == expected
    assert _fits(values[::2, ::2]) == all(abs(number) <= LARGEST for number in values[::2, ::2].ravel().tolist())


def add_one(number):
    return number + 1


def test_a_process_waits_while_another_compiles_the_same_function():
    function, ready = njit(add_one), threading.Event()
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{function.name}.lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        waiting = threading.Thread(target=lambda: (function(1), ready.set()))
        waiting.start()
        assert not ready.wait(1.0)
        fcntl.flock(other, fcntl.LOCK_UN)
    assert ready.wait(60.0)
    waiting.join()


def test_where_no_lock_can_be_taken_functions_are_compiled_all_the_same(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setattr("tasks.microdata.compiled.CACHE", tmp_path / "file")
    made = njit(add_one)
    assert made(np.float64(1.5)) == 2.5
    assert made.dispatcher.stats.cache_path is None, "it would be beside the source code"
