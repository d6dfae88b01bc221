"""Wrong masking steps in a release file: the message points at the place in the file, in its author's words."""

import pytest
from release_files import survey, write_release

from flows.cli.check import print_plan
from flows.release_file import load_release
from tasks.microdata.errors import InputError

PRAM = {"method": "pram", "attributes": ["vote"]}
GROUPS = {"method": "microaggregation", "k": 3}
MAP = {"method": "recoding"}


def refusal(tmp_path, *steps):
    path = write_release(tmp_path, {"masking": list(steps)})
    with pytest.raises(InputError) as refused:
        print_plan(path)
    return refused.value


@pytest.mark.parametrize(
    ("step", "place", "said"),
    [
        ({**GROUPS, "blocks": [{"attributes": ["age"], "k": 1}]}, "masking[0].blocks[0].k", "greater than or equal to 2"),
        ({**GROUPS, "blocks": [{}]}, "masking[0].blocks[0].attributes", "field required"),
        ({**GROUPS, "blocks": ["age"]}, "masking[0].blocks[0]", "a list is expected"),
        ({**GROUPS, "attributes": []}, "masking[0].attributes", "at least 1 entry is needed"),
        ({**GROUPS, "attributes": ["age", "age"]}, "masking[0]", "`attributes` names an attribute twice"),
        ({**GROUPS, "gamma": 0.2}, "masking[0]", "gamma belongs to"),
        ({"method": "top_bottom_coding", "limits": {"age": 80}}, "masking[0].limits.age", "a mapping is expected"),
        ({"method": "top_bottom_coding", "limits": {}}, "masking[0].limits", "at least 1 entry"),
        ({**MAP, "recode": {"vote": {"map": {"no": ""}}}}, "masking[0].recode.vote.map", "the text is empty"),
        (
            {**MAP, "recode": {"vote": {"map": {"no": "x"}, "others": {"become": ""}}}},
            "masking[0].recode.vote.others.become",
            "the text is empty",
        ),
        ({**PRAM, "matrix": [[0.5, 0.5], [0.5, 0.5]]}, "masking[0].matrix", "a mapping from each category"),
    ],
)
def test_a_message_points_at_a_place_of_the_file(tmp_path, step, place, said):
    refused = refusal(tmp_path, step)
    assert refused.where.endswith(f": {place}"), refused.where
    assert said in refused.what
    assert refused.allowed != "`attributes` names an attribute twice"


@pytest.mark.parametrize(
    ("step", "place", "value"),
    [
        (
            {**PRAM, "matrix": {"yes": {"yes": 1.5, "no": -0.5}, "no": {"yes": 0.5, "no": 0.5}}},
            "masking[0].matrix",
            {"yes": {"yes": 1.5}},
        ),
        (
            {**PRAM, "matrix": {"yes": {"yes": 0.5, "no": 0.6}, "no": {"yes": 0.5, "no": 0.5}}},
            "masking[0].matrix",
            {"yes": {"yes": 0.5, "no": 0.6}},
        ),
        ({**MAP, "recode": {"vote": {"map": {"yes": None}}}}, "masking[0].recode.vote.map", {"yes": None}),
    ],
)
def test_categories_stand_on_the_terminal_alone(tmp_path, step, place, value):
    """What may be logged is the place: it ends where categories begin. The wrong row is shown as the value."""
    refused = refusal(tmp_path, step)
    assert refused.where.endswith(f": {place}")
    assert refused.value == value
    assert not {"yes", "no"} & set(refused.public.replace(".", " ").split())


@pytest.mark.parametrize(
    "after",
    [
        {"method": "rank_swapping", "attributes": ["age"], "window_percent": 10.0},
        {"method": "top_bottom_coding", "limits": {"age": {"top": 89.25}}},
        {"method": "recoding", "recode": {"age": {"intervals": [89.25], "publish": "median"}}},
    ],
)
def test_check_refuses_what_masking_would_refuse_after_microaggregation(tmp_path, after):
    refused = refusal(tmp_path, {"method": "microaggregation", "attributes": ["age"], "k": 80}, after)
    assert refused.where.partition(": ")[2].startswith("masking[1]")


def test_a_folder_is_no_mapping_file(tmp_path):
    (tmp_path / "towns.csv").mkdir()
    refused = refusal(tmp_path, {**MAP, "recode": {"vote": {"file": "towns.csv"}}})
    assert "a folder or a device" in refused.what
    assert "did you mean" not in refused.remedy


def test_a_mapping_file_with_an_odd_spelling_tells_how_to_write_it(tmp_path):
    (tmp_path / "towns.yaml").write_text("yes: NO\n")
    refused = refusal(tmp_path, {**MAP, "recode": {"vote": {"file": "towns.yaml"}}})
    assert "in quotes" in refused.remedy
    assert "masking[0].recode.vote.file" in refused.remedy


def test_a_mapping_file_may_be_written_in_capitals(tmp_path):
    (tmp_path / "VOTES.CSV").write_text("old,new\nyes,x\nno,x\n")
    path = write_release(tmp_path, {"masking": [{**MAP, "recode": {"vote": {"file": "VOTES.CSV"}}}]}, text=survey())
    assert load_release(path).masking[0].recode[0][1].map == (("no", "x"), ("yes", "x"))
