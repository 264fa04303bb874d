"""What the records of an answer show: missing and unknown fields, codes, odd values, and where a page leads. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from exporter import lossless_json
from exporter.check.facts import OperationFacts
from exporter.message import message
from exporter.model.kinds import Kind
from exporter.model.records import Problem
from exporter.service.interface import BlogService, Cursor, Page, PageFacts, Records, Role

_MOST_FIELDS: Final = 100
_MOST_CODES: Final = 20
_LONGEST: Final = 40


def note_fields(facts: OperationFacts, service: Records, kind: Kind, records: Iterable[Any]) -> None:
    """Add to an operation's facts what its records show.

    Args:
        facts: of the operation.
        service: reads the records.
        kind: of the records.
        records: as sent, of any type.
    """
    roles = service.roles.get(kind, {})
    for record in records:
        if not isinstance(record, dict):
            facts.doubts.setdefault(str(kind), message("is {kind}, not an object", kind=type(record).__name__))
            continue
        _add(facts.missing, (name for name in roles if name not in record))
        if roles:
            _add(facts.unknown, (name for name in record if name not in roles))
        _note_codes(facts, roles, record)
        for problem in _problems(service, kind, record):
            if problem.reason != "is missing":
                doubt = message("{value} {reason}", value=problem.value[:_LONGEST], reason=problem.reason)
                facts.doubts.setdefault(problem.field, doubt)


def page_facts(service: BlogService, kind: Kind, cursor: Cursor, page: Page, known: set[str]) -> PageFacts:
    """Return the facts of a page, from which the paginator decides what to read next, and add its ids to ``known``.

    Args:
        service: reads the items.
        kind: of the list.
        cursor: of the page.
        page: as its answer describes it.
        known: the ids on the pages before.
    """
    digest = hashlib.sha256()
    before = set(known)
    size: int | None = 0
    for item in page.items:
        key = service.key(kind, item)
        if key is None:
            continue
        digest.update(key.encode("utf-8", "backslashreplace") + b"\0" + lossless_json.freeze(item).identity)
        amount = None if kind is Kind.COMMENTS else service.amount(kind, item)
        if key not in known:
            size = None if size is None or amount is None else size + amount
        known.add(key)
    return PageFacts(
        cursor, len(page.items), len(known - before), digest.hexdigest(), page.echo, page.next, page.pages,
        page.page_size, page.total, page.total_size, size,
    )  # fmt: skip


def _note_codes(facts: OperationFacts, roles: Mapping[str, Role], record: Mapping[str, Any]) -> None:
    for name, role in roles.items():
        value = record.get(name)
        if role is Role.CODE and name in record and not isinstance(value, dict | list):
            seen = facts.codes.setdefault(name, [])
            if len(seen) < _MOST_CODES:
                _add(seen, ["null" if value is None else str(value)])


def _add(known: list[str], names: Iterable[str]) -> None:
    for name in names:
        short = name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
        if short not in known and len(known) < _MOST_FIELDS:
            known.append(short)


def _problems(service: Records, kind: Kind, record: Mapping[str, Any]) -> tuple[Problem, ...]:
    if kind is Kind.ENTRIES:
        return service.post(record).problems
    if kind is Kind.ENTRY_LIST:
        return service.post(None, record).problems
    if kind is Kind.COMMENTS:
        return service.comment(record).problems
    if kind is Kind.FILES:
        return service.upload(record).problems
    return service.user(record).problems
