"""What is kept of something that broke: all of it, but no password of an address."""

from __future__ import annotations

import pytest

from tasks.runtime.failures import write_private_trace
from tasks.runtime.tracking import Tracking


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("at postgresql://user:canary@host/x failed", "at postgresql://***@host/x failed"),
        ("'s3://canary:4711@bucket', http://canary@h:80/a", "'s3://***@bucket', http://***@h:80/a"),
        ("a@b.c and http://host/a@b", "a@b.c and http://host/a@b"),
    ],
)
def test_an_address_keeps_no_password(home, text, kept):
    write_private_trace("stage", "token", ValueError(text))
    assert f"ValueError: {kept}\n" in (home / "failures" / "token.txt").read_text()


@pytest.mark.parametrize(
    "uri", ["postgress://user:canary-4711@127.0.0.1:9/x", "postgresql://user:canary-4711@127.0.0.1:port/x"]
)
def test_an_address_of_mlflow_s_that_is_none_leaves_no_password(home, monkeypatch, uri):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    told = Tracking(series="survey", run="run-1").close("FINISHED")
    assert told is not None
    assert "canary" not in told
    assert "canary" not in "".join(path.read_text() for path in (home / "failures").iterdir())
