"""The rule for the addresses of uploads, inferred from embedded addresses; API 2.6 does not specify it. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from exporter.html.links import AddressPattern
from exporter.service.interface import Records

MIN_MATCHES: Final = 3
"""Fewer uploads with addresses of one form may be a coincidence."""

_MIN_SHARE: Final = 0.5
"""The share that must follow a rule: among addresses in its form, and among uploads with any such address."""

_SIGNIFICANT_LENGTH: Final = 4
_SIGNIFICANT_CHARACTERS: Final = 8
_MAX_SHARING_UPLOADS: Final = 8
_MAX_LIKELY_RULES: Final = 8
"""The number of rules that are compared with every address; a blog has one, and each comparison takes time."""
_TOKEN_ENDS = re.compile(r"[/?&=#;]")
_WORD = re.compile(r"(?:[0-9A-Za-z]|%[0-9A-Fa-f]{2})+")


class InferredRule(NamedTuple):
    """A rule for the addresses of uploads.

    Attributes:
        pattern: the rule.
        matches: the number of uploads whose embedded addresses follow it.
        certain: whether these contain a value too long for a coincidence; ``1.jpg`` may be any picture.
        sizes: the sizes stated by the records of these uploads, in bytes, by address.
    """

    pattern: AddressPattern
    matches: int
    certain: bool
    sizes: Mapping[str, int]


class _Fields(NamedTuple):
    """An upload's fields that may be in its address, as names and percent-encoded values, and its record."""

    encoded: Sequence[tuple[str, str]]
    record: Mapping[str, Any]


class _Rule(NamedTuple):
    """A candidate rule: its pattern, and the number of the upload at each address that follows it."""

    pattern: AddressPattern
    uploads_at: dict[str, int]

    @property
    def matches(self) -> int:
        return len(set(self.uploads_at.values()))

    def is_significant(self, record: Mapping[str, Any]) -> bool:
        return any(len(str(record.get(name))) >= _SIGNIFICANT_CHARACTERS for name in self.pattern.fields)

    @property
    def rank(self) -> tuple[int, bool, str]:
        return -self.matches, not self.pattern.text.startswith("https"), self.pattern.text


def infer_file_url(
    service: Records, records: Iterable[Mapping[str, Any]], addresses: Iterable[str]
) -> InferredRule | None:
    """Return the rule that builds most embedded addresses from fields of file records, if there is one.

    Args:
        service: reads them.
        records: the raw file records (API 2.6).
        addresses: the absolute addresses that entries embed or link to, each once.
    """
    uploads = [_Fields(_encoded(service, record), record) for record in records]
    by_value: defaultdict[str, set[int]] = defaultdict(set)
    for number, upload in enumerate(uploads):
        for _, value in upload.encoded:
            by_value[value].add(number)
    significant = {value: found for value, found in by_value.items() if len(found) <= _MAX_SHARING_UPLOADS}
    known = list(addresses)
    rules: dict[str, _Rule] = {}
    likely: list[_Rule] = []
    found: set[int] = set()
    for address in known:
        head, rest = _split(address)
        candidates = {number for token in _tokens(rest) for number in significant.get(token, ())}
        for number in sorted(candidates):
            record = uploads[number].record
            # Most addresses follow the same rule as the first ones. Checking a rule is faster than finding it.
            rule = next((rule for rule in likely if rule.pattern.fill(record) == address), None)
            if rule is None:
                rule = _new_rule(head + _generalised(service, rest, uploads[number], significant), record, address)
            if rule is not None:
                rule = rules.setdefault(rule.pattern.text, rule)
                rule.uploads_at.setdefault(address, number)
                found.add(number)
                if len(rule.uploads_at) == MIN_MATCHES and len(likely) < _MAX_LIKELY_RULES:
                    likely.append(rule)
    for rule in sorted(rules.values(), key=lambda rule: rule.rank)[:_MAX_LIKELY_RULES]:
        likeness = len(rule.uploads_at) / max(1, sum(map(rule.pattern.fits, known)))
        if rule.matches >= MIN_MATCHES and likeness >= _MIN_SHARE and rule.matches >= _MIN_SHARE * len(found):
            numbers = rule.uploads_at.items()
            records_at = {address: uploads[number].record for address, number in numbers}
            sizes = {address: service.upload(record).bytes for address, record in records_at.items()}
            return InferredRule(
                rule.pattern,
                rule.matches,
                all(map(rule.is_significant, records_at.values())),
                {address: size for address, size in sizes.items() if size is not None},
            )
    return None


def _encoded(service: Records, record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the fields in search order: long values first, because they may contain short ones."""
    found = [
        (name, quote(str(value), safe="", errors="replace"))
        for name, value in record.items()
        if name not in service.unlikely_in_addresses
        and isinstance(value, str | int)
        and not isinstance(value, bool)
        and str(value)
        and name
        and not set("{}") & set(name)
    ]
    rank = {name: place for place, name in enumerate(service.likely_in_addresses)}
    return sorted(found, key=lambda each: (-len(each[1]), rank.get(each[0], len(rank)), each[0]))


def _split(address: str) -> tuple[str, str]:
    """Return scheme and host, which never contain a field, and the rest."""
    scheme, _, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host}{slash}", path


def _tokens(rest: str) -> Iterator[str]:
    for part in _TOKEN_ENDS.split(rest):
        yield part
        yield part.rpartition(".")[0]
        yield from _WORD.findall(part)


def _generalised(service: Records, rest: str, upload: _Fields, significant: Mapping[str, set[int]]) -> str:
    """Replace the upload's values by their fields in braces."""
    pieces: list[tuple[str, bool]] = [(rest, False)]
    for name, value in upload.encoded:
        if len(value) < _SIGNIFICANT_LENGTH and value not in significant and name != service.extension_field:
            continue
        before = r"(?<=\.)" if name == service.extension_field else r"(?<![0-9A-Za-z%])"
        found = re.compile(f"{before}{re.escape(value)}(?![0-9A-Za-z%])")
        pieces = [
            part
            for text, done in pieces
            for part in ([(text, True)] if done else _replaced(text, found, f"{{{name}}}"))
        ]
    return "".join(text for text, _ in pieces)


def _replaced(text: str, found: re.Pattern[str], field: str) -> Iterator[tuple[str, bool]]:
    end = 0
    for match in found.finditer(text):
        yield text[end : match.start()], False
        yield field, True
        end = match.end()
    yield text[end:], False


def _new_rule(text: str, record: Mapping[str, Any], address: str) -> _Rule | None:
    if "{" not in text or set("{}") & set(address):
        return None
    pattern = AddressPattern(text, "file_url")
    return _Rule(pattern, {}) if pattern.fill(record) == address else None
