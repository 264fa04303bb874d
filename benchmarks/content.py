r"""A blog of any size, as a service sends it: always the same bytes, made on the fly, in hardly any memory. Pure.

Its entries look like those of real blogs. They contain ``div``, ``font``, pictures, tables and lists between paragraphs
and line breaks, and full-width punctuation in nearly every line. Characters beyond ASCII are ``\uXXXX`` escapes. A few
dozen records are made into templates without their numbers; a response fills in the numbers that were requested.
"""

from __future__ import annotations

import json
import random
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.real_posts import real_body
from exporter.demo.content import fields
from tests.support.generated import generated_blog

BLOG_ID: Final = "bench.blog.example.jp"
PAGE_SIZE: Final = 20
SWEEPS: Final = 2
"""A backup of an unchanging blog reads its lists twice; the second pass proves that nothing moved meanwhile."""
EMOJI: Final = 4

_POOL = 64
_REAL_POOL = 256
_FILE_BYTES = 50_000
_FIRST_YEAR, _YEARS = 2006, 20
_PICTURES = "https://img.example.jp"
_NUMBERS = ("id", "entry", "count", "year", "edit")
_TITLE = "第@id@回の日記（@edit@）"
_SENTENCES = (
    "今日はよく晴れて、港まで歩いてきました！",
    "「また来てね」と言われて、なんだかうれしくなりました。",
    "来週もまた行けたらいいな～（たぶん無理だけど…）。",
    "帰り道の空がきれいだったので、少し遠回りをしました。",
    "ＣＤを２枚買って、駅前の喫茶店でひと休み。コーヒー４５０円也。",
    "え？もうそんな季節？早いですねぇ・・・。",
    "こういう何でもない日を、あとから思い出すのだと思います。",
    "写真は３枚だけ撮りました。どれも少しぶれています（笑）",
    "A&amp;Bの新しいアルバム、&nbsp;やっぱり最高です♪",
    "おみやげに買った焼き菓子は、家に着く前になくなりました。",
)
_LINK = 'くわしくは<a href="https://www.example.com/map?a=1&amp;b=2" target="_blank">地図</a>をどうぞ。'
_FACE = f'<img src="{_PICTURES}/emoji/%d.png" alt="(^-^)" width="15" height="15">'
_PHOTO = (
    f'<div align="center"><a href="{_PICTURES}/@id@.png" target="_blank"><img src="{_PICTURES}/@id@.png" alt="写真" '
    'border="0" width="320" height="240"></a><br /><font size="1" color="#888888">@id@枚目の写真。</font></div>\r\n'
)


@dataclass(frozen=True, slots=True)
class BlogSize:
    """Numbers of records; ids count from 1 and lists are sorted newest first."""

    entries: int
    comments: int
    files: int

    @classmethod
    def of(cls, options: Namespace) -> BlogSize:
        """Read the size from the options that :func:`add_options` adds."""
        return cls(options.entries, options.comments, options.files)

    def options(self) -> list[str]:
        """Return the options that give this size to another process."""
        return [f"--entries={self.entries}", f"--comments={self.comments}", f"--files={self.files}"]

    def __str__(self) -> str:
        return f"{self.entries:,} entries, {self.comments:,} comments, {self.files:,} files"


def add_options(parser: ArgumentParser) -> None:
    """Add the options for a blog's size."""
    for name in ("entries", "comments", "files"):
        parser.add_argument(f"--{name}", type=int, required=True)


def pages(count: int) -> int:
    """Return the number of pages of a list with this number of records; an empty list has one page."""
    return max(1, -(-count // PAGE_SIZE))


def addresses(size: BlogSize, *, entries: bool = True) -> Iterator[str]:
    """Yield the addresses that a backup reads, path and query: user, lists, entries (unless skipped), lists again."""
    yield "/v1/user"
    yield from _sweep(size)
    for entry_id in range(size.entries if entries else 0, 0, -1):
        yield f"/blog/v1/entry/get?id={BLOG_ID}&entry_id={entry_id}"
    for _ in range(SWEEPS - 1):
        yield from _sweep(size)


def pictures(size: BlogSize) -> Iterator[str]:
    """Yield the addresses of all pictures in entries: one photo in each, and a few that all of them share."""
    yield from (f"/{number}.png" for number in range(1, size.entries + 1))
    yield from (f"/emoji/{number}.png" for number in range(EMOJI))


def body(chance: random.Random) -> str:
    """Return the text of an entry of about 1,100 characters besides its markup, with a photo."""
    blocks = [_PHOTO]
    length = 0
    while length < 1100:
        said = chance.sample(_SENTENCES, 3)
        length += sum(map(len, said))
        blocks.append(_block(chance, said))
    return "".join(blocks)


def _block(chance: random.Random, said: list[str]) -> str:
    first, text = said[0], "".join(said)
    rows = "".join(f'<tr><td bgcolor="#ffeeee">{each}</td><td>{len(each)}点</td></tr>' for each in said)
    ways = {
        f"<p>{text}</p>\r\n": 4,
        "<br />\r\n".join(said) + "<br />\r\n<br />\r\n": 5,
        f"<div>{text}{_LINK}</div>\r\n<div><br></div>\r\n": 4,
        f'<font color="#ff6699" size="4"><b>{first}</b></font><br>\r\n{text}<br>\r\n': 3,
        f'<p><span style="font-size: large;">{first}</span><br />{text}{_FACE % chance.randrange(EMOJI)}</p>\r\n': 3,
        f'<table border="1" cellpadding="2" width="90%"><tbody>{rows}</tbody></table>\r\n': 1,
        f"<ul>{''.join(f'<li>{each}</li>' for each in said)}</ul>\r\n": 1,
        f"<blockquote>{text}<br></blockquote>\r\n<hr size=1>\r\n": 1,
        f"<h4>■ {first}</h4>{text}<strike>{said[2]}</strike><br>\r\n": 1,
    }
    return chance.choices(list(ways), list(ways.values()))[0]


class Content:
    """The JSON records of one blog, and the responses of its five operations (API section 4).

    Args:
        size: the numbers of records.
        host: the host of the pictures.
        real: make the entries as long and as varied as real ones (:mod:`benchmarks.real_posts`).

    Attributes:
        edits: how often entry 1 was edited; its title says so.
    """

    def __init__(self, size: BlogSize, host: str = _PICTURES, *, real: bool = False) -> None:
        self.edits = 0
        self._size = size
        chance = random.Random(1)
        pool = _REAL_POOL if real else _POOL
        blog = generated_blog(pool, pool, pool, blog_id=BLOG_ID)
        known = {"entry_id": "@id@", "name": "entry-@id@", "title": _TITLE}

        def template(record: dict[str, Any], **markers: str) -> bytes:
            """Turn a record into a format string for :class:`bytes`, with fields in the places of the markers."""
            text = json.dumps({**record, **markers}, separators=(",", ":")).replace(_PICTURES, host).replace("%", "%%")
            for name in _NUMBERS:
                text = text.replace(f"@{name}@", f"%({name})d")
            return text.encode("ascii")

        self.user = json.dumps(blog.user).encode("ascii")
        self._entries = [
            template(
                fields(each), **known, year="@year@", entry_text=real_body(chance, _PICTURES) if real else body(chance)
            )
            for each in blog.entries.values()
        ]
        self._items = [
            template(fields(each), **known, comment_count="@count@")
            for each in blog.list_page(0, pool, newest_first=True)
        ]
        self._comments = [
            template(fields(each), cm_id="@id@", entry_id="@entry@", regist_date="@year@/04/12")
            for each in blog.comments
        ]
        self._files = [template(fields(each), file_id="@id@", file_size=str(_FILE_BYTES)) for each in blog.files]

    def entry(self, number: int) -> bytes:
        """Return an entry's record."""
        values = {b"id": number, b"year": self._year(number), b"edit": self._edits(number)}
        return self._entries[number % len(self._entries)] % values

    def item(self, number: int) -> bytes:
        """Return an entry's list item."""
        each, more = divmod(self._size.comments, self._size.entries)
        count = each + (number <= more)
        return self._items[number % len(self._entries)] % {b"id": number, b"count": count, b"edit": self._edits(number)}

    def comment(self, number: int) -> bytes:
        """Return a comment's record."""
        entry = (number - 1) % self._size.entries + 1
        return self._comments[number % len(self._entries)] % {
            b"id": number,
            b"entry": entry,
            b"year": self._year(entry),
        }

    def file(self, number: int) -> bytes:
        """Return a file's record."""
        return self._files[number % len(self._entries)] % {b"id": number}

    def answer(self, target: bytes) -> bytes | None:
        """Return the body for a path with its query; ``None`` if nothing is served there.

        Raises:
            ValueError: the query is not one of the API's.
        """
        path, _, query = target.partition(b"?")
        if path == b"/v1/user":
            return self.user
        params = dict(pair.split(b"=", 1) for pair in query.split(b"&"))
        if params.get(b"id") != BLOG_ID.encode():
            return None
        if path == b"/blog/v1/entry/get":
            number = int(params.get(b"entry_id", b"0"))
            return _envelope(self.entry(number)) if 1 <= number <= self._size.entries else None
        page = int(params.get(b"page", b"1"))
        if path == b"/blog/v1/entry/list":
            return _chained(page, self._size.entries, self.item)
        if path == b"/blog/v1/comment/list":
            return _chained(page, self._size.comments, self.comment)
        if path == b"/blog/v1/file/list":
            return self._file_page(page)
        return None

    def _year(self, entry: int) -> int:
        """Return the year of an entry and its comments."""
        return _FIRST_YEAR + _YEARS * entry // (self._size.entries + 1)

    def _edits(self, number: int) -> int:
        return self.edits if number == 1 else 0

    def _file_page(self, page: int) -> bytes:
        count = self._size.files
        summary = b'{"filenum":"%d","totalsize":"%d","max_size":"1073741824"}' % (count, count * _FILE_BYTES)
        rest = b'"page":%d,"limit":%d,"summary":%b}' % (page, PAGE_SIZE, summary)
        return _envelope(b'{"list":' + _page(page, count, self.file) + b"," + rest)


def _sweep(size: BlogSize) -> Iterator[str]:
    for name, count in (("entry", size.entries), ("comment", size.comments), ("file", size.files)):
        for page in range(1, pages(count) + 1):
            yield f"/blog/v1/{name}/list?id={BLOG_ID}&page={page}"


def _envelope(data: bytes) -> bytes:
    return b'{"json":{"result":"ok","message":"","data":' + data + b"}}"


def _chained(page: int, count: int, write: Callable[[int], bytes]) -> bytes:
    last = pages(count)
    before = b"%d" % (page - 1) if page > 1 else b"null"
    after = b"%d" % (page + 1) if page < last else b"null"
    paging = b'{"prev_no":%b,"next_no":%b,"page_no":%d,"all_page":%d}' % (before, after, page, last)
    return _envelope(b'{"list":' + _page(page, count, write) + b',"paging":' + paging + b"}")


def _page(page: int, count: int, write: Callable[[int], bytes]) -> bytes:
    newest = count - (page - 1) * PAGE_SIZE
    return b"[" + b",".join([write(number) for number in range(newest, max(0, newest - PAGE_SIZE), -1)]) + b"]"
