"""`sdcert compare`: the command is in `compare.py`; its figures and the differences of the release files have a file each."""

from flows.cli.compare import compare  # noqa: F401  # defines the command
