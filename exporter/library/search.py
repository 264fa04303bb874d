"""Search the texts of an archive."""

from __future__ import annotations

from datetime import date, datetime
from typing import Final, Literal

from exporter.archive.archive import Archive
from exporter.arguments import checked, wrong
from exporter.search.index import Index, SearchResult
from exporter.search.query import parse_query
from exporter.service.registry import service_of
from exporter.setting_types import WholeNumber, accepted
from exporter.settings import Settings

_LIMIT: Final = WholeNumber(1, 10_000)


@checked
def search_blog(
    archive: Archive,
    words: str,
    settings: Settings | None = None,
    *,
    kind: Literal["entry", "comment", "file"] | None = None,
    since: date | datetime | None = None,
    regex: bool = False,
    limit: int = 20,
    by_date: bool = False,
    at: int | None = None,
) -> SearchResult:
    """Find words in the titles, texts, comments and file names of an archive.

    Args:
        archive: the archive.
        words: every word must occur, as any part of a text; put a phrase in double quotes.
        settings: the time zone of ``since``, and how the service's records are read.
        kind: search only this kind.
        since: only texts written on this day, or at this time, or later.
        regex: read ``words`` as a regular expression of Python.
        limit: the greatest number of hits, from 1 to 10,000.
        by_date: the newest first, instead of the best.
        at: the version; by default the newest.

    Raises:
        UsageError: there is nothing to search for, or an argument is invalid.
        NoArchive, NoSuchRecord, ArchiveDamaged: the version cannot be read.
    """
    try:
        accepted(_LIMIT, limit)
    except ValueError as error:
        raise wrong("limit", limit, error) from None
    chosen = settings or Settings()
    query = parse_query(
        [words], kind, None if since is None else since.isoformat(), regex=regex, limit=limit, by_date=by_date,
        timezone=chosen.timezone,
    )  # fmt: skip
    with Index(archive, service_of(chosen, archive.info.service), at=archive.resolve(at)) as index:
        return index.search(query)
