"""Changes to one entry of a release file that leave every other line, and every comment, as its author wrote it."""

from __future__ import annotations

import io
import re
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

from flows.cli.draft.text import WIDTH, quote_text
from tasks.microdata.document import Path_

KeyAndValue = tuple[Node | None, Node]
_DOCUMENT_END = re.compile(r"\n\.\.\.\s*\Z")


def replace_entry(text: str, location: Path_, value: Any) -> str:
    """The file with another value at a place that it has, written in one pair of brackets.

    Example: {role: weight} at `attributes.w`, where `role: other` stood on a line of its own: `w: {role: weight}`.
    """
    key, node = _find_node(text, location)
    begin = node.start_mark.index if key is None else key.end_mark.index
    column = (node if key is None else key).start_mark.column
    written = _serialize(value, column + 2)
    return text[:begin] + ("" if key is None else ": ") + written + text[_end(text, node) :]


def delete_entry(text: str, location: Path_) -> str:
    """The file without the entry at a place; a mapping or list that held nothing else goes with it."""
    parent = _find_node(text, location[:-1])[1]
    if len(location) > 1 and len(parent.value) == 1:
        return delete_entry(text, location[:-1])
    if isinstance(parent, CollectionNode) and parent.flow_style:
        rest = _plain(parent)
        del rest[location[-1]]
        return replace_entry(text, location[:-1], rest)
    key, node = _find_node(text, location)
    begin = text.rfind("\n", 0, (node if key is None else key).start_mark.index) + 1
    after = text.find("\n", _end(text, node))
    return text[:begin] + ("" if after < 0 else text[after + 1 :])


def append_entry(text: str, part: str, value: Any) -> str:
    """The file with one more entry at the end of a list that it has."""
    _, node = _find_node(text, (part,))
    if not isinstance(node, CollectionNode) or node.flow_style or not node.value:
        return replace_entry(text, (part,), [*_plain(node), value])
    last = node.value[-1]
    dash = text.rfind("-", 0, last.start_mark.index)
    indent = dash - text.rfind("\n", 0, dash) - 1
    end = _end_of_line(text, last)
    return f"{text[:end]}\n{' ' * indent}- {_serialize(value, indent + 4)}{text[end:]}"


def add_field(text: str, name: str, value: Any) -> str:
    """The file with one more field at its end, which it has not had before."""
    root = _find_node(text, ())[1]
    if isinstance(root, CollectionNode) and root.flow_style:
        return replace_entry(text, (), _plain(root) | {name: value})
    return f"{_DOCUMENT_END.sub('', text).rstrip()}\n\n{name}: {_serialize(value, 2)}\n"


def add_to_mapping(text: str, part: str, name: str, value: Any) -> str:
    """The file with one more entry in a mapping, which begins at the end of the file where there was none."""
    root = _find_node(text, ())[1]
    if isinstance(root, CollectionNode) and root.flow_style:
        content = _plain(root)
        return replace_entry(text, (), content | {part: content.get(part, {}) | {name: value}})
    if not any(key.value == part for key, _ in root.value):
        return add_field(text, part, {name: value})
    _, node = _find_node(text, (part,))
    if not isinstance(node, CollectionNode) or node.flow_style or not node.value:
        return replace_entry(text, (part,), (_plain(node) or {}) | {name: value})
    if any(key.value == name for key, _ in node.value):
        return replace_entry(text, (part, name), value)
    key, last = node.value[-1]
    end, indent = _end_of_line(text, last), key.start_mark.column
    return f"{text[:end]}\n{' ' * indent}{_serialize(name, indent)}: {_serialize(value, indent + 2)}{text[end:]}"


def _find_node(text: str, location: Path_) -> KeyAndValue:
    """The node at a place, and the node of its key where it stands in a mapping."""
    found: KeyAndValue = (None, YAML(typ="safe", pure=True).compose(text))
    for step in location:
        node = found[1]
        if isinstance(node, MappingNode):
            found = next((key, value) for key, value in node.value if key.value == step)
        elif isinstance(node, SequenceNode):
            found = (None, node.value[int(step)])
    return found


def _end(text: str, node: Node) -> int:
    """Where the last part of a node ends; the parser counts what follows a block, or a text of several lines, as part of it."""
    if isinstance(node, CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(text, last[1] if isinstance(node, MappingNode) else last)
    end = int(node.end_mark.index)
    return len(text[:end].rstrip()) if isinstance(node, ScalarNode) and node.style in ("|", ">") else end


def _end_of_line(text: str, node: Node) -> int:
    """Where the line of the last part of a node ends, behind a comment there."""
    end = text.find("\n", _end(text, node))
    return len(text) if end < 0 else end


def _plain(node: Node) -> Any:
    sink = io.StringIO()
    yaml = YAML(typ="safe", pure=True)
    yaml.serialize(node, sink)
    return yaml.load(sink.getvalue())


def _serialize(value: Any, indent: int) -> str:
    """In brackets on one line, or on several that are indented."""
    yaml = YAML()
    yaml.width = max(WIDTH - indent, WIDTH // 2)
    yaml.allow_unicode = not _unprintable(value)
    if _unprintable(value):
        yaml.width = 1_000_000  # an escaped name that is broken over two lines is not read back as it was
    sink = io.StringIO()
    yaml.dump(_make_flow(value), sink)
    lines = [line.strip() for line in sink.getvalue().strip().removesuffix("\n...").splitlines()]
    return f"\n{' ' * indent}".join(lines)


def _unprintable(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_unprintable, (*value, *value.values())))
    return any(map(_unprintable, value)) if isinstance(value, list) else isinstance(value, str) and not value.isprintable()


def _make_flow(value: Any) -> Any:
    found: Any
    if isinstance(value, dict):
        found = CommentedMap({quote_text(key): _make_flow(one) for key, one in value.items()})
    elif isinstance(value, list):
        found = CommentedSeq([_make_flow(one) for one in value])
    else:
        return quote_text(value) if isinstance(value, str) else value
    found.fa.set_flow_style()
    return found
