"""The released rows that can be a record's image, and how likely each is: what joining releases starts from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.attack.neighbours.distances import compute_record_distance
from tasks.attack.neighbours.record_comparison import Comparison, create_comparison
from tasks.attack.neighbours.ties import ensure_capacity
from tasks.attack.transparency.scores import (
    MISSING,
    UNBOUNDED,
    ImageScores,
    complete_scores,
    find_images,
    find_likely_images,
    score_images,
)
from tasks.attack.transparency.transparency import link_by_mechanism
from tasks.mask.methods import Mechanism
from tasks.microdata.compiled import njit
from tasks.microdata.errors import NotApplicable, NotFollowed
from tasks.microdata.schema import Schema
from tasks.microdata.table import Booleans, Floats, Integers, Microdata

LEAST_LIKELY = 25.0  # a row e^-25 times as likely as a record's likeliest one is left out, where laws are known
FEWEST_KEPT = 400  # rows of a record that are kept where laws leave many
WANTED_IMAGES = 24_000_000  # of all records, where laws leave more and nothing else is compared
MOST_IMAGES = 60_000_000  # kinds of rows of all records: 1 GB
_UNKNOWN = dict.fromkeys(("own", "shown"), "a missing value, which `compute_record_distance` asks for")


@dataclass(frozen=True, slots=True)
class Images:
    """The possible images of the records in one release.

    kind_of_record: shape (n,), which distinct record each is, -1 for those of whom no image is looked for. kind_of_row: shape
    (m,). Of distinct record u the distinct rows are kinds[starts[u]:starts[u + 1]]; score: the logarithm of the probability
    (density) that the record's row shows what the row shows, up to a term of the record. How likely others are to show it is
    asked when all releases are joined: rows of one person are not independent.
    is_sound: are the true rows sure to be among them?
    """

    kind_of_record: Integers
    kind_of_row: Integers
    starts: Integers
    kinds: Integers
    score: Floats
    is_sound: bool


def list_images(
    original: Microdata,
    masked: Microdata,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    knows: tuple[str, ...],
    *,
    present: Integers | None = None,
    n_records: int | None = None,
    most: int | None = None,
) -> Images:
    """What the transparency attack concludes of each record, and the distance where nothing follows from the steps.

    Parameters: as `link_by_mechanism`. most: of a record so many of the likeliest rows are kept where laws are known; default:
    400, and more in a small table. Rows that are less than e^-25 times as likely as the likeliest one are left out too.
    Raises AttackFailed as `link_by_mechanism`, NotApplicable where the intruder knows none of the published attributes,
    NotFollowed for more than `MOST_IMAGES` images.
    Cost: that of the attack, and O(n m d) for laws and distances.
    """
    knows = tuple(name for name in knows if name in masked.names and name in original.names)
    if not knows:
        raise NotApplicable("the intruder knows no attribute that the release publishes")
    most = max(FEWEST_KEPT, WANTED_IMAGES // max(original.n, 1)) if most is None else most
    nobody = np.empty(0, dtype=np.int64)
    try:
        links, knowledge = link_by_mechanism(
            original, masked, schema, mechanisms, knows, searching=nobody, present=present, n_records=n_records
        )
    except NotApplicable:
        return _list_nearest(create_comparison(original, masked, schema, knows, "release"), present)
    assert links.conditions is not None  # noqa: S101  these links always follow from conditions
    by_law = links.conditions.likelihoods.any
    whole = score_images(links.conditions) if links.image_scores is None else links.image_scores
    whole = complete_scores(whole, links.conditions.likelihoods.records)
    starts, kinds, score, cut = _list_images(whole, by_law, most, MOST_IMAGES)
    if cut < 0:
        raise NotFollowed(f"more than {MOST_IMAGES:,} rows can be the images of the records: too many to join releases by")
    who = links.search_class
    if present is not None:
        who = np.where(np.isin(np.arange(original.n), present), who, -1)
    sound = cut == 0 and not knowledge.blurred
    return Images(who, links.found_class, starts, kinds, score, sound)


def _list_nearest(both: Comparison, present: Integers | None) -> Images:
    """Where nothing follows from the steps: rows by their distance, as if noise as large as the nearest rows are far."""
    plain = (both.own, both.shown, both.nominal, both.weight)
    nearest = _measure_nearest(*plain)
    spread = max(float(np.mean(nearest)), 1e-9)
    starts, kinds, score = _list_by_distance(*plain, spread, FEWEST_KEPT)
    who = both.own_of_record
    if present is not None:
        who = np.where(np.isin(np.arange(len(who)), present), who, -1)
    return Images(who, both.shown_of_row, starts, kinds, score, False)


@njit(missing=MISSING, infinite=UNBOUNDED)
def _list_images(whole: ImageScores, by_law: bool, of_record: int, most: int) -> tuple[Integers, Integers, Floats, int]:
    """Starts, kinds and scores; last whether likely rows were left out (1), or there are more than `most` (-1)."""
    r = len(whole.conditions.own_at)
    starts, used, cut = np.zeros(r + 1, dtype=np.int64), 0, 0
    kinds, score = np.empty(r + 16, dtype=np.int64), np.empty(r + 16)
    possible, scores = np.empty(len(whole.sizes), dtype=np.int64), np.empty(len(whole.sizes))
    for i in range(r):
        if len(whole.places.least):  # with noise: nobody asks whether rows were left out, for none of them is impossible
            n = find_likely_images(i, whole, LEAST_LIKELY, possible, scores)
            order = np.argsort(possible[:n])
            possible[:n], scores[:n] = possible[:n][order], scores[:n][order]
        else:
            n = find_images(i, whole, possible, scores)
        least = -np.inf
        if by_law and n > 0:
            least = scores[:n].max() - LEAST_LIKELY
            if n > of_record:
                least = max(least, np.partition(scores[:n], n - of_record)[n - of_record])
        for e in range(n):
            if by_law and scores[e] < least:
                cut = 1
                continue
            if used == most:
                return starts, kinds[:used].copy(), score[:used].copy(), -1
            kinds, score = ensure_capacity(kinds, used), ensure_capacity(score, used)
            kinds[used], score[used] = whole.rows[possible[e]], scores[e] + whole.evidence[possible[e]] if by_law else 0.0
            used += 1
        starts[i + 1] = used
    return starts, kinds[:used].copy(), score[:used].copy(), cut


@njit(missing=_UNKNOWN)
def _measure_nearest(own: Floats, shown: Floats, nominal: Booleans, weight: Floats) -> Floats:
    nearest = np.full(len(own), np.inf)
    for i in range(len(own)):
        for row in range(len(shown)):
            distance = compute_record_distance(own[i], shown[row], nominal, weight, nearest[i])
            nearest[i] = min(nearest[i], distance)
    return nearest


@njit(missing=_UNKNOWN)
def _list_by_distance(
    own: Floats, shown: Floats, nominal: Booleans, weight: Floats, spread: float, most: int
) -> tuple[Integers, Integers, Floats]:
    r, wanted = len(own), min(most, len(shown))
    starts = np.arange(r + 1) * wanted
    kinds, score, distances = np.empty(r * wanted, dtype=np.int64), np.empty(r * wanted), np.empty(len(shown))
    for i in range(r):
        for row in range(len(shown)):
            distances[row] = compute_record_distance(own[i], shown[row], nominal, weight, np.inf)
        order = np.argsort(distances)[:wanted]
        kinds[starts[i] : starts[i + 1]] = order
        score[starts[i] : starts[i + 1]] = -distances[order] / (2 * spread)
    return starts, kinds, score
