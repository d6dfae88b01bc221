"""`sdcert sweep ...`: a file a command."""

from flows.cli.sweep import run  # noqa: F401  # the first in the help

# isort: split
from flows.cli.sweep import promote  # noqa: F401  # defines the command
