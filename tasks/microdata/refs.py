"""Addresses of artifacts, each with the kind of what it names, so that the type checker tells one from another.

Stages exchange addresses, never tables or records. An address is text (`table:<keyed digest>`): in a record of the cache or a
manifest it is stored as such, and read back as plain text, in a record as an address. The classes exist for the type checker.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

T = TypeVar("T")


class Ref(str):
    """The address of any artifact; in a record it stands as text."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """A record may hold addresses: text that is read back as an address."""
        return core_schema.no_info_after_validator_function(cls, core_schema.str_schema())


class TableRef(Ref):
    """The address of a table (`Microdata`)."""

    __slots__ = ()


class RecordRef(Ref, Generic[T]):
    """The address of a record of type T."""

    __slots__ = ()


class PageRef(Ref):
    """The address of a page (HTML)."""

    __slots__ = ()


class FileRef(Ref):
    """The address of a file."""

    __slots__ = ()
