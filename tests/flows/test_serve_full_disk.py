"""A full disk under `sdcert serve`: nothing is lost, and when there is room again it goes on."""

import os
import subprocess
import time
from datetime import UTC, datetime

import pytest
from release_files import write_release
from served_home import certified_by_schedule, ledger_and_store_verify, the_next_schedule_goes_on
from serving import deployment, every_minute, served, until

pytestmark = [pytest.mark.long, pytest.mark.timeout(1500)]


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a disk of its own of 400 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if (
        os.geteuid() != 0
        or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", folder], check=False).returncode
    ):
        pytest.skip("only who may mount a small disk can fill one")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_full_disk_loses_nothing_and_when_there_is_room_again_it_goes_on(small_disk):
    write_release(small_disk / "good")
    with served(small_disk, every_minute(deployment("good", "certify_release", release="good/release.yaml"))) as serving:
        certified_by_schedule(serving, datetime.now(UTC))
        until(lambda: serving.processes("flows.cli certify"), 180)
        with (small_disk / "filler").open("wb", buffering=0) as filler, pytest.raises(OSError, match="No space"):
            while True:
                filler.write(bytes(4096))
        time.sleep(100)
        assert serving.process.poll() is None
        began = datetime.now(UTC)
        (small_disk / "filler").unlink()
        the_next_schedule_goes_on(serving, began)
        ledger_and_store_verify(serving)
        assert serving.stop() == 0
        assert serving.processes() == []
