"""Model-based disclosure: a learner that was taught by the release infers a confidential value of people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from tasks.attack.inference.combined_learners import combine_answers, weigh_learners
from tasks.attack.inference.experiment import InferenceExperiment
from tasks.attack.inference.few_inputs import infer_from_few
from tasks.attack.inference.inference_learners import (
    BY_DEFAULT,
    COMBINED,
    LEARNERS,
    OF_REPEATED_MASK,
    LearnerName,
    select_learners,
)
from tasks.attack.inference.inputs import encode_each_input, encode_inputs, join_inputs
from tasks.attack.inference.outcomes import INFERS
from tasks.attack.inference.repeated_mask import RepeatedMask, measure_spreads, spread_over_columns
from tasks.attack.inference.secret import Form, Secret, create_secrets, encode_secret, measure_tolerance, teach
from tasks.mask.methods import Masking
from tasks.microdata.errors import NotApplicable
from tasks.microdata.schema import Schema
from tasks.microdata.spec import Percent, Public, Slug, Spec
from tasks.microdata.table import Booleans, Floats, Integers, Microdata
from tasks.microdata.units import Units

InferringIntruder = Literal["declared", "insider", "file"]
RIGHT, SURE, FROM, AGREES = "right:", "sure:", "from:", "agrees"
FEWEST = 20  # rows that show a value, and people whose value is known


@dataclass(frozen=True, slots=True)
class InferredValues:
    """How people fared with one confidential attribute.

    fates: one row per unit, see `infer_values`. inputs: the known attributes from which most is inferred, greedily.
    """

    fates: Microdata
    inputs: tuple[str, ...]


class ModelBasedDisclosure(Spec):
    """Parameters of model-based disclosure (adr).

    id: what the attack is called in figures and policy lines; default: the method's name.
    learners: those that are tried; of each person the one counts that did best on other people.
    p_percent: a number is inferred if the guess is at most this share of its standard deviation away.
    folds: into how many parts the originals are dealt where a person's own record is left out.
    train_at_most: so many people teach and are asked about, and as many others; of more a random sample.
    fewest_of_subgroup: people on each side whom a subgroup has at least.
    by: who infers: the declared intruder always, and if asked insiders, who also know one other published attribute, and those
    who hold an external file; these are taken to know the original values of what is in it.
    inputs_at_most: from how few of the known attributes values are inferred besides: from 1, 2 and so on up to so many; 0: not.
    protocol: `anonymeter` gives that tool's figures on the same people besides, for comparison alone (`count_by_protocol`).
    """

    method: Public[Literal["model_based_disclosure"]]
    id: Public[Slug | None] = None
    learners: Public[Annotated[tuple[LearnerName, ...], Field(min_length=1)]] = BY_DEFAULT
    p_percent: Public[Percent] = 5.0
    folds: Public[Annotated[int, Field(ge=2, le=100)]] = 5
    train_at_most: Public[Annotated[int, Field(ge=100, le=1_000_000)]] = 3000
    fewest_of_subgroup: Public[Annotated[int, Field(ge=10, le=1_000_000)]] = 20
    by: Public[Annotated[tuple[InferringIntruder, ...], Field(min_length=1)]] = ("declared",)
    inputs_at_most: Public[Annotated[int, Field(ge=0, le=20)]] = 3
    protocol: Public[Literal["anonymeter"] | None] = None

    @model_validator(mode="after")
    def _teach_originals(self) -> ModelBasedDisclosure:
        if OF_REPEATED_MASK.issuperset(self.learners):
            raise ValueError(
                "`likely_rows` and `combined` need the mask repeated on the release, which not every mask allows: name another "
                "learner beside them, such as `candidate_rows`"
            )
        return self

    @property
    def attack_id(self) -> str:
        """What the attack is called in figures and policy lines."""
        return self.id or self.method

    def is_by(self, intruder: str) -> bool:
        """Does an intruder of this name infer? `declared`, `insider:<attribute>`, `file:<name>`."""
        return intruder == "declared" or intruder.partition(":")[0] in self.by


DEFAULT_INFERENCE_ATTACKS = (ModelBasedDisclosure(method="model_based_disclosure"),)


def infer_values(
    spec: ModelBasedDisclosure,
    experiment: InferenceExperiment,
    schema: Schema,
    steps: tuple[Masking, ...],
    knows: tuple[str, ...],
    name: str,
    rng: np.random.Generator,
    repeated: RepeatedMask | None = None,
) -> InferredValues:
    """How each learner fares with each person, for one confidential attribute.

    Meaning: the intruder takes the released rows as lessons, and infers from what they know of a person what they do not. Whom
    a learner knows by heart it gets right more often than others of the same kind: that is disclosure. What it gets right of
    everybody is knowledge about the population.

    knows: published attributes without the secret. steps: the masking steps that can be repeated. repeated: what they make
    of the released rows, for `likely_rows` and `combined`; None: neither infers.

    Returns one row per unit, numbers: `half` (0 or 1, drawn at random: people of one half choose the learner for those of the
    other), and for each way W (a learner and a form of the secret) `right:W` (of the unit's records the share that is guessed
    right by a learner trained on the release; missing where nobody knows the value) and `sure:W` (0 to 1, see
    `Taught.settle`). `agrees`: does the chosen learner say the same, taught by the release and by the originals
    (`compare_models`)? `from:I`: of half 0, right by the learner that half 1 chose, from I known attributes that half 1 chose
    (`infer_from_few`). Of members besides: `original`, where the originals teach a learner that the other half chose;
    `left_out`, where those of other people alone do; `guess`, where the most frequent value, or the mean, is guessed for all.
    The learner of `agrees`, `from:I`, `original` and `left_out` is the best plain one: nothing masks the originals, so that
    `likely_rows` and `combined` cannot be taught by them.
    Raises NotApplicable where nothing else is known, or fewer than 20 rows show a value or 20 members have one; NotFollowed
    as `as_asked`. Cost: a fit of each learner, with `combined` two, and folds + 1 of the two that are chosen, and those of
    `infer_from_few`.
    Source: Torra (2024), Algorithms 9 to 11.
    """
    if not knows:
        raise NotApplicable("the intruder knows nothing else from which it could be inferred")
    people, members, units = experiment.recode_like_release(schema, steps), experiment.member_rows, experiment.units
    originals, everybody = people.take(members), np.arange(people.n)
    tolerance = measure_tolerance(originals, schema[name], spec.p_percent)
    lessons, truth = encode_secret(experiment.rows, people, tolerance, schema[name])
    if min((~np.isnan(lessons)).sum(), (~np.isnan(truth[members])).sum()) < FEWEST:
        raise NotApplicable(f"fewer than {FEWEST} released rows show a value, or fewer than {FEWEST} people have one")
    ways = _list_ways(spec, create_secrets(lessons, truth, tolerance), repeated)
    inputs = encode_each_input(experiment.rows, people, schema, knows)
    shown, asked = join_inputs(inputs, knows)
    seed = int(rng.integers(2**32))
    spreads = None
    if repeated is not None:
        spreads = spread_over_columns(measure_spreads(repeated, experiment.rows, schema, knows), inputs, knows)
    columns, answers = {"half": deal_halves(experiment.is_member, rng)}, {}
    taught = {way: teach(*which, shown, seed, spreads=spreads) for way, which in ways.items()}
    told = {way: one.tell(asked) for way, one in taught.items()}
    of_form = {one.secret.form: one for one in taught.values()}
    if repeated is not None and COMBINED in spec.learners:
        for form in of_form:
            students = {way: learner for way, (learner, secret) in ways.items() if secret.form == form}
            weights = weigh_learners(
                tuple(students.values()), form, repeated, experiment.rows, schema, knows, name, tolerance, seed
            )
            if weights is not None:
                told[f"{COMBINED}:{form}"] = combine_answers([told[way] for way in students], weights, of_form[form].secret)
    for way, said in told.items():
        one = of_form[_find_form(way)]
        guesses, sure = one.settle(said, asked)
        answers[way] = guesses
        right = one.secret.judge(guesses, everybody)
        columns |= {f"{RIGHT}{way}": average_by_unit(right, units), f"{SURE}{way}": average_by_unit(sure, units)}
    own = create_secrets(truth[members], truth[members], tolerance)
    own_inputs = encode_inputs(originals, people, schema, knows)
    fold = rng.permutation(units.n_units)[units.of_row[members]] % spec.folds
    usable = _list_ways(spec, own, None)
    judged: dict[str, dict[str, Floats]] = {}
    compared = {which: np.full(units.n_units, np.nan) for which in ("original", "left_out", AGREES)}
    plain = {way for way, (learner, _) in ways.items() if learner not in OF_REPEATED_MASK}
    choice = choose_on_other_half(
        {name: values for name, values in columns.items() if name == "half" or name.removeprefix(RIGHT) in plain},
        experiment.is_member,
    )
    for half, way in enumerate(choice):
        learner, secret = _find_same_learner(*ways[way], usable)
        if way not in judged:
            by_originals = _teach_by_originals(learner, secret, own_inputs, members, fold, seed)
            released = taught[way].answer(shown)[0]
            agrees = compare_models(by_originals.pop("guesses"), answers[way], released, experiment, secret)
            if learner != ways[way][0]:  # what two learners say is no agreement of release and original
                agrees = np.full(people.n, np.nan)
            judged[way] = {
                **{which: _spread_out(right, members, people.n) for which, right in by_originals.items()},
                AGREES: agrees,
            }
        mine = columns["half"] == half
        for which, values in judged[way].items():
            compared[which][mine] = average_by_unit(values, units)[mine]
    blind = _spread_out(_guess_blindly(own), members, people.n)
    few = list(_infer_from_few(spec, ways[choice[0]], inputs, columns["half"], experiment, seed))
    curve = {f"{FROM}{count}": values for count, (_, values) in enumerate(few, start=1)}
    fates = Microdata.from_columns({**columns, **compared, "guess": average_by_unit(blind, units), **curve})
    return InferredValues(fates, tuple(name for name, _ in few))


def compare_models(
    original: Floats, release: Floats, released: Floats, experiment: InferenceExperiment, secret: Secret
) -> Floats:
    """Does a model that the release taught say of each record what one says that the originals taught?

    Meaning: so good is the release for an analyst who trains this learner. It is no disclosure: the simplest learners, which
    know nobody by heart, agree most. For people who are not in the release see the same figure beside it.
    Formula in words: a member's original record is put to the model of the originals, and its released form to that of the
    release (DDMBAR). Where it has none, because rows belong to nobody, and for everybody who is not in the release, the record
    is put to both. Numbers agree if they are within the tolerance.

    original, release: shape (n,): what each model says of the people. released: shape (m,): what that of the release says of
    its rows. secret: has the tolerance. Returns shape (n,): 1 or 0, missing for members whom the release left out.
    Source: Torra (2024), Algorithm 11. Example: two models that always say the same: 1 of everybody.
    """
    said, left_out = release.copy(), np.zeros(len(release), dtype=bool)
    if experiment.released_row is not None:
        has_row = experiment.released_row >= 0
        said[experiment.member_rows[has_row]] = released[experiment.released_row[has_row]]
        left_out[experiment.member_rows[~has_row]] = True
    return np.where(left_out, np.nan, secret.is_near(said, original).astype(np.float64))


def _infer_from_few(
    spec: ModelBasedDisclosure,
    way: tuple[LearnerName, Secret],
    inputs: dict[str, tuple[Floats, Floats]],
    half: Floats,
    experiment: InferenceExperiment,
    seed: int,
) -> Iterator[tuple[str, Floats]]:
    """Attributes in the order that half 1 chooses, and by unit of half 0 whether its value is inferred from those so far."""
    units = experiment.units
    choosing = (experiment.is_member & (half == 1))[units.of_row]
    for name, right in infer_from_few(*way, inputs, choosing, spec.inputs_at_most, seed):
        yield name, np.where(half == 0, average_by_unit(right, units), np.nan)


def choose_on_other_half(columns: Mapping[str, Floats], people: Booleans) -> tuple[str, str]:
    """For the people of half 0 and of half 1 the way that did best on some people of the other; of several the first."""
    ways = [name.removeprefix(RIGHT) for name in columns if name.startswith(RIGHT)]
    halves = [people & (columns["half"] != half) for half in (0, 1)]
    rates = [[_mean(columns[f"{RIGHT}{way}"][others]) for way in ways] for others in halves]
    first, second = (ways[int(np.argmax(rate))] for rate in rates)
    return first, second


def average_by_unit(values: Floats, units: Units) -> Floats:
    """Shape (n_units,): the mean over the records of each unit that have a value; missing where none has."""
    known = ~np.isnan(values)
    counts = np.bincount(units.of_row[known], minlength=units.n_units)
    sums = np.bincount(units.of_row[known], weights=values[known], minlength=units.n_units)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _list_ways(
    spec: ModelBasedDisclosure, secrets: tuple[Secret, ...], repeated: RepeatedMask | None
) -> dict[str, tuple[LearnerName, Secret]]:
    """Each learner with each form of the secret that it can guess, by name; those whom others are combined into are left out.

    repeated: None: so is who needs the mask repeated.
    """
    left_out = OF_REPEATED_MASK if repeated is None else {COMBINED}
    found = {
        f"{learner}:{secret.form}": (learner, secret)
        for secret in secrets
        for learner in select_learners(spec.learners, numbers=secret.values is None)
        if learner not in left_out
    }
    if all(learner in OF_REPEATED_MASK for learner, _ in found.values()):
        raise NotApplicable("none of the attack's learners can guess such an attribute")
    return found


def _find_form(way: str) -> Form:
    form: Form = way.partition(":")[2]  # type: ignore[assignment]  # as `_list_ways` wrote it
    return form


def _find_same_learner(
    learner: LearnerName, secret: Secret, usable: Mapping[str, tuple[LearnerName, Secret]]
) -> tuple[LearnerName, Secret]:
    """That learner with the originals, in the same form or else another one, which few values have and many have not; of a form
    that it cannot guess the first that can.
    """
    same = usable.get(f"{learner}:{secret.form}")
    others = (one for one in usable.values() if one[0] == learner)
    return same or next(others, None) or next(iter(usable.values()))


def deal_halves(is_member: Booleans, rng: np.random.Generator) -> Floats:
    """Shape (n_units,): 0 or 1, a random half of the members and of the others is in half 1."""
    half = np.zeros(len(is_member))
    for side in (is_member, ~is_member):
        dealt = rng.permutation(np.flatnonzero(side))
        half[dealt[: len(dealt) // 2]] = 1.0
    return half


def _teach_by_originals(
    learner: LearnerName, own: Secret, inputs: tuple[Floats, Floats], members: Integers, fold: Integers, seed: int
) -> dict[str, Floats]:
    """What the originals teach: `guesses`, shape (n,), of all people by all originals; `original` and `left_out`, shape (m,):
    is a learner right about each member, taught by all originals, and by those of the other folds?
    """
    mine, all_people = inputs
    everybody = np.arange(len(mine))
    guesses, _ = teach(learner, own, mine, seed).answer(all_people)
    left_out = np.full(len(mine), np.nan)
    for part in np.unique(fold):
        inside = np.flatnonzero(fold == part)
        others = np.flatnonzero((fold != part) & ~np.isnan(own.lessons))
        if len(others):
            left_out[inside], _ = teach(learner, own, mine, seed, others).answer(mine[inside])
    return {
        "guesses": guesses,
        "original": own.judge(guesses[members], everybody),
        "left_out": own.judge(left_out, everybody),
    }


def _guess_blindly(own: tuple[Secret, ...]) -> Floats:
    """Shape (n,): is the one guess for everybody right: the likeliest value, or the mean where that is right more often?"""
    tried = []
    for secret in own:
        lessons = secret.lessons[~np.isnan(secret.lessons)]
        guess = lessons.mean() if secret.values is None else secret.values[np.bincount(lessons.astype(np.int64)).argmax()]
        tried.append(secret.judge(np.full(len(secret.truth), guess), np.arange(len(secret.truth))))
    return max(tried, key=_mean)


def _spread_out(values: Floats, rows: Integers, n: int) -> Floats:
    spread = np.full(n, np.nan)
    spread[rows] = values
    return spread


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else -np.inf


def describe() -> tuple[dict[str, str], ...]:
    """One row per attack, for `sdcert methods inference`."""
    return (
        {
            "method": "model_based_disclosure",
            "what it does": INFERS,
            "knows": "what the declared intruder (with `by`: an insider, the holder of a file) knows, and the release; "
            "for likely_rows and combined the steps of the mask too",
            "learners": ", ".join(LEARNERS),
            "parameters": "id, learners (all but gradient_boosting and support_vector_machine), p_percent (5), folds (5), "
            "train_at_most (3000), fewest_of_subgroup (20), by (declared), inputs_at_most (3), protocol (none)",
        },
    )
