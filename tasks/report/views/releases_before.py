"""What earlier releases about the same people add to this one, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from tasks.attack.outcomes.outcome import JoinedRelease
from tasks.attack.together.earlier_releases import EarlierReleases
from tasks.microdata.estimate import Estimate
from tasks.report.content import Content
from tasks.report.wording.sentence import Sentence, say
from tasks.score.measures.linkage import REIDENTIFICATION

METHOD = EarlierReleases.get_method()


def list_joined_releases(content: Content) -> tuple[JoinedRelease, ...]:
    """The earlier releases that attacks joined with this one; none where no attack did."""
    return next((one.joined for one in content.attacks if one.method == METHOD and one.earlier is None), ())


def name_joined_release(one: JoinedRelease) -> str:
    """The name of the release, and its run in brackets where that is another word."""
    return one.release if one.release == one.name else f"{one.release} ({one.name})"


def describe_joined_releases(content: Content) -> Iterator[Sentence]:
    """What the declared intruder finds with the earlier releases, which of them tells most, and who is easiest to find."""
    joined = list_joined_releases(content)
    figures = tuple(content.figures(REIDENTIFICATION.name, declared=True))
    found = [one for one in figures if content.method_of(one.attack) == METHOD and one.value is not None]
    rate = next((one for one in found if one.attack == METHOD and one.subgroup is None), None)
    if not joined or rate is None:
        return
    alone = content.largest(one for one in figures if content.method_of(one.attack) != METHOD and one.value is not None)
    yield say("earlier.together", releases=[name_joined_release(one) for one in joined], rate=rate, alone=alone)
    known = [(one.credit_without, one) for one in joined if one.credit_without is not None]
    if known and min(known, key=lambda pair: pair[0])[0] < (rate.value or 0.0):
        without, most = min(known, key=lambda pair: pair[0])
        yield say("earlier.tells_most", release=name_joined_release(most), without=without, rate=rate)
    back = content.largest(one for one in found if one.attack != METHOD and one.subgroup is None)
    if back is not None and (back.value or 0.0) > (rate.value or 0.0):
        yield say("earlier.breaks_earlier", release=_name_of(joined, back), rate=back)
    for one in found:
        if one.subgroup is not None:
            yield say("earlier.people", who=one.subgroup, rate=one)


def _name_of(joined: tuple[JoinedRelease, ...], figure: Estimate) -> str:
    """Of the earlier release whose rows a figure is about."""
    run = (figure.attack or "").partition(":")[2]
    return next((name_joined_release(one) for one in joined if one.name == run), run)
