"""What a release file may say of a file that the intruder holds."""

import json

import pytest

from tasks.attack.linkage.external_files import FileSpec


@pytest.mark.parametrize(
    "fields",
    [
        {"key": {"a": "id", "b": "id"}},
        {"key": []},
        {"attributes": {"a": "age", "b": "age"}},
        {"attributes": ["id"]},
        {"dataset": "census"},
        {"attributes": [1]},
        {"key": 7},
    ],
)
def test_a_file_is_written_in_one_way(fields):
    with pytest.raises(ValueError, match="validation error"):
        FileSpec.model_validate_json(json.dumps({"table": "register.csv", "key": "id", **fields}))
    FileSpec.model_validate_json(json.dumps({"table": "register.csv", "key": "id", "attributes": {"AGE": "age"}}))
