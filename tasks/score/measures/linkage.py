"""Re-identification: what an intruder who links records finds. Functions: `tasks/score/linkage.py`."""

from __future__ import annotations

from tasks.score.measure import Measure

REIDENTIFICATION = Measure(
    name="reidentification",
    function="tasks.score.linkage.estimate_linkage_rates",
    unit="share",
    largest=1,
    better="lower",
    about="table",
    chance="1/n for n targets (uniform_guess)",
    rounding="share",
    says="mean credit of the targets: the share an intruder links to their own record, ties of t shared as 1/t",
    title="Re-identification rate",
    sentence=(
        "Of all attacked records, the share that the intruder links to the right person; where t released records look "
        "equally good, each counts 1/t."
    ),
    answers="identity",
    by_attack=True,
    bounded_below=True,
)
POSTERIOR_AT_TRUTH = Measure(
    name="posterior_at_truth",
    function="tasks.score.linkage.estimate_posterior_at_truth",
    unit="share",
    largest=1,
    better="lower",
    about="table",
    chance="1/n for n targets (uniform_guess)",
    rounding="share",
    says="mean probability that an attack with probabilities gives to the target's own record",
    title="Probability of the right record",
    sentence=(
        "What probability the intruder gives to the right record, on average over the attacked records: how often they "
        "would be right if they drew a record by these probabilities. They come from a model and need not be true."
    ),
    by_attack=True,
)
RECORDS_EXPOSED = Measure(
    name="records_exposed",
    function="tasks.score.linkage.estimate_linkage_rates",
    unit="share",
    largest=1,
    better="lower",
    about="table",
    chance="none",
    rounding="share",
    says="share of targets with credit of at least one half: linked to one record, or to two that look alike",
    title="Records exposed",
    sentence="The share of attacked records that are linked to the right released record alone, or to it and one look-alike.",
    answers="identity",
    by_attack=True,
    bounded_below=True,
    is_tail=True,
)
MAX_RECORD_RISK = Measure(
    name="max_record_risk",
    function="tasks.score.linkage.estimate_linkage_rates",
    unit="share",
    largest=1,
    better="lower",
    about="table",
    chance="none",
    rounding="exact",
    says="the largest credit of any target: the person who is easiest to find",
    title="Maximum record risk",
    sentence=(
        "The risk of the person who is easiest to find: 100 % means that there is a person who is linked to their own "
        "record alone."
    ),
    answers="identity",
    by_attack=True,
    bounded_below=True,
    is_tail=True,
)
PLAUSIBLE_DENIABILITY = Measure(
    name="plausible_deniability",
    function="tasks.score.linkage.estimate_plausible_deniability",
    unit="odds",
    better="higher",
    about="table",
    chance="none",
    rounding="statistic",
    says="odds that a released record is not the own one, by the attack, for the person who can deny it least",
    title="Plausible deniability",
    sentence=(
        "The odds, after the attack, that the right released record is somebody else's, for the person who can deny it least: "
        "11 means that eleven times out of twelve the intruder would be wrong about them, and 0 that they cannot deny it."
    ),
    by_attack=True,
    is_tail=True,
)
TRUTH_AMONG_NEAREST = Measure(
    name="truth_among_nearest",
    function="tasks.score.linkage.estimate_linkage_rates",
    unit="share",
    largest=1,
    better="lower",
    about="table",
    chance="none",
    rounding="share",
    says="share of targets whose own record is among the guesses, however many they are",
    title="Truth among the nearest",
    sentence="The share of attacked records whose own released record is among the intruder's guesses, however many those are.",
    by_attack=True,
)
MEAN_CANDIDATE_SET_SIZE = Measure(
    name="mean_candidate_set_size",
    function="tasks.score.linkage.estimate_linkage_rates",
    unit="records",
    better="higher",
    about="table",
    chance="none",
    rounding="mean",
    says="how many released records an intruder cannot tell apart, on average over the targets",
    title="Mean candidate set",
    sentence="How many released records the intruder cannot tell apart, on average; more is safer.",
    by_attack=True,
)
KNOWN_LINKS = Measure(
    name="known_links",
    function="tasks.score.linkage.estimate_known_links",
    unit="share",
    largest=1,
    better="lower",
    about="table",
    chance="none",
    rounding="share",
    says=(
        "share of targets that an intruder can assert to have found: one record is left in a candidate set that is "
        "sound, or stands out by a margin at which 95 % of the links of other targets are right"
    ),
    title="Links that can be asserted",
    sentence=(
        "The share of attacked records for which the intruder can rule out every released record but one, or for which "
        "one stands out by a margin at which such links are nearly always right."
    ),
    answers="identity",
    by_attack=True,
    bounded_below=True,
)
KNOWN_REIDENTIFICATION = Measure(
    name="known_reidentification",
    function="tasks.score.linkage.estimate_known_links",
    unit="share",
    largest=1,
    better="lower",
    about="table",
    chance="none",
    rounding="share",
    says="share of targets asserted so and correctly; divided by known_links it is the precision of the claims",
    title="Asserted and correct",
    sentence="The share of attacked records for which that one record is the right one.",
    answers="identity",
    by_attack=True,
    bounded_below=True,
)
REIDENTIFICATION_PRESENT = Measure(
    name="reidentification_present",
    function="tasks.score.linkage.estimate_present_and_absent",
    unit="share",
    largest=1,
    better="lower",
    about="table",
    chance="1/n for n targets in the release (uniform_guess)",
    rounding="share",
    says="the re-identification rate over the targets that are in the release, where some are not",
    title="Re-identification of those present",
    sentence="The re-identification rate among the attacked records that are in the release; the others cannot be found there.",
    by_attack=True,
    bounded_below=True,
    population="present",
)
FALSE_LINKS_ABSENT = Measure(
    name="false_links_absent",
    function="tasks.score.linkage.estimate_present_and_absent",
    unit="share",
    largest=1,
    better=None,
    about="table",
    chance="none",
    rounding="share",
    says="share of the targets that are not in the release to whom the attack names one released record all the same",
    title="Absent, and yet linked",
    sentence=(
        "The share of the attacked records outside the release that the intruder links to somebody all the same, and wrongly."
    ),
    by_attack=True,
    population="absent",
)
GROUPS_EXPOSED = Measure(
    name="groups_exposed",
    function="tasks.score.linkage.estimate_group_exposure",
    unit="share",
    largest=1,
    better="lower",
    about="attribute",
    chance="none",
    rounding="hidden_share",
    says="share of the groups (households, enterprises) in which at least one member's credit is one half or more",
    title="Groups exposed",
    sentence=(
        "The share of groups (households, enterprises) of which the intruder links at least one member with a chance of "
        "one half or more: who finds one member has found the others."
    ),
    by_attack=True,
    bounded_below=True,
)
SUBGROUP_REIDENTIFICATION = Measure(
    name="subgroup_reidentification",
    function="tasks.score.linkage.estimate_subgroup_rates",
    unit="share",
    largest=1,
    better="lower",
    about="attribute",
    chance="1/n for n targets (uniform_guess)",
    rounding="hidden_share",
    says="the re-identification rate of people with extreme values or in rare categories",
    title="Re-identification in a subgroup",
    sentence=(
        "The re-identification rate among the people of one part of the table: the tails of a measured attribute, or "
        "the rare categories."
    ),
    answers="identity",
    by_attack=True,
    bounded_below=True,
    by_subgroup=True,
    is_tail=True,
)
LINKED_VALUE_DISCLOSED = Measure(
    name="linked_value_disclosed",
    function="tasks.score.linkage.estimate_disclosed_values",
    unit="share",
    largest=1,
    better="lower",
    about="attribute",
    chance="the release's most frequent value guessed for everybody (majority)",
    rounding="share",
    says="share of targets whose confidential value is the most frequent one among the records they are linked to",
    title="Confidential value disclosed",
    sentence=(
        "The share of attacked records whose confidential value is the most frequent one among the records they are linked to."
    ),
    answers="inference",
    by_attack=True,
    of_nobody=True,
)
LINKED_VALUE_CONTROL = Measure(
    name="linked_value_control",
    function="tasks.score.linkage.estimate_disclosed_values",
    unit="share",
    largest=1,
    better=None,
    about="attribute",
    chance="none",
    rounding="share",
    says="the same where the target's own record is left out: what the linked records tell about somebody who is not there",
    title="Control",
    sentence="The same with the target's own record left out: what the linked records tell about somebody who is not there.",
    by_attack=True,
    of_nobody=True,
)
