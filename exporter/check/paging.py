"""What a paginator is told of a page that a check read. Pure."""

from __future__ import annotations

import hashlib

from exporter import lossless_json
from exporter.model.kinds import Kind
from exporter.service.interface import BlogService, Cursor, Page, PageFacts


def facts_of(service: BlogService, kind: Kind, cursor: Cursor, page: Page, known: set[str]) -> PageFacts:
    """Return the facts of a page, and add its ids to ``known``.

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
