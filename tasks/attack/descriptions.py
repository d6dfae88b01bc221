"""What is said of an intruder: what they know of the data and the masking, and how far it can be concluded from."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.attack.linkage.holding import describe_holdings
from tasks.attack.threat import Intruder
from tasks.mask.intruder_belief import Belief
from tasks.mask.methods import Mechanism
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.words import join_with_and


@dataclass(frozen=True, slots=True)
class DataKnowledge:
    """What an intruder knows of the data, for the sentence of an attack about it. complete: are all records released?"""

    intruder: Intruder
    complete: bool

    @property
    def participation(self) -> str:
        """What they know of who is in the release."""
        if not self.intruder.participation_known:
            return "not whether a record is in the release"
        return "that each of them is in the release" if self.complete else "of those that are in the release, that they are"

    def describe(self, *, own_file: bool, of_attributes: str = "", of_records: str = "") -> str:
        """The attributes and the records that the intruder knows.

        own_file: is what their own file has instead of the original values used? of_attributes, of_records: what else is to be
        said of these.
        """
        who = self.intruder
        every = "every record" if who.records == 1 else f"{100 * who.records:.3g} % of the records, drawn at random"
        chosen = " (those that leave the released records least alike, chosen one by one)" if who.greedy else ""
        known, there = f"{join_with_and(who.knows)} of {every}{chosen}{of_attributes}", self.participation + of_records
        if who.holds and own_file:
            return f"{known}, in a file of their own: {describe_holdings(who.holds)}; and {there}"
        return f"the original {known}, and {there}"


def describe_source_knowledge(intruder: Intruder) -> str:
    """What an intruder knows of the data who attacks rows that belong to nobody, whoever went into them."""
    held = f", in a file of their own: {describe_holdings(intruder.holds)}" if intruder.holds else ", as it has them"
    whose = "every record" if intruder.records == 1 else f"{100 * intruder.records:.3g} % of the records"
    return f"{join_with_and(intruder.knows)} of {whose} of the source{held}"


def describe_file_knowledge(intruder: Intruder, truth: GroundTruth) -> str:
    """What the holder of a file knows of the data: how many are in it, and how many of them in the release; no value of it."""
    there = "of those who are in the release, that they are" if intruder.participation_known else "not who is in the release"
    n, n_there = truth.units.n_units, int((truth.released_sizes > 0).sum())
    file = intruder.file
    converted = f", converted: {describe_holdings(file.convert)}" if file is not None and file.convert else ""
    names = intruder.name.partition(":")[2].split("+")  # of files that are used together
    whose, have = "an external file", "file has"
    if len(names) > 1:
        whose, have = f"the external files {join_with_and(names)} together", "files have"
    of = f"the {n:,} {truth.units.counts} of {whose}, of which {n_there:,} are in the release"
    return f"{join_with_and(intruder.knows)} of {of}, as the {have} them{converted}; and {there}"


def describe_known_steps(mechanisms: tuple[Mechanism, ...]) -> str:
    """What the intruder knows of the masking, who knows the steps."""
    steps = ", then ".join(_describe_step(step) for step in mechanisms) or "no step"
    return f"the masking steps and their parameters, not the seed: {steps}"


def describe_unclear_attributes(knowledge: Belief) -> str:
    """Attributes whose masking says nothing for sure."""
    names = join_with_and(knowledge.unclear)
    told = f"; heuristic in {names}, of which nothing is concluded and only the distance is used" if names else ""
    ranked = join_with_and(name for law in knowledge.likelihoods if law.begins is not None for name in law.names)
    return told + (f"; the order of the candidates is heuristic in {ranked}, by a law of ranks" if ranked else "")


def describe_exchanges(names: tuple[str, ...]) -> str:
    """Attributes of which it is used that their values were exchanged in pairs."""
    return f"; that in {join_with_and(names)} the values were exchanged in pairs"


def soundness(intruder: Intruder, *, complete: bool, sampled: bool, nearly: bool = False) -> str:
    """Is the true row sure to be among the candidates? nearly: but for a chance of 1e-6, as noise has no bound."""
    if sampled and intruder.participation_known and not complete:
        return (
            "; they know who was sampled, look for nobody else, and repeat what came after the sampling on these alone; the "
            "candidate sets are sound: the true row of a sampled record is never left out"
        )
    if not complete:
        return (
            "; heuristic, not sound: records of the source are absent from the release, so that what is repeated on all "
            "records need not be what was done to the released ones"
        )
    if not intruder.participation_known:
        return "; the candidate sets are not sound, because the record may not be in the release"
    never = "left out with a chance of at most 1e-6, as noise has no sure bound" if nearly else "never left out"
    return f"; the candidate sets are sound: the true row is {never}"


def _describe_step(step: Mechanism) -> str:
    return step.rule if step.by is None else f"{step.rule}, within each stratum by {join_with_and(step.by)}"
