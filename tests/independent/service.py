"""A second service, written from the API document alone with the standard library; it shares nothing with the first.

If the document allows several forms, it uses other ones than the sample service. It sends ASCII escapes and spaces in
JSON, plain text errors, the oldest first, and numbers in the places of strings, with one connection for each request.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

PREFIX = "/blog/v1/"


@dataclass
class Content:
    """The service's content and its page size."""

    blog_id: str = "independent.blog.example"
    entries: dict[int, dict[str, Any]] = field(default_factory=dict)
    comments: list[dict[str, Any]] = field(default_factory=list)
    files: list[dict[str, Any]] = field(default_factory=list)
    entry_page_size: int = 10
    entry_page_param: str | None = "page"
    past_end: str = "empty"
    requests: Counter[str] = field(default_factory=Counter)


def content(entries: int, comments: int, files: int, **options: Any) -> Content:
    """Make a blog of that size; no two records are alike."""
    made = Content(**options)
    for number in range(1, entries + 1):
        made.entries[number] = {
            "blog_id": made.blog_id, "entry_id": str(number), "regist_user_id": "7", "title": f"日記 {number} 😀",
            "name": f"e{number}", "category_id": "3", "period_flg": "f", "open_flg": "1",
            "entry_text": f"<p>本文 {number}</p>\u2028<b>「太字」</b>です", "ps_title": "", "ps_text": "",
            "text_format": "2", "cm_receipt_flg": "t", "tb_receipt_flg": "f",
            "year": "2019", "mon": f"{number % 12 + 1:02d}", "day": "07", "hour": "08", "min": "09", "sec": "10",
            "period_year": "2019", "period_mon": "01", "period_day": "02", "period_hour": "00", "period_min": "00",
            "period_sec": "00", "last_update": "2019-12-31 23:59:59", "template_text": "", "is_private": "f",
            "unheard_of": [number, None, {"ビ": 2**70 + number}],
        }  # fmt: skip
    for number in range(1, comments + 1):
        made.comments.append(
            {
                "regist_date": "2020/02/03",
                "cm_id": number,
                "entry_id": str(1 + number % max(1, entries)),
                "name": "名無し",
                "title": "",
                "cm_text": f"コメント {number}\r\n二行目",
                "delete_flg": "f",
                "url": "",
                "url_text": "",
                "res_flg": None,
            }
        )
    for number in range(1, files + 1):
        made.files.append(
            {
                "file_id": str(number),
                "name": f"写真{number}.jpg",
                "title": None,
                "explanation": None,
                "file_size": "100",
                "height": "10",
                "width": "20",
                "user_id": "ab" * 16,
                "mtime": "1500000000",
                "extension": "jpg",
            }
        )
    return made


def list_item(made: Content, number: int) -> dict[str, Any]:
    """Return the list item of an entry."""
    entry = made.entries[number]
    count = sum(1 for comment in made.comments if comment["entry_id"] == entry["entry_id"])
    return {
        "regist_date": "2019/01/02", "entry_id": entry["entry_id"], "title": entry["title"], "name": entry["name"],
        "open_flg": "1", "period_flg": "f", "period_date": "2019-01-02 00:00:00", "cm_receipt_flg": "t",
        "tb_receipt_flg": "f", "category": "日々", "comment_count": str(count), "trackback_count": "0",
    }  # fmt: skip


class _Handler(BaseHTTPRequestHandler):
    made: Content

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {name: found[0] for name, found in parse_qs(parts.query).items()}
        self.made.requests[parts.path.removeprefix(PREFIX)] += 1
        if parts.path == "/v1/user":
            return self._send({"id": "cafe" * 8, "nickname": "書き手"})
        if query.get("id") != self.made.blog_id:
            return self._refuse(404, "no such blog")
        operation = parts.path.removeprefix(PREFIX)
        if operation == "entry/get":
            entry = self.made.entries.get(int(query["entry_id"]))
            return self._refuse(404, "no such entry") if entry is None else self._ok(entry)
        if operation == "entry/list":
            page = 1 if self.made.entry_page_param is None else int(query.get(self.made.entry_page_param, "1"))
            items = [list_item(self.made, number) for number in self.made.entries]
            return self._chain(items, page, self.made.entry_page_size)
        if operation == "comment/list":
            return self._chain(self.made.comments, int(query.get("page", "1")), 20)
        return self._files(int(query.get("page", "1")))

    def _chain(self, items: list[dict[str, Any]], page: int, size: int) -> None:
        last = max(1, -(-len(items) // size))
        paging = {
            "prev_no": page - 1 if page > 1 else None,
            "next_no": page + 1 if page < last else None,
            "page_no": page,
            "all_page": last,
        }
        self._ok({"list": items[(page - 1) * size : page * size], "paging": paging})

    def _files(self, page: int) -> None:
        last = max(1, -(-len(self.made.files) // 20))
        if page > last and self.made.past_end == "404":
            return self._refuse(404, "no such page")
        if page > last and self.made.past_end == "repeat":
            page = last
        shown = self.made.files[(page - 1) * 20 : page * 20]
        count = len(self.made.files)
        summary = {"filenum": str(count), "totalsize": str(100 * count), "max_size": "1000000"}
        return self._ok({"list": shown, "page": page, "limit": 20, "summary": summary})

    def _ok(self, data: Any) -> None:
        self._send({"json": {"result": "ok", "message": "", "data": data}})

    def _send(self, value: Any) -> None:
        body = json.dumps(value, indent=1).encode("ascii")
        self.send_response(200)
        self.send_header("Content-Type", "text/javascript")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _refuse(self, status: int, text: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Log nothing."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: a client may close a connection whenever it likes."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def served(made: Content) -> Iterator[str]:
    """Serve it on a free loopback port, and yield the base URL."""
    handler = type("Handler", (_Handler,), {"made": made})
    server = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
