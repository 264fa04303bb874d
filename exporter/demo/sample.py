"""潮だまり日記: eight years of a made-up blog from a made-up seaside town, as data in ``blog/`` and ``pictures/``.

``blog/`` holds records as the service sends them; its ``pictures.json`` says which picture each address shows.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from exporter.demo.content import Blog, RecordList, fields

_HERE = Path(__file__).parent


def demo_blog() -> Blog:
    """Return the made-up blog: 60 entries, 150 comments, 40 files, and the pictures its posts show."""
    entries = [record for path in sorted(_HERE.glob("blog/entries_*.json")) for record in _read(path.name)]
    return Blog(
        **_read("blog.json"),
        entries={int(record["entry_id"]): record for record in entries},
        comments=RecordList(_read("comments.json")),
        files=RecordList(_read("files.json")),
        pictures=_pictures(_read("pictures.json")),
    )


def later_changes(blog: Blog) -> None:
    """Change the blog as its writer does in the new year.

    An entry is edited, one is new, one is gone together with its comments; two comments and a file are new.
    """
    changes = _read("new_year.json")
    for entry_id in changes["removed_entries"]:
        del blog.entries[entry_id]
        blog.comments[:] = [each for each in blog.comments if fields(each)["entry_id"] != str(entry_id)]
    for record in changes["entries"]:
        blog.entries[int(record["entry_id"])] = record
    blog.comments.extend(changes["comments"])
    blog.files.extend(changes["files"])
    blog.pictures.update(_pictures(changes["pictures"]))


def _read(name: str) -> Any:
    return json.loads((_HERE / "blog" / name).read_text("utf-8"))


def _pictures(names: dict[str, str]) -> dict[str, bytes]:
    return {address: (_HERE / "pictures" / name).read_bytes() for address, name in names.items()}
