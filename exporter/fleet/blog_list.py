"""Read a fleet's list: text, CSV or TOML with one blog per line, and settings for single blogs.

A list may name a million blogs, so text and CSV are read line by line. A person or another program wrote it, so every
line is checked before the first request.
"""

from __future__ import annotations

import csv
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import Any, Final, TextIO

from exporter.errors import UsageError
from exporter.message import message, system_reason
from exporter.service.registry import SERVICE_SETTINGS
from exporter.setting_types import setting_text
from exporter.settings import SETTINGS, check_setting

_ID_COLUMNS: Final = ("blog_id", "blog", "id")
_TOML: Final = ".toml"
_PRIORITY: Final = "priority"
_MAX_ID_BYTES: Final = 200
_MAX_LINE_CHARACTERS: Final = 65_536
_HIGHEST: Final = 1_000_000
_FORBIDDEN: Final = frozenset("/\\:\0,;=\"'<>|?*#&%")
"""Characters of paths and others that no domain has: a line with them has another form than was assumed."""
_RESERVED: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?:\..*)?", re.IGNORECASE)
"""Names of devices on Windows ("Naming Files, Paths, and Namespaces", Microsoft).

No folder there can have one. A blog may be at ``con.example.jp``, so a name with an ending is refused only there.
"""
_IS_WINDOWS: Final = os.name == "nt"
_SECRETS: Final = frozenset({"token", "client_secret", "new_home_token"})
ALLOWED_IN_LISTS: Final = frozenset({
    *SERVICE_SETTINGS, "base_url", "profile", "service", "account", "concurrency", "rate", "retries", "refresh",
    "max_age", "assets", "max_asset_size", "strict_assets", "warc", "file_url", "entry_url", "markdown",
    "site", "site_title", "site_lang", "timezone",
    "home_url", "capture_max_pages", "capture_max_size", "capture_max_time",
})  # fmt: skip
"""The settings that a list may contain. None of them runs a program, names a secret, or reaches a private network."""


@dataclass(frozen=True, slots=True)
class ListedBlog:
    """A line of the list.

    Attributes:
        blog_id: the blog.
        priority: those with a higher number go first; 0 by default.
        settings: the line's settings, as checked text.
        line: its number in the file, from 1; for TOML the number of the blog.
    """

    blog_id: str
    priority: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)
    line: int = 0


def read_list(path: Path) -> Iterator[ListedBlog]:
    """Yield the blogs in a file; its name's ending selects CSV, TOML or text.

    Raises:
        UsageError: the file cannot be read, lists no blog, or has an invalid line, which the message names.
    """
    readers = {".csv": _read_csv, _TOML: _read_toml}
    blog = None
    try:
        for blog in readers.get(path.suffix.lower(), _read_text)(path):
            yield blog
    except OSError as error:
        reason = system_reason(error)
        raise UsageError("The list {path} cannot be read: {reason}.", path=path, reason=reason) from error
    except UnicodeDecodeError as error:
        raise UsageError("The list {path} is not text in UTF-8.", path=path) from error
    if blog is None:
        raise UsageError("{path} lists no blog.", path=path)


def _read_text(path: Path) -> Iterator[ListedBlog]:
    """Yield the blogs of a text: ``BLOG_ID [NAME=VALUE …]``; from a word on that begins with ``#`` it is a comment."""
    with path.open(encoding="utf-8-sig", newline=None) as file:
        for number, line in _lines(path, file):
            words = list(takewhile(lambda word: not word.startswith("#"), line.split()))
            if not words:
                continue
            pairs = {}
            for word in words[1:]:
                name, equals, value = word.partition("=")
                if not equals:
                    raise _wrong(path, number, message("{word} is not NAME=VALUE", word=repr(word)))
                pairs[name] = value
            yield _blog(path, number, words[0], pairs)


def _lines(path: Path, file: TextIO) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(iter(lambda: file.readline(_MAX_LINE_CHARACTERS + 1), ""), 1):
        if len(line) > _MAX_LINE_CHARACTERS:
            raise _wrong(path, number, message("it is longer than {n:,} characters", n=_MAX_LINE_CHARACTERS))
        yield number, line


def _read_csv(path: Path) -> Iterator[ListedBlog]:
    """Yield the blogs in a CSV file: a header with ``blog_id``, ``priority`` and settings; without one, IDs alone."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader((line for _, line in _lines(path, file)), strict=True)
        header: list[str] | None = None
        try:
            for row in rows:
                if not any(cell.strip() for cell in row):
                    continue
                if header is None:
                    names = [cell.strip().lower() for cell in row]
                    column = next((name for name in _ID_COLUMNS if name in names), None)
                    header = names if column else [_ID_COLUMNS[0]]
                    if column:
                        if wrong := next((name for name in names if names.count(name) > 1), None):
                            raise _wrong(path, 1, message("two columns are named {name}", name=repr(wrong)))
                        continue
                pairs = _cells(path, rows.line_num, header, row)
                blog_id = next((pairs.pop(name) for name in _ID_COLUMNS if name in pairs), "")
                yield _blog(path, rows.line_num, blog_id, pairs)
        except csv.Error as error:
            raise _wrong(path, rows.line_num, str(error)) from error


def _cells(path: Path, number: int, header: list[str], row: list[str]) -> dict[str, str]:
    """Return the cells of a row by column name; refuse a cell without one."""
    found = {}
    for name, cell in zip_longest(header, (cell.strip() for cell in row), fillvalue=""):
        if cell and not name:
            raise _wrong(path, number, message("{text} is in a column without a name", text=repr(cell)))
        if cell:
            found[name] = cell
    return found


def _read_toml(path: Path) -> Iterator[ListedBlog]:
    """Yield the blogs of a TOML document.

    ``blogs`` is an array of IDs, of tables with ``blog_id``, or a table of tables as in a settings file; settings at
    the top are those of every blog.
    """
    import tomllib  # noqa: PLC0415 - most lists are no TOML

    try:
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except tomllib.TOMLDecodeError as error:
        raise UsageError("The list {path} is not valid TOML: {error}.", path=path, error=error) from error
    blogs = document.pop("blogs", None)
    if isinstance(blogs, dict):
        blogs = [{"blog_id": name, **table} if isinstance(table, dict) else table for name, table in blogs.items()]
    if not isinstance(blogs, list):
        raise UsageError("The list {path} names no blogs: add [[blogs]] tables, each with a blog_id.", path=path)
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
    wrong = trouble_with_id(blog_id)
    if wrong is not None:
        raise _wrong(path, number, wrong)
    settings: dict[str, str] = {}
    priority = 0
    for name, value in pairs.items():
        if name == _PRIORITY:
            priority = _priority(path, number, value)
            continue
        if name not in ALLOWED_IN_LISTS:
            reason = (
                message("a list cannot set {name}: give it on the command line or in your settings file", name=name)
                if name in SETTINGS or name in _SECRETS
                else message("{name} is not a setting", name=repr(name))
            )
            raise _wrong(path, number, reason)
        try:
            check_setting(name, value)
        except ValueError as error:
            reason = message("{name} is {value}: {reason}", name=name, value=repr(value), reason=error)
            raise _wrong(path, number, reason) from error
        settings[name] = setting_text(value)
    return ListedBlog(blog_id, priority, settings, number)


def trouble_with_id(blog_id: str) -> str | None:
    """Return why a text cannot be both a blog ID and a folder name; ``None`` if it can."""
    if not blog_id:
        return message("it names no blog")
    odd = blog_id.startswith((".", "-")) or blog_id.endswith((".", " ")) or not _FORBIDDEN.isdisjoint(blog_id)
    if "/" in blog_id.strip("/") and "." in blog_id.partition("/")[0] + blog_id.partition("//")[2]:
        return message(
            "{text} is an address: give the blog's ID, and its address as base_url", text=repr(blog_id[:_MAX_ID_BYTES])
        )
    if odd or any(unicodedata.category(mark)[0] in "CZ" for mark in blog_id):
        return message("{text} is not a blog ID such as NAME.blog.example.jp", text=repr(blog_id[:_MAX_ID_BYTES]))
    if _RESERVED.fullmatch(blog_id) and ("." not in blog_id or _IS_WINDOWS):
        return message("{text} is the name of a device on Windows, so no folder can have it there", text=repr(blog_id))
    if len(blog_id.encode("utf-8", "surrogatepass")) > _MAX_ID_BYTES:
        return message("the blog ID is longer than {n} bytes", n=_MAX_ID_BYTES)
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
    if path.suffix.lower() == _TOML:
        return UsageError("{path}, blog {number}: {reason}.", path=path, number=number, reason=reason)
    return UsageError("{path}, line {number}: {reason}.", path=path, number=number, reason=reason)
