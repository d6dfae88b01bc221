"""The loss of a randomised partition beside that of MDAV: what it costs that nobody can repeat it."""

from __future__ import annotations

from functools import partial

import numpy as np

from tasks.mask.groups.microaggregation import Microaggregation, columns_of, groups_of
from tasks.mask.partitions import mdav
from tasks.mask.partitions.loss import within_groups_loss
from tasks.mask.step import Site

MOST_RECORDS = 100_000  # beyond, MDAV is not computed only to be compared with


def losses_beside_mdav(site: Site, spec: Microaggregation) -> tuple[float, float]:
    """100 * SSE / SST of the partition that the step draws at this site, and of MDAV.

    Formula in words: in the coordinates in which records are grouped, the sum of squares within groups over that about the
    mean; each block and pattern counts by its records. Cost: that of both partitions.
    """
    drawn, repeatable, weights = [], [], []
    for number, (names, k) in enumerate(spec.groups):
        columns = columns_of(site, spec, names, k)
        for part in groups_of(columns, spec, k, rng=partial(site.draw, f"block {number}")):
            points = np.column_stack([columns[j].coordinates[part.rows] for j in part.columns])
            drawn.append(within_groups_loss(points, part.of_row))
            repeatable.append(within_groups_loss(points, mdav.partition(points, k)))
            weights.append(len(part.rows))
    return float(np.average(drawn, weights=weights)), float(np.average(repeatable, weights=weights))


def notes_of(site: Site, spec: Microaggregation) -> tuple[str, ...]:
    """What a steward should know of a randomised partition; two digits, as in public figures."""
    if spec.partition != "randomised" or spec.by is not None or site.data.n > MOST_RECORDS:
        return ()
    drawn, repeatable = losses_beside_mdav(site, spec)
    return (
        f"{site.where}: the randomised partition loses {_two_digits(drawn)} % of the variation of what it groups; MDAV, "
        f"which an intruder can repeat, would lose {_two_digits(repeatable)} %",
    )


def _two_digits(percent: float) -> str:
    """Never `1e+02`: one group loses 100 %."""
    return f"{float(f'{percent:.2g}'):g}"
