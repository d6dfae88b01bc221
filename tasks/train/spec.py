"""What a release file says of a model that is released."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import LARGEST_TABLE, read_file
from tasks.microdata.spec import Name, Names, Public, Spec
from tasks.train.learners import Learner

MOST_CLASSES = 100
MODEL_LOCATION = "release.model"


class ModelSpec(Spec):
    """A classifier that is released instead of a table: trained here, or fitted already and read from a file.

    learner: which is trained, with its parameters. file: instead, a fitted scikit-learn classifier, or a pipeline that ends in
        one, written by skops; path relative to the release file. Pickles are not read.
    target: the attribute that it predicts; its classes are those of the table that it is trained on.
    target_quantiles: cut a numeric target into so many classes of about equal size, at values of three digits; default: every
        value is a class.
    features: what it predicts from; default: all published attributes but the target, weights and free text, or the columns
        that the model of a file was fitted on.
    trained_on: the `masked` table or the `original`; default: the masked one if there is `masking`.
    """

    learner: Public[Learner | None] = None
    file: Name | None = None
    target: Public[Name]
    target_quantiles: Public[Annotated[int, Field(ge=2, le=MOST_CLASSES)] | None] = None
    features: Public[Names | None] = None
    trained_on: Public[Literal["masked", "original"] | None] = None

    @model_validator(mode="after")
    def _check_model_origin(self) -> Self:
        if (self.learner is None) == (self.file is None):
            raise ValueError("a model has either `learner` (to be trained here) or `file` (fitted already, written by skops)")
        fixed = {"target_quantiles": self.target_quantiles, "features": self.features, "trained_on": self.trained_on}
        given = [name for name, value in fixed.items() if value is not None]
        if self.file is not None and given:
            raise ValueError(f"`{given[0]}` is fixed already where the model is read from a file: take it out")
        return self

    def resolve_path(self, base: Path) -> Self:
        """The same with its path made absolute against the folder `base` of the release file."""
        return self if self.file is None else self.model_copy(update={"file": str((base / self.file).absolute())})


def read_model_file(spec: ModelSpec) -> bytes:
    """The bytes of the file of a fitted model. Raises InputError where it cannot be read."""
    path = Path(str(spec.file))
    try:
        return read_file(path, LARGEST_TABLE)
    except OSError as error:
        what, allowed = f"the model cannot be read ({error.strerror})", "a file that skops has written"
        raise InputError("no-such-source", f"{MODEL_LOCATION}.file", what, allowed, "correct the path", path.name) from None
