"""A watch whose release file is silent on a kind of disclosure, at a version that was decided before."""

from __future__ import annotations

import pytest
from release_files import REASON
from watches import Certifier, drop, never, watch_of

from flows import limits
from flows.watch import once, quarantine
from flows.watch.once import poll_once
from tasks.microdata.errors import InputError


@pytest.mark.parametrize("outcome", ["certified", "refused", "undecided"])
@pytest.mark.parametrize(
    ("release", "silent"),
    [({"not_limited": {}}, True), ({"not_limited": {"insiders": REASON, "inference": REASON}}, True), ({}, False)],
    ids=["silent", "silent on one kind", "answered"],
)
def test_a_decided_version_of_a_silent_release_is_refused_at_each_look(own, tmp_path, monkeypatch, outcome, release, silent):
    """It was decided before the rule came in: nothing is run, and nothing is said to be in order."""
    monkeypatch.setattr(once, "_find_address", lambda *_: None)
    watch = watch_of(tmp_path, release=release)
    drop(tmp_path, "survey-1.csv")
    poll_once(watch, Certifier([outcome]))
    for _ in range(2):
        if silent:
            with pytest.raises(InputError) as refused:
                poll_once(watch, never)
            assert refused.value.code == "kind-not-limited"
            assert any("membership" in line for line in refused.value.lines)
        else:
            assert poll_once(watch, never).exit_code == 0
    assert quarantine.read_quarantine_records() == []


@pytest.mark.parametrize("reasons", [{}, {"membership": REASON}, {"membership": REASON, "inference": REASON}], ids=len)
def test_a_decided_version_is_read_again_only_where_the_answer_depends_on_it(own, tmp_path, monkeypatch, reasons):
    """Every kind that any table could be asked about is answered: the table need not be looked at."""
    monkeypatch.setattr(once, "_find_address", lambda *_: None)
    lines = [{"measure": "reidentification", "at_most": 0.4}, {"measure": "records_exposed", "at_most": 0.9}]
    lines += [{"measure": "reidentification", "at_most": 0.9, "intruder": "insider"}]
    lines += [{"measure": "inference_excess", "at_most": 0.9}, {"measure": "inference_asserted", "at_most": 0.9}]
    lines += [{"measure": "membership_advantage", "at_most": 0.5}]
    lines = [line for line in lines if not any(line["measure"].startswith(kind) for kind in reasons)]
    answered = watch_of(tmp_path, release={"policy": lines, "not_limited": reasons, "control": 0.3})
    drop(tmp_path, "survey-1.csv")
    poll_once(answered, Certifier(["certified"]))
    monkeypatch.setattr(limits, "load_classified", lambda _: pytest.fail("the table was read"))
    assert poll_once(answered, never).action == "unchanged"
