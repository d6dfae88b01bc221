"""The policy of a release: the limits that its figures must keep, and whether they can be meant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from tasks.microdata.alignment import ROWS_OF_NOBODY
from tasks.microdata.errors import InputError
from tasks.microdata.spec import LONGEST_NAME, Name, Percent, Public, Reason, Slug, Spec
from tasks.microdata.suggestion import did_you_mean
from tasks.score.catalogue import MEASURES
from tasks.score.known_release import Known, find_attacks, refuse_unmeasured
from tasks.score.measure import SUBGROUPS, Measure
from tasks.score.measures.disclosure import K_ANONYMITY_SUBSET, REPLICATED_UNIQUES, SD_INTERVAL_DISCLOSURE, UNIQUES_RELEASED
from tasks.score.measures.inference import OF_CELLS
from tasks.score.measures.membership import DECIDING, FALSE_POSITIVE_RATES, NOT_ALONE, PARTS

Direction = Literal["at_most", "at_least"]
NATURAL: dict[str, Direction] = {"lower": "at_most", "higher": "at_least"}
DECLARED = "declared"
INSIDER = "insider"
FILE = "file"
ROUNDING_ERROR = 1e-12  # of a limit of 1: a figure that is beyond its limit by less is within it
OF_SEVERAL = tuple(one.name for one in (K_ANONYMITY_SUBSET, UNIQUES_RELEASED, REPLICATED_UNIQUES))  # about several attributes
FalsePositiveRate = Annotated[float, Field(json_schema_extra={"enum": list(FALSE_POSITIVE_RATES)})]
AttributeNames = Annotated[str, StringConstraints(min_length=1, max_length=100 * LONGEST_NAME)]  # a list, see `join_attributes`
IntruderName = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_NAME + len(f"{INSIDER}:"))]


class PolicyLine(Spec):
    """One limit.

    measure: which figure. at_most, at_least: the limit, one of them; a figure that equals it keeps it.
    attack: the figure of this attack; default: the worst of all that ran and applied. While another attack is beyond the
        limit, naming one needs `accept_other_attacks` with the reason.
    intruder: `declared`; `insider` (the worst of all insiders), or one of them, e.g. `insider:vote`; `file` (the worst of who
        holds one of the intruder's files), or one of them, e.g. `file:register`; default: the declared one and all their files.
    attribute: which attribute; default: the figure of the table, or the worst of the attributes where there is none.
    subgroup: which part of the targets, for figures by subgroup: `lowest values`, `highest values` or `rare categories`, of
        membership `missing values` too; default: the worst of them.
    p_percent: which width, for interval disclosure.
    false_positive_rate: 0.001 or 0.01, the share of the others taken for members, for membership_true_positive_rate; default:
        both, which is decided at 0.01: the share of members is larger there, and estimable wherever it is at 0.001.
    """

    measure: Public[Name]
    at_most: Public[Annotated[float, Field(ge=0)] | None] = None
    at_least: Public[Annotated[float, Field(ge=0)] | None] = None
    attack: Public[Slug | None] = None
    attribute: Public[AttributeNames | None] = None
    intruder: Public[IntruderName | None] = None
    subgroup: Public[Name | None] = None
    p_percent: Public[Percent | None] = None
    false_positive_rate: Public[FalsePositiveRate | None] = None
    accept_other_attacks: Public[Reason | None] = None

    @model_validator(mode="after")
    def _has_one_limit(self) -> Self:
        if (self.at_most is None) == (self.at_least is None):
            raise ValueError("a policy line has either at_most or at_least")
        if self.accept_other_attacks is not None and self.attack is None:
            raise ValueError(
                "accept_other_attacks is for a line that names an attack: without one the line is about all attacks"
            )
        return self

    @property
    def direction(self) -> Direction:
        return "at_least" if self.at_most is None else "at_most"

    @property
    def limit(self) -> float:
        found = self.at_least if self.at_most is None else self.at_most
        assert found is not None  # noqa: S101  the validator has seen to it
        return found


Policy = Annotated[tuple[PolicyLine, ...], Field(min_length=1)]


def find_rate(line: PolicyLine) -> float | None:
    """The false positive rate at which a line is decided; None: its measure has none."""
    if not MEASURES[line.measure].takes_false_positive_rate:
        return None
    return max(FALSE_POSITIVE_RATES) if line.false_positive_rate is None else line.false_positive_rate


def is_by(intruder: str, asked: str | None) -> bool:
    """Is an intruder among those that a policy line asks about? None: the declared one, and somebody who has a file of
    theirs.
    """
    if asked is None:
        return intruder == DECLARED or intruder.startswith(f"{FILE}:")
    return intruder == asked or (asked in (INSIDER, FILE) and intruder.startswith(f"{asked}:"))


def check_policy(policy: tuple[PolicyLine, ...], known: Known, where: str = "policy") -> None:
    """Refuse a policy that no release could meet as it is meant, before anything is computed.

    Raises InputError for an empty policy, an unknown measure, a baseline, a limit in the wrong direction or outside the range,
    a field that the measure does not have, and whatever is known not to exist.

    Example: `reidentification, at_most: 15` is outside 0..1: 15 percent is 0.15.
    """
    if not policy:
        raise InputError(
            "no-policy", where, "a release without a policy cannot be certified", "at least one line", "write a policy"
        )
    for i, line in enumerate(policy):
        _check_line(line, known, f"{where}[{i}]")
    _check_not_alone(policy, where)


def _check_not_alone(policy: tuple[PolicyLine, ...], where: str) -> None:
    """Raises InputError where only figures are limited that an attack moves by taking more people for members."""
    limited = {line.measure for line in policy if not cannot_fail(line)}
    if limited.isdisjoint(DECIDING):
        for i, line in enumerate(policy):
            if line.measure in NOT_ALONE:
                raise InputError(
                    code="recall-alone",
                    where=f"{where}[{i}].measure",
                    what=f"{line.measure} alone says nothing: an attack that takes everybody for a member has the largest",
                    allowed=f"a line on {' or '.join(DECIDING)} beside it",
                    remedy="limit one of these, which compare members with people who are not in the file",
                    value=line.measure,
                )


def cannot_fail(line: PolicyLine) -> bool:
    """Is the limit at the end of the measure's range, so that no release can break it? It is legal, and limits nothing."""
    measure = MEASURES[line.measure]
    if line.direction == "at_most":
        return measure.largest is not None and is_within(measure.largest, line.limit, "at_most")
    return is_within(1 if measure.unit in ("records", "persons") else 0, line.limit, "at_least")


def is_within(number: float, limit: float, direction: Direction) -> bool:
    """Does a figure keep a limit? Equal is within, also where the last bits of a sum differ: 944 credits of 1/10 are 0.1."""
    slack = ROUNDING_ERROR * max(1.0, abs(limit))
    return number <= limit + slack if direction == "at_most" else number >= limit - slack


def _check_line(line: PolicyLine, known: Known, where: str) -> None:
    measure = _measure(line.measure, f"{where}.measure")
    _check_limit(line, measure, where)
    _check_fields(line, measure, where)
    _check_exists(line.measure, known.measures, f"{where}.measure", "measure")
    refuse_unmeasured(measure, known, where)
    _check_inferring_intruder(line, measure, known, f"{where}.intruder")
    attacks = find_attacks(measure, known)
    _check_exists(line.attack, attacks, f"{where}.attack", "attack")
    _check_can_attack(line, known, f"{where}.attack")
    _check_whose_rows(line, measure, known, where)
    _check_exists(line.subgroup, PARTS if measure.of_membership else SUBGROUPS, f"{where}.subgroup", "subgroup")
    _check_intruder(line.intruder, known.intruders, f"{where}.intruder")
    if measure.name not in OF_SEVERAL:
        named = known.confidential if measure.of_inference or measure.name in OF_CELLS else known.attributes
        _check_exists(line.attribute, named, f"{where}.attribute", "attribute")
    _check_width(line, known, f"{where}.p_percent")
    _check_rate(line, f"{where}.false_positive_rate")


def _measure(name: str, where: str) -> Measure:
    if name not in MEASURES:
        raise InputError(
            code="unknown-measure",
            where=where,
            what="there is no measure of this name",
            allowed=", ".join(MEASURES),
            remedy=did_you_mean(name, MEASURES, "see `sdcert methods score`"),
            value=name,
        )
    return MEASURES[name]


def _check_limit(line: PolicyLine, measure: Measure, where: str) -> None:
    if measure.better is None:
        raise InputError(
            code="baseline-in-policy",
            where=f"{where}.measure",
            what=f"{measure.name} is a baseline, or read beside one: alone it says nothing about this release",
            allowed=", ".join(name for name, other in MEASURES.items() if other.better is not None),
            remedy="limit one of these",
        )
    meant = NATURAL[measure.better]
    if line.direction != meant:
        raise InputError(
            code="wrong-direction",
            where=f"{where}.{line.direction}",
            what=f"for {measure.name} a {measure.better} figure is better: {line.direction} would refuse the better releases",
            allowed=meant,
            remedy=f"write `{meant}: {line.limit:g}`",
            value=line.limit,
        )
    if measure.largest is not None and line.limit > measure.largest:
        passing = "every" if meant == "at_most" else "no"
        raise InputError(
            code="limit-out-of-range",
            where=f"{where}.{line.direction}",
            what=f"{measure.name} runs from 0 to {measure.largest:g}, so {passing} release would pass",
            allowed=f"0 to {measure.largest:g}",
            remedy=f"{line.limit:g} percent is {line.limit / 100:g}" if measure.largest == 1 else "lower it",
            value=line.limit,
        )


def _check_fields(line: PolicyLine, measure: Measure, where: str) -> None:
    by_intruder = measure.by_attack and not measure.of_membership
    for field, given, taken in (
        ("attack", line.attack, measure.by_attack),
        ("intruder", line.intruder, by_intruder and not (measure.by_subgroup and line.intruder != DECLARED)),
        ("subgroup", line.subgroup, measure.by_subgroup),
        ("attribute", line.attribute, measure.about != "table" and not measure.of_singling_out),
        ("p_percent", line.p_percent, measure.takes_p_percent),
        ("false_positive_rate", line.false_positive_rate, measure.takes_false_positive_rate),
    ):
        if given is not None and not taken:
            raise InputError(
                code="field-without-meaning",
                where=f"{where}.{field}",
                what=f"{measure.name} has no figure per {field}, so the line would match nothing",
                allowed="a line without it",
                remedy=f"take `{field}` out",
                value=given,
            )
    if measure.takes_p_percent and line.p_percent is None:
        raise InputError(
            code="width-missing",
            where=f"{where}.p_percent",
            what=f"{measure.name} has a figure for each width of the interval",
            allowed="p_percent of a width that is measured",
            remedy="name it, e.g. `p_percent: 5`",
        )


def _check_intruder(name: str | None, known: tuple[str, ...] | None, where: str) -> None:
    several = (INSIDER, FILE)
    if name not in (None, DECLARED, *several) and not name.startswith(tuple(f"{kind}:" for kind in several)):
        raise InputError(
            code="unknown-intruder",
            where=where,
            what="there is no intruder of this name",
            allowed=f"{DECLARED}, {INSIDER} or {FILE} (the worst of them), or one of them, e.g. {INSIDER}:vote",
            remedy=did_you_mean(name, (DECLARED, *several), f"write `{INSIDER}:{name}` if that is the attribute they know"),
            value=name,
        )
    if known is not None:
        kinds = (kind for kind in several if any(one.startswith(f"{kind}:") for one in known))
        _check_exists(name, (*known, *kinds), where, "intruder")


def _check_inferring_intruder(line: PolicyLine, measure: Measure, known: Known, where: str) -> None:
    """Raises InputError for a line by somebody else than the declared intruder on what only they do."""
    if not measure.compares_people or line.intruder in (None, DECLARED):
        return
    if measure.of_inference and (known.infer is None or line.intruder.partition(":")[0] in known.infer):
        return
    raise InputError(
        code="field-without-meaning",
        where=where,
        what=f"{measure.name} is of the declared intruder alone, so the line would match nothing",
        allowed=DECLARED,
        remedy="let them infer too (`inference: [{method: model_based_disclosure, by: [declared, insider, file]}]`), or take "
        "`intruder` out"
        if measure.of_inference
        else "take `intruder` out",
        value=line.intruder,
    )


def _check_can_attack(line: PolicyLine, known: Known, where: str) -> None:
    """Raises InputError where the policy asks for an attack that the holder of an external file cannot carry out."""
    if line.attack not in known.not_of_files or not (line.intruder or "").startswith(FILE):
        return
    by_files = [attack for attack in known.attacks or () if attack not in known.not_of_files]
    raise InputError(
        code="attack-not-of-files",
        where=where,
        what=f"nobody can carry out `{line.attack}` with an external file: it needs the source's own records or their order",
        allowed=", ".join(by_files) or "no attack of this release",
        remedy="name one of these, or take `attack` or `intruder` out: the worst of all that apply then decides",
        value=line.attack,
    )


def _check_whose_rows(line: PolicyLine, measure: Measure, known: Known, where: str) -> None:
    """Raises InputError where it is known from the release file alone that a line could never be decided."""
    if known.kind is not None and known.kind.has_owners and measure.only_of_nobody:
        raise InputError(
            code="measure-of-nobody",
            where=f"{where}.measure",
            what=f"{measure.name} is measured only where the rows belong to nobody (`released: {{align: none}}`)",
            allowed=", ".join(
                one.name for one in MEASURES.values() if one.better and not (one.only_of_nobody or one.only_of_model)
            ),
            remedy="name one of these",
            value=line.measure,
        )
    if known.kind is None or known.kind.has_owners or not known.kind.is_table:
        return
    if not measure.of_nobody:
        raise InputError(
            code="measure-of-somebody",
            where=f"{where}.measure",
            what=f"{measure.name} cannot be measured, and the line never be decided: {ROWS_OF_NOBODY}",
            allowed=", ".join(
                one.name
                for one in MEASURES.values()
                if one.better is not None and one.of_nobody and (known.membership or not one.of_membership)
            ),
            remedy="limit what can be measured, or give the table with whose row is whose (`align: row` or `key`)",
            value=line.measure,
        )
    if line.attack in known.not_of_nobody:
        others = [attack for attack in known.attacks or () if attack not in known.not_of_nobody]
        raise InputError(
            code="attack-of-somebody",
            where=f"{where}.attack",
            what=f"`{line.attack}` says nothing here, and the line could never be decided: {ROWS_OF_NOBODY}",
            allowed=", ".join(others) or "no attack of this release",
            remedy="name one of these, or take `attack` out",
            value=line.attack,
        )


def _check_exists(name: str | None, known: Iterable[str] | None, where: str, kind: str) -> None:
    if name is None or known is None or name in known:
        return
    raise InputError(
        code=f"unknown-{kind}",
        where=where,
        what=f"this release has no such {kind}, so the line would match nothing",
        allowed=", ".join(known) or "none",
        remedy=did_you_mean(name, known, "see the plan that `sdcert check` prints"),
        value=name,
    )


def _check_width(line: PolicyLine, known: Known, where: str) -> None:
    widths = known.sd_percent if line.measure == SD_INTERVAL_DISCLOSURE.name else known.p_percent
    if line.p_percent is None or widths is None or line.p_percent in widths:
        return
    raise InputError(
        code="unknown-width",
        where=where,
        what="no interval of this width is measured, so the line would match nothing",
        allowed=", ".join(f"{p:g}" for p in widths),
        remedy=f"add it: `measures: [{{measure: {line.measure}, p_percent: [{line.p_percent:g}]}}]`",
        value=line.p_percent,
    )


def _check_rate(line: PolicyLine, where: str) -> None:
    if line.false_positive_rate is None or line.false_positive_rate in FALSE_POSITIVE_RATES:
        return
    raise InputError(
        code="unknown-rate",
        where=where,
        what="the share of members is not measured at this false positive rate, so the line would match nothing",
        allowed=", ".join(f"{rate:g}" for rate in FALSE_POSITIVE_RATES),
        remedy="0.1 percent is 0.001, 1 percent is 0.01",
        value=line.false_positive_rate,
    )
