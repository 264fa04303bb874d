"""The page of the captures: when the pages of the blog were kept as they looked, and how to open them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from exporter.export.interface import ViewFile
from exporter.html.dates import Dates
from exporter.site.captured import CAPTURE_PAGE, CapturedPages
from exporter.site.pages.site import Site


def capture_files(site: Site) -> Iterator[ViewFile]:
    """Yield the page, if the archive has captures."""
    captured = site.captured
    if captured.rows:
        yield site.file(
            CAPTURE_PAGE, "captures.html", [captured.identity], lambda: captures_context(captured, site.dates, site.t)
        )


def captures_context(captured: CapturedPages, dates: Dates, t: Callable[..., str]) -> dict[str, Any]:
    """Return the values of the page's template."""
    rows = [
        {
            "number": number,
            "date": "" if info is None else dates.written(info.finished_at),
            "pages": 0 if info is None else info.counts.get("pages", 0),
            "complete": info is not None and info.complete,
            "damaged": info is None,
        }
        for number, info in reversed(captured.rows)
    ]
    return {"title": t("Captured pages"), "rows": rows, "starts": {}, "served": False}
