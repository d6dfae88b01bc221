"""Whoever may write in the private folder, and has no key, changes no verdict: what they edit is computed again, or stops."""

from __future__ import annotations

import json
import os
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from outcomes import newest_manifest
from pydantic import TypeAdapter

from flows.release import ReleaseSpec
from flows.run.agreement import refuse_disagreement
from flows.run.stage_runner import ReleaseArtifacts
from tasks.microdata.errors import InputError
from tasks.report.content import Content
from tasks.runtime.artifacts import Store
from tasks.runtime.settings import Home
from tasks.score.release_figures import Score

PLAN: dict[str, Any] = {
    "attacks": [{"method": "distance_linkage"}],
    "omit": [{"attack": "transparency", "reason": "one attack is enough to try the cache"}],
    "policy": [{"measure": "reidentification", "at_most": 0.25}],
}


def masked(name: str, k: int) -> dict[str, Any]:
    mask = {"method": "microaggregation", "attributes": ["age", "income", "town"], "k": k}
    return {**PLAN, "name": name, "masking": [mask]}


def score_record(manifest: dict[str, Any]) -> Path:
    return Home.current().records / manifest["stages"]["score"]["record"]


def figures() -> tuple[Any, Any]:
    manifest = newest_manifest()
    private = json.loads((Home.current().runs / manifest["run"] / "scorecard.json").read_text())
    return private["verdict"], private["estimates"]


@pytest.fixture
def two(certify):
    """A release that is certified and one that is refused, of the same table by the same policy."""
    strong, kept = certify(masked("strong", 10))
    weak, refused = certify(masked("weak", 2))
    assert (strong.code, weak.code) == (0, 1), strong.err + weak.err
    return kept, refused


@pytest.mark.slow
@pytest.mark.parametrize("edits", [4, pytest.param(30, marks=pytest.mark.long)])
def test_one_s_verdict_in_the_other_s_record_certifies_nothing(two, certify, sdcert, home, tmp_path, edits):
    kept, refused = two
    weak, strong = score_record(refused), score_record(kept)
    fresh = figures()
    record = json.loads(weak.read_text())
    weak.write_text(json.dumps({**record, "result": json.loads(strong.read_text())["result"]}))

    assert sdcert("store", "verify").code == 1
    told = sdcert("doctor")
    assert told.code == 1
    assert f"1 record edited or exchanged after a stage had returned: {weak.name}" in told.out
    found = sdcert("audit", "verify")
    assert found.code == 1
    assert f"records/{weak.name} (stage score of entry" in found.out

    ran, manifest = certify(masked("weak", 2))
    assert (ran.code, figures()) == (1, fresh)
    assert not list((tmp_path / "releases" / "weak").glob("*/certificate.json"))
    assert not manifest["stages"]["score"]["cached"]
    assert sdcert("store", "verify").code == 0
    assert sdcert("audit", "verify").code == 0

    rng = random.Random(20261123)
    for number in range(edits):
        told = edit(home / "records", rng)
        ran, _ = certify(masked("weak", 2))
        assert ran.code in (1, 2), (number, told, ran.err)
        if ran.code == 1:
            assert figures() == fresh, (number, told)


def edit(records: Path, rng: random.Random) -> str:
    """Change records at random: exchange two, put one result into another, flip a bit, cut one off, take a seal away."""
    one, other = rng.sample(sorted(records.iterdir()), 2)
    match kind := rng.choice(["exchange", "result", "addresses", "bit", "cut", "unsealed", "older"]):
        case "exchange":
            content = one.read_bytes()
            one.write_bytes(other.read_bytes())
            other.write_bytes(content)
        case "result":
            one.write_text(json.dumps({**json.loads(one.read_text()), "result": json.loads(other.read_text())["result"]}))
        case "bit":
            content = bytearray(one.read_bytes())
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
            one.write_bytes(content)
        case "cut":
            os.truncate(one, rng.randrange(one.stat().st_size))
        case _:
            record, foreign = json.loads(one.read_text()), json.loads(json.loads(other.read_text())["result"])
            result = json.loads(record["result"])
            if kind == "addresses":
                result["produced"] = foreign["produced"]
            elif kind == "unsealed":
                del result["seal"]
            else:
                result, record["metadata"]["serializer"] = result["produced"], {"type": "json"}
            one.write_text(json.dumps({**record, "result": json.dumps(result)}))
    return f"{kind}: {one.name} {other.name}"


def told_of(manifest: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments of the end of a run: release, artifacts, figures, content of the report, facts of the recorder."""
    stages, store = manifest["stages"], Store()
    release = TypeAdapter(ReleaseSpec).validate_json(json.dumps(manifest["spec"]))
    page, score = stages["report"]["produced"], stages["score"]["produced"]["score"]
    source, released = stages["ingest"]["produced"]["data"], stages["mask"]["produced"]["released"]
    made = ReleaseArtifacts(source, released, score, page, manifest["draw"])
    content = store.record(page["content"], Content)
    return release, made, store.record(score, Score), content, stages, manifest["inputs"]


@pytest.mark.long
def test_what_does_not_follow_from_the_figures_is_not_signed(two):
    """Even where every seal is whole: a fault of this program, or a holder of the store's key."""
    kept, refused = map(told_of, two)
    release, made, measured, content, stages, inputs = refused
    refuse_disagreement(*kept)
    refuse_disagreement(*refused)
    lenient = release.model_copy(update={"policy": (release.policy[0].model_copy(update={"at_most": 0.9}),)})
    cases = (
        (lenient, made, measured, content, stages, inputs),
        (release, made, replace(measured, verdict=kept[2].verdict), content, stages, inputs),
        (release, made, measured, kept[3], stages, inputs),
        (release, replace(made, released=kept[1].released), measured, content, stages, inputs),
        (release, made, measured, content, {**stages, "score": kept[4]["score"]}, inputs),
        (release, made, measured, content, stages, {**inputs, "score": kept[5]["score"]}),
    )
    for case in cases:
        with pytest.raises(InputError) as caught:
            refuse_disagreement(*case)
        assert caught.value.code == "results-disagree"
        assert "nothing was signed" in caught.value.remedy


@pytest.mark.long
def test_a_damaged_key_and_a_damaged_ledger_stop_before_anything_is_computed(certify, sdcert, home):
    ran, _ = certify(masked("strong", 10))
    assert ran.code == 0, ran.err
    key, ledger = home / "keys" / "store.key", home / "ledger" / "ledger.jsonl"
    runs = sorted((home / "runs").iterdir())
    whole = key.read_bytes()
    key.chmod(0o600)
    key.write_bytes(bytes([whole[0] ^ 1]) + whole[1:])
    ran, _ = certify(masked("strong", 10))
    assert (ran.code, "not the one that the store was made with" in ran.err) == (2, True), ran.err
    assert "restore keys/store.key" in ran.err
    assert "not the key that the store was made with" in sdcert("doctor").out
    assert "key        the key is not the one" in sdcert("store", "verify").out
    key.write_bytes(whole)

    content = ledger.read_bytes()
    ledger.write_bytes(content[:400] + bytes([content[400] ^ 1]) + content[401:])
    ran, _ = certify(masked("strong", 10))
    assert (ran.code, "sdcert audit verify" in ran.err) == (2, True), ran.err
    assert sorted((home / "runs").iterdir()) == runs
    ledger.write_bytes(content)
    ran, manifest = certify(masked("strong", 10))
    assert ran.code == 0
    assert all(stage["cached"] for stage in manifest["stages"].values())
