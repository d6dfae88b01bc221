from __future__ import annotations

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from tasks.runtime import memory_gate
from tasks.runtime.memory_gate import MemoryGate, give_back_memory


class Holder:
    """Stands for a table."""


WAIT = 20  # seconds that a thread may take to come as far as it can


def count_at_once(needed: float, left: int | None, threads: int = 3) -> int:
    """How many of the threads are inside at once, at most."""
    gate, changed = MemoryGate(lambda: left), threading.Condition()
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        with gate.hold(needed):
            with changed:
                inside += 1
                most = max(most, inside)
                changed.notify_all()
                changed.wait_for(lambda: most == threads, timeout=0.2)
            with changed:
                inside -= 1

    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work) for _ in range(threads)]:
            done.result(WAIT)
    assert inside == 0
    return most


@pytest.mark.parametrize(
    ("needed", "left", "at_once"),
    [
        (10, 100, 3),
        (40, 100, 2),  # 80 of 100
        (41, 100, 1),
        (500, 100, 1),  # more than there is: alone
        (500, None, 3),  # nothing tells how much there is
    ],
)
def test_as_many_run_at_once_as_have_room(needed: float, left: int | None, at_once: int) -> None:
    assert count_at_once(needed, left) <= at_once
    assert at_once == 1 or any(count_at_once(needed, left) == at_once for _ in range(20))


def test_what_fails_gives_its_room_back() -> None:
    gate = MemoryGate(lambda: 100)
    with pytest.raises(ValueError, match="broken"), gate.hold(80):
        raise ValueError("broken")
    with gate.hold(40), ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: gate.hold(40).__enter__()).result(WAIT)


def test_who_allows_less_than_is_left_has_less_held_at_once() -> None:
    gate = MemoryGate(lambda: 1 << 50)
    gate.allow(psutil.Process().memory_info().rss - 1)  # nothing is left of it
    with gate.hold(1):
        assert not gate._is_free(1)
    gate.allow(None)
    with gate.hold(1):
        assert gate._is_free(1)


def test_what_is_left_is_looked_up_when_nobody_holds_anything() -> None:
    left = iter([100, 10, 10])
    gate, entered = MemoryGate(lambda: next(left)), threading.Event()

    def enter() -> None:
        with gate.hold(70):
            entered.set()

    with gate.hold(1), gate.hold(70):
        pass
    later = threading.Thread(target=enter, daemon=True)
    with gate.hold(1):  # ten are left now
        later.start()
        assert not entered.wait(0.2)
    assert entered.wait(WAIT)
    later.join(WAIT)


def leave_behind(dropped: list[weakref.ref[Holder]]) -> None:
    """A ring of a frame and an exception, which keeps the holder that the frame knows."""
    holder = Holder()
    dropped.append(weakref.ref(holder))
    try:
        raise ValueError
    except ValueError as error:
        kept = error
    assert kept.__traceback__ is not None


@pytest.mark.parametrize(("large", "is_freed"), [(0, True), (2**62, False)])
def test_what_frames_keep_is_freed_where_the_process_is_large(monkeypatch, large, is_freed):
    monkeypatch.setattr(memory_gate, "_LARGE_BYTES", large)
    dropped: list[weakref.ref[Holder]] = []
    gc.disable()
    try:
        leave_behind(dropped)
        assert dropped[0]() is not None
        give_back_memory()
        assert (dropped[0]() is None) == is_freed
    finally:
        gc.enable()
