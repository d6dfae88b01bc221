"""Round figures and criteria for the public edition, so that they can leave the private folders.

A table's masked values are public, so a published difference is an equation about the original: with the release's mean, the
exact `mean_difference` gives the original's mean (up to a sign), and with the exact figure of one attribute's error an
intruder can test guesses of single values. Two significant digits leave enough unknown and are what a reader uses.

What is rounded to 2 digits: differences of means, covariances and correlations; sse_percent and il1s of one attribute, and of
a table in which only one attribute is; the mean size of the candidate sets; the chance levels that are computed from the
original's frequencies and count no people (the rate over all pairs). The figures of a table over two
or more attributes mix several unknowns and keep 6 digits, enough to be compared with published ones. Differences of statistics
have 3 decimals at most as well: two significant digits of a tiny difference would give the original's statistic all the more
exactly.

Shares of people (rates of attacks, changed cells, who is a member, the most frequent value) are shown by classes of ten
(`score.public_shares`), and so are the ends of their intervals, which are those of the class: an exact interval of a sample
tells the count as well. What is told of no count stays as it is: k, which everybody counts in the released rows; the largest
risk of one person, 1/t of t released rows that look alike; the share of the rows that are absent, which the numbers of rows
tell.

The rates by which a control of other people is measured that stands for rows of nobody have 2 digits besides: the release is
not in them, only the source. Rates of subgroups have 2 digits besides, and so have the numbers of their targets, in whole tens:
who is in a tail or a rare category of the original is not public, and a rate is a fraction whose denominator counts them. The
share of groups exposed has 2 digits too: its denominator counts the groups of the source, which no released column shows.

Support and confidence of a rule that is to be hidden are not shown at all, neither those in the original nor those in the
release: both would tell which rule is meant.

An excess of inference among fewer than 100 people is not shown: of 30 people there would be two classes for all that lies
between -1 and 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from tasks.microdata.estimate import Estimate
from tasks.score.catalogue import MEASURES
from tasks.score.measures.linkage import LINKED_VALUE_CONTROL
from tasks.score.policy import PolicyLine
from tasks.score.public_shares import FEWEST, ShareClasses, Side, choose_on_right_side
from tasks.score.verdict import Criterion, is_about, is_outside_limit

STATISTICS = frozenset(one.name for one in MEASURES.values() if one.rounding == "statistic")
ERRORS = frozenset(one.name for one in MEASURES.values() if one.rounding == "error")
CHANCES_OF_PEOPLE = frozenset({"majority"})
FOR_THE_STEWARD = "not published: a figure for the steward alone"
WITHHELD = f"not published: a share of fewer than {FEWEST} people would tell of single ones"
FEWEST_OF_DIFFERENCE = 100  # people of each side, of whom a difference of shares is published: classes of ten are 0.2 wide
TOO_COARSE = (
    f"not published: rounded as it has to be, a difference between fewer than {FEWEST_OF_DIFFERENCE} people says nothing"
)
ORIGINAL_FREQUENCIES = frozenset({"majority", "all_pairs", "independent_columns"})
FEW, MANY = 2, 6
DECIMALS = 3


PolicyResults = tuple[tuple[PolicyLine, Criterion], ...]


def round_for_publication(
    estimates: tuple[Estimate, ...], decided: Iterable[tuple[PolicyLine, Criterion]] = ()
) -> tuple[Estimate, ...]:
    """The figures for the public edition; see the head of this file. Same order, same ids.

    decided: the lines of the policy with what became of them: a figure stays on that side of a limit on which a line found it.
    """
    lines = tuple(decided)
    rows = max((one.n_targets or 0 for one in estimates), default=0)
    shown = []
    for one in estimates:
        if MEASURES[one.measure].rounding == "withheld":
            shown.append(replace(one, value=None, low=None, high=None, status="not_applicable", reason=FOR_THE_STEWARD))
            continue
        n = count_people_behind(one, rows)
        kept = FEW if one.basis == "control_group" and one.measure == LINKED_VALUE_CONTROL.name else None
        significant = kept or choose_digits(one.measure, one.attribute, estimates)
        plain = _round_chance(_round_subgroup_counts(one), n)
        shown.append(_round_estimate(plain, significant) if n is None else _round_people_share(plain, n, significant, lines))
    return tuple(shown)


def round_criteria(
    criteria: tuple[Criterion, ...], estimates: tuple[Estimate, ...], shown: tuple[Estimate, ...]
) -> tuple[Criterion, ...]:
    """The criteria with the deciding values of the public edition.

    estimates: all figures of the release, exact. shown: the same as `round_for_publication` shows them to whom these
    criteria are told.
    Where the nearest rounded number would contradict the decision (0.1004 fails a limit of 0.1, and rounds to it), the next one
    on the side of the decision is shown; of a figure that is withheld the limit that is kept, or the end of the range.
    """
    rows = max((one.n_targets or 0 for one in estimates), default=0)
    of_people = {
        one.id: public_one
        for one, public_one in zip(estimates, shown, strict=True)
        if count_people_behind(one, rows) is not None
    }
    return tuple(
        _as_shown(one, of_people[one.estimate])
        if one.estimate in of_people
        else _round_criterion(one, choose_digits(one.measure, one.attribute, estimates))
        for one in criteria
    )


def count_people_behind(estimate: Estimate, rows: int) -> int | None:
    """Of how many people a figure is a share; None: it is no share of people, or one that everybody can count.

    rows: of the table, for shares of its cells.
    """
    measure = MEASURES[estimate.measure]
    if not is_share_of_people(estimate.measure) or estimate.value is None:
        return None
    n, inside = estimate.n_targets, estimate.n_in_release
    if n is None:
        return rows or None
    if inside is None or not 0 < inside < n:
        return n
    if measure.of_membership or measure.compares_people:
        return min(inside, n - inside)
    return {"targets": n, "present": inside, "absent": n - inside}[measure.population]


def is_share_of_people(measure: str) -> bool:
    """Is the measure shown by classes of counts?"""
    return MEASURES[measure].rounding in ("share", "hidden_share")


def choose_digits(measure: str, attribute: str | None, estimates: tuple[Estimate, ...]) -> int | None:
    """How many significant digits of a figure are public; None: all."""
    rounding = MEASURES[measure].rounding
    if rounding in ("statistic", "hidden_share", "mean"):
        return FEW
    if rounding != "error":
        return None
    parts = sum(1 for other in estimates if other.measure == measure and other.attribute is not None)
    return MANY if attribute is None and parts >= 2 else FEW


def round_significant(number: float, significant: int, decimals: int | None = None) -> float:
    """A number to so many significant digits, and at most so many decimals. Example: 0 stays 0; 5.6922 to 2 digits is 5.7."""
    found = float(f"{number:.{significant - 1}e}")
    return found if decimals is None else round(found, decimals)


def _round_subgroup_counts(estimate: Estimate) -> Estimate:
    """With the counts of a subgroup rounded."""
    if estimate.subgroup is None:
        return estimate
    return replace(estimate, n_targets=_round_count(estimate.n_targets), n_in_release=_round_count(estimate.n_in_release))


def _round_estimate(estimate: Estimate, significant: int | None) -> Estimate:
    if significant is None:
        return estimate
    decimals = _choose_decimals(estimate.measure)
    value, low, high = (
        None if end is None else round_significant(end, significant, decimals)
        for end in (estimate.value, estimate.low, estimate.high)
    )
    return replace(estimate, value=value, low=low, high=high)


def _round_people_share(estimate: Estimate, n: int, significant: int | None, lines: PolicyResults) -> Estimate:
    assert estimate.value is not None  # noqa: S101  `count_people_behind` has seen to it
    if n < FEWEST:
        return replace(estimate, value=None, low=None, high=None, status="not_applicable", reason=WITHHELD)
    classes = find_classes(estimate.measure, n)
    if MEASURES[estimate.measure].compares_people and classes.lowest < 0 and n < FEWEST_OF_DIFFERENCE:
        return replace(estimate, value=None, low=None, high=None, status="not_applicable", reason=TOO_COARSE)
    position = classes.find_class(estimate.value)
    sides = _find_sides(estimate, lines)

    def finish(shown: float) -> float:
        return shown if significant is None else round_significant(shown, significant)

    value = classes.choose_public_share(position, sides["value"], finish, least=estimate.is_lower_bound)
    if estimate.low is None or estimate.high is None:
        return replace(estimate, value=value)
    if estimate.low == estimate.high == estimate.value:
        return replace(estimate, value=value, low=value, high=value)
    if estimate.is_lower_bound and estimate.low == estimate.value:
        return replace(estimate, value=value, low=value)
    lowest, highest = classes.interval(position, (1 - estimate.confidence) / 2)
    low = classes.lowest if estimate.low <= classes.lowest else min(finish(lowest), value)
    high = 1.0 if estimate.high >= 1 else max(finish(highest), value)
    return replace(
        estimate,
        value=value,
        low=choose_on_right_side((low, value), sides["low"], (classes.lowest,)),
        high=choose_on_right_side((high,), sides["high"], (value, 1.0)),
    )


def _round_chance(estimate: Estimate, n: int | None) -> Estimate:
    """With the chance level of n people: by classes where it counts them (the most frequent value, those who are flagged)."""
    if estimate.chance is None:
        return estimate
    chance, few = estimate.chance, estimate.chance_kind in ORIGINAL_FREQUENCIES
    counts_people = estimate.chance_kind in CHANCES_OF_PEOPLE or MEASURES[estimate.measure].chance_counts_people
    if n is not None and counts_people:
        if n < FEWEST:
            return replace(estimate, chance=None, chance_kind=None)
        classes = ShareClasses(n)
        chance, few = classes.get_public_share(classes.find_class(chance)), False
    few = few or MEASURES[estimate.measure].rounding == "hidden_share"
    return replace(estimate, chance=round_significant(chance, FEW) if few else chance)


def find_classes(measure: str, n: int) -> ShareClasses:
    """The classes by which a measure of n people is shown."""
    return ShareClasses(n, MEASURES[measure].better == "higher", MEASURES[measure].smallest)


def _find_sides(estimate: Estimate, lines: PolicyResults) -> dict[str, tuple[Side, ...]]:
    """On which side of which limits the value and the ends of a figure have to be shown, as far as the verdict tells."""
    found: dict[str, list[Side]] = {"value": [], "low": [], "high": []}
    for line, criterion in lines:
        decides = criterion.estimate == estimate.id
        if not decides and (
            criterion.decision != "pass" or not is_about(estimate, line) or not _is_about_same_attack(estimate, line)
        ):
            continue
        within, beyond_it = (Side(line.limit, line.direction, is_beyond) for is_beyond in (False, True))
        if criterion.decision == "undecided":
            worst, best = ("high", "low") if line.direction == "at_most" else ("low", "high")
            found[worst].append(beyond_it)
            found[best].append(within)
        else:
            for end in found.values():
                end.append(within if criterion.decision == "pass" else beyond_it)
    return {name: tuple(sides) for name, sides in found.items()}


def _is_about_same_attack(estimate: Estimate, line: PolicyLine) -> bool:
    """Is the line, which passed, about the attack of the figure too?"""
    return line.accept_other_attacks is None or line.attack == estimate.attack


def _as_shown(criterion: Criterion, figure: Estimate) -> Criterion:
    if criterion.deciding_value is None or criterion.deciding_bound is None:
        return criterion
    shown = getattr(figure, criterion.deciding_bound)
    if shown is None:
        is_beyond = is_outside_limit(criterion.deciding_value, criterion.limit, criterion.direction)
        end = 1.0 if criterion.direction == "at_most" else MEASURES[criterion.measure].smallest
        shown = end if is_beyond else criterion.limit
    return replace(criterion, deciding_value=shown)


def _round_count(count: int | None) -> int | None:
    return None if count is None else round(int(round_significant(count, FEW)), -1)


def _round_criterion(criterion: Criterion, significant: int | None) -> Criterion:
    if significant is None or criterion.deciding_value is None:
        return criterion
    decimals = _choose_decimals(criterion.measure)
    shown = round_significant(criterion.deciding_value, significant, decimals)
    limit, direction = criterion.limit, criterion.direction
    if is_outside_limit(shown, limit, direction) != is_outside_limit(criterion.deciding_value, limit, direction):
        shown = _round_towards(criterion.deciding_value, significant, decimals, up=criterion.deciding_value > shown)
    return replace(criterion, deciding_value=shown)


def _choose_decimals(measure: str) -> int | None:
    return DECIMALS if measure in STATISTICS else None


def _round_towards(number: float, significant: int, decimals: int | None, *, up: bool) -> float:
    exact = Decimal(number)
    power = exact.adjusted() - significant + 1
    last_digit = Decimal(1).scaleb(power if decimals is None else max(power, -decimals))
    return float(exact.quantize(last_digit, rounding=ROUND_CEILING if up else ROUND_FLOOR))
