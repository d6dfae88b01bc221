"""Several releases whose draws belong to persons: together they tell no more of unchanged values than the first one alone.

What they do tell is whose values changed, who came and who left, and one more draw of each value that changed.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tasks.attack.together.changed_draws import split_changed
from tasks.attack.together.earlier_release import EarlierView
from tasks.attack.together.joined_file import ReleaseFile
from tasks.attack.together.joining import link_by_releases
from tasks.mask.categories.pram import Pram
from tasks.mask.methods import mask, resolve_steps
from tasks.mask.noise.noise import Noise
from tasks.mask.personal_laws import is_personal, keep_laws
from tasks.microdata.alignment import Alignment
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.score.joined_releases import DRAWN, judge_newest

SCHEMA = Schema(
    tuple(
        Attribute(name, role, scale, "declared")
        for name, role, scale in (
            ("id", Role.IDENTIFIER, Scale.NOMINAL),
            ("x", Role.QUASI_IDENTIFIER, Scale.NUMERIC),
            ("y", Role.QUASI_IDENTIFIER, Scale.NUMERIC),
            ("job", Role.OTHER, Scale.NOMINAL),
        )
    )
)
FIRST, LAST = 40, 50
TABLES = 20


def noise_of(draw):
    return Noise(method="noise", attributes=("x", "y"), kind="independent", sd_percent=50.0, draw=draw)


def pram_of(draw):
    return Pram(method="pram", attributes=("job",), retention=0.6, draw=draw)


class Population:
    """Fifty people, of whom the last ten are newcomers with outliers; releases keep the laws of the first one."""

    def __init__(self, seed, *steps):
        rng = np.random.default_rng(seed)
        self.x, self.y = rng.normal(50, 10, LAST).round(3), rng.normal(9, 2, LAST).round(3)
        self.x[FIRST + 5 :] *= 40
        jobs = 8 if steps[0].method == "pram" else LAST  # unmasked, it tells everybody's rows apart
        self.job = (np.arange(LAST) % jobs).astype(str)
        self.steps, self.laws, self.seed = steps, (), seed
        self.files: list[ReleaseFile] = []

    def release(self, people):
        columns = {"id": [f"p{i}" for i in people], "x": self.x[people], "y": self.y[people], "job": self.job[people].tolist()}
        source = Microdata.from_columns(columns)
        steps = keep_laws(source, SCHEMA, resolve_steps(self.steps, SCHEMA, "masking"), "id", self.laws)
        number = len(self.files)
        done = mask(source, SCHEMA, steps, seed=bytes([self.seed % 256, number] * 16), path=(str(number),), secret=b"k" * 32)
        row = np.empty(source.n, dtype=np.int64)
        row[done.record] = np.arange(source.n)
        if any(is_personal(step) for step in steps):
            self.laws = (*done.mechanisms, *self.laws)
        self.files.append(
            ReleaseFile(
                name=str(number),
                original=source,
                masked=done.data.select(("x", "y", "job")),
                schema=SCHEMA,
                mechanisms=done.mechanisms,
                record=np.asarray(people),
                row=row,
            )
        )

    def link(self, files, knows, *, people=slice(0, FIRST)):
        """The mean credit of some people in the last of the files."""
        links = link_by_releases(tuple(files), len(files) - 1, LAST, knows)
        rows, asked = files[-1].spread_rows(LAST), np.arange(LAST)[people]
        assert (rows[asked] >= 0).all()
        assert not links.rules_out(asked, rows[asked]).any()
        return float(links.guesses(asked).credit(rows[asked]).mean())


def compare(step, knows, seed, releases=3):
    """Mean credits of the first forty: by the first release alone, and by all."""
    one = Population(seed, step)
    for last in (FIRST, FIRST + 7, LAST)[:releases]:
        one.release(np.arange(last))
    return one.link(one.files[:1], knows), one.link(one.files, knows)


@pytest.mark.parametrize(("step", "knows"), [(noise_of, ("x", "y")), (noise_of, ("x",)), (pram_of, ("job",))])
def test_unchanged_values_tell_no_more_in_three_releases_than_in_one(step, knows):
    """Paired over many tables, with newcomers, outliers and a changed scale; ordinary draws show that the test has power."""
    alone, together = np.array([compare(step("per_person"), knows, seed) for seed in range(TABLES)]).T
    gain = together - alone
    assert not gain.any() or stats.ttest_1samp(gain, 0, alternative="greater").pvalue > 1e-4, gain.mean()
    assert gain.mean() < 0.01


def link_fresh(seed):
    one = Population(seed, noise_of(None))
    for _ in range(3):
        one.release(np.arange(FIRST))
    return one.link(one.files[:1], ("x", "y")), one.link(one.files, ("x", "y"))


def test_draws_of_each_release_tell_more():
    alone, together = np.array([link_fresh(seed) for seed in range(TABLES)]).T
    assert stats.ttest_1samp(together - alone, 0, alternative="greater").pvalue < 1e-4


def link_changed(seed, changed, knows=("x", "y")):
    """Credits of those whose values changed by 1 between two releases: in the second alone, and in both together."""
    one = Population(seed, noise_of("per_person"))
    one.release(np.arange(FIRST))
    one.x[changed] += 1.0
    one.y[changed] += 1.0
    one.release(np.arange(FIRST))
    return one.link(one.files[1:], knows, people=changed), one.link(one.files, knows, people=changed)


def test_a_few_people_whose_values_changed_are_found():
    """Theirs are the rows that show something new: the intruder knows who they are."""
    alone, together = np.array([link_changed(seed, [3, 17, 30]) for seed in range(TABLES // 2)]).T
    assert alone.mean() < 0.5
    assert together.mean() > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("spared", [0, 2])
def test_everybody_a_year_older_is_a_second_draw(spared):
    everybody = np.arange(spared, FIRST)
    alone, together = np.array([link_changed(seed, everybody) for seed in range(TABLES)]).T
    assert stats.ttest_1samp(together - alone, 0, alternative="greater").pvalue < 1e-4


def test_people_with_other_values_are_other_records():
    one = Population(0, noise_of("per_person"))
    one.release(np.arange(4))
    one.x[2] += 1.0
    one.release(np.arange(4))
    one.release(np.arange(4))
    files, n, changed = split_changed(tuple(one.files), 2, LAST, ("x",))
    assert (n, list(changed), np.flatnonzero(changed[0]).tolist()) == (LAST + 1, [0], [2])
    assert [file.record.tolist() for file in files] == [[0, 1, LAST, 3], [0, 1, 2, 3], [0, 1, 2, 3]]
    files, n, changed = split_changed(tuple(one.files), 0, LAST, ("x", "y"))
    assert (n, sorted(changed)) == (LAST + 1, [1, 2])  # who they are later is one person more
    assert files[1].record[2] == files[2].record[2] == LAST
    assert split_changed(tuple(one.files), 0, LAST, ("y",))[1:] == (LAST, {})


def test_people_whose_values_were_drawn_anew_are_judged_apart():
    one = Population(0, noise_of("per_person"))
    one.release(np.arange(6))
    one.x[2] += 1.0
    one.release(np.arange(1, 6))
    before, now = one.files
    alignments = [Alignment.complete_in(np.argsort(file.row)) for file in one.files]
    view = EarlierView(
        name="a",
        original=before.original,
        masked=before.masked,
        schema=SCHEMA,
        mechanisms=before.mechanisms,
        alignment=alignments[0],
        record=np.arange(1, 6),
    )
    truth = GroundTruth.create_from_tables(now.original, now.masked, SCHEMA, alignments[1])
    assert [(part.name, np.flatnonzero(part.members).tolist()) for part in judge_newest(truth, SCHEMA, (view,)).changes] == [
        (DRAWN, [1])
    ]
