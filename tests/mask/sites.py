"""What a masking step is given, for tests that apply one method alone."""

from __future__ import annotations

import numpy as np

from tasks.mask.intruder_belief import create_initial_belief
from tasks.mask.precision_grid import find_precision
from tasks.mask.step import IntruderView, MaskContext


def site_of(data, schema, *, seed=0):
    """The site of a step at masking[0]; each named part of the step has a stream of its own."""

    def draw(*names):
        return np.random.default_rng([seed, *(byte for name in names for byte in name.encode())])

    precision = find_precision(data, data.names)
    return MaskContext(data=data, source=data, table=data, schema=schema, precision=precision, draw=draw, where="masking[0]")


def view_of(originals, released, schema):
    """What an intruder has who holds all of `originals`, before the first step."""
    precision = find_precision(originals, originals.names)
    return IntruderView(create_initial_belief(originals), originals, originals, released, schema, precision)
