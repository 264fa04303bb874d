"""Helpers for the pages about an archive: they read forms, and start commands and read their answers."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exporter.archive.archive import Archive
from exporter.errors import BlogExporterError, UsageError
from exporter.message import message, said
from exporter.translation import translated
from exporter.window.jobs import ANSWER

if TYPE_CHECKING:
    from exporter.window.jobs import Job
    from exporter.window.pages import Asked
    from exporter.window.window import Window

MAX_CHARACTERS: Final = 2000
"""The limit for fields that hold one line: addresses, paths and titles."""
TIME: Final = re.compile(r"([01]?[0-9]|2[0-3]):[0-5][0-9]")
"""A time of day, such as ``3:30``."""


def line(asked: Asked, name: str) -> str:
    """Return a form field's single line of text; empty without one.

    Raises:
        UsageError: it has a control character, or is too long for an address, a path or a title.
    """
    text = asked.text(name)
    if len(text) > MAX_CHARACTERS or any(unicodedata.category(each) in ("Cc", "Cs") for each in text):
        raise UsageError(message("A field of the form must hold one line of text. Correct it, and try again."))
    return text


def chosen(asked: Asked, name: str, offered: Sequence[str]) -> str:
    """Return the choice in a form; without one, the first offered choice.

    Raises:
        UsageError: it is not offered.
    """
    text = asked.text(name) or offered[0]
    if text not in offered:
        raise UsageError(message("The form has a choice that does not exist. Open the page again."))
    return text


def ticked(asked: Asked, name: str) -> bool:
    """Return whether a box of a form is ticked."""
    return bool(asked.form.get(name))


def folder(text: str) -> Path:
    """Return the folder that a person named: absolute, or below the home folder.

    Raises:
        UsageError: it names no folder.
    """
    try:
        path = Path(text).expanduser()
    except RuntimeError:
        raise UsageError("{path} has an unknown user in it. Name another folder.", path=text) from None
    if not text or not path.name:
        raise UsageError(message("Name a folder, such as one below your home folder."))
    return path if path.is_absolute() else Path.home() / path


@contextmanager
def complaints(window: Window, wrong: list[str]) -> Iterator[None]:
    """Add an error to ``wrong``, in the window's language, instead of raising it."""
    try:
        yield
    except (ValueError, BlogExporterError) as error:
        wrong.append(translated(said(error), window.language))


def start(window: Window, archive: Path, about: str, words: Sequence[str]) -> Job:
    """Start a command about an archive, unless the same one runs already."""
    return window.jobs.start(words, about=about, place=str(archive), language=window.language)


def document_of(job: Job) -> dict[str, Any]:
    """Return the last document that a command printed and that is no error; empty without one."""
    try:
        lines = (job.folder / ANSWER).read_bytes().splitlines()
    except OSError:
        return {}
    for text in reversed(lines):
        with suppress(ValueError):
            value = json.loads(text)
            if isinstance(value, dict) and "error" not in value:
                return value
    return {}


def about_blog(asked: Asked, archive: Path) -> dict[str, Any]:
    """Return two values for an archive's pages: ``blog_id``, and ``key``, which is in the pages' addresses.

    Raises:
        NoArchive, ArchiveDamaged: the archive cannot be read.
    """
    return {"key": asked.parts[1], "blog_id": Archive.open(archive).info.blog_id}
