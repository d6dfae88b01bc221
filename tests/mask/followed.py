"""What an intruder concludes of a release who knows its steps, for tests that ask whether it is sound and how much it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.attack.transparency.transparency import follow_steps, link_by_mechanism
from tasks.mask.methods import mask


@dataclass
class Followed:
    """masked: row i is record i. rules_out_the_truth, sizes: by record: is its row left out; how many rows are not."""

    masked: object
    knowledge: object
    rules_out_the_truth: object
    sizes: object


def followed(data, schema, steps, *, knows=None, seed=b"s" * 32):
    """Mask a table, shuffle it, and link all records by the steps."""
    done = mask(data, schema, steps, seed=seed, path=("followed",))
    files = (data, done.data.take(done.order), schema, done.mechanisms, knows or schema.release_columns)
    links, _ = link_by_mechanism(*files)
    excluded = links.rules_out(np.arange(data.n), np.argsort(done.order))
    return Followed(done.data, follow_steps(*files), excluded, links.sound_sizes[links.search_class])
