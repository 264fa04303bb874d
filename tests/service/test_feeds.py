"""Feeds in all formats, also broken ones, and their links to further pages."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.service.public_site.feeds import Feed, NoFeed, read_feed

RSS2 = """<?xml version="1.0"?><rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>日記</title>
<link>https://b.example/</link><atom:link rel="next" href="https://b.example/feed?page=2"/>
<item><title>題 &amp; 名</title><link>https://b.example/1</link><pubDate>Thu, 02 Jan 2020 07:08:09 +0900</pubDate>
<dc:creator>太郎</dc:creator><category>旅行</category><category>海</category><description>要約</description>
<content:encoded><![CDATA[<p onclick="x()">全文</p><script>1</script>]]></content:encoded><x:y xmlns:x="u">知らない</x:y></item>
<item><title>二</title><guid>https://b.example/2</guid></item>
<item><title>三</title><guid isPermaLink="false">tag:3</guid></item></channel></rss>"""
RDF = """<?xml version="1.0" encoding="EUC-JP"?><rdf:RDF xmlns="http://purl.org/rss/1.0/"
 xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel rdf:about="https://b.example/index.rdf">
<title>日記</title><link>https://b.example/</link></channel><item rdf:about="https://b.example/1"><title>題</title>
<link>https://b.example/1</link><dc:date>2020-01-02T07:08:09+09:00</dc:date><dc:subject>旅行</dc:subject>
<content:encoded>&lt;p&gt;全文&lt;/p&gt;</content:encoded></item></rdf:RDF>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xmlns:fh="http://purl.org/syndication/history/1.0"><title>日記</title>
<link rel="alternate" href="https://b.example/"/><link rel="prev-archive" href="https://b.example/2019.atom"/>
<entry><title>題</title><link rel="edit" href="https://b.example/edit"/><link rel="alternate" href="https://b.example/1"/>
<published>2020-01-02T07:08:09+09:00</published><updated>2020-01-03T00:00:00Z</updated><author><name>太郎</name></author>
<category term="travel" label="旅行"/><content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>全<b>文</b></p>後</div>
</content></entry><entry><title>二</title><link href="https://b.example/2"/><content type="text">a &lt; b</content>
<summary type="html">&lt;p&gt;要約&lt;/p&gt;</summary></entry></feed>"""


def test_rss_2_keeps_the_text_and_what_it_does_not_know() -> None:
    feed = read_feed(RSS2)
    first, second, third = feed.items
    assert (feed.form, feed.title, feed.home, feed.next) == (
        "RSS 2.0",
        "日記",
        "https://b.example/",
        "https://b.example/feed?page=2",
    )
    assert (first.title, first.link, first.author) == ("題 & 名", "https://b.example/1", "太郎")
    assert first.published == "Thu, 02 Jan 2020 07:08:09 +0900"
    assert first.categories == ("旅行", "海")
    assert first.content == '<p onclick="x()">全文</p><script>1</script>'
    assert "知らない" in first.source
    assert (second.link, third.link) == ("https://b.example/2", "")


def test_rss_1_is_read() -> None:
    feed = read_feed(RDF)
    (item,) = feed.items
    assert (feed.form, feed.title) == ("RSS 1.0", "日記")
    assert (item.published, item.categories, item.content) == ("2020-01-02T07:08:09+09:00", ("旅行",), "<p>全文</p>")


def test_atom_is_read_with_its_archives() -> None:
    feed = read_feed(ATOM)
    first, second = feed.items
    assert (feed.form, feed.next, feed.complete) == ("Atom", "https://b.example/2019.atom", False)
    assert (first.link, first.updated, first.categories) == ("https://b.example/1", "2020-01-03T00:00:00Z", ("旅行",))
    assert "全<b" in first.content
    assert first.content.endswith("後")
    assert (second.content, second.summary) == ("a &lt; b", "<p>要約</p>")


def test_a_complete_feed_says_so() -> None:
    assert read_feed(ATOM.replace("<title>日記</title>", "<title>日記</title><fh:complete/>", 1)).complete


def test_json_feed_is_read() -> None:
    item = {
        "id": "1",
        "url": "https://b.example/1",
        "title": "a & b",
        "content_text": "x\ny",
        "tags": ["海", 3],
        "_own": 1,
    }
    feed = read_feed(
        json.dumps(
            {
                "version": "https://jsonfeed.org/version/1.1",
                "title": "日記",
                "next_url": "https://b.example/2.json",
                "items": [item, 3],
            }
        )
    )
    (found,) = feed.items
    assert (feed.form, feed.next) == ("JSON Feed", "https://b.example/2.json")
    assert (found.title, found.content, found.categories) == ("a &amp; b", "x<br>\ny", ("海",))
    assert '"_own"' in found.source


def test_broken_xml_is_read_on_and_a_cut_one_is_named() -> None:
    broken = RSS2.replace("題 &amp; 名", "題 & 名 \x08 &eacute;").replace("example/1", "example/?m=v&eid=1")
    feed = read_feed(broken)
    assert not feed.mended
    assert [item.link for item in feed.items] == ["https://b.example/?m=v&eid=1", "https://b.example/2", ""]
    assert feed.items[0].title == "題 & 名 \x08 é"
    assert read_feed(broken.partition("<category>海")[0]).mended


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<html><body>404</body></html>",
        "{}",
        "[1]",
        '{"items": 3}',
        "plain",
        "<!DOCTYPE html><p>&lt;rss>",
    ],
)
def test_anything_else_is_no_feed(text: str) -> None:
    with pytest.raises(NoFeed):
        read_feed(text)


@given(st.text(max_size=300))
def test_no_text_raises_anything_else(text: str) -> None:
    for whole in (text, f"<rss><channel>{text}</channel></rss>", f"<feed>{text}</feed>", f'{{"items":[{text}]}}'):
        try:
            assert isinstance(read_feed(whole), Feed)
        except NoFeed:
            continue
