"""Made-up export files in Movable Type's import format, of any size, in the shape of what Movable Type writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

FIRST = datetime(2006, 4, 1, 7, 30)  # noqa: DTZ001  files have no offset
CATEGORIES = ("日記", "料理", "散歩", "本", "旅行", "写真")
SENTENCES = (
    "今朝は早く目が覚めたので、港まで歩いてみました。", "風が強くて、カモメも地面で休んでいました。",
    "帰りに魚屋さんでアジを三匹買って、昼は南蛮漬け。", "写真は橋の上から撮ったものです。",
    "来週は友だちが遊びに来るので、部屋を片づけなければ。", "<img src=\"https://img.example.jp/umi/{n}.jpg\" alt=\"海\" />",
)  # fmt: skip


@dataclass(frozen=True)
class MadeComment:
    """A comment or ping."""

    author: str
    when: datetime
    text: str
    ping: bool = False

    def lines(self) -> Iterator[str]:
        if self.ping:
            yield from ("PING:", f"TITLE: {self.text[:10]}", f"URL: http://{self.author}.example/1", "IP: 192.0.2.7")
            yield from (f"BLOG NAME: {self.author}", f"DATE: {american(self.when)}", self.text)
        else:
            yield from ("COMMENT:", f"AUTHOR: {self.author}", f"EMAIL: {self.author}@example.jp", "IP: 192.0.2.8")
            yield from (f"URL: http://{self.author}.example/", f"DATE: {american(self.when)}", self.text)
        yield "-----"


@dataclass(frozen=True)
class MadeEntry:
    """An entry."""

    number: int
    title: str
    when: datetime
    body: str
    categories: tuple[str, ...] = ()
    status: str = "Publish"
    more: str = ""
    excerpt: str = ""
    keywords: str = ""
    tags: str = ""
    comments: tuple[MadeComment, ...] = field(default=())

    def text(self) -> str:
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield from ("AUTHOR: umi", f"TITLE: {self.title}", f"BASENAME: post_{self.number}", f"STATUS: {self.status}")
        yield from ("ALLOW COMMENTS: 1", "CONVERT BREAKS: __default__", "ALLOW PINGS: 0")
        if self.categories:
            yield f"PRIMARY CATEGORY: {self.categories[0]}"
        yield from (f"CATEGORY: {name}" for name in self.categories)
        yield f"DATE: {american(self.when)}"
        if self.tags:
            yield f"TAGS: {self.tags}"
        for name, text in (
            ("BODY", self.body), ("EXTENDED BODY", self.more), ("EXCERPT", self.excerpt), ("KEYWORDS", self.keywords)
        ):  # fmt: skip
            yield from ("-----", f"{name}:", text)
        yield "-----"
        for ping in (False, True):
            yield ""
            for comment in self.comments:
                if comment.ping is ping:
                    yield from comment.lines()
        yield "--------"


def american(when: datetime) -> str:
    return f"{when:%m/%d/%Y} {when.hour % 12 or 12:02}:{when:%M:%S} {'AM' if when.hour < 12 else 'PM'}"


def made_entries(count: int = 273, several: int = 148, drafts: int = 3, paragraphs: int = 4) -> Iterator[MadeEntry]:
    """Yield entries: the first ``several`` have two or three categories, the last ``drafts`` are drafts."""
    for number in range(count):
        when = FIRST + timedelta(hours=31 * number, seconds=number)
        sentences = [SENTENCES[(number + at) % len(SENTENCES)].format(n=number) for at in range(paragraphs)]
        comments = [
            MadeComment(f"reader{at}", when + timedelta(hours=at + 1), f"{number} に{at}番目の返事です。", ping=at == 3)
            for at in range(number % 5)
        ]
        held = 2 + number % 2 if number < several else 1
        yield MadeEntry(
            number,
            f"{number}日目の海",
            when,
            "\n\n".join(sentences),
            tuple(CATEGORIES[(number + at) % len(CATEGORIES)] for at in range(held)),
            "Draft" if number >= count - drafts else "Publish",
            more="続きです。" if number % 7 == 0 else "",
            excerpt="概要" if number % 9 == 0 else "",
            keywords="海, 散歩" if number % 11 == 0 else "",
            tags='"海 の 日",散歩' if number % 3 == 0 else "",
            comments=tuple(comments),
        )


def written(path: Path, entries: Iterable[MadeEntry], encoding: str = "utf-8") -> Path:
    """Write a file."""
    with path.open("w", encoding=encoding, newline="\n") as file:
        for entry in entries:
            file.write(entry.text())
    return path


def large_file(path: Path, size: int, entry_characters: int = 6_000) -> int:
    """Write a file of at least ``size`` bytes, quickly; return the number of its entries."""
    body = "\n".join(SENTENCES[at % len(SENTENCES)].format(n=at) for at in range(entry_characters // 30))
    count = written_bytes = 0
    sample = next(made_entries(5))
    with path.open("wb") as file:
        while written_bytes < size:
            when = FIRST + timedelta(seconds=613 * count)
            comments = (MadeComment("reader", when + timedelta(minutes=5), f"{count}番目の返事です。"),)
            made = replace(
                sample, number=count, title=f"{count}日目の海", when=when, body=f"{count}\n{body}", comments=comments
            )
            data = made.text().encode()
            written_bytes += file.write(data)
            count += 1
    return count
