"""The parent's side of typesetting: the child process, its limits, and its failures as errors for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Self

from exporter.errors import NoMemory, UsageError
from exporter.message import filled, message_template
from exporter.worker import Worker, WorkerFailed, WorkerGone

MEMORY_BYTES: Final = 6 << 30
"""The most memory for one volume. A volume of the usual size needs a tenth of it."""
SECONDS: Final = 30 * 60
_SETTING: Final = "exporter.typeset.setting"
_FAILURES: Final = {
    "library": message_template(
        "A PDF needs WeasyPrint, which is not installed ({detail}): pip install 'blog-exporter[pdf]'"
    ),
    "native": message_template(
        "WeasyPrint is installed, but not the libraries that it needs ({detail}). Debian, Ubuntu: apt install "
        "libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0. macOS: brew install pango. Windows: install Pango with "
        "MSYS2."
    ),
    "fonts": message_template(
        "No installed font has the characters of this blog, such as {detail}. Debian, Ubuntu: apt install "
        "fonts-noto-cjk. Windows and macOS: add Japanese in the language settings."
    ),
    "changes": message_template(
        "Vertical lines need a font whose licence lets it be changed, and {detail} does not say so. Install a free "
        "one, such as fonts-noto-cjk, or leave out --vertical."
    ),
    "licence": message_template(
        "The licence of the font {detail} does not let a PDF contain it. Install a free one, such as fonts-noto-cjk."
    ),
}


class Press:
    """Sets PDFs in a child process, one after another; use it in ``with``."""

    def __init__(self) -> None:
        self._worker = Worker(memory=MEMORY_BYTES)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.close()

    def check(self) -> None:
        """Start the process.

        Raises:
            UsageError: WeasyPrint or a library that it needs is missing.
            NoMemory: the system starts no process, or kills it.
        """
        try:
            self._checked(self._worker.call(f"{_SETTING}:check", seconds=SECONDS))
        except WorkerGone:
            raise NoMemory from None
        except (WorkerFailed, TimeoutError) as error:
            raise UsageError(filled(_FAILURES["native"], detail=str(error))) from None

    def set(self, folder: Path, out: Path, identifier: str, *, vertical: bool) -> dict[str, int]:
        """Set the files of a folder as a PDF.

        Args:
            folder: has ``body.html``, ``front.html``, ``style.css`` and pictures in ``media``, which are overwritten.
            out: the new PDF.
            identifier: the same for the same book, and different for any other.
            vertical: whether the lines run from top to bottom, and the book opens from the right.

        Returns:
            how many characters have no glyph, by the id of their article.

        Raises:
            UsageError: fonts are missing or may not be embedded, or the book exceeds the limits.
        """
        try:
            said = self._worker.call(
                f"{_SETTING}:set_book", str(folder), str(out), identifier, vertical, seconds=SECONDS
            )
        except (WorkerFailed, TimeoutError) as error:
            raise UsageError(
                "{name} cannot be typeset within {memory} GiB of memory and {minutes} minutes ({error}). Leave out its "
                "largest entries, for example with --until, or export html or epub.",
                name=out.name,
                memory=MEMORY_BYTES >> 30,
                minutes=SECONDS // 60,
                error=str(error) or type(error).__name__,
            ) from None
        return self._checked(said)

    @staticmethod
    def _checked(said: Any) -> dict[str, int]:
        failure, detail, missing = said
        if failure:
            raise UsageError(filled(_FAILURES[failure], detail=detail))
        return dict(missing)
