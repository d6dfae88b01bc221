"""What membership attacks do, and what people are or are not in, in the words of the report."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.report.wording.meanings import THE_FILE
from tasks.score.measure import HIGHEST, LOWEST, RARE
from tasks.score.measures.membership import MISSING


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipWording:
    """What the attacks ask about. noun: where members are in.

    asks: what somebody wants to know. set_aside: who is known not to be in it, after the number of their rows. outside: the
    same of people who have a table of their own. rehearsed: what was done where nobody is known not to be; in_short: the same
    in brackets.
    """

    noun: str
    asks: str
    set_aside: str
    outside: str
    rehearsed: str
    in_short: str


FILE = MembershipWording(
    noun=THE_FILE,
    asks="Somebody has the published record of a person, or what the declared intruder knows of it, and asks whether that "
    "person is in the file at all. Where the "
    "file is about something delicate, the answer may be the secret.",
    set_aside="rows of the source were set aside at random before the masking and are released in no form. The attacks are "
    "asked about as many people of the file as of those, and not told who is who.",
    outside="rows of another table are of people who are not in the source, as the release file declares. The attacks are "
    "asked about as many people of the file as of those, and not told who is who. Where the two tables differ in other ways "
    "too, that is taken for membership.",
    rehearsed="Rehearsed: nobody was set aside from this file, so nobody is known not to be in it. Instead the masking was "
    "carried out on a random half of the source, and the other half are the people who are not in that file. The figures are "
    "about the masking, and not about this file.",
    in_short="it is about the masking, not this file",
)
MODEL = MembershipWording(
    noun="the training set of the model",
    asks="Somebody has the whole record of a person, and asks the model about it: is that person in its training set? Where "
    "the training set is about something delicate, the answer may be the secret.",
    set_aside="rows of the source were set aside at random before the training and taught the model nothing. The attacks are "
    "asked about as many people of the training set as of those, and not told who is who.",
    outside="rows of another table are of people who did not teach the model, as the release file declares. The attacks are "
    "asked about as many people of the training set as of those, and not told who is who. Where the two tables differ in other "
    "ways too, that is taken for membership.",
    rehearsed="Rehearsed: nobody was set aside, so nobody is known not to be in the training set. Instead a model was made in "
    "the same way from a random half of the source, and the other half are the people who did not teach it. The figures are "
    "about how the model is made, and not about this model.",
    in_short="it is about how the model is made, not this model",
)
TITLES = {
    "closest_record": "Distance to the closest record",
    "density_ratio": "Ratio of densities",
    "linkage_score": "Scores of linkage",
    "values_present": "Exact values",
    "law_ratio": "Likelihood ratio of the mask",
    "gap": "Right or wrong",
    "loss_threshold": "Size of the error",
    "shadow_models": "Shadow models",
    "likelihood_ratio": "Likelihood ratio (LiRA)",
    "likelihood_ratio_offline": "Likelihood ratio (LiRA), offline",
}
MEANS = {
    "values_present": "It looks at each column by itself, and does not ask which values stand in one row. Values that are not "
    "there but nearer than those of other people count too. Rank swapping, rank "
    "jitter and reverse mapping move the values of a column and keep them, so that no wider window hides from it who is in the "
    "file.",
    "law_ratio": "It weighs each released row by how likely it is to come from the person rather than from somebody else, so "
    "that one row in the right place tells more than many that suit everybody. Steps whose law is not known give it no figure.",
    "gap": "Who sees no more than the predicted class can carry it out. What it tells is how much more often the model is "
    "right about people of its training set than about others.",
    "loss_threshold": "It takes for members those whom the model misses by no more than a member on average. Easy records are "
    "missed by little whoever taught the model, so that it is seldom sure of one person.",
    "shadow_models": "Its imitations learn from the intruder's own records, so that they see what an answer about a member "
    "looks like. It has one rule for each class, and none for each person.",
    "likelihood_ratio": "It compares each record with itself: are imitations that saw it surer of it than the others, and is "
    "the model as sure as these? So it allows for records that are easy or hard, and finds those few who are given away "
    "for sure.",
    "likelihood_ratio_offline": "Its imitations saw nobody who is asked about, and can be trained before anybody is. They tell "
    "how sure a model is of somebody whom it never saw; whoever this model is surer of is taken for a member.",
}
PARTS = {
    LOWEST: "People with the lowest values of",
    HIGHEST: "People with the highest values of",
    RARE: "People with rare categories of",
    MISSING: "People without a value of",
}


def find_attack_wording(words: dict[str, str], attack: str, method: str) -> str | None:
    """What is said of an attack: by its id where a variant has words of its own, else by its method."""
    return words.get(attack, words.get(method))
