"""What there is to say of a model, without a value of the table that it was trained on but the names of its classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tasks.microdata.imports import one_at_a_time
from tasks.microdata.spec import find_declaration
from tasks.microdata.table import Microdata
from tasks.train.examples import ExampleEncoder, FeatureKind
from tasks.train.learners import AnyLearner
from tasks.train.spec import ModelSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """A column that the model reads. type: of the column in the training table, as in the statement about a table."""

    name: str
    type: str
    kind: FeatureKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCard:
    """A released model.

    algorithm: the class of scikit-learn that answers. parameters: what was chosen of it; empty for a model from a file.
    inputs: the columns it reads, in their order. target: what it predicts. classes: their names, as the model gives them.
    trained_on: `masked`, `original`, or `elsewhere` for a model that came fitted. rows: of the training table.
    trusted: the types that who loads the file with skops has to name.
    """

    algorithm: str
    parameters: dict[str, Any]
    inputs: tuple[Input, ...]
    target: str
    target_type: str
    classes: tuple[str, ...]
    trained_on: str
    rows: int
    trusted: tuple[str, ...]


def create_model_card(spec: ModelSpec, coding: ExampleEncoder, model: Any, file: bytes, training: Microdata) -> ModelCard:
    """The card of a fitted model of a training table, with its file."""
    with one_at_a_time():
        from skops.io import get_untrusted_types

    last = model.steps[-1][1] if hasattr(model, "steps") else model
    types = {one.name: str(training.column(one.name).type) for one in coding.features}
    return ModelCard(
        algorithm=type(last).__name__,
        parameters={} if spec.learner is None else _parameters(spec.learner),
        inputs=tuple(Input(name=one.name, type=types[one.name], kind=one.kind) for one in coding.features),
        target=coding.target,
        target_type=str(training.column(coding.target).type),
        classes=tuple(str(one) for one in model.classes_),
        trained_on="elsewhere" if spec.learner is None else spec.trained_on or "original",
        rows=training.n,
        trusted=tuple(sorted(get_untrusted_types(data=file))),
    )


def _parameters(learner: AnyLearner) -> dict[str, Any]:
    """The parameters that are declared public; those without a value too, because `max_depth: null` says something."""
    parameters, fields = learner.public(), type(learner).model_fields
    return {
        name: parameters.get(name) for name, field in fields.items() if find_declaration(field) is not None and name != "method"
    }
