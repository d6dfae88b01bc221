"""The words that each measure declares, adapted to what a table's units are called."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tasks.microdata.numbers import SPACE
from tasks.microdata.units import Counts
from tasks.report.wording.units import substitute_unit
from tasks.score.catalogue import MEASURES
from tasks.score.measures.disclosure import K_ANONYMITY

THE_FILE = "the file"


@dataclass(frozen=True, slots=True)
class Meaning:
    """A measure for readers: what it is called, what it says, and (losses) what it means for an analyst."""

    title: str
    sentence: str
    analyst: str = ""


MEANINGS = {
    one.name: Meaning(*(text.replace(" %", f"{SPACE}%") for text in (one.title, one.sentence, one.analyst)))
    for one in MEASURES.values()
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
    if measure.startswith(K_ANONYMITY.name):
        return replace(
            words, sentence=words.sentence.replace("number of released records that", "number of persons whose records")
        )
    texts = (words.title.replace("Records", "Persons").replace("record risk", "risk of a person"), words.sentence)
    title, sentence = (text.replace("attacked records", "attacked persons") for text in texts)
    return replace(words, title=title, sentence=sentence)
