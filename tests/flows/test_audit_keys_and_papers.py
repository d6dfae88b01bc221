"""`sdcert audit show | find | due` of runs whose key was revoked, and what a run's private papers add to its entries."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

import pytest
from trails import attempt, began, ended, write_trail

from tasks.audit.ledger.entries import AttemptMade, RunBegan, RunEnded
from tasks.audit.ledger.ledger import Ledger
from tasks.audit.signing.key_changes import KeyChanges
from tasks.audit.signing.keys import signing
from tasks.runtime.artifacts import Store
from tasks.runtime.settings import Home

RUN = "20261121T093000Z-1f2e3d"


def test_show_tells_parameters_of_masks_and_who_wrote_the_policy_from_a_manifest_that_is_whole(audit, home):
    path = home / "runs" / RUN / "manifest.json"
    path.parent.mkdir(parents=True)
    spec = {"name": "survey", "source": {"dataset": "anes96"}, "policy_author": "control unit", "policy_version": "3",
            "masking": [{"method": "microaggregation", "attributes": ["age"], "k": 12}],
            "policy": [{"measure": "k_anonymity", "at_least": 5}]}  # fmt: skip
    path.write_text(json.dumps({"spec": spec}))
    write_trail(home, [began(RUN), ended(RUN, manifest=Store().digest(path.read_bytes()))])
    text = re.sub(r"\s+", " ", audit("show", RUN)[1])
    assert "step 1, microaggregation age; k = 12" in text
    assert "policy's author control unit policy's version 3" in text
    assert text.count(" anes96 ") == 2  # the release, and the data set: once
    path.write_text(json.dumps({"spec": spec | {"policy_author": "somebody else"}}))
    assert "somebody else" not in audit("show", RUN)[1]


@pytest.mark.parametrize("since", [None, "2000-01-01T00:00:00Z", "2999-01-01"])
def test_what_a_key_signed_before_its_revocation_is_noted_and_believed(audit, home, since):
    with signing() as key:
        for kind, event in ((RunBegan, began(RUN)), (AttemptMade, attempt(RUN)), (RunEnded, ended(RUN))):
            Ledger.current().append(kind.model_validate_json(json.dumps(event)), key)
    changes = KeyChanges(Home.current())
    if since == "2999-01-01":
        changes.rotate()
    else:
        changes.revoke(key.key_id, reason="stolen", since=None if since is None else datetime.fromisoformat(since))
    noted = since != "2999-01-01"
    assert audit("verify")[0] == 0
    for words in (("show", RUN), ("find",), ("show", "1")):
        code, out, _ = audit(*words)
        assert (code, "NOT TO BE BELIEVED" in out) == (0, False), out
        assert (f"signed by key {key.key_id[:16]}, which was revoked on {datetime.now(UTC):%Y-%m-%d} (stolen)" in out) == noted
        assert ("no longer stand" in out) == noted
    assert audit("export", "--format", "html", "-o", "-")[0] == 0
    code, out, _ = audit("due")
    assert (code, "it verifies no more" in out) == (int(noted or "grown stronger" in out), noted)


def test_what_a_key_signs_after_its_revocation_is_not_believed(audit, home):
    with signing() as thief:
        pass
    KeyChanges(Home.current()).revoke(thief.key_id, reason="stolen")
    Ledger.current().append(RunEnded.model_validate_json(json.dumps(ended(RUN))), thief)
    assert audit("verify")[0] == 1
    code, out, _ = audit("show", RUN)
    assert (code, "NOT TO BE BELIEVED" in out, "before, by entry" in out) == (1, True, True)
