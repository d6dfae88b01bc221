"""What every part of a release file shares: strict, frozen models, and the bounded numbers they are made of.

Models are validated in strict JSON mode: `true` is not 1, `"5"` is not 5, NaN is not a number, and lists become tuples.
Fields ending in `_percent` run from 0 to 100; every other share is a fraction from 0 to 1.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints


class Spec(BaseModel):
    """Base of all parts of a release file: unknown fields are refused, nothing can be changed afterwards."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


SLUG = re.compile(r"^[a-z0-9][a-z0-9._-]{0,99}$")


def _a_slug(text: str) -> str:
    if SLUG.fullmatch(text) is None:
        like = re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-._")[:100]
        hint = f", e.g. `{like}`" if like else ""
        raise ValueError(f"a name of 1 to 100 small letters, digits and . _ - that begins with a letter or digit{hint}")
    return text


Name = Annotated[str, StringConstraints(min_length=1, max_length=300)]
Slug = Annotated[str, Field(json_schema_extra={"pattern": SLUG.pattern}), AfterValidator(_a_slug)]
Reason = Annotated[str, StringConstraints(min_length=3, max_length=2000)]
Percent = Annotated[float, Field(gt=0, le=100)]
Share = Annotated[float, Field(gt=0, le=1)]
Names = Annotated[tuple[Name, ...], Field(min_length=1)]
