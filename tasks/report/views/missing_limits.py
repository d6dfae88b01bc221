"""Which alarming figures no line of the policy limits."""

from __future__ import annotations

from collections.abc import Iterator

from tasks.microdata.estimate import Estimate
from tasks.report.content import Content
from tasks.report.wording.intruders import somebody
from tasks.report.wording.sentence import Sentence, say
from tasks.score.measures.disclosure import K_ANONYMITY
from tasks.score.measures.linkage import MAX_RECORD_RISK
from tasks.score.policy import PolicyLine, cannot_fail, is_by

NO_LINE = "No policy line limits this."
_CERTAIN = 1.0
_UNIQUE = 1.0


def is_limited(content: Content, figure: Estimate) -> bool:
    """Does a policy line hold this figure against a limit that can be broken?"""
    return any(_covers(line, figure) and not cannot_fail(line) for line in content.policy)


def not_limited(content: Content) -> Iterator[Sentence]:
    """Sentences on unique released records and on people found with certainty, where no policy line limits them."""
    alike = next((one for one in content.figures(K_ANONYMITY.name) if one.value is not None and one.value <= _UNIQUE), None)
    if alike is not None and not is_limited(content, alike):
        yield say("missing_limits.unique")
    kinds = (content.worst(MAX_RECORD_RISK.name, declared=whose) for whose in (True, False))
    for single in (*kinds, content.worst_of_files(MAX_RECORD_RISK.name)):
        if single is not None and (single.value or 0.0) >= _CERTAIN and not is_limited(content, single):
            who = somebody(content, single.intruder or "", single.attack)
            yield say("missing_limits.certain", who=who, attack=single.attack)


def _covers(line: PolicyLine, figure: Estimate) -> bool:
    other_attack = line.attack not in (None, figure.attack) and line.accept_other_attacks is not None
    same_subject = line.attribute in (None, figure.attribute)
    return line.measure == figure.measure and not other_attack and same_subject and _about(line, figure)


def _about(line: PolicyLine, figure: Estimate) -> bool:
    return figure.intruder is None or is_by(figure.intruder, line.intruder)
