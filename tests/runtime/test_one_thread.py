"""A stage computes on one thread of the native libraries, whatever they were loaded with."""

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from tasks.runtime.stages import stage

seen: list[set[int]] = []


@stage("threads", rooms=())
def count_threads(text: str) -> dict[str, str]:
    np.dot(np.ones(3), np.ones(3))
    seen.append({library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"})
    return {}


def test_a_stage_computes_on_one_thread_though_the_libraries_have_more():
    with threadpool_limits(limits=2):
        assert {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"} == {2}
        count_threads.bind("a").compute()
        assert seen == [{1}]
