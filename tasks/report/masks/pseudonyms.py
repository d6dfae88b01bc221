"""Pseudonyms in words."""

from __future__ import annotations

from tasks.mask.pseudonyms import PSEUDONYM_BYTES, Pseudonyms
from tasks.microdata.words import join_with_and
from tasks.report.masks.mask_text import MaskText

_SERIES = (
    "A unit has the same pseudonym in all releases of the series: whoever has several of them can join them and follow each "
    "unit, and find somebody by what changed. What joined releases tell is not attacked here."
)
_RELEASE = "They are made anew for every draw and every version of the source, so that they join this release to no other."


def describe_pseudonyms(step: Pseudonyms) -> MaskText:
    return MaskText(
        title=f"Pseudonyms in place of {join_with_and(step.attributes)}",
        text=(
            f"The values of {join_with_and(step.attributes)} are not published; in their place stand keyed "
            "pseudonyms (HMAC-SHA-256, "
            f"{8 * PSEUDONYM_BYTES} bits). Whoever lacks the secret key can neither turn one back nor try out identifiers. "
            f"{_SERIES if step.stable == 'series' else _RELEASE} A missing identifier stays missing, which can be seen. "
            "The attacks and the losses do not use these columns."
        ),
        missing="",
        attribute=lambda _: "published as a keyed pseudonym",
        analysts=("Pseudonyms tell rows apart; their order and their signs mean nothing.",),
    )


def residual_risk(step: Pseudonyms) -> str | None:
    """What remains of risk, as a sentence; None where a pseudonym joins this release to no other."""
    if step.stable == "release":
        return None
    return (
        f"The pseudonyms in place of {join_with_and(step.attributes)} are the same in all releases of the series. "
        "Whoever joins them "
        "follows each unit through the versions; that attack is not in this version's catalogue."
    )
