"""The posts of an export: what belongs to each, and what is made of bodies nobody can parse."""

from __future__ import annotations

from exporter.export.interface import ExportOptions, Side
from exporter.export.post_html import comment_html, safe_body
from exporter.export.posts import Posts
from exporter.export.report import Report
from exporter.model.kinds import Kind
from exporter.service.registry import DEFAULT_SERVICE
from tests.export.memory import SAID, Memory, export
from tests.html import records

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


def test_a_post_without_any_date_stands_at_the_beginning() -> None:
    blog = Memory()
    blog.entry("1", listed=False, year="x", last_update="")
    assert [post.when.year for post in posts(blog, Side.REST)] == [1970]
    assert posts(Memory()).newest().year == 1970


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


def test_a_file_the_page_only_links_to_comes_along_and_stays_a_link() -> None:
    blog = Memory()
    url = "https://files.example.jp/v1/1"
    blog.entry("1", entry_text=f'<a href="{url}">絵</a>')
    source = blog.picture(url, entry_id="1")
    made = export("html", blog)
    assert f'href="{source}"'.encode() in made.only()
    assert made.copies == {source: source}
    blog.kinds[Kind.ASSETS].clear()
    assert f'href="{url}"'.encode() in export("html", blog).only()
