"""What the report stage needs of the release file."""

from __future__ import annotations

from tasks.attack.omissions import Omission
from tasks.attack.threat import IntruderSpec
from tasks.mask.categories.promise import Epsilon
from tasks.microdata.spec import Spec
from tasks.report.publication import Context, Publish
from tasks.score.kinds import NotLimited
from tasks.score.policy import Policy


class ReportPlan(Spec):
    """The parts of a release file that the report speaks of.

    epsilon_over_releases: what PRAM promises in this release and the earlier ones together, for the internal edition alone.
    """

    name: str
    series: str
    not_for_publication: bool
    context: Context
    publish: Publish
    intruder: IntruderSpec
    omit: tuple[Omission, ...]
    policy: Policy
    not_limited: NotLimited = NotLimited()
    masked_elsewhere: bool = False
    of_nobody: bool = False
    control_table: bool = False
    tool: str | None = None
    keep_row_order: str | None = None
    epsilon_over_releases: Epsilon | None = None
