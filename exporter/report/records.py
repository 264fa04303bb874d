"""Answers and records scrambled by what their fields hold, as their service documents it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from exporter.model.kinds import Kind
from exporter.report.characters import telling_windows
from exporter.report.json_tree import NumberText, Pairs, read_tree, strings, write_tree
from exporter.report.names import ENDINGS
from exporter.report.scramble import Scrambler
from exporter.service.interface import Records, Role

LONGEST_TEXT: Final = 4_000
"""Characters kept of an answer that is not JSON."""
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,29}")
_NUMERIC: Final = re.compile(r"-?[0-9]{1,15}")
_SHORT: Final = 3
_SUCCESS: Final = frozenset({"true", "success", "error", "fail", "failure", "null", "none"})


class Material:
    """All originals of a report, gathered before any is scrambled, since each depends on what all others hold.

    Args:
        service: tells what fields hold.
    """

    def __init__(self, service: Records) -> None:
        self._service = service
        self._ids: set[str] = set()
        self._moments: set[str] = set()
        self.originals: list[str] = []

    def add_text(self, text: str) -> None:
        """Add a text that is not JSON."""
        self.originals.append(text)

    def add_id(self, text: str) -> None:
        """Add an id that is not in a record."""
        self._ids.add(text)

    def add(self, tree: Any, kind: Kind) -> None:
        """Add an answer or a record of a kind."""
        self.originals.extend(strings(tree))
        for record in _records(tree, self._service.roles.get(kind, {})):
            for name, value in record:
                role = self._service.roles[kind].get(name)
                if role is Role.ID and isinstance(value, str):
                    self._ids.add(str(value))
                elif role is Role.DATE and isinstance(value, str) and value.isdecimal():
                    self._moments.add(str(value))

    def scrambler(self, key: bytes, words: Iterable[str] = ()) -> Scrambler:
        """Return what scrambles all of it."""
        return Scrambler(key, telling_windows(self.originals), self._ids, self._moments, words)


def _records(tree: Any, roles: Mapping[str, Role]) -> Iterator[Pairs]:
    """Yield the objects in an answer that have a field of a record."""
    if isinstance(tree, Pairs):
        if any(name in roles for name, _ in tree):
            yield tree
        else:
            for _, value in tree:
                yield from _records(value, roles)
    elif isinstance(tree, list):
        for value in tree:
            yield from _records(value, roles)


class ShapeKeeper:
    """Scrambles whole answers and records.

    Args:
        scrambler: scrambles their texts.
        service: tells what fields hold.
        success: the word for success in answers, which is kept.

    Attributes:
        scrambler: as given.
    """

    def __init__(self, scrambler: Scrambler, service: Records, success: str = "ok") -> None:
        self.scrambler = scrambler
        self._service = service
        self._kept = _SUCCESS | {success}

    def body(self, text: str, kind: Kind) -> str:
        """Return an answer as JSON text, or as whatever else it is, cut."""
        try:
            tree = read_tree(text)
        except ValueError:
            return self.scrambler.text(text[:LONGEST_TEXT])
        return write_tree(self.tree(tree, kind))

    def tree(self, tree: Any, kind: Kind) -> Any:
        """Return an answer, or one record."""
        roles = self._service.roles.get(kind, {})
        if isinstance(tree, Pairs):
            if any(name in roles for name, _ in tree):
                return self._record(tree, kind, roles)
            return Pairs((self._name(name), self.tree(value, kind)) for name, value in tree)
        if isinstance(tree, list):
            return [self.tree(value, kind) for value in tree]
        return self._outside(tree)

    def _outside(self, value: Any) -> Any:
        """Return a value of an answer that is not in a record: counts, pages, flags and messages."""
        if isinstance(value, NumberText):
            return value if len(value) <= 15 else NumberText(self.scrambler.number(value))
        if not isinstance(value, str) or value in self._kept or len(value) <= 1 or _NUMERIC.fullmatch(value):
            return value
        return self.scrambler.text(value)

    def _record(self, record: Pairs, kind: Kind, roles: Mapping[str, Role]) -> Pairs:
        moved = self._days(record, kind)
        return Pairs(
            (self._name(name), moved[name] if name in moved else self._field(value, roles.get(name)))
            for name, value in record
        )

    def _days(self, record: Pairs, kind: Kind) -> dict[str, Any]:
        """Return the fields that are a date together, moved."""
        found: dict[str, Any] = {}
        for names in self._service.date_parts.get(kind, ()):
            year, month, day = (record.get(name) for name in names[:3])
            if all(isinstance(part, str) for part in (year, month, day)):
                new = self.scrambler.day(str(year), str(month), str(day))
                old = (year, month, day)
                kinds = zip(names, new, old, strict=False)
                found |= {name: NumberText(part) if isinstance(was, NumberText) else part for name, part, was in kinds}
        return found

    def _field(self, value: Any, role: Role | None) -> Any:
        if isinstance(value, Pairs):
            return Pairs((self._name(name), self._field(inner, None)) for name, inner in value)
        if isinstance(value, list):
            return [self._field(inner, None) for inner in value]
        if isinstance(value, NumberText):
            return self._number(value, role)
        if not isinstance(value, str):
            return value
        return self._string(value, role)

    def _number(self, value: NumberText, role: Role | None) -> NumberText:
        if role is Role.ID:
            return (
                NumberText(self.scrambler.id(value)) if value.isdecimal() else NumberText(self.scrambler.number(value))
            )
        if role is Role.DATE and value.isdecimal():
            return NumberText(self.scrambler.date(value))
        if len(value) <= _SHORT or (role in {Role.COUNT, Role.CODE} and len(value) <= 15):
            return value
        return NumberText(self.scrambler.number(value))

    def _string(self, value: str, role: Role | None) -> str:
        if role is Role.ID:
            return self.scrambler.id(value)
        if role is Role.DATE:
            return self.scrambler.date(value)
        if role is Role.ADDRESS:
            return self.scrambler.address(value)
        if role is Role.DATE_PART and len(value) <= 2:
            return value
        if role is Role.COUNT and _NUMERIC.fullmatch(value):
            return value
        if role in {Role.CODE, None} and ((len(value) <= _SHORT and value.isascii()) or value.lower() in ENDINGS):
            return value
        return self.scrambler.text(value)

    def _name(self, name: str) -> str:
        """Return the name of a member: a field's is kept, anything a person wrote is not."""
        return name if _NAME.fullmatch(name) else self.scrambler.word(name)
