"""The transparency attack: the intruder knows how the table was masked, and leaves out every row that cannot be the image."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np
from pydantic import Field

from tasks.attack.base import AttackContext, AttackDescription, AttackFindings, AttackTraits, Files, Gaps
from tasks.attack.descriptions import DataKnowledge, describe_unclear_attributes
from tasks.attack.mechanism_attack import MechanismAttack, describe_soundness, prepare_following
from tasks.attack.neighbours.record_comparison import Comparison
from tasks.attack.outcomes.bounded import OnlyBounded
from tasks.attack.outcomes.links import Links
from tasks.attack.transparency.belief_conditions import arrange_knowledge
from tasks.attack.transparency.best_images import intersect_conditions
from tasks.attack.transparency.estimated_evidence import describe_estimates
from tasks.attack.transparency.global_matching import assign_likeliest_rows
from tasks.attack.transparency.image_marginals import Marginals, compute_marginals, refuse_too_many_pairs
from tasks.attack.transparency.image_posterior import posterior
from tasks.attack.transparency.intersection import Conditions
from tasks.attack.transparency.scores import score_images
from tasks.attack.transparency.searched_part import FoundImages, find_searched_part
from tasks.mask.external_release.released import Undeclared
from tasks.mask.intruder_belief import Belief
from tasks.mask.methods import Mechanism, infer_belief
from tasks.mask.ranks.rank_jitter import RankJitter
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.errors import AttackFailed, InputError, NotApplicable, NotFollowed
from tasks.microdata.schema import Schema
from tasks.microdata.spec import Percent, Public
from tasks.microdata.table import Booleans, Integers, Microdata
from tasks.microdata.units import person_key
from tasks.microdata.words import join_with_and

Matching = Literal["likeliest", "one_to_one", "marginals"]
Narrow = Callable[[Comparison, Conditions, Belief], Conditions]


class Transparency(MechanismAttack):
    """Parameters of the transparency attack.

    id: what the attack is called in figures and policy lines; default: the method's name.
    matching: `likeliest`: each record for itself; `one_to_one`: all records together, no row for two of them, where the
        intruder holds the whole original of a complete release; `marginals`: as that, and to each record the row that
        is most probably its own over all ways to give out the rows, which links more wherever there is doubt.
    probabilities: also say how probable each row is (`posterior`), where it is known that the records are in the release: the
        figure `posterior_at_truth`, and how often claims come true.
    window_at_most: for an intruder who does not know the windows of rank swapping and rank jitter: a bound on them, in percent
        of the records. Too high a bound leaves them more rows to choose from, and never none. Such an attack stands beside the
        one that knows the windows, which is still required.
    """

    about = AttackDescription(
        title="Transparency attack",
        infers="leaves out every released row that cannot be the record's image, then takes the likeliest and nearest",
        note="",
        knows_of_data="the original values of the known attributes, of all records",
        knows_of_masking="the steps and their parameters, not the seed",
        parameters="id, matching (likeliest, one_to_one, marginals), probabilities (true: also posterior_at_truth)",
        holder=None,
        is_worst_case=False,
        has_probabilities=False,
        required_by="masking steps",
        required_form=" (each record for itself, knowing the windows)",
    )

    method: Public[Literal["transparency"]]
    matching: Public[Matching] = "likeliest"
    probabilities: Public[bool] = False
    window_at_most: Public[Percent | None] = Field(None, exclude_if=lambda given: given is None)

    @property
    def rule(self) -> str:
        """What the attack does, in words."""
        if self.window_at_most is None:
            return RULES[self.matching]
        only = f"knowing of the windows in ranks only that they are at most {self.window_at_most:g} percent"
        return f"{RULES[self.matching]}, {only}"

    @property
    def traits(self) -> AttackTraits:
        together = self.matching != "likeliest"
        return AttackTraits(
            searches_originals=False,
            scale_by="release",
            assigns_together=together,
            depends_on_others=together,
            needs_originals=True,
            uses_external_files=False,
            needs_all_records="it weighs all records of the source together" if together else None,
            reads_similar_rows=False,
            attacks_synthetic_rows=False,
            is_required_form=not together and self.window_at_most is None,
            sample_size=None,
        )

    def describe_known_data(self, conclusions: DataKnowledge) -> str:
        return conclusions.describe(own_file=False)

    def check_parameters(self, steps: tuple[Mechanism, ...], where: str) -> None:
        """Refuse a bound on windows that no step has, or that a step breaks."""
        if self.window_at_most is None:
            return
        where = f"{where}.window_at_most"
        found = (step.window_percent for step in steps if isinstance(step, RankSwapping | RankJitter))
        widest = max((window for window in found if window is not None), default=None)
        if widest is None:
            what, allowed = "no masking step moves values within a window of ranks", "a release with rank swapping or jitter"
            raise InputError("bound-without-window", where, what, allowed, "take it out", self.window_at_most)
        if self.window_at_most < widest:
            what = "a masking step moves values further than the bound that the intruder is said to have"
            remedy = "raise the bound; too high a one only leaves the intruder more rows to choose from"
            allowed = f"at least {widest:g}, the widest window"
            raise InputError("window-above-its-bound", where, what, allowed, remedy, self.window_at_most)

    def find_gaps(self, context: AttackContext) -> Gaps:
        """As of every attack that follows the steps; of somebody who has all records the links themselves say it."""
        return Gaps() if context.held is None else super().find_gaps(context)

    def list_unfollowed(self, files: Files, *, present: Integers | None, n_records: int) -> frozenset[str]:
        conclusions = follow_steps(*files, present=present, n_records=n_records, window_at_most=self.window_at_most)
        return frozenset(conclusions.unclear)

    def explain_gap(self, mechanisms: tuple[Mechanism, ...], names: tuple[str, ...]) -> str:
        return why_lost(mechanisms, names)

    def run(self, context: AttackContext) -> AttackFindings:
        how, complete, certain = (
            prepare_following(context),
            context.truth.alignment.complete,
            context.intruder.participation_known,
        )
        if self.matching != "likeliest" and not (complete and certain):
            raise NotApplicable("one to one, they have to know that all their records are in the release")
        links, knowledge = link_by_mechanism(
            *context.files, **how, matching=self.matching, window_at_most=self.window_at_most, only_links=not self.probabilities
        )
        conclusions = self.probabilities and context.held is None and certain and (complete or how["present"] is not None)
        links = replace(links, posterior=(links.posterior or posterior(links, how["searching"])) if conclusions else None)
        estimates = describe_estimates(links.evidence_levels)
        remark = describe_unclear_attributes(knowledge) + estimates + describe_soundness(context)
        if knowledge.lost:
            raise OnlyBounded(why_lost(context.mechanisms, knowledge.lost), links, remark=remark)
        return AttackFindings(links, remark)


RULES = {
    "likeliest": Transparency.about.infers,
    "one_to_one": "leaves out every released row that cannot be the record's image, then assigns the records to the rest one "
    "to one, so that all together is most probable",
    "marginals": "leaves out every released row that cannot be the record's image, then takes the row that is most probably "
    "its own, no row being two records'",
}


def link_by_mechanism(
    original: Microdata,
    masked: Microdata,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    knows: tuple[str, ...],
    *,
    few: int = 0,
    searching: Integers | None = None,
    present: Integers | None = None,
    matching: Matching = "likeliest",
    narrow: Narrow | None = None,
    n_records: int | None = None,
    window_at_most: float | None = None,
    only_links: bool = False,
) -> tuple[Links, Belief]:
    """Link each record to the likeliest rows among those that can be its image, and of these to the nearest.

    Meaning: the intruder knows the masking steps and their parameters, but not the seed.
    Formula in words: for each known attribute the set B_j of rows that can be the record's image (rank swapping: those within
    the window by the ranks of the released column; microaggregation: those that show what repeating the partition gives;
    attributes that no step touched: those that are equal; PRAM: those that the matrix does not exclude; noise: those with a
    value, after factors of the same sign); the intersection over the attributes; in it the rows of the largest posterior
    probability by the matrices of PRAM and the densities of noise together (`likelihood`); of several the nearest by that of
    `comparison` over the attributes without such a law, by the release's scale, ties shared.
    Densities leave hardly two rows equal: where there is noise, ordered attributes of which nothing is concluded, or bounds
    alone, therefore count as if noise of the release's standard deviation had been added to them.

    Parameters
    ----------
    original, masked: the intruder's n records and the m released rows; the order of their rows is not used.
    mechanisms: the masking steps in order, with their attributes. knows: the attributes the intruder knows.
    few: sound sets of at most so many rows are written out in the links.
    searching: the records whose links are wanted; default: all. The intruder still holds all, and nothing found changes, but
        for the better estimate of one row or another where the law of noise is estimated.
    matching: `one_to_one`: all records are given to the rows together (`assign_likeliest_rows`); `marginals`: each is
    linked to the
        row of the largest probability that no row is two records' (`marginals`).
    present: the records of whom they know that they are released, ascending, where they know that of everybody: they follow the
    steps after a sampling on these alone, and looks for no others.
    narrow: what another attack concludes besides, from the distinct records and rows, and the conditions so far.
    window_at_most: as in `Transparency`; the windows of the steps are then not used.
    n_records: of the source, m at least; default: they hold all of them. Somebody who has a share repeats nothing that depends
    on all.
    only_links: nothing is asked of the image scores. Of a large table then only the rows are looked at that can have to do with
    the wanted records (`find_searched_part`).

    Returns the links, with the sizes of the intersections (sound: the true row is never left out if every record is in the
    release and the steps are those that were applied), and what was concluded of each attribute, with those of which nobody
    could conclude anything (`lost`). By chance the credit is 1/n.

    A record whose intersection is empty is not released, and has no guess. An intersection that holds rows, but not the true
    one, cannot be noticed here: who knows the true row asks `Links.rules_out`.

    Raises NotApplicable where no steps are known or the intruder knows too little to conclude anything, and one to one where
    records are absent; NotFollowed where nobody could conclude anything, because a later step hides a law; AttackFailed where
    more of the wanted intersections are empty than records are absent: then the steps or their parameters are not what was
    applied to the whole table.
    Cost: O(n log n) where an attribute is predicted to the value, O(n * rows within the window) for swaps alone, n being
    the wanted records. Where there are laws, what speaks for a row is summed over all records, however few are wanted: for
    PRAM over kinds of records and rows; for noise over the records within nine of its standard deviations, a share of all
    that does not shrink as the table grows (`image_trees`; the sums are right to 1e-12). Of more than 30,000 records with
    noise, or with PRAM beside ranks that moved, the sums are estimated, and only for rows that can be somebody's likeliest
    (`estimated_evidence`). Memory is linear.
    Source: Nin, Herranz and Torra (2008); Torra (2016). Done otherwise than there: ranks of the released column
    with ties widening the window, and a partition that is repeated instead of estimated from the centroids.
    Example: after joint microaggregation with distinct records each intersection is exactly the record's group.
    """
    n, everybody = original.n, np.arange(original.n)
    n_records = n_records or n
    if matching != "likeliest" and (masked.n != n or n_records != n or present is not None):
        raise NotApplicable("one to one, they have to hold the whole original of a complete release")
    who_holds = partial(follow_steps, original, masked, schema, mechanisms, present=present, n_records=n_records)
    follow = partial(who_holds, window_at_most=window_at_most)
    knowledge = follow(knows)
    if narrow is None and knowledge.unclear and n_records == n:  # somebody who has a share lacks the others, as declared
        lost = set(follow(masked.names).unclear)
        knowledge = replace(knowledge, lost=tuple(name for name in knowledge.unclear if name in lost))
    if narrow is None and not knowledge.shown and not knowledge.between and not knowledge.likelihoods:
        if knowledge.lost:
            raise NotFollowed(why_lost(mechanisms, knowledge.lost))
        raise NotApplicable("what the intruder knows does not suffice to conclude anything from the masking steps")
    who = everybody if present is None else present
    followed = who if knowledge.believed.n < n else everybody
    original = original if len(followed) == n else original.take(followed)
    both, conditions = arrange_knowledge(original, masked, schema, knows, knowledge)
    knowledge = knowledge.drop_intervals()  # what they exclude is in the conditions
    conditions = conditions if narrow is None else narrow(both, conditions, knowledge)
    knowledge = knowledge.drop_records()
    is_held, is_wanted = np.zeros(n, dtype=bool), np.full(n, searching is None)
    is_held[who] = True
    is_wanted[searching if searching is not None else who] = True
    sought = (is_held & is_wanted)[followed]
    kinds = both.own_of_record[sought]
    wanted = np.bincount(kinds, minlength=len(both.own)) > 0
    in_part = only_links and narrow is None and matching != "one_to_one"
    part = find_searched_part(both, conditions, wanted) if in_part else None
    if part is None:
        found = _find_images(both, conditions, wanted, few, matching)
    else:
        found = part.expand_images(_find_images(part.both, part.conditions, wanted[part.records], few, matching), both)
    without_image = (found.sizes == 0)[both.own_of_record][wanted[both.own_of_record]]
    n_absent = n_records - masked.n if original.n == n else 0  # at most so many of their records can be
    if without_image.sum() > n_absent:
        share = float(without_image.mean())
        raise AttackFailed(
            f"no released row can be the image of {share:.2%} of the records: the stated steps are not those that were applied"
        )
    by_law = conditions.likelihoods.any
    links = Links(
        both.shown_of_row,
        both.own_of_record if len(followed) == len(who) else both.own_of_record[who],
        found.starts,
        found.classes,
        found.sizes,
        found.small,
        conditions,
        found.scores if by_law and part is None else None,
        evidence_levels=found.scores.levels if by_law else None,
        posterior=found.marginals,
    )
    return (links if present is None else links.expand_links(present, n)), knowledge


def _find_images(both: Comparison, conditions: Conditions, searching: Booleans, few: int, matching: Matching) -> FoundImages:
    if matching == "marginals":
        refuse_too_many_pairs(conditions)
    whole = score_images(conditions, searching=searching if matching == "likeliest" else None)
    starts, classes, sizes, small = intersect_conditions(both, conditions, whole, searching=searching, few=few)
    marginals: Marginals | None = None
    if matching == "one_to_one":
        starts, classes = assign_likeliest_rows(both, conditions, whole)
    elif matching == "marginals":
        marginals = compute_marginals(both, whole)
        starts, classes = marginals.likeliest(both)
    return FoundImages(starts, classes, sizes, small, whole, marginals)


def follow_steps(
    original: Microdata,
    masked: Microdata,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    knows: tuple[str, ...],
    *,
    present: Integers | None = None,
    n_records: int | None = None,
    window_at_most: float | None = None,
) -> Belief:
    """What an intruder concludes from the steps, as `infer_belief` does. Parameters and errors: as `link_by_mechanism`."""
    if not mechanisms:
        raise NotFollowed("no masking step is known")
    try:
        of_whom = person_key(original, schema)
        own_records, conclusions = original.select(knows), {"persons": of_whom, "window_at_most": window_at_most}
        return infer_belief(own_records, masked, schema, mechanisms, present, n_records=n_records, **conclusions)
    except InputError as error:
        raise AttackFailed(f"a masking step cannot be repeated on the intruder's records ({error.code})") from error


def why_lost(mechanisms: tuple[Mechanism, ...], lost: tuple[str, ...]) -> str:
    """Why nobody can follow what the steps did to some attributes."""
    undeclared = {name for step in mechanisms if isinstance(step, Undeclared) for name in step.target_attributes}
    unknown, hidden = ([name for name in lost if (name in undeclared) == wanted] for wanted in (True, False))
    steps = ", then ".join(step.method for step in mechanisms if not set(step.target_attributes).isdisjoint(hidden))
    conclusions = [f"nobody declared how the table was masked in {join_with_and(unknown)}"] if unknown else []
    conclusions += [f"what the steps did to {join_with_and(hidden)} cannot be followed: {steps}"] if hidden else []
    return "; ".join(conclusions)
