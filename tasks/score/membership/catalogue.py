"""The measures of membership inference: what each says, its range, and what a guess that does not look would have."""

from __future__ import annotations

from tasks.score.measure import SUBGROUPS, Better, Measure, Subject

FALSE_POSITIVE_RATES = (0.001, 0.01)  # of the others taken for members
MISSING = "missing values"
PARTS = (*SUBGROUPS, MISSING)
DECIDING = ("membership_auc", "membership_advantage")


def _measure(
    name: str,
    says: str,
    chance: str,
    *,
    better: Better | None = "lower",
    by_subgroup: bool = False,
    by_rate: bool = False,
) -> Measure:
    subject: Subject = "attribute" if by_subgroup else "table"
    return Measure(
        name=name,
        says=says,
        unit="share",
        better=better,
        about=subject,
        largest=1,
        by_attack=True,
        by_subgroup=by_subgroup,
        takes_false_positive_rate=by_rate,
        chance=chance,
        of_membership=True,
        of_nobody=True,
        answers="membership" if name in DECIDING else None,
    )


MEMBERSHIP = (
    _measure(
        "membership_auc",
        "how often a record that is in the file looks more like a member than one that is not, ties counting one half",
        "1/2",
    ),
    _measure(
        "membership_advantage",
        "share of the members that an attack takes for members, less that of the others; the threshold is from other people",
        "0",
    ),
    _measure(
        "membership_precision",
        "of those whom an attack takes for members, the share that are",
        "the share of members among those who are asked about",
    ),
    _measure(
        "membership_recall",
        "of the members, the share that an attack takes for members; 1 for an attack that takes everybody for one",
        "the share taken for members",
    ),
    _measure(
        "membership_f1",
        "2 x precision x recall / (precision + recall)",
        "that of taking everybody for a member: 2 pi / (1 + pi), pi the share of members",
    ),
    _measure(
        "membership_attribute_risk",
        "miaAR as it is written: members taken for members over all members, which is recall alone",
        "the share taken for members",
    ),
    _measure(
        "membership_true_positive_rate",
        "of the members, the share above the score that 0.1 % (1 %) of the others exceed",
        "0.001 (0.01)",
        by_rate=True,
    ),
    _measure("subgroup_membership_auc", "membership_auc within a part of the people", "1/2", by_subgroup=True),
    _measure("subgroup_membership_advantage", "membership_advantage within a part of the people", "0", by_subgroup=True),
    _measure(
        "subgroup_share_of_most_exposed",
        "of the tenth of the members whom an attack is surest of, the share that belongs to a part of the people",
        "the share of that part among all members who are asked about",
        better=None,
        by_subgroup=True,
    ),
)
NOT_ALONE = ("membership_recall", "membership_attribute_risk", "membership_f1")  # the largest for who takes all for members
