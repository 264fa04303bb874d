"""The first page: the field for an address or a file, and the known archives with their health."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.window import archives
from exporter.window.pages import Redirect
from exporter.window.progress import heading_of

if TYPE_CHECKING:
    from exporter.window.pages import Answer, Asked
    from exporter.window.window import Window

_SAMPLE: Final = "sample-blog"


def home(window: Window, _asked: Asked) -> Answer:
    """Return the first page."""
    running = [(job, heading_of(job)) for job in window.jobs.running()]
    return window.page("home.html", blogs=archives.known(window), running=running)


def demo(window: Window, asked: Asked) -> Answer:
    """Save the program's sample blog: ``demo``."""
    if asked.method != "POST":
        return Redirect("")
    place = archives.blogs_folder() / _SAMPLE
    job = window.jobs.start(["demo", str(place)], about="demo", place=str(place), language=window.language)
    return Redirect(f"job/{job.id}")


def ended(window: Window, asked: Asked) -> Answer:
    """Return the last page; after sending it, the server ends the window."""
    return window.page("ended.html") if asked.method == "POST" else Redirect("")
