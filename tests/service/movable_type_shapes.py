"""Made-up files in the shapes in which thirteen services write Movable Type's import format."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

FULL = "{more}{excerpt}{keywords}"
MT_HEAD = (
    "AUTHOR: {author}\nTITLE: {title}\nBASENAME: {name}\nSTATUS: {status}\nALLOW COMMENTS: 1\nCONVERT BREAKS: 0\n"
    "ALLOW PINGS: 1\nPRIMARY CATEGORY: {category}\nCATEGORY: {category}\n\nDATE: {date}\n"
)
SHORT_HEAD = (
    "AUTHOR: {author}\nTITLE: {title}\nSTATUS: {status}\nALLOW COMMENTS: 1\nCONVERT BREAKS: 0\nALLOW PINGS: 1\n"
    "PRIMARY CATEGORY: {category}\nCATEGORY: {category}\nDATE: {date}\n"
)
COMMENT = "AUTHOR: {writer}\nEMAIL: \nIP: 192.0.2.1\nURL: \nDATE: {date}\n{text}\n"
AMERICAN = "%m/%d/%Y %I:%M:%S %p"
CLOCK_24 = "%m/%d/%Y %H:%M:%S"


@dataclass(frozen=True)
class Shape:
    """How a service writes its file.

    Attributes:
        head: the fields of an entry.
        date: the form of its dates.
        sections: those after the body.
        comment: the fields and the text of a comment.
        encoding: of the file.
        line_end: of each line.
        first: what precedes an entry.
        end: the end of an entry.
    """

    head: str = MT_HEAD
    date: str = AMERICAN
    sections: str = FULL
    comment: str = COMMENT
    encoding: str = "utf-8"
    line_end: str = "\n"
    first: str = ""
    end: str = "-----\n\n\n--------\n"


SHAPES = {
    "movable type": Shape(),
    "typepad": Shape(MT_HEAD.replace("BASENAME", "UNIQUE URL: https://umi.example/2012/03/{name}.html\nBASENAME")),
    "cocolog": Shape(MT_HEAD + "TAGS: 海,\"港 の 町\"\n", end="-----\n\n--------\n"),
    "fc2": Shape(SHORT_HEAD + "TAGS: 海\n", CLOCK_24, comment=COMMENT.replace("DATE", "SECRET: 0\nPASS: 00ff\nDATE"), end="-----\n--------\n"),
    "hatena": Shape(MT_HEAD.replace("{name}", "2021/01/02/{name}").replace("ALLOW PINGS: 1\n", ""), CLOCK_24, "", "AUTHOR: {writer}\nDATE: {date}\n{text}\n"),
    "livedoor": Shape(SHORT_HEAD, end="-----\n\n--------\n"),
    "seesaa": Shape(SHORT_HEAD, CLOCK_24, "{more}", encoding="cp932", line_end="\r\n", end="-----\n--------\n"),
    "jugem": Shape(SHORT_HEAD, encoding="euc_jp", end="-----\n\n--------\n"),
    "ameba": Shape("TITLE: {title}\nSTATUS: {status}\nDATE: {date}\nCATEGORY: {category}\n", "%m/%d/%Y %H:%M", "", "AUTHOR: {writer}\nURL: https://a.example/\nDATE: {date}\n{text}\n"),
    "excite": Shape(SHORT_HEAD, "%m/%d/%Y %H:%M:%S", "{more}", encoding="euc_jp", line_end="\r\n"),
    "yahoo": Shape(SHORT_HEAD.replace("CATEGORY: {category}\nCATEGORY", "CATEGORY"), CLOCK_24, "", line_end="\r\n", end="-----\n--------\n"),
    "wordpress": Shape(MT_HEAD.replace("BASENAME: {name}\n", "").replace("CONVERT BREAKS: 0", "CONVERT BREAKS: __default__"), encoding="utf-8-sig"),
    "squarespace": Shape("\n" + SHORT_HEAD.replace("DATE", "\n\n\nDATE"), first="--------\n", end="-----\n"),
}  # fmt: skip


@dataclass(frozen=True)
class MadePost:
    """An entry with known content, and the comments below it."""

    title: str
    status: str
    when: datetime
    name: str
    category: str
    body: str
    comments: list[tuple[str, str]] = field(default_factory=list)


WORDS = (
    "海",
    "港",
    "カモメ",
    "アジの南蛮漬け",
    "雨のち晴れ",
    "散歩",
    "表計算ソフト",
    "、",
    "。",
    "です",
    "でした",
    " ",
    "abc",
    "<br />",
    "&amp;",
)
RULES = (
    "-----",
    "--------",
    "---",
    "-----\nしおり:",
    "--------\nTITLE: 本の題",
    "AUTHOR: 本の作者\nTITLE: 本の題",
    "COMMENT:",
    "Status: OK",
)
"""Lines of a text that look like parts of the format."""


def made_posts(seed: int, count: int = 12) -> list[MadePost]:
    """Make entries, of which each third has the same minute as the one before it, and each fourth is a draft."""
    draw = random.Random(seed)

    def words(least: int, most: int) -> str:
        return "".join(draw.choice(WORDS) for _ in range(draw.randint(least, most))).strip() or "海"

    when = datetime(2009, 12, 31, 23, 50)  # noqa: DTZ001 - files have no offset
    posts = []
    for number in range(count):
        when += timedelta(minutes=0 if number % 3 == 2 else draw.randint(1, 9999))
        lines = [f"本文 {seed}-{number} です。"]
        for _ in range(draw.randint(0, 6)):
            lines += [draw.choice(RULES)] if draw.random() < 0.3 else []
            lines.append(f"そして{words(1, 20)}")
        comments = [(f"読者{at % 2}", f"返事 {seed}-{number}-{at} {words(1, 8)}") for at in range(draw.randint(0, 3))]
        status = "Draft" if number % 4 == 3 else "Publish"
        title = "無題" if number % 5 == 4 else f"{words(1, 3)}{number}"
        posts.append(MadePost(title, status, when, f"post_{seed}_{number}", "日記", "\n".join(lines), comments))
    return posts


def written(posts: list[MadePost], shape: Shape, encoding: str = "") -> bytes:
    """Write the entries as a service does."""
    text = "".join("".join(_entry(post, shape)) for post in posts)
    return text.replace("\n", shape.line_end).encode(encoding or shape.encoding)


def _entry(post: MadePost, shape: Shape) -> Iterator[str]:
    date = post.when.strftime(shape.date)
    yield shape.first
    yield shape.head.format(
        author="umi", title=post.title, name=post.name, status=post.status, category=post.category, date=date
    )
    yield f"-----\nBODY:\n{post.body}\n"
    for name in ("EXTENDED BODY", "EXCERPT", "KEYWORDS"):
        if "{" + name.split()[0].replace("EXTENDED", "more").lower() + "}" in shape.sections:
            yield f"-----\n{name}:\n\n"
    for writer, text in post.comments:
        yield "-----\nCOMMENT:\n" + shape.comment.format(writer=writer, date=date, text=text)
    yield shape.end
