"""The cached task of the stage: tables and attack results in, all figures and the verdict out."""

from __future__ import annotations

import dataclasses

from tasks.attack.inference.outcomes import InferenceOutcome, InferenceOutputs, InferenceResult
from tasks.attack.membership.answers import Answers
from tasks.attack.membership.frame import Frame
from tasks.attack.membership.inference import ExperimentScope
from tasks.attack.membership.methods import MembershipResult
from tasks.attack.methods import resolve_ground_truth
from tasks.attack.omissions import Omission
from tasks.attack.outcomes.outcome import AttackResult
from tasks.attack.outputs import AnswerOutputs, AttackOutputs, MembershipOutputs, PeopleOutputs
from tasks.attack.singling_out.outcomes import SinglingOutOutputs, SinglingOutResult
from tasks.attack.target_looks import TargetLook
from tasks.attack.threat import Intruder
from tasks.attack.together.earlier_release import EarlierRelease, read_earlier_view
from tasks.attack.together.value_reconstruction import ReconstructionResult
from tasks.mask.outputs import Mechanisms
from tasks.microdata.alignment import read_alignment
from tasks.microdata.estimate import Estimate
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.refs import RecordRef, TableRef
from tasks.microdata.schema import Schema
from tasks.microdata.table import Microdata
from tasks.microdata.units import find_units
from tasks.runtime.artifacts import Store
from tasks.runtime.stages import stage
from tasks.score.attack_coverage import find_unfollowed
from tasks.score.inference import inference_figures
from tasks.score.joined_releases import JoinedTruth, judge_releases
from tasks.score.look_decisions import SampledPopulation, judge_look
from tasks.score.membership.membership_figures import MembershipOutcome, membership_figures, withdraw_unlike_figures
from tasks.score.methods import SelectedMeasure, estimate_attacks, score
from tasks.score.model_accuracy import create_unmeasured_accuracy, model_accuracy
from tasks.score.outputs import LookOutputs, ScoreOutputs
from tasks.score.policy import Policy
from tasks.score.reconstructed_values import estimate_reconstruction
from tasks.score.release_figures import Score
from tasks.score.singling_out import singling_out_figures
from tasks.score.verdict import decide

ROOMS = ("score", "attack", "train", "mask", "classify", "ingest")


@stage("score", rooms=ROOMS)
def score_release(
    data: TableRef,
    masked: TableRef,
    alignment: TableRef,
    schema: RecordRef[Schema],
    mechanisms: RecordRef[Mechanisms],
    results: list[AttackOutputs],
    measures: RecordRef[tuple[SelectedMeasure, ...]],
    policy: RecordRef[Policy],
    members: list[MembershipOutputs],
    people: PeopleOutputs | None,
    omit: RecordRef[tuple[Omission, ...]],
    earlier: list[RecordRef[EarlierRelease]],
    reconstruction: RecordRef[ReconstructionResult] | None = None,
    inferred: list[InferenceOutputs] | None = None,
    isolated: list[SinglingOutOutputs] | None = None,
    look: RecordRef[TargetLook] | None = None,
) -> ScoreOutputs:
    """Measure risk and loss, and decide.

    members: what the membership attacks said of the people. earlier: the earlier releases that count. reconstruction: what
    follows from this release and earlier ones together; None: no earlier release counts. inferred: what the inference attacks
    found; None: none ran. isolated: whom predicates single out; None: no line asks. look: the planned look whose targets the
    results are about; None: no looks were planned.
    """
    store = Store()
    original, attributes = store.table(data), store.record(schema, Schema)
    shown, rows = store.table(masked), read_alignment(store.table(alignment), original.n)
    steps = store.record(mechanisms, Mechanisms)
    attacked = tuple(_result(store, produced) for produced in results)
    truth = GroundTruth.create_from_tables(original, shown, attributes, rows)
    at_look = None if look is None else store.record(look, TargetLook)
    estimates = score(
        original,
        shown,
        attributes,
        steps,
        attacked,
        store.record(measures, tuple[SelectedMeasure, ...]),
        alignment=rows,
        n_targets=find_units(original, attributes).n_units,
        files=_create_file_truths(store, truth, attributes, results),
        joined=_create_joined_truths(store, truth, attributes, earlier),
        look=at_look,
    )
    estimates += _estimate_membership(store, members, people, original, attributes)
    outcomes = tuple(_read_inference(store, one) for one in inferred or ())
    estimates += inference_figures(outcomes, attributes, truth.units.counts)
    counted = (store.record(one["result"], SinglingOutResult) for one in isolated or ())
    estimates += singling_out_figures(counted, truth.units.counts)
    lines = store.record(policy, Policy)
    together = None if reconstruction is None else store.record(reconstruction, ReconstructionResult)
    estimates += estimate_reconstruction(together, lines, original.n)
    unfollowed = find_unfollowed(attacked, store.record(omit, tuple[Omission, ...]), steps)
    verdict = decide(lines, estimates, unfollowed)
    return {"score": store.put_record(Score(estimates, verdict, at_look))}


@stage("look", rooms=ROOMS)
def decide_at_look(
    data: TableRef,
    masked: TableRef,
    alignment: TableRef,
    schema: RecordRef[Schema],
    mechanisms: RecordRef[Mechanisms],
    results: list[AttackOutputs],
    policy: RecordRef[Policy],
    omit: RecordRef[tuple[Omission, ...]],
    earlier: list[RecordRef[EarlierRelease]],
    look: RecordRef[TargetLook],
    held: float,
) -> LookOutputs:
    """Measure what the linkage attacks found at one planned look, and say whether the next one can decide more.

    held: the share of the records that the intruder holds. Other arguments: as `score_release`.
    """
    store = Store()
    original, attributes = store.table(data), store.record(schema, Schema)
    rows, at_look = read_alignment(store.table(alignment), original.n), store.record(look, TargetLook)
    steps = store.record(mechanisms, Mechanisms)
    attacked = tuple(_result(store, produced) for produced in results)
    truth = GroundTruth.create_from_tables(original, store.table(masked), attributes, rows)
    files = _create_file_truths(store, truth, attributes, results)
    joined = _create_joined_truths(store, truth, attributes, earlier)
    estimates = estimate_attacks(truth, attributes, attacked, files=files, joined=joined, look=at_look)
    unfollowed = find_unfollowed(attacked, store.record(omit, tuple[Omission, ...]), steps)
    population = SampledPopulation(truth.units.n_units, truth.units.counts, held)
    outcome = judge_look(store.record(policy, Policy), estimates, unfollowed, at_look, population)
    return {"outcome": store.put_record(outcome)}


@stage("score model", rooms=ROOMS)
def score_model(
    data: TableRef,
    schema: RecordRef[Schema],
    policy: RecordRef[Policy],
    members: list[MembershipOutputs],
    people: PeopleOutputs,
    answers: AnswerOutputs | None,
    inferred: list[InferenceOutputs],
) -> ScoreOutputs:
    """Measure what a released model discloses of who taught it, and what it is good for, and decide.

    answers: what the model answered about the people; None where nobody could be asked about. inferred: what its answers tell
    of confidential values.
    """
    store = Store()
    original, attributes = store.table(data), store.record(schema, Schema)
    asking = store.record(people["asking"], ExperimentScope)
    reason = store.record(answers["reason"], str) if answers is not None and "reason" in answers else asking.reason
    if reason is not None or answers is None:
        accuracy = create_unmeasured_accuracy(reason or "", find_units(original, attributes).counts)
    else:
        answered = Answers.create_from_table(store.table(answers["answers"]), store.record(answers["loss"], float))
        accuracy = model_accuracy(answered, _frame(store, people, store.table(people["people"]), attributes))
    counts = find_units(original, attributes).counts
    told = inference_figures(tuple(_read_inference(store, one) for one in inferred), attributes, counts)
    estimates = (*_estimate_membership(store, members, people, original, attributes), accuracy, *told)
    verdict = decide(store.record(policy, Policy), estimates)
    return {"score": store.put_record(Score(estimates, verdict))}


def _estimate_membership(
    store: Store, members: list[MembershipOutputs], people: PeopleOutputs | None, original: Microdata, schema: Schema
) -> tuple[Estimate, ...]:
    """The figures of what the membership attacks said of the people, if any ran."""
    if not members or people is None:
        return ()
    table = store.table(people["people"]) if "people" in people else None
    frame = None if table is None else _frame(store, people, table, schema)
    answered = (_answered(store, one, frame, table) for one in members)
    found = membership_figures(answered, schema, find_units(original, schema).counts)
    return withdraw_unlike_figures(found) if store.record(people["asking"], ExperimentScope).of_another_table else found


def _read_inference(store: Store, produced: InferenceOutputs) -> InferenceOutcome:
    result = store.record(produced["result"], InferenceResult)
    if "people" not in produced or "fates" not in produced:
        return InferenceOutcome(result)
    return InferenceOutcome(result, store.table(produced["people"]), store.table(produced["fates"]))


def _frame(store: Store, people: PeopleOutputs, table: Microdata, schema: Schema) -> Frame:
    evaluates = store.record(people["asking"], ExperimentScope).evaluates
    return Frame.create_from_table(store.table(people["frame"]), find_units(table, schema), evaluates)


def _answered(store: Store, produced: MembershipOutputs, frame: Frame | None, table: Microdata | None) -> MembershipOutcome:
    result = store.record(produced["result"], MembershipResult)
    if "scores" not in produced:
        return MembershipOutcome(result)
    found = store.table(produced["scores"])
    scores, *of_insiders = ((name, found.floats(name)) for name in found.names)
    return MembershipOutcome(dataclasses.replace(result, scores=scores[1], of_insiders=tuple(of_insiders)), frame, table)


def _create_joined_truths(
    store: Store, truth: GroundTruth, schema: Schema, earlier: list[RecordRef[EarlierRelease]]
) -> dict[str | None, JoinedTruth]:
    """Whose rows the attacks by earlier releases link: those of this release (None), or of an earlier one, by its name."""
    releases = (store.record(one, EarlierRelease) for one in earlier)
    views = tuple(read_earlier_view(store, one, one.tables) for one in releases if one.tables is not None)
    return judge_releases(truth, schema, views)


def _create_file_truths(
    store: Store, source: GroundTruth, schema: Schema, results: list[AttackOutputs]
) -> dict[str, GroundTruth]:
    """The scene of each holder of an external file, by their name."""
    found = dict.fromkeys((one["holder"], one["file"]) for one in results if "file" in one)
    holders = ((store.record(holder, Intruder), store.table(file)) for holder, file in found)
    return {holder.name: resolve_ground_truth(source, schema, holder, file) for holder, file in holders}


def _result(store: Store, produced: AttackOutputs) -> AttackResult:
    """The result of an attack with its outcomes, which are kept apart as a table."""
    outcomes = store.table(produced["outcomes"]) if "outcomes" in produced else None
    return dataclasses.replace(store.record(produced["result"], AttackResult), outcomes=outcomes)
