"""A bug report of types, lengths and counts: the shape of each answer, without any text of the blog."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from exporter import __version__, lossless_json
from exporter.archive.atomic import translated, write_file
from exporter.check.facts import CheckResult, Exchange, OperationFacts
from exporter.errors import UsageError
from exporter.html.tree import BLOCKS, DROPPED, PLAIN_INLINE, RUBY, tag_set
from exporter.message import Message, message
from exporter.service.interface import BlogService, Role
from exporter.setting_sources import Origin
from exporter.settings import SETTINGS, Settings

REPORT_VERSION: Final = 2
"""The number of this form of report, in its first line."""
_LIBRARIES: Final = ("aiohttp", "nh3", "orjson", "selectolax", "click")
_TAGS: Final = (
    BLOCKS
    | DROPPED
    | PLAIN_INLINE
    | RUBY
    | tag_set(
        "a abbr b bdi bdo big br cite code data del dfn em i img ins kbd mark q s samp small spacer strike strong sub "
        "sup time tt u var"
    )
)
_ATTRIBUTES: Final = tag_set(
    "abbr align allow allowfullscreen alt bgcolor border cellpadding cellspacing cite class clear color cols colspan "
    "content controls coords data datetime dir face frameborder height href hspace id label lang loading loop "
    "marginheight marginwidth name onclick onload poster preload rel reversed rowspan rows scrolling sizes size span "
    "src srcset start style summary tabindex target title type usemap valign value vspace width"
)
_TAG: Final = re.compile(r"""<([a-zA-Z][^\s/<>"']*)((?:"[^"]*"|'[^']*'|[^'"<>])*)>""")
_ATTRIBUTE: Final = re.compile(r"""[\s"'/]([a-zA-Z][^\s=/"']*)(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"']+))?""")
_FIELD_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,29}")
_HEADER_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,39}")
_MAX_PLACES: Final = 300
_MAX_DEPTH: Final = 8
_FORMATS: Final = {
    "number": re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?"),
    "date": re.compile(r"[0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}(?:[T ][0-9:.]{4,15}(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?"),
    "email": re.compile(r"[^@\s]+@[^@\s]+\.[a-z]+", re.IGNORECASE),
}
_SCHEME: Final = re.compile(r"(https?|ftp|mailto|tel|data):", re.IGNORECASE)
_DIGITS: Final = frozenset("0123456789")


def write_report(
    path: Path, result: CheckResult, settings: Settings, service: BlogService, *, force: bool = False
) -> int:
    """Write a report that only its owner can read, and return its number of lines.

    Args:
        path: the file.
        result: a check that kept its exchanges.
        settings: the settings of the check.
        service: names the documented fields.
        force: replace an existing file.

    Raises:
        UsageError: the file exists, or cannot be written.
    """
    lines = [lossless_json.dumps(line) + b"\n" for line in report_lines(result, settings, service)]
    with translated(path):
        if force:
            write_file(path, b"".join(lines))
        else:
            try:
                with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
                    file.writelines(lines)
            except FileExistsError:
                raise UsageError(already_exists(path)) from None
    return len(lines)


def already_exists(path: Path) -> str:
    """Return the sentence about a report file that exists."""
    return message("{path} already exists: name another file, or give --force.", path=path)


def report_lines(result: CheckResult, settings: Settings, service: BlogService) -> Iterator[dict[str, Any]]:
    """Yield the lines: one about the program and the check, one for each operation, one for each download."""
    yield {
        "report": REPORT_VERSION,
        "program": "blog-exporter",
        "version": __version__,
        "service": service.name,
        "python": platform.python_version(),
        "platform": sys.platform,
        "machine": platform.machine(),
        "libraries": {name: _library_version(name) for name in _LIBRARIES},
        "settings": {
            name: {"value": _setting(name, settings), "source": str(source.origin)}
            for name, source in settings.sources.items()
            if name in SETTINGS and source.origin is not Origin.DEFAULT
        },
        "token": result.token is not None,
        "clock_skew_seconds": result.clock_skew,
        "missing": list(result.missing),
        "requests": result.requests,
        "exit_code": result.exit_code,
        "findings": [{"code": each.name, "exit_code": each.exit_code} for each in result.findings],
    }
    kept = {id(each.facts): each for each in result.exchanges}
    for facts in result.operations:
        yield {"operation": facts.name, **_operation(facts, kept.get(id(facts)), result.blog_id, service)}
    for download in result.downloads:
        yield {
            "download": download.what,
            "address_known": download.url is not None,
            "status": download.status,
            "bytes": download.bytes,
            "content_type": download.content_type,
            "problem": _template(download.problem),
        }


def _library_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _setting(name: str, settings: Settings) -> Any:
    """Return the value if it is a number, a switch or a choice; otherwise ``set``."""
    value = settings.get(name)
    if isinstance(value, bool | int | float):
        return value
    return str(value) if SETTINGS[name].choices else "set"


def _template(problem: str) -> str:
    """Return a sentence without the values filled into it, which may come from the blog."""
    return problem.template if isinstance(problem, Message) else "failed" if problem else ""


def _operation(facts: OperationFacts, exchange: Exchange | None, blog_id: str, service: BlogService) -> dict[str, Any]:
    """Return the facts of an operation and the shape of its answer."""
    roles = service.roles.get(facts.kind, {})
    known = {
        "kind": str(facts.kind),
        "page": facts.page,
        "answered": facts.answered,
        "status": facts.status,
        "seconds": facts.seconds,
        "problem": _template(facts.problem),
        "records": facts.records,
        "unusable": facts.unusable,
        "pages": facts.pages,
        "page_size": facts.page_size,
        "total": facts.total,
        "missing": [name for name in facts.missing if name in roles],
        "unknown": len(facts.unknown),
        "doubts": [name for name in facts.doubts if name in roles],
    }
    if exchange is None or not exchange.headers:
        return known
    return known | {
        "path": exchange.path.replace(blog_id, "{blog_id}"),
        "params": sorted(exchange.params),
        "headers": sorted(name for name in exchange.headers if _HEADER_NAME.fullmatch(name)),
        "bytes": len(exchange.body),
        **_body(exchange.body, roles),
    }


def _body(body: bytes, roles: Mapping[str, Role]) -> dict[str, Any]:
    """Return the shape of each field in a JSON body, and the tags in any other body."""
    text = body.decode("utf-8", "replace")
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return {"format": "text", "characters": len(text), **_markup_shape([text])}
    fields: defaultdict[str, _Field] = defaultdict(_Field)
    _collect(value, "", fields, roles)
    return {"format": "json", "fields": {name: each.document() for name, each in fields.items()}}


class _Field:
    """The shape of all values at one place in an answer, such as ``data.list[].title``."""

    def __init__(self) -> None:
        self.missing = 0
        self._types: Counter[str] = Counter()
        self._formats: Counter[str] = Counter()
        self._lengths: list[int] = []
        self._empty = 0
        self._scalars: list[str] = []
        self._markup: list[str] = []

    def add(self, value: Any) -> None:
        """Count a value."""
        kind = _type_of(value)
        self._types[kind] += 1
        if isinstance(value, str | list | dict):
            self._lengths.append(len(value))
            self._empty += not value
        if kind in {"string", "number"}:
            text = str(value)
            self._scalars.append(text)
            self._formats.update(_formats(text))
            if isinstance(value, str) and "<" in value:
                self._markup.append(value)

    def document(self) -> dict[str, Any]:
        """Return the counts."""
        found: dict[str, Any] = {"types": dict(self._types)}
        if self._lengths:
            found["lengths"] = [min(self._lengths), max(self._lengths)]
        found |= {name: count for name, count in (("missing", self.missing), ("empty", self._empty)) if count}
        if self._formats:
            found["formats"] = dict(self._formats)
        if len(self._scalars) > 1:
            found["unique"] = len(set(self._scalars)) == len(self._scalars)
        return found | _markup_shape(self._markup)


def _collect(
    value: Any,
    place: str,
    fields: defaultdict[str, _Field],
    roles: Mapping[str, Role],
    depth: int = 0,
    *,
    in_record: bool = False,
) -> None:
    """Add a value and all values inside it; the members of objects inside a record are counted under ``*``."""
    if depth > _MAX_DEPTH or (place not in fields and len(fields) >= _MAX_PLACES):
        return
    fields[place].add(value)
    if isinstance(value, dict):
        is_record = bool(roles.keys() & value.keys())
        for name, inner in value.items():
            shown = name if _FIELD_NAME.fullmatch(name) and not in_record else "*"
            inside = f"{place}.{shown}" if place else shown
            _collect(inner, inside, fields, roles, depth + 1, in_record=in_record or is_record)
    elif isinstance(value, list):
        for inner in value:
            _collect(inner, f"{place}[]", fields, roles, depth + 1, in_record=in_record)
        _count_missing(value, f"{place}[]", fields)


def _count_missing(items: Sequence[Any], place: str, fields: defaultdict[str, _Field]) -> None:
    """Count the records that lack a field which other records in the same list have."""
    records = [each for each in items if isinstance(each, dict)]
    for name in {name for each in records for name in each if _FIELD_NAME.fullmatch(name)}:
        inner = f"{place}.{name}"
        if inner in fields:
            fields[inner].missing += sum(name not in each for each in records)


def _type_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _formats(text: str) -> Iterator[str]:
    """Yield the names of the formats that a value has; an address is named by its scheme alone."""
    if text in _DIGITS:
        yield f"flag {text}"
        return
    scheme = _SCHEME.match(text)
    if scheme is not None:
        yield f"url {scheme[1].lower()}"
    yield from (name for name, form in _FORMATS.items() if form.fullmatch(text))


def _markup_shape(texts: Iterable[str]) -> dict[str, Any]:
    """Return the counts of HTML tags and attributes by name; unknown names count as ``other``."""
    tags: Counter[str] = Counter()
    attributes: Counter[str] = Counter()
    for text in texts:
        for tag, inside in _TAG.findall(text):
            tags[tag.lower() if tag.lower() in _TAGS else "other"] += 1
            for name in map(str.lower, _ATTRIBUTE.findall(inside)):
                known = name if name in _ATTRIBUTES else "data-*" if name.startswith("data-") else "other"
                attributes[known] += 1
    return {name: dict(found) for name, found in (("tags", tags), ("attributes", attributes)) if found}
