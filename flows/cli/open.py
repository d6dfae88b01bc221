"""`sdcert open`: the report of a run, in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.completion import complete_run_or_release
from flows.cli.json_output import JsonOption, write_json
from flows.cli.root import app
from flows.cli.terminal import terminal
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal

WHERE = "sdcert open RUN"
REPORT, INTERNAL = "report.html", "report-internal.html"


@app.command(name="open")
def open_(
    run: Annotated[
        str,
        typer.Argument(
            help="a run id, its beginning, the name of a release (its newest run), or a release folder",
            metavar="RUN",
            show_default=False,
            autocompletion=complete_run_or_release,
        ),
    ],
    internal: Annotated[bool, typer.Option("--internal", help="the report for the steward alone, with exact figures")] = False,
    only_print: Annotated[bool, typer.Option("--print", help="print the path, and open nothing")] = False,
    as_json: JsonOption = False,
) -> int:
    """Open the report of a run in the browser. The report for the public is that of the release folder, as it is there now."""
    folder = Path(run)
    path = folder.absolute() / REPORT if _is_folder(folder) else None
    if path is None or internal:
        path = _find_report(folder.resolve().name if path is not None else run, internal=internal)
    if not path.is_file():
        what, remedy = "The report of this run is not there.", "certify it again, or name the folder that it was moved to"
        raise InputError("no-report", WHERE, what, "a run whose release folder is where it was written", remedy, str(path))
    if as_json:
        write_json({"report": str(path)})
    elif only_print:
        terminal(soft_wrap=True).print(escape_terminal(str(path)))
    else:
        _open_in_browser(path)
    return 0


def _is_folder(path: Path) -> bool:
    return (path / REPORT).is_file()


def _open_in_browser(path: Path) -> None:
    from webbrowser import open_new_tab

    terminal(stderr=True, soft_wrap=True).print(escape_terminal(str(path)))
    if not open_new_tab(path.as_uri()):
        what, remedy = "No browser could be started here.", "open the file yourself; `--print` prints its path alone"
        raise InputError("no-browser", WHERE, what, "a machine with a browser", remedy, str(path))


def _find_report(name: str, *, internal: bool) -> Path:
    """Where the report of the run was written that a name means. Raises InputError where there is no such run."""
    from flows.cli.named_runs import find_finished_run
    from flows.run.history import manifest_path, read_manifests

    manifest = find_finished_run(name, read_manifests(), WHERE)
    if internal:
        return manifest_path(manifest["run"]).with_name(INTERNAL)
    return Path(manifest["folder"]) / REPORT
