"""A record of each kind with all parts that each service sends, for the test that none of them is lost."""

from __future__ import annotations

import io
import json
from typing import Any

from exporter.model.kinds import Kind
from exporter.service.atompub.source import AtomPub
from exporter.service.blog_v1 import BlogV1
from exporter.service.export_file import ExportFile, FoundParts, FoundRecord
from exporter.service.interface import BlogService
from exporter.service.movable_type.source import MovableType
from exporter.service.public_site.source import PublicSite
from exporter.service.wordpress.source import WordPressService
from exporter.service.wxr.source import WxrFile
from tests.html import records
from tests.service import wxr_samples as wxr

Sample = dict[Kind, dict[str, Any]]
NOTES = json.dumps([{"id": "note-a", "content": "注の文"}], ensure_ascii=False)
COMMENT_META = (
    "<wp:commentmeta><wp:meta_key>{}</wp:meta_key><wp:meta_value>{}</wp:meta_value></wp:commentmeta>\n</wp:comment>"
)
WXR = wxr.channel(
    wxr.item(
        1,
        '<p>本文<sup data-fn="note-a"><a href="#note-a" id="note-a-link">1</a></sup></p>[gallery ids="9"]<!--more 続き-->後',
        excerpt="抜粋",
        categories=wxr.terms([("category", "kyoto", "京都"), ("post_tag", "momiji", "紅葉"), ("post_format", "aside", "余談")]),
        extra=(
            wxr.meta("_thumbnail_id", "9") + wxr.meta("footnotes", NOTES) + wxr.meta("mood", "上々") + wxr.meta("_edit_last", "1")
            + '<plugin:score xmlns:plugin="https://plugin.example/">八</plugin:score>'
            + wxr.comment(5, "感想", comment_author_url="https://reader.example/").replace("</wp:comment>", COMMENT_META.format("stars", "五"))
            + wxr.comment(6, "返事", comment_parent=5)
        ),
        post_password="",
    ),
    wxr.picture(9, "umi.jpg", post_parent=1),
)  # fmt: skip
MOVABLE_TYPE = """AUTHOR: 海野
TITLE: 題
BASENAME: 2024/04/umi
STATUS: Publish
ALLOW COMMENTS: 1
ALLOW PINGS: 1
CONVERT BREAKS: 0
DATE: 04/01/2024 12:00:00
PRIMARY CATEGORY: 旅
CATEGORY: 京都
TAGS: "紅葉",寺
IMAGE: https://umi.example.jp/cover.png
MOOD: 上々
-----
BODY:
<p>本文</p>
-----
EXTENDED BODY:
<p>後</p>
-----
EXCERPT:
抜粋
-----
KEYWORDS:
鍵の語
-----
COMMENT:
AUTHOR: 読者
EMAIL: reader@mail.example
IP: 192.0.2.1
URL: https://reader.example/
DATE: 04/02/2024 09:30:00
感想
-----
PING:
TITLE: 他の題
URL: https://other.example/
IP: 192.0.2.1
BLOG NAME: 他のブログ
DATE: 04/02/2024 09:30:00
引用
-----
--------
"""
ATOM = (
    "<entry><id>tag:blog.example,2020:1</id><title>題</title><author><name>海野</name></author>"
    "<published>2024-04-01T12:00:00+09:00</published><updated>2024-04-05T12:00:00+09:00</updated>"
    "<category term='kyoto' label='京都'/><summary>抜粋</summary>"
    "<link rel='alternate' type='text/html' href='https://blog.example/1'/><link rel='edit' href='https://blog.example/atom/1'/>"
    "<content type='html'>&lt;p&gt;本文&lt;/p&gt;</content><app:control><app:draft>no</app:draft></app:control>"
    "<hatenablog:custom-url>umi</hatenablog:custom-url><other:score>八</other:score></entry>"
)
SPACES = {
    "": "http://www.w3.org/2005/Atom", "app": "http://www.w3.org/2007/app", "other": "https://other.example/",
    "hatenablog": "http://www.hatena.ne.jp/info/xmlns#hatenablog",
}  # fmt: skip
WORDPRESS: Sample = {
    Kind.ENTRIES: {
        "id": 1, "date": "2024-04-01T12:00:00", "date_gmt": "2024-04-01T03:00:00", "guid": {"rendered": "https://blog.example/?p=1"},
        "modified": "2024-04-05T12:00:00", "modified_gmt": "2024-04-05T03:00:00", "slug": "umi", "status": "publish", "type": "post",
        "link": "https://blog.example/umi/", "title": {"raw": "題", "rendered": "題"},
        "content": {"raw": "<!-- wp:footnotes /-->", "rendered": "<p>本文</p><!--more 続き--><p>後</p>", "protected": False, "block_version": 1},
        "excerpt": {"raw": "抜粋", "rendered": "<p>抜粋</p>", "protected": False}, "author": 1, "featured_media": 9, "comment_status": "open",
        "ping_status": "closed", "sticky": True, "template": "wide", "format": "aside", "meta": {"footnotes": NOTES, "mood": "上々"},
        "categories": [4], "tags": [50], "class_list": ["post-1"], "permalink_template": "https://blog.example/%postname%/",
        "generated_slug": "umi", "password": "", "jetpack_featured_media_url": "https://blog.example/umi.jpg", "score": "八",
        "_links": {"self": [{"href": "https://blog.example/wp-json/wp/v2/posts/1"}]},
        "_embedded": {
            "author": [{"id": 1, "name": "海野"}], "wp:featuredmedia": [{"id": 9, "source_url": "https://blog.example/umi.jpg"}],
            "wp:term": [[{"id": 4, "name": "京都", "slug": "kyoto", "taxonomy": "category"}], [{"id": 50, "name": "紅葉", "taxonomy": "post_tag"}]],
        },
    },
    Kind.COMMENTS: {
        "id": 5, "post": 1, "parent": 0, "author": 0, "author_name": "読者", "author_email": "reader@mail.example",
        "author_url": "https://reader.example/", "author_ip": "192.0.2.1", "author_user_agent": "Browser", "date": "2024-04-02T09:30:00",
        "date_gmt": "2024-04-02T00:30:00", "content": {"rendered": "<p>感想</p>", "raw": "感想"}, "link": "https://blog.example/umi/#comment-5",
        "status": "approved", "type": "comment", "author_avatar_urls": {"24": "https://avatar.example/"}, "meta": {"stars": "五"},
        "_links": {"self": [{"href": "https://blog.example/wp-json/wp/v2/comments/5"}]},
    },
}  # fmt: skip
PUBLIC_SITE: Sample = {
    Kind.ENTRIES: {
        "id": "umi", "url": "https://blog.example/umi", "how": "rules", "confidence": "high", "title": "題", "date": "2024-04-01T12:00:00+09:00",
        "updated": "2024-04-05T12:00:00+09:00", "author": "海野", "categories": ["京都"], "tags": ["紅葉"], "excerpt": "抜粋",
        "featured": "https://blog.example/umi.jpg", "kind": "post", "status": "public", "body": "<p>本文</p>", "more": "<p>後</p>",
        "sources": {"title": "og:title"},
    },
    Kind.COMMENTS: {
        "id": "5", "post_id": "umi", "date": "2024-04-02T09:30:00+09:00", "name": "読者", "title": "題", "text": "感想", "url": "https://reader.example/",
        "status": "shown", "parent": "", "by_owner": True,
    },
}  # fmt: skip


def _of_file(service: ExportFile, text: str) -> Sample:
    """Return the first record of each kind in a file."""
    found: Sample = {}
    files: dict[str, dict[str, Any]] = {}
    for each in service.read(io.BytesIO(text.encode()), "sample"):
        if not isinstance(each, FoundRecord):
            continue  # the unknown line of the sample is named, and kept
        more = {"id": each.id, **({"post_id": found[Kind.ENTRIES]["id"]} if each.kind is Kind.COMMENTS else {})}
        found.setdefault(each.kind, {**each.raw, **more})
        if each.kind is Kind.FILES:
            files[each.id] = each.raw
    if files:
        found[Kind.ENTRIES] = service.completed(found[Kind.ENTRIES], FoundParts(files, {}))
    return found


def samples() -> dict[str, tuple[BlogService, Sample]]:
    """Return each service with its records."""
    blog_v1: Sample = {
        Kind.ENTRIES: records.entry(entry_id="1", ps_title="続き", ps_text="<p>後</p>", template_text="<p>型</p>"),
        Kind.ENTRY_LIST: records.item(entry_id="1"),
        Kind.COMMENTS: records.comment(
            entry_id="1", title="題", url="https://reader.example/", url_text="https://reader.example/", res_flg="1"
        ),
    }
    atom = {"id": "1", "collection": "entry", "xml": ATOM, "xmlns": SPACES}
    return {
        "blog_v1": (BlogV1(), blog_v1),
        "wxr": (WxrFile(), _of_file(WxrFile(), WXR)),
        "movable_type": (MovableType(), _of_file(MovableType(), MOVABLE_TYPE)),
        "atompub": (AtomPub(), {Kind.ENTRIES: atom}),
        "wordpress": (WordPressService(), WORDPRESS),
        "public_site": (PublicSite(), PUBLIC_SITE),
    }
