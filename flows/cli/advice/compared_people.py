"""How many people in the release are compared with how many who are not, and the smallest limits that so few can decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasks.attack.inference.experiment import count_people_asked, list_secrets
from tasks.attack.membership.frame import count_targets
from tasks.microdata.units import find_units
from tasks.score.inference import compute_smallest_excess_limit
from tasks.score.singling_out import compute_smallest_singling_out_limits

if TYPE_CHECKING:
    from flows.release import ReleaseSpec
    from tasks.microdata.schema import Schema
    from tasks.microdata.table import Microdata

People = tuple[int, int]  # in the release, and not


def count_inferred_people(
    release: ReleaseSpec, original: Microdata, schema: Schema, outside: Microdata | None
) -> People | None:
    """Whose values are inferred; None: nobody's are, or nobody is compared."""
    if not release.kind.is_table:
        return _count_asked_by_model(release, original, schema, outside)
    if not release.inference_attacks or not list_secrets(schema, release.intruder.knows or ()):
        return None
    most = max(attack.train_at_most for attack in release.inference_attacks)
    return _count_people(release, original, schema, outside, most)


def _count_asked_by_model(
    release: ReleaseSpec, original: Microdata, schema: Schema, outside: Microdata | None
) -> People | None:
    """On either side as many as membership attacks ask about."""
    if not list_secrets(schema, ()):
        return None
    units = find_units(original, schema).n_units
    others = round(units * (release.control_share or 0.5)) if outside is None else find_units(outside, schema).n_units
    every = units if outside is None else units + others
    asked = count_targets(every - others, others, every)
    return asked, asked


def count_people_singled_out(
    release: ReleaseSpec, original: Microdata, schema: Schema, outside: Microdata | None
) -> People | None:
    """On whom predicates are tried; None: no line asks, or nobody is compared."""
    if not release.limits_singling_out:
        return None
    return _count_people(release, original, schema, outside, original.n + (0 if outside is None else outside.n))


def describe_decidable_limits(inferred: People | None, isolated: People | None) -> list[tuple[str, str]]:
    """Rows for the plan of `sdcert check`: how many people are compared, and the smallest limits that they can decide.

    inferred, isolated: as the functions above count them.
    """
    rows = []
    if inferred is not None:
        smallest = compute_smallest_excess_limit(*inferred)
        text = f"{_describe_people(inferred)}; the smallest limit on inference_excess that they can decide is {smallest:.3f}"
        rows.append(("inference", text))
    if isolated is not None:
        none, most = compute_smallest_singling_out_limits(*isolated)
        text = f"{_describe_people(isolated)}; the smallest limit on singling_out that they can decide is {none:.3f} if chance"
        rows.append(("singling", f"{text} isolates nobody, and {most:.3f} if it isolates 37 %"))
    return rows


def _describe_people(people: People) -> str:
    return f"of about {people[0]:,} people in the release and {people[1]:,} who are not"


def _count_people(
    release: ReleaseSpec, original: Microdata, schema: Schema, outside: Microdata | None, most: int
) -> People | None:
    """None: nobody is known who is not in the release, and the release cannot be rehearsed. most: on either side."""
    units = find_units(original, schema).n_units
    if outside is not None:
        return min(units, most), min(find_units(outside, schema).n_units, most)
    return None if release.released is not None else count_people_asked(units, release.control_share, most)
