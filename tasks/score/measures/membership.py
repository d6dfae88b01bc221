"""Membership inference: can somebody tell who is in the file? Functions: `tasks/score/membership/`."""

from __future__ import annotations

from tasks.score.measure import SUBGROUPS, Measure

FALSE_POSITIVE_RATES = (0.001, 0.01)  # shares of the non-members that are taken for members
MISSING = "missing values"
PARTS = (*SUBGROUPS, MISSING)

MEMBERSHIP_AUC = Measure(
    name="membership_auc",
    function="tasks.score.membership.membership_estimates.estimate_auc",
    unit="share",
    largest=1,
    better="lower",
    about="table",
    chance="1/2",
    rounding="share",
    says="how often a record that is in the file looks more like a member than one that is not, ties counting one half",
    title="Members told from others (AUC)",
    sentence=(
        "How often somebody who is in the file looks more like a member to the attack than somebody who is not: 50 % is "
        "guessing, 100 % tells everybody."
    ),
    answers="membership",
    by_attack=True,
    of_nobody=True,
    of_membership=True,
)
MEMBERSHIP_ADVANTAGE = Measure(
    name="membership_advantage",
    function="tasks.score.membership.membership_estimates.estimate_advantage",
    unit="share",
    largest=1,
    smallest=-1.0,
    better="lower",
    about="table",
    chance="0",
    rounding="share",
    says=("share of the members that an attack takes for members, less that of the others; the threshold is from other people"),
    title="Membership advantage",
    sentence=(
        "Of those who are in the file, the share that the attack takes for members, less the share of the others whom "
        "it takes for members too: 0 is guessing."
    ),
    answers="membership",
    by_attack=True,
    of_nobody=True,
    of_membership=True,
)
MEMBERSHIP_PRECISION = Measure(
    name="membership_precision",
    function="tasks.score.membership.membership_estimates.estimate_membership_rates",
    unit="share",
    largest=1,
    better="lower",
    about="table",
    chance="the share of members among those who are asked about",
    rounding="share",
    says="of those whom an attack takes for members, the share that are",
    title="Right about membership (precision)",
    sentence="Of those whom the attack takes for members, the share that are in the file.",
    by_attack=True,
    of_nobody=True,
    of_membership=True,
)
MEMBERSHIP_RECALL = Measure(
    name="membership_recall",
    function="tasks.score.membership.membership_estimates.estimate_membership_rates",
    unit="share",
    largest=1,
    better="lower",
    about="table",
    chance="the share taken for members",
    rounding="share",
    says="of the members, the share that an attack takes for members; 1 for an attack that takes everybody for one",
    title="Members noticed: recall (miaAR)",
    sentence=(
        "Of those who are in the file, the share that the attack takes for members; taking everybody for one would give all."
    ),
    by_attack=True,
    of_nobody=True,
    of_membership=True,
    chance_counts_people=True,
)
MEMBERSHIP_F1 = Measure(
    name="membership_f1",
    function="tasks.score.membership.membership_estimates.estimate_membership_rates",
    unit="share",
    largest=1,
    better="lower",
    about="table",
    chance="that of taking everybody for a member: 2 pi / (1 + pi), pi the share of members",
    rounding="share",
    says="2 x precision x recall / (precision + recall)",
    title="Membership F1",
    sentence="Precision and recall in one: 2 x precision x recall / (precision + recall).",
    by_attack=True,
    of_nobody=True,
    of_membership=True,
)
MEMBERSHIP_ATTRIBUTE_RISK = Measure(
    name="membership_attribute_risk",
    function="tasks.score.membership.membership_estimates.estimate_membership_rates",
    unit="share",
    largest=1,
    better="lower",
    about="table",
    chance="the share taken for members",
    rounding="share",
    says="miaAR as it is written: members taken for members over all members, which is recall alone",
    title="miaAR",
    sentence="Of those who are in the file, the share that the attack takes for members, which is recall alone.",
    by_attack=True,
    of_nobody=True,
    of_membership=True,
    chance_counts_people=True,
)
MEMBERSHIP_TRUE_POSITIVE_RATE = Measure(
    name="membership_true_positive_rate",
    function="tasks.score.membership.membership_estimates.estimate_rate_at_false_positives",
    unit="share",
    largest=1,
    better="lower",
    about="table",
    chance="0.001 (0.01)",
    rounding="share",
    says="of the members, the share above the score that 0.1 % (1 %) of the others exceed",
    title="Members surely noticed",
    sentence="Of those who are in the file, the share that looks more like a member than nearly everybody who is not.",
    by_attack=True,
    takes_false_positive_rate=True,
    of_nobody=True,
    of_membership=True,
)
SUBGROUP_MEMBERSHIP_AUC = Measure(
    name="subgroup_membership_auc",
    function="tasks.score.membership.membership_estimates.estimate_subgroup",
    unit="share",
    largest=1,
    better="lower",
    about="attribute",
    chance="1/2",
    rounding="hidden_share",
    says="membership_auc within a part of the people",
    title="Members told from others, in a subgroup",
    sentence="The same among the people of one part of the table.",
    by_attack=True,
    by_subgroup=True,
    of_nobody=True,
    of_membership=True,
)
SUBGROUP_MEMBERSHIP_ADVANTAGE = Measure(
    name="subgroup_membership_advantage",
    function="tasks.score.membership.membership_estimates.estimate_subgroup",
    unit="share",
    largest=1,
    smallest=-1.0,
    better="lower",
    about="attribute",
    chance="0",
    rounding="hidden_share",
    says="membership_advantage within a part of the people",
    title="Membership advantage in a subgroup",
    sentence="The same among the people of one part of the table.",
    by_attack=True,
    by_subgroup=True,
    of_nobody=True,
    of_membership=True,
)
SUBGROUP_SHARE_OF_MOST_EXPOSED = Measure(
    name="subgroup_share_of_most_exposed",
    function="tasks.score.membership.exposure.estimate_share_of_most_exposed",
    unit="share",
    largest=1,
    better=None,
    about="attribute",
    chance="the share of that part among all members who are asked about",
    rounding="hidden_share",
    says="of the tenth of the members whom an attack is surest of, the share that belongs to a part of the people",
    title="Share of the most exposed",
    sentence="Of the tenth of the members whom the attack is surest of, the share that belongs to one part of the people.",
    by_attack=True,
    by_subgroup=True,
    of_nobody=True,
    of_membership=True,
    chance_counts_people=True,
)
DECIDING = (MEMBERSHIP_AUC.name, MEMBERSHIP_ADVANTAGE.name)
NOT_ALONE = (MEMBERSHIP_RECALL.name, MEMBERSHIP_ATTRIBUTE_RISK.name, MEMBERSHIP_F1.name)  # highest where everybody is flagged
