"""Singling out: how many people a released row describes alone, beside chance. Functions: `tasks/score/singling_out.py`."""

from __future__ import annotations

from tasks.score.measure import Measure

SINGLING_OUT = Measure(
    name="singling_out",
    function="tasks.score.singling_out.estimate_singling_out",
    unit="share",
    largest=1,
    smallest=-1.0,
    better="lower",
    about="attribute",
    chance="0",
    rounding="share",
    says="share of people singled out by predicates over at most three quasi-identifiers, less the share by chance",
    title="Singling out beyond chance",
    sentence=(
        "The values of a released row, of at most three quasi-identifiers, describe exactly one person of the source. This is "
        "the share of people who are described so, less the share of as many people who are not in the release, for the set "
        "of attributes where that is largest. 0 % is what chance gives."
    ),
    by_attack=True,
    of_nobody=True,
    of_singling_out=True,
)
SINGLED_OUT = Measure(
    name="singled_out",
    function="tasks.score.singling_out.estimate_singled_out",
    unit="share",
    largest=1,
    better=None,
    about="attribute",
    chance="the same of as many people who are not in the release: n w (1 - w)^(n - 1) for each predicate of weight w",
    rounding="share",
    says="share of people singled out by predicates over one set of attributes",
    title="Singled out",
    sentence="The share of people whom the values of a released row, of these attributes, describe alone.",
    by_attack=True,
    of_nobody=True,
    of_singling_out=True,
    chance_counts_people=True,
)
SINGLED_OUT_BY_ANY = Measure(
    name="singled_out_by_any",
    function="tasks.score.singling_out.estimate_singled_out_by_any",
    unit="share",
    largest=1,
    better=None,
    about="table",
    chance="large: each further set of attributes is a further trial (see predicates_isolating)",
    rounding="share",
    says="share of people singled out by at least one predicate over at most three quasi-identifiers",
    title="Singled out by any set of attributes",
    sentence="The share of people whom a released row describes alone by at least one set of at most three quasi-identifiers.",
    by_attack=True,
    of_nobody=True,
    of_singling_out=True,
)
PREDICATES_ISOLATING = Measure(
    name="predicates_isolating",
    function="tasks.score.singling_out.estimate_predicates_isolating",
    unit="share",
    largest=1,
    better=None,
    about="table",
    chance="the mean of n w (1 - w)^(n - 1) over the predicates, of weight w among people who are not in the release",
    rounding="hidden_share",
    says="share of the predicates over at most three quasi-identifiers that exactly one person of the source satisfies",
    title="Predicates that isolate",
    sentence="The share of the descriptions by at most three quasi-identifiers that fit exactly one person of the source.",
    by_attack=True,
    of_nobody=True,
    of_singling_out=True,
)
