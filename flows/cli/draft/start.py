"""Limits to start a policy from, by where the release goes, with their sources.

The smallest group in which somebody may be found is what custodians of data agree on most often. A smallest cell of c is a
largest chance of 1 / c for a single record. K. El Emam, Guide to the De-Identification of Personal Health Information (CRC
Press, 2013), collects the smallest cells that custodians have used under the name of cell size precedents, from 3 upwards;
which of them fits an environment is a choice made here, to be confirmed by whoever answers for the release. The European
Medicines Agency takes a largest chance of 0.09, one in eleven, for clinical reports that anybody may read (external guidance
on policy 0070).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from tasks.microdata.errors import InputError

Environment = Literal["public", "licensed", "enclave"]
BOOK = "El Emam, Guide to the De-Identification of Personal Health Information (2013), on cell size precedents"


@dataclass(frozen=True, slots=True)
class Start:
    """A policy to start from. k: the smallest group. share: that may be found on average. risk: of a single record."""

    environment: Environment
    k: int
    share: float
    risk: float
    source: str


GENERAL = Start(
    "public", 10, 0.1, 0.34, "a careful start of sdcert's own; `sdcert init --for public` starts from limits that others use"
)
STARTS = {
    "public": Start(
        "public", 11, 0.1, 0.1,
        f"Source: one in eleven, the largest chance that the European Medicines Agency takes for clinical reports that anybody "
        f"may read (0.09; guidance on policy 0070), as a smallest group of 11 ({BOOK})",
    ),
    "licensed": Start(
        "licensed", 5, 0.2, 0.2,
        f"Source: a smallest group of 5, one of the smallest cells in use ({BOOK}), for named users under an agreement",
    ),
    "enclave": Start(
        "enclave", 3, 0.34, 0.34,
        f"Source: a smallest group of 3, the least of the smallest cells in use ({BOOK}), where the room protects as well",
    ),
}  # fmt: skip


def start_for(environment: str | None) -> Start:
    """The policy to start from. InputError for an environment that there is not."""
    if environment is None:
        return GENERAL
    if environment not in STARTS:
        allowed = ", ".join(get_args(Environment))
        what, remedy = "There is no policy to start from for this environment.", "name one of these"
        raise InputError("environment", "sdcert init --for", what, allowed, remedy, environment)
    return STARTS[environment]
