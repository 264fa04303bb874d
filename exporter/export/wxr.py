"""WXR 1.2, the file for WordPress' importer and for Hatena. Pure.

The importers decide the details: they drop a second post with one title and date, and a second comment with one name
and date. They fetch attachments from the given address, and then replace that address in the bodies.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Final

from exporter.export import importer_rules
from exporter.export.formats import Format
from exporter.export.importer_rules import (
    EntryData,
    Frame,
    ImportFile,
    Numbers,
    category_nicenames,
    comment_text,
    is_term_cut,
    markup_escaped,
    nicenames,
    split,
    stored_name,
    term_name,
)
from exporter.export.interface import ExportFile, Side
from exporter.export.media import Media, PostPicture, address_of
from exporter.export.names import wordpress_name
from exporter.export.parts import EVERYTHING, Part
from exporter.export.post_html import cdata, cleaned, escaped
from exporter.export.posts import ExportPost, PostComment, Posts
from exporter.export.reasons import Reason
from exporter.html.text import collapse
from exporter.html.wordpress import field_html
from exporter.message import message
from exporter.model.kinds import Kind
from exporter.model.publication import Cause
from exporter.model.records import Audience, Category, CommentStatus

_SPACES_FOR: Final = {
    "excerpt": "http://wordpress.org/export/1.2/excerpt/",
    "content": "http://purl.org/rss/1.0/modules/content/",
    "wfw": "http://wellformedweb.org/CommentAPI/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "wp": "http://wordpress.org/export/1.2/",
}
_LOGIN: Final = "blog-author"
_WORDPRESS_LOGIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.@-]{0,59}")
"""Names that WordPress takes as logins unchanged (``sanitize_user``)."""


def export(posts: Posts) -> Iterator[ExportFile]:
    """Yield the WXR files, and the pictures if requested."""
    writer = _Writer(posts)
    yield from split(posts, "wordpress", ".xml", writer.frame(), writer.entries())
    yield from writer.copies


class _Writer(ImportFile):
    def __init__(self, posts: Posts) -> None:
        super().__init__(posts, markup_escaped if posts.options.body_style == "plain" else field_html)
        self._nicenames = category_nicenames(posts.category_tree())
        self._tag_nicenames = nicenames(posts.tags())
        named = [name for name in posts.authors() if name]
        # A post without an author is by the user, who may be one of the authors.
        self._unnamed = posts.author if posts.author in named else ""
        self._authors = _logins(list(dict.fromkeys(name or self._unnamed for name in posts.authors())))
        self._numbers = Numbers(posts.ids())
        self._comment_numbers = Numbers(posts.records.ids(Kind.COMMENTS))
        self._attached: set[str] = set()
        self._attachment_numbers: dict[str, int] = {}
        parted = self.options.max_entries or self.options.max_bytes
        self._last = _last_users(posts, self.media) if parted else None

    def frame(self) -> Frame:
        home = f"https://{self.posts.blog_id}/"
        spaces = "".join(f'\n\txmlns:{prefix}="{uri}"' for prefix, uri in _SPACES_FOR.items())
        lines = [
            '<?xml version="1.0" encoding="UTF-8" ?>',
            f'<rss version="2.0"{spaces}>',
            "<channel>",
            f"<title>{cdata(self._named(self.posts.title))}</title>",
            f"<link>{escaped(home)}</link>",
            "<description></description>",
            f"<pubDate>{format_datetime(self.posts.newest().astimezone(UTC))}</pubDate>",
            "<language>ja</language>",
            "<wp:wxr_version>1.2</wp:wxr_version>",
            f"<wp:base_site_url>{escaped(home)}</wp:base_site_url>",
            f"<wp:base_blog_url>{escaped(home)}</wp:base_blog_url>",
        ]
        for number, (name, login) in enumerate(self._authors.items(), 1):
            shown = cdata(self._named(name or self.posts.author))
            lines += [
                f"<wp:author><wp:author_id>{number}</wp:author_id><wp:author_login>{cdata(login)}</wp:author_login>",
                f"<wp:author_email></wp:author_email><wp:author_display_name>{shown}</wp:author_display_name>",
                "</wp:author>",
            ]
        # WordPress looks for an unknown nicename among the names as well, without its encoded bytes: the one of 日記:旅
        # would find a category "-". So those with such bytes come first, and parents before their children.
        tree = sorted(
            self.posts.category_tree(),
            key=lambda each: (len(each.parents), "%" not in self._nicenames[_path(each)]),
        )
        for number, category in enumerate(tree, 1):
            parent = self._nicenames[category.parents] if category.parents else ""
            lines.append(
                f"<wp:category><wp:term_id>{number}</wp:term_id>"
                f"<wp:category_nicename>{cdata(self._nicenames[_path(category)])}</wp:category_nicename>"
                f"<wp:category_parent>{cdata(parent) if parent else ''}</wp:category_parent>"
                f"<wp:cat_name>{cdata(term_name(category.name, self.html))}</wp:cat_name></wp:category>"
            )
        tags = sorted(self._tag_nicenames.items(), key=lambda each: "%" not in each[1])
        lines += [
            f"<wp:tag><wp:term_id>{number}</wp:term_id><wp:tag_slug>{cdata(nicename)}</wp:tag_slug>"
            f"<wp:tag_name>{cdata(term_name(name, self.html))}</wp:tag_name></wp:tag>"
            for number, (name, nicename) in enumerate(tags, len(tree) + 1)
        ]
        return Frame(("\n".join(lines) + "\n").encode(), b"</channel>\n</rss>\n")

    def entries(self) -> Iterator[EntryData]:
        for post in self.posts:
            yield EntryData(post.id, "".join(f"{line}\n" for line in self._item(post)).encode())
            self.posts.wrote(post)

    def _item(self, post: ExportPost) -> Iterator[str]:
        when = self.begin(post, Reason.FETCHED)
        number = self._numbers.of(post.id)
        name = self.posts.name(post.id)
        if name.isdecimal():
            self.report.limit(Reason.NAME_OF_DIGITS, post.id)
        updated = max(post.record.updated or when, when)
        entry = post.record
        title, body = self.clean("title", post, post.title), self.clean("body", post, self._body(post))
        guid = f"{self.posts.blog_id}/entry/{post.id}"
        excerpt = self.clean("excerpt", post, self.media.rewritten(entry.excerpt)) if entry.excerpt else ""
        login = self._authors[post.author or self._unnamed]
        yield from _opened(number, self._named(title), self._link(post), guid, body, when, updated, excerpt, login)
        yield f"<wp:comment_status>{cdata('open' if entry.comments_open else 'closed')}</wp:comment_status>"
        yield f"<wp:ping_status>{cdata('open' if entry.pings_open else 'closed')}</wp:ping_status>"
        yield f"<wp:post_name>{cdata(name)}</wp:post_name>"
        yield f"<wp:status>{cdata(self._status(post))}</wp:status>"
        yield "<wp:post_parent>0</wp:post_parent><wp:menu_order>0</wp:menu_order>"
        yield f"<wp:post_type>{cdata(entry.kind)}</wp:post_type><wp:post_password></wp:post_password>"
        yield "<wp:is_sticky>0</wp:is_sticky>"
        yield from self._terms(post)
        for field in self.options.service.kept_fields:
            value = entry.raw.get(field)
            if isinstance(value, str | int):
                shown = json.dumps(value) if isinstance(value, bool) else str(value)
                yield _meta("wp:postmeta", f"_blog_{field}", shown)
        featured = self.media.featured(post)
        if featured is not None:
            yield _meta("wp:postmeta", "_thumbnail_id", str(self._number_of(featured)))
            if self._last is not None and featured.asset.url not in self._last.get(post.id, ()):
                self.report.limit(Reason.FEATURED_LATER, post.id)
        yield from self._comments(post)
        yield "</item>"
        for picture in self._attachments(post):
            yield from self._attachment(picture, number, when)

    def _status(self, post: ExportPost) -> str:
        """Return a post's status. WordPress publishes a scheduled one at its date, or at once if that is over."""
        if post.record.audience is not Audience.SCHEDULED:
            return post.status
        as_of, date = self.options.as_of, post.record.date
        is_coming = date is not None and as_of is not None and date > as_of
        if is_coming and self.options.side is Side.REST and not self.options.declared.all_as_draft:
            return "future"
        self.report.changed("entries", Cause(Reason.NOT_HELD, Part.SCHEDULED), post.id)
        return post.status

    def _terms(self, post: ExportPost) -> Iterator[str]:
        if any(map(is_term_cut, post.terms)):
            self.report.changed("entries", Reason.CATEGORY_CUT.at(importer_rules.CATEGORY_CHARACTERS), post.id)
        for category in post.categories:
            yield _term("category", self._nicenames[_path(category)], term_name(category.name, self.html))
        for tag in post.tags:
            yield _term("post_tag", self._tag_nicenames[tag], term_name(tag, self.html))

    def _named(self, text: str) -> str:
        return stored_name(text, self.html)

    def _body(self, post: ExportPost) -> str:
        body = self.body(post.record.body, post)
        more = self.body(post.record.more, post)
        lead = collapse(post.record.more_title)
        if not more and not lead:
            if {body, post.title} <= {"", "0"}:
                self.report.changed("entries", Reason.NOT_EMPTY, post.id)
                return f"{body}<!-- -->"
            return body
        return importer_rules.joined(body, more, lead, self.options.body_style)

    def _link(self, post: ExportPost) -> str:
        # Some importers fail on an empty link; this is WordPress' own form for a post without an address.
        return address_of(self.posts, post) or f"https://{self.posts.blog_id}/?p={self._numbers.of(post.id)}"

    def _comments(self, post: ExportPost) -> Iterator[str]:
        ordered = post.threads()
        parents = {each.found.comment.id: each.answers.id for each in ordered if each.answers is not None}
        numbers = {found.comment.id: self._comment_numbers.of(found.comment.id) for found in post.comments}
        if any(numbers[parent] > numbers[comment_id] for comment_id, parent in parents.items()):
            # The importer knows a parent only if its number is the lower one.
            numbers = dict(zip((each.found.comment.id for each in ordered), sorted(numbers.values()), strict=True))
        for found in post.comments:
            own = found.comment.id
            yield from self._comment(found, post.id, numbers[own], numbers[parents[own]] if own in parents else 0)

    def _comment(self, found: PostComment, entry_id: str, number: int, parent: int) -> Iterator[str]:
        comment = found.comment
        author, url = importer_rules.commenter(comment, self.report, self.html)
        email = escaped(importer_rules.commenter_email(comment, self.report))
        clean = cleaned(comment_text(comment, self.html))
        if importer_rules.size(clean.text) > importer_rules.TEXT_BYTES:
            self.report.limit(Reason.COMMENT_LONG.at(importer_rules.TEXT_BYTES), entry_id)
        self.report.changed("comments", Reason.NOT_IN_XML, comment.id, clean.characters)
        yield (
            "<wp:comment>\n"
            f"<wp:comment_id>{number}</wp:comment_id>\n"
            f"<wp:comment_author>{cdata(author)}</wp:comment_author>\n"
            f"<wp:comment_author_email>{email}</wp:comment_author_email>\n"
            f"<wp:comment_author_url>{escaped(url)}</wp:comment_author_url>\n"
            "<wp:comment_author_IP></wp:comment_author_IP>\n"
            f"<wp:comment_date><![CDATA[{_date(found.when)}]]></wp:comment_date>\n"
            f"<wp:comment_date_gmt><![CDATA[{_date(found.when.astimezone(UTC))}]]></wp:comment_date_gmt>\n"
            f"<wp:comment_content>{cdata(clean.text)}</wp:comment_content>\n"
            f"<wp:comment_approved>{_approval(found)}</wp:comment_approved>\n"
            f"<wp:comment_type>{cdata(comment.kind)}</wp:comment_type>\n"
            f"<wp:comment_parent>{parent}</wp:comment_parent>"
            f"<wp:comment_user_id>{self._user_of(found)}</wp:comment_user_id>"
        )
        yield _meta("wp:commentmeta", "_blog_cm_id", comment.id)
        if found.when != comment.date or not comment.has_time:
            yield _meta("wp:commentmeta", "_blog_time_is_made_up", "1")
        yield "</wp:comment>"

    def _user_of(self, found: PostComment) -> int:
        """Return the number of the author who wrote a comment as the blog's owner; 0 for any other comment."""
        if not found.comment.by_owner:
            return 0
        names = list(self._authors)
        name = collapse(found.comment.name)
        return names.index(name) + 1 if name in names else 1

    def _number_of(self, picture: PostPicture) -> int:
        """Return the number of a picture's attachment."""
        following = self._numbers.beyond + len(self._attachment_numbers) + 1
        return self._attachment_numbers.setdefault(picture.asset.url, following)

    def _attachments(self, post: ExportPost) -> Iterator[PostPicture]:
        """Yield the pictures to be written behind a post: those it has first, or in several files those it has last."""
        if self._last is not None:
            yield from filter(None, map(self.media.find, self._last.get(post.id, ())))
            return
        for picture in self.media.pictures(post):
            if picture.source is not None and picture.asset.url not in self._attached:
                yield picture

    def _attachment(self, picture: PostPicture, parent: int, when: datetime) -> Iterator[str]:
        self._attached.add(picture.asset.url)
        number = self._number_of(picture)
        address = self.media.new_address(picture)
        named = (picture.info.title or picture.info.name) if picture.info is not None else ""
        title = collapse(named) or picture.name
        when = self.dates.fit(title, when)
        about = self._named(picture.info.description or "") if picture.info is not None else ""
        self.take([picture])
        login = next(iter(self._authors.values()))
        yield from _opened(number, self._named(title), address, address, about, when, when, "", login)
        yield "<wp:comment_status>closed</wp:comment_status><wp:ping_status>closed</wp:ping_status>"
        yield f"<wp:post_name>{cdata(f'file-{number}')}</wp:post_name><wp:status>inherit</wp:status>"
        yield f"<wp:post_parent>{parent}</wp:post_parent><wp:menu_order>0</wp:menu_order>"
        yield "<wp:post_type>attachment</wp:post_type><wp:post_password></wp:post_password>"
        yield "<wp:is_sticky>0</wp:is_sticky>"
        yield f"<wp:attachment_url>{cdata(address)}</wp:attachment_url>"
        if picture.info is not None and picture.info.alt:
            yield _meta("wp:postmeta", "_wp_attachment_image_alt", self._named(collapse(picture.info.alt)))
        yield "</item>"


def _opened(
    number: int,
    title: str,
    link: str,
    guid: str,
    body: str,
    when: datetime,
    updated: datetime,
    excerpt: str,
    login: str,
) -> Iterator[str]:
    """Yield an item's beginning, which posts and attachments share."""
    yield "<item>"
    yield f"<title>{cdata(title)}</title>"
    yield f"<link>{escaped(link)}</link>"
    yield f"<pubDate>{format_datetime(when)}</pubDate>"
    for name, date in (("post_date", when), ("post_modified", updated)):
        yield f"<wp:{name}><![CDATA[{_date(date)}]]></wp:{name}>"
        yield f"<wp:{name}_gmt><![CDATA[{_date(date.astimezone(UTC))}]]></wp:{name}_gmt>"
    yield f"<dc:creator>{cdata(login)}</dc:creator>"
    yield f'<guid isPermaLink="false">{escaped(guid)}</guid>'
    yield "<description></description>"
    yield f"<content:encoded>{cdata(body)}</content:encoded>"
    yield f"<excerpt:encoded>{cdata(excerpt)}</excerpt:encoded>"
    yield f"<wp:post_id>{number}</wp:post_id>"


def _last_users(posts: Posts, media: Media) -> dict[str, list[str]]:
    """Return the addresses of pictures by the post after which they are written, if the export has several files.

    After each file the importer replaces the addresses of that file's pictures in all its posts. It skips a picture
    that it knows from an earlier file, and no longer replaces it anywhere. So each is in one file, that of the last
    post that has it. One whose address begins that of another is not replaced before that one.
    """
    ids = posts.ids()
    last = {
        media.new_address(picture): (number, picture.asset.url)
        for number, post in enumerate(posts)
        for picture in media.pictures(post)
        if picture.source is not None
    }
    shorter: list[str] = []
    for address in sorted(last):
        while shorter and not address.startswith(shorter[-1]):
            shorter.pop()
        for other in shorter:
            last[other] = max(last[other][0], last[address][0]), last[other][1]
        shorter.append(address)
    found: defaultdict[str, list[str]] = defaultdict(list)
    for number, url in last.values():
        found[ids[number]].append(url)
    return found


def _logins(names: list[str]) -> dict[str, str]:
    """Return the login of each author by the name: the name itself if WordPress allows it, otherwise a made one."""
    found: dict[str, str] = {}
    taken = {""}
    for number, name in enumerate(names or [""], 1):
        login = name if _WORDPRESS_LOGIN.fullmatch(name) else _LOGIN
        while login.lower() in taken:
            login = f"{login}-{number}"
        taken.add(login.lower())
        found[name] = login
    return found


def _approval(found: PostComment) -> str:
    if found.visible:
        return "1"
    return "spam" if found.comment.status is CommentStatus.SPAM else "0"


def _path(category: Category) -> tuple[str, ...]:
    return (*category.parents, category.name)


def _term(taxonomy: str, nicename: str, name: str) -> str:
    return f'<category domain="{taxonomy}" nicename="{escaped(nicename)}">{cdata(name)}</category>'


def _meta(element: str, key: str, value: str) -> str:
    return (
        f"<{element}><wp:meta_key>{cdata(key)}</wp:meta_key><wp:meta_value>{cdata(value)}</wp:meta_value></{element}>"
    )


def _date(when: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M:%S}"


FORMAT: Final = Format(
    message("WordPress, Hatena (WXR 1.2)"),
    export,
    holds_back=True,
    drafts=True,
    splits=True,
    wordpress=True,
    names=wordpress_name,
    holds=EVERYTHING - {Part.MEMBERS, Part.PASSWORD},
)
