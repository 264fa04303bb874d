"""The lines of a report: what a check found, and what the service answered or the archive holds, scrambled. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta, tzinfo
from itertools import accumulate
from typing import Any, Final

from exporter.check.facts import MAY_HOLD_SECRETS, CheckResult, Exchange
from exporter.message import Message
from exporter.model.kinds import Kind
from exporter.report.characters import CannotScramble, telling_windows
from exporter.report.json_tree import NumberText, Pairs, is_strict, read_tree, strings, write_tree
from exporter.report.records import LONGEST_TEXT, Material, ShapeKeeper
from exporter.report.verify import leaks
from exporter.service.interface import BlogService
from exporter.service.registry import PROFILES, SERVICE_SETTINGS
from exporter.settings import SETTINGS, Origin, Settings

FORM: Final = 1
"""The number of this form of report, in its first line."""
MOST_BYTES: Final = 4_000_000
"""Of answers and records in a report: what comes after them is left out."""
_HEADERS: Final = {
    "content-type": re.compile(r"[a-z]{1,20}/[a-z0-9.+-]{1,40}(?:; ?charset=[A-Za-z0-9_-]{1,20})?"),
    "retry-after": re.compile(r"[0-9]{1,6}"),
}
_SHORT: Final = 3
_ADDRESS: Final = "://"
_PLACEHOLDER: Final = re.compile(r"\{([a-z_]{1,30})\}")
_LITERAL: Final = re.compile(r"[^\W_]+")
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,29}")
_PLAIN_SETTINGS: Final = frozenset(
    {
        "auth_header", "auth_scheme", "service", *SERVICE_SETTINGS,
    }
)  # fmt: skip
"""Settings of free text that say how a service is asked, and nothing of who asks."""


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record of an archive: its kind, its id, and its JSON text."""

    kind: Kind
    id: str
    text: str


class GivesAway(ValueError):
    """A report would give something away, with every key that was tried."""


def report_lines(
    result: CheckResult,
    settings: Settings,
    service: BlogService,
    records: Sequence[StoredRecord],
    program: Mapping[str, Any],
    keys: Iterable[bytes],
) -> list[bytes]:
    """Return the lines of a report, of which none has four characters of an original in a row.

    Args:
        result: what a check found, with what was asked and answered.
        settings: those of the check.
        service: tells what fields hold.
        records: of the archive.
        program: what made the report, and where it runs.
        keys: each decides into what everything is turned; the next is taken where one gives something away.

    Raises:
        GivesAway: no key is good.
    """
    exchanges, records = _first_bytes([_readable(each) for each in result.exchanges], records)
    material = Material(service)
    material.add_id(result.blog_id)
    for each in exchanges:
        for value in each.params.values():
            if value != each.page:
                material.add_id(value)
        _add(material, each.body.decode("utf-8", "replace"), each.kind)
    for record in records:
        material.add_id(record.id)
        _add(material, record.text, record.kind)
    if result.user is not None:
        for text in result.user:
            material.add_text(text)
    words = _placeholders(settings)
    banned = telling_windows(material.originals)
    for key in keys:
        maker = _Maker(ShapeKeeper(material.scrambler(key, words), service, service.success_word))
        try:
            lines = [maker.head(result, settings, program), *maker.findings(result, service)]
            told = [*maker.answers(exchanges), *maker.records(records)]
        except CannotScramble:
            continue
        exempt = words | _field_words(service, result)
        shown = (text for line in [*lines, *told] for text in _shown_strings(line))
        if next(leaks(shown, banned, exempt), None) is None:
            return [write_tree(line).encode("ascii") for line in [*lines, *told]]
    raise GivesAway("no way was found to scramble the records so that nothing of them shows")


def _first_bytes(
    exchanges: list[Exchange], records: Sequence[StoredRecord]
) -> tuple[list[Exchange], list[StoredRecord]]:
    """Return the answers and records that come before there are too many bytes."""
    sizes = accumulate(len(each.body) for each in exchanges)
    kept = [each for each, size in zip(exchanges, sizes, strict=True) if size <= MOST_BYTES]
    left = MOST_BYTES - sum(len(each.body) for each in kept)
    lengths = accumulate(len(each.text) for each in records)
    return kept, [each for each, length in zip(records, lengths, strict=True) if length <= left]


def _readable(exchange: Exchange) -> Exchange:
    """Cut an answer that is not JSON."""
    text = exchange.body.decode("utf-8", "replace")
    try:
        read_tree(text)
    except ValueError:
        return replace(exchange, body=text[:LONGEST_TEXT].encode("utf-8", "replace"))
    return exchange


def _add(material: Material, text: str, kind: Kind) -> None:
    try:
        material.add(read_tree(text), kind)
    except ValueError:
        material.add_text(text)


def _placeholders(settings: Settings) -> frozenset[str]:
    """Return the words of the placeholders in address patterns; any other word there may be its owner's name."""
    patterns = [getattr(settings, name) or "" for name in ("file_url", "entry_url")]
    names = [name for pattern in patterns for name in _PLACEHOLDER.findall(pattern)]
    return frozenset(word.lower() for name in names for word in _LITERAL.findall(name))


def _field_words(service: BlogService, result: CheckResult) -> frozenset[str]:
    names = [name for roles in service.roles.values() for name in roles]
    names += [each.name for each in result.operations]
    return frozenset(word.lower() for name in names for word in _LITERAL.findall(name))


def _shown_strings(line: Pairs) -> Iterator[str]:
    """Yield the strings of a line that come from what a person or a service wrote."""
    (what, content), *_ = line
    if what in {"answer", "record"}:
        kept = {"operation", "status", "headers", "kind"}
        for name, value in content:
            if name == "text":
                yield from _strings_in(value)
            elif name not in kept:
                yield from (text for text in strings(value) if not _NAME.fullmatch(text))
    elif what == "finding":
        yield from (text for name, value in content if name == "values" for text in _filled(value))


def _strings_in(text: str) -> Iterator[str]:
    """Yield the strings of an answer kept as text: those of its JSON, or all of it."""
    try:
        tree = read_tree(text)
    except ValueError:
        yield text
    else:
        yield from (inner for inner in strings(tree) if not _NAME.fullmatch(inner))


def _filled(values: Any) -> Iterator[str]:
    """Yield what fills a sentence, the templates aside."""
    if isinstance(values, Pairs):
        for name, value in values:
            if name != "template":
                yield from _filled(value)
    elif isinstance(values, str) and not isinstance(values, NumberText):
        yield values


class _Maker:
    """Makes the lines with one key."""

    def __init__(self, keeper: ShapeKeeper) -> None:
        self._keeper = keeper
        self._scrambler = keeper.scrambler

    def head(self, result: CheckResult, settings: Settings, program: Mapping[str, Any]) -> Pairs:
        """Return the first line."""
        in_use = [
            (name, _tree({"value": self._setting(name, settings.get(name)), "source": str(source.origin)}))
            for name, source in settings.sources.items()
            if name in SETTINGS and source.origin is not Origin.DEFAULT
        ]
        members: Pairs = _tree(
            {
                "report": FORM,
                **program,
                "blog_id": self._scrambler.host(result.blog_id),
                "token": result.token is not None,
                "clock_skew_seconds": result.clock_skew,
                "requests": result.requests,
                "exit_code": result.exit_code,
                "missing": list(result.missing),
            }
        )
        members.append(("settings", Pairs(in_use)))
        return members

    def _setting(self, name: str, value: Any) -> Any:
        if name in MAY_HOLD_SECRETS:
            return "set"
        if isinstance(value, timedelta):
            return f"{value.total_seconds():g}s"
        if isinstance(value, tzinfo):
            return str(value)
        if isinstance(value, bool | int | float) or SETTINGS[name].choices or name in _PLAIN_SETTINGS:
            return sorted(value) if isinstance(value, frozenset) else value
        if name == "profile" and value in PROFILES:
            return value
        if isinstance(value, str):
            return self._scrambler.address(value) if _ADDRESS in value else self._scrambler.text(value)
        return "set"

    def findings(self, result: CheckResult, service: BlogService) -> Iterator[Pairs]:
        """Yield a line for each finding, each request, and each file that was fetched."""
        known = frozenset(name for roles in service.roles.values() for name in roles) | {
            each.name for each in result.operations
        }
        for finding in result.findings:
            said = _template(finding.said)
            members = {"code": finding.code, "exit_code": finding.exit_code, "said": said}
            line = _tree(members)
            line.append(("values", _tree(self._values(finding.said, known))))
            yield Pairs([("finding", line)])
        for each in result.operations:
            numbers = ("page", "answered", "status", "seconds", "records", "unusable", "pages", "page_size", "total")
            members = {"name": each.name, **{name: getattr(each, name) for name in numbers}}
            members["missing"] = [name for name in each.missing if _NAME.fullmatch(name)]
            members["unknown"] = [name for name in each.unknown if _NAME.fullmatch(name)]
            members["doubts"] = [name for name in each.doubts if name in known]
            members["codes"] = {
                name: [value for value in values if len(value) <= _SHORT] for name, values in each.codes.items()
            }
            yield Pairs([("operation", _tree(members))])
        for download in result.downloads:
            members = {
                "what": download.what,
                "status": download.status,
                "bytes": download.bytes,
                "content_type": download.content_type,
                "url": None if download.url is None else self._scrambler.address(download.url),
                "said": _template(download.problem),
            }
            yield Pairs([("download", _tree(members))])

    def _values(self, said: str, known: frozenset[str]) -> Any:
        """Return what fills a sentence, scrambled: numbers and names of fields and operations are kept."""
        if not isinstance(said, Message):
            return said if said in known or not said else self._scrambler.text(str(said))
        return {
            name: self._values(value, known) if isinstance(value, str) else value for name, value in said.values.items()
        } | ({"template": said.template} if said.values else {})

    def answers(self, exchanges: Iterable[Exchange]) -> Iterator[Pairs]:
        """Yield a line for each answer of the service."""
        for each in exchanges:
            if each.status is None:
                continue
            headers = {
                name: each.headers[name]
                for name, form in _HEADERS.items()
                if form.fullmatch(each.headers.get(name, ""))
            }
            params = {
                name: value if value == each.page else self._scrambler.id(value) for name, value in each.params.items()
            }
            line = _tree({"operation": each.operation, "status": each.status, "headers": headers, "params": params})
            line.append(("path", each.path))
            line.append(("kind", str(each.kind)))
            line.append(self._content(each.body.decode("utf-8", "replace"), each.kind))
            yield Pairs([("answer", line)])

    def records(self, records: Iterable[StoredRecord]) -> Iterator[Pairs]:
        """Yield a line for each record of the archive."""
        for record in records:
            line = _tree({"kind": str(record.kind), "id": self._scrambler.id(record.id)})
            line.append(self._content(record.text, record.kind))
            yield Pairs([("record", line)])

    def _content(self, text: str, kind: Kind) -> tuple[str, Any]:
        """Return an answer's body: JSON as it is where every reader takes it, else as text."""
        made = self._keeper.body(text, kind)
        try:
            tree = read_tree(made)
        except ValueError:
            return "text", made
        return ("json", tree) if is_strict(tree) else ("text", made)


def _template(said: str) -> str:
    """Return what a sentence is made of, without what was filled into it."""
    return (said.template if isinstance(said, Message) else "") if said else ""


def _tree(value: Any) -> Any:
    """Return plain values as they are written in a report."""
    if isinstance(value, Mapping):
        return Pairs((name, _tree(inner)) for name, inner in value.items())
    if isinstance(value, Pairs):
        return value
    if isinstance(value, list | tuple):
        return [_tree(inner) for inner in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return NumberText(json.dumps(value))
    return str(value)
