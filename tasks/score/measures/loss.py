"""Information loss: the declarations of its measures.

Functions: `tasks/score/loss.py`, `association.py`, `category_loss.py`, and `synthetic/` for propensity ratios.
"""

from __future__ import annotations

from tasks.score.measure import Measure

RECORDS_ABSENT = Measure(
    name="records_absent",
    function="tasks.score.loss.records_absent",
    unit="share",
    largest=1,
    better="lower",
    about="table",
    chance="none",
    rounding="exact",
    says="share of the source's records that are not released",
    title="Records absent",
    sentence="The share of the source's records that are not in the release: left out, suppressed or sampled away.",
    analyst="Counts and totals are those of fewer records, and who is missing may differ from who is there.",
)
SSE_PERCENT = Measure(
    name="sse_percent",
    function="tasks.score.loss.sse_percent",
    unit="percent",
    better="lower",
    about="table_and_attribute",
    chance="none",
    rounding="error",
    says="squared change of the masked numeric attributes in percent of their variation (100 * SSE / SST)",
    title="Information loss (SSE)",
    sentence=(
        "Squared change of the masked numbers, in percent of their variation: 0 is no change, 100 is what replacing "
        "every value by the mean would lose."
    ),
    analyst="This much of the differences between people is no longer true: single records and small groups are blurred.",
)
IL1S = Measure(
    name="il1s",
    function="tasks.score.loss.il1s",
    unit="sqrt(2) sd",
    better="lower",
    about="table_and_attribute",
    chance="none",
    rounding="error",
    says="mean absolute change of a masked numeric cell, in units of sqrt(2) standard deviations",
    title="Change per cell (IL1s)",
    sentence=(
        "Mean absolute change of a masked number, where 1 is the standard deviation of the difference of two random people."
    ),
    analyst="How far off a single released number is, on average.",
)
CELLS_CHANGED = Measure(
    name="cells_changed",
    function="tasks.score.loss.cells_changed",
    unit="share",
    largest=1,
    better="lower",
    about="table_and_attribute",
    chance="none",
    rounding="share",
    says="share of the masked cells that differ from the original",
    title="Cells changed",
    sentence="The share of the masked cells whose value differs from the original.",
    analyst="Single cells are not to be read as facts about people; counts of exact values move with this share.",
)
MEAN_DIFFERENCE = Measure(
    name="mean_difference",
    function="tasks.score.loss.mean_difference",
    unit="sd",
    better="lower",
    about="attribute",
    chance="none",
    rounding="statistic",
    says="distance between the original's and the release's mean, in standard deviations",
    title="Shift of the mean",
    sentence="The distance between the mean of the original and that of the release, in standard deviations of the original.",
    analyst="Averages and totals of the attribute are off by this much.",
    of_nobody=True,
)
COVARIANCE_DIFFERENCE = Measure(
    name="covariance_difference",
    function="tasks.score.association.covariance_difference",
    unit="sd^2",
    better="lower",
    about="table",
    chance="none",
    rounding="statistic",
    says="mean absolute difference of variances and covariances, in units of the original's standard deviations",
    title="Change of covariances",
    sentence="Mean absolute difference of variances and covariances, in units of the original's standard deviations.",
    analyst="Spread and joint variation, and with them standard errors and regression slopes, are off by about this much.",
    of_nobody=True,
)
CORRELATION_DIFFERENCE = Measure(
    name="correlation_difference",
    function="tasks.score.association.correlation_differences",
    unit="correlation",
    largest=2,
    better="lower",
    about="table",
    chance="none",
    rounding="statistic",
    says="mean absolute difference of the correlations of numeric attributes",
    title="Change of correlations",
    sentence="Mean absolute difference of the correlations between numeric attributes, over the pairs in which one was masked.",
    analyst="A typical correlation in the release is off by this much.",
    of_nobody=True,
)
LARGEST_CORRELATION_DIFFERENCE = Measure(
    name="largest_correlation_difference",
    function="tasks.score.association.correlation_differences",
    unit="correlation",
    largest=2,
    better="lower",
    about="table",
    chance="none",
    rounding="statistic",
    says="the same for the pair of attributes that suffered most",
    title="Largest change of a correlation",
    sentence="The absolute difference of the correlation between the two numeric attributes that suffered most.",
    analyst="No correlation between numeric attributes is off by more than this.",
    of_nobody=True,
)
RANK_CORRELATION_DIFFERENCE = Measure(
    name="rank_correlation_difference",
    function="tasks.score.association.rank_correlation_difference",
    unit="correlation",
    largest=2,
    better="lower",
    about="table",
    chance="none",
    rounding="statistic",
    says="mean absolute difference of Spearman's rank correlations of numeric and ordinal attributes",
    title="Change of rank correlations",
    sentence="Mean absolute difference of Spearman's rank correlations between numeric and ordinal attributes.",
    analyst="Monotone relations, also between ordinal codes, are off by this much on average.",
    of_nobody=True,
)
MARGINAL_DIFFERENCE = Measure(
    name="marginal_difference",
    function="tasks.score.synthetic.distribution_loss.marginal_difference",
    unit="share",
    largest=1,
    better="lower",
    about="table_and_attribute",
    chance="none",
    rounding="statistic",
    says=(
        "largest difference of the cumulative shares of a masked attribute in the source and in the release; of "
        "categories half the sum of the differences of their shares; the mean over the attributes"
    ),
    title="Difference of distributions",
    sentence=(
        "The largest difference of the cumulative shares of an attribute in the source and in the table; of categories "
        "half the sum of the differences of their shares. For the table the mean over the masked attributes, or over "
        "all that are published where the rows belong to nobody. With the survey weights, if there are any."
    ),
    analyst=(
        "No share that is read off an attribute, of a category or up to a bound, is off by more than that attribute's figure."
    ),
    of_nobody=True,
)
LARGEST_MARGINAL_DIFFERENCE = Measure(
    name="largest_marginal_difference",
    function="tasks.score.synthetic.distribution_loss.marginal_difference",
    unit="share",
    largest=1,
    better="lower",
    about="table",
    chance="none",
    rounding="statistic",
    says="the same for the attribute that suffered most",
    title="Largest difference of distributions",
    sentence="The difference of the distributions of the attribute that suffered most.",
    analyst="No share that is read off one attribute, of a category or up to a bound, is off by more than this.",
    of_nobody=True,
)
CATEGORIES_LOST = Measure(
    name="categories_lost",
    function="tasks.score.category_loss.categories_lost",
    unit="share",
    largest=1,
    better="lower",
    about="table_and_attribute",
    chance="none",
    rounding="statistic",
    says="share of the categories of masked attributes that no released row shows any more",
    title="Categories lost",
    sentence="The share of the categories of masked attributes that occur in the original and in no released row.",
    analyst="Nothing can be said of these categories; most of them are rare.",
)
CATEGORY_ASSOCIATION_DIFFERENCE = Measure(
    name="category_association_difference",
    function="tasks.score.category_loss.category_association_difference",
    unit="association",
    largest=1,
    better="lower",
    about="table",
    chance="none",
    rounding="statistic",
    says="mean absolute difference of the associations (Cramer's V) of categorical attributes with others",
    title="Change of associations of categories",
    sentence=(
        "Mean absolute difference of Cramer's V, over the pairs of attributes of which one is categorical and one was masked."
    ),
    analyst="The strength of a relation in a cross table is off by this much on average.",
)
PROPENSITY_RATIO = Measure(
    name="propensity_ratio",
    function="tasks.score.synthetic.propensity.propensity_ratio",
    unit="ratio",
    better="lower",
    about="table",
    chance="none",
    rounding="statistic",
    says=(
        "how much better a logistic regression tells the rows of a fully synthetic release from the source's records "
        "than it would if both came from one population (S_pMSE): about 1 if they do"
    ),
    title="Told apart by a model (S_pMSE)",
    sentence=(
        "How much better a logistic regression on ranks, squares and products tells the rows of the table from the "
        "records of the source than it would by luck."
    ),
    analyst=(
        "About 1: the tables cannot be told apart in means, spreads and pairwise relations; above 10: analyses will differ."
    ),
    of_nobody=True,
    only_of_nobody=True,
)
PROPENSITY_RATIO_LARGEST = Measure(
    name="propensity_ratio_largest",
    function="tasks.score.synthetic.propensity.propensity_ratio",
    unit="ratio",
    better=None,
    about="table",
    chance="none",
    rounding="statistic",
    says="the largest value that propensity_ratio can take for tables of this size: every row is told apart",
    title="The largest S_pMSE for tables of this size",
    sentence="What the figure above would be if every row of the table were told from the records of the source.",
    analyst="A limit beyond it could not be broken.",
    of_nobody=True,
    only_of_nobody=True,
)
TREE_PROPENSITY_RATIO = Measure(
    name="tree_propensity_ratio",
    function="tasks.score.synthetic.propensity.tree_propensity_ratio",
    unit="ratio",
    better="lower",
    about="table",
    chance="none",
    rounding="statistic",
    says=(
        "how much better a classification tree tells the rows of a fully synthetic release from the source's records "
        "than where the labels are permuted: about 1 if both came from one population, below 1 if rows are copies of "
        "records"
    ),
    title="Told apart by a tree",
    sentence=(
        "How much better a classification tree tells the rows of the table from the records of the source than where it "
        "is not said which is which."
    ),
    analyst=(
        "About 1: the tables cannot be told apart; above: relations of any kind differ; below 1: rows are copies of records."
    ),
    of_nobody=True,
    only_of_nobody=True,
)
TREE_PROPENSITY_RATIO_LARGEST = Measure(
    name="tree_propensity_ratio_largest",
    function="tasks.score.synthetic.propensity.tree_propensity_ratio",
    unit="ratio",
    better=None,
    about="table",
    chance="none",
    rounding="statistic",
    says="the largest value that tree_propensity_ratio can take for tables of this size: every row is told apart",
    title="The largest ratio of the tree for tables of this size",
    sentence="What the figure above would be if every row of the table were told from the records of the source.",
    analyst="A limit beyond it could not be broken.",
    of_nobody=True,
    only_of_nobody=True,
)
