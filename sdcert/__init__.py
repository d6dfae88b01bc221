"""Mask, attack and certify releases of statistical microdata, from data frames and from release files.

>>> import pandas as pd
>>> import sdcert as sc
>>> df = pd.DataFrame({"age": [20, 25, 30, 35, 40, 45, 50, 55] * 5, "income": [100, 300, 200, 500, 900] * 8})
>>> df["ill"] = ["no", "no", "yes", "no"] * 10
>>> r = sc.mask(df, "microaggregation", attributes=["age", "income"], k=5, declare={"ill": {"role": "confidential"}})
>>> a = sc.attack(df, r, knows=["age", "income"])
>>> s = sc.score(df, r, attacks=[a])
>>> v = sc.decide(s, policy=[{"measure": "reidentification", "at_most": 0.2}])
>>> v.outcome, round(a["reidentification"], 9)
('kept', 0.2)

That is a rehearsal: it draws a secret seed of its own, keeps and certifies nothing, and needs no private folder. The steps,
attacks, measures and policy lines are written as in a release file, and their figures are those of `sdcert certify` for the
same masking. To certify, write a release file (docs/RELEASE_FILE.md), and run it:

    run = sc.certify("release.yaml")      # run.verdict, run.scorecard, run.report, run.certificate, run.table
    sc.verify(run.released_file)          # is this file what its certificate says?
    sc.audit.find(run.released_file)      # which runs does this file come from?
    sc.sweep("sweep.yaml").frontier       # the points that no other beats in risk and loss

| function | what it does |
|---|---|
| `mask` | masks a data frame by one method, or by several steps |
| `adopt` | takes a data frame that another tool masked |
| `attack` | attacks a masked data frame as an intruder would: whose row is it, who is in it, what does it tell of them? |
| `score` | measures risk and loss |
| `decide` | holds the figures against the lines of a policy |
| `Microaggregation`, `Noise`, `RankSwapping`, `RankJitter`, `Rounding`, `TopBottomCoding` | transformers of scikit-learn |

Data frames may be of pandas, polars or Arrow; what comes back is of pandas. Wrong input raises `InputError`, which says what is
wrong, where, what is allowed and what to do. Methods and measures are listed by `sdcert methods mask`, `attack` and `score`.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sdcert import audit as audit
    from sdcert.certified_releases import CertifiedRelease as CertifiedRelease
    from sdcert.certified_releases import VerifiedRelease as VerifiedRelease
    from sdcert.certified_releases import certify as certify
    from sdcert.certified_releases import verify as verify
    from sdcert.frame_attacks import AttackFigures as AttackFigures
    from sdcert.frame_attacks import attack as attack
    from sdcert.frame_scores import FrameScore as FrameScore
    from sdcert.frame_scores import RehearsedVerdict as RehearsedVerdict
    from sdcert.frame_scores import decide as decide
    from sdcert.frame_scores import score as score
    from sdcert.masked_frames import MaskedFrame as MaskedFrame
    from sdcert.masked_frames import adopt as adopt
    from sdcert.masked_frames import mask as mask
    from sdcert.parameter_sweeps import ParameterSweep as ParameterSweep
    from sdcert.parameter_sweeps import sweep as sweep
    from sdcert.transformers import Microaggregation as Microaggregation
    from sdcert.transformers import Noise as Noise
    from sdcert.transformers import RankJitter as RankJitter
    from sdcert.transformers import RankSwapping as RankSwapping
    from sdcert.transformers import Rounding as Rounding
    from sdcert.transformers import TopBottomCoding as TopBottomCoding
    from tasks.microdata.errors import InputError as InputError

# What is imported when it is first asked for: `import sdcert` alone answers at once.
_HOMES = {
    "mask": "sdcert.masked_frames",
    "adopt": "sdcert.masked_frames",
    "MaskedFrame": "sdcert.masked_frames",
    "attack": "sdcert.frame_attacks",
    "AttackFigures": "sdcert.frame_attacks",
    "score": "sdcert.frame_scores",
    "decide": "sdcert.frame_scores",
    "FrameScore": "sdcert.frame_scores",
    "RehearsedVerdict": "sdcert.frame_scores",
    "certify": "sdcert.certified_releases",
    "verify": "sdcert.certified_releases",
    "CertifiedRelease": "sdcert.certified_releases",
    "VerifiedRelease": "sdcert.certified_releases",
    "sweep": "sdcert.parameter_sweeps",
    "ParameterSweep": "sdcert.parameter_sweeps",
    "Microaggregation": "sdcert.transformers",
    "Noise": "sdcert.transformers",
    "RankJitter": "sdcert.transformers",
    "RankSwapping": "sdcert.transformers",
    "Rounding": "sdcert.transformers",
    "TopBottomCoding": "sdcert.transformers",
    "InputError": "tasks.microdata.errors",
}
_MODULES = ("audit",)

__all__ = [  # noqa: PLE0604  # a list of names, as it should be: what is lazy is known to the type checker above
    *_HOMES,
    *_MODULES,
]


def _refuse_other_packages() -> None:
    """ImportError where `flows` or `tasks` is another module than that beside this one, as a `tasks.py` of a project may be."""
    beside = Path(__file__).resolve().parent.parent
    for package in ("flows", "tasks"):
        found = importlib.util.find_spec(package)
        place = None if found is None or found.origin is None else Path(found.origin).resolve()
        if place != beside / package / "__init__.py":
            raise ImportError(
                f"sdcert needs its own package `{package}` in {beside}, but Python finds another one: {place or 'a folder'}. "
                f"Rename that one, or run where it is not on the path.",
                name=package,
            )


def _import_module(name: str) -> ModuleType:
    """Import without collecting garbage meanwhile: what imports make lives on, and looking through it takes 8 % of the time."""
    _refuse_other_packages()
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        return importlib.import_module(name)
    finally:
        if was_collecting:
            gc.enable()


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return _import_module(f"sdcert.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module `sdcert` has no attribute `{name}`")
    found = getattr(_import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
