"""What the commands of `sdcert` do, and what they print."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from flows.progress import Lines, listener
from flows.words import criterion_in_words
from tasks.microdata.errors import InputError


def certify_release(path: Path, output: Path, *, as_json: bool, refresh: bool, new_draw: bool) -> int:
    """Run the flow, tell how it goes on stderr, and end with the verdict, the deciding figures and the files."""
    from flows.release import load_release, located
    from tasks.ingest.sources import files
    from tasks.runtime.failures import StageFailure

    release = load_release(path)
    files(release.source)  # a missing source is told before Prefect starts
    _check_output(output, release.name)
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    console = Console(stderr=True, soft_wrap=True)
    console.print(f"sdcert: release {release.name} ({path})", highlight=False, markup=False)
    lines = Lines(console)
    token = listener.set(lines)
    try:
        done = _run(release, output, refresh=refresh, new_draw=new_draw)
    except StageFailure as failure:
        raise (located(failure.cause, path) if isinstance(failure.cause, InputError) else failure) from None
    finally:
        listener.reset(token)
        lines.close()
    scorecard = json.loads((Path(done["folder"]) / "scorecard.json").read_text())
    if as_json:
        sys.stdout.write(json.dumps(scorecard, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    _print_verdict(console if as_json else Console(soft_wrap=True), scorecard, Path(done["folder"]))
    return 0 if scorecard["verdict"] == "certified" else 1


def _run(release: Any, output: Path, *, refresh: bool, new_draw: bool) -> dict[str, str]:
    from tasks.runtime.servers import detach_temporary_server, end_orphans

    listener.get().began("starting Prefect")
    from flows.certify import certify_tagged  # prepares the environment before Prefect is imported

    end_orphans()
    detach_temporary_server()
    _check_server()
    return certify_tagged(release, output=str(output), refresh=refresh, new_draw=new_draw)


def _check_server() -> None:
    import httpx

    address = os.environ.get("PREFECT_API_URL")
    if address is None:
        return
    try:
        httpx.get(f"{address.rstrip('/')}/health", timeout=10).raise_for_status()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        what = f"no Prefect server answers there ({type(error).__name__})"
        remedy = "start it (`prefect server start`), correct the address, or unset PREFECT_API_URL for a temporary server"
        raise InputError("no-server", "PREFECT_API_URL", what, "the address of a Prefect API", remedy, address) from None


def _check_output(output: Path, release: str) -> None:
    for path in (output, output / release):
        if (path.is_symlink() or path.exists()) and not path.is_dir():
            what, remedy = "there is something else than a folder", "choose another --output"
            raise InputError("output", "--output", what, "a folder that can be written", remedy, str(path))
    existing = next(p for p in [output.absolute(), *output.absolute().parents] if p.exists())
    try:
        with tempfile.TemporaryDirectory(prefix=".sdcert-", dir=existing):
            pass
    except OSError as error:
        what = f"no folder can be made there ({error.strerror})"
        remedy = "choose another --output"
        raise InputError("output", "--output", what, "a folder that can be written", remedy, str(output)) from None


def _print_verdict(console: Console, scorecard: dict[str, Any], folder: Path) -> None:
    from flows.history import manifest_of

    manifest = manifest_of(scorecard["run"])

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False)

    say("")
    for sentence in manifest["summary"]:
        say(sentence)
    say("")
    for line in scorecard["criteria"]:
        say(f"  {line['decision']:<10}{criterion_in_words(line)}")
        if line["decision"] == "undecided":
            say(f"            {line['reason']}")
    for gap in _unlimited(scorecard["criteria"]):
        say(f"  no limit  {gap}")
    say(f"\n{scorecard['release']}: {scorecard['verdict'].upper()}")
    for note in manifest.get("notes", []):
        say(f"warning: {note}")
    if "tracking" in manifest:
        say(f"warning: MLflow: {manifest['tracking']}; the release itself is complete")
    for path in sorted(folder.iterdir()):
        say(f"  {path}")
    if scorecard["verdict"] != "certified":
        say("  no table was written: a release that is not certified leaves its report alone")


def _unlimited(criteria: list[dict[str, Any]]) -> list[str]:
    """What a reader would expect a policy to limit, and this one does not."""
    limited = {(line["measure"], (line["intruder"] or "declared").partition(":")[0]) for line in criteria}
    wanted = {
        ("reidentification", "declared"): "on the share of records that the declared intruder finds (reidentification)",
        ("reidentification", "insider"): "on insiders, who also know one attribute that is published unchanged",
        ("max_record_risk", "declared"): "on the person who is easiest to find (max_record_risk)",
        ("k_anonymity", "declared"): "on the smallest group of records that look alike (k_anonymity)",
    }
    return [words for what, words in wanted.items() if what not in limited]


def print_plan(path: Path) -> int:
    """Say what a release file would do, and how its table would be classified. Reads the source; masks and writes nothing."""
    from flows.release import intruders_of, known_of, load_release, located
    from tasks.classify.methods import classify
    from tasks.ingest.methods import ingest
    from tasks.score.policy import check_policy

    release = load_release(path)
    try:
        found = ingest(release.ingest_plan)
        schema = classify(found.data, release.classify_plan)
        check_policy(release.policy, known_of(release, schema))
    except InputError as error:
        raise located(error, path) from None
    console = Console(soft_wrap=True)

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False)

    say(f"Plan of release {release.name} (series {release.lineage}), {found.data.n} rows from {found.report.source}\n")
    for stage, what in plan(release, [intruder.name for intruder in intruders_of(release, schema)]):
        say(f"  {stage:<9} {what}")
    say("\nAttributes:")
    masked = {name for target in release.classify_plan.masks for name in target.resolve(schema)}
    for attribute in schema.attributes:
        fate = "not published" if not attribute.published else "masked" if attribute.name in masked else "published unmasked"
        say(f"  {attribute.name:<20} {attribute.role:<17} {attribute.scale:<9} {fate} ({attribute.decided_by})")
    for note in found.report.notes:
        say(f"warning: {note}")
    say(f"\n{path}: the release file fits its table; nothing was masked or written")
    return 0


def plan(release: Any, intruders: list[str]) -> list[tuple[str, str]]:
    """The stages of a release, each with what it will do, one line a part."""
    rows = [("ingest", f"{release.source.label}; {_counted(len(release.expect), 'expectation')}")]
    rows.append(("classify", f"{_counted(len(release.attributes), 'attribute')} declared; every other one by its evidence"))
    rows += [("mask", _with_parameters(step)) for step in release.masking]
    rows += [("attack", f"{_with_parameters(attack)} by {', '.join(intruders)}") for attack in release.attacks_to_run]
    rows += [("attack", f"{omission.attack} is omitted: {omission.reason}") for omission in release.omit]
    added = "".join(f"; {_with_parameters(measure)}" for measure in release.measures)
    rows.append(("score", f"the measures that always run{added}"))
    rows += [("policy", _line_in_words(line)) for line in release.policy]
    rows.append(("report", f"released.{release.publish.format} (if certified), report.html, scorecard.json, statement.json"))
    return rows


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _with_parameters(part: Any) -> str:
    given = part.model_dump(mode="json", exclude_none=True)
    name = given.pop("method", None) or given.pop("measure")
    listed = (f"{key} {' '.join(map(str, value)) if isinstance(value, list) else value}" for key, value in given.items())
    return " ".join([name, ", ".join(listed)]).strip()


def _line_in_words(line: Any) -> str:
    given = line.model_dump(mode="json", exclude_none=True)
    limit = f"at most {given.pop('at_most')}" if "at_most" in given else f"at least {given.pop('at_least')}"
    measure = given.pop("measure")
    rest = ", ".join(f"{key} {value}" for key, value in given.items())
    return f"{measure} {limit}{', ' + rest if rest else ''}"
