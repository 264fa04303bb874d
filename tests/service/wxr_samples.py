"""Made-up WXR files, in the forms that WordPress and other services write."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

SPACES = """xmlns:excerpt="http://wordpress.org/export/{version}/excerpt/"
	xmlns:content="http://purl.org/rss/1.0/modules/content/"
	xmlns:wfw="http://wellformedweb.org/CommentAPI/"
	xmlns:dc="http://purl.org/dc/elements/1.1/"
	xmlns:wp="http://wordpress.org/export/{version}/\""""
AUTHORS = """<wp:author><wp:author_id>1</wp:author_id><wp:author_login><![CDATA[owner]]></wp:author_login><wp:author_email><![CDATA[owner@blog.example]]></wp:author_email><wp:author_display_name><![CDATA[海野 花子]]></wp:author_display_name></wp:author>
"""
CATEGORIES = """<wp:category><wp:term_id>2</wp:term_id><wp:category_nicename><![CDATA[tabi]]></wp:category_nicename><wp:category_parent><![CDATA[]]></wp:category_parent><wp:cat_name><![CDATA[旅]]></wp:cat_name></wp:category>
<wp:category><wp:term_id>3</wp:term_id><wp:category_nicename><![CDATA[kyoto]]></wp:category_nicename><wp:category_parent><![CDATA[tabi]]></wp:category_parent><wp:cat_name><![CDATA[京都]]></wp:cat_name></wp:category>
<wp:category><wp:term_id>4</wp:term_id><wp:category_nicename><![CDATA[%e5%af%ba]]></wp:category_nicename><wp:category_parent><![CDATA[kyoto]]></wp:category_parent><wp:cat_name><![CDATA[寺]]></wp:cat_name></wp:category>
<wp:tag><wp:term_id>5</wp:term_id><wp:tag_slug><![CDATA[momiji]]></wp:tag_slug><wp:tag_name><![CDATA[紅葉]]></wp:tag_name></wp:tag>
"""


def cdata(text: str) -> str:
    """Return text as WordPress writes it."""
    return f"<![CDATA[{text.replace(']]>', ']]]]><![CDATA[>')}]]>"


def comment(number: int, text: str = "こんにちは", **fields: object) -> str:
    """Return a comment element."""
    values: dict[str, object] = {
        "comment_author": "読者", "comment_author_email": "reader@mail.example", "comment_author_url": "",
        "comment_author_IP": "192.0.2.1", "comment_date": "2024-04-02 09:30:00",
        "comment_date_gmt": "2024-04-02 00:30:00", "comment_content": text, "comment_approved": "1",
        "comment_type": "comment", "comment_parent": "0", "comment_user_id": "0", **fields,
    }  # fmt: skip
    inside = "".join(f"<wp:{name}>{cdata(str(value))}</wp:{name}>" for name, value in values.items())
    return f"<wp:comment><wp:comment_id>{number}</wp:comment_id>{inside}</wp:comment>\n"


def meta(key: str, value: str) -> str:
    """Return a custom field."""
    return f"<wp:postmeta><wp:meta_key>{cdata(key)}</wp:meta_key><wp:meta_value>{cdata(value)}</wp:meta_value></wp:postmeta>\n"


def item(
    number: int, body: str = "", *, title: str | None = None, link: str | None = None, categories: str = "",
    extra: str = "", excerpt: str = "", **fields: object,
) -> str:  # fmt: skip
    """Return an item as WordPress 6 writes it; ``fields`` are elements of the prefix ``wp``."""
    values: dict[str, object] = {
        "post_date": "2024-04-01 12:00:00", "post_date_gmt": "2024-04-01 03:00:00",
        "post_modified": "2024-04-05 12:00:00", "post_modified_gmt": "2024-04-05 03:00:00",
        "comment_status": "open", "ping_status": "closed", "post_name": f"post-{number}", "status": "publish",
        "post_parent": 0, "menu_order": 0, "post_type": "post", "post_password": "", "is_sticky": 0, **fields,
    }  # fmt: skip
    written = "".join(f"<wp:{name}>{cdata(str(value))}</wp:{name}>\n" for name, value in values.items())
    address = escape(link if link is not None else f"https://blog.example/2024/04/post-{number}/")
    return f"""<item>
<title>{cdata(f"記事 {number}" if title is None else title)}</title>
<link>{address}</link>
<pubDate>Mon, 01 Apr 2024 03:00:00 +0000</pubDate>
<dc:creator>{cdata("owner")}</dc:creator>
<guid isPermaLink="false">https://blog.example/?p={number}</guid>
<description></description>
<content:encoded>{cdata(body or f"{number}番の本文です。")}</content:encoded>
<excerpt:encoded>{cdata(excerpt)}</excerpt:encoded>
<wp:post_id>{number}</wp:post_id>
{written}{categories}{extra}</item>
"""


def picture(number: int, name: str = "umi.jpg", **fields: object) -> str:
    """Return an attachment."""
    details = (
        f'a:6:{{s:5:"width";i:1200;s:6:"height";i:800;s:4:"file";s:{len(name)}:"{name}";s:8:"filesize";i:34567;'
        's:5:"sizes";a:0:{}s:10:"image_meta";a:0:{}}'
    )
    url = f"https://blog.example/wp-content/uploads/2024/04/{name}"
    extra = (
        f"<wp:attachment_url>{cdata(url)}</wp:attachment_url>\n"
        + meta("_wp_attached_file", f"2024/04/{name}")
        + meta("_wp_attachment_metadata", details)
        + meta("_wp_attachment_image_alt", "夕方の海")
    )
    values: dict[str, Any] = {
        "post_type": "attachment",
        "status": "inherit",
        "post_name": f"file-{number}",
        **fields,
    }
    return item(number, "説明", title="海", excerpt="キャプション", extra=extra, **values)


def channel(*items: str, version: str = "1.2", top: str = AUTHORS + CATEGORIES, encoding: str = "UTF-8") -> str:
    """Return a whole file."""
    return f"""<?xml version="1.0" encoding="{encoding}" ?>
<!-- This is a WordPress eXtended RSS file generated by WordPress as an export of your site. -->
<!-- generator="WordPress/6.5" created="2024-05-01 00:00" -->
<rss version="2.0"
	{SPACES.format(version=version)}
>
<channel>
	<title>海の日記</title>
	<link>https://blog.example</link>
	<description>Just another blog</description>
	<pubDate>Wed, 01 May 2024 00:00:00 +0000</pubDate>
	<language>ja</language>
	<wp:wxr_version>{version}</wp:wxr_version>
	<wp:base_site_url>https://blog.example</wp:base_site_url>
	<wp:base_blog_url>https://blog.example</wp:base_blog_url>
	{top}
	<generator>https://wordpress.org/?v=6.5</generator>
{"".join(items)}</channel>
</rss>
"""


def terms(pairs: Iterable[tuple[str, str, str]]) -> str:
    """Return category elements from domains, nicenames and names."""
    return "".join(
        f'<category domain="{domain}" nicename="{nicename}">{cdata(name)}</category>\n'
        for domain, nicename, name in pairs
    )
