"""What remains: the largest risks in words, what the release is fit for, and what was not assessed at all.

What is said depends on what is released; each kind declares its own sentences (`tasks/report/kinds/`).
"""

from __future__ import annotations

from tasks.report.content import Content
from tasks.report.kinds import find_report
from tasks.report.wording.sentence import say

MEMBERSHIP = "membership inference"


def residual_risks(content: Content) -> tuple[str, ...]:
    """The largest remaining risks as sentences; never empty."""
    return find_report(content).describe_risks(content) or (say("residual.nothing_found"),)


def summary(content: Content) -> tuple[str, ...]:
    """The sentences under the verdict: what was found that matters most."""
    return find_report(content).summarize(content)


def describe_unlimited_figures(content: Content) -> tuple[str, ...]:
    """The sentences beside the verdict, under a heading that says so, about alarming figures that no policy line limits."""
    return find_report(content).describe_unlimited(content)


def fitness(content: Content) -> tuple[str, ...]:
    """What the release is fit for, as sentences."""
    return find_report(content).describe_fitness(content)


def list_known_limits(content: Content) -> tuple[str, ...]:
    """What this report does not say, and what it rests on."""
    return find_report(content).list_limits(content)
