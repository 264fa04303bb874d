"""The pages by the first part of their paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.window import blog, home, progress

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporter.window.window import Page

ROUTES: Final[Mapping[str, Page]] = {
    "": home.home,
    "blog": blog.blog,
    "job": progress.job,
    "quit": home.ended,
}
