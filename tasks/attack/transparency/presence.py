"""How much likelier a release is with a record among its originals than without, by the law of the masking steps."""

from __future__ import annotations

import numpy as np

from tasks.attack.transparency.image_posterior import sum_weights
from tasks.attack.transparency.intersection import arrange_conditions, evidence_by_row
from tasks.attack.transparency.scores import ImageScores
from tasks.attack.transparency.transparency import arrange_knowledge, follow_steps, why_lost
from tasks.mask.methods import Mechanism
from tasks.microdata.errors import NotFollowed
from tasks.microdata.schema import Schema
from tasks.microdata.table import Floats, Microdata


def compare_with_absence(
    held: Microdata,
    released: Microdata,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    knows: tuple[str, ...],
    *,
    n_records: int,
) -> Floats:
    """The log-likelihood ratio of the release with each record among its originals and without, shape (n,).

    Meaning: with the record, one released row, nobody knows which, is its image by the law of the steps; without it, that row
    is the image of somebody else.
    Formula in words: the logarithm of the mean over the released rows of P(row | record) / q(row), q the mean of P(row | other)
    over all other records that are held. Attributes of which nothing can be concluded are left out.

    held: the people whom the intruder holds, who need not know who of them is in the release. n_records: of the table that was
    masked, of which they hold a share at most. knows: published attributes, at least one.

    Returns finite numbers or -inf, where no released row can be the record's image.
    Raises NotFollowed where nothing can be concluded of any attribute, AttackFailed as `follow_steps`.
    Cost: O(n m d) where there is a law, for n distinct records and m distinct rows.
    Example: columns that no step touched, 100 held, 50 rows: whose values no row shows has -inf; who shares them with one other
    and has one such row, ln(99 / 50).
    """
    followed, told = knows, follow_steps(held, released, schema, mechanisms, knows, n_records=n_records)
    while told.unclear:
        followed = tuple(name for name in followed if name not in told.unclear)
        if not followed:
            raise NotFollowed(why_lost(mechanisms, told.unclear))
        told = follow_steps(held, released, schema, mechanisms, followed, n_records=n_records)
    both, conditions = arrange_knowledge(held, released, schema, followed, told)
    arranged, rows = arrange_conditions(conditions)
    evidence = evidence_by_row(arranged, conditions.likelihoods.records)
    whole = ImageScores(arranged, conditions.sizes[rows], evidence, rows, np.argsort(rows))
    totals, _, _ = sum_weights(whole, True)
    ratios: Floats = totals[both.own_of_record] + np.log((held.n - 1) / released.n)
    return ratios
