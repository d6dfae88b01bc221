"""What remains of the risks of a released table, in words: what was found, what it is fit for, what was not assessed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import shorten

from tasks.mask.ranks.rank_jitter import RESIDUAL_RISK_TEXT
from tasks.mask.ranks.rank_swapping import KNOWN_LIMIT
from tasks.microdata.estimate import Estimate
from tasks.microdata.schema import Role
from tasks.report.content import Content, extract_extra_knowledge, is_insider, parse_external_file
from tasks.report.views.cell_members import describe_worst_cell_members
from tasks.report.views.insider_curve import describe_columns, describe_curve
from tasks.report.views.known_limits import describe_editions, describe_randomness, describe_rows, describe_scope
from tasks.report.views.membership import describe_insider, worst_of_membership
from tasks.report.views.missing_limits import NO_LINE, is_limited
from tasks.report.views.randomised import describe_randomisation
from tasks.report.views.releases_before import describe_joined_releases, list_joined_releases, name_joined_release
from tasks.report.views.rows import share_in_words
from tasks.report.wording.intruders import NOT_DISJOINT, WORST_CASE, somebody, uses_all_true_links, uses_the_masking
from tasks.report.wording.meanings import meaning
from tasks.report.wording.names import expand_code_names
from tasks.report.wording.sentence import Sentence, say
from tasks.score.measures.disclosure import VALUES_RECONSTRUCTED

_LONGEST_REASON = 160


def describe_table_risks(content: Content) -> tuple[str, ...]:
    """The largest remaining risks as sentences, the insiders' figures among them."""
    return (
        *describe_declared_intruder(content),
        *describe_joined_releases(content),
        *insiders_in_words(content),
        *_files(content),
        *filter(None, (worst_of_membership(content), *describe_insider(content))),
        *_describe_asserted_links(content),
        *(values_in_words(content) if content.kind.has_owners else ()),
        *describe_reconstruction(content),
        *describe_worst_cell_members(content),
        *_intervals(content),
        *_describe_unmasked_keys(content),
        *_pairs_of_swaps(content),
        *_describe_jitter_attack(content),
        *describe_randomisation(content),
        *filter(None, (step.describe_residual_risk() for step in content.mechanisms)),
        *_not_run(content),
    )


def summarize_table(content: Content) -> tuple[str, ...]:
    """The sentences under the verdict: what the declared intruder found, and the insider and the file that found most."""
    told, _ = _leading(content)
    return (*told, *describe_joined_releases(content), *_not_run(content))


def describe_unlimited_links(content: Content) -> list[str]:
    """The same of those whose figure no policy line limits."""
    return _leading(content)[1]


def _leading(content: Content) -> tuple[list[str], list[str]]:
    """The sentences on the declared intruder and the worst insider: those whose figure a policy line limits, and the rest."""
    rate = "reidentification"
    worst = (content.worst(rate, declared=True), _worst_insider(content), content.worst_of_files(rate))
    sentences = (list(describe_declared_intruder(content))[:1], list(insiders_in_words(content))[:1], list(_files(content))[:1])
    limited = [one is not None and is_limited(content, one) for one in worst]
    told = [text for texts, held in zip(sentences, limited, strict=True) for text in texts if held]
    return told, [text for texts, held in zip(sentences, limited, strict=True) for text in texts if not held]


def describe_table_fitness(content: Content) -> tuple[str, ...]:
    """What the release is fit for, as sentences: the losses measured on the whole table, and `describe_fitness_for_use`."""
    losses = [(one, meaning(one.measure, unit=content.context.unit)) for one in content.losses() if one.value is not None]
    told = (say("residual.loss", title=words.title, loss=one, analyst=words.analyst) for one, words in losses)
    return (*told, *describe_fitness_for_use(content))


def describe_fitness_for_use(content: Content) -> tuple[str, ...]:
    """Which attributes kept their distributions exactly, and which uses nobody assessed."""
    untouched = [name for name in content.schema.release_columns if name not in content.masking_targets]
    fewer = bool(content.absent) or content.control is not None
    kept = [say("residual.unchanged", attributes=untouched, fewer=fewer)] if untouched else []
    return (*kept, say("residual.uses_not_assessed"))


def list_table_limits(content: Content, knowledge: Sentence, synthesis: Iterable[Sentence] = ()) -> tuple[str, ...]:
    """What the report of a table does not say, and what it rests on.

    knowledge: what of the figures about knowledge is only declared. synthesis: what is only declared of how it was made.
    """
    return (
        *describe_scope("this table"),
        *filter(None, (step.describe_knowledge() for step in content.mechanisms)),
        worst_of_membership(content) or say("residual.no_membership"),
        *synthesis,
        knowledge,
        describe_rows(content, "residual.rows_of_a_table"),
        _releases_before(content),
        _row_order(content),
        describe_randomness(content),
        describe_editions(content),
    )


def describe_declared_intruder(content: Content) -> Iterator[str]:
    worst = content.worst("reidentification", declared=True)
    exposed = content.worst("records_exposed", declared=True)
    single = content.worst("max_record_risk", declared=True)
    if worst is None:
        return
    yield say("residual.declared_intruder", who=somebody(content, worst.intruder or "", worst.attack), rate=worst,
              unit=content.unit, is_worst=content.is_worst_of_all(worst), worst_case=_worst_case(content, worst),
              half=_find_rate_with_half(content, worst))  # fmt: skip
    if exposed is not None and single is not None:
        yield say("residual.exposed", exposed=exposed, single=single, unit=content.unit)


def _worst_case(content: Content, rate: Estimate) -> str:
    """That the rate of a learned distance is nobody's; empty for every other."""
    return WORST_CASE if uses_all_true_links(content, rate.attack) else ""


def _find_rate_with_half(content: Content, rate: Estimate) -> float | None:
    """What somebody with half of the truth reaches by a learned distance."""
    asked = (rate.attack, rate.intruder)
    facts = next((one.learned for one in content.attacks if (one.attack, one.intruder) == asked), None)
    return None if facts is None or facts.held_out is None else facts.held_out.other_half


def insiders_in_words(content: Content) -> Iterator[str]:
    first = _worst_insider(content)
    if first is None:
        return
    yield say("residual.insider", knows=describe_columns(content, first.intruder or ""), rate=first, unit=content.unit,
              is_worst=content.is_worst_of_all(first), uses_masking=uses_the_masking(content, first.attack),
              worst_case=_worst_case(content, first))  # fmt: skip
    names = dict.fromkeys(one.intruder for one in content.figures("reidentification", declared=False))
    others_worst = (_worst_of(content, name) for name in names if name != first.intruder)
    ranked = sorted(filter(None, others_worst), key=lambda one: -(one.value or 0.0))
    if content.intruder.insiders is not None:
        yield describe_curve(content)
    elif ranked:
        found = [say("residual.found_knowing", rate=one, extra=extract_extra_knowledge(one.intruder or "")) for one in ranked]
        yield say("residual.other_insiders", found=found)


def _files(content: Content) -> Iterator[str]:
    """Who holds an external file, the file that found most first: of how many, and what of those who are in the release."""
    names = dict.fromkeys(one.intruder for one in content.figures("reidentification") if parse_external_file(one.intruder))
    for one in sorted(filter(None, (_worst_of(content, name) for name in names)), key=lambda one: -(one.value or 0.0)):
        there = next((other for other in content.figures("reidentification_present") if _same_attack(one, other)), None)
        yield say("residual.external_file", file=parse_external_file(one.intruder), rate=one, present=there, unit=content.unit,
                  worst_case=_worst_case(content, one))  # fmt: skip


def _same_attack(one: Estimate, other: Estimate) -> bool:
    return (one.attack, one.intruder) == (other.attack, other.intruder)


def _worst_insider(content: Content) -> Estimate | None:
    return content.worst("reidentification", declared=False)


def _worst_of(content: Content, intruder: str | None) -> Estimate | None:
    return content.largest(one for one in content.figures("reidentification") if one.intruder == intruder)


def _describe_asserted_links(content: Content) -> Iterator[str]:
    """Links that the declared intruder, and the worst insider, can be sure of."""
    for declared in (True, False):
        worst = content.worst("known_reidentification", declared=declared)
        if worst is None or not worst.value:
            continue
        who = somebody(content, worst.intruder or "", worst.attack) if is_insider(worst) else "the declared intruder"
        yield say("residual.asserted_links", who=who, share_told=share_in_words(worst, content.edition), rate=worst,
                  by_owner=uses_all_true_links(content, worst.attack), not_disjoint=NOT_DISJOINT,
                  no_line="" if is_limited(content, worst) else NO_LINE)  # fmt: skip


def values_in_words(content: Content) -> Iterator[str]:
    told = content.figures("linked_value_disclosed", declared=True)
    worst = content.largest(told, by=lambda one: gain_over_baselines(content, one))
    if worst is None:
        return
    gain = gain_over_baselines(content, worst)
    if gain <= 0:
        yield say("residual.no_value_told")
        return
    yield say("residual.value_told", told=worst, baseline=(worst.value or 0.0) - gain)


def describe_reconstruction(content: Content) -> Iterator[str]:
    """What follows from the group means of all releases together; nothing where there was no earlier one to combine."""
    whole = [one for one in content.figures(VALUES_RECONSTRUCTED.name) if one.attribute is None and one.chance is not None]
    parts = (one for one in content.figures(VALUES_RECONSTRUCTED.name) if one.attribute is not None and one.chance is not None)
    worst = content.largest(parts)
    for told in whole:
        yield say("residual.values_reconstructed", told=told, worst=worst)


def gain_over_baselines(content: Content, disclosed: Estimate) -> float:
    """How much a disclosed value exceeds the better of its two baselines: the majority guess and the control."""
    controls = (
        one.value or 0.0
        for one in content.figures("linked_value_control")
        if (one.attack, one.intruder, one.attribute) == (disclosed.attack, disclosed.intruder, disclosed.attribute)
    )
    return (disclosed.value or 0.0) - max([disclosed.chance or 0.0, *controls])


def _intervals(content: Content) -> Iterator[str]:
    found = [one for one in content.figures("rank_interval_disclosure") if one.chance is not None]
    worst = content.largest(found, by=lambda one: (one.value or 0.0) - (one.chance or 0.0))
    if worst is not None:
        yield say("residual.interval", told=worst, width=dict(worst.parameters).get("p_percent", 0.0))


def _describe_unmasked_keys(content: Content) -> Iterator[str]:
    unmasked = [name for name in content.schema.find_by_role(Role.QUASI_IDENTIFIER) if name not in content.masking_targets]
    if unmasked:
        yield say("residual.unmasked_keys", attributes=unmasked)


def _pairs_of_swaps(content: Content) -> Iterator[str]:
    swapped = {name for step in content.mechanisms if step.method == "rank_swapping" for name in step.target_attributes}
    if swapped:
        ran = any(result.method == "consistency" and result.status == "ok" for result in content.attacks)
        yield say("residual.pairs_of_swaps", limit=KNOWN_LIMIT, ran=ran)


def _describe_jitter_attack(content: Content) -> Iterator[str]:
    if not any(step.method == "rank_jitter" for step in content.mechanisms):
        return
    figures = content.figures("reidentification", declared=True)
    worst = content.largest(one for one in figures if content.method_of(one.attack) == "transparency")
    yield say("residual.jitter", displacements=RESIDUAL_RISK_TEXT, rate=worst)


def _not_run(content: Content) -> Iterator[str]:
    silent = {one.attack: f"omitted: {_shorten_reason(one.reason)}" for one in content.omissions}
    for result in content.attacks:
        if result.status in ("failed", "not_followed"):
            what = result.status.replace("_", " ")
            silent.setdefault(result.attack, f"{what}: {_shorten_reason(result.reason or 'no reason was given')}")
    if silent:
        yield say("residual.not_run", attacks=silent)


def _shorten_reason(reason: str) -> str:
    """The first sentence of a reason, at most so long that it can stand in brackets."""
    return shorten(expand_code_names(reason).partition(". ")[0].rstrip("."), _LONGEST_REASON, placeholder="\u2026")


def describe_participation(content: Content) -> Sentence:
    """Of how many records the intruder knows how much, and whether they know who is in the release."""
    return say("residual.knowledge", records=content.intruder.records, counts=content.counts,
               participation_known=content.intruder.participation_known,
               holds_file=any(parse_external_file(one.intruder) for one in content.attacks))  # fmt: skip


def _row_order(content: Content) -> Sentence:
    if content.keep_row_order is None:
        return say("residual.random_order")
    tried = "row_position" in {result.method for result in content.attacks}
    return say("residual.kept_order", reason=content.keep_row_order, tried=tried)


def _releases_before(content: Content) -> Sentence:
    joined = [name_joined_release(one) for one in list_joined_releases(content)]
    if joined:
        return say("earlier.attacked", releases=joined)
    before = content.context.prior_texts
    return say("residual.no_earlier_release") if before == () else say("residual.earlier_releases", names=before)
