"""What Prefect's interface shows of a release: the name of its flow run, and an artifact with the verdict."""

from __future__ import annotations

import re
from typing import Any

from prefect.artifacts import create_markdown_artifact
from prefect.client.orchestration import get_client
from prefect.runtime import flow_run

from flows.run.criterion_text import describe_criterion
from flows.run.publish import compute_sha256
from tasks.microdata.escaping import escape_terminal
from tasks.score.verdict_word import format_verdict

_MARKDOWN = re.compile(r"[!-/:-@\[-`{-~]")  # all that a backslash makes plain


def show_release(scorecard: dict[str, Any], run: str, verdict: str, sentence: str) -> None:
    """Name the flow run, and make the artifact. verdict: in short, `certified 8.3 %`; sentence: with the lines not kept.

    Raises whatever Prefect raises.
    """
    word = format_verdict(scorecard["verdict"], scorecard["exceptions"])
    lines = [f"# {scorecard['release']}: {word}", "", f"`sdcert open {run}` shows the report.", ""]
    lines += [f"- **{line['decision']}**: {as_markdown(describe_criterion(line))}" for line in scorecard["criteria"]]
    name_flow_run(f"{scorecard['release']} {verdict}")
    create_markdown_artifact("\n".join(lines), key=_create_page_key(scorecard["release"]), description=as_markdown(sentence))


def name_flow_run(name: str) -> None:
    """Name the flow run of this process anew; nothing where there is none."""
    if flow_run.id:
        with get_client(sync_client=True) as client:
            client.update_flow_run(flow_run.id, name=name)


def as_markdown(text: str) -> str:
    """The text as Markdown that shows it as it is: a name of a column in it is no link, no picture and no HTML."""
    return _MARKDOWN.sub(r"\\\g<0>", escape_terminal(text))


def _create_page_key(release: str) -> str:
    """The key of a release's page in Prefect, which takes small letters, digits and - alone; no two share one."""
    plain = re.sub(r"[^a-z0-9]+", "-", release).strip("-")
    return f"release-{plain}" if plain == release else f"release-{plain}-{compute_sha256(release.encode())[:12]}"
