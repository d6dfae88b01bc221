"""Categories that are joined by a mapping."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tasks.ingest.columns.code_values import convert_codes
from tasks.mask.coding.mapping import CategoryPairs
from tasks.mask.step import MaskContext
from tasks.microdata.errors import InputError
from tasks.microdata.positions import extract_positions
from tasks.microdata.schema import Scale
from tasks.microdata.spec import Name, Spec
from tasks.microdata.suggestion import did_you_mean
from tasks.microdata.table import Microdata


class Become(Spec):
    """What all categories become that the mapping does not list."""

    become: Name


Others = Literal["refuse", "keep"] | Become


def join_categories(column: pa.Array, pairs: CategoryPairs, others: Others, location: str, name: str) -> pa.Array:
    """The column with each listed category replaced; of the others those stay that are not to become one."""
    old, new = (_values(texts, column.type, location, name) for texts in zip(*pairs, strict=True))
    image = new.take(pc.index_in(column, value_set=old))
    rest = column if not isinstance(others, Become) else _values((others.become,), column.type, location, name)[0]
    return pc.if_else(column.is_null(), column, pc.coalesce(image, rest))


def refuse_unfit_mapping(
    site: MaskContext, name: str, pairs: CategoryPairs, others: Others, location: str, *, unused_is_fine: bool
) -> None:
    """InputError for a mapping that lists what the table does not have, or misses what it has, or reverses an order."""
    column, kind = site.data.column(name), site.data.column(name).type
    old = _values(tuple(text for text, _ in pairs), kind, location, name)
    if len(pc.unique(old)) < len(old):
        what = f"two categories of the mapping are one and the same value of `{name}`"
        raise InputError("mapping", location, what, "each category once", "write each category as the table has it")
    categories = pc.unique(column.drop_null())
    if not unused_is_fine:
        _refuse_unused(old, _list_known_categories(site, name, categories), name, location)
    if others == "refuse":
        _refuse_unlisted(categories, old, name, location)
    if site.schema[name].scale is Scale.ORDINAL:
        _refuse_other_order(site, name, pairs, others, location)


def _refuse_unused(old: pa.Array, known: pa.Array, name: str, location: str) -> None:
    unknown = old.filter(pc.invert(pc.is_in(old, value_set=known)))
    if len(unknown):
        written = str(unknown[0])
        what = f"the mapping lists {len(unknown)} categor{'ies' if len(unknown) > 1 else 'y'} that `{name}` does not have"
        remedy = did_you_mean(written, map(str, known), "take it out, or say `unused: ignore`")
        raise InputError("unknown-category", f"{location}.map", what, "categories of the attribute", remedy, written)


def _refuse_unlisted(categories: pa.Array, old: pa.Array, name: str, location: str) -> None:
    unlisted = categories.filter(pc.invert(pc.is_in(categories, value_set=old)))
    if len(unlisted):
        written = str(unlisted[0])
        what = f"`{name}` has {len(unlisted)} categor{'ies' if len(unlisted) > 1 else 'y'} that the mapping does not list"
        remedy = did_you_mean(written, map(str, old), "list it, or say `others: keep` or `others: {become: ...}`")
        raise InputError("unlisted-category", location, what, "a mapping of all categories, or `others`", remedy, written)


def _list_known_categories(site: MaskContext, name: str, categories: pa.Array) -> pa.Array:
    """The categories of the column as it is now and as it was at first, and those of its declared order."""
    order = pa.array(site.schema[name].order or (), type=pa.string())
    found = [categories, pc.unique(site.table.column(name).drop_null())]
    return pc.unique(pa.concat_arrays([*found, order] if site.data.is_text(name) else found))


def _refuse_other_order(site: MaskContext, name: str, pairs: CategoryPairs, others: Others, location: str) -> None:
    """InputError where a lower category becomes a higher one than a higher category does, or leaves the order."""
    attribute = site.schema[name]
    extract_positions(site.data, site.schema, name, location)
    kind = site.data.column(name).type
    before = pa.array(attribute.order, type=kind) if attribute.order else _sort_categories(site.data.column(name))
    listed = _values(tuple(text for text, _ in pairs), kind, location, name)
    if others == "refuse":
        before = before.filter(pc.is_in(before, value_set=listed))
    after = Microdata.from_columns({name: join_categories(before, pairs, others, location, name)}).positions(attribute)
    if np.isnan(after).any():
        what = f"the mapping makes something of `{name}` that is no category of its declared order"
        raise InputError("unknown-category", location, what, "categories of `order`", "take categories of `order`")
    if (np.diff(after) < 0).any():
        what = f"the mapping does not keep the order of `{name}`: a lower category becomes the higher one"
        raise InputError("order-not-kept", location, what, "a mapping that never reverses the order", "join neighbours only")


def _sort_categories(column: pa.Array) -> pa.Array:
    found = pc.unique(column.drop_null())
    return found.take(pc.sort_indices(found))


def _values(texts: tuple[str, ...], kind: pa.DataType, location: str, name: str) -> pa.Array:
    try:
        return pa.array(convert_codes(tuple(texts), kind, name), type=kind)
    except InputError:
        what = f"`{name}` holds {kind} values, and the mapping holds something that is none"
        allowed = 'categories as the column holds them, e.g. "1" for 1'
        raise InputError("unfitting-category", location, what, allowed, "write each as the table has it") from None
