"""Import this before Prefect or MLflow: it prepares the process (private home, no telemetry, one thread a task)."""

from tasks.runtime.servers import mark_children
from tasks.runtime.settings import prepare_environment

HOME = prepare_environment()
mark_children()
