"""What the private manifest of a run adds to its ledger entries, as long as it is the file that the ledger names."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.cli.audit.run_descriptions import find_store_key
from flows.cli.plan_text import describe_method_fields
from tasks.audit.lookup.index_rows import RunEntries
from tasks.microdata.regular_files import read_file
from tasks.runtime.settings import Home

if TYPE_CHECKING:
    from flows.release import ReleaseSpec

Facts = Iterator[tuple[str, str]]
_SHOWN_SEPARATELY = ("method", "attributes")


class PrivateManifest:
    """The private manifest of a run.

    A manifest that is missing, or differs from the digest in the ledger, is not shown. One that cannot be compared (a run that
    did not end, or a home without its key) is shown.
    """

    def __init__(self, found: RunEntries) -> None:
        self.path = manifest_path(found.run)
        self._named = None if found.ending is None else found.ending.manifest

    def source(self) -> str:
        """What the manifest calls the source; "" where it does not say."""
        try:
            source = self._spec["source"]
            return str(source.get("table") or source.get("dataset") or "a query") if source else ""
        except (KeyError, TypeError, AttributeError):
            return ""

    def policy(self) -> Facts:
        """Who wrote the policy, and which edition it is."""
        for what, name in (("policy's author", "policy_author"), ("policy's version", "policy_version")):
            if value := self._spec.get(name):
                yield what, str(value)

    def masks(self) -> Facts:
        """Each step of the masking with those of its parameters that may be told to anybody."""
        for number, step in enumerate(() if self._release is None else self._release.steps, start=1):
            published = {name: value for name, value in step.public().items() if name not in _SHOWN_SEPARATELY}
            of = getattr(step, "attributes", None)
            parameters = ", ".join(f"{name} = {_format_parameter(value)}" for name, value in published.items())
            parts = (", ".join(of) if isinstance(of, tuple) else "", parameters)
            yield f"step {number}, {step.method}", "; ".join(part for part in parts if part) or "no parameters"

    def epsilon(self) -> Facts:
        """What PRAM promises of somebody who is in this release and in the earlier ones that counted."""
        found = self._facts.get("epsilon_over_releases")
        if isinstance(found, float | int) or found == "infinite":
            from tasks.report.views.randomised import describe_epsilon_over_releases

            yield "epsilon", describe_epsilon_over_releases(found)

    def model(self) -> Facts:
        """Of a released model: the learner with its parameters, what it predicts, and what it was trained on."""
        release = self._spec.get("release")
        model = release.get("model") if isinstance(release, dict) else None
        if not isinstance(model, dict):
            return
        learner, file, cut = model.get("learner"), model.get("file"), model.get("target_quantiles")
        if isinstance(learner, dict) and "method" in learner:
            yield "learner", describe_method_fields(learner)
        if file:
            yield "file", f"{Path(str(file)).name}, fitted elsewhere"
        yield "predicts", f"{model.get('target')}{f', cut into {cut} classes of about equal size' if cut else ''}"
        if features := model.get("features"):
            yield "from", ", ".join(map(str, features))
        yield "trained on", self._describe_training_table(model)

    def _describe_training_table(self, model: dict[str, Any]) -> str:
        if model.get("file"):
            return "the source, as the release file declares"
        chosen = model.get("trained_on") or ("masked" if self._spec.get("masking") else "original")
        return "the masked table" if chosen == "masked" else "the source as it is"

    def where(self) -> Facts:
        yield "manifest", f"{self.path}{self._state}"
        if self._named is not None:
            yield "  keyed digest", self._named

    @cached_property
    def _content(self) -> bytes | None:
        try:
            return read_file(self.path)
        except OSError:
            return None

    @cached_property
    def _state(self) -> str:
        """Is it there, and the one that the ledger names?"""
        key = find_store_key()
        if self._content is None:
            return " (gone)"
        if self._named is None or key is None:
            return ""
        same = hmac.compare_digest(hmac.new(key, self._content, hashlib.sha256).hexdigest(), self._named)
        return "" if same else " (CHANGED since the ledger named it)"

    @cached_property
    def _facts(self) -> dict[str, Any]:
        if self._content is None or self._state:
            return {}
        try:
            facts = json.loads(self._content)
        except (ValueError, RecursionError):
            return {}
        return facts if isinstance(facts, dict) else {}

    @cached_property
    def _spec(self) -> dict[str, Any]:
        spec = self._facts.get("spec")
        return spec if isinstance(spec, dict) else {}

    @cached_property
    def _release(self) -> ReleaseSpec | None:
        """The release file; None where this version cannot read it. Imports the methods, which takes a second."""
        if not self._spec.get("masking") and not self._spec.get("released"):
            return None
        from flows.release import ReleaseSpec

        try:
            return ReleaseSpec.model_validate_json(json.dumps(self._spec))
        except ValueError:
            return None


def manifest_path(run: str) -> Path:
    """Where the private manifest of a run is; an invalid name gives a path that does not exist."""
    folder = Path(run).name if Path(run).name == run and run != ".." else "-"
    return Home.current().root / "runs" / folder / "manifest.json"


def _format_parameter(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
