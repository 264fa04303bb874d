"""A made-up blog that has moved: its archive, the content of its new home, and damage of ten kinds to it."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from exporter.compare.archived import old_posts
from exporter.compare.posts import Fault
from exporter.demo.content import fields
from exporter.export.interface import ExportOptions
from exporter.export.posts import Posts
from exporter.export.report import Report
from exporter.library.compare import Arrivals
from exporter.model.kinds import Kind
from tests.export.memory import SAID, Memory
from tests.support.generated import generated_blog
from tests.support.pictures import png

KINDS = (
    Fault.MISSING, Fault.COMMENT_HELD, Fault.PICTURE_MISSING, Fault.TEXT, Fault.DATE, Fault.CATEGORY, Fault.SLUG,
    Fault.STATUS, Fault.DUPLICATE, Fault.LINK_ON_OLD_HOST,
)  # fmt: skip
OLD = "https://generated.blog.example.jp"
TWICE_AS_LARGE = 2


@dataclass
class MovedPost:
    """A post in the new home: HTML, and comments with name, text and date.

    ``{media}`` is replaced by the address of its files, ``{home}`` by its own address.
    """

    slug: str
    title: str
    content: str
    date: str
    category: str
    comments: list[tuple[str, str, str]] = field(default_factory=list)


@dataclass
class Moved:
    """A blog and its new home.

    Attributes:
        archive: the records.
        posts: the posts of the new home by entry ID.
        files: its pictures by name.
    """

    archive: Memory
    posts: dict[str, MovedPost]
    files: dict[str, bytes]

    def expected(self) -> Arrivals:
        """Return the public content that should have arrived."""
        posts = Posts(self.archive, ExportOptions(declared=SAID, hidden_comments=True), Report(), holds_back=True)
        return Arrivals(list(old_posts(posts, asked=True)), posts.report.old_hosts, {})

    def harmed(self, each: int, *, seed: int = 11) -> dict[str, Fault]:
        """Choose the entries to damage, ``each`` entries for each of the ten kinds; returned by entry ID."""
        chance = random.Random(seed)
        able = {
            Fault.COMMENT_HELD: [entry_id for entry_id, post in self.posts.items() if post.comments],
            Fault.PICTURE_MISSING: [entry_id for entry_id, post in self.posts.items() if "<img" in post.content],
            Fault.TEXT: [entry_id for entry_id, post in self.posts.items() if "<img" not in post.content],
        }
        chosen: dict[str, Fault] = {}
        for kind in sorted(KINDS, key=lambda kind: len(able.get(kind, self.posts))):
            free = [entry_id for entry_id in able.get(kind, list(self.posts)) if entry_id not in chosen]
            chosen |= dict.fromkeys(chance.sample(free, each), kind)
        return chosen


def moved_blog(entries: int, *, seed: int = 7) -> Moved:
    """Make a blog with pictures, links between its posts and comments, and a new home that shows resized pictures."""
    chance = random.Random(seed)
    blog = generated_blog(entries, comments=entries, seed=seed)
    moved = Moved(Memory(blog_id=blog.blog_id), {}, {})
    for number, record in enumerate(map(fields, blog.entries.values()), 1):
        old = new = record["entry_text"]
        if chance.random() < 0.5:
            name = f"photo-{number}.png"
            address = f"{OLD.replace('generated.blog', 'files')}/v1/{number}"
            moved.files[name] = png(number, 4 * TWICE_AS_LARGE, 6 * TWICE_AS_LARGE)
            moved.archive.add(Kind.ASSETS, asset(address, png(number, 4, 6)))
            old += f'<p><img src="{address}" alt=""></p>'
            new += f'<p><img src="{{media}}{name}" alt=""></p>'
        if chance.random() < 0.3:
            other = chance.randint(1, entries)
            old += f'<p>"See" <a href="{OLD}/Entry/{other}/">No. {other}</a> -- or not...</p>'
            new += f'<p>"See" <a href="{{home}}/entry-{other}/">No. {other}</a> -- or not...</p>'
        entry_id = record["entry_id"]
        category = blog.categories[record["category_id"]]
        moved.archive.add(Kind.ENTRIES, {**record, "entry_text": old})
        flags = {name: record[name] for name in ("entry_id", "title", "open_flg", "period_flg")}
        moved.archive.add(Kind.ENTRY_LIST, {**flags, "category": category})
        date = blog_date(record)
        moved.posts[entry_id] = MovedPost(record["name"], record["title"], new, date, category)
    for comment in map(fields, blog.comments):
        moved.archive.add(Kind.COMMENTS, comment)
        when = comment["regist_date"].replace("/", "-") + "T12:00:00"
        moved.posts[comment["entry_id"]].comments.append((comment["name"], f"<p>{comment['cm_text']}</p>", when))
    return moved


def blog_date(record: dict[str, Any]) -> str:
    """Return the date of an entry."""
    return "{year}-{mon}-{day}T{hour}:{min}:{sec}".format(**record)


def asset(address: str, content: bytes) -> dict[str, Any]:
    """Return the record of an uploaded picture of 4 by 6 pixels."""
    digest = sha256(content).hexdigest()
    return {"url": address, "status": 200, "content_type": "image/png", "bytes": len(content), "sha256": digest,
            "error": None, "refs": [{"file": "1"}], "width": 4, "height": 6}  # fmt: skip
