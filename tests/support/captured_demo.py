"""The demo's archive with a capture of the demo blog as it looked, and its export as a WACZ file."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from exporter.archive.archive import Archive
from exporter.capture.outcome import CaptureOutcome
from exporter.demo.content import demo_blog, later_changes
from exporter.export.interface import ExportOptions
from exporter.html.links import AddressPattern
from exporter.http.engine import Engine
from exporter.library.capture import capture
from exporter.library.export import Exported
from exporter.library.wacz import WaczOptions, export_wacz
from exporter.model.publication import Declared
from exporter.settings import resolve
from tests.support.styled_blog import StyledBlog, styled_blog
from tests.support.wire_server import MIXED

ENTRY_PATH: Final = "/Entry/{entry_id}/"


@dataclass
class CapturedDemo:
    """An archive, the blog that was captured into it, and the blog's origin."""

    root: Path
    blog: StyledBlog
    origin: str

    def export(
        self, target: Path, *, at: int | None = None, declared: Declared | None = None, **wanted: Any
    ) -> Exported:
        """Export the captures; other arguments as for :class:`WaczOptions`."""
        return export_wacz(self.root, target, self.options(declared), WaczOptions(**wanted), at=at)

    def options(self, declared: Declared | None = None) -> ExportOptions:
        """Return options that say which entries are public, and where they were."""
        known = declared or Declared(public_access=frozenset("1"), visible_comment_flags=frozenset("f"))
        pattern = AddressPattern(self.origin + ENTRY_PATH, "--old-url")
        return ExportOptions(declared=known, old_urls=(pattern,), title="潮だまり日記")


def capture_by_program(root: Path, origin: str, entry_path: str = "") -> CaptureOutcome:
    """Capture a running blog into its archive as the command does, without its pauses.

    Args:
        root: the archive.
        origin: of the blog.
        entry_path: the path of an entry with fields in braces, unless the service states it.
    """
    settings = resolve(
        {
            "home_url": f"{origin}/",
            **({"entry_url": origin + entry_path} if entry_path else {}),
            "allow_private_network": "yes",
            "rate": "1000",
            "concurrency": "6",
        },
        environ={},
    )

    async def run() -> CaptureOutcome:
        async with Engine() as engine, capture(root, Archive.open(root).info.blog_id, settings, engine) as running:
            async for _ in running:
                pass
            return running.outcome

    with ThreadPoolExecutor(1) as thread:  # this one may have an event loop, as Playwright's has
        return thread.submit(lambda: asyncio.run(run())).result()


def demo_as_it_is_now(**options: Any) -> StyledBlog:
    """Return the styled blog with the changes that the demo's archive has too.

    Its answers have no chunk extensions: ReplayWeb.page 2.4.6 shows them as garbage.
    """
    blog = demo_blog()
    later_changes(blog)
    return styled_blog(blog=blog, mix=tuple(way for way in MIXED if not way.trailers), **options)
