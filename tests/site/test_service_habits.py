"""Emoji of services in a site: they are letters, not pictures of an entry, and the search finds what the page shows."""

from __future__ import annotations

import pytest

from exporter.service.registry import DEFAULT_SERVICE
from exporter.site import SiteOptions
from exporter.site.catalogue import beginning_of
from exporter.site.pages.entry import entry_files
from exporter.site.pages.gallery import shown_pictures
from exporter.site.pages.site import Site
from exporter.site.searched import searched_text
from tests.export.memory import Memory

EMOJI = "https://stat100.ameba.jp/blog/ucs/img/char/char3/084.png"
PHOTO = "https://sea.example/photo.png"


@pytest.fixture
def memory() -> Memory:
    made = Memory()
    made.picture(EMOJI, entry_id="1")
    made.picture(PHOTO, entry_id="1")
    return made


def site_of(memory: Memory) -> Site:
    return Site(memory, DEFAULT_SERVICE, None, SiteOptions("海", "ja"))


def test_an_emoji_is_no_picture_of_its_entry(memory: Memory) -> None:
    memory.entry("1", entry_text=f'<p>海<img src="{EMOJI}" alt="波"></p><p><a href="{PHOTO}">写真</a></p>')
    site = site_of(memory)
    assert [picture.url for picture, _ in shown_pictures(site)] == [PHOTO]
    assert [picture.url for picture in site.pictures.by_entry["1"]] == [PHOTO]
    page = next(iter(entry_files(site))).render().decode()
    assert page.count('<img class="emoji"') == 1
    assert page.count("<img ") == 2


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ('<p>a<ins class="adsbygoogle"></ins></p><p>スポンサーリンク</p><ins class="adsbygoogle"></ins>', "a"),
        ('<p>語<a class="keyword" href="https://d.hatena.ne.jp/keyword/x">句</a></p>', "語句"),
        (f'<p>海<img src="{EMOJI}" alt="波"></p>', "海波"),
    ],
)
def test_the_search_has_the_text_of_the_page(memory: Memory, body: str, text: str) -> None:
    memory.entry("1", entry_text=body)
    site = site_of(memory)
    next(iter(entry_files(site))).render()
    assert site.searched["1"].text == searched_text(site.catalogue.entry(site.catalogue.by_id["1"])) == text


@pytest.mark.parametrize(
    ("body", "beginning"),
    [
        (
            "<ul class='table-of-contents'><li><a href='#a'>はじめに</a><ul><li>x</li></ul></li></ul><p>今日は</p>",
            "今日は",
        ),
        ("<div><div id='toc_container' class='x'><p>目次</p><ul><li>あ</li></ul></div></div><p>今日は</p>", "今日は"),
        ("<ul class='table-of-contents'><li><a href='#a'>はじめに</a></li></ul>", "はじめに"),
        (
            "<p>上記の広告は1ヶ月以上更新のないブログに表示されています。<br>新しい記事を書く事で広告が消せます。</p>海",
            "海",
        ),
        ("<p>上記の広告は嘘です。</p>海", "上記の広告は嘘です。 海"),
        ("<ul class='contents'><li>はじめに</li></ul><p>今日は</p>", "はじめに 今日は"),
    ],
)
def test_an_excerpt_begins_with_the_words_of_the_writer(body: str, beginning: str) -> None:
    assert beginning_of(body) == beginning
