"""Adding to the user's settings file. What a person wrote there stays unchanged."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from exporter.archive import atomic
from exporter.archive.settings_file import quoted
from exporter.errors import UsageError
from exporter.message import message
from exporter.translation import translated

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")


def add_blog(path: Path, name: str, values: Mapping[str, str]) -> None:
    """Append a table for a blog to the settings file. The existing bytes stay unchanged.

    Args:
        path: the file; it may be missing.
        name: the table's name, not yet in the file.
        values: the settings in the table, as text.

    Raises:
        UsageError: no table can be appended to the file, or the file cannot be written.
    """
    after = with_blog(path, name, values)
    place = path.resolve()  # some users link to a file elsewhere
    with atomic.translated(path):
        atomic.make_folder(place.parent)
        atomic.write_file(place, after)


def with_blog(path: Path, name: str, values: Mapping[str, str]) -> bytes:
    """Return the content that :func:`add_blog` writes.

    Raises:
        UsageError: no table can be appended to the file.
    """
    place = path.resolve()
    with atomic.translated(path):
        before = place.read_bytes() if place.exists() else settings_head()
        table = _table(name, values)
        after = before + (b"" if before.endswith(b"\n") else b"\n") + table.encode()
        try:
            known = tomllib.loads(after.decode("utf-8"))
        except ValueError:
            known = {}
        if name not in known.get("blogs", {}):
            shown = " ".join(table.split())
            raise UsageError("{path} cannot be added to; add this yourself: {table}", path=path, table=shown)
    return after


def _table(name: str, values: Mapping[str, str]) -> str:
    key = name if _BARE_KEY.fullmatch(name) else quoted(name)
    comments = {
        "blog_id": message("the blog"),
        "archive": message("the folder that its archive is in"),
        "base_url": message("the address of its service's API"),
        "assets": message("which pictures and files are saved: linked, embedded, files or none"),
        "token_file": message("the file that holds the access token"),
    }
    lines = [f"[blogs.{key}]"]
    for each, value in values.items():
        if each in comments:
            lines.append(f"# {translated(comments[each])}")
        lines.append(f"{each} = {quoted(value)}")
    return "\n" + "\n".join(lines) + "\n"


def settings_head() -> bytes:
    """Return the comment at the top of a new settings file."""
    lines = (
        message("Settings of blog-exporter. The lines above the tables apply to all blogs."),
        message(
            "Each blog has a table. To back one up: blog-exporter backup NAME; all of them: blog-exporter backup --all"
        ),
        message("Every setting: blog-exporter backup --help, and docs/settings.md"),
    )
    return ("".join(f"# {translated(line)}\n" for line in lines)).encode()


def keep_setting(path: Path, name: str, value: str) -> None:
    """Add a setting for all blogs to the settings file, above its tables. All other bytes stay unchanged.

    Args:
        path: the file; it may be missing.
        name: the setting, not yet in the file.
        value: its text.

    Raises:
        UsageError: the setting cannot be added, or the file cannot be written.
    """
    place = path.resolve()  # some users link to a file elsewhere
    added = f"{name} = {quoted(value)}\n"
    with atomic.translated(path):
        before = place.read_bytes() if place.exists() else settings_head()
        try:
            text = before.decode("utf-8")
            text += "" if text.endswith("\n") else "\n"
            at = _end_of_top(text)
            after = f"{text[:at]}{added}{text[at:]}"
            is_added = tomllib.loads(after) == {**tomllib.loads(text), name: value}
        except ValueError:
            is_added = False
        if not is_added:
            raise UsageError("{path} cannot be added to; add this yourself: {table}", path=path, table=added.strip())
        atomic.make_folder(place.parent)
        atomic.write_file(place, after.encode())


def set_setting(path: Path, name: str, value: str | None, blog: str) -> None:
    """Add, change or remove a setting in a blog's table. All other bytes stay unchanged.

    Args:
        path: the settings file, which has the table.
        name: the setting.
        value: its text; ``None`` to remove it.
        blog: the name of the table.

    Raises:
        UsageError: the file cannot be changed in this way, or not be written.
    """
    place = path.resolve()  # some users link to a file elsewhere
    added = "" if value is None else f"{name} = {quoted(value)}\n"
    with atomic.translated(path):
        try:
            text = place.read_bytes().decode("utf-8")
            wanted = tomllib.loads(text)
            table = wanted["blogs"][blog]
            if value is None:
                table.pop(name, None)
            else:
                table[name] = value
            after = next(each for each in _edits(text, name, added) if _reads_as(each, wanted))
        except (ValueError, LookupError, TypeError, AttributeError, StopIteration):
            shown = added.strip() or name
            raise UsageError(
                "{path} cannot be changed here; change this yourself in [blogs.{blog}]: {line}",
                path=path,
                blog=blog,
                line=shown,
            ) from None
        atomic.write_file(place, after.encode())


def _edits(text: str, name: str, added: str) -> Iterator[str]:
    """Yield the text with the setting changed, removed or added at each place that may be the right one."""
    yield text
    lines = text.splitlines(keepends=True)
    for number, each in enumerate(lines):
        key, _, _ = each.partition("=")
        if key.strip() == name:
            yield "".join([*lines[:number], added, *lines[number + 1 :]])
        elif each.lstrip().startswith("[") and added:
            header = each if each.endswith("\n") else f"{each}\n"
            yield "".join([*lines[:number], header, added, *lines[number + 1 :]])


def _reads_as(text: str, wanted: Mapping[str, object]) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except ValueError:
        return False


def _end_of_top(text: str) -> int:
    """Return where the settings above the tables end: before the comment of the first table."""
    at = comment = 0
    for line in text.split("\n")[:-1]:
        if line.lstrip().startswith("[") and _is_toml(text[:at]):
            return comment
        at += len(line) + 1
        if not line.startswith("#"):
            comment = at
    return at


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except ValueError:
        return False
    return True
