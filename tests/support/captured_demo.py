"""The demo's archive with a capture of the demo blog as it looked, and its export as a WACZ file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporter.demo.content import demo_blog, later_changes
from exporter.export.interface import ExportOptions
from exporter.html.links import AddressPattern
from exporter.library.export import Exported
from exporter.library.wacz import WaczOptions, export_wacz
from exporter.model.publication import Declared
from tests.support.styled_blog import StyledBlog, styled_blog


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
        pattern = AddressPattern(f"{self.origin}/Entry/{{entry_id}}/", "--old-url")
        return ExportOptions(declared=known, old_urls=(pattern,), title="潮だまり日記")


def demo_as_it_is_now(**options: Any) -> StyledBlog:
    """Return the styled blog with the changes that the demo's archive has too."""
    blog = demo_blog()
    later_changes(blog)
    return styled_blog(blog=blog, **options)
