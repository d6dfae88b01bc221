"""Imported by the server of the measured processes: what the fork server of a home has loaded for the commands it forks."""

from tasks.ingest.columns.compiled_numbers import load_machine_code

load_machine_code()
