"""How two tables differ, in numbers."""

from collections import Counter
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.replay.environment_changes import changes
from flows.replay.table_difference import RowChange, row_change
from tasks.microdata.table import Microdata
from tasks.runtime.provenance import describe_process

OLD = Microdata.from_columns({"id": [1, 2, 3, 4], "age": [30.0, None, 50.0, 60.0], "vote": ["yes", "no", "no", None]})


def table(rows):
    return Microdata.from_columns(
        {"id": [r[0] for r in rows], "age": [float(r[1]) for r in rows], "vote": [r[2] for r in rows]}
    )


def test_the_same_table_has_not_changed():
    assert row_change(OLD, OLD) == row_change(OLD, OLD, "id") == RowChange()
    assert str(RowChange()) == "the same rows"


def test_a_changed_cell_is_counted_in_its_column():
    new = Microdata.from_columns({"id": [1, 2, 3, 4], "age": [30.0, 41.0, 50.0, None], "vote": ["yes", "no", "yes", None]})
    expected = RowChange(changed=3, columns=(("age", 2), ("vote", 1)))
    assert row_change(OLD, new) == row_change(OLD, new, "id") == expected
    assert str(expected) == "3 rows changed, in age (2), vote (1)"


def test_rows_that_came_and_went_are_told_from_changed_ones_by_the_key():
    new = Microdata.from_columns({"id": [4, 5, 1], "age": [60.0, 20.0, 31.0], "vote": [None, "no", "yes"]})
    assert row_change(OLD, new, "id") == RowChange(added=1, removed=2, changed=1, columns=(("age", 1),))
    without_a_key = row_change(OLD, new)
    assert without_a_key == RowChange(added=2, removed=3)
    assert str(without_a_key) == "2 rows added; 3 rows removed"


def test_a_key_that_does_not_tell_rows_apart_is_not_used():
    assert row_change(OLD, OLD.take(np.array([1, 0, 2, 3])), "vote") == RowChange(reordered=True)


def test_columns_that_came_went_or_changed_their_type():
    new = Microdata.from_columns({"id": ["1", "2", "3", "4"], "age": [30.0, None, 50.0, 60.0], "town": [1, 2, 3, 4]})
    found = row_change(OLD, new, "id")
    assert found == RowChange(columns_added=("town",), columns_removed=("vote",), columns_retyped=("id",))
    assert str(found) == "1 column (town) added; 1 column (vote) removed; 1 column (id) of another type"


def test_an_empty_table_has_lost_all_its_rows():
    assert row_change(OLD, OLD.take(np.array([], dtype=np.int64))) == RowChange(removed=4)


ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.sampled_from(["a", "b"])), max_size=8)


@settings(deadline=None)
@given(ROWS, ROWS)
def test_without_a_key_the_rows_are_counted_as_a_bag_would(old, new):
    found = row_change(table(old), table(new))
    gone, came = Counter(old) - Counter(new), Counter(new) - Counter(old)
    if found.changed:
        assert (found.added, found.removed) == (0, 0)
        assert found.changed == sum(a != b for a, b in zip(old, new, strict=True)) == gone.total()
        assert dict(found.columns) == {
            name: count
            for place, name in enumerate(("id", "age", "vote"))
            if (count := sum(a[place] != b[place] for a, b in zip(old, new, strict=True)))
        }
    else:
        assert (found.removed, found.added) == (gone.total(), came.total())
        assert found.reordered == (old != new and not gone and not came)


@settings(deadline=None)
@given(st.dictionaries(st.integers(0, 9), st.integers(0, 1)), st.dictionaries(st.integers(0, 9), st.integers(0, 1)))
def test_with_a_key_the_rows_are_matched_as_two_dicts_would(old, new):
    tables = [table([(key, value, "a") for key, value in one.items()]) for one in (old, new)]
    found = row_change(*tables, "id")
    both = old.keys() & new.keys()
    assert (found.removed, found.added) == (len(old) - len(both), len(new) - len(both))
    assert found.changed == sum(old[key] != new[key] for key in both)


NOW = describe_process()


def test_what_has_not_changed_is_not_told():
    assert changes(NOW, NOW) == replace(changes(NOW, NOW), files=(), lock=False, pins=(), packages=(), platform=())
    assert not changes(None, NOW).known


def test_every_change_is_named():
    files = {**NOW.files, "tasks/mask/methods.py": "0", "tasks/mask/gone.py": "1"}
    del files["flows/cli/root.py"]
    then = replace(
        NOW, files=files, lock="0", cpu="another", packages={**NOW.packages, "numpy": "0.1"}, pins={**NOW.pins, "x": "1"}
    )
    found = changes(then, NOW)
    assert found.files == ("flows/cli/root.py", "tasks/mask/gone.py", "tasks/mask/methods.py")
    assert found.flow_files == ("flows/cli/root.py",)
    assert found.list_room_files(("mask", "microdata")) == ("tasks/mask/gone.py", "tasks/mask/methods.py")
    assert found.lock
    assert found.pins == ("x 1 -> none",)
    assert found.packages == (f"numpy 0.1 -> {NOW.packages['numpy']}",)
    assert found.platform == (f"cpu another -> {NOW.cpu}",)
