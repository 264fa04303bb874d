"""Infer the pattern of entry addresses from the links between entries. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from exporter.export.interface import RecordSource
from exporter.html.links import AddressPattern, absolute
from exporter.html.tags import attribute_text
from exporter.model.kinds import Kind
from exporter.service.interface import Records

MIN_MATCHES: Final = 3
"""Fewer addresses of one form may be chance."""

_MIN_SHARE: Final = 0.5
"""The share of matching addresses that must be those of entries; below it the similarity may be chance."""

_MAX_SHARING_ENTRIES: Final = 8
"""A value that more entries share, such as a year or a flag, identifies none of them."""

_LINK: Final = re.compile(r"""href\s*=\s*["']?\s*((?:https?:)?/[^\s"'<>]*)""", re.IGNORECASE)
_CUTS: Final = (re.compile(r"([/?&=;.])"), re.compile(r"([/?&=;.\-_])"))
"""Points at which an address is cut into possible field values; a name may contain hyphens, or be between them."""

_Fields = dict[str, str]
"""Percent-encoded values in an entry's record by field name, the likeliest first, limited to those in addresses."""


class InferredPattern(NamedTuple):
    """A pattern for the addresses of entries, and how many of the addresses in bodies follow it."""

    pattern: AddressPattern
    matches: int


def infer_entry_url(service: Records, records: RecordSource) -> InferredPattern | None:
    """Return the pattern that most links between entries follow; ``None`` if they show none.

    Args:
        service: reads the records.
        records: the state of the archive; all entries count, public or not.
    """
    host = f"https://{records.blog_id}/"
    addresses = list(dict.fromkeys(_own_addresses(records, host)))
    if len(addresses) < MIN_MATCHES:
        return None
    values = {part for each in addresses for cut in _CUTS for part in cut.split(each.removeprefix(host))}
    entries, by_value = _entries(service, records, values)
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for address in addresses:
        for number, text in _templates(address.removeprefix(host), entries, by_value):
            found[host + text].setdefault(address, number)
    for text, entry_at in sorted(found.items(), key=lambda each: (-len(each[1]), each[0])):
        pattern = AddressPattern(text, "entry_url")
        matches = len(set(entry_at.values()))
        if matches >= MIN_MATCHES and len(entry_at) >= _MIN_SHARE * sum(map(pattern.fits, addresses)):
            return InferredPattern(pattern, len(entry_at))
    return None


def _own_addresses(records: RecordSource, host: str) -> Iterator[str]:
    """Yield the targets of links from entries to the blog's own host, in order."""
    named = host.removeprefix("https:")
    for _, raw in records.scan(Kind.ENTRIES):
        for text in raw.values():
            if isinstance(text, str) and (named[:-1] in text or '="/' in text or "='/" in text):
                for found in _LINK.finditer(text):
                    url = absolute(attribute_text(found[1]), host)
                    if url is not None and url.partition(":")[2].startswith(named) and not set("{}") & set(url):
                        yield f"https:{url.partition(':')[2]}"


def _entries(
    service: Records, records: RecordSource, values: set[str]
) -> tuple[list[_Fields], Mapping[str, list[int]]]:
    """Return the entries with a value that occurs in addresses, and for each identifying value its entries."""
    entries: list[_Fields] = []
    by_value: defaultdict[str, list[int]] = defaultdict(list)
    for _, raw in records.scan(Kind.ENTRIES):
        written = ((name, _written(raw.get(name))) for name in service.post_fields)
        fields = {name: value for name, value in written if value in values and value}
        for value in set(fields.values()):
            by_value[value].append(len(entries))
        if fields:
            entries.append(fields)
    return entries, {value: numbers for value, numbers in by_value.items() if len(numbers) <= _MAX_SHARING_ENTRIES}


def _written(value: Any) -> str:
    return quote(str(value), safe="", errors="replace") if isinstance(value, str | int) and value is not True else ""


def _templates(rest: str, entries: list[_Fields], by_value: Mapping[str, list[int]]) -> Iterator[tuple[int, str]]:
    """Yield the possible entries for an address, and the address with field names for their values."""
    for cut in _CUTS:
        parts = cut.split(rest)
        numbers = dict.fromkeys(number for part in parts for number in by_value.get(part, ()))
        for number in numbers:
            field_of: dict[str, str] = {}
            for name, value in entries[number].items():
                if len(value) > 1 or value in by_value:  # else a flag
                    field_of.setdefault(value, f"{{{name}}}")
            yield number, "".join(field_of.get(part, part) for part in parts)
        if numbers:
            return
