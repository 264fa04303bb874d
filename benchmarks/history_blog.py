"""A blog that grows night by night, the same way every time: what a backup finds changed after each night. Pure."""

from __future__ import annotations

import random
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from exporter.demo.content import Blog, RecordList, fields
from exporter.model.kinds import Kind
from tests.support.generated import generated_blog
from tests.support.records import comment_record

BLOG_ID = "nightly.blog.example.jp"
Changes = dict[Kind, dict[str, dict[str, Any]]]
_NIGHTS_FOR_AN_ENTRY = 3
_FILES = 40
_START = datetime(2016, 1, 1, 22)  # noqa: DTZ001  the service sends Japan time without an offset


@dataclass(frozen=True, slots=True)
class HistorySize:
    """How many entries the blog has in the end, and how many nights it took; a backup runs every night."""

    entries: int
    nights: int

    @classmethod
    def of(cls, options: Namespace) -> HistorySize:
        """Read it from the options that :func:`add_options` adds."""
        return cls(options.entries, options.nights)

    def options(self) -> list[str]:
        """Return the options that give this size to another process."""
        return [f"--entries={self.entries}", f"--nights={self.nights}"]

    @property
    def at_first(self) -> int:
        """How many entries there are before the second night."""
        return max(1, self.entries - self.nights // _NIGHTS_FOR_AN_ENTRY)


def add_options(parser: ArgumentParser) -> None:
    """Add the options for a history's size."""
    parser.add_argument("--entries", type=int, default=2_000, help="entries in the end (%(default)s)")
    parser.add_argument("--nights", type=int, default=3_650, help="nightly versions (%(default)s)")


class NightlyBlog:
    """The blog as it stands, moved on a night at a time.

    On every night from the second on an entry is edited and a comment is written, and on every third one a new entry.

    Attributes:
        blog: what a service would serve now.
        night: how many nights have passed; the first finds the blog as it begins.
    """

    def __init__(self, size: HistorySize) -> None:
        whole = generated_blog(size.entries, 0, _FILES, blog_id=BLOG_ID)
        self._later = iter(list(whole.entries.items())[size.at_first :])
        self.blog = Blog(
            BLOG_ID,
            whole.user,
            dict(list(whole.entries.items())[: size.at_first]),
            RecordList(),
            whole.files,
            categories=whole.categories,
        )
        self.night = 1
        self._chance = random.Random(7)

    def everything(self) -> Changes:
        """Return all records as they are now."""
        blog = self.blog
        user = fields(blog.user)
        return {
            Kind.ENTRIES: {str(key): fields(record) for key, record in blog.entries.items()},
            Kind.ENTRY_LIST: self._items(blog.entries),
            Kind.COMMENTS: {str(fields(record)["cm_id"]): fields(record) for record in blog.comments},
            Kind.FILES: {str(fields(record)["file_id"]): fields(record) for record in blog.files},
            Kind.USER: {str(user["id"]): user},
        }

    def pass_nights(self, until: int) -> Iterator[Changes]:
        """Move on to the night ``until`` and yield what changed in each."""
        while self.night < until:
            self.night += 1
            yield self._pass_night()

    def _pass_night(self) -> Changes:
        blog, when = self.blog, _START + timedelta(days=self.night)
        edited, answered = self._chance.choice(list(blog.entries)), self._chance.choice(list(blog.entries))
        before = fields(blog.entries[edited])
        addition = f"<p>（{when:%Y年%m月%d日}追記）{self._chance.randrange(10**6)}歩あるきました。</p>"
        touched = [edited]
        blog.entries[edited] = {**before, "entry_text": before["entry_text"] + addition, "last_update": str(when)}
        if self.night % _NIGHTS_FOR_AN_ENTRY == 0:
            for key, record in self._later:
                blog.entries[key] = record
                touched.append(int(key))
                break
        number = len(blog.comments) + 1
        comment = comment_record(number, int(answered), "通りすがり", f"{number}番目の感想です。", when)
        blog.comments.append(comment)
        return {
            Kind.ENTRIES: {str(key): fields(blog.entries[key]) for key in touched},
            Kind.ENTRY_LIST: self._items([*touched, answered]),
            Kind.COMMENTS: {str(number): comment},
        }

    def _items(self, keys: Iterable[int | str]) -> dict[str, dict[str, Any]]:
        return {str(key): fields(self.blog.list_item(key)) for key in keys}
