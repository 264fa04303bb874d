"""Add a blog to the settings file, or write a new file with comments."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from exporter.archive import atomic
from exporter.archive.settings_file import quoted
from exporter.errors import UsageError
from exporter.message import message
from exporter.translation import translated

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


def table_name(blog_id: str, taken: Iterable[str]) -> str:
    """Return a short, unused name for a blog's table."""
    first = blog_id.split(".", maxsplit=1)[0]
    names = set(taken)
    number, name = 1, first
    while name in names:
        number += 1
        name = f"{first}-{number}"
    return name


def add_blog(path: Path, name: str, values: Mapping[str, str]) -> None:
    """Append a table for a blog to the settings file. The existing bytes stay unchanged.

    Args:
        path: the file; it may be missing.
        name: the table's name, not yet in the file.
        values: the settings in the table, as text.

    Raises:
        UsageError: no table can be appended to the file, or the file cannot be written.
    """
    place = path.resolve()  # some users link to a file elsewhere
    with atomic.translated(path):
        before = place.read_bytes() if place.exists() else _head()
        table = _table(name, values)
        after = before + (b"" if before.endswith(b"\n") else b"\n") + table.encode()
        try:
            known = tomllib.loads(after.decode("utf-8"))
        except ValueError:
            known = {}
        if name not in known.get("blogs", {}):
            shown = " ".join(table.split())
            raise UsageError(message("{path} cannot be added to; add this yourself: {table}", path=path, table=shown))
        atomic.make_folder(place.parent)
        atomic.write_file(place, after)


def _table(name: str, values: Mapping[str, str]) -> str:
    key = name if _BARE.fullmatch(name) else quoted(name)
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


def _head() -> bytes:
    lines = (
        message("Settings of blog-exporter. The lines above the tables apply to all blogs."),
        message(
            "Each blog has a table. To back one up: blog-exporter backup NAME; all of them: blog-exporter backup --all"
        ),
        message("Every setting: blog-exporter backup --help, and docs/settings.md"),
    )
    return ("".join(f"# {translated(line)}\n" for line in lines)).encode()
