"""Probabilistic record linkage: how much each attribute tells is estimated from the two files alone, without who is who."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from tasks.attack.base import AttackContext, AttackDescription, AttackFindings, AttackTraits
from tasks.attack.descriptions import DataKnowledge
from tasks.attack.outcomes.links import Links
from tasks.attack.outcomes.person_outcomes import fare
from tasks.attack.outcomes.posterior_outcomes import chance_at_truth
from tasks.attack.probabilistic.estimation import Estimated, link_by_probability
from tasks.attack.probabilistic.levels import PatternComparison
from tasks.attack.probabilistic.linkage_report import summarise_linkage
from tasks.attack.probabilistic.linkage_summary import ProbableFacts
from tasks.attack.probabilistic.match_posterior import check_compatible
from tasks.attack.probabilistic.parameters import ProbabilisticParameters
from tasks.attack.probabilistic.patterns import MOST_COUNTED_AT_ONCE
from tasks.attack.threat import Intruder
from tasks.microdata.errors import InputError, NotApplicable, NotFollowed
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.spec import Public

MOST_PAIRS = 1_000_000_000  # of distinct records and rows
MOST_PAIRS_SORTED = 200_000_000  # where there are too many patterns for an array
MOST_PAIRS_LEARNED = 100_000_000  # where who is who is permuted as well
_CHECKED = 5  # records, of which it is checked that r(b) is a probability


class ProbabilisticLinkage(ProbabilisticParameters):
    """Parameters of probabilistic linkage.

    id: what the attack is called in figures and policy lines; default: the method's name.
    estimate: how the weights are found: `tied`: with what an intruder knows held fast; `plain`: with everything free, as tools
        do; `supervised`: from who is who, the worst case of this model.
    assumed: what `tied` assumes of the mask.
    compare: for some attributes the ladder of rules, the most alike first; default: equality, of numbers also within
        1, 5 and 10 % of the range.
    interactions: pairs of attributes that do not agree independently of each other.
    false_links, missed: P(LP|U) and P(NP|M), from which the thresholds of linked, clerical and non-linked pairs follow; default
        of the first: a twentieth of the share of matches, so that one false link is expected for twenty matches.
    matching: `likeliest`: each record for itself; `one_to_one`: all records together, no row for two of them; its
        probabilities too, up to 12 million pairs of records that differ.
    """

    about = AttackDescription(
        title="Probabilistic record linkage",
        infers="links each record to the rows that are most probably its own, by weights found from both files",
        note="",
        knows_of_data="the original values of the known attributes, of all records; with `supervised` who is who",
        knows_of_masking="nothing; an assumption of what share of the values it kept",
        parameters="id, estimate (tied, plain, supervised), assumed (kept, weight), compare (per attribute a ladder of "
        "exact, within, same_bin, similar), interactions, false_links, missed, matching (likeliest, one_to_one)",
        holder=None,
        is_worst_case=False,
        has_probabilities=True,
        required_by="nobody",
        required_form="",
    )

    method: Public[Literal["probabilistic_linkage"]]

    @property
    def rule(self) -> str:
        return _RULES[self.matching] + _WEIGHTS[self.estimate]

    @property
    def traits(self) -> AttackTraits:
        together = self.matching == "one_to_one"
        return AttackTraits(
            searches_originals=False,
            scale_by=None,
            assigns_together=together,
            depends_on_others=together,
            needs_originals=False,
            uses_external_files=True,
            needs_all_records=None,
            reads_similar_rows=False,
            attacks_synthetic_rows=False,
            is_required_form=True,
            sample_size=None,
        )

    def describe_known_data(self, known: DataKnowledge) -> str:
        also = "" if known.intruder.participation_known else ", how many of them"
        also += "; and who is who, of which nobody but the owner of the data knows all" if self.knows_who_is_who else ""
        return known.describe(own_file=True, of_records=also)

    def run(self, context: AttackContext) -> AttackFindings:
        links, remark = link_probably(context, self)
        learned = None if links.probable is None else links.probable.chance
        given = links.n_given if self.matching == "one_to_one" else None
        return AttackFindings(links, remark, permutation_chance=learned, n_given=given)


_RULES = {
    "likeliest": "links each record to the released rows that are most probably its own, ties shared",
    "one_to_one": "assigns the records to the released rows one to one, so that all together is most probable",
}
_WEIGHTS = {
    "tied": ", by weights estimated from the two files alone",
    "plain": ", by weights estimated from the two files alone with nothing held fast",
    "supervised": ", by the weights that who is who gives",
}


def link_probably(context: AttackContext, spec: ProbabilisticLinkage) -> tuple[Links, str]:
    """The links of every record the intruder holds, and what they take the masking for.

    They know how many of their records are in the release. If they know who is there, r(b) adds up to 1; else to the
    probability that the own row is there. Who is who serves the account, and m where it is read off.

    Raises NotApplicable for more pairs than can be looked at, who is who of persons of several rows, by intruders of the
    knowledge curve, and as `link_by_probability`; InputError and AttackFailed as that.
    """
    truth, schema, intruder = context.truth, context.schema, context.intruder
    _check_asks(truth, spec, intruder)
    own, pairs = context.own_file, truth.record_pairs
    n_common = min(len(pairs.records), own.n)
    try:
        found = link_by_probability(
            *(own, truth.masked, schema, spec, context.knows),
            n_common=n_common,
            matches=(pairs.records, pairs.rows),
            participation_known=intruder.participation_known,
            check_size=lambda both: _check_size(both, spec),
        )
    except InputError as refused:
        if intruder.name == "declared" or refused.code != "too-many-patterns":
            raise
        raise NotFollowed(f"what this intruder knows is too much for the model: {refused.what}") from refused
    presence = 1.0 if intruder.participation_known else n_common / own.n
    _check_probabilities(found, present=presence == 1)
    facts = summarise_linkage(found, spec, schema, pairs, presence=presence, in_full=intruder.name == "declared")
    facts = replace(facts, dealt_out=_compute_chance_at_truth(truth, found))
    return replace(found.links, posterior=found.distribution, probable=facts), _assumes(spec) + _describe_fallback(spec, facts)


def _compute_chance_at_truth(truth: GroundTruth, found: Estimated) -> float:
    """The chance of the posterior at the truth."""
    units, present = truth.units, found.distribution.present[found.both.own_of_record]
    used = np.arange(units.n_units), np.arange(units.n_units)
    if units.counts == "persons":
        used = fare(found.links, used[0], units.of_row, truth.unit_of_row).used
    return chance_at_truth(present, used, truth.rows_by_unit, truth.masked.n)


def _check_asks(truth: GroundTruth, spec: ProbabilisticLinkage, intruder: Intruder) -> None:
    if not spec.knows_who_is_who:
        return
    if truth.units.counts == "persons":
        raise NotFollowed("who is who gives the weights of tables of one row per person; estimate them as `tied`")
    if intruder.greedy:
        raise NotApplicable("no weights are read off who is who for intruders of the knowledge curve, who decide nothing")


def _check_size(both: PatternComparison, spec: ProbabilisticLinkage) -> None:
    pairs, patterns = both.own.shape[1] * both.shown.shape[1], 1
    for size in both.sizes.tolist():
        patterns *= size
    most = MOST_PAIRS if patterns <= MOST_COUNTED_AT_ONCE else MOST_PAIRS_SORTED
    most = min(most, MOST_PAIRS_LEARNED) if spec.knows_who_is_who else most
    if pairs > most:
        raise NotFollowed(
            f"{pairs:,} pairs of records that differ are too many to look at each ({most:,} at most): compare by fewer levels "
            "or bins, or let the intruder know fewer attributes"
        )


def _check_probabilities(found: Estimated, *, present: bool) -> None:
    for record in range(min(_CHECKED, len(found.both.own_of_record))):
        shares = found.distribution.compute_row_probabilities(record)
        check_compatible(shares, found.both.shown_of_row, present=present and bool(shares.any()))


def _describe_fallback(spec: ProbabilisticLinkage, facts: ProbableFacts) -> str:
    if spec.matching == "likeliest" or facts.jointly:
        return ""
    return "; the files are too large for the probabilities of all records together: they are those of each record by itself"


def _assumes(spec: ProbabilisticLinkage) -> str:
    if spec.estimate != "tied":
        return ""
    if spec.assumed.kept == "estimated":
        return ", but what share of each attribute's values it kept, as far as that shows in how the attributes hang together"
    return (
        f"; they take it to have kept {100 * spec.assumed.kept:g} % of the values until the files say otherwise, but for "
        "attributes that look as if they were published as they are"
    )
