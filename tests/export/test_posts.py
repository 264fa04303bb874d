"""Exported posts: their parts, and the output for bodies that cannot be parsed."""

from __future__ import annotations

import pytest

from exporter.export.interface import ExportOptions, Side
from exporter.export.post_html import comment_html, safe_body
from exporter.export.posts import Posts
from exporter.export.report import Report
from exporter.model.kinds import Kind
from exporter.model.publication import Declared
from exporter.service.registry import DEFAULT_SERVICE
from tests.export.memory import SAID, Memory, export
from tests.html import records
from tests.support.wide import WIDE, WideBlog

TANGLED = "<div>" * 100_000 + "<script>"


def posts(blog: Memory, side: Side = Side.PUBLIC) -> Posts:
    return Posts(blog, ExportOptions(declared=SAID, side=side), Report())


def test_an_entry_without_a_list_item_has_the_category_of_its_number() -> None:
    blog = Memory()
    blog.entry("1", category_id="3", category="旅")
    blog.entry("2", category_id="3", listed=False)
    blog.entry("3", category_id="4", listed=False)
    found = posts(blog)
    assert [post.category for post in found] == ["旅", "旅", ""]
    assert found.categories() == ["旅"]
    assert found.ids() == ["1", "2", "3"]
    assert len(found) == 3


def test_a_post_without_any_date_comes_first() -> None:
    blog = Memory()
    blog.entry("1", listed=False, year="x", last_update="")
    assert [post.when.year for post in posts(blog, Side.REST)] == [1970]
    assert posts(Memory()).newest().year == 1970


def moments(blog: Memory) -> list[str]:
    return [f"{comment.when:%d %H:%M:%S}" for post in posts(blog) for comment in post.comments]


def test_a_comment_without_a_time_comes_after_its_post() -> None:
    blog = Memory()
    blog.entry("1", year="2016", mon="03", day="02", hour="15", min="00", sec="00")
    for comment_id, written in enumerate(("01", "02", "02", "02 14:00:00", "03"), 1):
        blog.comment(str(comment_id), "1", regist_date=f"2016/03/{written}")
    assert moments(blog) == ["01 00:00:00", "02 15:00:01", "02 15:00:02", "02 14:00:00", "03 00:00:00"]


def test_a_comment_without_a_time_keeps_its_day() -> None:
    blog = Memory()
    blog.entry("1", year="2016", mon="03", day="02", hour="23", min="59", sec="59")
    blog.comment("1", "1", regist_date="2016/03/02")
    assert moments(blog) == ["02 23:59:59"]


def test_a_body_that_cannot_be_parsed_is_shown_as_its_source() -> None:
    assert safe_body(TANGLED).startswith("<pre>&lt;div&gt;")
    comment = DEFAULT_SERVICE.comment(records.comment(cm_text=TANGLED))
    assert "<script" not in comment_html(comment)


def test_a_comment_with_commands_of_the_generator_is_text() -> None:
    blog = Memory()
    blog.entry("1")
    blog.comment("1", "1", cm_text="<code>{{< x >}}</code>", name="{{% y %}}", url_text="https://a.example/")
    page = next(data for name, data in export("hugo", blog).files.items() if name.endswith(".md")).decode()
    assert "{{<" not in page
    assert "{{%" not in page
    assert "&#123;{&lt; x &gt;}}" in page


def test_a_linked_file_is_copied_and_stays_a_link() -> None:
    blog = Memory()
    url = "https://files.example.jp/v1/1"
    blog.entry("1", entry_text=f'<a href="{url}">絵</a>')
    source = blog.picture(url, entry_id="1")
    made = export("html", blog)
    assert f'href="{source}"'.encode() in made.only()
    assert made.copies == {source: source}
    blog.kinds[Kind.ASSETS].clear()
    assert f'href="{url}"'.encode() in export("html", blog).only()


NOT_HELD = ("\x00", "\x01 \x02", "\ufffe", "\ud83d")
"""Names of nothing but characters that XML or a text file cannot hold."""


@pytest.mark.parametrize("form", ["blogger-atom", "csv", "epub", "ghost", "html", "hugo", "movabletype", "wxr"])
def test_a_name_that_no_target_holds_is_the_same_sign_in_all(form: str) -> None:
    blog = WideBlog()
    for number, name in enumerate(NOT_HELD, 1):
        blog.post(str(number), categories=[{"name": name}], tags=[name], author=name)
    found = list(Posts(blog, ExportOptions(declared=Declared(), service=WIDE), Report()))
    assert {(post.categories[0].name, post.tags, post.author) for post in found} == {("\ufffd", ("\ufffd",), "\ufffd")}
    changed = export(form, blog, declared=Declared(), service=WIDE).report.document()["changed"]
    times = [row["times"] for row in changed if (row["kind"], row["code"]) == ("entries", "not_in_text")]
    assert times == [3 * len(NOT_HELD)]
