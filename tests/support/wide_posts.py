"""A service whose raw JSON is the wide neutral record: several categories, tags, pages, threads and statuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any, BinaryIO, ClassVar

from exporter import lossless_json
from exporter.model.kinds import Kind
from exporter.model.records import (
    Audience,
    Category,
    Comment,
    CommentKind,
    CommentStatus,
    Post,
    PostKind,
    Raw,
    Upload,
    User,
)
from exporter.service.export_file import ExportFile, FoundRecord, Misread

JAPAN = timezone(timedelta(hours=9))
BLOG = "umi.blog.example.jp"


class WidePosts(ExportFile):
    """A file of JSON lines, ``[kind, id, record]``."""

    name = "wide_posts"
    label = "wide posts"
    timezone = JAPAN
    bodies: ClassVar[Mapping[Kind, tuple[str, ...]]] = {Kind.ENTRIES: ("body", "more"), Kind.COMMENTS: ("text",)}

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return head.startswith(b'["entries"')

    def read(self, file: BinaryIO, _name: str) -> Iterator[FoundRecord | Misread]:
        for line in file:
            kind, record_id, raw = lossless_json.loads(line)
            yield FoundRecord(Kind(kind), record_id, raw)

    def title(self, _kind: Kind, raw: Raw) -> str:
        return str(raw.get("title") or raw.get("name") or "")

    def post(self, raw: Raw | None, item: Raw | None = None) -> Post:
        if raw is None:
            return self.listed(item or {})
        texts = {name: raw[name] for name in ("title", "slug", "body", "more", "more_title", "author", "permalink",
                                              "excerpt", "featured") if name in raw}  # fmt: skip
        categories = tuple(Category(name, tuple(above), slug) for *above, name, slug in raw.get("categories", ()))
        return Post(
            id=raw["id"],
            blog_id=BLOG,
            date=moment(raw.get("date")),
            updated=moment(raw.get("updated")),
            category=categories[0].name if categories else None,
            categories=categories,
            tags=tuple(raw.get("tags", ())),
            kind=PostKind(raw.get("kind", "post")),
            audience=Audience(raw["audience"]) if "audience" in raw else None,
            comments_open=raw.get("comments_open", True),
            pings_open=raw.get("pings_open", True),
            raw=raw,
            item=item,
            **texts,
        )

    def comment(self, raw: Raw) -> Comment:
        date = moment(raw.get("date"))
        return Comment(
            id=raw.get("id", ""), post_id=raw.get("post_id", ""), date=date, has_time=True, name=raw.get("name", ""),
            title="", text=raw.get("text", ""), url=raw.get("url", ""), deleted=False, facts={}, reply=None, raw=raw,
            parent=raw.get("parent", ""), email=raw.get("email", ""),
            status=CommentStatus(raw["status"]) if "status" in raw else None,
            kind=CommentKind(raw.get("kind", "comment")), by_owner=raw.get("by_owner"),
        )  # fmt: skip

    def upload(self, raw: Raw) -> Upload:
        return Upload(
            id=raw.get("id", ""), name=raw.get("name", ""), title=raw.get("title"), description=raw.get("description"),
            bytes=None, width=None, height=None, modified=None, extension="", raw=raw, url=raw.get("url", ""),
            alt=raw.get("alt", ""),
        )  # fmt: skip

    def user(self, raw: Raw) -> User:
        return User(id=raw.get("id", ""), name=raw.get("name", ""), raw=raw)


def moment(text: Any) -> datetime | None:
    """Read a date of Japan."""
    return None if text is None else datetime.fromisoformat(text).replace(tzinfo=JAPAN)
