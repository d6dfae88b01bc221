"""What only real processes show: kill -9 in each stage, two at once, an algorithm that changes on disk."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from outcomes import ROOT, computed, folder_of, newest_manifest
from release_files import HARDLY_COMPILED, write_release

KILLED_IN = """
import os, signal, sys
import flows.environment
import {module} as module
def die(*_, **__): os.kill(os.getpid(), signal.SIGKILL)
assert hasattr(module, "{function}")
module.{function} = die
from flows.cli import run
sys.exit(run(sys.argv[1:]))
"""
PLACES = {
    "ingest": ("tasks.ingest.task", "ingest_raw_table"),
    "classify": ("tasks.classify.task", "classify"),
    "mask": ("tasks.mask.task", "mask"),
    "attack": ("tasks.attack.task", "attack_records"),
    "score": ("tasks.score.task", "score"),
    "report": ("tasks.report.task", "render_report"),
    "writing an artifact": ("os", "fsync"),
    "publishing": ("flows.run.publish", "sync_folder"),
    "moving `latest`": ("flows.run.publish", "settle_latest"),
}
APPEARED = ("publishing", "moving `latest`")
QUICK = ("writing an artifact",)


def words(path: Path, tmp_path: Path) -> list[object]:
    return ["certify", path, "--output", tmp_path / "releases"]


@pytest.mark.slow
@pytest.mark.parametrize("place", [one if one in QUICK else pytest.param(one, marks=pytest.mark.long) for one in PLACES])
def test_after_kill_9_the_next_run_ends_correctly(process, tmp_path, place):
    path = write_release(tmp_path / "project")
    module, function = PLACES[place]
    victim = process("-c", KILLED_IN.format(module=module, function=function), *words(path, tmp_path))
    victim.communicate(timeout=300)
    assert victim.returncode == -signal.SIGKILL
    half_done = list((tmp_path / "releases").glob("*/[0-9]*")) if place not in APPEARED else []
    assert half_done == []

    following = process("-m", "flows.cli", *words(path, tmp_path))
    _, err = following.communicate(timeout=300)
    assert following.returncode == 0, err
    manifest = newest_manifest()
    folder = folder_of(tmp_path, manifest)
    assert len(list(folder.iterdir())) == 4
    assert not list(folder.parent.glob(".partial*"))
    assert str((folder.parent / "latest").readlink()) == manifest["run"]
    before = {"classify": {"ingest"}, "mask": {"ingest", "classify"}, "score": {"ingest", "classify", "mask"}}
    assert not before.get(place, set()) & computed(manifest)


@pytest.mark.slow
def test_two_processes_at_once_compute_each_stage_once(process, tmp_path):
    path = write_release(tmp_path / "project")
    both = [process("-m", "flows.cli", *words(path, tmp_path)) for _ in range(2)]
    for one in both:
        _, err = one.communicate(timeout=300)
        assert one.returncode == 0, err
    from flows.run.history import read_manifests

    first, second = read_manifests()
    assert set(first["stages"]) == set(second["stages"])
    for name in first["stages"]:
        how = sorted([first["stages"][name]["cached"], second["stages"][name]["cached"]])
        assert how == [False, True], name
    assert first["draw"] == second["draw"]


CHANGES = {
    # the innermost jitted function, in a file of its own that others call
    "tasks/mask/partitions/mdav.py": {"mask", "attack", "score", "report"},
    "tasks/attack/neighbours/nearest.py": {"attack", "score", "report"},
    "tasks/score/loss.py": {"score", "report"},
    "tasks/report/templates/sentences/residual.txt.j2": {"report"},
}
FIRST_AND_LAST = [next(iter(CHANGES)), list(CHANGES)[-1]]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("flows", "tasks"):
        shutil.copytree(ROOT / name, folder / name)  # with what Python has compiled, which goes by the date of each file
    shutil.copy(ROOT / "requirements.lock", folder)
    return folder


@pytest.mark.long
@pytest.mark.parametrize("files", [pytest.param(FIRST_AND_LAST, id="two stages"), pytest.param(list(CHANGES), id="each")])
def test_a_changed_algorithm_file_recomputes_its_stage_and_what_follows(process, tmp_path, checkout, files):
    """A replay names changed files of the stages in between (test_replay_causes), so that they are left to the long tier."""
    path = write_release(tmp_path / "project", HARDLY_COMPILED)

    def stages() -> set[str]:
        ran = process("-m", "flows.cli", *words(path, tmp_path), checkout=checkout)
        _, err = ran.communicate(timeout=300)
        assert ran.returncode == 0, err
        return {name.split()[0] for name in computed(newest_manifest())}

    stages()
    for file in files:
        with (checkout / file).open("a") as source:
            source.write("\n# another version\n")
        assert stages() == CHANGES[file], file


@pytest.mark.slow
def test_a_changed_compiled_function_in_another_file_changes_the_numbers(process, tmp_path, checkout):
    """numba's own cache would go on serving the old machine code of the function that calls the changed one."""
    inner, outer = checkout / "tasks" / "mask" / "inner_test.py", checkout / "tasks" / "mask" / "outer_test.py"
    outer.write_text(
        "from tasks.microdata.compiled import njit\nfrom tasks.mask.inner_test import inner\n"
        "@njit\ndef outer(x: float) -> float:\n    return inner(x) + 1.0\n"
    )
    answers = []
    for constant in ("10.0", "20.0"):
        inner.write_text(
            f"from tasks.microdata.compiled import njit\n@njit\ndef inner(x: float) -> float:\n    return x * {constant}\n"
        )
        for _ in range(2):
            ran = process("-c", "from tasks.mask.outer_test import outer; print(outer(1.0))", checkout=checkout)
            answers.append(ran.communicate(timeout=300)[0].strip())
    assert answers == ["11.0", "11.0", "21.0", "21.0"]


@pytest.mark.long
def test_the_temporary_server_of_a_killed_run_is_ended_by_the_next(tmp_path, home):
    """The one test that starts servers of its own."""
    path = write_release(tmp_path / "project")
    environment = {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"}
    environment |= {"PYTHONPATH": str(ROOT), "SDCERT_HOME": str(home), "PREFECT_HOME": str(home / "prefect")}
    code = KILLED_IN.format(module="tasks.mask.task", function="mask")
    victim = subprocess.run(
        [sys.executable, "-c", code, *map(str, words(path, tmp_path))], env=environment, cwd=tmp_path, timeout=300, check=False
    )
    assert victim.returncode == -signal.SIGKILL
    orphans = servers_of(home)
    assert len(orphans) >= 1
    following = subprocess.run(
        [sys.executable, "-m", "flows.cli", *map(str, words(path, tmp_path))],
        env=environment,
        cwd=tmp_path,
        timeout=300,
        check=False,
    )
    assert following.returncode == 0
    deadline = time.monotonic() + 60
    while servers_of(home) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert servers_of(home) == []


def servers_of(home: Path) -> list[int]:
    found = []
    for process in psutil.process_iter():
        try:
            mine = process.environ().get("SDCERT_HOME") == str(home)
            found += [process.pid] if mine and process.status() != psutil.STATUS_ZOMBIE else []
        except psutil.Error:
            continue
    return found


@pytest.mark.slow
def test_a_planted_pickle_in_the_records_is_refused(certified, certify, tmp_path, home):
    canary = tmp_path / "executed"
    planted = 0
    for record in (home / "records").iterdir():
        content = json.loads(record.read_text())
        if "metadata" in content:
            planted += 1
            content["metadata"]["serializer"] = {"type": "pickle", "picklelib": "pickle"}
            content["result"] = pickled_command(f"touch {canary}")
            record.chmod(0o600)
            record.write_text(json.dumps(content))
    ran, manifest = certify()
    assert (ran.code, planted) == (0, len(certified.manifest["stages"])), ran.err
    assert not canary.exists()
    assert computed(manifest) == set(manifest["stages"])


def pickled_command(command: str) -> str:
    import base64
    import pickle

    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.system, (command,)

    return base64.encodebytes(pickle.dumps(Evil())).decode()


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -15)])
def test_a_run_ends_at_once_while_an_attack_is_computed(tmp_path, home, number, code):
    path = write_release(tmp_path / "project")
    environment = {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"}
    environment |= {"PYTHONPATH": str(ROOT), "SDCERT_HOME": str(home), "PREFECT_HOME": str(home / "prefect")}
    begun = tmp_path / "begun"
    slow = f"def wait(*_, **__):\n    open({str(begun)!r}, 'w').close()\n    time.sleep(300)\n"
    patched = f"import time, flows.environment, tasks.attack.task as m\n{slow}m.attack_records = wait\n"
    program = f"import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n{patched}"
    program += "from flows.cli import main\nmain()"
    victim = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, words(path, tmp_path))],
        env=environment,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    deadline = time.monotonic() + 240
    while not begun.exists() and time.monotonic() < deadline:
        time.sleep(0.2)
    time.sleep(1)
    victim.send_signal(number)
    try:
        _, err = victim.communicate(timeout=60)
    finally:
        victim.kill()
    assert (victim.returncode, begun.exists()) == (code, True), err
    assert ("interrupted: a release folder appears whole or not at all" in err) == (code == 130)
    (manifest,) = (json.loads(one.read_text()) for one in (home / "runs").glob("*/manifest.json"))
    assert manifest["status"] == "interrupted"


@pytest.mark.slow
def test_ctrl_c_on_a_terminal_ends_at_once_with_130(tmp_path, home):
    """On a terminal Ctrl-C reaches every process of the group, the temporary server's too if it were in it."""
    path = write_release(tmp_path / "project")
    environment = {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"}
    environment |= {"PYTHONPATH": str(ROOT), "SDCERT_HOME": str(home), "PREFECT_HOME": str(home / "prefect")}
    slow = "import time, flows.environment, tasks.mask.task as m\nm.mask = lambda *_, **__: time.sleep(60)\n"
    code = f"import sys\n{slow}from flows.cli import run\nsys.exit(run(sys.argv[1:]))"
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background may have been started without
    master, terminal = os.openpty()
    victim = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words(path, tmp_path))],
        env=environment,
        cwd=tmp_path,
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 240
    while not list((home / "draws").glob("*.current")) and time.monotonic() < deadline:
        time.sleep(0.2)
    time.sleep(2)
    os.killpg(victim.pid, signal.SIGINT)
    try:
        _, err = victim.communicate(timeout=50)
    finally:
        victim.kill()
        os.close(master)
        os.close(terminal)
    assert victim.returncode == 130, err
    assert "interrupted" in err
    assert not (tmp_path / "releases").exists()
