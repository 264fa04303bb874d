"""The pages by the first part of their paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.window import blog, found, home, progress, sign_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporter.window.window import Page

ROUTES: Final[Mapping[str, Page]] = {
    "": home.home,
    "begin": found.begin,
    "blog": blog.blog,
    "demo": home.demo,
    "found": found.found,
    "job": progress.job,
    "look": found.look,
    "quit": home.ended,
    "sign-in": sign_in.sign_in,
}
