"""Wrong inputs: exit code 2, one message that says what, where, which value and what to do; nothing written, no traceback."""

import pytest
from release_files import survey, write_release

MASK = {"method": "microaggregation", "attributes": ["age", "income", "town"], "k": 5}
LINE = {"measure": "reidentification", "at_most": 0.4}
HEAD = "person_id,age,income,town,vote\n"


def attribute(**declared):
    return {"attributes": {"age": {"role": "quasi_identifier", "scale": "numeric"}, **declared}}


def lines(first, *more):
    return {"text": survey().replace("\n1000,", f"\n{first}\n1000,", 1) + "".join(more)}


CASES = {
    # the release file: what is changed, the words of the message
    "unknown field": ({"maskng": []}, "did you mean `masking`?"),
    "no policy": ({"policy": None}, "policy"),
    "empty policy": ({"policy": []}, "policy"),
    "no masking": ({"masking": []}, "masking"),
    "bad name": ({"name": "Survey 2026/../.."}, "name"),
    "unknown method": ({"masking": [{**MASK, "method": "microagregation"}]}, "did you mean `microaggregation`?"),
    "k of one": ({"masking": [{**MASK, "k": 1}]}, "masking[0].k"),
    "k is true": ({"masking": [{**MASK, "k": True}]}, "masking[0].k"),
    "k above n": ({"masking": [{**MASK, "k": 500}]}, "masking[0].k"),
    "window of 0 percent": ({"masking": [{"method": "rank_swapping", "attributes": ["age"], "window_percent": 0}]}, "window"),
    "window below one rank": ({"masking": [{"method": "rank_swapping", "attributes": ["age"], "window_percent": 0.5}]}, "rank"),
    "mask of an unknown attribute": ({"masking": [{**MASK, "attributes": ["age", "incme"]}]}, "income"),
    "swap of a nominal attribute": (
        {"masking": [{"method": "rank_swapping", "attributes": ["age", "vote"], "window_percent": 10}]},
        "vote",
    ),
    "mask of the key": ({"masking": [{**MASK, "attributes": ["age", "person_id"]}]}, "person_id"),
    "both table and dataset": ({"source": {"table": "survey.csv", "dataset": "fair"}}, "source"),
    "unknown dataset": ({"source": {"dataset": "anes69"}}, "anes96"),
    "missing source": ({"source": {"table": "surevy.csv"}}, "did you mean `survey.csv`?"),
    "source is a folder": ({"source": {"table": "."}}, "source"),
    "intruder knows an unknown attribute": ({"intruder": {"knows": ["agee"]}}, "age"),
    "targets of 0": ({"intruder": {"targets": 0.0}}, "intruder.targets"),
    "looks that shrink": ({"intruder": {"targets": {"first": 0.2, "last": 0.1, "looks": 2}}}, "intruder.targets"),
    "one look": ({"intruder": {"targets": {"first": 0.1, "last": 0.2, "looks": 1}}}, "intruder.targets.looks"),
    "required attack missing": ({"attacks": [{"method": "distance_linkage"}]}, "transparency"),
    "omitted without reason": ({"omit": [{"attack": "transparency"}]}, "reason"),
    "two attacks of one name": (
        {"attacks": [{"method": "transparency"}, {"method": "distance_linkage"}, {"method": "distance_linkage"}]},
        "id",
    ),
    "unknown measure": ({"policy": [{"measure": "reidentificaton", "at_most": 0.1}]}, "reidentification"),
    "limit in percent": ({"policy": [{"measure": "reidentification", "at_most": 15}]}, "0.15"),
    "limit in the wrong direction": ({"policy": [{"measure": "k_anonymity", "at_most": 3}]}, "at_least"),
    "two limits": ({"policy": [{**LINE, "at_least": 0.1}]}, "policy[0]"),
    "policy names an attack that does not run": ({"policy": [{**LINE, "attack": "linkage"}]}, "attack"),
    "policy names an unknown attribute": (
        {"policy": [{"measure": "same_value_disclosure", "at_most": 0.5, "attribute": "aeg"}]},
        "age",
    ),
    "chosen seed for publication": ({"seed": 1}, "not_for_publication"),
    "infinite limit": ({"policy": [{**LINE, "at_most": float("inf")}]}, "policy[0]"),
    "attribute declared that is not there": (attribute(agge={"role": "confidential", "scale": "numeric"}), "age"),
    "unknown role": (attribute(vote={"role": "secret", "scale": "nominal"}), "attributes.vote.role"),
    "text declared numeric": (attribute(vote={"role": "confidential", "scale": "numeric"}), "vote"),
    "text declared dates": (attribute(vote={"role": "confidential", "scale": "date"}), "YYYY-MM-DD"),
    "years of two digits": (attribute(vote={"role": "confidential", "date_format": "%d/%m/%y"}), "%y"),
    "free text that would be published": (attribute(vote={"role": "confidential", "scale": "free_text"}), "role: withheld"),
    "formulas that are refused": (
        {**lines("1,30.5,1.5,3,=yes"), "publish": {"formulas": "refuse"}},
        "vote (1 cell)",
    ),
    "derived without sources": (attribute(vote={"role": "derived", "scale": "nominal"}), "from"),
    "ordinal text without order": (attribute(vote={"role": "confidential", "scale": "ordinal"}), "order"),
    "identifier not declared": ({"key": None}, "person_id"),
    "key that is no column": ({"key": "persn_id"}, "person_id"),
    "expectation that fails": ({"expect": [{"expect": "between", "attribute": "age", "low": 60}]}, "expect"),
    "attribute of digits that are no number": (attribute(**{"\xb2": {"role": "confidential", "scale": "numeric"}}), "\xb2"),
    "name with a zero byte": ({"context": {"purpose": "a\0b"}}, "context.purpose"),
    "name of half a character": ({"policy_author": "\ud800"}, "JSON"),
    "codebook of a name that is too long": ({"codebook": "x" * 300}, "too long"),
    "publication format": ({"publish": {"format": "xlsx"}}, "publish.format"),
    # the table
    "empty table": ({"text": ""}, "survey.csv"),
    "header alone": ({"text": HEAD}, "survey.csv"),
    "ragged row": (lines("1,2,3"), "row"),
    "row too long": (lines("1,2,3,4,yes,6"), "row"),
    "duplicate column": ({"text": survey().replace("income", "age", 1)}, "age"),
    "nameless column": ({"text": survey().replace("income", "", 1)}, "column"),
    "infinity": (lines("1,inf,1.5,3,yes"), "age"),
    "NA among numbers": (lines("1,NA,1.5,3,yes"), "age"),
    "text among declared numbers": (lines("1,old,1.5,3,yes"), "age"),
    "decimal comma": (lines('1,"30,5",1.5,3,yes'), "age"),
    "NUL byte": (lines("1,2\0,1.5,3,yes"), "survey.csv"),
    "not a table": ({"text": "PK\x03\x04 nonsense \x00\x01"}, "survey.csv"),
    "one row": ({"text": HEAD + "1,30.5,100.5,2000,yes\n"}, ""),
    "constant masked column": (
        {"text": HEAD + "".join(f"{i},30.5,{i * 7}.5,{i * i},{'yes' if i % 3 else 'no'}\n" for i in range(40))},
        "age",
    ),
    "a function of a masked column": (
        {
            "text": "\n".join(
                line + (",older" if i == 0 else f",{float(line.split(',')[1]) + 5}")
                for i, line in enumerate(survey().strip().split("\n"))
            )
        },
        "older",
    ),
}


AFTER_PREFECT_STARTED = {  # told by a stage: the slow suite tries all of them, the default one the others
    "k above n",
    "swap of a nominal attribute",
    "window below one rank",
    "text declared numeric",
    "formulas that are refused",
    "attribute declared that is not there",
    "attribute of digits that are no number",
    "key that is no column",
    "text declared dates",
    "one row",
    "not a table",
    "duplicate column",
    "ordinal text without order",
    "infinity",
    "ragged row",
    "decimal comma",
    "nameless column",
    "row too long",
    "text among declared numbers",
    "NUL byte",
    "header alone",
}


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=pytest.mark.slow) if case in AFTER_PREFECT_STARTED else case for case in CASES]
)
def test_a_wrong_input_gets_one_clear_message(sdcert, tmp_path, case):
    change, word = CASES[case]
    change = dict(change)
    path = write_release(tmp_path / "project", text=change.pop("text", None), change=change)
    ran = sdcert("certify", path, "--output", tmp_path / "releases")
    assert ran.code == 2, ran.err
    assert word in ran.err, ran.err
    assert ran.err.count("error: ") == 1
    for part in ("where:", "allowed:", "to do:"):
        assert part in ran.err, ran.err
    assert "Traceback" not in ran.err + ran.out
    assert not (tmp_path / "releases").exists()


@pytest.mark.parametrize(
    ("words", "word"),
    [
        (["certify"], "RELEASE.yaml"),
        (["certify", "nowhere.yaml"], "nowhere.yaml"),
        (["certfy", "x.yaml"], "certify"),
        (["certify", "x.yaml", "--jsn"], "--json"),
        (["methods", "masks"], "did you mean `mask`?"),
        (["runs", "--last", "0"], "--last"),
        (["check", "/"], "file"),
    ],
)
def test_a_wrong_command_line(sdcert, words, word):
    ran = sdcert(*words)
    assert ran.code == 2
    assert word in ran.err
    assert "to do:" in ran.err
    assert "Traceback" not in ran.err


def test_a_server_that_is_not_there(sdcert, tmp_path, monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    ran = sdcert("certify", write_release(tmp_path / "project"), "--output", tmp_path / "releases")
    assert ran.code == 2
    assert "PREFECT_API_URL" in ran.err


def test_an_output_folder_that_cannot_be(sdcert, tmp_path):
    path = write_release(tmp_path / "project")
    ran = sdcert("certify", path, "--output", path)
    assert ran.code == 2
    assert "--output" in ran.err
