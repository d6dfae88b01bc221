"""What to change in a release file whose release was not certified: one sentence for each way out, in words of the file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tasks.attack.insiders import SEPARATOR
from tasks.attack.together.earlier_releases import CANNOT_BE_ATTACKED
from tasks.mask.methods import find_method
from tasks.mask.shared_advice import JOINTLY, MORE_RISK
from tasks.microdata.escaping import escape_terminal
from tasks.microdata.numbers import format_against_limit, format_limit
from tasks.microdata.words import join_with_and
from tasks.score.attack_coverage import EARLIER
from tasks.score.catalogue import LINKAGE, LOSS, MEASURES
from tasks.score.measures.local_privacy import EPSILON
from tasks.score.measures.model import MODEL_ACCURACY
from tasks.score.membership.membership_figures import REHEARSED, UNLIKE
from tasks.score.policy import INSIDER

_LINKAGE = {measure.name for measure in LINKAGE}
_LOSS = {measure.name for measure in LOSS}
_UNGROUPABLE = "free_text"
_CATEGORIES = ("nominal", "code")
_NAMED = 3
POSITION = "row_position"
ELSEWHERE = "in the tool that made the table"
_SHUFFLE = (
    "Take `keep_row_order` out: the released rows stand in the source's order, and whoever has that order finds people by "
    "their place alone, however strong the masks are. Without it the rows are shuffled."
)


def list_advice(scorecard: dict[str, Any], manifest: dict[str, Any]) -> list[str]:
    """Sentences on what to change, for every line of the policy that is not kept; empty for a certified release.

    Parameters
    ----------
    scorecard: the public scorecard of a run. manifest: its private manifest, of which the release file (`spec`) is read.

    Pure: nothing is read from disk. Each sentence stands once, in the order of the policy.
    """
    spec = manifest["spec"]
    figures = [figure for figure in scorecard["estimates"] if figure.get("attack") not in _find_position_attacks(spec)]
    lines = [line for line in scorecard["criteria"] if line["decision"] != "pass"]
    sentences = (sentence for line in lines for sentence in _explain_line(line, figures, spec))
    return list(dict.fromkeys(sentences))


def _advise_sampling(intruder: dict[str, Any]) -> str:
    if (intruder.get("records") or 1.0) < 1:
        return "The intruder holds some of the records: with `intruder: {records: 1.0}` there is no doubt about the others."
    return "Attack every record (`intruder: {targets: 1.0}`): then there is no sampling error left to doubt."


def _explain_line(line: dict[str, Any], figures: list[dict[str, Any]], spec: dict[str, Any]) -> Iterator[str]:
    location = f"policy line {line['line'] + 1}"
    if line["decision"] == "undecided":
        yield f"{location} ({line['measure']}) could not be decided: {escape_terminal(line['reason'])}."
        if MEASURES[line["measure"]].of_membership or MEASURES[line["measure"]].only_of_model:
            if line["reason"] and UNLIKE in line["reason"]:
                yield (
                    "Take the people of the control from the same place as those of the source: draw both at random from one "
                    "table (whole groups, where there are any) before anything is made of either."
                )
            elif line["reason"] and REHEARSED.partition(":")[0] in line["reason"].lower():
                yield (
                    "Set a `control` aside (`control: 0.2`, or a table of other people), so that this release can be asked, "
                    "and not only how it is made."
                )
            else:
                yield "Ask about more people: a larger `control` makes the interval narrower; or hold the release back further."
        elif (line["attack"] or "").startswith(f"{EARLIER}:") and CANNOT_BE_ATTACKED in (line["reason"] or ""):
            yield _advise_lost_release(line["attack"].partition(":")[2])
        elif MEASURES[line["measure"]].of_inference:
            yield (
                "Compare more people: a larger `train_at_most` of the attack that infers makes the interval narrower, as far "
                "as there are people. `sdcert check` says how many are compared, and which limit they can decide."
            )
        elif line["deciding_bound"] in ("low", "high"):
            yield _advise_sampling(spec.get("intruder") or {})
    elif spec.get("release") is not None:
        yield _advise_model(line, location)
    elif (spec.get("released") or {}).get("align") == "none":
        yield _advise_synthetic_rows(line, location)
    elif line["attack"] is not None and line["attack"] in _find_position_attacks(spec):
        yield _SHUFFLE
    elif (line["attack"] or "").partition(":")[0] == EARLIER:
        yield from _advise_joined_release(figures, spec)
    elif (line["intruder"] or "").startswith(INSIDER):
        yield from _advise_insiders(line, figures, spec, location)
    elif line["measure"] in _LINKAGE or line["measure"].startswith("k_anonymity"):
        yield from _advise_declared_intruder(line, figures, spec)
    elif line["measure"] == EPSILON.name:
        yield _advise_epsilon(line, location)
    elif line["measure"] in _LOSS:
        yield from _advise_losses(line, figures, spec, location)
    else:
        there = f" {ELSEWHERE}" if spec.get("released") else ""
        yield f"Mask {_format_attribute(line)}more strongly{there}, or raise the limit of {location} if you can answer for it."


def _advise_lost_release(name: str) -> str:
    return (
        "Give the attack the tables: restore them from a backup of the private folder or, of a release that only the release "
        f"file names, put its table there. If there are none: `omit: [{{attack: {EARLIER}, release: {escape_terminal(name)}, "
        "reason: ...}]` accepts that this release is not attacked, and the verdict says so."
    )


def _advise_joined_release(figures: list[dict[str, Any]], spec: dict[str, Any]) -> Iterator[str]:
    """What lets the same people be released again: the remedies that fit the masking steps."""
    earlier = sorted({one["attack"].partition(":")[2] for one in figures if (one["attack"] or "").startswith(f"{EARLIER}:")})
    yield (
        f"This release and {join_with_and(earlier)} are about the same people, and tell more together than the policy allows. "
        "Publish the earlier table again as it is, which tells nothing more; or release in one of the ways below. If nobody "
        "outside was given the earlier file: `sdcert revoke RUN --never-published REASON`."
    )
    for i, step in enumerate(spec.get("masking") or (), 1):
        if step.get("frozen") or step.get("draw") == "per_person":
            yield (
                f"Masking step {i} shows people who were released before as it did then. What is left to find are the few who "
                "joined or left in between: release again when more have."
            )
        elif step["method"] == "microaggregation":
            yield (
                f"Masking step {i}: `frozen: true` keeps the groups and values of people who were released before, with the "
                "same `k` (new people form groups among themselves, so that the loss grows: by a tenth to a quarter where 1 to "
                "20 % are new). For larger groups than before, `nested_in: <the earlier k>` joins whole groups of the earlier "
                "release, at hardly any loss, and tells together what the finer groups tell."
            )
        elif step["method"] in ("noise", "pram"):
            yield (
                f"Masking step {i}: `draw: per_person` shows the same mask for the same value of a person in every release of "
                "the series, at no loss. It works from the first release on that has it."
            )


def _advise_epsilon(line: dict[str, Any], location: str) -> str:
    if line["deciding_value"] is None:
        return (
            "A finite epsilon needs probabilities above 0 that do not come from the data (`epsilon` or `retention` without "
            "`invariant`, or a matrix without zeros), and no missing values: code those as a category of their own in the "
            f"source. Or take {location} out."
        )
    return (
        f"Let PRAM change {_format_attribute(line)}more often (a smaller `epsilon` or `retention`), or attributes "
        f"together (`jointly`); or raise the limit of {location} if you can answer for it."
    )


def _advise_model(line: dict[str, Any], location: str) -> str:
    if line["measure"] == MODEL_ACCURACY.name:
        return (
            "The model is right too seldom: give it more or better features, let it learn more finely (deeper trees, smaller "
            f"leaves, a weaker penalty), which tells more of who taught it; or lower the limit of {location}."
        )
    return (
        "The model tells too much of who taught it: hold it back (shallower trees, larger leaves, a stronger penalty), let it "
        f"learn from a masked table (`masking`), or raise the limit of {location} if you can answer for it."
    )


def _advise_synthetic_rows(line: dict[str, Any], location: str) -> str:
    figure = f"{line['measure']}{' of ' + escape_terminal(line['attribute']) if line['attribute'] else ''}"
    if line["measure"] in _LOSS:
        return (
            f"The synthetic table is too far from the source ({figure}): make it anew {ELSEWHERE}, by a model that "
            f"keeps more of "
            f"how attributes go together (more risk); or raise the limit of {location}, if it is still fit for its purpose."
        )
    return (
        f"The synthetic rows tell too much ({figure}): make the table anew, by a model that keeps less of single "
        f"records (fewer "
        "attributes, coarser values, larger groups behind each drawn value, or noise with a known bound), or leave the "
        f"attribute out; or raise the limit of {location}, if you can answer for it."
    )


def _find_position_attacks(spec: dict[str, Any]) -> set[str]:
    """The ids of the attacks that look at no value, only at where a row stands."""
    stated = spec.get("attacks") or ()
    return {POSITION} | {attack["id"] for attack in stated if attack["method"] == POSITION and attack.get("id")}


def _advise_insiders(line: dict[str, Any], figures: list[dict[str, Any]], spec: dict[str, Any], location: str) -> Iterator[str]:
    unit = MEASURES[line["measure"]].unit
    beyond = _find_insiders_beyond_limit(line, figures, spec)
    several = _select_insiders_with_several(beyond, spec)
    if several:
        decided = (line["intruder"] or "").partition(":")[2]
        names = decided if decided in several else next(iter(several))
        yield _advise_column_set(names, several[names], line, location)
    for name, value in beyond.items():
        if name in several:
            continue
        figure = f"{format_against_limit(value, line['limit'], unit)}; limit {format_limit(line['limit'], unit)}"
        yield (
            f"{escape_terminal(name)} is published {_describe_publication(name, spec)}, and somebody who knows it as well "
            f"finds too much ({line['measure']} {figure}). "
            f"Treat it as known and mask it with the others: {_describe_joint_masking(name, spec)}. "
            "Or keep it out of the file: `role: withheld`. "
            f"Or raise the limit of {location}, if you can answer for that."
        )


def _select_insiders_with_several(beyond: dict[str, float], spec: dict[str, Any]) -> dict[str, float]:
    """The insiders beyond the limit who know several columns, worst first; a column's own name may hold the separator."""
    if ((spec.get("intruder") or {}).get("insiders") or {}).get("know", 1) == 1:
        return {}
    return {names: value for names, value in beyond.items() if SEPARATOR in names}


def _advise_column_set(names: str, value: float, line: dict[str, Any], location: str) -> str:
    unit = MEASURES[line["measure"]].unit
    columns = join_with_and(escape_terminal(name) for name in names.split(SEPARATOR))
    figure = f"{format_against_limit(value, line['limit'], unit)}; limit {format_limit(line['limit'], unit)}"
    return (
        f"Somebody who knows {columns} together finds too much ({line['measure']} {figure}). Treat some of these as known, "
        "`role: quasi_identifier`, and mask them with the others; or keep some out of the file: `role: withheld`; or raise "
        f"the limit of {location}, if you can answer for that."
    )


def _describe_publication(name: str, spec: dict[str, Any]) -> str:
    if spec.get("released"):
        return "as the table holds it"
    masked = any(name in (list_step_attributes(step) or ()) for step in _list_steps(spec))
    return "masked apart from the others" if masked else "unchanged"


def _find_insiders_beyond_limit(line: dict[str, Any], figures: list[dict[str, Any]], spec: dict[str, Any]) -> dict[str, float]:
    """Every insider beyond the limit with their worst figure, worst first: mending one of them alone would be refused again."""
    asked = spec["policy"][line["line"]].get("intruder") or INSIDER
    worst: dict[str, float] = {}
    for figure in figures:
        who, value = figure["intruder"] or "", figure["value"]
        covered = who.startswith(f"{INSIDER}:") and asked in (INSIDER, who) and figure.get("subgroup") is None
        if covered and figure["measure"] == line["measure"] and value is not None and value > line["limit"]:
            name = who.partition(":")[2]
            worst[name] = max(worst.get(name, value), value)
    return dict(sorted(worst.items(), key=lambda item: -item[1]))


def _describe_joint_masking(name: str, spec: dict[str, Any]) -> str:
    if spec.get("released"):
        return (
            f"mask it {ELSEWHERE}, and declare it `role: quasi_identifier` under `attributes` (line `{escape_terminal(name)}`)"
        )
    scale = next((a.get("scale") for a in spec["attributes"] if a["name"] == name), None)
    step = next((i for i, s in enumerate(_list_steps(spec)) if s["method"] == "microaggregation"), None)
    role = f"give it `role: quasi_identifier` under `attributes` (line `{escape_terminal(name)}`)"
    if step is None or scale == _UNGROUPABLE:
        return f"{role}, and name it in a masking step that takes its scale"
    grouping, named = _list_steps(spec)[step], f"masking step {step + 1} (microaggregation)"
    if list_step_attributes(grouping) is None and scale not in _CATEGORIES:
        return f"{role}; {named} masks it then, because it names no attributes"
    field = "blocks" if grouping.get("blocks") else "attributes"
    return f"{role}, and add it to the `{field}` of {named}"


def _advise_declared_intruder(line: dict[str, Any], figures: list[dict[str, Any]], spec: dict[str, Any]) -> Iterator[str]:
    unmasked = _find_unmasked_attributes(figures, spec)
    if unmasked:
        way = f"mask it {ELSEWHERE}" if spec.get("released") else "name it in a masking step"
        yield f"No mask touches {_join_names(unmasked)}, which the intruder knows: {way}, or do not publish it."
    ways = [way for i, step in enumerate(_list_steps(spec)) for way in suggest_stronger_masking(i, step, line)]
    yield from ways
    if spec.get("released"):
        yield "The table was masked elsewhere: mask it more strongly there, and certify the new table."
    elif not ways and not unmasked:
        yield "Publish fewer attributes, or coarser ones (age in years of five, a region for a town): there is less to know."


def _advise_losses(line: dict[str, Any], figures: list[dict[str, Any]], spec: dict[str, Any], location: str) -> Iterator[str]:
    unit = MEASURES[line["measure"]].unit
    parts = [f for f in figures if f["measure"] == line["measure"] and f["attribute"] and f["value"] is not None]
    worst = sorted(parts, key=lambda f: -f["value"])[:_NAMED] if MEASURES[line["measure"]].better == "lower" else []
    most = ", ".join(
        f"{escape_terminal(f['attribute'])} {format_against_limit(f['value'], line['limit'], unit)}" for f in worst
    )
    figure = f" (most: {most})" if most else ""
    concerned = {line["attribute"]} if line["attribute"] else {f["attribute"] for f in parts}
    ways = "; or ".join(_describe_weaker_masks(spec, concerned))
    limit = f"or raise the limit of {location}, if the table is still fit for its purpose"
    yield f"The masks cost too much ({line['measure']}{figure}): {ways}; {limit}."


def _describe_weaker_masks(spec: dict[str, Any], concerned: set[str]) -> Iterator[str]:
    """How the steps that mask the concerned attributes would cost less; every one of them adds to the risk."""
    steps = [(i, s) for i, s in enumerate(_list_steps(spec)) if not concerned or _masks_some(s, concerned)]
    if spec.get("released"):
        yield f"mask less {ELSEWHERE} (more risk)"
    elif any(step["method"] == "microaggregation" for _, step in steps) or not steps:
        yield "publish fewer attributes, so that the rest can be grouped more closely"
    yield from (way for i, step in steps for way in suggest_weaker_masking(step, f"masking step {i + 1}"))


def _masks_some(step: dict[str, Any], names: set[str]) -> bool:
    masked = list_step_attributes(step)
    return masked is None or bool(names & masked)


def _find_unmasked_attributes(figures: list[dict[str, Any]], spec: dict[str, Any]) -> list[str]:
    masked = {figure["attribute"] for figure in figures if figure["measure"] == "cells_changed"}
    return [a["name"] for a in spec["attributes"] if a.get("role") == "quasi_identifier" and a["name"] not in masked]


def _list_steps(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return list(spec.get("masking") or ())


def _format_attribute(line: dict[str, Any]) -> str:
    return f"{escape_terminal(line['attribute'])} " if line["attribute"] else ""


def _join_names(names: list[str]) -> str:
    return join_with_and(map(escape_terminal, names))


def list_step_attributes(step: dict[str, Any]) -> set[str] | None:
    """The attributes a step names, in one way or another; None: those that fit it."""
    method = find_method(step["method"])
    return set(step.get("attributes") or ()) or None if method is None else method.list_attributes(step)


def suggest_stronger_masking(position: int, step: dict[str, Any], line: dict[str, Any]) -> Iterator[str]:
    """How a step would protect more, for a line of the policy on risk. location: in the list of steps."""
    named, method = f"masking step {position + 1}", find_method(step["method"])
    if method is None:
        yield f"Mask more strongly in {named} ({step['method']})."
    elif line["measure"].startswith("k_anonymity") and method.model_construct(**step).moves_values:
        yield (
            f"{named.capitalize()} ({step['method']}) makes no groups, so it keeps no k: {JOINTLY}, or limit max_record_risk "
            "instead of k_anonymity."
        )
    else:
        yield from method.suggest_stronger(step, named, line)


def suggest_weaker_masking(step: dict[str, Any], named: str) -> Iterator[str]:
    """How a step would cost less. named: "masking step 2"."""
    method = find_method(step["method"])
    if method is None:
        yield f"mask less in {named} ({step['method']}; {MORE_RISK})"
    else:
        yield from method.suggest_weaker(step, named)
