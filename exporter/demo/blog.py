"""潮だまり日記: eight years of a made-up blog from a made-up seaside town, the same bytes every time."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

from exporter.demo import pictures
from exporter.demo.comments import LATER, LINKS, THREADS
from exporter.demo.content import Blog, Records, fields
from exporter.demo.pictures import LATER_UPLOAD, UPLOADS, USER_ID, Upload
from exporter.demo.posts import Post
from exporter.demo.posts_2016 import POSTS as POSTS_2016
from exporter.demo.posts_2018 import POSTS as POSTS_2018
from exporter.demo.posts_2020 import POSTS as POSTS_2020
from exporter.demo.posts_2022 import LATER as LATER_POST
from exporter.demo.posts_2022 import POSTS as POSTS_2022
from exporter.demo.records import comment_record, entry_record, file_record

BLOG_ID = "shiodamari.blog.example.jp"
EDITED_ENTRY, DELETED_ENTRY, NEW_ENTRY = 50, 66, 90
"""What :func:`later_changes` does to which entry."""

_WRITER = "しおね"
_POSTS = (*POSTS_2016, *POSTS_2018, *POSTS_2020, *POSTS_2022)
_CATEGORIES = {
    str(number): name
    for number, name in enumerate(("日記", "散歩", "もなか", "本", "パン", "料理", "旅", "詩", "工作"), 1)
}
_ADDRESSES = {upload.key: upload.address for upload in (*UPLOADS, LATER_UPLOAD)}
_FIRST_COMMENT, _FIRST_FILE = 101, 1
_HOSTILE_LINK = (
    '<a href="https://www.example.com/" onmouseover="alert(document.cookie)" style="position:fixed;top:0">'
    '<img src=x onerror=alert(1)>お得な情報</a><script>alert("はい")</script>'
)


def demo_blog() -> Blog:
    """Return the made-up blog: 60 entries, 150 comments, 40 files, and the pictures its posts show."""
    blog = Blog(
        blog_id=BLOG_ID,
        user={"id": USER_ID, "nickname": _WRITER},
        entries={post.entry_id: _entry(post) for post in _POSTS},
        comments=Records(_comments()),
        pictures=dict(pictures.linked()),
        categories=dict(_CATEGORIES),
    )
    for number, upload in enumerate(UPLOADS, _FIRST_FILE):
        _add_file(blog, number, upload)
    return blog


def later_changes(blog: Blog) -> None:
    """Change the blog as its writer does in the new year.

    An entry is edited, one is new, one is gone together with its comments; two comments and a file are new.
    """
    edited = fields(blog.entries[EDITED_ENTRY])
    addition = "<p>（追記）足しました。遅くなってすみません。三世は元気です。</p>"
    blog.entries[EDITED_ENTRY] = {
        **edited,
        "entry_text": edited["entry_text"].replace("（足していません）", "") + addition,
        "last_update": "2024-12-30 22:10:05",
    }
    del blog.entries[DELETED_ENTRY]
    blog.comments[:] = [each for each in blog.comments if fields(each)["entry_id"] != str(DELETED_ENTRY)]
    blog.entries[NEW_ENTRY] = _entry(LATER_POST)
    newest = max(int(fields(each)["cm_id"]) for each in blog.comments)
    when = {post.entry_id: datetime.fromisoformat(post.when) for post in _POSTS}
    for number, (entry_id, days, name, text) in enumerate(LATER, newest + 1):
        date = when[entry_id] + timedelta(days=days)
        blog.comments.append(comment_record(number, entry_id, name, text, date, url=LINKS.get(name, "")))
    _add_file(blog, _FIRST_FILE + len(UPLOADS), LATER_UPLOAD)


def _entry(post: Post) -> dict[str, Any]:
    record = entry_record(
        BLOG_ID,
        post.entry_id,
        post.title,
        _with_addresses(post.body),
        datetime.fromisoformat(post.when),
        user_id=USER_ID,
        category_id=next(number for number, name in _CATEGORIES.items() if name == post.category),
        period=datetime.fromisoformat(post.period) if post.period else None,
        updated=datetime.fromisoformat(post.updated) if post.updated else None,
        name=post.name,
        continued=(post.continued[0], _with_addresses(post.continued[1])),
        open_flg="2" if post.draft else "1",
        text_format="1" if post.plain else "2",
        comments_open=post.comments_open,
        private=post.private,
    )
    return record | dict(post.odd)


def _with_addresses(text: str) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda found: _ADDRESSES[found[1]], text)


def _add_file(blog: Blog, number: int, upload: Upload) -> None:
    body, size = pictures.content(upload)
    blog.files.append(
        file_record(
            number,
            upload.name,
            body,
            size,
            user_id=USER_ID,
            mtime=upload.mtime,
            title=upload.title,
            explanation=upload.explanation,
        )
    )
    blog.pictures[upload.address] = body


def _comments() -> list[dict[str, Any]]:
    """Return all comments in the order they were written, with the ids the service would have counted up."""
    written = [each for post in _POSTS for each in _thread(post)] + _strangers()
    written.sort(key=lambda each: each[0])
    return [{**record, "cm_id": str(number)} for number, (_, record) in enumerate(written, _FIRST_COMMENT)]


def _thread(post: Post) -> list[tuple[datetime, dict[str, Any]]]:
    thread: list[tuple[datetime, dict[str, Any]]] = []
    posted = datetime.fromisoformat(post.when)
    for place, line in enumerate(THREADS.get(post.entry_id, "").splitlines(), 1):
        writer, _, text = line.partition(": ")
        days, _, name = writer.partition(" ")
        date = posted + timedelta(days=int(days), minutes=7 * place)
        own = name == _WRITER
        if own and thread:
            # A reply marks the comment before it, which is how the service shows that it was answered.
            thread[-1][1]["res_flg"] = str(date)
        title = f"Re: {post.title}" if own else ""
        thread.append((date, comment_record(0, post.entry_id, name, text, date, title=title, url=LINKS.get(name, ""))))
    return thread


def _strangers() -> list[tuple[datetime, dict[str, Any]]]:
    """Return the four comments that every old blog has: an advertisement, a hidden one, an orphan, an old telephone's."""

    def comment(when: str, entry_id: int, name: str, text: str, **more: Any) -> tuple[datetime, dict[str, Any]]:
        date = datetime.fromisoformat(when)
        return date, comment_record(0, entry_id, name, text, date, **more)

    return [
        comment(
            "2017-08-02 03:14:15",
            26,
            "<b>お得</b>",
            'はじめまして！\r\n<a href="https://www.example.com/?a=1&b=2">ここ</a>をご覧ください。\r\n1 < 2 && 3 > 2',
            title='"特別"なご案内',
            url="https://www.example.com/",
            url_html=_HOSTILE_LINK,
        ),
        comment("2018-09-30 19:00:00", 39, "匿名希望", "（このコメントは管理者の承認待ちです）", flagged=True),
        comment("2016-03-29 09:00:00", 6, "まめこ", "あれ、この記事、消えてしまいましたか？"),
        comment(
            "2016-08-07 00:10:00", 13, "ケータイから", "花火きれいでした\ud83c のところが文字化けしていたらごめんなさい"
        ),
    ]
