"""The page of a sweep: its record, its data, its still pictures, and what it must never say or do."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.microdata.errors import InputError
from tasks.score.policy import PolicyLine
from tasks.sweep.page import page_data as building
from tasks.sweep.page.page_columns import find_dominating_ranges, serialise_column
from tasks.sweep.page.page_content import RiskUtilityMap, Spread
from tasks.sweep.page.page_data import format_label, page_data, policy_in_words
from tasks.sweep.page.render import frontier_rows, reasons, render_sweep_page
from tasks.sweep.page.still import SHAPES, sample, shape, still_map
from tasks.sweep.views import FigureLoss, FigureRisk, LiteratureLoss, LiteratureRisk, WorstRisk


def _made_pages():
    path = Path(__file__).resolve().parent / "made_pages.py"
    spec = importlib.util.spec_from_file_location("made_pages", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MADE = _made_pages()
line, told, results, synthetic = MADE.line, MADE.told, MADE.results, MADE.synthetic
HOSTILE = "</script><img src=x onerror=window.ran=1>\u202e"
TASKS = Path(building.__file__).parent.parent.parent
SCRIPTS = sorted(TASKS.rglob("templates/*.js"))
NAN = float("nan")


def spread(values):
    found = np.asarray(values, dtype=float)
    return Spread(mean=found, low=found, high=found)


def small():
    """Four points: 0 loses least, 2 is safest, 1 is beaten by 2, 3 was skipped. Two seeds each."""
    figures = {0: ((0.5, 0.3), (10, 10)), 1: ((0.2, 0.2), (60, 60)), 2: ((0.1, 0.1), (30, 34))}
    lines = [
        line(point, seed=seed, risk=risk[seed], loss=loss[seed], axes={"masking[0].k": 2 + point})
        for point, (risk, loss) in figures.items()
        for seed in (0, 1)
    ]
    skipped = [
        line(3, seed=seed, reason="k = 5000 is more than there are records", axes={"masking[0].k": 5000}) for seed in (0, 1)
    ]
    return results(*lines, *skipped)


def test_the_record_of_a_small_sweep_by_hand():
    data = page_data(small(), told(seeds=2))
    worst = data.views[0]
    assert [view.name for view in data.views] == ["worst", "literature"]
    assert worst.frontier == (0, 2)
    assert worst.risk.mean.tolist()[:3] == [0.4, 0.2, 0.1]
    assert (worst.risk.low[0], worst.risk.high[0]) == (0.3, 0.5)
    assert np.isnan(worst.risk.mean[3])
    assert data.loss.spread.mean.tolist()[:3] == [10, 60, 32]
    assert data.decisions == ("broken", "broken", "kept", "none")
    assert data.statuses == ("ok", "ok", "ok", "skipped")
    assert reasons(data) == [("skipped", "k = 5000 is more than there are records", "1", "3")]
    assert (worst.limit, data.loss.limit) == (0.12, 40)
    assert [row["point"] for row in frontier_rows(data, worst)] == ["0", "2"]
    assert frontier_rows(data, worst)[0]["risk"] == "40\u202f% (30\u202f% to 50\u202f%)"
    assert data.attacks == ("distance_linkage", "transparency")


def test_the_loss_of_the_literature_has_words_and_no_limit():
    changes = {"il1s": 0.4, "mean_difference|age": 0.0, "covariance_difference": 0.2, "correlation_difference": 0.1}
    trials = results(line(0, risk=0.4, loss=10, **changes), line(1, risk=0.2, loss=60))
    loss = page_data(trials, told(seeds=1, loss=LiteratureLoss())).loss
    assert loss.spread.mean[0] == pytest.approx(0.08 + 0.08 + 0.02)
    assert np.isnan(loss.spread.mean[1])
    assert (loss.axis, loss.unit, loss.limit) == ("Information loss, five changes", "", None)


def test_a_view_that_no_point_has_says_why():
    literature = page_data(small(), told()).views[1]
    assert literature.frontier == ()
    assert "No point can be placed: no interval disclosure" in literature.says
    assert "<svg" in still_map(page_data(small(), told()), literature, "map")


def test_the_views_of_the_file_come_first_and_both_pictures_are_there():
    names = [[view.name for view in page_data(small(), told(risk=own)).views] for own in (LiteratureRisk(), WorstRisk())]
    assert names == [["literature", "worst"], ["worst", "literature"]]
    figure = FigureRisk(measure="reidentification", attack="transparency")
    assert [view.name for view in page_data(small(), told(risk=figure)).views] == ["figure", "worst", "literature"]


def test_the_region_is_what_the_policy_says_of_the_two_scales_alone():
    lines = (PolicyLine(measure="reidentification", attack="transparency", at_most=0.3, accept_other_attacks="tried"),)
    data = page_data(small(), told(policy=lines))
    assert (data.views[0].limit, data.loss.limit) == (None, None)
    own = FigureRisk(measure="reidentification", attack="transparency", intruder="declared")
    assert page_data(small(), told(policy=lines, risk=own)).views[0].limit == 0.3
    assert page_data(small(), told(loss=FigureLoss(measure="sse_percent", attribute="A1"))).loss.limit is None


def test_a_policy_line_and_a_figure_in_words():
    assert (
        policy_in_words(PolicyLine(measure="reidentification", at_most=0.125)) == "Re-identification rate at most 12.5\u202f%"
    )
    subjects = synthetic(4, seeds=1).figures
    said = {name: format_label(subject) for name, subject in subjects.items()}
    assert said[MADE.LINKED] == "Re-identification rate, distance linkage"
    assert said["rank_interval_disclosure|A0|p_percent=5"].endswith(", A0, 5\u202f%")
    assert len(set(said.values())) == len(said)


@given(st.lists(st.tuples(st.integers(0, 6) | st.just(NAN), st.integers(0, 6) | st.just(NAN)), min_size=1, max_size=25))
def test_what_dominates_what_is_what_the_definition_says(points):
    risk, loss = np.array(points, dtype=float).T

    def beats(i, j):
        return risk[i] <= risk[j] and loss[i] <= loss[j] and (risk[i] < risk[j] or loss[i] < loss[j])

    there = [i for i in range(len(points)) if not np.isnan(risk[i] + loss[i])]
    front = sorted((i for i in there if not any(beats(j, i) for j in there)), key=lambda i: (loss[i], -risk[i], i))
    view = RiskUtilityMap(name="v", title="", axis="", says="", unit="share", risk=spread(risk), frontier=tuple(front))
    start, stop = find_dominating_ranges(view, loss)
    for i in range(len(points)):
        expected = [j for j in front if i in there and beats(j, i)]
        assert front[start[i] : stop[i]] == expected


def test_the_json_keeps_five_digits_and_none_for_what_is_not_there():
    lines = [line(0, risk=0.123456789, loss=1234567.0), line(1, risk=1e-9, loss=2.0), line(2, reason="no")]
    found = json.loads(serialise_column(page_data(results(*lines), told(seeds=1))))
    assert found["views"][0]["mean"] == [0.12346, 1e-9, None]
    assert found["loss"]["mean"] == [1234600.0, 2.0, None]
    assert "low" not in found["loss"]
    assert found["status"] == {"levels": ["ok", "skipped"], "codes": [0, 0, 1]}
    assert found["numbers"] is None
    assert found["releases"]["of"]["0"][1] == found["releases"]["of"]["1"][1]


def test_an_axis_of_lists_is_read_as_words():
    values = ([["A", "B"], ["C"]], ["A", 2], "[no list")
    lines = [line(i, risk=0.1, loss=1.0, axes={"masking[0].blocks": value}) for i, value in enumerate(values)]
    (axis,) = page_data(results(*lines), told()).axes
    assert (axis.label, axis.values) == ("blocks", ("A + B, C", "A, 2", "[no list"))


def test_reasons_that_differ_in_numbers_alone_are_told_once():
    lines = [line(i, reason=f"k = {k} is more than 12 rows") for i, k in enumerate((50, 60, 70))]
    (told_once,) = reasons(page_data(results(*lines, line(3, risk=0.1, loss=1.0)), told()))
    assert told_once == ("skipped", "k = 50 is more than 12 rows (the others alike, with other numbers)", "3", "0, 1 and 2")


def test_numbers_with_gaps_stay_themselves():
    found = json.loads(serialise_column(page_data(results(line(4, risk=0.1, loss=1.0), line(9, risk=0.2, loss=2.0)), told())))
    assert found["numbers"] == [4, 9]
    assert found["views"][0]["frontier"] == [0]


def hostile():
    lines = [line(0, HOSTILE, risk=0.1, loss=1.0, axes={"masking[0].name": HOSTILE}), line(1, HOSTILE, reason=HOSTILE)]
    return page_data(results(*lines), told(name=HOSTILE, base=HOSTILE, release_of=lambda _: HOSTILE, strategy=HOSTILE))


def test_hostile_texts_are_texts():
    page = render_sweep_page(hostile())
    assert "<img" not in page
    assert page.count("</script>") == 2
    assert json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])["reason"]["levels"] == ["", HOSTILE]


def test_the_policy_of_the_page_allows_its_script_and_style_and_nothing_else():
    page = render_sweep_page(page_data(synthetic(12), told()))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1].replace("&#39;", "'")
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.S)[1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert not re.search(r"""<[^>]* (style|on\w+)=""", page.split("<script")[0])
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)


def test_the_page_says_what_it_must_and_not_what_it_must_not():
    page = render_sweep_page(page_data(synthetic(12), told()))
    for wanted in (
        "Private",
        "must not be published",
        "worst found among the attacks run",
        "biased low",
        "12 release candidates",
    ):
        assert wanted in page
    for never in ("worst case", "worst-case", "upper bound", "resists"):
        assert never not in page.lower()
    assert page.index("Private") < page.index("<main")


def test_the_scripts_write_texts_alone():
    assert {path.name for path in SCRIPTS} >= {"paged_table.js", "browse.js", "map.js"}
    scripts = "".join(path.read_text() for path in SCRIPTS)
    for never in (
        "innerHTML",
        "outerHTML",
        "insertAdjacent",
        "document.write",
        "eval(",
        "new Function",
        "fetch(",
        "XMLHttp",
        "import(",
    ):
        assert never not in scripts


def test_the_still_map_draws_a_sample_with_the_whole_frontier():
    data = page_data(synthetic(400, seeds=1), told())
    drawn = sample(data, data.views[0], most=150)
    assert len(drawn) == 150
    assert set(data.views[0].frontier) <= set(drawn)
    assert len(sample(data, data.views[0])) == np.count_nonzero(~np.isnan(data.views[0].risk.mean))
    picture = still_map(data, data.views[0], "map")
    assert "style=" not in picture
    assert "#0000" not in picture
    assert all(f"var(--kind-{i})" in picture for i in range(4))
    assert 'fill="var(--pass-ground)"' in picture


def test_marks_differ_in_shape_and_colour():
    looks = {(kind % 8, shape(kind)) for kind in range(40)}
    assert len(looks) == 40
    assert len({shape(kind) for kind in range(8)}) == len(SHAPES) == 8


def test_release_texts_are_those_that_matter_most(monkeypatch):
    monkeypatch.setattr(building, "MOST_RELEASES", 3)

    def release_of(number):
        if number == 2:
            raise InputError("wrong", "masking", "not a release", "another", "take another")
        return f"point {number}"

    data = page_data(small(), told(release_of=release_of))
    assert data.releases == {0: "point 0", 1: "point 1"}
    assert page_data(small(), told(release_of=None)).releases == {}


def test_figures_without_room_are_counted(monkeypatch):
    table = synthetic(8, seeds=1, attributes=tuple(f"A{i}" for i in range(30)))
    assert page_data(table, told()).left_out == 0
    monkeypatch.setattr(building, "MOST_NUMBERS", 8 * 16)
    data = page_data(table, told())
    assert len(data.figures) == 16
    assert data.left_out == len(table.figures) - 16
    assert {MADE.WORST, MADE.LINKED, "sse_percent"} <= {figure.id for figure in data.figures}
    assert f"{data.left_out} further figures" in render_sweep_page(data)


def test_what_moves_what_is_told_of_both_views_and_the_loss():
    grid = [
        line(point, seed=seed, risk=0.5 - 0.1 * k, loss=float(k + 10 * wide), axes={"masking[0].k": k, "masking[0].wide": wide})
        for point, (k, wide) in enumerate((k, wide) for k in (1, 2, 3) for wide in (0, 1))
        for seed in (0, 1)
    ]
    data = page_data(results(*grid), told(sensitivity=True))
    found = data.influence
    assert found.parameters == ("k", "wide")
    assert found.measures[:3] == (data.views[0].axis, data.views[1].axis, data.loss.axis)
    shares = {name: [row[place].share for row in found.rows] for place, name in enumerate(found.measures)}
    assert shares[data.views[0].axis] == pytest.approx([1, 0])
    assert shares[data.loss.axis] == pytest.approx([2 / 3 / (2 / 3 + 25), 25 / (2 / 3 + 25)])
    assert shares[data.views[1].axis] == [None, None]
    assert "mdav: no trial has the figure" in found.gaps
    page = render_sweep_page(data)
    assert '100\u202f% <span aria-hidden="true">\u2198' in page
    assert "97\u202f%" in page


@pytest.mark.parametrize(
    "lines", [[line(0, risk=0.5, loss=3.0)], [line(0, reason="no")], [line(0, risk=0.0, loss=0.0), line(1, risk=0.0, loss=0.0)]]
)
def test_the_smallest_sweeps_have_a_page(lines):
    assert "<svg" in render_sweep_page(page_data(results(*lines), told()))
