"""A blog in memory for the sample service, which may change while it is served, and the sample blog 潮だまり日記.

Records have exactly the fields and types of API 2.2 to 2.7. List items are derived from the entries, as a service
derives them, unless a blog says otherwise.

潮だまり日記 is eight years of a fictional blog from a fictional seaside town. ``blog/`` has its records as the service
sends them, and ``blog/pictures.json`` names the file in ``pictures/`` for each address.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, MutableSequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, overload

from exporter import lossless_json

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class RawJson:
    """JSON text that is sent unchanged, for what Python values cannot express: duplicate keys, ``NaN``, ``1.10``."""

    text: bytes


Record = dict[str, Any] | RawJson
Key = int | str


def wire(record: Record) -> bytes:
    """Return the bytes that a record is sent as."""
    return record.text if isinstance(record, RawJson) else lossless_json.dumps(record)


def fields(record: Record) -> dict[str, Any]:
    """Return a record's fields; a text that is no object has none."""
    if isinstance(record, dict):
        return record
    try:
        value = lossless_json.loads(record.text)
    except lossless_json.NotJson:
        return {}
    return value if isinstance(value, dict) else {}


class RecordList(MutableSequence[Record]):
    """A list of records, oldest first, that caches sums until a record may have changed.

    Every list page has a sum over all records. Without the cache, 20,000 records would make the service slow.
    """

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._records = list(records)
        self._counts: dict[str, Counter[str]] = {}
        self._totals: dict[str, int] = {}

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> RecordList: ...
    def __getitem__(self, index: int | slice) -> Record | RecordList:
        self._forget()
        return RecordList(self._records[index]) if isinstance(index, slice) else self._records[index]

    def __setitem__(self, index: int | slice, value: Any) -> None:
        self._forget()
        self._records[index] = value

    def __delitem__(self, index: int | slice) -> None:
        self._forget()
        del self._records[index]

    def __iter__(self) -> Iterator[Record]:
        self._forget()
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def insert(self, index: int, value: Record) -> None:
        """Insert a record before ``index``."""
        self._forget()
        self._records.insert(index, value)

    def cut(self, start: int, size: int, *, newest_first: bool) -> list[Record]:
        """Return ``size`` records from ``start`` on, counted from the newest or the oldest."""
        if not newest_first:
            return self._records[start : start + size]
        end = max(0, len(self._records) - start)
        return self._records[max(0, end - size) : end][::-1]

    def count(self, value: Any) -> int:
        """Return how often a record is in the list."""
        return self._records.count(value)

    def count_where(self, name: str, value: str) -> int:
        """Return how many records have ``value`` in the field ``name``."""
        if name not in self._counts:
            self._counts[name] = Counter(str(fields(record).get(name)) for record in self._records)
        return self._counts[name][value]

    def total(self, name: str) -> int:
        """Return the sum of a field of numeric text; other values count 0."""
        if name not in self._totals:
            values = (str(fields(record).get(name)) for record in self._records)
            self._totals[name] = sum(int(value) for value in values if value.isdecimal())
        return self._totals[name]

    def _forget(self) -> None:
        self._counts.clear()
        self._totals.clear()


@dataclass
class Blog:
    """A blog that can be changed at any time; the order of everything is the order of creation.

    Attributes:
        blog_id: the blog's domain.
        user: the answer of the user operation.
        entries: full records by their ids.
        comments: elements of the comment list.
        files: elements of the file list.
        pictures: file contents by absolute address.
        categories: category names by ``category_id``.
        list_items: items in place of derived ones. ``None`` omits the entry from the list. An id without an entry is
            listed but cannot be read.
    """

    blog_id: str
    user: Record
    entries: dict[Key, Record] = field(default_factory=dict)
    comments: RecordList = field(default_factory=RecordList)
    files: RecordList = field(default_factory=RecordList)
    pictures: dict[str, bytes] = field(default_factory=dict)
    categories: dict[str, str] = field(default_factory=dict)
    list_items: dict[Key, Record | None] = field(default_factory=dict)

    def entry(self, entry_id: str) -> Record | None:
        """Return an entry or ``None``; ids are compared as text."""
        found = self.entries.get(entry_id)
        if found is None and entry_id.isdecimal() and str(int(entry_id)) == entry_id:
            found = self.entries.get(int(entry_id))
        return found

    def listed(self) -> int:
        """Return the number of items of the entry list."""
        return len(self.entries) + sum(
            (item is not None) - (key in self.entries) for key, item in self.list_items.items()
        )

    def list_page(self, start: int, size: int, *, newest_first: bool) -> list[Record]:
        """Return ``size`` items of the entry list from ``start`` on."""
        extra = [key for key in self.list_items if key not in self.entries]
        keys = chain(reversed(extra), reversed(self.entries)) if newest_first else chain(self.entries, extra)
        shown = (key for key in keys if self.list_items.get(key, True) is not None) if self.list_items else keys
        return [self.list_item(key) for key in islice(shown, start, start + size)]

    def list_item(self, key: Key) -> Record:
        """Return an entry's list item (API 2.3): the given one, or one derived from its record."""
        given = self.list_items.get(key)
        return self._derived(key, fields(self.entries[key])) if given is None else given

    def _derived(self, key: Key, entry: dict[str, Any]) -> dict[str, Any]:
        def get(name: str) -> Any:
            return entry.get(name, "")

        category_id = get("category_id")
        return {
            "regist_date": f"{get('year')}/{get('mon')}/{get('day')}",
            "entry_id": entry.get("entry_id", str(key)),
            "title": get("title"),
            "name": get("name"),
            "open_flg": get("open_flg"),
            "period_flg": get("period_flg"),
            "period_date": f"{get('period_year')}-{get('period_mon')}-{get('period_day')} "
            f"{get('period_hour')}:{get('period_min')}:{get('period_sec')}",
            "cm_receipt_flg": get("cm_receipt_flg"),
            "tb_receipt_flg": get("tb_receipt_flg"),
            "category": self.categories.get(category_id, "") if isinstance(category_id, str) else "",
            "comment_count": str(self.comments.count_where("entry_id", str(key))),
            "trackback_count": "0",
        }


def demo_blog() -> Blog:
    """Return the sample blog: 60 entries, 150 comments, 40 files, and their pictures."""
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

    One entry is edited, one is new, and one is deleted with its comments. Two comments and a file are new.
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
