"""The pages of one archive: ``blog/KEY`` and the pages below it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from exporter.message import message
from exporter.window import archives, copies, doctor, export, move, nightly, notifications

if TYPE_CHECKING:
    from exporter.window.pages import Answer, Asked
    from exporter.window.window import Window

BlogPage = Callable[["Window", "Asked", Path], "Answer"]
"""Answers a request below ``blog/KEY/NAME``; it gets the window, the request, and the folder of the archive."""


def blog(window: Window, asked: Asked) -> Answer:
    """Answer a request about an archive with the page that its path names."""
    path = archives.find(window, asked.parts[1] if len(asked.parts) > 1 else "")
    page = BLOG_ROUTES.get(asked.parts[2] if len(asked.parts) > 2 else "")
    if page is None:
        return window.failed(message("There is no such page."), 404)
    return page(window, asked, path)


def overview(window: Window, _asked: Asked, path: Path) -> Answer:
    """Return the page of an archive: its state, its runs, and everything that can be done with it."""
    return window.page("blog.html", blog=archives.described(path))


BLOG_ROUTES: Final[Mapping[str, BlogPage]] = {
    "": overview,
    "compare": move.compare,
    "copies": copies.copies,
    "doctor": doctor.doctor,
    "export": export.export,
    "move": move.move,
    "notifications": notifications.notifications,
    "schedule": nightly.nightly,
}
