"""Compiled templates are kept; neither damage, a read-only folder nor another environment changes what is written."""

import pytest
from jinja2 import DictLoader, Environment

from tasks.report import compiled_templates
from tasks.report.compiled_templates import TemplateCache

TEXT = "{{ text }}!"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled_templates, "CACHE", tmp_path / "kept")
    return tmp_path / "kept"


def fill_in(name="page", text="<b>", autoescape=True):
    cache = TemplateCache(name)
    environment = Environment(loader=DictLoader({"t": TEXT}), autoescape=autoescape, bytecode_cache=cache)  # noqa: S701  no page
    return environment.get_template("t").render(text=text)


def test_a_template_is_compiled_once(folder, monkeypatch):
    assert fill_in() == "&lt;b&gt;!"
    (kept,) = folder.glob("*/*")
    assert kept.stat().st_mode & 0o077 == 0
    monkeypatch.setattr(Environment, "compile", None)  # whoever compiles fails
    assert fill_in(text="a") == "a!"


def test_environments_do_not_share_what_they_compiled(folder):
    assert fill_in("page") == "&lt;b&gt;!"
    assert fill_in("sentences", autoescape=False) == "<b>!"
    assert len([*folder.glob("*/*")]) == 2


@pytest.mark.parametrize("damage", [b"", b"j2", b"\x00" * 100, None])
def test_what_is_damaged_is_compiled_again(folder, damage):
    fill_in()
    (kept,) = folder.glob("*/*")
    kept.write_bytes(kept.read_bytes()[:-9] if damage is None else kept.read_bytes()[:7] + damage)
    assert fill_in() == "&lt;b&gt;!"


def test_where_nothing_can_be_kept_templates_are_compiled_each_time(folder):
    folder.write_text("a file in the place of the folder")
    assert fill_in() == fill_in() == "&lt;b&gt;!"
