"""Which encoding a text table is written in."""

from __future__ import annotations

import codecs
import re

from charset_normalizer import from_bytes
from charset_normalizer.utils import is_multi_byte_encoding

from tasks.microdata.errors import InputError

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
          (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip
_USUAL = "cp1252"
_CLEARLY = 0.05  # of the share of implausible letters; below it names of several languages decide by luck
_SAMPLE_BYTES = 1 << 18
_PAIR = re.compile(rb"[\x80-\xff]{2}")  # a text without one is in no encoding of two bytes a letter


def decode(content: bytes, label: str, declared: str | None = None) -> tuple[str, str, tuple[str, ...]]:
    """The text of a file, its encoding, and notes on a guess.

    A byte order mark decides; else UTF-8 where the whole file is valid UTF-8; else the most plausible 8-bit encoding, with a
    note that it is a guess (Western European unless another one is clearly more plausible). A file that holds valid multi-byte
    UTF-8 beside invalid bytes is damaged UTF-8 and refused: read as 8-bit text its good letters would be wrong too.
    """
    if declared is not None:
        return _decode_content(content, declared, label), declared, ()
    marked = next((encoding for mark, encoding in _MARKS if content.startswith(mark)), "utf-8")
    try:
        return content.decode(marked), marked, ()
    except UnicodeDecodeError:
        guessed = None if marked != "utf-8" or _is_damaged_utf8(content) else _guess(content)
    if guessed is None:
        return _decode_content(content, marked, label), marked, ()
    note = f"the encoding {guessed} is a guess: the file is not UTF-8; `source.encoding` declares it"
    return _decode_content(content, guessed, label), guessed, (note,)


def _is_damaged_utf8(content: bytes) -> bool:
    text = content.decode("utf-8", errors="replace")
    invalid = text.count("\ufffd")
    return sum(not character.isascii() for character in text) - invalid >= invalid


def _guess(content: bytes) -> str | None:
    beyond_ascii = next(position for position, byte in enumerate(content) if byte > 127)
    start = max(0, beyond_ascii - _SAMPLE_BYTES // 2)
    sample = content[start : start + _SAMPLE_BYTES]
    has_pairs = _PAIR.search(sample) is not None
    matches = [match for match in from_bytes(sample) if has_pairs or not is_multi_byte_encoding(match.encoding)]
    if not matches:
        return None if has_pairs else _USUAL
    not_clearly_worse = [match for match in matches if match.chaos <= matches[0].chaos + _CLEARLY]
    is_usual = any(_USUAL in match.could_be_from_charset for match in not_clearly_worse)  # that read the same letters
    return _USUAL if is_usual else str(matches[0].encoding)


def _decode_content(content: bytes, encoding: str, label: str) -> str:
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except LookupError:
        raise InputError("unknown-encoding", "source.encoding", "There is no such encoding.", "utf-8, utf-16, cp1252, ...",
                         "correct `source.encoding` or leave it out", value=encoding) from None  # fmt: skip
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError("undecodable", f"{label}: line {line}, byte {error.start}", f"A byte is not valid {encoding}.",
                         "a text file in one encoding", "repair the file, or declare `source.encoding`") from None  # fmt: skip
