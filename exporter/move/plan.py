"""The wanted content of a WordPress: for each entry the fields of its post, its comments and its pictures. Pure.

The exports decide which entries are public and how names and texts change, so that a moved blog equals an imported one.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from exporter import lossless_json
from exporter.export import importer_rules
from exporter.export.importer_rules import nicenames
from exporter.export.interface import Side
from exporter.export.media import Media, PostPicture
from exporter.export.post_html import as_html, cleaned, comment_html, report_bodies
from exporter.export.posts import ExportPost, PostComment, Posts
from exporter.export.reasons import Reason
from exporter.export.report import Report
from exporter.html.embedded import Use, embedded, rewrite_addresses
from exporter.html.links import host_of
from exporter.html.text import collapse
from exporter.html.wordpress import Kept, without_pings
from exporter.model.publication import PostStatus
from exporter.move.home import comment_address, comment_agent, mark, post_key

STATUS: Final = {PostStatus.PUBLISH: "publish", PostStatus.DRAFT: "draft", PostStatus.PRIVATE: "private"}
_DIGEST_DIGITS: Final = 16
NOBODY: Final = "Anonymous"
"""WordPress' word for a commenter without a name. It refuses an empty one."""

_UNKNOWN_ADDRESS: Final = "127.0.0.1"
"""WordPress' value for an unknown IP address. Without it, it would record the address of this machine."""

Places = Mapping[str, str]
"""New addresses, by the SHA-256 of a picture or the id of an entry."""
Place = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class PlannedPost:
    """An entry that becomes a post.

    Attributes:
        post: the entry.
        key: identifies it in the new home.
        slug: its name in addresses.
    """

    post: ExportPost
    key: str
    slug: str

    @property
    def title(self) -> str:
        """Its title, without characters that no home takes."""
        return cleaned(self.post.title).text

    @property
    def when(self) -> str:
        """Its date in the form of the REST API."""
        return gmt(self.post.when)


@dataclass(frozen=True, slots=True)
class PlannedCategory:
    """A category: its name, the name as HTML, as WordPress stores it, and its slug."""

    name: str
    html: str
    slug: str


class Plan:
    """One side's posts in the form to send to WordPress. Iterate over it again and again.

    Args:
        posts: the entries; WordPress' rules make their names in addresses.
        report: gets each change that was necessary, once.

    Attributes:
        blog_id: the blog.
        public: whether all posts are public.
        categories: the categories by their names.
        pictures: the pictures to upload, by SHA-256.
        shown_in: the ids of the entries that show each of these pictures.
        linked: the number of links from public posts, by host.
        comments: the number of comments.
    """

    def __init__(self, posts: Posts, report: Report) -> None:
        self.blog_id = posts.blog_id
        self.public = posts.options.side is Side.PUBLIC
        self._posts = posts
        self._report = report
        self._entry_at: Place = lambda _: None
        self._media = Media(posts, self._new_home)
        self.categories = {name: _category(name, slug) for name, slug in nicenames(posts.categories()).items()}
        self.pictures: dict[str, PostPicture] = {}
        self.shown_in: dict[str, list[str]] = {}
        self.linked: Counter[str] = Counter()
        self.comments = 0
        for post in posts:
            self.comments += len(post.comments)
            if self.public:
                self.linked.update(filter(None, map(host_of, _links(post))))
            for picture in self._media.pictures(post):
                if picture.source is not None and picture.asset.sha256 is not None:
                    self.pictures.setdefault(picture.asset.sha256, picture)
                    self.shown_in.setdefault(picture.asset.sha256, []).append(post.id)

    def __len__(self) -> int:
        return len(self._posts)

    def __iter__(self) -> Iterator[PlannedPost]:
        for post in self._posts:
            yield PlannedPost(post, post_key(self.blog_id, post.id), unquote(self._posts.name(post.id)))

    def post_keys(self) -> Iterator[str]:
        """Yield the keys of all posts."""
        return (post_key(self.blog_id, entry_id) for entry_id in self._posts.ids())

    def account(self, post: ExportPost, uploaded: Container[str], links: Places, comments: int) -> None:
        """Report the outcome for an entry that has a post in the new home.

        Args:
            post: the entry.
            uploaded: the SHA-256 of the pictures in the new home.
            links: the addresses of posts by the ids of their entries.
            comments: the number of its comments in the new home.
        """
        names = {each.name for each in self._media.pictures(post) if each.asset.sha256 in uploaded}
        self._media.account(post, Reason.NOT_TAKEN, written=names, home=links.get)
        report_bodies(post, self._report, bodies=False)
        self._report.changed("entries", Reason.NOT_IN_IMPORTS, post.id, _unclean(post))
        most = importer_rules.CATEGORY_CHARACTERS
        if len(post.category) > most:
            self._report.changed("entries", Reason.CATEGORY_CUT.at(most), post.id)
        self._report.wrote(comments, post.category)

    def leave(self, post: ExportPost, why: Reason) -> None:
        """Report an entry without a post in the new home, and the reason."""
        self._report.left("entries", why, post.id)
        for each in post.comments:
            self._report.left("comments", Reason.ENTRY_LEFT_OUT, each.comment.id)

    def fields(self, planned: PlannedPost, pictures: Places, links: Places, categories: Mapping[str, int]) -> Fields:
        """Return the final fields of a post.

        Args:
            planned: the post.
            pictures: the addresses of pictures in the new home, by SHA-256.
            links: the addresses of posts, by the ids of their entries.
            categories: the numbers of categories, by name.
        """
        post = planned.post
        fixed = {
            "title": planned.title,
            "date_gmt": planned.when,
            "status": STATUS[post.status],
            "comment_status": "open" if post.record.comments_open else "closed",
            "ping_status": "open" if post.record.pings_open else "closed",
        }
        # The digest ignores addresses of the new home, whose changes need no update.
        plain = self._content(
            post,
            lambda sha256: f"file:{sha256}" if sha256 in pictures else None,
            lambda entry_id: f"entry:{entry_id}" if entry_id in links else None,
        )
        said = {**fixed, "content": plain.text, "category": post.category}
        digest = _digest(said)
        shown = self._content(post, pictures.get, links.get)
        self._report.changed("entries", Reason.COMMANDS_DEFUSED, post.id, shown.commands)
        return Fields(
            digest,
            {
                **fixed,
                "content": f"{without_pings(shown.text)}\n\n{mark(planned.key, digest)}",
                "categories": [categories[post.category]] if post.category in categories else [],
            },
        )

    def _content(self, post: ExportPost, picture_at: Place, entry_at: Place) -> Kept:
        self._entry_at = entry_at

        def resolve(address: str) -> str | None:
            picture = self._media.find(address)
            return self._media.new_home(address) if picture is None else picture_at(picture.asset.sha256 or "")

        style = self._posts.options.body_style
        body, more = (
            importer_rules.styled(cleaned(rewrite_addresses(as_html(text), resolve)).text, style)
            for text in (post.record.body, post.record.more)
        )
        lead = collapse(post.record.more_title)
        text = importer_rules.joined(body.text, more.text, lead, style) if more.text or lead else body.text
        return Kept(text, body.commands + more.commands)

    def _new_home(self, entry_id: str) -> str | None:
        return self._entry_at(entry_id)

    def comment(self, found: PostComment, post: int) -> Fields:
        """Return the fields for a comment on the post with a number, and report cut values."""
        author, url = importer_rules.commenter(found.comment, self._report)
        text = cleaned(comment_html(found.comment)).text
        said = {
            "author_name": author or NOBODY,
            "author_url": url,
            "content": text if text.strip() else f"{text}<!-- -->",
            "status": "approve" if found.visible else "hold",
        }
        # The digest ignores the sent date, which may shift by seconds if other comments come or go.
        own = found.comment.date
        digest = _digest({**said, "date": None if own is None else own.isoformat()})
        return Fields(
            digest,
            {
                **said,
                "post": post,
                "author_email": self.address(found),
                "author_ip": _UNKNOWN_ADDRESS,
                "author_user_agent": comment_agent(digest),
                "date_gmt": gmt(found.when),
            },
        )

    def address(self, found: PostComment) -> str:
        """Return the e-mail address that identifies a comment."""
        return comment_address(self.blog_id, found.comment.id)


class Fields(NamedTuple):
    """The fields to send for a post or comment, and a digest of their meaning."""

    digest: str
    values: Mapping[str, Any]


def _digest(said: Mapping[str, Any]) -> str:
    return hashlib.sha256(lossless_json.dumps(said)).hexdigest()[:_DIGEST_DIGITS]


def gmt(when: datetime) -> str:
    """Return a date in the form of the REST API."""
    return when.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds")


def _links(post: ExportPost) -> Iterator[str]:
    """Yield the addresses that a post links to."""
    for text in (post.record.body, post.record.more):
        yield from (found.text for found in embedded(as_html(text)) if found.use is Use.LINKED)


def _category(name: str, slug: str) -> PlannedCategory:
    return PlannedCategory(name, importer_rules.stored_name(name[: importer_rules.CATEGORY_CHARACTERS]), slug)


def _unclean(post: ExportPost) -> int:
    texts = (post.title, post.record.body, post.record.more)
    return sum(cleaned(text).characters for text in texts)
