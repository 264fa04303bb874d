"""The list of a fleet: one blog a line, as text, CSV or TOML, with settings of its own where it needs some.

A list may name a million blogs, so text and CSV are read line by line. It is written by a person or a program that
asked a service for its blogs, so every line is checked before anything is asked for.
"""

from __future__ import annotations

import csv
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from exporter.errors import UsageError
from exporter.message import message
from exporter.settings import SETTINGS, check_setting, setting_text

_ID_COLUMNS: Final = ("blog_id", "blog", "id")
_PRIORITY: Final = "priority"
_LONGEST_ID: Final = 200
_LONGEST_LINE: Final = 65_536
_HIGHEST: Final = 1_000_000
_FORBIDDEN: Final = frozenset("/\\:\0")
_SECRETS: Final = frozenset({"token", "client_secret", "new_home_token"})


@dataclass(frozen=True, slots=True)
class ListedBlog:
    """A line of the list.

    Attributes:
        blog_id: the blog.
        priority: those with a higher number go first; 0 where the line says nothing.
        settings: what the line says of this blog alone, as text, checked.
        line: its number in the file, from 1; for TOML the number of the blog.
    """

    blog_id: str
    priority: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)
    line: int = 0


def read_list(path: Path) -> Iterator[ListedBlog]:
    """Yield the blogs of a list: ``.csv`` and ``.toml`` by their endings, everything else as text.

    Raises:
        UsageError: the file cannot be read, or a line of it cannot be right; the message names the line.
    """
    readers = {".csv": _read_csv, ".toml": _read_toml}
    try:
        yield from readers.get(path.suffix.lower(), _read_text)(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(message("The list {path} cannot be read: {reason}.", path=path, reason=reason)) from error
    except UnicodeDecodeError as error:
        raise UsageError(message("The list {path} is not text in UTF-8.", path=path)) from error


def _read_text(path: Path) -> Iterator[ListedBlog]:
    """Yield the blogs of a text: ``BLOG_ID [NAME=VALUE …]``; what follows ``#`` is a comment."""
    with path.open(encoding="utf-8-sig", newline=None) as file:
        for number, line in _lines(path, file):
            words = line.partition("#")[0].split()
            if not words:
                continue
            pairs = {}
            for word in words[1:]:
                name, equals, value = word.partition("=")
                if not equals:
                    raise _wrong(path, number, message("{word} is not NAME=VALUE", word=repr(word)))
                pairs[name] = value
            yield _blog(path, number, words[0], pairs)


def _lines(path: Path, file: Iterable[str]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(file, 1):
        if len(line) > _LONGEST_LINE:
            raise _wrong(path, number, message("it is longer than {n:,} characters", n=_LONGEST_LINE))
        yield number, line


def _read_csv(path: Path) -> Iterator[ListedBlog]:
    """Yield the blogs of a table: a header with ``blog_id``, ``priority`` and settings; without one, IDs alone."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(line for _, line in _lines(path, file))
        header: list[str] | None = None
        try:
            for row in rows:
                if not any(cell.strip() for cell in row):
                    continue
                if header is None:
                    names = [cell.strip().lower() for cell in row]
                    column = next((name for name in _ID_COLUMNS if name in names), None)
                    header = names if column else ["blog_id", *[""] * (len(row) - 1)]
                    id_column = header.index(column or "blog_id")
                    if column:
                        continue
                cells = [*(cell.strip() for cell in row), *[""] * (len(header) - len(row))]
                pairs = {name: cell for name, cell in zip(header, cells, strict=False) if name and cell}
                blog_id = pairs.pop(header[id_column], "")
                yield _blog(path, rows.line_num, blog_id, pairs)
        except csv.Error as error:
            raise _wrong(path, rows.line_num, str(error)) from error


def _read_toml(path: Path) -> Iterator[ListedBlog]:
    """Yield the blogs of a TOML document.

    ``blogs`` is an array of IDs, of tables with ``blog_id``, or a table of tables as in a settings file; settings at
    the top are those of every blog.
    """
    import tomllib  # noqa: PLC0415 - most lists are no TOML

    try:
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(message("The list {path} is not valid TOML: {error}.", path=path, error=error)) from error
    blogs = document.pop("blogs", None)
    if isinstance(blogs, dict):
        blogs = [{"blog_id": name, **table} if isinstance(table, dict) else table for name, table in blogs.items()]
    if not isinstance(blogs, list):
        text = message("The list {path} names no blogs: add [[blogs]] tables, each with a blog_id.", path=path)
        raise UsageError(text)
    for number, each in enumerate(blogs, 1):
        table = {"blog_id": each} if isinstance(each, str) else each
        if not isinstance(table, dict):
            raise _wrong(path, number, message("it is neither the ID of a blog nor a table"))
        pairs = {**document, **table}
        blog_id = pairs.pop("blog_id", None)
        if not isinstance(blog_id, str):
            raise _wrong(path, number, message("it has no blog_id"))
        yield _blog(path, number, blog_id, pairs)


def _blog(path: Path, number: int, blog_id: str, pairs: Mapping[str, Any]) -> ListedBlog:
    wrong = _trouble_with_id(blog_id)
    if wrong is not None:
        raise _wrong(path, number, wrong)
    settings: dict[str, str] = {}
    priority = 0
    for name, value in pairs.items():
        if name == _PRIORITY:
            priority = _priority(path, number, value)
            continue
        if name in _SECRETS:
            text = message("{name} is a secret and cannot be in a list: name its file with token_file", name=name)
            raise _wrong(path, number, text)
        if name not in SETTINGS:
            raise _wrong(path, number, message("{name} is not a setting", name=repr(name)))
        try:
            check_setting(name, value)
        except ValueError as error:
            reason = message("{name} is {value}: {reason}", name=name, value=repr(value), reason=error)
            raise _wrong(path, number, reason) from error
        settings[name] = setting_text(value)
    return ListedBlog(blog_id, priority, settings, number)


def _trouble_with_id(blog_id: str) -> str | None:
    """Say why a text cannot be the ID of a blog and the name of a folder, ``None`` where it can."""
    if not blog_id:
        return message("it names no blog")
    odd = blog_id.startswith((".", "-")) or blog_id.endswith((".", " ")) or not _FORBIDDEN.isdisjoint(blog_id)
    if odd or any(unicodedata.category(mark)[0] in "CZ" for mark in blog_id):
        return message("{text} is not a blog ID such as NAME.blog.example.jp", text=repr(blog_id[:_LONGEST_ID]))
    if len(blog_id.encode("utf-8", "surrogatepass")) > _LONGEST_ID:
        return message("the blog ID is longer than {n} bytes", n=_LONGEST_ID)
    return None


def _priority(path: Path, number: int, value: Any) -> int:
    try:
        priority = int(str(value))
    except ValueError:
        priority = _HIGHEST + 1
    if abs(priority) > _HIGHEST:
        raise _wrong(path, number, message("priority is {value}: a whole number is expected", value=repr(value)))
    return priority


def _wrong(path: Path, number: int, reason: str) -> UsageError:
    return UsageError(message("{path}, line {number}: {reason}.", path=path, number=number, reason=reason))
