"""A realistic content made by hand: ANES 1996, 944 respondents, joint microaggregation of what a neighbour knows."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from pydantic import TypeAdapter

from tasks.attack.omissions import Omission
from tasks.attack.outcomes.outcome import AttackResult
from tasks.attack.threat import IntruderSpec
from tasks.ingest.checks.validation import ExpectationResult
from tasks.ingest.methods import ColumnReport, IngestReport
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.alignment import Alignment
from tasks.microdata.estimate import Estimate
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Integers, Microdata
from tasks.report.charts.data import ChartData, chart_data
from tasks.report.content import Content, public_edition
from tasks.report.publication import Context, Publish
from tasks.score.policy import PolicyLine
from tasks.score.verdict import decide

N = 944
KEYS = {"popul": Scale.NUMERIC, "age": Scale.NUMERIC, "educ": Scale.ORDINAL, "income": Scale.ORDINAL}
SECRETS = ("TVnews", "selfLR", "ClinLR", "DoleLR", "PID", "vote")
RATES = {  # by attack and intruder: rate, exposed, largest, among nearest, candidates
    ("distance_linkage", "declared"): (0.080, 0.021, 1.0, 0.72, 10.4),
    ("transparency", "declared"): (0.0996, 0.014, 0.5, 1.0, 10.2),
    ("distance_linkage", "insider:vote"): (0.152, 0.089, 1.0, 0.74, 6.1),
    ("distance_linkage", "insider:PID"): (0.391, 0.366, 1.0, 0.66, 2.3),
    ("transparency", "insider:vote"): (0.189, 0.12, 1.0, 1.0, 5.8),
    ("transparency", "insider:PID"): (0.448, 0.42, 1.0, 1.0, 2.1),
}


def hand_schema() -> Schema:
    keys = [
        Attribute(name=name, role=Role.QUASI_IDENTIFIER, scale=scale, decided_by="declared",
                  evidence=("50 distinct of 944 values", "role declared", "scale declared"))
        for name, scale in KEYS.items()
    ]  # fmt: skip
    secrets = [
        Attribute(name=name, role=Role.CONFIDENTIAL, scale=Scale.ORDINAL, decided_by="pipeline",
                  evidence=("7 distinct of 944 values", "scale ordinal: 7 whole-number codes"))
        for name in SECRETS
    ]  # fmt: skip
    derived = Attribute(name="logpopul", role=Role.DERIVED, scale=Scale.NUMERIC, decided_by="declared", derived_from=("popul",),
                        evidence=("127 distinct of 944 values", "role declared"))  # fmt: skip
    return Schema((*keys, *secrets, derived))


def hand_attack(method: str, intruder: str, **changes) -> AttackResult:
    extra = intruder.partition(":")[2]
    knows = ", ".join([*KEYS, *filter(None, [extra])])
    known = {
        "distance_linkage": "nothing",
        "transparency": "the masking steps and their parameters, not the seed: microaggregation of age, educ, income "
        "and popul, each group of 10 or more",
    }
    result = AttackResult(
        attack=method,
        method=method,
        intruder=intruder,
        status="ok",
        infers="links each record to the released rows that are nearest to it, ties shared",
        knows_data=f"the original {knows} of every record, and that each of them is in the release",
        knows_mechanism=known[method],
        direction="to_release",
        scale_by="release",
        n_release=N,
        chance=1 / N,
    )
    return replace(result, **changes)


def _figure(measure: str, value: float, unit: str = "share", **more) -> Estimate:
    sampled = {"low": value, "high": value} if more.pop("bounded", True) else {}
    return Estimate(measure=measure, value=value, unit=unit, **{**sampled, **more})


def _attack_figures(attack: str, intruder: str, numbers: tuple[float, ...]) -> list[Estimate]:
    by = {"attack": attack, "intruder": intruder, "n_targets": N, "n_in_release": N}
    rate, exposed, largest, among, candidates = numbers
    figures = [
        _figure("reidentification", rate, chance=1 / N, chance_kind="uniform_guess", credit_rule="shared", **by),
        _figure("records_exposed", exposed, credit_rule="indicator", **by),
        _figure("max_record_risk", largest, credit_rule="shared", **by),
        _figure("truth_among_nearest", among, credit_rule="indicator", **by),
        _figure("mean_candidate_set_size", candidates, "records", **by),
    ]
    for name, told, majority, control in (("vote", 0.631, 0.584, 0.566), ("PID", 0.302, 0.212, 0.238)):
        if intruder != f"insider:{name}":
            figures.append(_figure("linked_value_disclosed", told, attribute=name, chance=majority, chance_kind="majority",
                                   credit_rule="shared", **by))  # fmt: skip
            figures.append(_figure("linked_value_control", control, attribute=name, credit_rule="shared", **by))
    return figures


def hand_estimates(rates=RATES) -> tuple[Estimate, ...]:
    figures = [one for (attack, intruder), numbers in rates.items() for one in _attack_figures(attack, intruder, numbers)]
    pairs = {"chance_kind": "all_pairs", "credit_rule": "indicator", "n_targets": N, "n_in_release": N}
    for name, same, near5, near10 in (
        ("popul", 0.061, 0.166, 0.255),
        ("age", 0.074, 0.231, 0.392),
        ("educ", 0.383, 0.383, 0.383),
        ("income", 0.211, 0.301, 0.356),
    ):
        figures.append(
            _figure("rank_interval_disclosure", near5, attribute=name, parameters=(("p_percent", 5.0),), chance=0.051, **pairs)
        )
        figures.append(
            _figure(
                "rank_interval_disclosure", near10, attribute=name, parameters=(("p_percent", 10.0),), chance=0.099, **pairs
            )
        )
        figures.append(_figure("same_value_disclosure", same, attribute=name, chance=0.021, **pairs))
    figures.append(_figure("k_anonymity", 10.0, "records", n_targets=N, n_in_release=N))
    loss = {"bounded": False}
    figures.append(_figure("sse_percent", 8.1234567, "percent", reason="ordinal codes are not in it: educ, income", **loss))
    figures += [
        _figure("sse_percent", value, "percent", attribute=name, **loss) for name, value in (("popul", 5.98), ("age", 10.27))
    ]
    figures.append(_figure("il1s", 0.10456789, "sqrt(2) sd", **loss))
    figures += [
        _figure("il1s", value, "sqrt(2) sd", attribute=name, **loss) for name, value in (("popul", 0.071), ("age", 0.139))
    ]
    figures.append(_figure("cells_changed", 0.817, **loss))
    figures += [_figure("cells_changed", value, attribute=name, **loss)
                for name, value in (("popul", 0.939), ("age", 0.926), ("educ", 0.617), ("income", 0.789))]  # fmt: skip
    figures += [
        _figure("mean_difference", value, "sd", attribute=name, **loss) for name, value in (("popul", 3.1e-7), ("age", 0.00021))
    ]
    figures.append(_figure("covariance_difference", 0.0512345, "sd^2", **loss))
    figures.append(_figure("correlation_difference", 0.0212345, "correlation", **loss))
    figures.append(_figure("largest_correlation_difference", 0.0212345, "correlation", **loss))
    figures.append(_figure("rank_correlation_difference", 0.0512345, "correlation", **loss))
    return tuple(figures)


def hand_tables() -> tuple[Microdata, Microdata, dict[str, Microdata]]:
    """A source, a masked table row for row, and what two attacks found: drawn once and for all, of the shape of the figures."""
    rng = np.random.default_rng(11)
    age, popul = rng.integers(19, 92, N), np.round(np.exp(rng.normal(3, 2.4, N)))
    educ = np.clip(np.round(age / 30 + rng.normal(2, 1.4, N)), 1, 7)
    income = np.clip(np.round(3 * educ + rng.normal(6, 5, N)), 1, 24)
    near = np.argsort(age + rng.normal(0, 4, N)) // 10
    centres = {"popul": popul, "age": age, "educ": educ, "income": income}
    masked = {name: np.round([values[near == near[i]].mean() for i in range(N)]) for name, values in centres.items()}
    kept = {name: rng.integers(1, 8, N) for name in SECRETS} | {"logpopul": np.log(popul + 0.1)}
    whole = [{name: values if name == "logpopul" else np.asarray(values, dtype=np.int64) for name, values in table.items()}
             for table in (centres | kept, masked | kept)]  # fmt: skip
    sets = {
        attack: hand_outcomes(rng.integers(1, most, N)) for attack, most in (("distance_linkage", 14), ("transparency", 30))
    }
    return Microdata.from_columns(whole[0]), Microdata.from_columns(whole[1]), sets


def hand_outcomes(sizes: Integers) -> Microdata:
    """The true row is among the guesses of everybody."""
    there = np.ones(len(sizes), dtype=bool)
    return Microdata.from_columns(
        {"candidates": sizes, "sound_candidates": sizes, "credit": 1 / sizes, "among_nearest": there, "in_release": there}
    )


def hand_charts(edition: str, touched: tuple[str, ...] = tuple(KEYS), attacks: int = 2) -> ChartData:
    source, masked, sets = hand_tables()
    rows = Alignment.complete_in(np.arange(N))
    kept = dict(list(sets.items())[:attacks])
    others = {"transparency": {"insider:TVnews": hand_outcomes(np.ones(N, dtype=np.int64))}}
    return chart_data(source, masked, rows, hand_schema(), frozenset(touched), kept, edition, others)


def more_attack_figures() -> tuple[Estimate, ...]:
    """The declared intruder knowing less, and by subgroup."""
    by = {"n_targets": N, "n_in_release": N, "credit_rule": "shared"}
    fewer = [
        _figure(
            "reidentification", rate, attack=attack, intruder=f"knowing:{n}", chance=1 / N, chance_kind="uniform_guess", **by
        )
        for attack, rates in (("distance_linkage", (0.004, 0.012, 0.041)), ("transparency", (0.006, 0.018, 0.055)))
        for n, rate in enumerate(rates, 1)
    ]
    parts = [
        _figure("subgroup_reidentification", rate, attack=attack, intruder="declared", attribute=name, subgroup=part,
                credit_rule="shared", n_targets=n, n_in_release=n)
        for attack, more in (("distance_linkage", 1.0), ("transparency", 1.2))
        for name, part, rate, n in (("age", "lowest values", 0.11, 48), ("age", "highest values", 0.16, 47),
                                    ("popul", "highest values", 0.31, 47), ("popul", "rare categories", 0.4, 6))
        for rate in (rate * more,)
    ]  # fmt: skip
    return (*fewer, *parts)


def hand_content(policy: tuple[PolicyLine, ...], estimates: tuple[Estimate, ...] | None = None, **changes) -> Content:
    schema = hand_schema()
    estimates = hand_estimates() if estimates is None else estimates
    columns = tuple(ColumnReport(name, "double", 0, ()) for name in schema.names)
    content = Content(
        name="anes96",
        series="anes96",
        not_for_publication=False,
        publish=Publish(),
        context=Context(purpose="teaching", unit="respondent", period="1996", special_categories=("political opinions",)),
        ingest=IngestReport(
            source="dataset anes96",
            format="statsmodels",
            encoding=None,
            delimiter=None,
            rows=N,
            columns=columns,
            notes=(),
            checks=(
                ExpectationResult("the number of rows lies between 1 and any number", True, 0),
                ExpectationResult("age lies between 18 and 110", True, 0),
            ),
        ),
        schema=schema,
        mechanisms=(Microaggregation(method="microaggregation", attributes=("age", "educ", "income", "popul"), k=10),),
        intruder=IntruderSpec(),
        attacks=tuple(hand_attack(attack, intruder) for attack, intruder in RATES),
        estimates=estimates,
        verdict=decide(policy, estimates),
        policy=policy,
        rows_in=N,
        rows_out=N,
    )
    return replace(content, **changes)


KEPT = (
    PolicyLine(measure="reidentification", at_most=0.15),
    PolicyLine(measure="records_exposed", at_most=0.05),
    PolicyLine(measure="sse_percent", at_most=15.0),
    PolicyLine(measure="k_anonymity", at_least=10.0),
)
INSIDERS = PolicyLine(measure="reidentification", at_most=0.5, intruder="insider")
BROKEN = (
    *KEPT[:1],
    PolicyLine(measure="records_exposed", at_most=0.02),
    PolicyLine(measure="sse_percent", at_most=5.0),
    *KEPT[3:],
)


@pytest.fixture(scope="session")
def certified() -> Content:
    return public_edition(hand_content(KEPT), hand_charts("public"))


@pytest.fixture(scope="session")
def detailed() -> Content:
    """The certified release with the attacks of somebody who knows less, and the rates by subgroup."""
    figures = (*hand_estimates(), *more_attack_figures())
    return public_edition(hand_content((*KEPT, INSIDERS), figures), hand_charts("public"))


@pytest.fixture(scope="session")
def internal() -> Content:
    return hand_content((*KEPT, INSIDERS), (*hand_estimates(), *more_attack_figures()), charts=hand_charts("internal"))


@pytest.fixture(scope="session")
def refused() -> Content:
    """k = 5 on two attributes, a swap of a third; transparency omitted with a reason; two policy lines broken."""
    steps = (
        Microaggregation(method="microaggregation", attributes=("age", "income"), k=5),
        RankSwapping(method="rank_swapping", attributes=("popul",), window_percent=10.0),
    )
    kept = {key: value for key, value in RATES.items() if key[0] == "distance_linkage"}
    figures = hand_estimates({key: (value[0] * 5, *value[1:]) for key, value in kept.items() if key[1] != "insider:PID"})
    caution = "after rank_swapping k bounds nothing: records that look alike are not those of the same people"
    figures = tuple(replace(one, reason=caution) if one.measure == "k_anonymity" else one for one in figures)
    content = hand_content(
        BROKEN,
        figures,
        name="anes96-refused",
        mechanisms=steps,
        attacks=tuple(hand_attack(*key) for key in kept if key[1] != "insider:PID"),
        omitted=(Omission(attack="transparency", reason="the board has seen it on an earlier draft"),),
    )
    return public_edition(content, hand_charts("public", ("age", "income", "popul"), 1))


@pytest.fixture(scope="session")
def undecided() -> Content:
    """A sample of 200 targets, whose interval holds the limit; an attack that failed; a rehearsal."""
    failed = {"status": "failed", "reason": "the intersections are empty: the parameters are not those of the mask"}
    sampled = tuple(
        replace(one, low=0.061, high=0.162, basis="sampled_targets", n_targets=200, n_in_release=200)
        if one.measure == "reidentification" and one.attack == "distance_linkage" and one.intruder == "declared"
        else replace(one, value=None, low=None, high=None, **failed)
        if one.attack == "transparency"
        else one
        for one in hand_estimates()
    )
    attacks = tuple(hand_attack(*key, **(failed if key[0] == "transparency" else {})) for key in RATES)
    intruder = IntruderSpec(targets=0.2)
    return public_edition(
        hand_content(KEPT[:2], sampled, name="anes96-undecided", attacks=attacks, intruder=intruder, not_for_publication=True)
    )


STRANGE = {
    "popul": '<img src=x onerror="window.alerted = 1">',
    "age": "\u202eright to left \u6f22\u5b57 \U0001f600",
    "educ": "x" * 300,
    "income": "$\\frac{a}{b}$ & 'quoted' \"names\"\nin two lines",
    "vote": "<script>window.alerted = 1</script>",
}


@pytest.fixture(scope="session")
def hostile(detailed) -> Content:
    """The detailed release, its attributes named by somebody who means harm."""
    adapter = TypeAdapter(Content)
    plain = json.loads(adapter.dump_json(detailed, by_alias=True))
    return adapter.validate_json(json.dumps(_renamed(plain)))


def _renamed(value):
    if isinstance(value, dict):
        return {key: _renamed(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_renamed(one) for one in value]
    if isinstance(value, str) and value.startswith("insider:"):
        return f"insider:{_renamed(value.partition(':')[2])}"
    return STRANGE.get(value, value) if isinstance(value, str) else value
