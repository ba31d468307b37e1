"""The front matter of a topic document: YAML between two lines of `---` (§3.2).

Read by the rules of YAML 1.2 that people expect: `yes`, `1:30` and dates are text. A value that is no YAML,
such as a summary with a colon, is taken as it stands.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import yaml

from zibaldone.errors import InvalidImport
from zibaldone.views.topics.markdown.document import Document, Event
from zibaldone.views.topics.markdown.entry import When

_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
_KEY = re.compile(r"^([A-Za-z_][\w-]*)[ \t]*:(?=[ \t]|$)", re.MULTILINE)
_COMMENT = re.compile(r"^#.*$", re.MULTILINE)
_STRING = re.compile(r"""\"(?:[^\"\\]|\\.)*+\"|'[^'\n]*'""", re.DOTALL)
_BRACKET = re.compile(r"[][{}]")
_DEPTH = 100  # brackets nested deeper are not read
_FIELDS = ("id", "summary", "token_count", "created_time", "update_log", "aux")
_TEXTS = ("id", "summary", "created_time")  # taken as they stand where they are no YAML


class _Loader(yaml.SafeLoader):
    """Without aliases, which could grow without bound, and with few words that are not text."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 # as in its base

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.composer.ComposerError(None, None, "aliases such as *name are not read", None)
        return super().compose_node(parent, index)


class _Dumper(yaml.SafeDumper):
    """Without aliases; dates are text."""

    yaml_implicit_resolvers = {  # noqa: RUF012 # as in its base
        mark: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
        for mark, resolvers in yaml.SafeDumper.yaml_implicit_resolvers.items()
    }

    def ignore_aliases(self, _data: Any) -> bool:
        return True

    def represent_str(self, text: str) -> yaml.ScalarNode:
        """Escaped where a line break or the like could be folded."""
        tag = "tag:yaml.org,2002:str"
        return self.represent_scalar(tag, text, style=None if text.isprintable() else '"')


_Dumper.add_representer(str, _Dumper.represent_str)


for _tag, _pattern, _marks in (
    ("null", r"~|null|", ["~", "n", ""]),
    ("bool", r"true|false", list("tf")),
    ("int", r"-?(?:0|[1-9][0-9]{0,17})", list("-0123456789")),
    ("float", r"-?[0-9]+\.[0-9]*(?:[eE][-+][0-9]+)?", list("-0123456789")),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})\Z"), _marks)


def front_matter(document: Document) -> str:
    """The fields as printed, with both lines of `---`."""
    fields = {
        "id": document.id,
        "summary": document.summary,
        "token_count": document.token_count,
        "created_time": str(document.created_time or ""),
        "update_log": [_event_fields(event) for event in document.update_log],
        "aux": dict(document.aux),
    }
    return f"---\n{dump(fields)}---\n"


def dump(fields: Mapping[str, Any]) -> str:
    """JSON values as YAML, in their order, a line for each that holds no others."""
    text = yaml.dump(
        dict(fields),
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=math.inf,
        default_flow_style=None,
    )
    assert isinstance(text, str)
    return text


def read_front_matter(text: str) -> tuple[Document, str]:
    """A document of the fields, and the body after them; without front matter no fields and the whole text.

    Raises InvalidImport, with line and fix, for front matter of which no sense can be made.
    """
    block, body = split_front_matter(text)
    if block is None or not _KEY.search(block):
        return Document(""), text
    return _fields(_values(block)), body


def split_front_matter(text: str) -> tuple[str | None, str]:
    """The lines between two of `---` at the head of the text, and those after them; None without them."""
    if not re.match(r"---[ \t]*\n", text):
        return None, text
    start = text.index("\n") + 1
    closing = _CLOSING.search(text, start)
    if not closing:
        return None, text
    return text[start : closing.start()], text[closing.end() + 1 :]


def _values(block: str) -> dict[str, Any]:
    """The values by name, as JSON; texts as written."""
    comments = [line.strip("# \t") for line in _COMMENT.findall(block)]
    block = _COMMENT.sub("", block)
    try:
        pairs = list(_pairs(block))
    except yaml.YAMLError:
        pairs = [pair for number, part in _parts(block) for pair in _salvaged(number, part)]
    values: dict[str, Any] = {}
    for key, value in pairs:
        values[_free(key, values)] = value
    if comments:
        values[_free("comments", values)] = comments
    return values


def _pairs(block: str) -> Iterator[tuple[str, Any]]:
    """Names and values of YAML; raises YAMLError."""
    if _depth(block) > _DEPTH:
        raise yaml.YAMLError("it is nested too deep")
    loader = _Loader(block)
    try:
        node = loader.get_single_node()
        if node is None:
            return
        if not isinstance(node, yaml.MappingNode):
            raise yaml.YAMLError("names and values are wanted")
        for key, value in node.value:
            plain = isinstance(value, yaml.ScalarNode) and key.value in _TEXTS
            yield str(key.value), value.value if plain else _json(loader, value)
    finally:
        loader.dispose()


def _depth(block: str) -> int:
    """How deep brackets are nested: the reader's time grows with its square, and its stack with it."""
    deepest = depth = 0
    for bracket in _BRACKET.findall(_STRING.sub("", block)):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _json(loader: _Loader, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        values: dict[str, Any] = {}
        for key, value in node.value:
            name = key.value if isinstance(key.value, str) else str(_json(loader, key))
            values[_free(name, values)] = _json(loader, value)
        return values
    if isinstance(node, yaml.SequenceNode):
        return [_json(loader, value) for value in node.value]
    if node.tag.rpartition(":")[2] not in {"null", "bool", "int", "float"}:
        return node.value
    value = loader.construct_object(node)
    return node.value if isinstance(value, float) and not math.isfinite(value) else value


def _parts(block: str) -> Iterator[tuple[int, str]]:
    """The lines of each name, with the number of the first in the document."""
    starts = [0, *(found.start() for found in _KEY.finditer(block)), len(block)]
    for start, end in pairwise(starts):
        if part := block[start:end].strip("\n"):
            yield 2 + block.count("\n", 0, start), part


def _salvaged(number: int, part: str) -> Iterator[tuple[str, Any]]:
    """The pairs of a part of front matter that as a whole cannot be read."""
    try:
        yield from _pairs(part)
    except yaml.YAMLError as error:
        name = _KEY.match(part)
        key = name[1] if name else ""
        if key in _TEXTS:
            yield key, part.partition(":")[2].strip()
            return
        mark = getattr(error, "problem_mark", None)
        line = number + (mark.line if mark else 0)
        what = f"the value of {key!r}" if key else "what stands before the first name"
        why = getattr(error, "problem", None) or error
        raise InvalidImport(
            f"line {line}: {what} cannot be read: {why}; put texts in quotes, or delete it"
        ) from error


def _fields(values: dict[str, Any]) -> Document:
    aux = values.get("aux")
    others = dict(aux) if isinstance(aux, dict) else {} if aux is None or aux == "" else {"aux": aux}
    for key, value in values.items():
        if key not in _FIELDS:
            others[_free(key, others)] = value
    count = values.get("token_count")
    log = values.get("update_log") or []
    return Document(
        id=_text(values.get("id")),
        summary=_text(values.get("summary")),
        token_count=count if isinstance(count, int) and not isinstance(count, bool) and count > 0 else 0,
        created_time=_when(values.get("created_time")),
        update_log=tuple(_event(item) for item in (log if isinstance(log, list) else [log])),
        aux=others,
    )


def _event(value: Any) -> Event:
    if not isinstance(value, dict):
        return Event(_text(value))
    detail = {key: item for key, item in value.items() if key not in {"event", "time"}}
    return Event(_text(value.get("event")), _when(value.get("time")), detail)


def _event_fields(event: Event) -> dict[str, Any]:
    time = {"time": event.time.text} if event.time else {}
    return {**time, "event": event.event, **event.detail}


def _when(value: Any) -> When | None:
    text = _text(value)
    return When(text) if text else None


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else dump({"": value}).partition(":")[2].strip()


def _free(name: str, taken: Mapping[str, Any]) -> str:
    """The name, with a mark behind it where it is taken."""
    while name in taken:
        name += "_"
    return name
