"""The bodies the sample service answers with: envelope, paging, and the five operations' payloads. No HTTP in here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from exporter import lossless_json
from exporter.demo.content import Blog, Record, wire

PAGE_SIZE = 20


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """How the service behaves where the API document is silent.

    Attributes:
        entry_page_size: items on a page of the entry list.
        comment_page_size: items on a page of the comment list.
        file_page_size: items on a page of the file list, its ``limit``.
        entry_page_param: the parameter the entry list takes its page number from.
        ignore_entry_page: answer every request for the entry list with its first page.
        newest_first: the order of all three lists; new records then shift the pages.
        past_end: what a file page after the last one is: an empty list, an error 404, or the last page again.
        empty_all_page: ``all_page`` of a list without items.
        require_token: the bearer token every operation asks for.
        etag: send an ``ETag`` with entries and answer 304 to ``If-None-Match``.
        compression: the coding of all JSON bodies.
        log_requests: keep every request in ``DemoService.requests``.
        port: the loopback port it is served on; 0 for a free one.
    """

    entry_page_size: int = PAGE_SIZE
    comment_page_size: int = PAGE_SIZE
    file_page_size: int = PAGE_SIZE
    entry_page_param: str = "page"
    ignore_entry_page: bool = False
    newest_first: bool = True
    past_end: Literal["empty", "404", "repeat"] = "empty"
    empty_all_page: int = 1
    require_token: str | None = None
    etag: bool = False
    compression: Literal["gzip", "deflate"] | None = None
    log_requests: bool = True
    port: int = 0


class Refused(Exception):
    """The service answers with an error; ``status`` is the HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status

    def body(self) -> bytes:
        """Return the envelope of the error."""
        return lossless_json.dumps({"json": {"result": "error", "message": str(self), "data": {}}})


def envelope(data: bytes) -> bytes:
    """Wrap a payload as a success (API 2.1)."""
    return b'{"json":{"result":"ok","message":"","data":' + data + b"}}"


def page_number(params: Mapping[str, str], name: str) -> int:
    """Return the page asked for, 1 when none is."""
    text = params.get(name, "1")
    number = int(text) if text.isdecimal() and len(text) < 10 else 0
    if number < 1:
        raise Refused(400, f"{name} is not a page number")
    return number


def entry(blog: Blog, params: Mapping[str, str], _options: ServiceOptions) -> bytes:
    """Answer ``entry/get`` (API 4.1)."""
    record = blog.entry(params.get("entry_id", ""))
    if record is None:
        raise Refused(404, "entry is not found")
    return envelope(wire(record))


def entry_list(blog: Blog, params: Mapping[str, str], options: ServiceOptions) -> bytes:
    """Answer ``entry/list`` (API 4.2)."""
    page = 1 if options.ignore_entry_page else page_number(params, options.entry_page_param)
    size = options.entry_page_size
    items = blog.list_page((page - 1) * size, size, newest_first=options.newest_first)
    return _listing(items, paging=_paging(page, blog.listed(), size, options))


def comment_list(blog: Blog, params: Mapping[str, str], options: ServiceOptions) -> bytes:
    """Answer ``comment/list`` (API 4.3)."""
    page = page_number(params, "page")
    size = options.comment_page_size
    items = blog.comments.cut((page - 1) * size, size, newest_first=options.newest_first)
    return _listing(items, paging=_paging(page, len(blog.comments), size, options))


def file_list(blog: Blog, params: Mapping[str, str], options: ServiceOptions) -> bytes:
    """Answer ``file/list`` (API 4.4), which has a summary and no paging object."""
    asked = page = page_number(params, "page")
    size = options.file_page_size
    last = max(1, -(-len(blog.files) // size))
    if page > last and options.past_end == "404":
        raise Refused(404, "page is not found")
    if page > last and options.past_end == "repeat":
        page = last
    items = blog.files.cut((page - 1) * size, size, newest_first=options.newest_first)
    summary = {
        "filenum": str(len(blog.files)),
        "totalsize": str(blog.files.total("file_size")),
        "max_size": "1073741824",
    }
    return _listing(items, page=asked, limit=size, summary=summary)


def _paging(page: int, count: int, size: int, options: ServiceOptions) -> dict[str, int | None]:
    last = -(-count // size) or options.empty_all_page
    return {
        "prev_no": page - 1 if page > 1 else None,
        "next_no": page + 1 if page < last else None,
        "page_no": page,
        "all_page": last,
    }


def _listing(items: Iterable[Record], **members: Any) -> bytes:
    rest = lossless_json.dumps(members).removeprefix(b"{")
    return envelope(b'{"list":[' + b",".join(wire(item) for item in items) + b"]," + rest)
