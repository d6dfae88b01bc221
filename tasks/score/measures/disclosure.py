"""Attribute disclosure, k-anonymity, unique records and values that follow from several releases, without links to people."""

from __future__ import annotations

from tasks.score.measure import Measure

RANK_INTERVAL_DISCLOSURE = Measure(
    name="rank_interval_disclosure",
    function="tasks.score.interval_disclosure.rank_interval_disclosure",
    unit="share",
    largest=1,
    better="lower",
    about="attribute",
    chance="the same over all pairs of an original and a masked record (all_pairs)",
    rounding="share",
    says="share of records whose original value lies within p/2 percent of the ranks on either side of its masked value",
    title="Interval disclosure",
    sentence=(
        "The share of records whose original value lies in an interval around the released value that is so many percent of "
        "the ranks wide: what somebody learns who has found the record."
    ),
    takes_p_percent=True,
    has_parameters=True,
)
SD_INTERVAL_DISCLOSURE = Measure(
    name="sd_interval_disclosure",
    function="tasks.score.interval_disclosure.sd_interval_disclosure",
    unit="share",
    largest=1,
    better="lower",
    about="attribute",
    chance="the same over all pairs of an original and a masked record (all_pairs)",
    rounding="share",
    says="share of records whose original value is at most p percent of a standard deviation from its masked value",
    title="Interval disclosure in standard deviations",
    sentence=(
        "The share of records whose original value is at most so many percent of a standard deviation from the released value."
    ),
    takes_p_percent=True,
    has_parameters=True,
)
SAME_VALUE_DISCLOSURE = Measure(
    name="same_value_disclosure",
    function="tasks.score.interval_disclosure.same_value_disclosure",
    unit="share",
    largest=1,
    better="lower",
    about="attribute",
    chance="the same over all pairs of an original and a masked record (all_pairs)",
    rounding="share",
    says="share of records whose masked value is the original one (SADR)",
    title="Same value",
    sentence="The share of records whose released value is the original one: how often the record can be taken at its word.",
)
VALUES_RECONSTRUCTED = Measure(
    name="values_reconstructed",
    function="tasks.score.reconstructed_values.estimate_reconstruction",
    unit="share",
    largest=1,
    better="lower",
    about="table_and_attribute",
    chance="0: one release alone determines no value",
    rounding="share",
    says="share of records of which a masked value follows from the group means of this release and earlier ones together",
    title="Values reconstructed",
    sentence=(
        "The share of records of which a masked value follows from the means of the groups in this release and in earlier ones "
        "together: from the equations alone, without knowing any original, and right up to 5 % of a standard deviation."
    ),
    answers="inference",
    of_earlier_releases=True,
)
VALUES_APPROXIMATED = Measure(
    name="values_approximated",
    function="tasks.score.reconstructed_values.estimate_reconstruction",
    unit="share",
    largest=1,
    better=None,
    about="table_and_attribute",
    chance="the same with this release alone (values_approximated_control)",
    rounding="share",
    says="share of records whose value is estimated up to 5 percent of a standard deviation from all releases' means",
    title="Values approximated",
    sentence=(
        "The share of records of which an estimate from the means of all releases together is within 5 % of a standard "
        "deviation of the original, whether it follows or not."
    ),
    of_earlier_releases=True,
)
VALUES_APPROXIMATED_CONTROL = Measure(
    name="values_approximated_control",
    function="tasks.score.reconstructed_values.estimate_reconstruction",
    unit="share",
    largest=1,
    better=None,
    about="table_and_attribute",
    chance="none",
    rounding="share",
    says="the same by the mean that this release alone shows",
    title="Values approximated by one release",
    sentence="The same share if the intruder has this release alone, and takes the mean that it shows for the value.",
    of_earlier_releases=True,
)
K_ANONYMITY = Measure(
    name="k_anonymity",
    function="tasks.score.anonymity.k_anonymity",
    unit="records",
    better="higher",
    about="table",
    chance="none",
    rounding="exact",
    says="size of the smallest group of released records that agree on all published quasi-identifiers",
    title="k-anonymity",
    sentence=(
        "The smallest number of released records that look alike on all published quasi-identifiers together; more is safer."
    ),
    of_nobody=True,
)
K_ANONYMITY_SUBSET = Measure(
    name="k_anonymity_subset",
    function="tasks.score.anonymity.k_anonymity_subset",
    unit="records",
    better="higher",
    about="attribute",
    chance="none",
    rounding="exact",
    says="the same over some quasi-identifiers: what an intruder faces who knows no more than these",
    title="k-anonymity over some attributes",
    sentence="The smallest number of released records that look alike on these attributes, for an intruder who knows no more.",
    of_nobody=True,
    has_parameters=True,
)
UNIQUES_RELEASED = Measure(
    name="uniques_released",
    function="tasks.score.synthetic.uniques.uniques",
    unit="share",
    largest=1,
    better="lower",
    about="table_and_attribute",
    chance="the same for rows drawn column by column from the release's own frequencies (independent_columns)",
    rounding="share",
    says=(
        "share of the source's people whose combination of quasi-identifiers nobody else there has, and that some row "
        "of a fully synthetic release shows"
    ),
    title="People alone in the source, shown again",
    sentence=(
        "The share of all records that nobody else of the source equals in the quasi-identifiers, and that some row of "
        "the table equals: who knows such a person finds rows that seem to be theirs."
    ),
    of_nobody=True,
    only_of_nobody=True,
)
REPLICATED_UNIQUES = Measure(
    name="replicated_uniques",
    function="tasks.score.synthetic.uniques.uniques",
    unit="share",
    largest=1,
    better="lower",
    about="table_and_attribute",
    chance="the same for rows drawn column by column from the release's own frequencies (independent_columns)",
    rounding="share",
    says=(
        "share of the source's people whose combination of quasi-identifiers nobody else there has, and that exactly "
        "one row of a fully synthetic release shows (synthpop's repU)"
    ),
    title="Replicated uniques",
    sentence="The same where exactly one row equals them: alone in the source, and alone in the table.",
    of_nobody=True,
    only_of_nobody=True,
)
RESULTS_HIDDEN = Measure(
    name="results_hidden",
    function="tasks.score.hidden_results.results_hidden",
    unit="share",
    largest=1,
    better="lower",
    about="table",
    chance="none",
    rounding="exact",
    says="share of the rules to be hidden that can be concluded from the release at the stated support and confidence",
    title="Rules that can be concluded",
    sentence=(
        "The share of the rules to be hidden that somebody can still conclude from the released rows: so many rows show the "
        "rule, and so many of those that meet its condition."
    ),
    of_nobody=True,
    has_parameters=True,
)
RULE_SUPPORT = Measure(
    name="rule_support",
    function="tasks.score.hidden_results.results_hidden",
    unit="share",
    largest=1,
    better=None,
    about="table",
    chance="none",
    rounding="withheld",
    says="share of the released rows that show a rule, for each rule of results_hidden by its number",
    title="Support of a rule",
    sentence="The share of the released rows that meet the condition of the rule and its conclusion.",
    of_nobody=True,
    has_parameters=True,
)
RULE_CONFIDENCE = Measure(
    name="rule_confidence",
    function="tasks.score.hidden_results.results_hidden",
    unit="share",
    largest=1,
    better=None,
    about="table",
    chance="none",
    rounding="withheld",
    says="share of the released rows that meet the condition of a rule that meet its conclusion as well",
    title="Confidence of a rule",
    sentence="Of the released rows that meet the condition of the rule, the share that meets its conclusion.",
    of_nobody=True,
    has_parameters=True,
)
RULE_SUPPORT_ORIGINAL = Measure(
    name="rule_support_original",
    function="tasks.score.hidden_results.results_hidden",
    unit="share",
    largest=1,
    better=None,
    about="table",
    chance="none",
    rounding="withheld",
    says="the same share of all records of the source, for the steward alone",
    title="Support of a rule in the original",
    sentence="The share of all records of the source that meet the condition of the rule and its conclusion.",
    of_nobody=True,
    has_parameters=True,
)
RULE_CONFIDENCE_ORIGINAL = Measure(
    name="rule_confidence_original",
    function="tasks.score.hidden_results.results_hidden",
    unit="share",
    largest=1,
    better=None,
    about="table",
    chance="none",
    rounding="withheld",
    says="the same confidence among all records of the source, for the steward alone",
    title="Confidence of a rule in the original",
    sentence="Of all records of the source that meet the condition of the rule, the share that meets its conclusion.",
    of_nobody=True,
    has_parameters=True,
)
