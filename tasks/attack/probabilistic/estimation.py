"""The model of two files, estimated from these alone, and the links and probabilities that follow from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tasks.attack.outcomes.links import Links
from tasks.attack.probabilistic.attenuation import any_as_often, estimate_retention, restrict_to_unchanged
from tasks.attack.probabilistic.decision import Classified, LinkDecision, choose_classes, classify_pairs
from tasks.attack.probabilistic.fellegi_sunter import (
    MOST_STEPS,
    Model,
    Prior,
    compute_prevalence,
    create_assumed_prior,
    create_estimated_prior,
    estimate_unconstrained,
    fit_supervised_model,
    fit_tied_model,
)
from tasks.attack.probabilistic.levels import PatternComparison, create_pattern_comparison
from tasks.attack.probabilistic.match_posterior import PatternPosterior, compute_pattern_posterior, one_to_one
from tasks.attack.probabilistic.one_to_one_posterior import OneToOnePosterior, compute_one_to_one_posterior
from tasks.attack.probabilistic.parameters import KEPT, Assumed, ProbabilisticParameters
from tasks.attack.probabilistic.patterns import Patterns, compute_patterns, count_patterns
from tasks.microdata.errors import AttackFailed, InputError, NotApplicable
from tasks.microdata.schema import Schema
from tasks.microdata.suggestion import did_you_mean
from tasks.microdata.table import Floats, Integers, Microdata

LOCATION = "attacks: probabilistic_linkage"


@dataclass(frozen=True, slots=True)
class Estimated:
    """The model of the pairs of two files, and what follows from it before anybody says who is who."""

    both: PatternComparison
    patterns: Patterns
    model: Model
    decision: LinkDecision
    distribution: PatternPosterior | OneToOnePosterior
    links: Links

    def classify_true_pairs(self, records: Integers, rows: Integers) -> Classified:
        """How the true pairs and the others fell into the three classes."""
        return classify_pairs(
            self.decision, self.patterns, self.patterns.count_occurrences(compute_patterns(self.both, records, rows))
        )


def link_by_probability(
    original: Microdata,
    masked: Microdata,
    schema: Schema,
    spec: ProbabilisticParameters,
    knows: tuple[str, ...],
    *,
    n_common: int | None = None,
    matches: tuple[Integers, Integers] | None = None,
    participation_known: bool = False,
    check_size: Callable[[PatternComparison], None] | None = None,
) -> Estimated:
    """Link each record to the released rows that are most probably its own.

    Meaning: an intruder who knows some attributes of each record and nothing of the mask, and finds out from the files how much
    an agreement in each attribute tells. Formula in words: `counted`, then `tied` (`estimate_unconstrained`, `supervised`),
    then `distribution`.

    Parameters
    ----------
    original, masked: tables of n and m rows; the order of their rows is not used.
    knows: the attributes the intruder knows; published, at least one.
    n_common: how many of their records are in the release, as they know or assume; default: as many as can be.
    matches: records and their own rows, for `estimate: supervised` alone.
    participation_known: they know of everybody they look for that the own row is in the release; else, with the
        probability that n_common of their records gives. check_size: may refuse files before their pairs are counted.

    Raises NotApplicable if the intruder knows nothing, no record of theirs is in the release, `supervised` has no matches, and
    as `one_to_one`; InputError as `compared`, `counted` and `create_table` do, and for a comparison or an interaction of an
    attribute that the table has not (those of one that they do not know are left out); AttackFailed for an estimate that does
    not settle.
    Cost: that of two passes over all pairs of distinct records. Source: Fellegi and Sunter (1969), D11.2 section 2.3. Done
    otherwise than there: no blocking, ties shared, and the estimate held fast where the intruder knows better.
    """
    if not knows:
        raise NotApplicable("the intruder knows no published attribute")
    common = min(original.n, masked.n) if n_common is None else n_common
    if not common:
        raise NotApplicable("no record of the intruder is in the release")
    _check_names(spec, schema)
    both = create_pattern_comparison(
        original, masked, schema, knows, tuple(one for one in spec.compare or () if one[0] in knows)
    )
    if check_size is not None:
        check_size(both)
    patterns = count_patterns(both)
    model = _model(spec, both, patterns, compute_prevalence(original.n, masked.n, common), matches)
    found = _distribution(spec, both, patterns, model.log_ratio, common, participation_known=participation_known)
    decision = choose_classes(model, false_links=spec.false_links_of(model.prevalence), missed=spec.missed)
    return Estimated(both, patterns, model, decision, *found)


def _distribution(
    spec: ProbabilisticParameters,
    both: PatternComparison,
    patterns: Patterns,
    log_ratio: Floats,
    n_common: int,
    *,
    participation_known: bool,
) -> tuple[PatternPosterior | OneToOnePosterior, Links]:
    presence, known = 1.0 if participation_known else n_common / len(both.own_of_record), participation_known
    if spec.matching == "likeliest":
        alone = compute_pattern_posterior(both, patterns, log_ratio, presence=presence)
        return alone, alone.links
    links = one_to_one(both, patterns, log_ratio)
    found = compute_one_to_one_posterior(both, patterns, log_ratio, links, n_common=n_common, participation_known=known)
    return found or compute_pattern_posterior(both, patterns, log_ratio, presence=presence), links


def _model(
    spec: ProbabilisticParameters,
    both: PatternComparison,
    patterns: Patterns,
    prevalence: float,
    matches: tuple[Integers, Integers] | None,
) -> Model:
    interactions = spec.interactions_of(both.names)
    match spec.estimate:
        case "tied":
            return fit_tied_model(patterns, prevalence, create_prior(spec.assumed, both, patterns), interactions)
        case "plain":
            found = estimate_unconstrained(patterns, prevalence)
            if not found.settled:
                raise AttackFailed(f"the plain estimate did not settle in {MOST_STEPS:,} steps")
            return found
        case "supervised":
            if matches is None or not len(matches[0]):
                raise NotApplicable("who is who has to be known for the worst case of the model")
            return fit_supervised_model(patterns, patterns.count_occurrences(compute_patterns(both, *matches)), interactions)


def create_prior(spec: Assumed, both: PatternComparison, patterns: Patterns) -> Prior:
    """What the intruder takes for m before they look at the patterns."""
    if spec.kept == "estimated":
        return create_estimated_prior(patterns, estimate_retention(both, KEPT), spec.weight)
    if any_as_often(both):
        return create_estimated_prior(patterns, restrict_to_unchanged(both, estimate_retention(both, spec.kept)), spec.weight)
    return create_assumed_prior(patterns, spec.kept, spec.weight)


def _check_names(spec: ProbabilisticParameters, schema: Schema) -> None:
    compares = tuple(name for name, _ in spec.compare or ())
    for name in (*compares, *np.ravel(spec.interactions).tolist()):
        if name not in schema:
            remedy = did_you_mean(name, schema.names, "compare it with the column names of the table")
            what = f"the table has no attribute `{name}`"
            raise InputError("unknown-attribute", LOCATION, what, ", ".join(schema.release_columns), remedy, name)
