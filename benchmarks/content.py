"""The answers of a blog of any size, made on the fly: the same bytes every time, and hardly any memory. Pure.

Records are those of a small generated blog with their numbers cut out; an answer puts in the ones asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.blog_size import BLOG_ID, PAGE_SIZE, BlogSize, pages
from exporter import lossless_json
from exporter.demo.content import fields
from tests.support.generated import generated_blog

_POOL = 64
_FILE_BYTES = 50_000
_ID = "@id@"
_ENTRY = "@entry@"
_COUNT = "@count@"
_TITLE = f"第{_ID}回の日記"


class Content:
    """Answers the five operations (API section 4) for one blog."""

    def __init__(self, size: BlogSize) -> None:
        self._size = size
        blog = generated_blog(_POOL, _POOL, _POOL, blog_id=BLOG_ID)
        self._user = lossless_json.dumps(blog.user)
        self._entries = [_template(fields(each), entry_id=_ID, title=_TITLE) for each in blog.entries.values()]
        self._items = [
            _template(fields(each), entry_id=_ID, title=_TITLE, comment_count=_COUNT)
            for each in blog.list_page(0, _POOL, newest_first=True)
        ]
        self._comments = [_template(fields(each), cm_id=_ID, entry_id=_ENTRY) for each in blog.comments]
        self._files = [_template(fields(each), file_id=_ID, file_size=str(_FILE_BYTES)) for each in blog.files]

    def answer(self, target: bytes) -> bytes | None:
        """Return the body for a path with its query; ``None`` where there is nothing.

        Raises:
            ValueError: the query is not one of the API's.
        """
        path, _, query = target.partition(b"?")
        if path == b"/v1/user":
            return self._user
        params = dict(pair.split(b"=", 1) for pair in query.split(b"&"))
        if params.get(b"id") != BLOG_ID.encode():
            return None
        if path == b"/blog/v1/entry/get":
            return self._entry(int(params.get(b"entry_id", b"0")))
        page = int(params.get(b"page", b"1"))
        if path == b"/blog/v1/entry/list":
            return _chained(page, self._size.entries, self._item)
        if path == b"/blog/v1/comment/list":
            return _chained(page, self._size.comments, self._comment)
        if path == b"/blog/v1/file/list":
            return self._file_page(page)
        return None

    def _entry(self, number: int) -> bytes | None:
        if not 1 <= number <= self._size.entries:
            return None
        return _envelope(self._entries[number % _POOL] % {b"id": number})

    def _item(self, number: int) -> bytes:
        each, more = divmod(self._size.comments, self._size.entries)
        return self._items[number % _POOL] % {b"id": number, b"count": each + (number <= more)}

    def _comment(self, number: int) -> bytes:
        entry = (number - 1) % self._size.entries + 1
        return self._comments[number % _POOL] % {b"id": number, b"entry": entry}

    def _file(self, number: int) -> bytes:
        return self._files[number % _POOL] % {b"id": number}

    def _file_page(self, page: int) -> bytes:
        count = self._size.files
        summary = b'{"filenum":"%d","totalsize":"%d","max_size":"1073741824"}' % (count, count * _FILE_BYTES)
        rest = b'"page":%d,"limit":%d,"summary":%b}' % (page, PAGE_SIZE, summary)
        return _envelope(b'{"list":' + _page(page, count, self._file) + b"," + rest)


def _template(record: dict[str, Any], **markers: str) -> bytes:
    """Turn a record into a format string for :class:`bytes`, the markers into its places."""
    text = lossless_json.dumps({**record, **markers}).replace(b"%", b"%%")
    for name in (_ID, _ENTRY, _COUNT):
        text = text.replace(name.encode(), b"%%(%b)d" % name.strip("@").encode())
    return text


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
