"""`sdcert store ...`: the commands of the group. Each imports what it needs when it runs, so that `--help` answers at once."""

from __future__ import annotations

from typing import Annotated

import typer

store = typer.Typer(help="The store of artifacts in the private folder.", no_args_is_help=True, rich_markup_mode=None)

AsJson = Annotated[bool, typer.Option("--json", help="print what was found on stdout as JSON")]


@store.command()
def verify(as_json: AsJson = False) -> int:
    """Is the store sound: intact, private and complete?

    Reads everything and changes nothing: is each artifact what its address says, readable by you alone, and there where a
    run needs it; are the seeds and manifests there? Exit code 0 if so, 1 if something is wrong.
    """
    from flows.console.store import verify_store

    return verify_store(as_json=as_json)


@store.command()
def gc(
    yes: Annotated[bool, typer.Option("--yes", help="remove it; without this, it is only listed")] = False,
    older_than: Annotated[int, typer.Option(help="days: what is younger is kept", min=0, max=36500, metavar="DAYS")] = 30,
    as_json: AsJson = False,
) -> int:
    """List what nobody needs any more; --yes removes it.

    That is artifacts of old runs, and what killed ones left. Kept is what certified releases need that are not revoked,
    what the newest run of each series needs, and what is young. Keys, seeds, manifests and the ledger are never touched.
    Exit code 1 where nothing may be removed now.
    """
    from flows.console.store import collect

    return collect(yes=yes, older_than=older_than, as_json=as_json)
