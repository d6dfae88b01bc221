"""Mask a data frame, or adopt one that another tool masked."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from flows.release import ReleaseSpec
from sdcert.frames import create_data_frame, read_frame, select_index
from sdcert.rehearsals import (
    Content,
    compute_as_stages_do,
    create_rehearsed_release,
    create_release_content,
    relocate_to_call,
    to_plain,
)
from tasks.classify.methods import classify
from tasks.ingest.external_table import relocate_errors
from tasks.ingest.methods import IngestReport, ingest_raw_table
from tasks.ingest.released_table import type_released_table
from tasks.mask.control import harmonise_control, set_aside
from tasks.mask.external_release.adoption import adopt as adopt_table
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import Mechanism
from tasks.mask.methods import mask as mask_table
from tasks.mask.personal_laws import is_personal
from tasks.mask.pseudonyms import Pseudonyms
from tasks.microdata.alignment import Alignment, RowAlignment
from tasks.microdata.errors import InputError
from tasks.microdata.randomness import SEED_BYTES, stream
from tasks.microdata.schema import Schema
from tasks.microdata.table import Integers, Microdata
from tasks.microdata.units import find_units
from tasks.runtime.artifacts import content_address
from tasks.runtime.draws import derive_chosen_seed

MASK, ADOPT = "sdcert.mask", "sdcert.adopt"
Steps = str | Sequence[Mapping[str, Any]]
RoleDeclarations = Mapping[str, Mapping[str, Any] | None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MaskedFrame:
    """A masked data frame. It is a rehearsal: its seed is kept nowhere else, and nothing is certified.

    table: the published columns, masked; rows in the order, and with the index, of those that were masked. A certified release
    shuffles them.
    notes: what is good to know of what was read and done; no value of the table.
    """

    table: pd.DataFrame
    notes: tuple[str, ...]
    schema: Schema = field(repr=False)
    content: Content = field(repr=False)
    report: IngestReport = field(repr=False)
    source: Microdata = field(repr=False)
    original: Microdata = field(repr=False)
    masked: Microdata = field(repr=False)
    control: Microdata | None = field(repr=False)
    alignment: RowAlignment = field(repr=False)
    mechanisms: tuple[Mechanism, ...] = field(repr=False)
    seed: bytes = field(repr=False)
    address: str = field(repr=False)

    @property
    def mechanism(self) -> list[dict[str, Any]]:
        """What was done, as the `masking` of a release file says it, with the attributes written out."""
        return [step.model_dump(mode="json", by_alias=True, exclude_none=True) for step in self.mechanisms]

    @property
    def attributes(self) -> pd.DataFrame:
        """Role and scale of each column of the source, who decided them, and why."""
        shown = [(one.role.value, one.scale.value, one.decided_by, "; ".join(one.evidence)) for one in self.schema.attributes]
        return pd.DataFrame(shown, index=list(self.schema.names), columns=["role", "scale", "decided_by", "evidence"])

    def _repr_html_(self) -> str:
        from sdcert.pages import render_masked_frame

        return render_masked_frame(self)


def mask(
    frame: Any,
    method: Steps,
    *,
    seed: int | None = None,
    declare: RoleDeclarations | None = None,
    key: str | None = None,
    person: str | None = None,
    group: str | None = None,
    knows: Sequence[str] | None = None,
    control: Any = None,
    **parameters: Any,
) -> MaskedFrame:
    """Mask a data frame by one method, or by several steps in order, as `sdcert certify` does.

    frame: a data frame of pandas or polars, or an Arrow table; its index is left out.
    method: the name of a method, with its `parameters` (`sdcert methods mask` lists them), or a list of steps as in `masking`
        of a release file: `[{"method": "noise", "kind": "independent", "sd_percent": 20}, ...]`.
    seed: for rehearsals that can be repeated; default: a secret one is drawn, and kept in the result alone.
    declare: role and scale of columns, as `attributes` of a release file: `{"vote": {"role": "confidential"}}`. What is left
        out is proposed as the command line does; see `attributes` of the result.
    key, person, group: the columns that identify a row, a person with several rows, a household; they are not published.
    knows: what the intruder will know; those columns are then quasi-identifiers unless they are declared.
    control: the share of the rows, or persons, that is set aside before masking and is not in the result, or a data frame of
        people who are not in `frame`: `attack` then asks of them whether they are in the table. Default: nobody.

    Returns the published columns, masked. Raises InputError as `sdcert check`. Cost: as the method; no private folder is used.

    >>> import pandas as pd, sdcert as sc
    >>> df = pd.DataFrame({"age": [20, 21, 30, 31], "town": [1, 1, 2, 2]})
    >>> r = sc.mask(df, "microaggregation", attributes=["age"], k=2)
    >>> r.table["age"].tolist(), r.mechanism[0]["k"]
    ([20, 20, 30, 30], 2)
    """
    content = create_release_content(
        declare,
        key=key,
        person=person,
        group=group,
        masking=_list_steps(method, parameters),
        intruder=_describe_knowledge(knows),
        control=_describe_control(control),
    )
    release = create_rehearsed_release(MASK, content)
    _refuse_steps_of_a_series(release)
    chosen = _choose_seed(seed)
    with relocate_to_call(MASK), compute_as_stages_do():
        read = ingest_raw_table(read_frame(frame), release.ingest_plan)
        schema = classify(read.data, release.classify_plan)
        rows, others = _set_control_aside(read.data, schema, release, control, chosen)
        original = read.data if release.control_share is None else read.data.take(rows)
        address = content_address(original)
        notes: list[str] = []
        path = ("mask", address)
        done = mask_table(original, schema, release.steps, seed=chosen, path=path, tell=lambda note: notes.append(note()))
    return MaskedFrame(
        table=create_data_frame(done.data, select_index(frame, rows[done.record])),
        notes=(*read.report.notes, *notes),
        schema=schema,
        content=content,
        report=read.report,
        source=read.data,
        original=original,
        masked=done.data,
        control=others,
        alignment=Alignment(done.record, np.argsort(done.order), original.n),
        mechanisms=done.mechanisms,
        seed=chosen,
        address=address,
    )


def adopt(
    frame: Any,
    masked: Any,
    *,
    mechanism: Sequence[Mapping[str, Any]] | None = None,
    align: Literal["row", "key", "none"] = "row",
    tool: str | None = None,
    seed: int | None = None,
    declare: RoleDeclarations | None = None,
    key: str | None = None,
    person: str | None = None,
    group: str | None = None,
    knows: Sequence[str] | None = None,
    control: Any = None,
) -> MaskedFrame:
    """Take a data frame that another tool masked, as `released` of a release file does.

    masked: the masked rows. mechanism: the steps by which they were masked, if they are known; they are simulated, and what
        shows otherwise is said. align: `row`: row i is that of row i of `frame`; `key`: both hold the column `key`; `none`: the
        rows are synthetic and belong to nobody. tool: what masked it. control: a data frame of people who are not in `frame`.
        Other arguments: as `mask`.

    Raises InputError for tables that do not fit together.

    >>> import pandas as pd, sdcert as sc
    >>> df = pd.DataFrame({"age": [20, 21, 30, 31], "town": [1, 1, 2, 2]})
    >>> r = sc.adopt(df, df.assign(age=[20, 20, 30, 30]))
    >>> r.mechanism
    [{'attributes': ['age'], 'method': 'undeclared'}]
    """
    if _is_share(control):
        what, allowed = "This table was made elsewhere of all rows: none can be set aside any more.", "a data frame, or nothing"
        remedy = "give people of the same kind who are not in `frame`"
        raise InputError("control-comes-late", f"{ADOPT}: control", what, allowed, remedy, value=control)
    released = {"table": "masked data frame", "align": align, "mechanism": mechanism, "tool": tool}
    content = create_release_content(
        declare,
        key=key,
        person=person,
        group=group,
        released={name: value for name, value in released.items() if value is not None},
        intruder=_describe_knowledge(knows),
        control=_describe_control(control),
    )
    release = create_rehearsed_release(ADOPT, content)
    plan, chosen = release.adoption_plan, _choose_seed(seed)
    if plan is None:
        raise RuntimeError("a table masked elsewhere has a plan of how it is adopted")
    with relocate_to_call(ADOPT), compute_as_stages_do():
        read = ingest_raw_table(read_frame(frame), release.ingest_plan)
        schema = classify(read.data, release.classify_plan)
        given = type_released_table(read_frame(masked, "masked data frame"), plan.create_reading_plan(schema))
        done = adopt_table(read.data, schema, plan, given.data, given.notes)
        _, others = _set_control_aside(read.data, schema, release, control, chosen)
        address = content_address(read.data)
    position = stream(chosen, "adopt", address, *done.data.names).permutation(done.data.n)  # whoever made it, rows are shuffled
    return MaskedFrame(
        table=create_data_frame(given.data.select(done.data.names), select_index(masked, np.arange(given.data.n))),
        notes=(*read.report.notes, *done.notes),
        schema=schema,
        content=content,
        report=read.report,
        source=read.data,
        original=read.data,
        masked=done.data,
        control=others,
        alignment=replace(done.alignment, position=position),
        mechanisms=done.mechanisms,
        seed=chosen,
        address=address,
    )


def require_source(masked: MaskedFrame, frame: Any, call: str) -> Microdata:
    """The table that was masked, and the control that was set aside of it; InputError where the frame holds another one now."""
    release = create_rehearsed_release(call, masked.content)
    with relocate_to_call(call):
        read = ingest_raw_table(read_frame(frame), release.ingest_plan)
    if not read.data.arrow.equals(masked.source.arrow):
        what, remedy = "The data frame is not the one that was masked.", "give the one that was masked, or mask this one"
        raise InputError("other-source", call, what, "the data frame as it was when it was masked", remedy)
    return masked.source


def _list_steps(method: Steps, parameters: Mapping[str, Any]) -> list[Any]:
    if isinstance(method, str):
        return [{"method": method, **parameters}]
    if parameters:
        what = "Steps hold their own parameters, and others are given beside them."
        remedy = "write them into a step: [{'method': ..., ...}]"
        raise InputError("parameters-beside-steps", MASK, what, "steps alone", remedy, value=", ".join(parameters))
    return [to_plain(step, MASK) for step in method]


def _describe_knowledge(knows: Sequence[str] | None) -> dict[str, Any] | None:
    return None if knows is None else {"knows": list(knows)}


def _describe_control(control: Any) -> Any:
    """As a release file says it: a share, or a table, whose rows are given beside it."""
    return control if control is None or _is_share(control) else {"table": "control"}


def _is_share(control: Any) -> bool:
    return isinstance(control, str | bool | int | float | np.number)


def _set_control_aside(
    source: Microdata, schema: Schema, release: ReleaseSpec, control: Any, seed: bytes
) -> tuple[Integers, Microdata | None]:
    """The rows that are masked, and the people who are not in the table, drawn of the source or given; None: there are none."""
    share, plan = release.control_share, release.control_plan
    if share is not None:
        rng = stream(seed, "control", content_address(source))
        rows, aside = set_aside(find_units(source, schema), share, rng=rng)
        return rows, source.take(aside)
    everybody = np.arange(source.n, dtype=np.int64)
    if plan is None:
        return everybody, None
    with relocate_errors("control"):
        read = ingest_raw_table(read_frame(control, "control"), plan)
    return everybody, harmonise_control(source, read.data, schema, release.key)


def _choose_seed(seed: int | None) -> bytes:
    if seed is None:
        return secrets.token_bytes(SEED_BYTES)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        what, remedy = "A chosen seed is no whole number of 0 or more.", "choose one, or leave it out: a secret seed is drawn"
        raise InputError("seed", "seed", what, "0, 1, 2, ...", remedy, value=seed)
    return derive_chosen_seed(int(seed))


def _refuse_steps_of_a_series(release: ReleaseSpec) -> None:
    """InputError for steps that need a key of the private folder, or what was released before."""
    for i, step in enumerate(release.steps):
        frozen = isinstance(step, Microaggregation) and step.frozen
        if frozen or is_personal(step) or isinstance(step, Pseudonyms):
            what = "This step keeps what earlier releases showed, or needs a key of the private folder."
            remedy = "write a release file and certify it: `sdcert.certify(...)`; or take this out"
            raise InputError("needs-a-series", f"{MASK}: masking[{i}]", what, "steps of a single release", remedy, step.method)
