"""Sampled, stratified and pseudonymised releases, end to end."""

from __future__ import annotations

import csv
import hashlib

import pytest
from outcomes import folder_of, scorecard_of, statement_in
from release_files import RELEASE, survey, write_release

STRATA = ["region"]
SAMPLE = {"method": "sampling", "share": 0.5, "by": STRATA}
MEANS = {"method": "microaggregation", "attributes": ["age", "income", "town"], "k": 4, "by": STRATA}
ATTRIBUTES = RELEASE["attributes"] | {"region": {"role": "quasi_identifier", "scale": "nominal"}}


def pseudonyms(stable):
    return {"method": "pseudonyms", "attributes": ["person_id"], "stable": stable}


def regional(rows=120):
    head, *lines = survey(rows).splitlines()
    return "\n".join([f"{head},region", *(f"{line},{'NSE'[i % 3]}" for i, line in enumerate(lines))]) + "\n"


def released(tmp_path, manifest):
    with (folder_of(tmp_path, manifest) / "released.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def predicate_of(tmp_path, manifest):
    return statement_in(folder_of(tmp_path, manifest))["predicate"]


@pytest.mark.slow
def test_a_sample_by_strata_with_pseudonyms(certify, sdcert, tmp_path, home):
    text = regional()
    policy = [
        {"measure": "reidentification", "at_most": 0.4},
        {"measure": "records_exposed", "at_most": 0.4},
    ]  # of half at most
    change = {"attributes": ATTRIBUTES, "masking": [SAMPLE, MEANS, pseudonyms("release")], "policy": policy}
    checked = sdcert("check", write_release(tmp_path / "project", change, text=text))
    assert checked.code == 0, checked.err
    assert "person_id            identifier        code      published as a keyed pseudonym" in checked.out
    ran, manifest = certify(change, text=text)
    assert ran.code == 0, ran.err
    rows = released(tmp_path, manifest)
    assert list(rows[0]) == ["person_id", "age", "income", "town", "vote", "region"]
    assert [sum(row["region"] == region for row in rows) for region in "NSE"] == [20, 20, 20]
    assert len({row["person_id"] for row in rows}) == 60

    scorecard = scorecard_of(tmp_path, manifest)
    values = {(one["measure"], one["intruder"], one["attack"]): one["value"] for one in scorecard["estimates"]}
    assert values["records_absent", None, None] == 0.5
    assert values["k_anonymity", None, None] >= 4
    found = values["reidentification_present", "declared", "transparency"]
    assert found == pytest.approx(2 * values["reidentification", "declared", "transparency"], rel=0.02)
    assert 0.15 < found <= 0.25

    predicate = predicate_of(tmp_path, manifest)
    assert (predicate["data"]["rows_in"], predicate["data"]["rows_out"]) == (120, 60)
    (sampled,) = predicate["data"]["sampled"]
    assert sampled == {"method": "sampling", "parameters": {"share": 0.5, "by": STRATA, "allocation": "proportional"}}
    person = next(one for one in predicate["attributes"] if one["name"] == "person_id")
    assert (person["published"], person["published_as_pseudonym"], person["mask"]) == (False, True, ["pseudonyms"])

    page = (folder_of(tmp_path, manifest) / "report.html").read_text()
    for said in (
        "Stratified random sample of 50",
        "published as a keyed pseudonym",
        "Totals and counts of the source need a factor",
        "60 of 120 records of the source",
        "among the released records exactly the distribution",
    ):
        assert said in page


@pytest.mark.slow
def test_pseudonyms_of_a_series_survive_a_new_draw_and_the_others_do_not(certify, sdcert, tmp_path, home):
    versions = {}
    for stable in ("series", "release"):
        change = {
            "masking": [pseudonyms(stable)],
            "policy": [{"measure": "reidentification", "at_most": 1.0}],
            "not_for_publication": True,
        }
        found = []
        for options in ((), ("--new-draw",)):
            ran, manifest = certify(change, *options)
            assert ran.code == 0, ran.err
            found.append({row["age"] + row["income"]: row["person_id"] for row in released(tmp_path, manifest)})
        versions[stable] = found
        secret = [path.read_bytes() for path in (home / "draws" / "seeds").iterdir()]
        assert len(secret) == (3 if stable == "series" else 4)  # a key and two draws, then one more
    first, again = versions["series"]
    assert first == again
    assert len(set(first.values())) == len(first) == 80
    first, again = versions["release"]
    assert not set(first.values()) & set(again.values())
    assert not set(first.values()) & set(versions["series"][0].values())

    identifiers = [line.split(",")[0] for line in survey().splitlines()[1:]]
    keys = [path.read_bytes() for path in (home / "draws" / "seeds").iterdir()]
    needles = [key.hex().encode() for key in keys] + keys
    needles += [
        hashlib.new(name, one.encode()).hexdigest().encode() for one in identifiers for name in ("md5", "sha1", "sha256")
    ]
    private = ("store", "keys", "draws", "runs", "failures")
    seen = 0
    for folder in (home, tmp_path / "releases"):
        for path in folder.rglob("*"):
            if path.is_file() and path.relative_to(folder).parts[0] not in private:
                content = path.read_bytes()
                seen += 1
                assert not [needle for needle in needles if needle in content], path
    assert seen >= 20
    opened = [path for path in (home / "draws").rglob("*") if path.stat().st_mode & 0o077]
    assert opened == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("masking", "code"),
    [
        ([MEANS | {"k": 50}], "in one of the 3 strata by region, of 40 rows"),
        ([MEANS | {"by": ["age"]}], "masked itself"),
        ([{"method": "sampling", "size": 2, "by": STRATA}], "a sample of 2 of 120 records is too small"),
        ([{"method": "pseudonyms", "attributes": ["vote"]}], "pseudonyms stand for identifiers"),
    ],
)
def test_check_and_certify_refuse_the_same(certify, sdcert, tmp_path, masking, code):
    text, change = regional(), {"attributes": ATTRIBUTES, "masking": masking, "not_for_publication": True}
    checked = sdcert("check", write_release(tmp_path / "project", change, text=text))
    ran, _ = certify(change, text=text)
    assert (checked.code, ran.code) == (2, 2)
    assert code in checked.err
    assert code in ran.err
