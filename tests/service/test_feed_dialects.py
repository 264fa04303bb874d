"""Feeds of every dialect, well-formed and broken: the items around a fault are whole, and the texts are right."""

from __future__ import annotations

import base64
from collections.abc import Callable
from html import escape

import pytest

from exporter.service.public_site.feeds import Feed, FeedItem, read_feed
from exporter.service.public_site.sitemaps import read_sitemap

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
DC = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
CONTENT = 'xmlns:content="http://purl.org/rss/1.0/modules/content/"'
XHTML = "http://www.w3.org/1999/xhtml"
BODY = "<p>本文 <b>{n}</b> &amp; more<br>end</p>"
XML_BODY = BODY.replace("<br>", "<br/>")


def rss(version: str, item: str, *, root: str = "", before: str = "") -> tuple[str, str, str]:
    head = f'{before}<rss version="{version}" {root}><channel><title>日記</title><link>https://b.example/</link>'
    return (
        head,
        f"<item><title>題{{n}}</title><link>https://b.example/?m=v&amp;e={{n}}</link>{item}</item>",
        "</channel></rss>",
    )


def rdf(space: str, item: str, root: str = "") -> tuple[str, str, str]:
    head = f'<rdf:RDF xmlns:rdf="{RDF}" xmlns="{space}" {root}><channel rdf:about="x"><title>日記</title><link>https://b.example/</link></channel>'
    return (
        head,
        f'<item rdf:about="https://b.example/?m=v&amp;e={{n}}"><title>題{{n}}</title><link>https://b.example/?m=v&amp;e={{n}}</link>{item}</item>',
        "</rdf:RDF>",
    )


def atom(item: str, space: str = "http://www.w3.org/2005/Atom", prefix: str = "") -> tuple[str, str, str]:
    colon = f"{prefix}:" if prefix else ""
    head = f'<{colon}feed xmlns{":" if prefix else ""}{prefix}="{space}"><{colon}title>日記</{colon}title><{colon}link href="https://b.example/"/>'
    entry = f'<{colon}entry><{colon}title>題{{n}}</{colon}title><{colon}link href="https://b.example/?m=v&amp;e={{n}}"/>{item}</{colon}entry>'
    return head, entry, f"</{colon}feed>"


ESCAPED = "{escaped}"
NETSCAPE = '<!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN" "http://my.netscape.com/publish/formats/rss-0.91.dtd">'
LATIN = '<!DOCTYPE rss [<!ENTITY % HTMLlat1 PUBLIC "x" "y"> <!-- don\'t --> <!ENTITY dai "題">]>'
DIALECTS = {
    "RSS 0.90": rdf("http://my.netscape.com/rdf/simple/0.9/", ""),
    "RSS 0.91": rss("0.91", f"<description>{ESCAPED}</description>", before=NETSCAPE),
    "RSS 0.92": rss("0.92", f"<description>{ESCAPED}</description><category>海</category>"),
    "RSS 0.93": rss("0.93", "<pubDate>Thu, 02 Jan 2020 07:08:09 +0900</pubDate>"),
    "RSS 1.0": rdf("http://purl.org/rss/1.0/", f"<dc:subject>海</dc:subject><content:encoded>{ESCAPED}</content:encoded>", f"{DC} {CONTENT}"),
    "RSS 2.0": rss("2.0", f"<category>海</category><dc:creator>太郎</dc:creator><content:encoded><![CDATA[{BODY}]]></content:encoded>", root=f"{DC} {CONTENT}"),
    "RSS 2.0 over https": rss("2.0", f"<content:encoded>{ESCAPED}</content:encoded>", root=CONTENT.replace("http://", "https://www.").replace('/"', '"')),
    "RSS 2.0 without namespaces": rss("2.0", f"<dc:creator>太郎</dc:creator><content:encoded>{ESCAPED}</content:encoded>"),
    "RSS 2.0 with a default namespace": rss("2.0", f"<description>{ESCAPED}</description>", root='xmlns="http://backend.userland.com/rss2"'),
    "RSS 2.0 with an XHTML body": rss("2.0", f'<body xmlns="{XHTML}">{XML_BODY}</body>'),
    "RSS 2.0 with a prefixed XHTML body": rss("2.0", f'<h:body xmlns:h="{XHTML}">{XML_BODY.replace("</", "</h:").replace("<p", "<h:p").replace("<b>", "<h:b>").replace("<br", "<h:br")}</h:body>'),
    "RSS 2.0 with HTML that is not escaped": rss("2.0", f"<content:encoded>{BODY}</content:encoded>", root=CONTENT),
    "RSS 2.0 with entities": rss("2.0", "", before=LATIN),
    "RSS 2.0 with media": rss("2.0", f"<content:encoded>{ESCAPED}</content:encoded>", root=CONTENT),
    "Atom 0.3 escaped": atom(f'<issued>2003-12-13T08:29:29-04:00</issued><content type="text/html" mode="escaped">{ESCAPED}</content>', "http://purl.org/atom/ns#"),
    "Atom 0.3 base64": atom('<content type="text/html" mode="base64">{base64}</content>', "http://purl.org/atom/ns#"),
    "Atom 0.3 xml": atom(f'<content type="application/xhtml+xml" mode="xml"><div xmlns="{XHTML}">{XML_BODY}</div></content>', "http://purl.org/atom/ns#"),
    "Atom 1.0 html": atom(f'<category term="sea" label="海"/><content type="html">{ESCAPED}</content>'),
    "Atom 1.0 xhtml": atom(f'<content type="xhtml">\n<div xmlns="{XHTML}">{XML_BODY}</div>\n</content>'),
    "Atom 1.0 base64": atom('<content type="application/octet-stream">{base64}</content>'),
    "Atom 1.0 with a prefix": atom(f'<a:content type="html">{ESCAPED}</a:content>', prefix="a"),
    "Atom 1.0 over https": atom(f'<content type="html">{ESCAPED}</content>', "https://www.w3.org/2005/Atom/"),
}  # fmt: skip
DIALECTS["RSS 2.0 with media"] = (
    DIALECTS["RSS 2.0"][0],
    "<item xmlns:media='http://search.yahoo.com/mrss/'><media:title>no</media:title><media:content url='u'><media:title>no"
    "</media:title></media:content>" + DIALECTS["RSS 2.0"][1].removeprefix("<item>"),
    DIALECTS["RSS 2.0"][2],
)


def item_of(name: str, number: int) -> str:
    body = BODY.replace("{n}", str(number))
    written = DIALECTS[name][1].replace("{n}", str(number)).replace(ESCAPED, escape(body))
    return written.replace("{base64}", base64.b64encode(body.encode()).decode())


def feed_of(name: str, change: Callable[[str], str] = str) -> Feed:
    """Return a feed of three items, of which the middle one was changed."""
    head, _, tail = DIALECTS[name]
    return read_feed(f"{head}{item_of(name, 1)}\n{change(item_of(name, 2))}\n{item_of(name, 3)}{tail}")


def shape(item: FeedItem) -> tuple[str, ...]:
    text = item.content or item.summary
    return (item.title, item.link, text.replace("<br/>", "<br>"), *item.categories)


@pytest.mark.parametrize("name", DIALECTS)
def test_a_feed_of_each_dialect_is_read(name: str) -> None:
    feed = feed_of(name)
    assert (feed.title, feed.home, feed.mended) == ("日記", "https://b.example/", False)
    for number, item in enumerate(feed.items, 1):
        assert (item.title, item.link) == (f"題{number}", f"https://b.example/?m=v&e={number}")
        text = (item.content or item.summary).replace("<br/>", "<br>")
        assert text in {"", BODY.replace("{n}", str(number))}
        assert bool(text) is (
            "description" in item.source
            or "encoded" in item.source
            or "body" in item.source
            or "content" in item.source
        )
        assert item.categories in {(), ("海",)}
        again = read_feed(f"{DIALECTS[name][0]}{item.source}{DIALECTS[name][2]}").items[0]
        assert shape(again) == shape(item)
    assert len(feed.items) == 3


FAULTS: dict[str, Callable[[str], str]] = {
    "bare ampersands": lambda item: item.replace("?m=v&amp;e", "?m=v&e"),
    "an entity of HTML": lambda item: item.replace("題2", "&eacute;&nbsp;題2"),
    "an unknown entity": lambda item: item.replace("題2", "&nonesuch;題2"),
    "a loose <": lambda item: item.replace("題2", "1 < 2 <3 題2"),
    "a comment": lambda item: item.replace("><", "><!-- & -- <x> --><", 1),
    "an instruction": lambda item: item.replace("><", "><?php echo '<item>' ?><", 1),
    "a control character": lambda item: item.replace("題2", "\x0b題2\x08"),
    "a lone surrogate": lambda item: item.replace("題2", "\ud83d題2"),
    "the end of a section": lambda item: item.replace("題2", "題2]]>"),
    "a forbidden reference": lambda item: item.replace("題2", "&#0;題2"),
    "elements in the title": lambda item: item.replace("題2", "<i>題</i>2<br/>"),
    "an element without an end": lambda item: item.replace("題2", "<i>題2"),
    "a title without an end": lambda item: item.replace("</title>", "").replace("</a:title>", ""),
    "a foreign end tag": lambda item: item.replace("題2", "題2</font>"),
    "crossed ends": lambda item: item.replace("題2", "<b><i>題2</b></i>"),
    "an attribute without quotes": lambda item: item.replace("題2", "<font size=2>題2"),
    "a section in the title": lambda item: item.replace("題2", "<![CDATA[題]]>2"),
    "an element that nobody knows": lambda item: item.replace("><", "><x:y xmlns:x='u'><title>no</title><link>no</link></x:y><", 1),
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", DIALECTS)
def test_a_fault_in_one_item_changes_no_other(name: str, fault: str) -> None:
    whole, broken = feed_of(name), feed_of(name, FAULTS[fault])
    first, middle, last = broken.items
    assert (shape(first), shape(last)) == (shape(whole.items[0]), shape(whole.items[2]))
    assert middle.link == whole.items[1].link
    assert "題" in middle.title
    assert "2" in middle.title
    assert middle.content == whole.items[1].content
    assert broken.mended is (fault == "a lone surrogate")


@pytest.mark.parametrize("fault", ["bare ampersands", "a title without an end", "a comment"])
def test_a_fault_in_an_item_of_rss_changes_no_other(fault: str) -> None:
    test_a_fault_in_one_item_changes_no_other("RSS 2.0", fault)


@pytest.mark.thorough
@pytest.mark.parametrize("name", DIALECTS)
def test_an_item_without_an_end_is_named_and_loses_none(name: str) -> None:
    feed = feed_of(name, lambda item: item.rpartition("</")[0])
    assert [each.title for each in feed.items] == ["題1", "題2", "題3"]
    assert feed.mended


@pytest.mark.parametrize(
    "before", ["\ufeff", "\n \n", "<br />\n<b>Warning</b>: a & b in <b>x.php</b>\n", "<!-- <rss> -->", "junk"]
)
@pytest.mark.parametrize("name", ["RSS 2.0", "RSS 1.0", "Atom 1.0 html"])
def test_text_before_a_feed_is_ignored(name: str, before: str) -> None:
    head, _, tail = DIALECTS[name]
    assert len(read_feed(f'{before}<?xml version="1.0"?>{head}{item_of(name, 1)}{tail}<!-- cached --><b>x').items) == 1


def test_text_with_children_or_entities_is_whole() -> None:
    feed = read_feed(
        "<rss><channel><title>Caf&eacute; du monde</title><item><title>one <b>two</b><!-- c --> three</title>"
        "<description>a <b>b</b> &lt; c</description></item></channel></rss>"
    )
    (item,) = feed.items
    assert (feed.title, item.title, item.summary) == ("Café du monde", "one two three", "a <b>b</b> &lt; c")


SITEMAP_FAULTS = {
    "none": "<url><loc>https://b.example/?m=v&amp;eid=2</loc><lastmod>2020-01-02</lastmod></url>",
    "a bare ampersand": "<url><loc>https://b.example/?m=v&eid=2</loc><lastmod>2020-01-02</lastmod></url>",
    "an address without an end": "<url><loc>https://b.example/?m=v&eid=2<lastmod>2020-01-02</lastmod></url>",
    "a comment": "<url><!-- x --><loc>https://b.example/<!-- & -->?m=v&eid=2</loc><lastmod>2020-01-02</lastmod></url>",
    "a section": "<url><loc><![CDATA[https://b.example/?m=v&eid=2]]></loc><lastmod>2020-01-02</lastmod></url>",
    "a picture": "<url><image:image><image:loc>no</image:loc></image:image><loc>https://b.example/?m=v&eid=2</loc><lastmod>2020-01-02</lastmod></url>",
    "a second document": "</urlset>\n<?xml version='1.0'?><urlset><url><loc>https://b.example/?m=v&eid=2</loc><lastmod>2020-01-02</lastmod></url>",
}


@pytest.mark.parametrize("fault", SITEMAP_FAULTS)
def test_a_fault_in_a_sitemap_loses_no_address(fault: str) -> None:
    around = [f"<url><loc>https://b.example/?m=v&amp;eid={number}</loc></url>" for number in (1, 3)]
    found = read_sitemap(f"<urlset>{around[0]}{SITEMAP_FAULTS[fault]}{around[1]}</urlset>".encode())
    expected = [(1, ""), (2, "2020-01-02"), (3, "")]
    assert found.pages == [(f"https://b.example/?m=v&eid={number}", changed) for number, changed in expected]
    assert not found.problem


def test_an_address_that_is_cut_is_not_taken() -> None:
    found = read_sitemap(b"<urlset><url><loc>https://b.example/1</loc></url><url><loc>https://b.example/12")
    assert found.pages == [("https://b.example/1", "")]
    assert found.problem
