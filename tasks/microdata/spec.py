"""What every part of a release file shares: strict, frozen models, and the bounded numbers they are made of.

Models are validated in strict JSON mode: `true` is not 1, `"5"` is not 5, NaN is not a number, and lists become tuples.
Fields ending in `_percent` run from 0 to 100; every other share is a fraction from 0 to 1.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints


class Spec(BaseModel):
    """Base of all parts of a release file: unknown fields are refused, nothing can be changed afterwards."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


Name = Annotated[str, StringConstraints(min_length=1, max_length=300)]
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,99}$")]
Reason = Annotated[str, StringConstraints(min_length=3, max_length=2000)]
Percent = Annotated[float, Field(gt=0, le=100)]
Share = Annotated[float, Field(gt=0, le=1)]
Names = Annotated[tuple[Name, ...], Field(min_length=1)]
