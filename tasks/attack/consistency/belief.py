"""How probable each pair is that is left: belief propagation among records, rows, and the pairs that imply each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.attack.consistency.exchanges import Exchange, KindCounts
from tasks.attack.consistency.orbits import PossiblePairs
from tasks.attack.consistency.propagation import classify_changes
from tasks.attack.consistency.tolerance import PartnerKinds
from tasks.microdata.table import Booleans, Floats, Integers

ROUNDS = 40
DAMPING = 0.5
MOST = 40.0  # of a message, up or down: what a sum of a million terms does not notice


@dataclass(frozen=True, slots=True)
class Groups:
    """Which of n groups each pair is in, of: shape (e,); the pairs in order of their groups, and where each group begins."""

    of: Integers
    n: int
    order: Integers
    starts: Integers

    @classmethod
    def create_from_numbers(cls, of: Integers, n: int) -> Groups:
        order = np.argsort(of, kind="stable")
        return cls(of, n, order, np.flatnonzero(np.append(True, np.diff(of[order]) > 0))[: len(of)])

    def log_sum(self, values: Floats, beside: float = -np.inf) -> Floats:
        """Shape (n,): the logarithm of the sum of e^value in each group, and of e^beside."""
        found = np.full(self.n, beside)
        if len(values):
            total: Floats = np.logaddexp.reduceat(values[self.order], self.starts)
            position = self.of[self.order[self.starts]]
            found[position] = np.logaddexp(found[position], total)
        return found


def beliefs(pairs: PossiblePairs, exchanges: tuple[Exchange, ...], counts: KindCounts, prior: Floats) -> Floats:
    """Shape (e,): the logarithm of how much more probable than not each pair is, up to what loops in the graph do to it.

    Meaning: a pair is on or off. Each record has one row, each row one record (or a stranger's, where the intruder does not
    hold all); and a pair whose values were exchanged is on if and only if the pair of its partner is.
    Formula in words: sum-product messages in logarithms. A record tells a pair how little the others of its rows are worth:
    -log of the sum of e^(what each says of itself); so does a row. Over an attribute the pair hears what its partner says of
    itself; of several possible partners, the logarithm of their sum. What a pair says is its prior and all it hears but from
    whom it says it to. DAMPING of the last message is kept, ROUNDS times; messages are within -MOST..MOST.
    prior: shape (e,), e.g. the logarithm of the probability of what the row shows, times the number of rows.

    Where partners are unknown, nothing is heard. Kinds of several records count as one: of these it is a rough guide only.
    Cost: O(e) per attribute and round. Source: Kschischang, Frey and Loeliger (2001), "Factor graphs and the sum-product
    algorithm"; the graph is of this project.
    """
    records, rows = (
        Groups.create_from_numbers(pairs.records, len(counts.records)),
        Groups.create_from_numbers(pairs.rows, pairs.n_rows),
    )
    partners = [_create_partners(exchange, pairs) for exchange in exchanges]
    beside = -np.inf if counts.all_records else float(np.log1p(-min(counts.records.sum() / counts.rows.sum(), 1 - 1e-9)))
    heard = np.zeros((2 + len(partners), len(prior)))
    for _ in range(ROUNDS):
        says = prior + heard.sum(axis=0) - heard
        new = [_others(records, says[0], -np.inf), _others(rows, says[1], beside)]
        new += [partner.hear(message) for partner, message in zip(partners, says[2:], strict=True)]
        heard = DAMPING * heard + (1 - DAMPING) * np.clip(np.array(new), -MOST, MOST)
    total: Floats = prior + heard.sum(axis=0)
    return total


def _others(groups: Groups, values: Floats, beside: float) -> Floats:
    """What the other members of a pair's group, and what stands beside them, leave to it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        total = groups.log_sum(values, beside)[groups.of]
        rest = total + np.log1p(-np.exp(np.minimum(values - total, 0.0)))
    return -np.where(np.isnan(rest), -np.inf, rest)


@dataclass(frozen=True, slots=True)
class _Partners:
    """The kinds of change of each pair in one attribute, the kind that its partner is of, and whether it needs one."""

    kinds: Groups
    opposite: Integers
    needs: Booleans

    @classmethod
    def create_from_exchange(cls, exchange: Exchange, pairs: PossiblePairs) -> _Partners:
        kind, opposite, n = classify_changes(exchange, pairs.records, pairs.rows)
        return cls(Groups.create_from_numbers(kind, n + 2), opposite, (opposite != n) & (opposite != kind))

    def hear(self, message: Floats) -> Floats:
        return np.where(self.needs, self.kinds.log_sum(message)[self.opposite], 0.0)


@dataclass(frozen=True, slots=True)
class _PartnersWithinBounds:
    """The same where values are shown within bounds."""

    kinds: Groups
    partners: PartnerKinds

    def hear(self, message: Floats) -> Floats:
        return self.partners.hear(self.kinds.log_sum(message))


def _create_partners(exchange: Exchange, pairs: PossiblePairs) -> _Partners | _PartnersWithinBounds:
    if exchange.tolerance is None:
        return _Partners.create_from_exchange(exchange, pairs)
    partners = PartnerKinds.create_from_exchange(exchange, exchange.tolerance, pairs.records, pairs.rows)
    return _PartnersWithinBounds(Groups.create_from_numbers(partners.of_pair, partners.n), partners)


def likeliest(pairs: PossiblePairs, belief: Floats) -> tuple[Integers, Integers]:
    """For each record the rows of the largest belief, as starts and rows; within 1e-6 they are equal."""
    records = Groups.create_from_numbers(pairs.records, len(pairs.starts) - 1)
    largest = np.full(records.n, -np.inf)
    np.maximum.at(largest, records.of, belief)
    best = pairs.select_pairs(belief >= largest[records.of] - 1e-6)
    return best.starts, best.rows
