"""A sentence whose words stand in a template: chosen by its id, and filled with facts."""

from __future__ import annotations

import re
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.ext import Extension

from tasks.microdata.numbers import count, format_with_unit, number, share
from tasks.microdata.words import join_with_and
from tasks.report.views.rows import format_figure
from tasks.report.wording.sentences import attack_named, attack_title, intruder_in_words

_WRAPPED = re.compile(r"\n +")


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
    """An indented line of a template goes on the line before it; texts that are filled in are left as they are."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        return _WRAPPED.sub(" ", source)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("tasks.report", "templates/sentences"),
        autoescape=False,  # noqa: S701  plain text for certificate and terminal; the page escapes it
        undefined=StrictUndefined,
        extensions=[_Unwrap],
    )
    environment.filters |= {
        "count": count, "share": share, "names": join_with_and, "attack": attack_named, "figure": format_figure,
        "unit": format_with_unit, "number": number, "title": attack_title, "intruder": intruder_in_words,
    }  # fmt: skip
    return environment
