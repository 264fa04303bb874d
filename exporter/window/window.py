"""The window's state, and its routes: each path has one page, in the module of its subject."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporter.archive import atomic
from exporter.clock import SystemClock
from exporter.errors import UsageError
from exporter.message import message
from exporter.translation import translated
from exporter.window.jobs import Jobs
from exporter.window.pages import Answer, Asked, RenderedPage, rendered
from exporter.window.reading import Readers
from exporter.window.uploads import remove_old


def window_folder() -> Path:
    """Return the folder for the window's jobs and uploads. Only this user can enter it.

    Raises:
        UsageError: it cannot be made, or another user could have put something there.
    """
    import platformdirs  # noqa: PLC0415 - commands without a window need no folder

    folder = Path(platformdirs.user_state_dir("blog-exporter", appauthor=False)) / "window"
    with atomic.translated(folder):
        atomic.make_folder(folder)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or (os.name == "posix" and found.st_uid != os.geteuid()):
            raise UsageError("{folder} is a link, or another user's folder. Remove it.", folder=folder)
        folder.chmod(atomic.FOLDER_MODE)
    return folder


Page = Callable[["Window", Asked], Answer]


@dataclass
class Window:
    """The window's state.

    Attributes:
        folder: for its jobs and uploads; only this user can read it.
        language: of its pages: ``en`` or ``ja``.
        root: the path to the first page, which holds the secret: ``/SECRET/``.
        routes: the pages by the first part of their paths.
        config: the settings file named on the command line.
    """

    folder: Path
    language: str
    root: str
    routes: Mapping[str, Page]
    config: Path | None = None

    def __post_init__(self) -> None:
        self.jobs = Jobs(self.folder / "jobs")
        self.readers = Readers(self.config)
        self.uploads = self.folder / "uploads"
        self._remove_old_uploads()

    def answer(self, asked: Asked) -> Answer:
        """Answer a request with a page or a redirect. This reads and writes files, so it must run in a thread.

        Raises:
            BlogExporterError: the request failed; the server shows the sentence on a page.
        """
        page = self.routes.get(asked.parts[0] if asked.parts else "")
        if page is None:
            return self.failed(message("There is no such page."), 404)
        return page(self, asked)

    def page(self, template: str, *, status: int = 200, **context: Any) -> RenderedPage:
        """Return a page from its template."""
        return rendered(template, self.language, self.root, status, **context)

    def failed(self, text: str, status: int = 400) -> RenderedPage:
        """Return a page with the sentence of a failure."""
        return self.page("failed.html", status=status, text=translated(text, self.language))

    def close(self) -> None:
        """End the servers for reading, and remove old uploads. Jobs continue."""
        self.readers.close()
        self._remove_old_uploads()

    def _remove_old_uploads(self) -> None:
        remove_old(self.uploads, self.jobs.all(), SystemClock().now())
