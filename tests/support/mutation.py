"""A blog that its owner edits while it is being read.

``service.before = Mutator(blog, every=3, most=10, seed=1)`` inserts, deletes and edits records between two list
requests, and knows afterwards which records never changed: a backup must contain exactly these, unchanged.
"""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta

from aiohttp import web

from exporter.demo.content import Blog, Record, RecordList, fields, wire
from tests.support.records import comment_record, entry_record, file_address, file_record

_START = datetime(2030, 1, 1, 12, 0)  # noqa: DTZ001  the service sends times without an offset
_USER = "0123456789abcdef0123456789abcdef"
_PICTURE = b"GIF89a" + bytes(20)
_KEYS = {"comments": "cm_id", "files": "file_id"}


class Mutator:
    """Changes one record of each kind after every ``every``-th list request, ``most`` times in all.

    Attributes:
        done: the number of changes of each kind: ``insert``, ``delete`` and ``edit``.
        inserted: ids of inserted records that did not change since, by kind: ``entries``, ``comments``, ``files``.
        touched: ids of original records that were edited or deleted since, by kind.
        moves: the kinds of changes from now on.
    """

    def __init__(
        self, blog: Blog, *, every: int, most: int, seed: int, moves: tuple[str, ...] = ("insert", "delete", "edit")
    ) -> None:
        self.blog = blog
        self.done: Counter[str] = Counter()
        self.inserted: dict[str, set[str]] = {"entries": set(), "comments": set(), "files": set()}
        self.touched: dict[str, set[str]] = {"entries": set(), "comments": set(), "files": set()}
        self.moves = moves
        self._every, self._most = every, most
        self._chance = random.Random(seed)
        self._lists = 0
        self._at_first = _state(blog)
        self._number = 1 + max((int(key) for state in self._at_first.values() for key in state), default=0)

    def standing(self, kind: str) -> dict[str, bytes]:
        """Return the unchanged records of a kind by id, as sent."""
        return {key: sent for key, sent in self._at_first[kind].items() if key not in self.touched[kind]}

    async def __call__(self, request: web.Request) -> web.StreamResponse | None:
        """Count a request and change the blog at the right number; never answer."""
        if request.path.endswith("/list"):
            self._lists += 1
            if self._lists % self._every == 0 and self.done.total() < self._most:
                self.change()
        return None

    def change(self) -> None:
        """Make one change to the entries, the comments and the files."""
        move = self._chance.choice(self.moves)
        self.done[move] += 1
        if move == "insert":
            self._insert()
        else:
            self._entries(move)
            self._records("comments", self.blog.comments, move)
            self._records("files", self.blog.files, move)

    def _insert(self) -> None:
        number = self._number
        self._number += 1
        date = _START + timedelta(minutes=number)
        address = file_address(_USER, number)
        self.blog.entries[number] = entry_record(
            self.blog.blog_id, number, f"追加 {number}", "<p>新しい。</p>", date, user_id=_USER
        )
        self.blog.comments.append(comment_record(number, number, "だれか", "はやい！", date))
        self.blog.files.append(file_record(number, f"{number}.gif", _PICTURE, (1, 1), user_id=_USER, mtime=number))
        self.blog.pictures[address] = _PICTURE
        for ids in self.inserted.values():
            ids.add(str(number))

    def _entries(self, move: str) -> None:
        if not self.blog.entries:
            return
        key = self._chance.choice(list(self.blog.entries))
        self._touch("entries", str(key))
        if move == "delete":
            del self.blog.entries[key]
        else:
            record = fields(self.blog.entries[key])
            self.blog.entries[key] = {**record, "title": f"{record.get('title')}（改）", "last_update": str(_START)}

    def _records(self, kind: str, records: RecordList, move: str) -> None:
        if not records:
            return
        at = self._chance.randrange(len(records))
        record = fields(records[at])
        self._touch(kind, str(record[_KEYS[kind]]))
        if move == "delete":
            del records[at]
        else:
            records[at] = {**record, "title": f"{record.get('title')}（改）"}

    def _touch(self, kind: str, key: str) -> None:
        if key in self._at_first[kind]:
            self.touched[kind].add(key)
        else:
            self.inserted[kind].discard(key)


def _state(blog: Blog) -> dict[str, dict[str, bytes]]:
    def by(name: str, records: RecordList) -> dict[str, bytes]:
        return {_key(record, name): wire(record) for record in records}

    return {
        "entries": {str(key): wire(record) for key, record in blog.entries.items()},
        "comments": by("cm_id", blog.comments),
        "files": by("file_id", blog.files),
    }


def _key(record: Record, name: str) -> str:
    return str(fields(record)[name])
