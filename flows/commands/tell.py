"""`sdcert tell ...`: who is told of scheduled releases. Each imports what it needs when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

tell = typer.Typer(
    help="Who is told when a scheduled release is refused, fails, is quarantined or due for review.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Name = Annotated[str, typer.Argument(help="small letters, digits and dashes", metavar="NAME", show_default=False)]


@tell.command()
def add(
    name: Name,
    webhook_env: Annotated[
        str | None,
        typer.Option(
            help="the environment variable that holds the webhook's URL (or any address of Apprise's); - asks for it",
            metavar="VAR",
            show_default=False,
        ),
    ] = None,
    email_env: Annotated[
        str | None,
        typer.Option(
            help="the environment variable that holds mailtos://USER:PASSWORD@SERVER:PORT?from=...&to=...; - asks for it",
            metavar="VAR",
            show_default=False,
        ),
    ] = None,
    block: Annotated[
        str | None,
        typer.Option(
            help="a notification block that is there: pager-duty-webhook/ours", metavar="TYPE/NAME", show_default=False
        ),
    ] = None,
    internal: Annotated[
        bool,
        typer.Option("--internal", help="the receiver is in your own network: allow plain http, and addresses of that network"),
    ] = False,
    events: Annotated[
        str | None,
        typer.Option(help="of which events, with commas; default: all but certified", metavar="EVENT,...", show_default=False),
    ] = None,
) -> int:
    """Tell somebody from now on. The address is kept as a block of Prefect's and never shown again."""
    from flows.console.tell import add_receiver

    return add_receiver(name, webhook=webhook_env, email=email_env, block=block, events=events, internal=internal)


@tell.command(name="list")
def list_(as_json: Annotated[bool, typer.Option("--json", help="print them on stdout as JSON")] = False) -> int:
    """Who is told of what, and which messages wait. No address."""
    from flows.console.tell import list_receivers

    return list_receivers(as_json=as_json)


@tell.command()
def test(
    name: Annotated[str | None, typer.Argument(help="default: everybody", metavar="[NAME]", show_default=False)] = None,
) -> int:
    """Send a message now that says it is a test. Exit code 0 if all was taken, 1 if not."""
    from flows.console.tell import test_receivers

    return test_receivers(name)


@tell.command()
def remove(name: Name) -> int:
    """Tell somebody no longer; the address is deleted if `sdcert tell add` made it."""
    from flows.console.tell import remove_receiver

    return remove_receiver(name)
