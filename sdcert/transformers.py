"""Masks of numeric tables as transformers of scikit-learn.

A mask is made of a table as a whole, so `transform` masks the table that it is given, by itself: nothing is learned from
another one. Every column is taken for a numeric quasi-identifier; there are no roles, and nothing is refused because it undoes
a mask. For a release use `sdcert.mask`, or a release file.
"""

from __future__ import annotations

import secrets
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from sdcert.rehearsals import compute_as_stages_do, create_rehearsed_release, create_release_content, relocate_to_call
from tasks.mask.methods import mask
from tasks.microdata.randomness import SEED_BYTES
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.runtime.artifacts import content_address

Table = npt.NDArray[np.float64]


class _MaskTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What the masks share. `method`: the name of the masking method; its parameters are those of the transformer."""

    method: ClassVar[str]

    def fit(self, X: Any, y: Any = None) -> Self:
        """Look at the shape of the table, and at the parameters. Nothing else is kept of it."""
        self._read(X, reset=True)
        self._create_steps(self.n_features_in_)
        return self

    def transform(self, X: Any) -> Table:
        """Mask a table of numbers, shape (n, d), n >= 2; NaN is a missing value and stays one. Returns the masked table.

        Raises ValueError as scikit-learn does, and InputError for parameters that do not fit the table (k above n).
        """
        check_is_fitted(self, "n_features_in_")
        read = self._read(X, reset=False)
        names = [_name_column(i) for i in range(read.shape[1])]
        data = Microdata.from_columns({name: read[:, i] for i, name in enumerate(names)})
        schema = Schema(tuple(Attribute(name, Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared") for name in names))
        with relocate_to_call(self._call), compute_as_stages_do():
            steps = create_rehearsed_release(self._call, self._create_steps(len(names))).steps
            done = mask(data, schema, steps, seed=self._choose_seed(), path=("mask", content_address(data)))
        return np.column_stack([done.data.floats(name) for name in names])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.non_deterministic = self._draws and getattr(self, "random_state", None) is None
        return tags

    @property
    def _draws(self) -> bool:
        """Does the mask draw random numbers?"""
        return True

    @property
    def _call(self) -> str:
        return f"sdcert.{type(self).__name__}"

    def _read(self, X: Any, *, reset: bool) -> Table:
        read: Table = validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=2)
        return read

    def _create_steps(self, n_columns: int) -> dict[str, Any]:
        """The release file that says what is done. n_columns: of the table."""
        step = {"method": self.method, **self._describe_step([_name_column(i) for i in range(n_columns)])}
        return create_release_content(None, masking=[{name: value for name, value in step.items() if value is not None}])

    def _describe_step(self, names: list[str]) -> dict[str, Any]:
        parameters = {name: value for name, value in self.get_params(deep=False).items() if name != "random_state"}
        return {"attributes": names, **parameters}

    def _choose_seed(self) -> bytes:
        """A secret seed, or one that follows from `random_state`, which is no secret: for rehearsals only."""
        chosen = getattr(self, "random_state", None)
        return secrets.token_bytes(SEED_BYTES) if chosen is None else bytes(check_random_state(chosen).bytes(SEED_BYTES))


def _name_column(i: int) -> str:
    return f"x{i}"


class Microaggregation(_MaskTransformer):
    """Records are put into groups of at least k, and get the means of their group.

    Parameters: as the masking method `microaggregation` (`sdcert methods mask`). random_state: for `partition="randomised"`.

    >>> from sdcert import Microaggregation
    >>> Microaggregation(k=2).fit_transform([[1.0], [2.0], [11.0], [12.0]]).ravel().tolist()
    [2.0, 2.0, 12.0, 12.0]
    """

    method = "microaggregation"

    def __init__(
        self,
        k: int = 5,
        *,
        partition: Literal["mdav", "v_mdav", "refined", "randomised", "projection", "individual_ranking"] = "mdav",
        aggregate: Literal["mean", "median"] = "mean",
        standardize: bool = True,
        gamma: float | None = None,
        axis: Any = None,
        random_state: Any = None,
    ) -> None:
        self.k = k
        self.partition = partition
        self.aggregate = aggregate
        self.standardize = standardize
        self.gamma = gamma
        self.axis = axis
        self.random_state = random_state

    @property
    def _draws(self) -> bool:
        return self.partition == "randomised"


class Noise(_MaskTransformer):
    """Noise is added to each column (or multiplied with it), of a standard deviation in percent of the column's own.

    Parameters: as the masking method `noise`.

    >>> from sdcert import Noise
    >>> Noise(sd_percent=10, random_state=0).fit_transform([[1.25], [2.5], [3.75]]).shape
    (3, 1)
    """

    method = "noise"

    def __init__(
        self,
        sd_percent: float = 10.0,
        *,
        kind: Literal["independent", "correlated", "variance_restoring", "multiplicative"] = "independent",
        random_state: Any = None,
    ) -> None:
        self.sd_percent = sd_percent
        self.kind = kind
        self.random_state = random_state


class RankSwapping(_MaskTransformer):
    """Values of each column change places with others of near ranks.

    Parameters: as the masking method `rank_swapping`, one of `window_percent`, `buckets` and `p_percent` by the variant.

    >>> from sdcert import RankSwapping
    >>> sorted(RankSwapping(50, random_state=0).fit_transform([[1.0], [2.0], [3.0], [4.0]]).ravel().tolist())
    [1.0, 2.0, 3.0, 4.0]
    """

    method = "rank_swapping"

    def __init__(
        self,
        window_percent: float | None = 10.0,
        *,
        variant: Literal["classic", "p_buckets", "p_distribution"] = "classic",
        buckets: int | None = None,
        p_percent: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.window_percent = window_percent
        self.variant = variant
        self.buckets = buckets
        self.p_percent = p_percent
        self.random_state = random_state


class RankJitter(_MaskTransformer):
    """The ranks of each column's values are shaken.

    Parameters: as the masking method `rank_jitter`.

    >>> from sdcert import RankJitter
    >>> sorted(RankJitter(50, random_state=0).fit_transform([[1.0], [2.0], [3.0], [4.0]]).ravel().tolist())
    [1.0, 2.0, 3.0, 4.0]
    """

    method = "rank_jitter"

    def __init__(self, window_percent: float = 10.0, *, random_state: Any = None) -> None:
        self.window_percent = window_percent
        self.random_state = random_state


class Rounding(_MaskTransformer):
    """Values become multiples of `base`, one number for all columns or one for each.

    kind: as of the masking method `rounding`.

    >>> from sdcert import Rounding
    >>> Rounding(5).fit_transform([[18.0], [22.0]]).ravel().tolist()
    [20.0, 20.0]
    """

    method = "rounding"

    def __init__(
        self,
        base: Any = 1.0,
        *,
        kind: Literal["deterministic", "random", "controlled"] = "deterministic",
        random_state: Any = None,
    ) -> None:
        self.base = base
        self.kind = kind
        self.random_state = random_state

    @property
    def _draws(self) -> bool:
        return self.kind != "deterministic"

    def _describe_step(self, names: list[str]) -> dict[str, Any]:
        bases = np.broadcast_to(np.asarray(self.base, dtype=np.float64), (len(names),))
        return {"bases": dict(zip(names, bases.tolist(), strict=True)), "kind": self.kind}


class TopBottomCoding(_MaskTransformer):
    """The highest and the lowest values of each column are replaced.

    top_percent, bottom_percent: the share of the values that is coded at each end; None: none. publish: what replaces them, as
    of the masking method `top_bottom_coding`.

    >>> from sdcert import TopBottomCoding
    >>> TopBottomCoding(top_percent=50).fit_transform([[1.0], [2.0], [3.0], [9.0]]).ravel().tolist()
    [1.0, 2.0, 3.0, 3.0]
    """

    method = "top_bottom_coding"

    def __init__(
        self,
        top_percent: float | None = 5.0,
        *,
        bottom_percent: float | None = None,
        publish: Literal["limit", "mean", "median"] = "limit",
    ) -> None:
        self.top_percent = top_percent
        self.bottom_percent = bottom_percent
        self.publish = publish

    @property
    def _draws(self) -> bool:
        return False

    def _describe_step(self, names: list[str]) -> dict[str, Any]:
        ends = {"top_percent": self.top_percent, "bottom_percent": self.bottom_percent, "publish": self.publish}
        return {"limits": {name: {key: value for key, value in ends.items() if value is not None} for name in names}}
