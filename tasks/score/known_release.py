"""What is known of a release when its policy is checked, and the measures that such a release does not have."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.attack.singling_out.outcomes import ATTACK as SINGLING_OUT
from tasks.microdata.errors import InputError
from tasks.score.catalogue import MEASURES
from tasks.score.measure import Measure
from tasks.score.measures.disclosure import RESULTS_HIDDEN
from tasks.score.release_kinds import ReleaseKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of a release when its policy is checked; None: not known yet, so not checked.

    attacks: ids that will run. not_of_files: of those that no holder of an external file can carry out. membership: ids of the
    attacks that tell who is in the file. inference: of those that infer confidential values. infer: who does:
    `declared`, `insider`, `file`.
    intruders: `declared`, `insider:<attribute>`, `file:<name>`. attributes: names of the table. confidential: of them those
    whose values are inferred.
    kind: what is released. not_of_nobody: of the attacks, those that say nothing of a synthetic table.
    p_percent, sd_percent: widths of rank intervals, and of intervals by standard deviations, that will be measured.
    measures: names of those that will be computed. rules: how many rules must not follow, at most.
    """

    attacks: tuple[str, ...] | None = None
    membership: tuple[str, ...] | None = None
    inference: tuple[str, ...] | None = None
    infer: tuple[str, ...] | None = None
    not_of_files: tuple[str, ...] = ()
    intruders: tuple[str, ...] | None = None
    attributes: tuple[str, ...] | None = None
    confidential: tuple[str, ...] | None = None
    kind: ReleaseKind | None = None
    not_of_nobody: tuple[str, ...] = ()
    p_percent: tuple[float, ...] | None = None
    sd_percent: tuple[float, ...] | None = None
    measures: tuple[str, ...] | None = None
    rules: int | None = None


def find_attacks(measure: Measure, known: Known) -> tuple[str, ...] | None:
    """The attacks of which a measure has figures; None: not known yet."""
    if measure.of_singling_out:
        return (SINGLING_OUT,)
    return known.membership if measure.of_membership else known.inference if measure.of_inference else known.attacks


def refuse_unmeasured(measure: Measure, known: Known, where: str) -> None:
    """Raise InputError for a measure that no attack of this release gives, or that is about another kind of release."""
    _check_what_is_released(measure, known, where)
    _check_membership(measure, known, where)
    _check_inference(measure, known, where)
    _check_rules(measure, known, where)


def _check_membership(measure: Measure, known: Known, where: str) -> None:
    if not measure.of_membership or known.membership != ():
        return
    raise InputError(
        code="membership-not-asked",
        where=f"{where}.measure",
        what=f"{measure.name} is not measured: no attack of this release asks who is in the file",
        allowed="a release with `control: <share>`, or with `membership` to rehearse the masking on random halves",
        remedy="set a `control` aside (0.2, say), or take the line out",
        value=measure.name,
    )


def _check_inference(measure: Measure, known: Known, where: str) -> None:
    if not measure.of_inference or known.inference != ():
        return
    raise InputError(
        code="inference-not-asked",
        where=f"{where}.measure",
        what=f"{measure.name} is not measured: no attack of this release infers confidential values",
        allowed="a release with a confidential attribute, and no `inference: []`",
        remedy="take `inference: []` out, or the line",
        value=measure.name,
    )


def _check_rules(measure: Measure, known: Known, where: str) -> None:
    if measure is not RESULTS_HIDDEN or known.rules != 0:
        return
    raise InputError(
        code="no-rules",
        where=f"{where}.measure",
        what=f"{measure.name} is not measured: no rule is declared or to be found that must not follow from the release",
        allowed=f"a release with `measures: [{{measure: {measure.name}, rules: [...]}}]`, or `find: {{}}` for `rules`",
        remedy="declare the rules, or take the line out:",
        value=measure.name,
        lines=(
            "measures:",
            f"  - measure: {measure.name}",
            "    rules: [{if: {<attribute>: [<value>]}, then: {<attribute>: [<value>]}}]",
        ),
    )


def _check_what_is_released(measure: Measure, known: Known, where: str) -> None:
    """Raises InputError for a measure of a table where a model is released, or of a model where a table is."""
    if known.kind is None or measure.of_membership or measure.of_inference or measure.only_of_model != known.kind.is_table:
        return
    fitting = [
        one.name for one in MEASURES.values() if one.better and (one.only_of_model or one.of_membership or one.of_inference)
    ]
    raise InputError(
        code="measure-of-model" if measure.only_of_model else "measure-of-table",
        where=f"{where}.measure",
        what=f"{measure.name} is about a released {'model' if measure.only_of_model else 'table'}, and this release has none",
        allowed="a measure of a table: `sdcert methods score` lists them" if known.kind.is_table else ", ".join(fitting),
        remedy="take the line out",
        value=measure.name,
    )
