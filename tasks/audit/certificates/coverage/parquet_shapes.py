"""The structs of a Parquet file as parquet.thrift declares them: which fields there are, their names and types.

Readers skip all others unseen. The names are those of
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift; left out are encryption, Bloom filters and
files in several parts.
"""

from __future__ import annotations

from typing import Any

Shape = Any  # int, bool, bytes; a list of one shape; a struct: name and shape of each field, by its number
NamedFields = dict[str, Any]  # a struct with its fields by name


class UnknownField(ValueError):
    """A header has a field that is not declared here, or that is of another type."""


_STATISTICS: Shape = {
    1: ("max", bytes),
    2: ("min", bytes),
    3: ("null_count", int),
    4: ("distinct_count", int),
    5: ("max_value", bytes),
    6: ("min_value", bytes),
    7: ("is_max_value_exact", bool),
    8: ("is_min_value_exact", bool),
}
_SIZE_STATISTICS: Shape = {
    1: ("unencoded_byte_array_data_bytes", int),
    2: ("repetition_level_histogram", [int]),
    3: ("definition_level_histogram", [int]),
}
_TIME: Shape = {1: ("isAdjustedToUTC", bool), 2: ("unit", {1: ("MILLIS", {}), 2: ("MICROS", {}), 3: ("NANOS", {})})}
_LOGICAL_TYPE: Shape = {
    1: ("STRING", {}),
    4: ("ENUM", {}),
    5: ("DECIMAL", {1: ("scale", int), 2: ("precision", int)}),
    6: ("DATE", {}),
    7: ("TIME", _TIME),
    8: ("TIMESTAMP", _TIME),
    10: ("INTEGER", {1: ("bitWidth", int), 2: ("isSigned", bool)}),
    11: ("UNKNOWN", {}),
    14: ("UUID", {}),
    15: ("FLOAT16", {}),
}
_SCHEMA_ELEMENT: Shape = {
    1: ("type", int),
    2: ("type_length", int),
    3: ("repetition_type", int),
    4: ("name", bytes),
    5: ("num_children", int),
    6: ("converted_type", int),
    7: ("scale", int),
    8: ("precision", int),
    9: ("field_id", int),
    10: ("logicalType", _LOGICAL_TYPE),
}
_COLUMN_META_DATA: Shape = {
    1: ("type", int),
    2: ("encodings", [int]),
    3: ("path_in_schema", [bytes]),
    4: ("codec", int),
    5: ("num_values", int),
    6: ("total_uncompressed_size", int),
    7: ("total_compressed_size", int),
    9: ("data_page_offset", int),
    11: ("dictionary_page_offset", int),
    12: ("statistics", _STATISTICS),
    13: ("encoding_stats", [{1: ("page_type", int), 2: ("encoding", int), 3: ("count", int)}]),
    16: ("size_statistics", _SIZE_STATISTICS),
}
_COLUMN_CHUNK: Shape = {
    2: ("file_offset", int),
    3: ("meta_data", _COLUMN_META_DATA),
    4: ("offset_index_offset", int),
    5: ("offset_index_length", int),
    6: ("column_index_offset", int),
    7: ("column_index_length", int),
}
_ROW_GROUP: Shape = {
    1: ("columns", [_COLUMN_CHUNK]),
    2: ("total_byte_size", int),
    3: ("num_rows", int),
    4: ("sorting_columns", [{1: ("column_idx", int), 2: ("descending", bool), 3: ("nulls_first", bool)}]),
    5: ("file_offset", int),
    6: ("total_compressed_size", int),
    7: ("ordinal", int),
}
FOOTER: Shape = {
    1: ("version", int),
    2: ("schema", [_SCHEMA_ELEMENT]),
    3: ("num_rows", int),
    4: ("row_groups", [_ROW_GROUP]),
    5: ("key_value_metadata", [{1: ("key", bytes), 2: ("value", bytes)}]),
    6: ("created_by", bytes),
    7: ("column_orders", [{1: ("TYPE_ORDER", {})}]),
}

_DATA_PAGE: Shape = {
    1: ("num_values", int),
    2: ("encoding", int),
    3: ("definition_level_encoding", int),
    4: ("repetition_level_encoding", int),
    5: ("statistics", _STATISTICS),
}
_DICTIONARY_PAGE: Shape = {1: ("num_values", int), 2: ("encoding", int), 3: ("is_sorted", bool)}
_DATA_PAGE_V2: Shape = {
    1: ("num_values", int),
    2: ("num_nulls", int),
    3: ("num_rows", int),
    4: ("encoding", int),
    5: ("definition_levels_byte_length", int),
    6: ("repetition_levels_byte_length", int),
    7: ("is_compressed", bool),
    8: ("statistics", _STATISTICS),
}
PAGE_HEADER: Shape = {
    1: ("type", int),
    2: ("uncompressed_page_size", int),
    3: ("compressed_page_size", int),
    4: ("crc", int),
    5: ("data_page_header", _DATA_PAGE),
    7: ("dictionary_page_header", _DICTIONARY_PAGE),
    8: ("data_page_header_v2", _DATA_PAGE_V2),
}

OFFSET_INDEX: Shape = {
    1: ("page_locations", [{1: ("offset", int), 2: ("compressed_page_size", int), 3: ("first_row_index", int)}]),
    2: ("unencoded_byte_array_data_bytes", [int]),
}
COLUMN_INDEX: Shape = {
    1: ("null_pages", [bool]),
    2: ("min_values", [bytes]),
    3: ("max_values", [bytes]),
    4: ("boundary_order", int),
    5: ("null_counts", [int]),
    6: ("repetition_level_histograms", [int]),
    7: ("definition_level_histograms", [int]),
}


def name_fields(value: Any, shape: Shape) -> Any:
    """The value, with the fields of its structs by name. Raises UnknownField where it has other fields, or other types."""
    if isinstance(shape, dict):
        if not isinstance(value, dict) or not value.keys() <= shape.keys():
            raise UnknownField
        declared = {number: shape[number] for number in value}
        return {name: name_fields(value[number], one) for number, (name, one) in declared.items()}
    if isinstance(shape, list):
        if not isinstance(value, list):
            raise UnknownField
        return [name_fields(one, shape[0]) for one in value]
    if type(value) is not shape:
        raise UnknownField
    return value
