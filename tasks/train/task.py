"""The cached tasks of stage `train`: fit a model on a table, or read a fitted one, and store it for release."""

from __future__ import annotations

from typing import Any, Literal

from tasks.microdata.errors import InputError
from tasks.microdata.randomness import stream
from tasks.microdata.refs import RecordRef, TableRef
from tasks.microdata.schema import Schema
from tasks.microdata.table import Microdata
from tasks.runtime.artifacts import Store, content_address
from tasks.runtime.draws import read_seed
from tasks.runtime.stages import stage
from tasks.train.card import create_model_card
from tasks.train.examples import ExampleEncoder, create_encoder, create_encoder_for_file, refuse_rare_classes
from tasks.train.learners import RANDOM_STATES
from tasks.train.outputs import ModelOutputs
from tasks.train.rare import refuse_rare_categories
from tasks.train.skops_file import list_classes, list_feature_names, read_model, serialise_model
from tasks.train.spec import MODEL_LOCATION, ModelSpec, read_model_file
from tasks.train.training import create_predictor, fit_model, refuse_silent

TrainingPurpose = Literal["release", "rehearsal"]
ROOMS = ("train", "mask", "classify", "ingest")


@stage("train", rooms=ROOMS)
def train_model(
    table: TableRef, schema: RecordRef[Schema], plan: RecordRef[ModelSpec], purpose: TrainingPurpose, draw: str
) -> ModelOutputs:
    """Train the model on a table, with the seed of a draw: for release, or to rehearse how it is made."""
    store = Store()
    training, attributes, spec = store.table(table), store.record(schema, Schema), store.record(plan, ModelSpec)
    rng = stream(read_seed(draw), "model", purpose, content_address(training))
    random_state = int(rng.integers(RANDOM_STATES))
    if spec.learner is None:
        raise ValueError("a model without a learner is read from its file")
    coding = create_encoder(spec, attributes, training)
    examples = coding.examples(training)
    refuse_rare_classes(examples, spec)
    model = fit_model(examples, spec.learner, random_state)
    return _store_model(store, spec, coding, model, training)


@stage("adopt model", rooms=ROOMS)
def adopt_model(table: TableRef, schema: RecordRef[Schema], plan: RecordRef[ModelSpec], digest: str) -> ModelOutputs:
    """Read a fitted model from the file that had this digest; `table` is what it was trained on, as the release file says.

    The file is written anew, with nothing in it but what the model needs.
    """
    store = Store()
    training, attributes, spec = store.table(table), store.record(schema, Schema), store.record(plan, ModelSpec)
    content = read_model_file(spec)
    if store.digest(content) != digest:
        what, remedy = "the file changed while it was read", "run again when it is complete"
        raise InputError("source-changed", f"{MODEL_LOCATION}.file", what, "a file at rest", remedy)
    model = read_model(content, f"{MODEL_LOCATION}.file")
    coding = create_encoder_for_file(spec, attributes, list_feature_names(model), list_classes(model), training)
    examples = coding.examples(training)
    refuse_rare_classes(examples, spec)
    refuse_rare_categories(model, examples.frame)
    refuse_silent(spec, create_predictor(model, coding.classes), examples.frame, "the source")
    return _store_model(store, spec, coding, model, training)


def _store_model(store: Store, spec: ModelSpec, coding: ExampleEncoder, model: Any, training: Microdata) -> ModelOutputs:
    file = serialise_model(model)
    return {"model": store.put_file(file), "card": store.put_record(create_model_card(spec, coding, model, file, training))}


def model_digest(spec: ModelSpec) -> str:
    """The keyed digest of the file of a fitted model. Raises InputError where it is not there."""
    return Store().digest(read_model_file(spec))
