"""What a run was made by: complete, the same for the same program, and taken once."""

import hashlib
import json
import subprocess
import sys

from tasks.microdata.fingerprint import SOURCES, list_room_files
from tasks.report.predicate import MadeBy
from tasks.runtime.artifacts import Store
from tasks.runtime.provenance import (
    ROOT,
    Provenance,
    describe_process,
    parse_pins,
    select_room_files,
    store_provenance,
    summarise_provenance,
)


def test_every_source_file_is_named_with_its_digest():
    named = describe_process().files
    there = {path.relative_to(ROOT).as_posix() for room in ("flows", "tasks") for path in (ROOT / room).rglob("*.py")}
    assert {name for name in named if name.endswith(".py")} == there
    kinds = {path.suffix for room in ("flows", "tasks") for path in (ROOT / room).rglob("*") if path.is_file()}
    assert kinds - {".pyc"} <= SOURCES, "a kind of source file that no cache key and no provenance holds"
    assert {"tasks/report/templates/report.html", "tasks/report/templates/sentences/residual.txt.j2"} <= set(named)
    name = "tasks/microdata/spec.py"
    assert named[name] == hashlib.sha256((ROOT / name).read_bytes()).hexdigest()


def test_the_files_of_a_stage_are_those_its_cache_key_is_made_of():
    from tasks.mask.task import mask_table

    rooms = mask_table.rooms
    assert set(rooms) == {"mask", "classify", "ingest", "microdata", "runtime"}
    wanted = {path.relative_to(ROOT).as_posix() for path in list_room_files(rooms)}
    assert set(select_room_files(describe_process().files, rooms)) == wanted


def test_rooms_are_folders_of_tasks_alone():
    files = ("flows/mask/a.py", "tasks/mask/a.py", "tasks/masking/a.py", "tasks/attack/mask/a.py")
    assert select_room_files(files, ["mask"]) == ("tasks/mask/a.py",)


def test_pins_of_a_lock():
    lock = "# made by\nnumpy==2.4.0 \\\n    --hash=sha256:00\nx[a,b]==1 ; python_version < '3.12'\nx==2 ; sys_platform == 'y'\n"
    assert parse_pins(lock) == {"numpy": "2.4.0", "x": "1, 2"}


def test_the_ledger_takes_what_made_a_run():
    assert MadeBy(**summarise_provenance()).code == describe_process().code


def of(**changed):
    plain = {"version": "1", "python": "3", "system": "s", "machine": "m", "cpu": "c", "lock": "l", "pins": {}, "packages": {}}
    return Provenance(**{**plain, "files": {"a": "1", "b": "2"}, **changed})


def test_the_digests_depend_on_what_they_name_and_on_nothing_else():
    assert of().code == of(files={"b": "2", "a": "1"}, cpu="other").code
    assert len({of().code, of(files={"a": "1"}).code, of(files={"a": "2", "b": "1"}).code}) == 3
    platforms = [of(), of(python="4"), of(cpu="d"), of(machine="n"), of(system="t"), of(packages={"a": "1"})]
    assert len({one.platform for one in platforms}) == len(platforms)
    assert of(lock="other", files={}).platform == of().platform


def test_it_is_kept_under_one_address(home):
    address = store_provenance(Store())
    assert store_provenance(Store()) == address
    assert Store().record(address, Provenance) == describe_process()


def test_it_is_the_same_in_another_process():
    code = (
        "import json\nfrom tasks.runtime.provenance import *\n"
        "print(json.dumps([summarise_provenance()['platform'], summarise_provenance()['lock']]))"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(ran.stdout) == [summarise_provenance()["platform"], summarise_provenance()["lock"]]


def test_what_is_installed_is_the_same_wherever_a_process_was_started(tmp_path):
    """The checkout holds the metadata of its editable install: a process started there finds them twice."""
    asked = "from tasks.runtime.provenance import list_installed_packages; print(list_installed_packages())"
    elsewhere, here = (
        subprocess.run([sys.executable, "-c", asked], cwd=folder, capture_output=True, text=True, check=True).stdout
        for folder in (tmp_path, ROOT)
    )
    assert here == elsewhere
    assert "sdcert==" in here
