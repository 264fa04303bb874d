"""The rule files and the other ways to read a page, on saved pages in the public shape of each service."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from exporter.html.selection import parse_page
from exporter.html.text import plain_text
from exporter.model.exchange import Response
from exporter.model.records import Audience
from exporter.service.declarations import RULE_FILES
from exporter.service.interface import EntryAnswer
from exporter.service.public_site.page_rules import read_rules, rules_for_generator, rules_for_host, rules_named
from exporter.service.public_site.source import PublicOptions, PublicSite

PAGES = Path(__file__).parent / "pages"
TEXT = (
    "朝五時に起きて、始発の電車で海まで出かけました。駅からは海岸沿いの道を一時間ほど歩きます。"
    "途中で見つけた食堂で、あら汁の定食をいただきました。①ごはん大盛り無料、②お茶もおいしい。海の写真"
    "海は広いな、大きいな。帰りは夕焼けがきれいでした。また来月も行こうと思います。読んでくださってありがとう。"
)
"""The text of the post on each of the pages."""
BLOGS = {
    "ameba": ("ameblo.jp/taro", "12563456789", "https://ameblo.jp"),
    "fc2": ("taro.blog12.fc2.com", "42", "http://taro.blog12.fc2.com"),
    "goo": ("blog.goo.ne.jp/taro", "0123456789abcdef0123456789abcdef", "https://blog.goo.ne.jp"),
    "hatena": ("taro.hatenablog.com", "2020/01/02/070809", "https://taro.hatenablog.com"),
    "livedoor": ("taro.livedoor.blog", "1234567", "https://taro.livedoor.blog"),
    "ninja": ("taro.blog.shinobi.jp", "42", "https://taro.blog.shinobi.jp"),
    "seesaa": ("taro.seesaa.net", "472345678", "http://taro.seesaa.net"),
    "h-entry": ("taro.example", "2020/01/02/umi/", "https://taro.example"),
    "wordpress": ("taro.example", "umi/", "https://taro.example"),
    "schema": ("taro.example", "p/42", "https://taro.example"),
    "unknown": ("taro.example", "nikki/0102", "https://taro.example"),
}


def read(name: str, rules: str = "auto") -> EntryAnswer:
    blog_id, post_id, origin = BLOGS[name]
    service = PublicSite(PublicOptions(page_rules=rules), base_url=origin)
    body = (PAGES / f"{name}.html").read_bytes()
    if rules == "none" and name in RULE_FILES:
        found = rules_named(name).place_of(post_id)
        assert found is not None
        post_id = found
    return service.entry_call(blog_id, post_id).parse(Response(200, {"content-type": "text/html"}, body))


def letters(text: str) -> str:
    return re.sub(r"\s+", "", text)


@pytest.mark.parametrize("name", RULE_FILES)
def test_a_service_is_read_by_its_rules(name: str) -> None:
    answer = read(name)
    assert answer.data is not None
    post = PublicSite().post(answer.data)
    assert post.raw["how"] == f"rule:{name}"
    assert post.raw["confidence"] == "high"
    assert post.title == "海まで歩いた日"
    assert letters(plain_text(post.body)) == TEXT
    assert post.date is not None
    assert post.date.strftime("%Y-%m-%d %H:%M%z") == "2020-01-02 07:08+0900"
    assert post.category == "旅行"
    assert post.audience is Audience.PUBLIC
    if name == "ninja":
        assert "続きです" in post.more
    comments = [PublicSite().comment(raw) for raw in answer.comments]
    if name == "ameba":
        assert comments == []
        assert answer.shortage == ""
    else:
        assert comments[0].name in {"花子", "hanako"}
        assert plain_text(comments[0].text) == "わたしも行きたいです。"
        assert comments[0].date is not None
        assert comments[0].date.strftime("%Y-%m-%d %H:%M%z") == "2020-01-02 21:22+0900"
        assert comments[0].post_id == post.id
        assert answer.shortage == ""


@pytest.mark.parametrize(
    ("name", "how", "confidence"),
    [("h-entry", "h-entry", "high"), ("wordpress", "h-entry", "high"), ("schema", "schema.org", "medium")],
)
def test_marked_pages_are_read_by_their_marks(name: str, how: str, confidence: str) -> None:
    answer = read(name)
    assert answer.data is not None
    post = PublicSite().post(answer.data)
    assert (post.raw["how"], post.raw["confidence"]) == (how, confidence)
    assert (post.title, post.category, post.author) == ("海まで歩いた日", "旅行", "太郎")
    assert letters(plain_text(post.body)) == TEXT
    assert post.date is not None
    assert post.date.isoformat() == "2020-01-02T07:08:09+09:00"
    assert 'src="https://taro.example/img/photo.jpg"' in post.body
    assert answer.comments[0]["name"] == "花子"


def test_a_thread_keeps_its_parents() -> None:
    first, second = read("wordpress").comments
    assert first["id"] == "umi/#7"
    assert second["parent"] == first["id"]
    assert second["by_owner"] is True
    assert plain_text(first["text"]) == "わたしも行きたいです。"


def precision(name: str, rules: str) -> tuple[float, float, str]:
    """Return precision and recall of the letters of a text, and the way that found it."""
    data = read(name, rules).data
    assert data is not None
    found, wanted = letters(plain_text(data["body"])), TEXT
    shared = sum(len(each) for each in re.findall(r"[^。、]+", wanted) if each in found)
    total = sum(len(each) for each in re.findall(r"[^。、]+", wanted))
    extra = max(0, len(found) - len(wanted))
    return (shared / (shared + extra) if shared else 0.0), shared / total, data["how"]


@pytest.mark.parametrize("name", sorted(BLOGS))
def test_pages_without_rules_lose_no_text(name: str) -> None:
    exact, whole, how = precision(name, "none")
    assert whole > 0.9, how
    assert exact > 0.5, how


def test_every_rule_file_is_complete() -> None:
    for name in RULE_FILES:
        rules = rules_named(name)
        assert rules.page.title
        assert rules.page.body
        assert rules.page.date
        assert rules.hosts
        for at in ("1", "123456", "0123456789abcdef0123456789abcdef", "2020/01/02/030405"):
            place = rules.place_of(at)
            assert place is None or rules.id_of(place) == at
    with pytest.raises(KeyError):
        rules_named("unknown")


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("ameblo.jp", "ameba"), ("taro.blog.fc2.com", "fc2"), ("taro.hatenablog.com", "hatena"),
        ("evilhatenablog.com", None), ("blog.goo.ne.jp", "goo"), ("x.blog.shinobi.jp", "ninja"), ("a.example", None),
    ],
)  # fmt: skip
def test_a_service_is_known_by_its_host(host: str, expected: str | None) -> None:
    found = rules_for_host(host)
    assert (found.name if found is not None else None) == expected


def test_a_service_is_known_by_its_generator() -> None:
    found = rules_for_generator("Hatena Blog")
    assert found is not None
    assert found.name == "hatena"
    assert rules_for_generator("Hugo 0.1") is None


@pytest.mark.parametrize(
    "table",
    [
        {},
        {"title": "x"},
        {"title": "x", "post": "x", "posts": "y"},
        {"title": "x", "post": "(x)", "page": {"bodies": ["a"]}},
    ],
)
def test_wrong_rules_are_refused(table: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="wrong members"):
        read_rules("x", table)


def test_the_comments_of_other_posts_in_a_side_bar_are_not_missed() -> None:
    body = (PAGES / "fc2.html").read_bytes().decode("euc_jp")
    body = body.replace('class="comment_count">CM(2)', 'class="x">')
    other = '<a href="http://taro.blog12.fc2.com/blog-entry-41.html#cm9">花子 (12/31) (9)</a>'
    service = PublicSite(PublicOptions(page_rules="fc2"), base_url="http://taro.blog12.fc2.com")

    def shortage(more: str) -> str:
        page = body.replace("</body>", f"{more}</body>").encode("euc_jp")
        call = service.entry_call("taro.blog12.fc2.com", "42")
        return call.parse(Response(200, {"content-type": "text/html"}, page)).shortage

    assert shortage(other) == ""
    assert "states 3 comments and shows 2" in shortage('<a href="#cm1">コメント:3</a>')


def test_a_page_in_no_known_form_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    blog_id, post_id, origin = BLOGS["unknown"]
    response = Response(200, {"content-type": "text/html"}, (PAGES / "unknown.html").read_bytes())

    def read_with_notes() -> tuple[str, str]:
        service = PublicSite(base_url=origin)
        data = service.entry_call(blog_id, post_id).parse(response).data
        assert data is not None
        assert data["confidence"] == "low"
        (note,) = service.notes
        return data["how"], note

    how, note = read_with_notes()
    assert how == "extracted"
    assert post_id in note
    monkeypatch.setattr("exporter.service.public_site.pages.extraction", lambda: None)
    how, note = read_with_notes()
    assert how == "guessed"
    assert "blog-exporter[pages]" in note


def test_elements_inside_one_another_are_left_out_once() -> None:
    page = parse_page(
        "<div id=b><p>a</p><div class=ad>x<div class=ad>y<form class=f>z</form></div></div><p>b</p></div>" * 50
    )
    (first, *_) = page.select("#b")
    for _ in range(20):
        assert first.inner_html_without((".ad", ".f", ":::", ".none")) == "<p>a</p><p>b</p>"
    assert "x<div" in first.inner_html
