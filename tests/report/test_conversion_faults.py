"""Thirty-odd faults put into the conversions: each shows on the originals and on what a report replays, and not without it.

A fault is seen where a conversion with it gives something else than one without it. Reports keep the shape of texts, so
the shapes of what comes out have to be the same for originals and replay too, with and without the fault.
"""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Callable, Iterable
from datetime import date
from html import unescape
from pathlib import Path

import pytest

from exporter import lossless_json
from exporter.demo.content import fields
from exporter.export import movabletype
from exporter.html import markdown, markdown_inline
from exporter.model.records import Post, Raw
from exporter.report.characters import is_text
from exporter.service.blog_v1 import BlogV1
from tests.report.originals import blog
from tests.report.reports import replayed, reported

Fault = Callable[[pytest.MonkeyPatch], None]
SERVICE = BlogV1()


def view(post: Post) -> str:
    """Convert an entry by every conversion that faults are put into."""
    return "\0".join(
        [
            markdown.to_markdown(post.body).text,
            movabletype.defused(post.body).text,
            markdown.to_markdown(post.more).text,
            str(post.date),
            post.title,
        ]
    )


def before_markdown(change: Callable[[str], str]) -> Fault:
    """Return a fault that loses something of the HTML before it is converted."""

    def put(patch: pytest.MonkeyPatch) -> None:
        right = markdown.to_markdown
        patch.setattr(markdown, "to_markdown", lambda html, *more, **named: right(change(html), *more, **named))

    return put


def after_markdown(change: Callable[[str], str]) -> Fault:
    """Return a fault that breaks the Markdown."""

    def put(patch: pytest.MonkeyPatch) -> None:
        right = markdown.to_markdown
        patch.setattr(
            markdown,
            "to_markdown",
            lambda html, *more, **named: (made := right(html, *more, **named))._replace(text=change(made.text)),
        )

    return put


def in_movabletype(change: Callable[[str], str]) -> Fault:
    """Return a fault of the export to MT."""

    def put(patch: pytest.MonkeyPatch) -> None:
        right = movabletype.defused
        patch.setattr(movabletype, "defused", lambda html: right(change(html)))

    return put


def without(pattern: str, new: str = "", flags: re.RegexFlag = re.IGNORECASE) -> Callable[[str], str]:
    """Return what replaces a pattern."""
    return lambda text: re.sub(pattern, new, text, flags=flags)


def surrogates_refused(text: str) -> str:
    """Lose all of a text that UTF-8 cannot hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return ""
    return text


FAULTS: dict[str, Fault] = {
    "bold dropped": before_markdown(without("</?(?:b|strong)>")),
    "emphasis dropped": before_markdown(without("</?em>")),
    "emphasis beside Japanese punctuation broken": lambda patch: patch.setattr(
        markdown_inline, "can_delimit", lambda *_: True
    ),
    "unclosed cell garbled": before_markdown(without(r"<td>(?=[^<]*<t[dr]>)", "</td>")),
    "table row lost": before_markdown(without(r"<tr>.*?</tr>")),
    "header cells lost": before_markdown(without(r"<th>.*?</th>")),
    "ruby lost": before_markdown(without(r"<rt>.*?</rt>")),
    "ruby parentheses kept twice": before_markdown(without(r"<rp>\(</rp>", "((")),
    "long line cut": after_markdown(lambda text: "\n".join(line[:255] for line in text.split("\n"))),
    "line break in a list lost": before_markdown(without(r"<br>(?=[^<]*<ul>)")),
    "nested list flattened": before_markdown(without(r"<ul>(?=<li>[^<]*<li>)")),
    "start of a list lost": before_markdown(without(r" start=\d+")),
    "entities read twice": before_markdown(unescape),
    "numbered references lost": before_markdown(without(r"&#x?[0-9a-f]+;")),
    "named letters lost": before_markdown(without(r"&[a-z]acute;|&[A-Z][a-z]{4};|&[a-z]{6};(?<!hearts;)")),
    "half-width katakana made wide": before_markdown(lambda text: unicodedata.normalize("NFKC", text)),
    "combining marks lost": before_markdown(without("[\u3099\u0301]")),
    "joiners lost": before_markdown(without("\u200d")),
    "emoji lost": before_markdown(without("[\U0001f300-\U0001faff]")),
    "lone surrogates refused": before_markdown(surrogates_refused),
    "brackets in a link broken": after_markdown(without(r"\\\[|\\\]")),
    "brackets in an address cut it": before_markdown(without(r"\([^)]*\)\.html")),
    "percent-encoding lost": before_markdown(without(r"%[0-9a-f]{2}")),
    "fragment lost": before_markdown(without(r"#\w+(?=[\"'])")),
    "text of a picture lost": before_markdown(without(r" alt=\"[^\"]*\"")),
    "values in single quotes lost": before_markdown(without(r"src='[^']*'")),
    "white space of code lost": before_markdown(without(r"[ \t]{2,}", " ")),
    "code unmarked": before_markdown(without(r"</?code>")),
    "ideographic spaces lost": before_markdown(without("\u3000")),
    "empty lines lost": before_markdown(without(r"(\r\n)+", "\n")),
    "vertical tab kept": before_markdown(without("\x0b", "\r\n")),
    "heading lost": before_markdown(without(r"</?h2>")),
    "quotation ends early": before_markdown(without(r"<blockquote>([^<]*)<p>", r"<blockquote>\1</blockquote><p>")),
    "deleted text shown": before_markdown(without(r"</?del>")),
    "comments shown": before_markdown(without(r"<!--|-->")),
    "scripts shown": before_markdown(without(r"</?script>")),
    "video lost": before_markdown(without(r"<iframe.*?</iframe>")),
    "footnote's mark lost": before_markdown(without(r"\*\d")),
    "lines of dashes end a section": in_movabletype(without(r"^-----$", "", re.MULTILINE)),
    "lines that look like fields vanish": in_movabletype(without(r"^(?:TITLE|DATE|STATUS):.*$", "", re.MULTILINE)),
}


def shape(text: str) -> str:
    """Return what a report keeps of a text: everything but letters, digits and what else is text."""
    return "".join("x" if is_text(char) else char for char in text)


def views(records: Iterable[Raw]) -> list[str]:
    """Convert entries, in the order of their ids."""
    return [view(SERVICE.post(record)) for record in sorted(records, key=lambda record: int(record["entry_id"]))]


def originals() -> list[Raw]:
    """Return the entries of the blog."""
    return [fields(entry) for entry in blog().entries.values()]


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> list[Raw]:
    """The entries that the replay of a report about the blog answers with."""
    path = tmp_path_factory.mktemp("report") / "report.jsonl"
    asyncio.run(reported(blog(), path))
    again = asyncio.run(replayed(path))
    bodies = [each.body for each in again.exchanges if each.operation == "entry/get"]
    assert len(bodies) == len(originals())
    return [lossless_json.loads(body)["json"]["data"] for body in bodies]


@pytest.fixture(scope="module")
def right(replay: list[Raw]) -> tuple[list[str], list[str]]:
    """What the conversions make of the originals and of the replay without any fault."""
    return views(originals()), views(replay)


def test_without_a_fault_the_shapes_are_the_same(replay: list[Raw]) -> None:
    assert [shape(each) for each in views(replay)] == [shape(each) for each in views(originals())]


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_shows_on_the_replay_as_on_the_originals(
    name: str, replay: list[Raw], right: tuple[list[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    right_originals, right_replay = right
    FAULTS[name](monkeypatch)
    wrong_originals, wrong_replay = views(originals()), views(replay)
    seen = [one != other for one, other in zip(right_originals, wrong_originals, strict=True)]
    assert any(seen)
    assert [one != other for one, other in zip(right_replay, wrong_replay, strict=True)] == seen


def test_there_are_thirty() -> None:
    assert len(FAULTS) >= 30


def test_dates_are_those_of_other_days(replay: list[Raw]) -> None:
    days = [str(view.split("\0")[3])[:10] for view in views(originals())]
    moved = [str(view.split("\0")[3])[:10] for view in views(replay)]
    gaps = {(date.fromisoformat(one) - date.fromisoformat(other)).days for one, other in zip(days, moved, strict=True)}
    assert len(gaps) == 1
    assert gaps.pop() > 365


def test_the_report_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "report.jsonl"
    asyncio.run(reported(blog(), path))
    assert path.stat().st_mode & 0o777 == 0o600
    text = path.read_text("ascii")
    for secret in ("hamabe", "tomodachi", "nikki", "himitsu", "watashi"):
        assert secret not in text
