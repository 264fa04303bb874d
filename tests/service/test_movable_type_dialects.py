"""One made-up file for each service that writes Movable Type's import format, in the shape of its files."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from exporter.model.kinds import Kind
from exporter.model.publication import Declared, PostStatus
from exporter.model.records import Audience, Comment, CommentKind, CommentStatus, Post
from exporter.service.export_file import FoundRecord, Misread
from exporter.service.movable_type.source import MovableType
from exporter.service.movable_type.text import EUC_JP, SHIFT_JIS, UTF_8, Encoding, find_encoding

FOLDER = Path(__file__).parent / "movable_type"
NAMES = sorted(path.stem for path in FOLDER.glob("*.txt"))


@dataclass(frozen=True)
class Read:
    """What a file holds."""

    posts: list[Post]
    comments: list[Comment]
    misread: list[Misread]


def read(name: str) -> Read:
    service = MovableType()
    posts, comments, misread = [], [], []
    for found in service.read(io.BytesIO((FOLDER / f"{name}.txt").read_bytes()), name):
        if isinstance(found, Misread):
            misread.append(found)
        else:
            raw = {**found.raw, "id": found.id}
            if found.kind is Kind.ENTRIES:
                posts.append(service.post(raw))
            else:
                comments.append(service.comment(raw))
    return Read(posts, comments, misread)


def test_there_is_a_file_for_each_service() -> None:
    assert NAMES == [
        "ameba", "cocolog", "fc2", "goo", "hatena", "jugem", "livedoor", "movable_type", "seesaa", "ss", "typepad",
    ]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_its_file_is_recognised_and_all_of_it_fits_a_rule(name: str) -> None:
    data = (FOLDER / f"{name}.txt").read_bytes()
    assert MovableType.recognises(data)
    assert MovableType.recognises(data[: data.index(b"-----") + 20])
    found = read(name)
    if name == "ameba":
        (note,) = found.misread
        assert note.reason.startswith("2 entries have no STATUS, so exports make drafts of them.")
    else:
        assert found.misread == []
    assert not any(post.problems for post in found.posts)
    assert not any(comment.problems for comment in found.comments)
    assert len({post.id for post in found.posts}) == len(found.posts)
    assert all(re.fullmatch(r"\d{14}-[0-9a-f]{8}", post.id) for post in found.posts)


@pytest.mark.parametrize(
    ("name", "encoding"),
    [("jugem", EUC_JP), ("seesaa", SHIFT_JIS), *((each, UTF_8) for each in ("goo", "typepad", "ss"))],
)
def test_its_encoding(name: str, encoding: Encoding) -> None:
    assert find_encoding(iter([(FOLDER / f"{name}.txt").read_bytes()])) == encoding


def test_movable_type_itself() -> None:
    found = read("movable_type")
    post, draft, future = found.posts
    assert (post.id[:14], post.title, post.slug, post.author) == ("20100719153105", "海の日", "umi_no_hi", "Umi")
    assert post.body == "<p>港まで歩いた。<br />\n風が強い。</p>\n\n<blockquote>カモメ</blockquote>"
    assert (post.more, post.excerpt, post.facts) == ("<p>続きです。</p>", "港の話", {"keywords": "海, 港"})
    assert [category.name for category in post.every_category] == ["日記", "散歩"]
    assert post.tags == ("Movable Type", "海", "a,b")
    assert (post.comments_open, post.pings_open, post.audience) == (True, True, Audience.PUBLIC)
    assert post.raw["CF50_weather"] == "晴れ"
    assert (draft.audience, draft.body, draft.comments_open) == (Audience.DRAFT, "<p>まだ途中</p>", False)
    assert future.audience is Audience.SCHEDULED
    first, second, ping = found.comments
    assert (first.name, first.email, first.url) == ("カモメ", "kamome@example.jp", "http://kamome.example/")
    assert (str(first.date), str(second.date)) == ("2010-07-20 00:02:07+09:00", "2010-07-20 12:00:00+09:00")
    assert (first.text, first.status, first.kind) == ("いいですね。", CommentStatus.SHOWN, CommentKind.COMMENT)
    assert (ping.kind, ping.name, ping.title) == (CommentKind.TRACKBACK, "みなと", "港の写真")


def test_typepad() -> None:
    post, draft = read("typepad").posts
    assert post.permalink == "https://harbour.typepad.example/notes/2012/03/walking.html"
    assert MovableType().blog_address(post.raw) == "https://harbour.typepad.example/notes/"
    assert post.body == (
        "<p>The wind was <em>strong</em> – and the gulls “rested”.</p>\n<ul>\n<li>fish</li>\n<li>chips</li>\n</ul>"
    )
    assert [category.name for category in post.categories] == ["Walks", "Food & Drink"]
    assert post.tags == ("sea side", "gulls")
    assert (draft.title, draft.body, draft.audience) == ("Café crème", "<p>À bientôt</p>", Audience.DRAFT)


def test_cocolog_has_a_separator_inside_a_body() -> None:
    found = read("cocolog")
    (post,) = found.posts
    assert post.body == "<p>アジを三匹買った。<br />\n-----<br />\n昼は南蛮漬け。</p>"
    assert MovableType().blog_address(post.raw) == "http://umi.cocolog.example/blog/"
    assert [each.kind for each in found.comments] == [CommentKind.TRACKBACK]


def test_goo_has_the_end_of_an_entry_inside_a_body() -> None:
    found = read("goo")
    first, second = found.posts
    assert first.title == "①番の船"
    assert first.body == "フェリーに乗った。<br />\n--------\n<br />\n島が見えた。"
    assert (str(first.date), second.audience) == ("2024-11-18 21:05:00+09:00", Audience.DRAFT)
    assert (found.comments[0].title, found.comments[0].text) == ("ようこそ", "お待ちしています。")


def test_fc2_has_comments_for_the_owner_alone() -> None:
    shown, hidden = read("fc2").comments
    assert (shown.status, hidden.status) == (CommentStatus.SHOWN, CommentStatus.HIDDEN)
    assert MovableType().is_visible(shown, Declared())
    assert not MovableType().is_visible(hidden, Declared())
    assert hidden.text == "ないしょです。"


def test_seesaa_in_shift_jis() -> None:
    found = read("seesaa")
    assert found.posts[0].title == "表計算ソフトの話"
    assert found.posts[0].body == "<p>ソフトで予定表を作った。<br />\n髙橋さんに渡す。～終わり～</p>"
    assert found.comments[0].name == "髙橋"


def test_ss_puts_the_year_first() -> None:
    first, second = read("ss").posts
    assert [first.id[:14], second.id[:14]] == ["20150809123456", "20150810130200"]
    assert [first.audience, second.audience] == [Audience.PUBLIC, Audience.DRAFT]
    assert first.raw["PATH"] == "2015-08-09"


def test_jugem_in_euc_jp() -> None:
    (post,) = read("jugem").posts
    assert (post.title, post.category, post.body) == (
        "犬の散歩",
        "犬",
        "<p>川まで歩いた。<br />\n?は絵文字でした。</p>",
    )


def test_hatena() -> None:
    post, draft = read("hatena").posts
    assert post.slug == "2021/01/15/123456"
    assert post.featured.endswith("20210115123456.jpg")
    assert draft.audience is Audience.DRAFT


def test_ameba_states_no_status_so_only_its_owner_can_call_it_public() -> None:
    service, found = MovableType(), read("ameba")
    assert [post.audience for post in found.posts] == [None, None]
    verdicts = [service.publication(post, Declared()) for post in found.posts]
    assert {verdict.status for verdict in verdicts} == {PostStatus.DRAFT}
    assert verdicts[0].cause is not None
    assert (verdicts[0].cause.field, verdicts[0].cause.value) == ("STATUS", "'none'")
    declared = Declared(public_access=frozenset({"none"}))
    assert [service.publication(post, declared).status for post in found.posts] == [PostStatus.PUBLISH] * 2


def test_livedoor_without_the_last_separator() -> None:
    found = read("livedoor")
    (post,) = found.posts
    assert [category.name for category in post.categories] == ["日々", "天気"]
    assert str(post.date) == "2019-12-31 23:59:59+09:00"
    assert found.comments[0].text == "あけましておめでとう。"


def test_records_keep_the_order_of_their_fields() -> None:
    data = (FOLDER / "hatena.txt").read_bytes()
    first = next(each for each in MovableType().read(io.BytesIO(data), "") if isinstance(each, FoundRecord))
    assert first.raw["order"] == [
        "AUTHOR", "TITLE", "BASENAME", "STATUS", "ALLOW COMMENTS", "CONVERT BREAKS", "DATE", "CATEGORY", "CATEGORY",
        "IMAGE", "BODY", "EXTENDED BODY",
    ]  # fmt: skip
