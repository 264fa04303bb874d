"""A small blog with all that the wide neutral records can state, and a service that reads it."""

from __future__ import annotations

from typing import Any, Final

from exporter.model.kinds import Kind
from tests.export.memory import Memory
from tests.support.wide_posts import WidePosts

WIDE: Final = WidePosts()
PICTURE: Final = "https://pictures.example.jp/lighthouse.png"
OLD: Final = "https://umi.blog.example.jp"


def wide_blog() -> Memory:
    """Return two public entries, one of them a page, and entries of every other status, with threads of comments."""
    blog = Memory()
    path = blog.picture(PICTURE, entry_id="1", file_id="p1")
    assert path
    blog.kinds[Kind.FILES].clear()
    blog.kinds[Kind.FILES]["p1"] = {"id": "p1", "name": "lighthouse.png", "title": "灯", "alt": "灯台", "url": PICTURE}
    entry(
        blog, "1", "一つ目", body=f'<p>海。<a href="{OLD}/about.html">私</a></p>', more="<p>続き</p>", author="海子",
        categories=[["日記", "diary"], ["旅", "海", ""], ["旅", "山", "海", ""]], tags=["Foo", "foo", "夏"],
        excerpt="<p>抜粋</p>", featured=PICTURE, permalink=f"{OLD}/2020/01/first.html",
    )  # fmt: skip
    entry(blog, "2", "私について", kind="page", body=f'<a href="{OLD}/2020/01/first.html">初め</a>',
          permalink=f"{OLD}/about.html", slug="about")  # fmt: skip
    entry(blog, "3", "三つ目", audience="draft")
    entry(blog, "4", "四つ目", audience="scheduled", date="2031-05-01T09:00:00")
    entry(blog, "5", "五つ目", audience="scheduled", date="2026-02-03T13:30:00")
    entry(blog, "6", "六つ目", audience="private", categories=[["秘密の箱", ""], ["日記", "diary"]], tags=["秘密の札"])
    entry(blog, "7", "七つ目", audience="members")
    entry(blog, "8", "八つ目", audience="password")
    entry(blog, "9", "九つ目", audience="private", kind="page", permalink=f"{OLD}/hidden")
    comment(blog, "c1", "1", "最初", email="umi@mail.example", url="https://umi.example/")
    comment(blog, "c2", "1", "返事", parent="c1", email="no address", date="2020-01-03T12:04:05")
    comment(blog, "c3", "1", "返事の返事", parent="c2", by_owner=True)
    comment(blog, "c4", "1", "迷子", parent="gone")
    comment(blog, "c5", "1", "輪一", parent="c6")
    comment(blog, "c6", "1", "輪二", parent="c5")
    comment(blog, "c7", "1", "トラックバック", kind="trackback", url="https://other.example/")
    comment(blog, "c8", "6", "秘密の返事", parent="c1", status="spam", email="spam@mail.example")
    comment(blog, "c9", "6", "自分", parent="c9")
    return blog


def entry(blog: Memory, entry_id: str, title: str, **fields: Any) -> None:
    """Add an entry, which is public by default."""
    raw = {"id": entry_id, "title": title, "body": f"<p>{title}の本文</p>", "date": f"2020-01-0{entry_id}T12:00:00",
           "audience": "public", **fields}  # fmt: skip
    blog.kinds[Kind.ENTRIES][entry_id] = raw


def comment(blog: Memory, comment_id: str, entry_id: str, text: str, **fields: Any) -> None:
    """Add a comment, which is shown by default."""
    raw = {"id": comment_id, "post_id": entry_id, "name": "umi", "text": text, "date": "2020-01-02T12:00:00",
           "status": "shown", **fields}  # fmt: skip
    blog.kinds[Kind.COMMENTS][comment_id] = raw
