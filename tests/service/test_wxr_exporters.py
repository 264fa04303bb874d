"""WXR as several programs write it, in all versions, with namespaces in all spellings, and with faults."""

from __future__ import annotations

import io
import re
from collections.abc import Callable

import pytest

from exporter.model.kinds import Kind
from exporter.model.records import Audience
from exporter.service.export_file import FoundRecord, Misread
from exporter.service.wxr.source import WxrFile
from tests.service.wxr_samples import channel, comment, item, picture, terms

pytestmark = pytest.mark.thorough

SERVICE = WxrFile()
VERSIONS = ("1.0", "1.1", "1.2")
BODY = "<p>本文 &amp; more</p>"
TERMS = terms([("category", "tabi", "旅"), ("post_tag", "umi", "海")])


def core(version: str) -> str:
    """WordPress itself, and WP-CLI's ``wp export``, which uses the same writer."""
    return channel(
        item(1, BODY, categories=TERMS, extra=comment(7)), picture(2), item(3, BODY, status="draft"), version=version
    )


def old_core(version: str) -> str:
    """WordPress 2.x: each category twice, no CDATA around names, no authors."""
    twice = "<category><![CDATA[旅]]></category>" + TERMS + '<category domain="tag"><![CDATA[海]]></category>'
    return re.sub(r"<(wp:(?!comment_content|meta)\w+)><!\[CDATA\[([^<&]*?)\]\]></", r"<\1>\2</", channel(
        item(1, BODY, categories=twice, extra=comment(7)), picture(2), item(3, BODY, status="draft"), version=version, top="",
    ))  # fmt: skip


def hosted(version: str) -> str:
    """WordPress.com: further namespaces, a cloud, an image and links of the channel."""
    extra = (
        '<cloud domain="blog.example" port="80" path="/?rsscloud=notify" registerProcedure="" protocol="http-post" />'
        "<image><url>https://s.example/i.png</url><title>no</title><link>https://no.example</link></image>"
        '<atom:link xmlns:atom="http://www.w3.org/2005/Atom" rel="search" href="https://blog.example/osd.xml" title="no" />'
    )
    return core(version).replace("<item>", extra + "<item>", 1)


def renamed(version: str) -> str:
    """Converters from Blogger, written by a library that numbers the prefixes."""
    text = core(version)
    for number, prefix in enumerate(("wp", "content", "excerpt", "dc")):
        text = text.replace(f"xmlns:{prefix}=", f"xmlns:ns{number}=").replace(f"<{prefix}:", f"<ns{number}:")
        text = text.replace(f"</{prefix}:", f"</ns{number}:")
    return text


def escaped(version: str) -> str:
    """Drupal's and Ghost's converters: escaped HTML without sections."""
    return re.sub(
        r"<!\[CDATA\[(.*?)\]\]>",
        lambda found: found[1].replace("&", "&amp;").replace("<", "&lt;"),
        core(version),
        flags=re.DOTALL,
    )


def sparse(version: str) -> str:
    """Squarespace: no guid, no modified dates, no authors, all on one line."""
    text = re.sub(
        r"<guid.*?</guid>|<wp:post_modified.*?</wp:post_modified(?:_gmt)?>|<wp:author>.*?</wp:author>",
        "",
        core(version),
    )
    return text.replace("\n", "").replace("?><!--", "?>\n<!--")


def numberless(version: str) -> str:
    """Converters from Tumblr: no numbers of posts, dates in the form of mail only."""
    text = re.sub(r"<wp:post_id>\d+</wp:post_id>|<wp:post_date.*?</wp:post_date(?:_gmt)?>", "", core(version))
    return text.replace("?p=", "#")


def shouted(version: str) -> str:
    """A writer with a Windows line end, a byte order mark and a stylesheet."""
    return "\ufeff" + core(version).replace("\n", "\r\n").replace("?>", '?><?xml-stylesheet href="a.css"?>', 1)


EXPORTERS = (core, old_core, hosted, renamed, escaped, sparse, numberless, shouted)
SPELLINGS: dict[str, Callable[[str], str]] = {
    "as documented": str,
    "https": lambda head: head.replace("http://", "https://"),
    "https www": lambda head: head.replace("http://", "https://www."),
    "no last slash": lambda head: head.replace('/"', '"'),
    "upper case": lambda head: head.replace("wordpress.org", "WordPress.Org").replace("CommentAPI", "commentapi"),
}


def read(text: str) -> tuple[dict[Kind, list[FoundRecord]], list[Misread]]:
    kinds: dict[Kind, list[FoundRecord]] = {}
    misread: list[Misread] = []
    for found in SERVICE.read(io.BytesIO(text.encode()), "blog.xml"):
        if isinstance(found, Misread):
            misread.append(found)
        else:
            kinds.setdefault(found.kind, []).append(found)
    return kinds, misread


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("exporter", EXPORTERS)
def test_every_record_of_every_exporter_is_read(exporter: Callable[[str], str], version: str, spelling: str) -> None:
    text = exporter(version)
    begin, end = text.index("<rss"), text.index("<channel>")
    text = text[:begin] + SPELLINGS[spelling](text[begin:end]) + text[end:]
    assert SERVICE.recognises(text.encode()[:65_536])
    kinds, misread = read(text)
    assert not misread
    published, draft = (SERVICE.post({**each.raw, "id": each.id}) for each in kinds[Kind.ENTRIES])
    assert (published.title, published.body) == ("記事 1", "<p>\n本文 &amp; more\n</p>")
    assert published.date is not None
    assert [each.name for each in published.categories] == ["旅"]
    assert published.tags == ("海",)
    assert (published.audience, draft.audience) == (Audience.PUBLIC, Audience.DRAFT)
    (said,) = kinds[Kind.COMMENTS]
    assert SERVICE.comment({**said.raw, "id": said.id, "post_id": "1"}).text == "<p>こんにちは</p>"
    (file,) = kinds[Kind.FILES]
    assert SERVICE.upload({**file.raw, "id": file.id}).url.endswith("/umi.jpg")
    assert SERVICE.user({**kinds[Kind.USER][0].raw, "id": "blog"}).name


FAULTS: dict[str, Callable[[str], str]] = {
    "a bare ampersand": lambda text: text.replace("記事 1", "記事 1 & co"),
    "an entity of HTML": lambda text: text.replace("記事 1", "記事&nbsp;1"),
    "a control character": lambda text: text.replace("記事 1", "記事\x0b 1"),
    "a comment": lambda text: text.replace("<title>", "<!-- x -- y --><title>"),
    "a link without an end": lambda text: text.replace("</link>", "", 3),
    "a loose <": lambda text: text.replace("記事 1", "記事 < 1"),
    "text of PHP before": lambda text: f"<br />\n<b>Notice</b>: x in <b>y</b>\n{text}",
    "text of PHP behind": lambda text: f"{text}<b>Fatal error</b>: & <item",
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("exporter", EXPORTERS)
def test_a_fault_loses_no_record(exporter: Callable[[str], str], fault: str) -> None:
    whole, _ = read(exporter("1.2"))
    broken, misread = read(FAULTS[fault](exporter("1.2")))
    ids = {kind: [each.id for each in found] for kind, found in broken.items()}
    assert {kind: len(found) for kind, found in ids.items()} == {kind: len(found) for kind, found in whole.items()}
    assert [each.raw.get("content:encoded") for each in broken[Kind.ENTRIES]] == [
        each.raw.get("content:encoded") for each in whole[Kind.ENTRIES]
    ]
    assert not [each for each in misread if each.lost]
