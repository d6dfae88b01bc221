"""Templates that Jinja has compiled are kept beside the compiled functions: compiling takes longer than filling in."""

from __future__ import annotations

from contextlib import suppress
from importlib.metadata import version

from jinja2 import FileSystemBytecodeCache
from jinja2.bccache import Bucket

from tasks.microdata.compiled import CACHE


class TemplateCache(FileSystemBytecodeCache):
    """Compiled templates of one environment, by its name.

    What Jinja makes of a template depends on its environment and on the code behind that, but Jinja compares the template's
    text alone: so each environment has files of its own here, in a folder under the fingerprint of the whole source code.
    """

    def __init__(self, environment: str) -> None:
        self._folder = CACHE / f"jinja-{version('jinja2')}"
        super().__init__(str(self._folder), f"{environment}-%s.cache")

    def load_bytecode(self, bucket: Bucket) -> None:
        """Read a template that was kept; one that is damaged is compiled again."""
        try:
            super().load_bytecode(bucket)
        except Exception:  # whatever a damaged file makes of its parts
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a template; a folder that cannot be written, or a full disk, costs the time to compile it again."""
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            super().dump_bytecode(bucket)
