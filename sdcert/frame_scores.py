"""Measure a masked data frame, and hold its figures against a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pandas as pd

from flows.release import collect_policy_names
from flows.run.criterion_text import describe_criterion
from sdcert.figure_tables import FigureTable
from sdcert.frame_attacks import AttackFigures
from sdcert.masked_frames import MaskedFrame, RoleDeclarations, adopt, require_source
from sdcert.rehearsals import Content, compute_as_stages_do, create_rehearsed_release, relocate_to_call
from tasks.attack.methods import Attack
from tasks.attack.outcomes.outcome import AttackResult
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Schema
from tasks.microdata.units import find_units
from tasks.score.attack_coverage import find_unfollowed
from tasks.score.local_privacy import refuse_limit_without_pram
from tasks.score.methods import refuse_repeated_figures
from tasks.score.methods import score as score_tables
from tasks.score.policy import check_policy
from tasks.score.reconstructed_values import estimate_reconstruction
from tasks.score.synthetic.propensity import refuse_limits_that_cannot_fail
from tasks.score.verdict import Criterion
from tasks.score.verdict import decide as decide_policy

SCORE, DECIDE = "sdcert.score", "sdcert.decide"
Outcome = Literal["kept", "broken", "undecided"]
_OUTCOMES: dict[str, Outcome] = {"certified": "kept", "refused": "broken", "undecided": "undecided"}
_CRITERION = ("measure", "decision", "deciding_value", "direction", "limit", "attack", "intruder", "attribute", "reason")


@dataclass(frozen=True, slots=True, eq=False)
class FrameScore(FigureTable):
    """Figures of risk and loss of a masked data frame (see `FigureTable`)."""

    masked: MaskedFrame = field(repr=False)
    schema: Schema = field(repr=False)
    content: Content = field(repr=False)
    attacks: tuple[Attack, ...] = field(repr=False)
    results: tuple[AttackResult, ...] = field(repr=False)

    def _repr_html_(self) -> str:
        from sdcert.pages import render_figures

        return render_figures(self)


@dataclass(frozen=True, slots=True, eq=False)
class RehearsedVerdict:
    """What a policy says of the figures of a rehearsal. It certifies nothing: only `certify` does.

    outcome: `kept` if every line of the policy is kept, `broken` if one is not, `undecided` otherwise: where `sdcert certify`,
    from the same figures, says certified, refused and undecided. criteria: one for each line.
    """

    outcome: Outcome
    criteria: tuple[Criterion, ...]

    @property
    def is_kept(self) -> bool:
        """Is every line of the policy kept?"""
        return self.outcome == "kept"

    def to_frame(self) -> pd.DataFrame:
        """One row for each line of the policy, with the figure that decided it."""
        return pd.DataFrame([[getattr(one, name) for name in _CRITERION] for one in self.criteria], columns=list(_CRITERION))

    def __str__(self) -> str:
        lines = (f"  {one.decision:<10}{describe_criterion(_to_dict(one))}" for one in self.criteria)
        return "\n".join((f"rehearsal: {self.outcome}", *lines))

    def _repr_html_(self) -> str:
        from sdcert.pages import render_verdict

        return render_verdict(self)


def score(
    frame: Any, masked: Any, attacks: Sequence[AttackFigures] = (), *, measures: Sequence[Mapping[str, Any]] | None = None
) -> FrameScore:
    """Measure what a masked data frame discloses and what an analyst loses, as `sdcert certify` does.

    frame: what was masked. masked: what `mask` or `adopt` returned, or a data frame that another tool made of it, row by row.
    attacks: what `attack` returned for it; their figures come first. measures: as in a release file, beside those that are
        always computed (`sdcert methods score`).

    Raises InputError for attacks on another table, and two of one name and intruder.

    >>> import pandas as pd, sdcert as sc
    >>> df = pd.DataFrame({"age": [20, 21, 30, 31], "town": [1, 1, 2, 2]})
    >>> r = sc.mask(df, "microaggregation", attributes=["age"], k=2)
    >>> sc.score(df, r)["k_anonymity"]
    2.0
    """
    found = _find_masked_frame(frame, masked, attacks)
    with_measures = {} if measures is None else {"measures": list(measures)}
    of_attacks = _join_contents(attacks) if attacks else found.content
    content = {**of_attacks, **with_measures}
    release, schema = create_rehearsed_release(SCORE, content), attacks[0].schema if attacks else found.schema
    results = tuple(result for one in attacks for result in one.results)
    with relocate_to_call(SCORE), compute_as_stages_do():
        estimates = score_tables(
            found.original,
            found.masked,
            schema,
            found.mechanisms,
            results,
            release.measures_to_compute,
            alignment=found.alignment,
            n_targets=find_units(found.original, schema).n_units,
        )
        estimates = refuse_repeated_figures((*estimates, *(figure for one in attacks for figure in one.about_people)))
    planned = tuple(dict.fromkeys(spec for one in attacks for spec in one.attacks))
    return FrameScore(estimates, found, schema, content, planned, results)


def decide(
    scored: FrameScore, policy: Sequence[Mapping[str, Any]], *, omit: Sequence[Mapping[str, Any]] = ()
) -> RehearsedVerdict:
    """Hold the figures of a masked data frame against the lines of a policy, as `sdcert certify` does.

    policy, omit: as in a release file. A line that no figure answers is undecided, such as one on membership of which no attack
        asked, or one that a rehearsal on halves of the rows answers.

    Raises InputError as a release file with this policy would: for a line that cannot be meant, and for an attack that the
    masking must face and that neither ran nor is in `omit`.

    >>> import pandas as pd, sdcert as sc
    >>> df = pd.DataFrame({"age": [20, 21, 30, 31], "town": [1, 1, 2, 2]})
    >>> r = sc.mask(df, "microaggregation", attributes=["age"], k=2)
    >>> s = sc.score(df, r, attacks=[sc.attack(df, r, knows=["age"])])
    >>> sc.decide(s, policy=[{"measure": "reidentification", "at_most": 0.4}]).outcome
    'broken'
    """
    content = {**scored.content, "policy": list(policy), "omit": list(omit)}
    content |= {"attacks": [spec.model_dump(mode="json", by_alias=True) for spec in scored.attacks]} if scored.attacks else {}
    release = create_rehearsed_release(DECIDE, content)
    with relocate_to_call(DECIDE):
        check_policy(release.policy, collect_policy_names(release, scored.schema))
        refuse_limit_without_pram(release.policy, scored.schema, release.steps)
        estimates = scored.estimates
        estimates += estimate_reconstruction(None, release.policy, scored.masked.original.n)
        refuse_limits_that_cannot_fail(release.policy, estimates)
        unfollowed = find_unfollowed(scored.results, release.omit, scored.masked.mechanisms)
        found = decide_policy(release.policy, estimates, unfollowed)
    return RehearsedVerdict(_OUTCOMES[found.verdict], found.criteria)


def _find_masked_frame(frame: Any, masked: Any, attacks: Sequence[AttackFigures]) -> MaskedFrame:
    """What the attacks were on; InputError where they were on several tables, or on another one."""
    declared: RoleDeclarations | None = attacks[0].masked.content.get("attributes") if attacks else None
    mechanism = attacks[0].masked.content.get("released", {}).get("mechanism") if attacks else None
    if isinstance(masked, MaskedFrame):
        require_source(masked, frame, SCORE)
        found = masked
    else:
        found = adopt(frame, masked, declare=declared, mechanism=mechanism)
    for one in attacks:
        same = one.masked.original.arrow.equals(found.original.arrow) and one.masked.masked.arrow.equals(found.masked.arrow)
        if not same:
            what, remedy = "An attack was on another table.", "give the attacks on this one"
            raise InputError("other-table", f"{SCORE}: attacks", what, "attacks on the masked data frame", remedy)
    return attacks[0].masked if attacks else found


def _join_contents(attacks: Sequence[AttackFigures]) -> Content:
    """What a release file would say of them together: of the intruder what the first says, of other attacks what each says."""
    content = dict(attacks[0].content)
    for kind in ("membership", "inference"):
        named = [spec for one in attacks for spec in one.content.get(kind, ())]
        content |= {kind: named} if named else {}
    return content


def _to_dict(criterion: Criterion) -> dict[str, Any]:
    return {name: getattr(criterion, name) for name in criterion.__slots__}
