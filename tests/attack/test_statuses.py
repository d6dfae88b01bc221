"""Why an attack gives no figure: each reason is either the intruder's (`not_applicable`) or sdcert's (`not_followed`)."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from tasks.attack.membership.gap import Gap
from tasks.attack.membership.methods import create_idle_result
from tasks.microdata.errors import NotApplicable, NotFollowed

TASKS = Path(__file__).parents[2] / "tasks"

NO_OBJECT = {
    "no step changed a value, so that there is no law": 1,
    "no attribute that the intruder knows was rank-swapped: nothing is known to be exchanged in pairs": 1,
    "no record is released from which a distance could be learned": 1,
    "fewer than two records have all attributes of the covariance": 1,
    "all records differ alike from their own rows, so that the differences have no covariance": 1,
    "no row is released": 1,
    "no row is released, or no quasi-identifier is": 1,
    "after {} nobody knows in which cell somebody is: rows that look alike are of other people": 1,
    "{} is masked, and its released values are neither the original ones nor means of groups": 1,
    "fewer than {} released rows show a value, or fewer than {} people have one": 1,
    "none of the attack's learners can guess such an attribute": 1,
    "fewer than {} people who are asked about taught the model and have a value": 1,
    "the {} nearest of fewer rows do not exist": 1,
    "the model has not learned the class of most people who are asked about": 1,
    "the links of `{}` have no {}": 1,
    "no record that the intruder holds is in the release": 1,
    "no record of the intruder is in the release": 1,
    "the release has no attribute with an order that the intruder does not know": 1,
    "no attribute of the intruder is of the kind of a released one": 1,
    "nothing tells which end of the attributes' common factor is up": 1,
    "ROWS_OF_NOBODY": 1,
    "the rows belong to nobody, so that no law leads from a record to its row": 1,
}
LACKS_KNOWLEDGE = {
    "{}, which somebody who asks for this does not know": 1,
    "the intruder knows no published attribute": 5,
    "the intruder knows no attribute that the release publishes": 2,
    "the intruder knows no attribute with an order, so that there is no covariance": 1,
    "the intruder knows no attribute that has an order": 1,
    "the intruder knows no attribute, or the release has none": 1,
    "what the intruder knows does not suffice to conclude anything from the masking steps": 1,
    "who is who has to be known for the covariance of the differences": 1,
    "who is who has to be known for the worst case of the model": 1,
    "the model's mean loss on its training set is not published: take it from shadow models": 1,
    "an intruder learns membership from at least {} records of their own": 1,
    "one to one, they have to know that all their records are in the release": 1,
    "one to one, they have to hold the whole original of a complete release": 1,
    "the intruder knows nothing else from which it could be inferred": 1,
    "the records that the intruder has show fewer than two values of it": 1,
    "the attack says itself what its intruder knows: nobody else is asked": 1,
}
HOLDS_A_SHARE = {
    "the released rows search all records of the source, and they hold a share of them": 1,
    "who holds a share of the records does not know where they stand in the source": 1,
    "who holds a share of the records does not know what the values were before the exchange": 1,
}
HOLDS_A_FILE = {"NEEDS_ORIGINALS": 1}
OF_THE_KNOWLEDGE_CURVE = {
    "no distance is learned for intruders of the knowledge curve, whose figures decide nothing": 1,
    "no weights are read off who is who for intruders of the knowledge curve, who decide nothing": 1,
}
LAW_LOST = {
    "step.reason": 1,  # the declared steps did not make the table (`FalseDeclaration`)
    "what was rank-swapped was masked again, or not known for sure before: no pairs to look for": 1,
    "why_lost(mechanisms, knowledge.lost)": 1,
    "why_lost(context.mechanisms, knowledge.lost)": 1,
    "reason": 3,
    "gaps.reason": 2,
    "no masking step is known": 1,
    "nobody declared how the table was masked: there is nothing to simulate": 1,
}
TOO_LARGE = {
    "more than {} pairs of records and rows are too many to look at": 1,
    "{} pairs of records can be one person's, more than {}": 1,
    "more than {} pairs of records and rows contradict nothing: too many to go on with": 1,
    "TOO_MANY_PAIRS": 2,
    "more than {} pairs of records and rows are too many for a simulated law": 1,
    "more than {} pairs are equally likely: the law tells too few apart": 1,
    "more than {} rows can be the images of the records: too many to join releases by": 3,
    "NOT_EXCHANGED": 1,
    "`learn: {}` takes at most {} attributes, and {} are known: learn {}": 1,
    "{} pairs of records are too many for a distance that no search tree knows: learn a weighted_mean, or a bilinear form with "
    "`metric: true`, of numbers without gaps": 1,
    "a kernel would need more than {} coordinates for these categories": 1,
    "{} pairs of records that differ are too many to look at each ({} at most): compare by fewer levels or bins, or let the "
    "intruder know fewer attributes": 1,
    "what this intruder knows is too much for the model: {}": 1,
    "{}: compare fewer attributes, or more coarsely": 1,
    "one to one, more than {} records of which some pairs cannot be matches": 1,
    "{} pairs of records that differ are too many to assign ({} at most)": 1,
    "more than {} pairs of records are equally likely: what is known tells too little apart": 1,
    "{} pairs of different texts are too many to compare by similarity ({} at most): compare the attribute by `exact`": 1,
    "more than {} pairs of different texts are {}: ask for more similarity": 1,
}
NO_METHOD_OF_OURS = {
    "a distance is learned from tables of one row per person": 1,
    "the covariance of the differences is defined for tables of one row per person": 1,
    "who is who gives the weights of tables of one row per person; estimate them as `tied`": 1,
    "membership needs at least {} members and {} non-members to ask about": 1,
    "the steps cannot be carried out on half of the records ({})": 2,
    "NO_REHEARSAL": 2,
    "the steps cannot be carried out on the people who are asked about ({})": 1,
    "the steps cannot be carried out on what teaches a shadow model ({})": 1,
    "the steps cannot be simulated on the intruder's records ({})": 1,
    "no shadow model saw a target, so that none can be compared with those that did not": 1,
    "the model of the file cannot be fitted to other records of the source": 1,
}
NOT_APPLICABLE = Counter(NO_OBJECT | LACKS_KNOWLEDGE | HOLDS_A_SHARE | HOLDS_A_FILE | OF_THE_KNOWLEDGE_CURVE)
NOT_FOLLOWED = Counter(LAW_LOST | TOO_LARGE | NO_METHOD_OF_OURS)


def reason_of(node: ast.expr) -> str:
    """The text of a reason with `{}` for what is filled in; of no text the expression."""
    match node:
        case ast.Constant():
            return str(node.value)
        case ast.JoinedStr():
            return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        case _:
            return ast.unparse(node)


def raised(*names: str) -> Counter[str]:
    """Every reason with which an exception of these names is raised in the stages that attack."""
    files = [*(TASKS / "attack").rglob("*.py"), *(TASKS / "train").rglob("*.py"), TASKS / "microdata" / "alignment.py"]
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
    return Counter(reason_of(node.args[0]) for node in nodes if isinstance(node.func, ast.Name) and node.func.id in names)


@pytest.mark.parametrize(
    ("names", "expected"),
    [(("NotApplicable",), NOT_APPLICABLE), (("NotFollowed", "OnlyBounded"), NOT_FOLLOWED)],
    ids=["not_applicable", "not_followed"],
)
def test_every_reason_is_of_the_kind_that_it_is_listed_under(names, expected):
    assert raised(*names) == expected


def test_the_status_is_a_value_of_the_exception():
    assert (NotApplicable("why").status, NotFollowed("why").status) == ("not_applicable", "not_followed")


@pytest.mark.parametrize("status", ["not_applicable", "not_followed"])
def test_a_membership_attack_says_which(status):
    found = create_idle_result(Gap(method="gap"), "this file", "the reason", status)
    assert (found.status, found.reason) == (status, "the reason")
