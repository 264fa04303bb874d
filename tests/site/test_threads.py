"""Replies are shown below the comment that they name; the program never guesses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.kinds import Kind
from exporter.model.records import Comment
from exporter.service.registry import DEFAULT_SERVICE
from exporter.site.pages.comments import MAX_DEPTH, Reply, replies
from tests.archive.builder import Built, record
from tests.site.building import build, of_records
from tests.site.test_view import entry


def comment(number: int, name: str, text: str) -> Comment:
    return DEFAULT_SERVICE.comment({"cm_id": str(number), "entry_id": "1", "name": name, "cm_text": text})


def answered(*said: tuple[str, str], first: int = 101) -> list[int | None]:
    """Return for each comment the number of the one that it answers, counted from 1."""
    comments = [comment(first + at, name, text) for at, (name, text) in enumerate(said)]
    return [None if each.answers is None else each.answers + 1 for each in replies(comments)]


_BEFORE = (("みどり", "きれい"), ("kazu", "釣れた"), ("みどり", "また"))


def test_replies_are_recognized(subtests: pytest.Subtests) -> None:
    rows: list[tuple[str, int | None]] = [
        (">>2 そうですね", 2),
        ("＞＞２　そうですね", 2),
        ("&gt;&gt;2<br>そう", 2),
        (">>102 id のとおり", 2),
        (">>No.1 はい", 1),
        (">>4 自分", None),
        (">>9 先", None),
        (">>0", None),
        (">>> graph([25.0]) で星が15個", None),
        ("@kazu ほんと", 2),
        ("＠ＫＡＺＵ ほんと", 2),
        (">kazu", 2),
        ("<p>kazuさん、わかめも</p>", 2),
        ("みどり様", 3),
        ("みどりさん", 3),
        ("kazuma さん", None),
        ("@kazuma", None),
        ("kazu は元気", None),
        ("きのう kazuさんと", None),
        ("みどりの日です", None),
        ("", None),
    ]
    for text, expected in rows:
        with subtests.test(text=text, expected=expected):
            assert answered(*_BEFORE, ("しおね", text))[-1] == expected


def test_no_comment_answers_a_nameless_one_or_its_own_author() -> None:
    assert answered(("", "a"), ("x", "さん、どうも"), ("y", "@"), ("z", "zさん")) == [None] * 4


_texts = st.one_of(st.integers(0, 30).map(lambda number: f">>{number}"), st.just("aさん"), st.text(max_size=8))


@given(st.lists(st.tuples(st.sampled_from(["a", "b", ""]), _texts), max_size=30))
def test_no_thread_is_deep_and_every_reply_follows_an_earlier_comment(said: list[tuple[str, str]]) -> None:
    found = replies([comment(at, name, text) for at, (name, text) in enumerate(said, 1)])
    depths: list[int] = []
    for at, reply in enumerate(found):
        assert (reply.under is None) == (reply.answers is None)
        assert reply == Reply() or (reply.under or 0) <= (reply.answers or 0) < at
        depths.append(0 if reply.under is None else depths[reply.under] + 1)
    assert max(depths, default=0) <= MAX_DEPTH


def test_a_chain_of_answers_stays_narrow() -> None:
    comments = [comment(number, "a", f">>{number - 1}") for number in range(1, 2001)]
    found = replies(comments)
    assert found[1] == Reply(0, 0)
    assert found[2] == Reply(1, 1)
    assert found[3] == Reply(1, 2)
    assert found[1999] == Reply(1, 1998)


def _page(built: Built) -> str:
    return (built.layout.latest / "site" / "entry" / "1.html").read_text("utf-8")


def test_the_page_shows_answers_below_and_marks_the_owner(tmp_path: Path) -> None:
    said = [
        ("kazu", "釣れました"),
        ("みどり", "きれい"),
        ("しおね", "kazuさん、わかめも"),
        ("", "名なし"),
        ("x", ">>4 <b>"),
    ]
    comments = {
        str(at): record(cm_id=str(at), entry_id="1", name=name, cm_text=text) for at, (name, text) in enumerate(said, 1)
    }
    built = of_records(
        tmp_path / "a",
        {
            Kind.ENTRIES: {"1": entry(1, "一")},
            Kind.COMMENTS: comments,
            Kind.USER: {"u": record(id="u", nickname="しおね")},
        },
    )
    build(built)
    text = _page(built)
    assert re.findall(r'id="comment-(\d)"', text) == ["1", "3", "2", "4", "5"]
    assert text.count('<ol class="replies">') == 2
    assert '<a href="#comment-1">↩ kazu への返事</a>' in text
    assert "↩ （名前なし） への返事" in text
    assert text.count("badge own") == 1
    assert re.search(r'しおね</bdi>\s*<span class="badge own"', text)
    built.commit({Kind.USER: {"u": record(id="u", nickname="みどり")}})
    build(built)
    assert re.search(r'みどり</bdi>\s*<span class="badge own"', _page(built))
    assert "badge own" in (built.layout.latest / "site" / "comments.html").read_text("utf-8")
