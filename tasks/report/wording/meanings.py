"""What each measure is called and what it says, for readers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tasks.microdata.numbers import SPACE
from tasks.microdata.units import Counts
from tasks.report.wording.units import substitute_unit

THE_FILE = "the file"


@dataclass(frozen=True, slots=True)
class Meaning:
    """A measure for readers: what it is called, what it says, and (losses) what it means for an analyst."""

    title: str
    sentence: str
    analyst: str = ""


MEANINGS = {
    "reidentification": Meaning(
        "Re-identification rate",
        "Of all attacked records, the share that the intruder links to the right person; where t released records look equally "
        "good, each counts 1/t.",
    ),
    "posterior_at_truth": Meaning(
        "Probability of the right record",
        "What probability the intruder gives to the right record, on average over the attacked records: how often he would be "
        "right if he drew a record by his probabilities. They come from a model and need not be true.",
    ),
    "records_exposed": Meaning(
        "Records exposed",
        "The share of attacked records that are linked to the right released record alone, or to it and one look-alike.",
    ),
    "max_record_risk": Meaning(
        "Maximum record risk",
        "The risk of the person who is easiest to find: 100"
        + SPACE
        + "% means that there is a person who is linked to their own record alone.",
    ),
    "truth_among_nearest": Meaning(
        "Truth among the nearest",
        "The share of attacked records whose own released record is among the intruder's guesses, however many those are.",
    ),
    "mean_candidate_set_size": Meaning(
        "Mean candidate set", "How many released records the intruder cannot tell apart, on average; more is safer."
    ),
    "known_links": Meaning(
        "Links that can be asserted",
        "The share of attacked records for which the intruder can rule out every released record but one, or for which one "
        "stands out by a margin at which such links are nearly always right.",
    ),
    "known_reidentification": Meaning(
        "Asserted and correct", "The share of attacked records for which that one record is the right one."
    ),
    "linked_value_disclosed": Meaning(
        "Confidential value disclosed",
        "The share of attacked records whose confidential value is the most frequent one among the records they are linked to.",
    ),
    "linked_value_control": Meaning(
        "Control",
        "The same with the target's own record left out: what the linked records tell about somebody who is not there.",
    ),
    "subgroup_reidentification": Meaning(
        "Re-identification in a subgroup",
        "The re-identification rate among the people of one part of the table: the tails of a measured attribute, or the rare "
        "categories.",
    ),
    "reidentification_present": Meaning(
        "Re-identification of those present",
        "The re-identification rate among the attacked records that are in the release; the others cannot be found there.",
    ),
    "false_links_absent": Meaning(
        "Absent, and yet linked",
        "The share of the attacked records outside the release that the intruder links to somebody all the same, and wrongly.",
    ),
    "model_accuracy": Meaning(
        "Accuracy of the model",
        "Of people who did not teach the model, the share whose class it names first.",
    ),
    "membership_auc": Meaning(
        "Members told from others (AUC)",
        f"How often somebody who is in the file looks more like a member to the attack than somebody who is not: 50{SPACE}% is "
        f"guessing, 100{SPACE}% tells everybody.",
    ),
    "membership_advantage": Meaning(
        "Membership advantage",
        "Of those who are in the file, the share that the attack takes for members, less the share of the others whom it takes "
        "for members too: 0 is guessing.",
    ),
    "membership_precision": Meaning(
        "Right about membership (precision)", "Of those whom the attack takes for members, the share that are in the file."
    ),
    "membership_recall": Meaning(
        "Members noticed: recall (miaAR)",
        "Of those who are in the file, the share that the attack takes for members; taking everybody for one would give all.",
    ),
    "membership_f1": Meaning("Membership F1", "Precision and recall in one: 2 x precision x recall / (precision + recall)."),
    "membership_attribute_risk": Meaning(
        "miaAR", "Of those who are in the file, the share that the attack takes for members, which is recall alone."
    ),
    "membership_true_positive_rate": Meaning(
        "Members surely noticed",
        "Of those who are in the file, the share that looks more like a member than nearly everybody who is not.",
    ),
    "subgroup_membership_auc": Meaning(
        "Members told from others, in a subgroup", "The same among the people of one part of the table."
    ),
    "subgroup_membership_advantage": Meaning(
        "Membership advantage in a subgroup", "The same among the people of one part of the table."
    ),
    "subgroup_share_of_most_exposed": Meaning(
        "Share of the most exposed",
        "Of the tenth of the members whom the attack is surest of, the share that belongs to one part of the people.",
    ),
    "records_absent": Meaning(
        "Records absent",
        "The share of the source's records that are not in the release: left out, suppressed or sampled away.",
        "Counts and totals are those of fewer records, and who is missing may differ from who is there.",
    ),
    "groups_exposed": Meaning(
        "Groups exposed",
        "The share of groups (households, enterprises) of which the intruder links at least one member with a chance of one "
        "half or more: who finds one member has found the others.",
    ),
    "sd_interval_disclosure": Meaning(
        "Interval disclosure in standard deviations",
        "The share of records whose original value lies within so many percent of a standard deviation of the released value.",
    ),
    "rank_interval_disclosure": Meaning(
        "Interval disclosure",
        "The share of records whose original value lies within so many percent of the ranks around the released value: what "
        "somebody learns who has found the record.",
    ),
    "same_value_disclosure": Meaning(
        "Same value",
        "The share of records whose released value is the original one: how often the record can be taken at its word.",
    ),
    "k_anonymity": Meaning(
        "k-anonymity",
        "The smallest number of released records that look alike on all published quasi-identifiers together; more is safer.",
    ),
    "k_anonymity_subset": Meaning(
        "k-anonymity over some attributes",
        "The smallest number of released records that look alike on these attributes, for an intruder who knows no more.",
    ),
    "epsilon": Meaning(
        "Epsilon of the PRAM steps",
        "No released category is more than e^epsilon times as probable under one true category as under another; for a "
        "record the sum over the attributes that PRAM draws anew. It is about those steps, not about the release.",
    ),
    "uniques_released": Meaning(
        "People alone in the source, shown again",
        "The share of all records that nobody else of the source equals in the quasi-identifiers, and that some row of the "
        "table equals: who knows such a person finds rows that seem to be theirs.",
    ),
    "replicated_uniques": Meaning(
        "Replicated uniques",
        "The same where exactly one row equals them: alone in the source, and alone in the table.",
    ),
    "marginal_difference": Meaning(
        "Difference of distributions",
        "The largest difference of the cumulative shares of an attribute in the source and in the table; of categories half "
        "the sum of the differences of their shares. For the table the mean over the masked attributes, or over all that are "
        "published where the rows belong to nobody. With the survey weights, if there are any.",
        "No share that is read off an attribute, of a category or up to a bound, is off by more than that attribute's figure.",
    ),
    "largest_marginal_difference": Meaning(
        "Largest difference of distributions",
        "The difference of the distributions of the attribute that suffered most.",
        "No share that is read off one attribute, of a category or up to a bound, is off by more than this.",
    ),
    "categories_lost": Meaning(
        "Categories lost",
        "The share of the categories of masked attributes that occur in the original and in no released row.",
        "Nothing can be said of these categories; most of them are rare.",
    ),
    "category_association_difference": Meaning(
        "Change of associations of categories",
        "Mean absolute difference of Cramer's V, over the pairs of attributes of which one is categorical and one was masked.",
        "The strength of a relation in a cross table is off by this much on average.",
    ),
    "propensity_ratio": Meaning(
        "Told apart by a model (S_pMSE)",
        "How much better a logistic regression on ranks, squares and products tells the rows of the table from the records of "
        "the source than it would by luck.",
        "About 1: the tables cannot be told apart in means, spreads and pairwise relations; above 10: analyses will differ.",
    ),
    "propensity_ratio_largest": Meaning(
        "The largest S_pMSE for tables of this size",
        "What the figure above would be if every row of the table were told from the records of the source.",
        "A limit beyond it could not be broken.",
    ),
    "tree_propensity_ratio": Meaning(
        "Told apart by a tree",
        "How much better a classification tree tells the rows of the table from the records of the source than where it is not "
        "said which is which.",
        "About 1: the tables cannot be told apart; above: relations of any kind differ; below 1: rows are copies of records.",
    ),
    "tree_propensity_ratio_largest": Meaning(
        "The largest ratio of the tree for tables of this size",
        "What the figure above would be if every row of the table were told from the records of the source.",
        "A limit beyond it could not be broken.",
    ),
    "sse_percent": Meaning(
        "Information loss (SSE)",
        "Squared change of the masked numbers, in percent of their variation: 0 is no change, 100 is what replacing every "
        "value by the mean would lose.",
        "This much of the differences between people is no longer true: single records and small groups are blurred.",
    ),
    "il1s": Meaning(
        "Change per cell (IL1s)",
        "Mean absolute change of a masked number, where 1 is the standard deviation of the difference of two random people.",
        "How far off a single released number is, on average.",
    ),
    "cells_changed": Meaning(
        "Cells changed",
        "The share of the masked cells whose value differs from the original.",
        "Single cells are not to be read as facts about people; counts of exact values move with this share.",
    ),
    "mean_difference": Meaning(
        "Shift of the mean",
        "The distance between the mean of the original and that of the release, in standard deviations of the original.",
        "Averages and totals of the attribute are off by this much.",
    ),
    "covariance_difference": Meaning(
        "Change of covariances",
        "Mean absolute difference of variances and covariances, in units of the original's standard deviations.",
        "Spread and joint variation, and with them standard errors and regression slopes, are off by about this much.",
    ),
    "correlation_difference": Meaning(
        "Change of correlations",
        "Mean absolute difference of the correlations between numeric attributes, over the pairs in which one was masked.",
        "A typical correlation in the release is off by this much.",
    ),
    "largest_correlation_difference": Meaning(
        "Largest change of a correlation",
        "The absolute difference of the correlation between the two numeric attributes that suffered most.",
        "No correlation between numeric attributes is off by more than this.",
    ),
    "rank_correlation_difference": Meaning(
        "Change of rank correlations",
        "Mean absolute difference of Spearman's rank correlations between numeric and ordinal attributes.",
        "Monotone relations, also between ordinal codes, are off by this much on average.",
    ),
}


def meaning(measure: str, counts: Counts = "records", members_of: str = THE_FILE, unit: str | None = None) -> Meaning:
    """The words on a measure, said of what its figure counts, and of what members are in: the file, a model's training set.

    unit: what the units of the table are called; None: persons. Where a person key joins rows, figures count persons whatever a
    row is called.
    """
    unit = None if counts == "persons" else unit
    words = _adapt_meaning(measure, counts, members_of)
    return Meaning(*(substitute_unit(text, unit) for text in (words.title, words.sentence, words.analyst)))


def _adapt_meaning(measure: str, counts: Counts, members_of: str) -> Meaning:
    words = MEANINGS[measure]
    words = replace(words, sentence=words.sentence.replace(THE_FILE, members_of))
    if counts == "records":
        return words
    if measure.startswith("k_anonymity"):
        return replace(
            words, sentence=words.sentence.replace("number of released records that", "number of persons whose records")
        )
    texts = (words.title.replace("Records", "Persons").replace("record risk", "risk of a person"), words.sentence)
    title, sentence = (text.replace("attacked records", "attacked persons") for text in texts)
    return replace(words, title=title, sentence=sentence)
