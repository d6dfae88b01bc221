"""What pyproject.toml cannot say: a wheel carries the files that the program reads from the root of a checkout.

They lie in `sdcert/project/` of the wheel, where `tasks/runtime/project_files.py` finds them. An editable install reads them
in the checkout, and gets no copy.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
CARRIED = ("requirements.lock", "prefect.yaml", "params")


class CarryProjectFiles(build_py):
    """Copies the files of the project beside the modules."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib) / "sdcert" / "project"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for name in CARRIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
            copy(ROOT / name, target / name)


setup(cmdclass={"build_py": CarryProjectFiles})
