"""What the tests of joined releases share: releases as an intruder has them, and the credit of each record in one of them."""

from __future__ import annotations

import numpy as np

from tasks.attack.together.joined_file import ReleaseFile
from tasks.attack.together.joining import link_by_releases
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask


def release_of(original, schema, steps, record, *, seed=b"s" * 32, name="a", pseudonym=None):
    done = mask(original, schema, steps, seed=seed, path=(name,))
    row = np.full(original.n, -1)
    row[done.record] = np.arange(done.data.n)
    return ReleaseFile(
        name=name,
        original=original,
        masked=done.data,
        schema=schema,
        mechanisms=done.mechanisms,
        record=np.asarray(record),
        row=row,
        pseudonym=pseudonym,
    )


def groups_of(k, *attributes):
    return (Microaggregation(method="microaggregation", k=k, attributes=attributes),)


def credit_of(files, of, n, knows):
    links = link_by_releases(tuple(files), of, n, tuple(knows))
    rows = files[of].spread_rows(n)
    there = np.flatnonzero(rows >= 0)
    credit = np.zeros(n)
    credit[there] = links.guesses(there).credit(rows[there])
    assert not links.rules_out(there, rows[there]).any()
    return credit, links
