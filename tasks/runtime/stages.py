"""Stages: functions of addresses that are cached tasks of Prefect, with calls that the type checker follows.

`Stage.bind` takes what the function takes and nothing else; whoever runs the call (a certification, a replay, a watch) gets
what the function returns.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeVar

from prefect import Task, task
from prefect.cache_policies import INPUTS
from prefect.client.schemas.objects import State
from prefect.context import TagsContext
from prefect.futures import PrefectFuture
from prefect.transactions import IsolationLevel
from threadpoolctl import threadpool_limits

from tasks.microdata.imports import import_before_threads
from tasks.runtime.caching import Fingerprint, FlockManager, SealedResultSerializer
from tasks.runtime.failures import hide_exceptions
from tasks.runtime.memory_gate import give_back_memory
from tasks.runtime.settings import Home

P = ParamSpec("P")
Outputs = TypeVar("Outputs", bound=Mapping[str, object])
IMPORTED_WHERE_USED = ("numba", "scipy.optimize", "scipy.stats", "scipy.stats.contingency")  # take seconds
_NO_TAGS = functools.partial(TagsContext, current_tags=set())  # those of the flow cost a lease of the server each


class Stage(Generic[P, Outputs]):
    """A function of addresses as a cached task. It returns addresses by name (a TypedDict) and nothing else.

    rooms: the folders of `tasks/` whose code it runs, its own and those that they import; a test compares them
    with the imports.
    """

    def __init__(self, name: str, rooms: tuple[str, ...], function: Callable[P, Outputs]) -> None:
        self.name, self.function = name, function
        self.policy = Fingerprint(stage=name, rooms=tuple(sorted({*rooms, "microdata", "runtime"})))
        cached = task(
            name=name,
            cache_policy=(INPUTS + self.policy).configure(
                lock_manager=FlockManager(), isolation_level=IsolationLevel.SERIALIZABLE
            ),
            persist_result=True,
            result_serializer=SealedResultSerializer(),
            cache_result_in_memory=False,
            retries=0,
            log_prints=False,
        )
        self.task: Task[P, Outputs] = cached(hide_exceptions(name)(prepare_thread(function)))

    @property
    def rooms(self) -> tuple[str, ...]:
        """The folders of `tasks/` whose code the stage runs."""
        return self.policy.rooms

    def bind(self, *arguments: P.args, **named: P.kwargs) -> StageCall[Outputs]:
        """The stage with its arguments, not yet run."""
        bound = inspect.signature(self.function).bind(*arguments, **named)
        bound.apply_defaults()
        return StageCall(self, bound.args)


@dataclass(frozen=True, slots=True)
class StageCall(Generic[Outputs]):
    """A stage and its arguments, in the order of its parameters."""

    stage: Stage[Any, Outputs]
    arguments: tuple[Any, ...]

    def compute(self) -> Outputs:
        """Run the function here and now, beside Prefect and its cache."""
        return self.stage.task.fn(*self.arguments)

    def prepare_task(self, name: str, *, refresh: bool) -> Task[Any, Outputs]:
        """The task as one run calls it: named, its records in the home of this moment, computed anew if `refresh` says so.

        The name holds names of columns. Prefect takes a text for a template and fills it in (`str.format`), so it gets a
        function.
        """
        return self.stage.task.with_options(
            task_run_name=lambda: name, result_storage=Home.current().records, refresh_cache=refresh
        )

    def run(self, name: str, *, refresh: bool) -> State[Outputs]:
        """Run the task in this thread and return the state in which it ended."""
        with _NO_TAGS():
            task = self.prepare_task(name, refresh=refresh)
            return task(*self.arguments, return_state=True)  # type: ignore[return-value]  # Prefect's stub forgets return_state

    def submit(self, name: str, *, refresh: bool) -> PrefectFuture[Outputs]:
        """Have the runner of the flow run the task beside others."""
        with _NO_TAGS():
            return self.prepare_task(name, refresh=refresh).submit(*self.arguments)


def stage(name: str, rooms: tuple[str, ...]) -> Callable[[Callable[P, Outputs]], Stage[P, Outputs]]:
    """Make a function of addresses a stage."""
    return functools.partial(Stage, name, rooms)


def prepare_thread(function: Callable[P, Outputs]) -> Callable[P, Outputs]:
    """The function with its thread prepared for it each time before it runs.

    What the methods import where they use it, because most commands do not, is imported before: stages run beside each other.

    The threads of native libraries are set to one, for good. Sums of products come out otherwise on two threads than on one.
    The environment alone does not see to it: a library reads it when it is loaded, which may have been before, and a user may
    have set it. About 0.002 s.
    """

    @functools.wraps(function)
    def call(*arguments: P.args, **named: P.kwargs) -> Outputs:
        import_before_threads(IMPORTED_WHERE_USED)
        threadpool_limits(limits=1)
        try:
            return function(*arguments, **named)
        finally:
            give_back_memory()

    return call
