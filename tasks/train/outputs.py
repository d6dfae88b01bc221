"""What the training stages return, by address."""

from __future__ import annotations

from typing import TypedDict

from tasks.microdata.refs import FileRef, RecordRef
from tasks.train.card import ModelCard


class ModelOutputs(TypedDict):
    """A fitted model, and what there is to say of it."""

    model: FileRef
    card: RecordRef[ModelCard]
