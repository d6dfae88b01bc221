"""The cached task of the stage: source file in, table and ingest report out."""

from __future__ import annotations

from tasks.ingest.methods import IngestPlan, ingest
from tasks.ingest.sources import files
from tasks.microdata.errors import InputError
from tasks.runtime.artifacts import Ref, Store
from tasks.runtime.caching import Produced, stage


def source_digest(plan: IngestPlan) -> str:
    """The keyed digest of the files a source consists of: what tells a changed source from an unchanged one."""
    store = Store()
    return store.digest("".join(store.file_digest(path) for path in files(plan.source)).encode())


@stage("ingest", rooms=("ingest",))
def ingest_source(plan: str, digest: str) -> Produced:
    """Read, type and validate the source whose files had this digest. Returns `data` and `report`."""
    store = Store()
    wanted = store.record(Ref(plan), IngestPlan)
    found = ingest(wanted)
    if source_digest(wanted) != digest:
        raise InputError(
            "source-changed",
            "source",
            "the source changed while it was read",
            "a source at rest",
            "run again when it is complete",
        )
    return {"data": store.put_table(found.data), "report": store.put_record(found.report)}
