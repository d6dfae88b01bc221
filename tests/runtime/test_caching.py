import ast
import json
import threading
import time
from pathlib import Path

import pytest
from prefect import flow, get_client
from prefect.serializers import JSONSerializer

from tasks.microdata.errors import InputError
from tasks.microdata.fingerprint import TASKS
from tasks.microdata.table import Microdata
from tasks.runtime.artifacts import Store
from tasks.runtime.caching import FlockManager, SealedResultSerializer, vet
from tasks.runtime.failures import StageFailure
from tasks.runtime.records import seal_result
from tasks.runtime.settings import Home
from tasks.runtime.stages import stage

STAGES = ("ingest", "classify", "mask", "attack", "score", "report")
calls: list[str] = []


@stage("demonstration", rooms=())
def demonstrate(text: str) -> dict[str, str]:
    calls.append(text)
    if text == "broken":
        raise ValueError("secret value 4711")
    return {"table": Store().put_table(Microdata.from_columns({"text": [text]}))}


@flow(name="demonstration")
def demonstration(text: str, refresh: bool = False) -> tuple[str, dict[str, str]]:
    state = demonstrate.bind(text).run("demonstrate", refresh=refresh)
    return state.name, state.result()


@pytest.fixture(autouse=True)
def forget_calls():
    calls.clear()


def record_path(home) -> Path:
    (path,) = (home / "records").iterdir()
    return path


def test_the_second_call_is_cached(home, prefect):
    first, second = demonstration("a"), demonstration("a")
    assert (first[0], second[0]) == ("Completed", "Cached")
    assert first[1] == second[1]
    assert calls == ["a"]
    demonstration("b")
    demonstration("a", refresh=True)
    assert calls == ["a", "b", "a"]


@pytest.mark.parametrize("name", ["{text.__class__} {0.x}", "{", "attack ({{7*7}}${7*7})", "{text:>300000000}", "|%s"])
def test_the_name_of_a_run_is_no_template(home, prefect, name):
    @flow(name="named")
    def named() -> str:
        state = demonstrate.bind("a").run(name, refresh=True)
        return str(state.state_details.task_run_id)

    with get_client(sync_client=True) as client:
        assert client.read_task_run(named()).name == name


def test_records_are_private(home, prefect):
    demonstration("a")
    assert record_path(home).stat().st_mode & 0o077 == 0
    assert record_path(home).parent.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("what", ["gone", "damaged"])
def test_a_record_whose_artifact_is_gone_or_damaged_is_computed_again(home, prefect, what):
    _, produced = demonstration("a")
    path = Store()._path(produced["table"])
    path.unlink()
    if what == "damaged":
        path.write_bytes(b"PAR1 nothing")
    name, again = demonstration("a")
    assert (name, again) == ("Completed", produced)
    assert Store().table(again["table"]).names == ("text",)


PICKLE = "gASVIAAAAAAAAACMBXBvc2l4lIwGc3lzdGVtlJOUjAVmYWxzZZSFlFKULg=="


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record["metadata"]["serializer"].update(type="pickle"),
        lambda record: record["metadata"].update(serializer={"type": "pickle", "picklelib": "cloudpickle"}),
        lambda record: record["metadata"]["serializer"].update(type="compressed/pickle"),
        lambda record: record["metadata"]["serializer"].update(jsonlib="os"),
        lambda record: record["metadata"]["serializer"].update(object_decoder="os.system"),
        lambda record: record["metadata"]["serializer"].update(loads_kwargs={"object_hook": "os.system"}),
        lambda record: record.update(result=json.dumps({"table": {"__class__": "os.system", "data": "false"}})),
        lambda record: record.update(result="[]"),
        lambda record: record.update(result=json.dumps({"table": "table:../../x"})),
        lambda record: record.clear(),
    ],
)
def test_a_planted_record_is_never_deserialised(home, prefect, change, monkeypatch):
    executed = []
    monkeypatch.setattr("prefect.serializers.PickleSerializer.loads", lambda *_: executed.append(1))
    monkeypatch.setattr("os.system", lambda *_: executed.append(1))
    _, produced = demonstration("a")
    path = record_path(home)
    record = json.loads(path.read_text())
    if "pickle" in json.dumps(change.__code__.co_consts, default=str):
        record["result"] = PICKLE
    change(record)
    path.write_text(json.dumps(record))
    assert demonstration("a") == ("Completed", produced)
    assert calls == ["a", "a"]
    assert executed == []


@pytest.mark.parametrize("target", ["itself", "nothing", "elsewhere"])
def test_a_record_that_is_a_link_is_computed_again(home, prefect, tmp_path, target):
    _, produced = demonstration("a")
    path = record_path(home)
    (tmp_path / "elsewhere").write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to({"itself": path.name, "nothing": "absent", "elsewhere": tmp_path / "elsewhere"}[target])
    assert demonstration("a") == ("Completed", produced)
    assert not path.is_symlink()


def test_a_pickled_file_is_removed_before_it_is_read(home):
    path = home / "records" / "k"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\x80\x04]\x94.")
    vet("k")
    assert not path.exists()


def test_what_leaves_a_task_holds_no_value(home, prefect, capfd):
    with pytest.raises(StageFailure) as caught:
        demonstration("broken")
    assert isinstance(caught.value.cause, ValueError)
    assert "4711" in str(caught.value.cause)
    assert "4711" not in str(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert "4711" not in "".join(capfd.readouterr())
    (trace,) = (home / "failures").glob("*.txt")
    assert "4711" in trace.read_text()
    assert trace.stat().st_mode & 0o077 == 0


def test_the_lock_is_held_by_one_and_given_back(home):
    manager = FlockManager()
    assert manager.acquire_lock("k", "one")
    assert manager.acquire_lock("k", "one")
    assert manager.is_locked("k")
    assert not manager.acquire_lock("k", "two", acquire_timeout=0.1)
    assert not manager.wait_for_lock("k", timeout=0.1)
    with pytest.raises(ValueError, match="no lock"):
        manager.release_lock("k", "two")
    manager.release_lock("k", "one")
    assert not manager.is_locked("k")
    assert manager.acquire_lock("k", "two")
    manager.release_lock("k", "two")


def test_a_record_that_a_full_disk_cut_off_is_removed_when_the_lock_is_given_back(home):
    manager, path = FlockManager(), Home.current().records / "key"
    made_by_prefect = {"serializer": SealedResultSerializer().model_dump(mode="json")}
    result = seal_result(Home.current(), "key", {"data": "table:1"}).decode()
    whole = json.dumps({"metadata": made_by_prefect, "result": result})
    for content, stays in ((whole[:40], False), ("", False), (whole, True)):
        manager.acquire_lock("key", "one")
        path.write_text(content)
        manager.release_lock("key", "one")
        assert path.exists() is stays


def test_threads_take_turns(home):
    manager = FlockManager()
    inside, most = [], []

    def work(who: str) -> None:
        manager.acquire_lock("k", who)
        inside.append(who)
        most.append(len(inside))
        time.sleep(0.02)
        inside.remove(who)
        manager.release_lock("k", who)

    threads = [threading.Thread(target=work, args=(f"thread {i}",)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
    assert most == [1] * 6


def imported_rooms(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tasks."):
            names.add(node.module.split(".")[1])
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[1] for alias in node.names if alias.name.startswith("tasks."))
    return names


def rooms_run_by(room: str) -> set[str]:
    """The rooms reached from a room, over the pure files of the others."""
    found, todo = set(), [room]
    while todo:
        here = todo.pop()
        if here in found:
            continue
        found.add(here)
        files = [path for path in (TASKS / here).rglob("*.py") if here == room or path.name != "task.py"]
        todo += [name for path in files for name in imported_rooms(path)]
    return found


@pytest.mark.parametrize("name", STAGES)
def test_the_rooms_named_are_the_rooms_imported(name):
    module = __import__(f"tasks.{name}.task", fromlist=["task"])
    (found,) = [value for value in vars(module).values() if getattr(value, "name", None) == name]
    assert set(found.rooms) == rooms_run_by(name)


def edited(path: Path, change) -> None:
    """A record whose result somebody has changed, with everything else as it was."""
    record = json.loads(path.read_text())
    result = json.loads(record["result"])
    change(result)
    path.write_text(json.dumps({**record, "result": json.dumps(result)}))


def test_what_another_call_returned_is_computed_again(home, prefect):
    """Both are whole records of whole artifacts: only the seal tells that one lies in the place of the other."""
    _, first = demonstration("a")
    path = record_path(home)
    demonstration("b")
    (other,) = {*(home / "records").iterdir()} - {path}
    foreign = json.loads(json.loads(other.read_text())["result"])["produced"]
    for change in (
        lambda: path.write_bytes(other.read_bytes()),
        lambda: edited(path, lambda result: result.update(produced=foreign)),
        lambda: edited(path, lambda result: result.update(seal="0" * 64)),
        lambda: edited(path, lambda result: result.pop("seal")),
        lambda: edited(path, lambda result: result.update(seal=None)),
        lambda: edited(path, lambda result: result["produced"].update(table="table:\ud800")),
    ):
        change()
        calls.clear()
        assert demonstration("a") == ("Completed", first)
        assert calls == ["a"]
        assert demonstration("a") == ("Cached", first)


def test_a_record_of_a_version_without_seals_is_computed_again_and_nobody_is_told(home, prefect, capfd):
    _, first = demonstration("a")
    path = record_path(home)
    record = json.loads(path.read_text())
    record["metadata"]["serializer"] = JSONSerializer().model_dump(mode="json")
    path.write_text(json.dumps({**record, "result": json.dumps(first)}))
    capfd.readouterr()
    assert demonstration("a") == ("Completed", first)
    assert calls == ["a", "a"]
    assert not [line for line in "".join(capfd.readouterr()).splitlines() if "seal" in line or "ERROR" in line]


def test_a_home_that_moved_keeps_its_records(home, prefect, monkeypatch):
    _, first = demonstration("a")
    moved = home.with_name("moved")
    home.rename(moved)
    monkeypatch.setenv("SDCERT_HOME", str(moved))
    assert demonstration("a") == ("Cached", first)
    assert calls == ["a"]


def test_a_record_that_is_exchanged_between_the_look_and_the_reading_is_not_believed(home, prefect, monkeypatch):
    _, first = demonstration("a")
    path = record_path(home)
    monkeypatch.setattr("tasks.runtime.caching.vet", lambda key: None)
    edited(path, lambda result: result["produced"].update(table="table:" + "0" * 64))
    assert demonstration("a") == ("Completed", first)
    blob = json.loads(path.read_text())["result"].encode()
    assert SealedResultSerializer().loads(blob) == first
    with pytest.raises(InputError, match="changed while"):
        SealedResultSerializer().loads(blob.replace(b"table:", b"table:0"))
