"""Every measure by name: what it says, its range, which direction is safer or better, and what chance would score.

Light to import, so that a release file can be checked against it before anything is computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Better = Literal["lower", "higher"]
Subject = Literal["table", "attribute", "table_and_attribute"]


LOWEST, HIGHEST, RARE = "lowest values", "highest values", "rare categories"
SUBGROUPS = (LOWEST, HIGHEST, RARE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What is known of a measure before it is computed.

    better: the direction a publisher wants; None: the figure is a baseline for another one and decides nothing.
    largest: the top of its range, None where there is none (the bottom is 0 for all).
    about: one figure per table, one per attribute, or both.
    by_attack: is there one figure per attack and intruder? by_subgroup: one per subgroup of the targets as well, and only for
    the declared intruder?
    """

    name: str
    says: str
    unit: str
    better: Better | None
    about: Subject
    largest: float | None = None
    by_attack: bool = False
    by_subgroup: bool = False
    takes_p_percent: bool = False
    chance: str = "none"


LINKAGE = (
    Measure(
        name="reidentification",
        says="mean credit of the targets: the share an intruder links to their own record, ties of t shared as 1/t",
        unit="share",
        better="lower",
        about="table",
        largest=1,
        by_attack=True,
        chance="1/n for n targets (uniform_guess)",
    ),
    Measure(
        name="posterior_at_truth",
        says="mean probability that an attack with probabilities gives to the target's own record",
        unit="share",
        better="lower",
        about="table",
        largest=1,
        by_attack=True,
        chance="1/n for n targets (uniform_guess)",
    ),
    Measure(
        name="records_exposed",
        says="share of targets with credit of at least one half: linked to one record, or to two that look alike",
        unit="share",
        better="lower",
        about="table",
        largest=1,
        by_attack=True,
    ),
    Measure(
        name="max_record_risk",
        says="the largest credit of any target: the person who is easiest to find",
        unit="share",
        better="lower",
        about="table",
        largest=1,
        by_attack=True,
    ),
    Measure(
        name="truth_among_nearest",
        says="share of targets whose own record is among the guesses, however many they are",
        unit="share",
        better="lower",
        about="table",
        largest=1,
        by_attack=True,
    ),
    Measure(
        name="mean_candidate_set_size",
        says="how many released records an intruder cannot tell apart, on average over the targets",
        unit="records",
        better="higher",
        about="table",
        by_attack=True,
    ),
    Measure(
        name="known_links",
        says="share of targets that an intruder can assert to have found: one record is left in a candidate set that is sound, "
        "or stands out by a margin at which 95 % of the links of other targets are right",
        unit="share",
        better="lower",
        about="table",
        largest=1,
        by_attack=True,
    ),
    Measure(
        name="known_reidentification",
        says="share of targets asserted so and correctly; divided by known_links it is the precision of the claims",
        unit="share",
        better="lower",
        about="table",
        largest=1,
        by_attack=True,
    ),
    Measure(
        name="reidentification_present",
        says="the re-identification rate over the targets that are in the release, where some are not",
        unit="share",
        better="lower",
        about="table",
        largest=1,
        by_attack=True,
        chance="1/n for n targets in the release (uniform_guess)",
    ),
    Measure(
        name="false_links_absent",
        says="share of the targets that are not in the release to whom the attack names one released record all the same",
        unit="share",
        better=None,
        about="table",
        largest=1,
        by_attack=True,
    ),
    Measure(
        name="groups_exposed",
        says="share of the groups (households, enterprises) in which at least one member's credit is one half or more",
        unit="share",
        better="lower",
        about="attribute",
        largest=1,
        by_attack=True,
    ),
    Measure(
        name="subgroup_reidentification",
        says="the re-identification rate of people with extreme values or in rare categories",
        unit="share",
        better="lower",
        about="attribute",
        largest=1,
        by_attack=True,
        by_subgroup=True,
        chance="1/n for n targets (uniform_guess)",
    ),
    Measure(
        name="linked_value_disclosed",
        says="share of targets whose confidential value is the most frequent one among the records they are linked to",
        unit="share",
        better="lower",
        about="attribute",
        largest=1,
        by_attack=True,
        chance="the release's most frequent value guessed for everybody (majority)",
    ),
    Measure(
        name="linked_value_control",
        says="the same where the target's own record is left out: what the linked records tell about somebody who is not there",
        unit="share",
        better=None,
        about="attribute",
        largest=1,
        by_attack=True,
    ),
)
DISCLOSURE = (
    Measure(
        name="rank_interval_disclosure",
        says="share of records whose original value lies within p percent of the ranks around its masked value",
        unit="share",
        better="lower",
        about="attribute",
        largest=1,
        takes_p_percent=True,
        chance="the same over all pairs of an original and a masked record (all_pairs)",
    ),
    Measure(
        name="sd_interval_disclosure",
        says="share of records whose original value lies within p percent of a standard deviation around its masked value",
        unit="share",
        better="lower",
        about="attribute",
        largest=1,
        takes_p_percent=True,
        chance="the same over all pairs of an original and a masked record (all_pairs)",
    ),
    Measure(
        name="same_value_disclosure",
        says="share of records whose masked value is the original one (SADR)",
        unit="share",
        better="lower",
        about="attribute",
        largest=1,
        chance="the same over all pairs of an original and a masked record (all_pairs)",
    ),
    Measure(
        name="k_anonymity",
        says="size of the smallest group of released records that agree on all published quasi-identifiers",
        unit="records",
        better="higher",
        about="table",
    ),
    Measure(
        name="k_anonymity_subset",
        says="the same over some quasi-identifiers: what an intruder faces who knows no more than these",
        unit="records",
        better="higher",
        about="attribute",
    ),
)
LOSS = (
    Measure(
        name="records_absent",
        says="share of the source's records that are not released",
        unit="share",
        better="lower",
        about="table",
        largest=1,
    ),
    Measure(
        name="sse_percent",
        says="squared change of the masked numeric attributes in percent of their variation (100 * SSE / SST)",
        unit="percent",
        better="lower",
        about="table_and_attribute",
    ),
    Measure(
        name="il1s",
        says="mean absolute change of a masked numeric cell, in units of sqrt(2) standard deviations",
        unit="sqrt(2) sd",
        better="lower",
        about="table_and_attribute",
    ),
    Measure(
        name="cells_changed",
        says="share of the masked cells that differ from the original",
        unit="share",
        better="lower",
        about="table_and_attribute",
        largest=1,
    ),
    Measure(
        name="mean_difference",
        says="distance between the original's and the release's mean, in standard deviations",
        unit="sd",
        better="lower",
        about="attribute",
    ),
    Measure(
        name="covariance_difference",
        says="mean absolute difference of variances and covariances, in units of the original's standard deviations",
        unit="sd^2",
        better="lower",
        about="table",
    ),
    Measure(
        name="correlation_difference",
        says="mean absolute difference of the correlations of numeric attributes",
        unit="correlation",
        better="lower",
        about="table",
        largest=2,
    ),
    Measure(
        name="largest_correlation_difference",
        says="the same for the pair of attributes that suffered most",
        unit="correlation",
        better="lower",
        about="table",
        largest=2,
    ),
    Measure(
        name="rank_correlation_difference",
        says="mean absolute difference of Spearman's rank correlations of numeric and ordinal attributes",
        unit="correlation",
        better="lower",
        about="table",
        largest=2,
    ),
)
MEASURES = {measure.name: measure for measure in (*LINKAGE, *DISCLOSURE, *LOSS)}
