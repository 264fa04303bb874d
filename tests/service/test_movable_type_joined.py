"""Where entries begin in joined and damaged files: nothing of an entry is in the text before it."""

from __future__ import annotations

import io
from itertools import product

import pytest

from exporter.model.kinds import Kind
from exporter.model.records import Audience, Post
from exporter.service.export_file import FoundRecord, Misread
from exporter.service.movable_type.source import MovableType

FIRST = "AUTHOR: umi\nTITLE: 一\nSTATUS: Publish\nDATE: 03/01/2024 10:00:00\n-----\nBODY:\n本文\n"
ENDS = {"as written": "-----\n--------\n", "no line end": "-----\n--------", "blanks": "-----  \n\n-------- \u3000\n"}
HEAD = "AUTHOR: umi\nTITLE: 二\nSTATUS: Draft\nDATE: 03/02/2024 10:00:00\n"
REST = "-----\nBODY:\nひみつ\n-----\n--------\n"
BETWEEN = {
    "nothing": "", "a mark": "\ufeff", "two marks": "\ufeff\ufeff", "^Z": "\x1a", "^Z and a line end": "\x1a\r\n", "^Z and a mark": "\x1a\ufeff",
    "NUL": "\0\0\0", "zero width": "\u200b", "joiner": "\u2060", "direction": "\u200e", "soft hyphen": "\xad", "full width": "\u3000",
    "no break": "\xa0", "blank lines": "\n \n\ufeff\n",
}  # fmt: skip
LINES = {
    "a comment": "# comment\n", "a number": "記事番号: 12\n", "both": "\ufeff# 2\n記事番号：12\n\n", "markup": "<pre>\n", "a field": "ID: 12\n",
    "a mail": "From: a@example.jp\n\n",
}  # fmt: skip
HEADS = {
    "as written": HEAD,
    "capitalized": HEAD.replace("AUTHOR", "Author").replace("TITLE", "Title").replace("STATUS", "Status").replace("DATE", "Date"),
    "small": HEAD.replace("AUTHOR", "author").replace("TITLE", "title").replace("STATUS", "status").replace("DATE", "date"),
    "full width": HEAD.replace("AUTHOR: ", "ＡＵＴＨＯＲ：").replace("TITLE: ", "TITLE："),
    "invisible": HEAD.replace("AUTHOR", "AU\u200bTHOR").replace("STATUS:", "STATUS\u200b :"),
    "indented": HEAD.replace("AUTHOR", "  AUTHOR").replace("TITLE", "\tTITLE").replace("STATUS", "\u3000STATUS"),
    "with other lines": HEAD.replace("TITLE", "# comment\n記事番号: 12\nTITLE"),
    "title alone": "TITLE: 二\nSTATUS: Draft\n",
}  # fmt: skip
SECTIONS = {
    "as written": REST,
    "capitalized": REST.replace("BODY", "Body"),
    "marked": REST.replace("BODY", "\ufeffBODY"),
}


def read(text: str | bytes) -> tuple[list[Post], list[FoundRecord], list[Misread]]:
    service = MovableType()
    found = list(service.read(io.BytesIO(text if isinstance(text, bytes) else text.encode()), "x.txt"))
    records = [each for each in found if isinstance(each, FoundRecord)]
    posts = [service.post({**each.raw, "id": each.id}) for each in records if each.kind is Kind.ENTRIES]
    comments = [each for each in records if each.kind is Kind.COMMENTS]
    return posts, comments, [each for each in found if isinstance(each, Misread) and each.lost]


def require_two(text: str) -> None:
    posts, _, lost = read(text)
    assert [(post.title, post.audience, post.body) for post in posts] == [
        ("一", Audience.PUBLIC, "本文"),
        ("二", Audience.DRAFT, "ひみつ"),
    ], text
    assert lost == []


@pytest.mark.parametrize("between", BETWEEN | LINES)
def test_an_entry_begins_after_the_end_of_another_whatever_is_between(between: str) -> None:
    require_two(f"{FIRST}{ENDS['as written']}{(BETWEEN | LINES)[between]}{HEAD}{REST}")


@pytest.mark.parametrize("head", HEADS)
def test_an_entry_begins_with_a_head_in_any_form(head: str) -> None:
    require_two(f"{FIRST}{ENDS['as written']}{HEADS[head]}{REST}")


@pytest.mark.parametrize("between", ["nothing", "a mark"])
def test_a_file_without_a_last_line_end_may_come_before(between: str) -> None:
    require_two(f"{FIRST}{ENDS['no line end']}{BETWEEN[between]}{HEAD}{REST}")


@pytest.mark.thorough
def test_all_of_these_together() -> None:
    for end, between, head, section in product(ENDS, BETWEEN | LINES, HEADS, SECTIONS):
        if end == "no line end" and (
            between not in {"nothing", "a mark", "^Z", "zero width"} or head in {"indented", "full width", "invisible"}
        ):
            continue
        require_two(f"{FIRST}{ENDS[end]}{(BETWEEN | LINES)[between]}{HEADS[head]}{SECTIONS[section]}")


def test_the_first_entry_may_have_such_a_head_too() -> None:
    for between, head in product(BETWEEN, HEADS):
        text = BETWEEN[between] + HEADS[head] + REST
        assert MovableType.recognises(text.encode()), (between, head)
        assert [(post.title, post.audience) for post in read(text)[0]] == [("二", Audience.DRAFT)]


INSIDE = {
    "cut": "",
    "cut in a line": "本文の途中\ufeff",
    "the end of a section": "-----\n",
    "the end of a section, marked": "-----\n\ufeff",
    "seven hyphens": "-----\n-------\n",
    "nine hyphens": "-----\n---------\n",
    "a rule": "-----\n--- ---\n",
    "quoted": "例です。\n",
    "in another section": "-----\nEXTENDED BODY:\n続き\n",
    "in a comment": "-----\nCOMMENT:\nAUTHOR: a\nDATE: 03/02/2024 11:00:00\nこんにちは\n",
    "in a comment of one line": "-----\nCOMMENT:\nAUTHOR: a\nTITLE: re\nDATE: 03/02/2024 11:00:00\nこんにちは\n\n",
    "an end of an entry in the text": "-----\nはい\n--------\nみなさんへ\n",
}


@pytest.mark.parametrize("status", ["Draft", "Publish", "Future", ""])
@pytest.mark.parametrize("inside", INSIDE)
def test_a_head_inside_a_text_is_named_with_its_line_and_never_public(inside: str, status: str) -> None:
    before = FIRST + INSIDE[inside]
    head = HEAD.replace("STATUS: Draft\n", f"STATUS: {status}\n" if status else "")
    posts, comments, lost = read(before + head + REST + FIRST.replace("一", "三") + "-----\n--------\n")
    assert [each.line for each in lost] == [before.count("\n") + 1]
    assert [(post.title, post.audience is Audience.PUBLIC) for post in posts] == [
        ("一", True),
        ("二", False),
        ("三", True),
    ]
    assert "ひみつ" in posts[1].body
    for text in (posts[0].body, posts[0].more, *(each.raw["text"] for each in comments)):
        assert "ひみつ" not in text
        assert "AUTHOR" not in text


@pytest.mark.parametrize("head", HEADS)
def test_so_is_one_in_another_form(head: str) -> None:
    posts, _, lost = read(f"{FIRST}{HEADS[head]}{REST}")
    assert len(lost) == 1
    assert [(post.title, post.audience, post.body) for post in posts] == [
        ("一", Audience.PUBLIC, "本文"), ("二", Audience.DRAFT, "ひみつ"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "head", ["タイトル: 二\n状態: 下書き\n", "TITEL: 二\n", "AUTHOR; u\nTITLE; 二\nSTATUS; Draft\n", "二\n"]
)
def test_a_head_that_nobody_can_read_begins_a_private_entry(head: str) -> None:
    posts, _, lost = read(f"{FIRST}-----\n--------\n{head}{REST}")
    assert [each.line for each in lost] == [10]
    assert [post.audience for post in posts] == [Audience.PUBLIC, Audience.PRIVATE]
    assert (posts[0].body, posts[1].body) == ("本文", "ひみつ")


@pytest.mark.parametrize("before", [FIRST.replace("-----\nBODY:\n本文\n", ""), f"{FIRST}-----\n"])
@pytest.mark.parametrize(
    "head", ["NO ENTRY: 1\nDATE: 03/01/2024 10:00:00\n", "NO ENTRY:\n", "DATE: 03/01/2024 10:00:00\nNo Entry: 1\n"]
)
def test_a_block_without_an_entry_belongs_to_no_post(before: str, head: str) -> None:
    comment = "-----\nCOMMENT:\nAUTHOR: a\nDATE: 03/02/2024 10:00:00\nひみつ\n"
    posts, comments, lost = read(f"{before}--------\n{head}{comment}-----\n--------\n")
    assert [post.title for post in posts] == ["一"]
    assert comments == []
    assert len(lost) == 1
    posts, comments, lost = read(f"{before}--------\n{head}-----\nBODY:\nひみつ\n-----\n--------\n")
    assert ([post.title for post in posts], comments, lost) == (["一"], [], [])


@pytest.mark.parametrize(
    "inside",
    [
        "TITLE: 引用\nSTATUS: Publish\nDATE: 01/01/2001 00:00:00\n引用終わり",
        "TITLE: 引用\nSTATUS: Publish\nDATE: 01/01/2001 00:00:00\nBODY:\n引用終わり",
        "NO ENTRY: 立入禁止\nTITLE: 看板\nSTATUS: Publish",
    ],
)
def test_the_rest_of_a_draft_behind_a_line_of_hyphens_is_named_and_never_public(inside: str) -> None:
    draft = f"AUTHOR: u\nTITLE: 下書き\nSTATUS: Draft\n-----\nBODY:\n前\n--------\n{inside}\n"
    posts, _, lost = read(f"{draft}-----\nEXTENDED BODY:\nひみつ\n-----\n--------\n")
    assert [each.line for each in lost] == [8]
    assert [post.audience for post in posts] == [Audience.DRAFT, Audience.PRIVATE]
    assert "ひみつ" in "".join(post.more for post in posts)


def test_a_secret_comment_in_small_letters_stays_secret() -> None:
    comment = "-----\nComment:\nAuthor: a\nSecret: 1\nDate: 03/02/2024 10:00:00\nひみつ\n"
    posts, comments, lost = read(f"{FIRST}{comment}-----\n--------\n")
    assert ([post.body for post in posts], lost) == (["本文"], [])
    assert [each.raw["SECRET"] for each in comments] == ["1"]


def test_many_heads_in_one_text_take_linear_time_and_no_stack() -> None:
    """This ends at once; with a scan or a call for each of them it would not end."""
    posts, _, lost = read(FIRST + (HEAD + "BODY:\nx\n") * 4_000)
    assert (len(posts), len(lost)) == (4_001, 4_000)
    posts, _, lost = read(FIRST + "TITLE: a\nx\nx\nx\n" * 30_000)
    assert (len(posts), len(lost)) == (1, 0)
