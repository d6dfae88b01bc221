"""Inference: how often a confidential value is told, and how often anyway. Functions: `tasks/score/inference.py`."""

from __future__ import annotations

from tasks.score.measure import Measure

INFERENCE_EXCESS = Measure(
    name="inference_excess",
    function="tasks.score.inference.estimate_excess",
    unit="share",
    largest=1,
    smallest=-1.0,
    better="lower",
    about="attribute",
    chance="0",
    rounding="share",
    says="share of members whose value is inferred, less that of people who are not in the release",
    title="Inference beyond the population",
    sentence=(
        "How much more often the value is inferred of people who are in the release than of people who are not: what the "
        "release tells of its own people, and not of everybody. 0 % is none of it."
    ),
    answers="inference",
    by_attack=True,
    of_nobody=True,
    of_inference=True,
)
INFERENCE_ASSERTED = Measure(
    name="inference_asserted",
    function="tasks.score.inference.estimate_asserted",
    unit="share",
    largest=1,
    better="lower",
    about="attribute",
    chance="none",
    rounding="share",
    says="share of members whose value an intruder can assert at a precision of 95 %, calibrated on other people",
    title="Values that can be asserted",
    sentence=(
        "The share of people whose value the intruder can assert, because guesses of which they were as sure were right of 95 "
        "in 100 other people. Nothing is subtracted: what is told of a whole group is told of each in it."
    ),
    answers="inference",
    by_attack=True,
    of_nobody=True,
    of_inference=True,
)
SUBGROUP_INFERENCE_EXCESS = Measure(
    name="subgroup_inference_excess",
    function="tasks.score.inference.estimate_subgroups",
    unit="share",
    largest=1,
    smallest=-1.0,
    better="lower",
    about="attribute",
    chance="0",
    rounding="hidden_share",
    says="inference_excess within a part of the people; a lower bound allows for the number of parts that are looked at",
    title="Inference beyond the population, in a subgroup",
    sentence="The same among the people of one part of the table.",
    by_attack=True,
    of_nobody=True,
    of_inference=True,
)
SUBGROUP_INFERENCE_ASSERTED = Measure(
    name="subgroup_inference_asserted",
    function="tasks.score.inference.estimate_subgroups",
    unit="share",
    largest=1,
    better="lower",
    about="attribute",
    chance="none",
    rounding="hidden_share",
    says="inference_asserted within a part of the people",
    title="Values that can be asserted, in a subgroup",
    sentence="The same among the people of one part of the table.",
    by_attack=True,
    of_nobody=True,
    of_inference=True,
)
INFERENCE_SUCCESS = Measure(
    name="inference_success",
    function="tasks.score.inference.estimate_members",
    unit="share",
    largest=1,
    better=None,
    about="attribute",
    chance="the most frequent value (of a number also the mean) guessed for everybody",
    rounding="share",
    says="share of members whose value is inferred by a learner trained on the release",
    title="Inferred by the release",
    sentence="The share of people in the release whose value a learner trained on the release guesses right.",
    by_attack=True,
    of_nobody=True,
    of_inference=True,
)
INFERENCE_CONTROL = Measure(
    name="inference_control",
    function="tasks.score.inference.estimate_excess",
    unit="share",
    largest=1,
    better=None,
    about="attribute",
    chance="none",
    rounding="share",
    says="the same of people who are not in the release",
    title="Inferred of others",
    sentence="The share of people who are not in the release whose value the same learner guesses right.",
    by_attack=True,
    of_nobody=True,
    of_inference=True,
)
INFERENCE_FROM_ORIGINAL = Measure(
    name="inference_from_original",
    function="tasks.score.inference.estimate_members",
    unit="share",
    largest=1,
    better=None,
    about="attribute",
    chance="none",
    rounding="share",
    says="the same of members if the original taught the learner",
    title="Inferred by the original",
    sentence="The share of people in the release whose value the learner would guess right if the original had taught it.",
    by_attack=True,
    of_nobody=True,
    of_inference=True,
)
INFERENCE_WITHOUT_TARGET = Measure(
    name="inference_without_target",
    function="tasks.score.inference.estimate_members",
    unit="share",
    largest=1,
    better=None,
    about="attribute",
    chance="none",
    rounding="share",
    says="the same if the original of other people taught the learner (adr, cross-validated): the rest is learned by heart",
    title="Inferred by the original of others (adr)",
    sentence=(
        "The share of people in the release whose value the learner would guess right if the original records of other people "
        "had taught it: nobody's own record is used."
    ),
    by_attack=True,
    of_nobody=True,
    of_inference=True,
)
INFERENCE_FROM_FEW = Measure(
    name="inference_from_few",
    function="tasks.score.inference.estimate_few",
    unit="share",
    largest=1,
    better=None,
    about="attribute",
    chance="none",
    rounding="share",
    says="share of members whose value is inferred from so few known attributes, greedily those that tell most",
    title="Inferred from few attributes",
    sentence=(
        "The share of people in the release whose value a learner trained on the release guesses right from so few attributes, "
        "those that tell most; other people chose them."
    ),
    by_attack=True,
    of_nobody=True,
    of_inference=True,
)
INFERENCE_EXCESS_FROM_FEW = Measure(
    name="inference_excess_from_few",
    function="tasks.score.inference.estimate_few",
    unit="share",
    largest=1,
    smallest=-1.0,
    better=None,
    about="attribute",
    chance="0",
    rounding="share",
    says="inference_from_few less the same of people who are not in the release",
    title="Inferred from few attributes, beyond the population",
    sentence="How much more often that is so of people who are in the release than of people who are not.",
    by_attack=True,
    of_nobody=True,
    of_inference=True,
)
MODEL_AGREEMENT = Measure(
    name="model_agreement",
    function="tasks.score.inference.estimate_agreement",
    unit="share",
    largest=1,
    better=None,
    about="attribute",
    chance="none",
    rounding="share",
    says="share of members of whom a model says the same, trained on the release or on the original (DDMBAR)",
    title="Agreement of models (DDMBAR)",
    sentence=(
        "The share of people in the release of whom a learner says the same, trained by the release or by the original. "
        "So good is the release for that learner. The simplest learners agree most: it is no disclosure."
    ),
    by_attack=True,
    of_nobody=True,
    of_inference=True,
)
MODEL_AGREEMENT_CONTROL = Measure(
    name="model_agreement_control",
    function="tasks.score.inference.estimate_agreement",
    unit="share",
    largest=1,
    better=None,
    about="attribute",
    chance="none",
    rounding="share",
    says="the same of people who are not in the release",
    title="Agreement of models on others",
    sentence="The share of people who are not in the release of whom both say the same.",
    by_attack=True,
    of_nobody=True,
    of_inference=True,
)
DECIDING = (INFERENCE_EXCESS.name, INFERENCE_ASSERTED.name)
CELL_MEMBERS_EXPOSED = Measure(
    name="cell_members_exposed",
    function="tasks.score.cell_figures.cell_members_exposed",
    unit="share",
    largest=1,
    better="lower",
    about="attribute",
    chance="none",
    rounding="share",
    says="share of people whose value follows from their cell for a coalition of members who subtract themselves",
    title="Members of cells exposed",
    sentence=(
        "The share of people whose value follows if so many other people of their cell take away their own values, the worst "
        "coalition for each person: a category for certain, a number within so many percent of a standard deviation."
    ),
    has_parameters=True,
)
CELL_HOMOGENEITY = Measure(
    name="cell_homogeneity",
    function="tasks.score.cell_figures.cell_members_exposed",
    unit="share",
    largest=1,
    better="lower",
    about="attribute",
    chance="none",
    rounding="share",
    says="share of people in whose cell everybody has one value, so that an outsider knows it (homogeneity attack)",
    title="People in homogeneous cells",
    sentence=(
        "The share of people in whose cell everybody has one value (of numbers: within so many percent of a standard deviation "
        "of one guess), so that an outsider who knows the cell knows the value."
    ),
    has_parameters=True,
)
T_CLOSENESS = Measure(
    name="t_closeness",
    function="tasks.score.cell_figures.cell_members_exposed",
    unit="share",
    largest=1,
    better=None,
    about="attribute",
    chance="none",
    rounding="statistic",
    says="largest distance between the shares of the categories in a cell and in the released table (skewness)",
    title="Skewness of cells (t-closeness)",
    sentence=(
        "The largest distance between the shares of the categories in a cell and in the whole table: what is believed of "
        "people of that cell beyond what is believed of everybody, though nothing need follow."
    ),
    has_parameters=True,
)
OF_CELLS = (CELL_MEMBERS_EXPOSED.name, CELL_HOMOGENEITY.name)
ANONYMETER_SINGLING_OUT = Measure(
    name="anonymeter_singling_out",
    function="tasks.score.anonymeter_risks.estimate_protocol",
    unit="share",
    largest=1,
    better=None,
    about="table",
    chance="none",
    rounding="share",
    says="singling out as anonymeter measures it, beside our own; it decides nothing",
    title="Singling out by anonymeter's protocol",
    sentence=(
        "How much more often predicates of released rows isolate one person in the release than one who is not in it. "
        "For comparison with reports of that tool alone: it misses most of what linkage and learners find."
    ),
    by_attack=True,
    of_inference=True,
)
ANONYMETER_LINKABILITY = Measure(
    name="anonymeter_linkability",
    function="tasks.score.anonymeter_risks.estimate_protocol",
    unit="share",
    largest=1,
    better=None,
    about="table",
    chance="none",
    rounding="share",
    says="linkability as anonymeter measures it, beside our own; it decides nothing",
    title="Linkability by anonymeter's protocol",
    sentence=(
        "How much more often two halves of a person have the same nearest row if the person is in the release. "
        "For comparison with reports of that tool alone: it misses most of what linkage and learners find."
    ),
    by_attack=True,
    of_inference=True,
)
ANONYMETER_INFERENCE = Measure(
    name="anonymeter_inference",
    function="tasks.score.anonymeter_risks.estimate_protocol",
    unit="share",
    largest=1,
    better=None,
    about="attribute",
    chance="none",
    rounding="share",
    says="inference as anonymeter measures it, beside our own; it decides nothing",
    title="Inference by anonymeter's protocol",
    sentence=(
        "How much more often the value of the nearest row is right for people in the release than for others. "
        "For comparison with reports of that tool alone: it misses most of what linkage and learners find."
    ),
    by_attack=True,
    of_inference=True,
)
