"""A service whose raw JSON is the wide neutral record, and a blog that uses every member of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

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
from exporter.service.interface import Call, Capabilities, EntryAnswer, Paginator, Validators
from exporter.service.stated import StatedService
from tests.export.memory import PIXEL, Memory

JAPAN = ZoneInfo("Asia/Tokyo")
AS_OF = datetime(2024, 6, 1, 12, tzinfo=JAPAN)
HOST = "https://umi.blog.example.jp"
FILES = "https://files.umi.example.jp"


class WideService(StatedService):
    """Reads records that :class:`WideBlog` makes; nothing is requested."""

    name = "wide"
    capabilities = Capabilities()
    timezone = JAPAN
    bodies: ClassVar[Mapping[Kind, tuple[str, ...]]] = {Kind.ENTRIES: ("body", "more"), Kind.COMMENTS: ("text",)}

    def title(self, _kind: Kind, raw: Raw) -> str:
        return str(raw.get("title") or raw.get("name") or "")

    def post(self, raw: Raw | None, item: Raw | None = None) -> Post:
        found = dict((item if raw is None else raw) or {})
        categories = tuple(
            Category(each["name"], tuple(each.get("parents", ())), each.get("slug", ""))
            for each in found.pop("categories", ())
        )
        return Post(
            id=str(found.pop("id", "")),
            blog_id="umi.blog.example.jp",
            date=_moment(found.pop("date", None)),
            updated=_moment(found.pop("updated", None)),
            category=categories[0].name if categories else None,
            categories=categories,
            tags=tuple(found.pop("tags", ())),
            kind=PostKind(found.pop("kind", "post")),
            audience=None if (status := found.pop("status", None)) is None else Audience(status),
            comments_open=True,
            pings_open=True,
            raw=raw or {},
            item=item,
            **found,
        )

    def comment(self, raw: Raw) -> Comment:
        return Comment(
            id=str(raw.get("id", "")), post_id=self.post_id(raw), date=_moment(raw.get("date")), has_time=True,
            name=raw.get("name", ""), title=raw.get("title", ""), text=raw.get("text", ""), url=raw.get("url", ""),
            deleted=False, facts={}, reply=None, raw=raw, parent=raw.get("parent", ""), email=raw.get("email", ""),
            status=CommentStatus(raw["status"]) if raw.get("status") else None,
            kind=CommentKind(raw.get("kind", "comment")), by_owner=raw.get("by_owner"),
        )  # fmt: skip

    def post_id(self, raw: Raw) -> str:
        return str(raw.get("post", ""))

    def upload(self, raw: Raw) -> Upload:
        return Upload(
            id=str(raw.get("id", "")), name=raw.get("name", ""), title=raw.get("title"), description=None, bytes=None,
            width=None, height=None, modified=None, extension="png", raw=raw, url=raw.get("url", ""),
            alt=raw.get("alt", ""),
        )  # fmt: skip

    def user(self, raw: Raw) -> User:
        return User(id=str(raw.get("id", "")), name=raw.get("name", ""), raw=raw)

    def amount(self, _kind: Kind, _raw: Raw) -> int | None:
        return None

    def pages(self, kind: Kind, _blog_id: str, _entry_ids: Sequence[str], /) -> Paginator:
        raise AssertionError(kind)

    def entry_call(self, _blog_id: str, entry_id: str, _validators: Validators | None = None) -> Call[EntryAnswer]:
        raise AssertionError(entry_id)

    def user_call(self) -> Call[dict[str, Any]]:
        raise AssertionError("user")


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text).replace(tzinfo=JAPAN)


WIDE = WideService()


@dataclass
class WideBlog(Memory):
    """A blog of such records in memory."""

    def add(self, kind: Kind, record: dict[str, Any]) -> None:
        self.kinds[kind][record["url"] if kind is Kind.ASSETS else record["id"]] = record

    def post(self, entry_id: str, **members: Any) -> None:
        """Add an entry and its list item."""
        number = len(self.kinds[Kind.ENTRIES]) + 1
        members = {
            "date": f"2024-03-{number:02}T09:{number:02}:00", "status": "public", "title": f"題{number}",
            "body": f"<p>本文{number}</p>", **members,
        }  # fmt: skip
        self.add(Kind.ENTRIES, {"id": entry_id, **members})
        names = ("title", "date", "status")
        self.add(Kind.ENTRY_LIST, {"id": entry_id, **{name: members[name] for name in names}})

    def said(self, comment_id: str, entry_id: str, **members: Any) -> None:
        """Add a comment."""
        when = datetime(2024, 4, 1) + timedelta(minutes=len(self.kinds[Kind.COMMENTS]))  # noqa: DTZ001
        self.add(Kind.COMMENTS, {"id": comment_id, "post": entry_id, "date": when.isoformat(), "status": "shown",
                                 "name": f"客{comment_id}", "text": f"<p>声{comment_id}</p>", **members})  # fmt: skip

    def upload(self, name: str, entry_id: str, *, alt: str = "", saved: bool = True) -> str:
        """Add a picture with its uploaded file, which states its address; return the address."""
        url = f"{FILES}/{name}.png"
        content = PIXEL + name.encode()
        digest = sha256(content).hexdigest() if saved else None
        self.add(Kind.ASSETS, {"url": url, "status": 200, "content_type": "image/png", "bytes": len(content),
                               "sha256": digest, "error": None, "refs": [{"entry": entry_id}]})  # fmt: skip
        self.add(Kind.FILES, {"id": f"file-{name}", "name": f"{name}.png", "url": url, "alt": alt})
        if digest is not None:
            self.contents[f"assets/{digest[:2]}/{digest}.png"] = content
        return url


def wide_blog() -> WideBlog:
    """Return a blog with everything that the neutral records can state; what nobody may see contains ``zqsecretqz``."""
    made = WideBlog()
    made.add(Kind.USER, {"id": "me", "name": "海の人"})
    sea, europe = {"name": "海"}, {"name": "欧州", "parents": ["旅", "外国"], "slug": "europe"}
    cover = made.upload("cover", "umi-no-hi", alt="夏の海")
    inner = made.upload("inner", "umi-no-hi", alt="貝")
    made.post(
        "umi-no-hi", title="海の日", slug="umi-no-hi", categories=[sea, europe, {"name": "欧州", "parents": ["料理"]}],
        tags=["夏", "貝, 砂", "夏"], author="海の人", permalink=f"{HOST}/archives/2024/umi-no-hi.html",
        excerpt="海に行った <b>日</b>のこと", featured=cover,
        body=f'<p>海へ <a href="{HOST}/archives/2024/tabi.html#one">旅の話</a></p><img src="{inner}" alt="貝">',
        more="<p>つづき</p>", updated="2024-05-01T10:00:00",
    )  # fmt: skip
    made.post(
        "tabi", title="旅", categories=[europe], tags=["夏"], author="Taro", permalink=f"{HOST}/archives/2024/tabi.html",
        body='<p id="one">旅に出る</p>', featured=made.upload("lost", "tabi", saved=False),
    )  # fmt: skip
    made.post("plain", title="ふつう", permalink=f"{HOST}/?p=3")
    made.post(
        "about", title="この人について", kind="page", slug="about", author="海の人", permalink=f"{HOST}/about/",
        excerpt="自己_紹介_ *です* &lt;",
        body=f'<p>紹介 <a href="{HOST}/archives/2024/umi-no-hi.html">海の日</a></p>',
    )  # fmt: skip
    made.said("c9", "umi-no-hi", name="カモメ", email="kamome@mail.example", url="https://kamome.example/")
    made.said("c5", "umi-no-hi", name="海の人", parent="c9", by_owner=True, email="owner@mail.example")
    made.said("c7", "umi-no-hi", name="カモメ", parent="c5")
    made.said("c1", "umi-no-hi", name="はなれ", parent="hidden")
    made.said("t1", "umi-no-hi", kind="trackback", name="よその日記", title="海を読んで", url="https://other.example/1")
    made.said("p1", "umi-no-hi", kind="pingback", name="ピン", url="https://ping.example/")
    made.said("loop1", "tabi", parent="loop2")
    made.said("loop2", "tabi", parent="loop1")
    made.said("a1", "about")
    for status in ("pending", "hidden", "spam"):
        made.said(status, "umi-no-hi", status=status, name=f"zqsecretqz{status}", text=f"zqsecretqz {status}",
                  email=f"zqsecretqz-{status}@mail.example")  # fmt: skip
    for name in ("private", "draft", "members", "password", "unknown"):
        made.post(
            name, status=None if name == "unknown" else name, title=f"zqsecretqz {name}", body=f"<p>zqsecretqz {name}</p>", slug=f"zqsecretqz-{name}",
            categories=[{"name": f"zqsecretqz {name}"}], tags=[f"zqsecretqz-{name}"], author=f"zqsecretqz {name}",
            permalink=f"{HOST}/zqsecretqz/{name}", excerpt=f"zqsecretqz {name}", featured=f"{FILES}/zqsecretqz.png",
        )  # fmt: skip
        made.said(f"on-{name}", name, text="zqsecretqz", name="zqsecretqz")
    made.post(
        "scheduled", status="scheduled", title="zqsecretqz later", body="<p>zqsecretqz</p>", date="2099-12-24T18:00:00"
    )
    made.post("scheduled-past", status="scheduled", title="zqsecretqz past", date="2024-05-24T18:00:00")
    return made


SECRET = b"zqsecretqz"
EMAILS = (b"kamome@mail.example", b"owner@mail.example")
