"""Published figures, through the command line: a release file over Census and EIA (figures of sdcMicro 5.8.1)."""

import csv

import pytest
from outcomes import ROOT, scorecard_of

pytestmark = pytest.mark.drawn

CENSUS = {3: (5.6922, 0.2920, 0.2932), 5: (9.0884, None, None), 10: (14.1559, 0.0730, 0.0729)}
EIA = {3: 0.5919, 5: 1.5877, 10: 3.2699}
CUSTOMERS = ("RES", "COM", "IND", "OTH", "TOT")
MONEY = [f"{who}{what}" for who in CUSTOMERS for what in ("REVENUE", "SALES")]
MONEY[MONEY.index("OTHSALES")] = "OTHRSALES"
LENIENT = [{"measure": "reidentification", "at_most": 1.0}]


def quasi_identifiers(names):
    return {name: {"role": "quasi_identifier", "scale": "numeric"} for name in names}


def figures(scorecard):
    return {figure["id"]: figure["value"] for figure in scorecard["estimates"]}


FIRST_QUICKLY = [3, *(pytest.param(k, marks=pytest.mark.long) for k in (5, 10))]


@pytest.mark.slow
@pytest.mark.parametrize("k", FIRST_QUICKLY)
@pytest.mark.parametrize("order", ["file order", "shuffled"])
def test_census(certify, tmp_path, reference, k, order):
    lines = (reference / "census.csv").read_text().replace('"', "").splitlines()
    if order == "shuffled":
        lines = [lines[0], *sorted(lines[1:], key=lambda line: line[::-1])]
    linkage = {"method": "distance_linkage"}
    change = {
        "key": None,
        "attributes": quasi_identifiers(lines[0].split(",")),
        "masking": [{"method": "microaggregation", "k": k}],
        "attacks": [linkage, {**linkage, "id": "by-original", "scale_by": "original"}, {"method": "transparency"}],
        "policy": LENIENT,
    }
    ran, manifest = certify(change, text="\n".join(lines) + "\n")
    assert ran.code == 0, ran.err
    found = figures(scorecard_of(tmp_path, manifest))
    sse, by_release, by_original = CENSUS[k]
    assert found["sse_percent"] == pytest.approx(sse, abs=0.00006)
    if by_release is not None:
        assert found["reidentification|distance_linkage|declared"] == pytest.approx(by_release, abs=0.00006)
        assert found["reidentification|by-original|declared"] == pytest.approx(by_original, abs=0.00006)
    assert found["reidentification|transparency|declared"] == pytest.approx(1 / k, rel=0.02)
    assert found["k_anonymity"] >= k


@pytest.mark.slow
@pytest.mark.parametrize("k", FIRST_QUICKLY)
def test_eia(certify, tmp_path, reference, k):
    with (reference / "eia.csv").open() as file:
        rows = list(csv.DictReader(file))
    text = "\n".join([",".join(MONEY), *(",".join(row[name] for name in MONEY) for row in rows)]) + "\n"
    change = {
        "key": None,
        "attributes": quasi_identifiers(MONEY),
        "masking": [{"method": "microaggregation", "attributes": MONEY, "k": k}],
        "policy": LENIENT,
    }
    ran, manifest = certify(change, text=text)
    assert ran.code == 0, ran.err
    assert figures(scorecard_of(tmp_path, manifest))["sse_percent"] == pytest.approx(EIA[k], abs=0.00006)


@pytest.mark.parametrize(("name", "code"), [("anes96", 0), pytest.param("anes96-refused", 1, marks=pytest.mark.slow)])
def test_the_shipped_releases(sdcert, tmp_path, name, code):
    ran = sdcert("certify", ROOT / "params" / "releases" / f"{name}.yaml", "--output", tmp_path / "releases")
    assert ran.code == code, ran.err
    (folder,) = (path for path in (tmp_path / "releases" / name).iterdir() if not path.is_symlink())
    assert (folder / "released.csv").exists() == (code == 0)
