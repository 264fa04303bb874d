"""The first page: the field for an address or a file, and the known archives with their health."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from exporter.window.pages import Answer, Asked
    from exporter.window.window import Window


def home(window: Window, _asked: Asked) -> Answer:
    """Return the first page."""
    return window.page("home.html")


def ended(window: Window, _asked: Asked) -> Answer:
    """Return the last page; the server ends the window after it was sent."""
    return window.page("ended.html")
