"""Which attempts of a series are on one source, and which of them are different. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tasks.audit.ledger.entries import AttemptMade

AttemptId = tuple[str, str, str, str]  # source, masking, draw, policy


def count_attempts(earlier: Sequence[AttemptMade], source_file: str, attempt: AttemptId) -> int:
    """How many different attempts there are on the source of one, itself included. earlier: those of its series.

    A repetition of the same masking, draw and policy on the same table is no new attempt: nothing is drawn and nothing decided
    anew.
    """
    same = attempts_on_source(earlier, attempt[0], source_file)
    return len({(one.source, one.masking, one.draw, one.policy) for one in same} | {attempt})


def attempts_on_source(attempts: Sequence[AttemptMade], source: str, source_file: str) -> list[AttemptMade]:
    """The attempts that masked the same source, whatever types, scales or file format it was read with.

    Two attempts share a source if their files have the same keyed digest, or their typed tables the same address, or a chain
    of other attempts connects them in that way. Example: the file F read as the table S, F read again as T because the scale
    of a column was changed, and T exported to another file G: all three are one source. More attempts can only connect more,
    so that the count never falls.
    """
    tables, files = {source}, {source_file}
    found: list[AttemptMade] = []
    while len(same := [one for one in attempts if one.source in tables or one.source_file in files]) > len(found):
        found = same
        tables.update(one.source for one in found)
        files.update(one.source_file for one in found)
    return found
