"""A report served again: a request that it has the answer to gets that, and its records are a blog for all others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from exporter import lossless_json
from exporter.demo import NOBODY
from exporter.demo.content import Blog, RawJson, Record, RecordList
from exporter.demo.service import DemoService
from exporter.errors import UsageError
from exporter.message import message
from exporter.model.kinds import Kind
from exporter.report.file import read_report
from exporter.report.json_tree import NumberText, Pairs, write_tree
from exporter.service.registry import SERVICE_SETTINGS

_SETTINGS: Final = (
    "entry_url", "file_url", "timezone", "refresh", "service", *SERVICE_SETTINGS,
)  # fmt: skip
"""Settings of a report that decide how answers are read."""
_NOT_THERE: Final = lossless_json.dumps(
    {"json": {"result": "error", "message": "this is not in the report", "data": {}}}
)
_Asked = tuple[str, tuple[tuple[str, str], ...]]


class Replay:
    """A report that can be served.

    Args:
        path: the file.

    Attributes:
        blog: what it holds.
        settings: what a run is to be given to read the answers as they were read, as text.

    Raises:
        UsageError: it is no report.
    """

    def __init__(self, path: Path) -> None:
        head, *lines = read_report(path)
        self._answers: defaultdict[_Asked, list[Pairs]] = defaultdict(list)
        records: defaultdict[Kind, list[tuple[str, Record]]] = defaultdict(list)
        for line in lines:
            for what, content in line:
                if not isinstance(content, Pairs):
                    raise UsageError(message("{path} is damaged: a line of it is no report's.", path=path))
                if what == "answer":
                    self._answers[_asked(content)].append(content)
                elif what == "record" and content.get("kind") in list(Kind):
                    kind = Kind(content.get("kind"))
                    records[kind].append((str(content.get("id")), RawJson(_body(content))))
        self._has_records = bool(records)
        users = records[Kind.USER]
        self.blog = Blog(
            blog_id=str(head.get("blog_id") or "blog.example"),
            user=users[0][1] if users else NOBODY,
            entries=dict(records[Kind.ENTRIES]),
            comments=RecordList(record for _, record in records[Kind.COMMENTS]),
            files=RecordList(record for _, record in records[Kind.FILES]),
            list_items=dict(records[Kind.ENTRY_LIST]),
        )
        self.settings = _settings(head.get("settings"))

    def service(self) -> DemoService:
        """Return a service that answers as the report says."""
        found = DemoService(self.blog)
        turns: defaultdict[_Asked, int] = defaultdict(int)

        async def before(request: web.Request) -> web.StreamResponse | None:
            asked = request.path, tuple(sorted(request.query.items()))
            answers = self._answers.get(asked, [])
            if answers:
                answer = answers[min(turns[asked], len(answers) - 1)]
                turns[asked] += 1
                return _response(answer)
            if self._has_records or not request.path.startswith(("/blog/", "/v1/")):
                return None
            return web.Response(status=404, body=_NOT_THERE, content_type="application/json")

        found.before = before
        return found


def _asked(answer: Pairs) -> _Asked:
    params = answer.get("params")
    pairs = params if isinstance(params, Pairs) else Pairs()
    return str(answer.get("path")), tuple(sorted((name, str(value)) for name, value in pairs))


def _body(content: Pairs) -> bytes:
    text = content.get("text")
    return text.encode("utf-8", "replace") if isinstance(text, str) else write_tree(content.get("json")).encode()


def _response(answer: Pairs) -> web.Response:
    headers = answer.get("headers")
    given = {name: str(value) for name, value in headers} if isinstance(headers, Pairs) else {}
    status = answer.get("status")
    code = int(status) if isinstance(status, NumberText) and status.isdecimal() else 0
    given.setdefault("content-type", "application/json")
    return web.Response(status=code if 200 <= code <= 599 else 500, body=_body(answer), headers=given)


def _settings(found: Any) -> Mapping[str, str]:
    pairs: Iterable[tuple[str, Any]] = found if isinstance(found, Pairs) else ()
    chosen = {name: each.get("value") for name, each in pairs if name in _SETTINGS and isinstance(each, Pairs)}
    return {
        name: ",".join(map(str, value)) if isinstance(value, list) else _word(value) for name, value in chosen.items()
    }


def _word(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
