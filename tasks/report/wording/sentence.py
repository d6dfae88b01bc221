"""A sentence whose words stand in a template: chosen by its id, and filled with facts."""

from __future__ import annotations

import re
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.ext import Extension

from tasks.microdata.numbers import SPACE, count, format_limit, format_share, format_with_unit, number
from tasks.microdata.words import join_with_and
from tasks.report.compiled_templates import TemplateCache
from tasks.report.wording.figure_formats import format_figure
from tasks.report.wording.names import attack_named, attack_title, capitalise, end_as_sentence, intruder_in_words
from tasks.report.wording.units import add_article, plural

_WRAPPED = re.compile(r"\n +")
_PERCENT = re.compile(r"(?<=[\d}]) %(?![}\w])")


class Sentence(str):
    """Plain text, to be escaped where it is shown, with what it was made of.

    id: the view and the macro that has the words, as `residual.insider`. facts: numbers, names, flags and estimates.
    """

    id: str
    facts: dict[str, object]


def say(identity: str, **facts: object) -> Sentence:
    """The sentence of this id: macro `insider` of `templates/sentences/residual.txt.j2` for `residual.insider`.

    A fact that is missing or that the macro does not know fails.
    """
    view, _, name = identity.partition(".")
    sentence = Sentence(getattr(_environment().get_template(f"{view}.txt.j2").module, name)(**facts))
    sentence.id, sentence.facts = identity, facts
    return sentence


class _Unwrap(Extension):
    """An indented line of a template goes on the line before it, and `5 %` has no break; texts that are filled in stay."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        return _PERCENT.sub(f"{SPACE}%", _WRAPPED.sub(" ", source))


def format_count(number: int, noun: str) -> str:
    """Example: 1 attribute; 12 attributes."""
    return f"{count(number)} {noun if number == 1 else plural(noun)}"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("tasks.report", "templates/sentences"),
        autoescape=False,  # noqa: S701  plain text for certificate and terminal; the page escapes it
        undefined=StrictUndefined,
        extensions=[_Unwrap],
        bytecode_cache=TemplateCache("sentences"),
    )
    environment.filters |= {
        "article": add_article, "attack": attack_named, "capital": capitalise, "count": count, "count_of": format_count,
        "figure": format_figure, "intruder": intruder_in_words, "limit": format_limit, "names": join_with_and,
        "number": number, "sentence": end_as_sentence, "share": format_share, "title": attack_title,
        "unit": format_with_unit,
    }  # fmt: skip
    return environment
