"""`sdcert doctor`: the command is in `examine.py`, and each part of the system that it looks at has a file."""

from flows.cli.doctor import examine  # noqa: F401  # defines the command
