"""The report's sentences: what each mask did, what each figure says, what each decision means."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import assert_never

from tasks.attack.methods import ATTACKS
from tasks.attack.outcomes.outcome import AttackResult
from tasks.microdata.estimate import Estimate
from tasks.microdata.numbers import SPACE, count, format_against_limit, format_limit, number, share
from tasks.microdata.schema import Attribute, Role
from tasks.microdata.units import Counts
from tasks.microdata.words import join_with_and
from tasks.report.charts.knowledge import KNOWING
from tasks.report.content import Content, extra_knowledge, parse_external_file
from tasks.report.views.rows import nearly_none
from tasks.report.wording.meanings import meaning
from tasks.report.wording.units import add_article
from tasks.score.catalogue import MEASURES
from tasks.score.measures.disclosure import SD_INTERVAL_DISCLOSURE
from tasks.score.membership.figures import REHEARSED
from tasks.score.policy import FILE, INSIDER, PolicyLine, rate_of
from tasks.score.rounding import STATISTICS
from tasks.score.scored_targets import ONE_SHARE
from tasks.score.verdict import Criterion, Decision

_CODE_NAMES = {
    "distance_linkage": "distance-based linkage",
    "rank_swapping": "rank swapping",
    "rank_jitter": "rank jitter",
    "reverse_mapping": "reverse mapping",
    "pram": "PRAM",
    "quasi_identifier": "quasi-identifier",
    "quasi_identifiers": "quasi-identifiers",
}
_CODE_NAME = re.compile(rf"\b({'|'.join(_CODE_NAMES)})\b")
_MOST_NAMES = 8
ROUNDED = (
    "Some figures are rounded on purpose, to two digits and at most three decimals: with more, the release would give exact "
    "statistics of the original."
)
DECISIONS: dict[Decision, str] = {"pass": "kept", "fail": "broken", "undecided": "not decided"}
ROLES = {
    Role.IDENTIFIER: "identifier",
    Role.QUASI_IDENTIFIER: "quasi-identifier",
    Role.CONFIDENTIAL: "confidential",
    Role.WEIGHT: "sampling weight",
    Role.PERSON: "person key",
    Role.GROUP: "group key",
    Role.DERIVED: "derived",
    Role.WITHHELD: "withheld",
    Role.OTHER: "other",
}


def why_unpublished(attribute: Attribute, masked: Collection[str] = ()) -> str:
    """The reason why a column is not in the released table. masked: the attributes that a step masked."""
    match attribute.role:
        case Role.IDENTIFIER:
            named = "it is declared an identifier"
            return named if attribute.decided_by == "declared" else "it was found to tell single units apart"
        case Role.PERSON:
            return "it is the key that joins the rows of one person"
        case Role.GROUP:
            return "it is the key of a group of units, such as a household"
        case Role.WITHHELD:
            return "it is kept back by the publisher"
        case Role.DERIVED:
            undone = " and would undo what was done there" if set(attribute.derived_from) & set(masked) else ""
            return f"it is declared to be computed from {join_with_and(attribute.derived_from)}{undone}"
        case _:
            raise ValueError(f"{attribute.name} is published: its role is {attribute.role}")


def intruder_in_words(intruder: str) -> str:
    """Who attacked: the declared intruder, one who knows one attribute more, or one who holds an external file."""
    extra, file = extra_knowledge(intruder), parse_external_file(intruder)
    if file:
        return f"holder of the external file {file}"
    if intruder.startswith(KNOWING):
        return f"somebody who knows {intruder.removeprefix(KNOWING)} of the declared intruder's attributes"
    return f"insider who also knows {extra}" if extra else "declared intruder"


def attack_title(method: str) -> str:
    kind = ATTACKS.get(method)
    return method.replace("_", " ").capitalize() if kind is None else kind.about.title


def attack_named(attack: str | None) -> str:
    """An attack within a sentence, by its id: `transparency attack`."""
    known = ATTACKS.get(attack or "")
    return f"attack \u201c{attack}\u201d" if known is None else known.about.title[:1].lower() + known.about.title[1:]


WORST_CASE = "the worst case of a family of distances, and no intruder's rate"
LIKE_THE_OWNER = "weighs it as only the data's owner can"
NOT_DISJOINT = "The distance has seen the links by which the margin was calibrated: no intruder can assert as much."


def somebody(content: Content, intruder: str, attack: str | None) -> str:
    """An intruder by what they know: `somebody who knows age and educ and how the masking works`."""
    weighs = f" and {LIKE_THE_OWNER}" if uses_all_true_links(content, attack) else ""
    return _who_knows(content, intruder, attack) + weighs


def _who_knows(content: Content, intruder: str, attack: str | None) -> str:
    extra = extra_knowledge(intruder)
    if extra:
        return f"an insider who also knows {extra}"
    if parse_external_file(intruder):
        return f"somebody who holds the external file {parse_external_file(intruder)}"
    knows = content.intruder_knowledge
    names = (
        join_with_and(knows) if len(knows) <= _MOST_NAMES else f"{count(len(knows))} attributes of {add_article(content.unit)}"
    )
    kind = ATTACKS.get(content.method_of(attack) or "")
    if kind is not None and kind.about.holder is not None:
        return kind.about.holder
    if content.intruder.records < 1:
        names += f" of {share(content.intruder.records)} of the {content.counts}"
    return f"somebody who knows {names}{' and how the masking works' if uses_the_masking(content, attack) else ''}"


def uses_the_masking(content: Content, attack: str | None) -> bool:
    kind = ATTACKS.get(content.method_of(attack) or "")
    return kind is not None and kind.follows_masking


def uses_all_true_links(content: Content, attack: str | None) -> bool:
    """Is it the attack of nobody who exists? Only the data's owner has all true links."""
    kind = ATTACKS.get(content.method_of(attack) or "")
    return kind is not None and kind.about.is_worst_case


def caution(one: Estimate) -> str:
    """What a figure says of itself, as a sentence; empty where there is nothing, or no figure."""
    if one.status != "ok" or not one.reason:
        return ""
    return f"{one.reason[:1].upper()}{expand_code_names(one.reason[1:])}."


def expand_code_names(text: str) -> str:
    """A text of an earlier stage with the code names of methods and roles written out."""
    return _CODE_NAME.sub(lambda found: _CODE_NAMES[found[1]], text)


def linkage_settings(result: AttackResult) -> str:
    """Direction, scale and credit of an attack: a linkage figure means nothing without them."""
    ways = {
        "to_release": "each original record is linked to the release",
        "to_original": "each released record is linked to the originals",
    }
    scales = {
        "release": "both files are scaled by the release's mean and standard deviation",
        "original": "both files are scaled by the original's mean and standard deviation",
        "own": "each file is scaled by its own mean and standard deviation",
    }
    if result.direction is None and result.scale_by is None:
        return "Credit: a tie of t records earns 1/t."
    direction = ways.get(result.direction or "", "no direction")
    scale = scales.get(result.scale_by or "", "no scale")
    return f"Direction: {direction}. Scale: {scale}. Credit: a tie of t records earns 1/t."


def requirement(line: PolicyLine, counts: Counts = "records") -> str:
    """A policy line as a sentence: what it demands of which figure."""
    unit = _unit(line.measure, counts)
    of = f" of {line.attribute}" if line.attribute is not None else ""
    of_what = "a standard deviation" if line.measure == SD_INTERVAL_DISCLOSURE.name else "the ranks"
    within = "" if line.p_percent is None else f" (within {number(line.p_percent)}{SPACE}% of {of_what})"
    rate = rate_of(line)
    within += "" if rate is None else f" (wrong about {format_limit(rate, 'share')} of the others)"
    return f"{meaning(line.measure, counts).title}{of}{within} {_bounds(line)} {format_limit(line.limit, unit)}{_scope(line)}"


def _scope(line: PolicyLine) -> str:
    if not MEASURES[line.measure].by_attack:
        return ""
    who = {INSIDER: ", for every insider", FILE: ", for who holds any of the external files"}.get(line.intruder or "", "")
    if line.intruder is not None and line.intruder.startswith((f"{INSIDER}:", f"{FILE}:")):
        who = f", for the {intruder_in_words(line.intruder)}"
    if line.attack is None:
        if MEASURES[line.measure].of_membership:
            return ", worst found among the attacks run"
        return f", in the worst of the attacks run{who}"
    accepted = f"; other attacks are accepted: {line.accept_other_attacks}" if line.accept_other_attacks else ""
    return f", in the {attack_named(line.attack)}{who}{accepted}"


PART_OF_AN_ATTACK = "a lower bound by a part of an attack that sdcert could not follow whole"


def how_bad(content: Content, figure: Estimate) -> str:
    """That a figure is the worst found, said only where no other intruder and no other attack found more."""
    if content.is_worst_of_all(figure):
        part = ", by a part of an attack that sdcert could not follow whole" if figure.is_lower_bound else ""
        return f"the worst found among the attacks run{part}"
    return "the most that this intruder found; another one found more"


def format_deciding_figure(criterion: Criterion, counts: Counts = "records") -> str:
    """The figure that decided a line, beside its limit."""
    if criterion.deciding_value is None:
        return "no figure"
    if criterion.deciding_value == 0 < criterion.limit and criterion.measure in STATISTICS:
        return nearly_none(_unit(criterion.measure, counts))
    found = format_against_limit(criterion.deciding_value, criterion.limit, _unit(criterion.measure, counts))
    return f"at least {found}" if criterion.lower_bound else found


def describe_figure_source(content: Content, criterion: Criterion) -> str:
    """Whose figure decided: `by somebody who knows age (transparency attack)`, `of popul`; empty for a whole-table measure."""
    asked = criterion.intruder is None or criterion.estimate is None
    who = "" if asked else f"by {somebody(content, criterion.intruder or '', criterion.attack)}"
    attack = "" if criterion.attack is None else f"({attack_named(criterion.attack)})"
    of = "" if criterion.attribute is None else f"of {criterion.attribute}"
    return " ".join(filter(None, [of, who, attack]))


def describe_deciding_bound(criterion: Criterion, estimate: Estimate | None) -> str:
    """The one-sided 95 % bound that was held against the limit, and its sample; empty where the figure itself was."""
    if criterion.deciding_bound in (None, "value"):
        return ""
    if criterion.lower_bound:
        return PART_OF_AN_ATTACK
    targets = None if estimate is None else estimate.n_targets
    counts = "records" if estimate is None else estimate.counts
    return f"{format_deciding_figure(criterion, counts)}, from a sample of {count(targets or 0)} {counts}"


def reason_in_words(line: PolicyLine, criterion: Criterion, counts: Counts = "records") -> str:
    """Why a line is kept, broken or not decided, and what the figure is not about."""
    told = _reason_in_words(line, criterion, counts)
    if criterion.caution is None:
        return told
    told = told.replace(_MORE_TARGETS, ".") if criterion.caution == ONE_SHARE else told
    return f"{told} {criterion.caution[:1].upper()}{criterion.caution[1:]}."


_MORE_TARGETS = ": more targets would decide."


def _reason_in_words(line: PolicyLine, criterion: Criterion, counts: Counts) -> str:
    if criterion.deciding_value is None:
        return f"{criterion.reason[:1].upper()}{expand_code_names(criterion.reason[1:])}."
    found = format_deciding_figure(criterion, counts)
    demand = f"{_bounds(line)} {format_limit(line.limit, _unit(line.measure, counts))}"
    blamed = "" if criterion.attack in (None, line.attack) or line.attack is None else _BLAMED
    if criterion.deciding_bound == "value":
        verb = (_PLURAL if found.endswith(counts) else _VERBS)[criterion.decision]
        return f"{found} {verb} the limit of {demand}.{blamed}"
    if criterion.lower_bound:
        return f"The figure is {found}, {PART_OF_AN_ATTACK}: this alone breaks the limit of {demand}.{blamed}"
    bound = f"The one-sided 95{SPACE}% bound, {found},"
    if criterion.caution == REHEARSED and criterion.decision == "undecided":
        return f"{bound} does not decide on {demand}, because it is not about this release."
    match criterion.decision:
        case "pass":
            return f"{bound} keeps the limit of {demand}.{blamed}"
        case "fail":
            return f"Even the more favourable one-sided 95{SPACE}% bound, {found}, breaks {demand}.{blamed}"
        case "undecided":
            return f"{bound} breaks the limit of {demand}, the other keeps it{_MORE_TARGETS}{blamed}"
        case _:
            assert_never(criterion.decision)


def _unit(measure: str, counts: Counts) -> str:
    unit = MEASURES[measure].unit
    return counts if unit == "records" else unit


_VERBS: dict[Decision, str] = {"pass": "keeps", "fail": "breaks", "undecided": "leaves open"}
_PLURAL: dict[Decision, str] = {"pass": "keep", "fail": "break", "undecided": "leave open"}
_BLAMED = " The line names another attack, and does not say why this one should be accepted."


def _bounds(line: PolicyLine) -> str:
    return "at most" if line.direction == "at_most" else "at least"


def verdict_in_words(content: Content) -> str:
    """The verdict as one plain sentence."""
    decisions = [criterion.decision for criterion in content.verdict.criteria]
    lines = f"{len(decisions)} policy line{'s' if len(decisions) != 1 else ''}"
    match content.verdict.verdict:
        case "certified" if content.not_for_publication:
            return f"Rehearsal: it would be certified, with {_phrase_all_lines(lines, len(decisions))} kept."
        case "certified":
            word = f"{content.word[:1].upper()}{content.word[1:]}"
            return f"{word}: {_phrase_all_lines(lines, len(decisions))} {'is' if len(decisions) == 1 else 'are'} kept."
        case "refused":
            return f"Not certified: {_some_of(decisions.count('fail'), len(decisions), 'is broken', 'are broken')}."
        case "undecided":
            return f"Not certified: {_some_of(decisions.count('undecided'), len(decisions), *['could not be decided'] * 2)}."
        case _:
            assert_never(content.verdict.verdict)


def _phrase_all_lines(lines: str, how_many: int) -> str:
    return "its only policy line" if how_many == 1 else f"all {lines}"


def _some_of(how_many: int, among: int, one: str, several: str) -> str:
    if among == 1:
        return f"its only policy line {one}"
    if how_many == among == 2:
        return f"both policy lines {several}"
    if how_many == among:
        return f"all {count(among)} policy lines {several}"
    return f"one of the {count(among)} policy lines {one}" if how_many == 1 else f"{how_many} of {among} policy lines {several}"
