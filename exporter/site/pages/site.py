"""A site during a build: the shared input of its pages, and the parts that several pages show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from markupsafe import Markup

from exporter.export.comment_index import UNDATED
from exporter.export.interface import RemotePage, ViewFile
from exporter.html.links import AddressPattern, absolute
from exporter.html.local_links import AssetMap
from exporter.html.page_body import BodyWriter
from exporter.html.picture_rows import bounded_ratio
from exporter.html.picture_words import picture_words
from exporter.html.remote_body import Answers, MadeBodies, Shared, answers_for, has_nothing_at, html_and_texts
from exporter.html.text import plain_text
from exporter.model.asset import openable
from exporter.model.kinds import Kind
from exporter.site.captured import CapturedPages
from exporter.site.catalogue import (
    Catalogue,
    StoredPicture,
    StoredPictures,
    anchor_name,
    fingerprint,
    one_line,
    safe_name,
)
from exporter.site.changes import ChangeWriter
from exporter.site.facts import SiteFacts
from exporter.site.post_list import PostSummary
from exporter.site.searched import OtherText, Searched
from exporter.site.templating import PageRenderer, Parts, Shell, escaped, root_of
from exporter.site.thumbnails import Thumbnails
from exporter.text import visible
from exporter.translation import translated, translator

if TYPE_CHECKING:
    from exporter.export.interface import RecordSource
    from exporter.export.posts import Visibility
    from exporter.model.records import Comment, Post, Raw
    from exporter.service.interface import Records
    from exporter.site import SiteOptions
    from exporter.site.history import ArchiveHistory
    from exporter.site.library import Library

_MAX_NAME_CHARACTERS: Final = 200
MAX_CHANGES: Final = 300
"""Changes shown on a version's page, entries first."""
MAX_TAG_PAGES: Final = 2_000
"""With more tags, only those of several entries have pages."""
_MAX_SEARCHED: Final = 200
"""Entries whose texts wait for their chunk of the search: those of a chunk, and of the pages made before it."""


class ShownComment(NamedTuple):
    """A comment on pages: the target of links to it, its HTML, and its writer."""

    anchor: str
    html: Markup
    name: str


class Site:
    """One site.

    Attributes:
        options: the options of the site.
        t: translates a sentence of the interface and fills it.
        parts: writes frequent parts, such as comments.
        dates: writes dates.
        changes: writes what changed in records.
        catalogue: the entries and comments.
        pictures: the stored pictures.
        bodies: turns bodies into HTML, in the site of one blog.
        library: the blogs, if there are several.
        blogs: in a library, the entries by the number of their blog; else empty.
        facts: the stored facts about the records and the search.
        owners: the service's names for the user of the backup.
        tags: the entries of each tag, the most used tag first.
        authors: the entries of each writer, if the blog has several; else empty.
        searched: for the search, the texts of just written entry pages, by the entry's id.
        captured: the captures of the blog's public pages.
        visibility: decides which entries are public; ``None`` if that is not known.
        removals: the dates and numbers of comments that were removed on request, by entry.
        has_calendar: whether the site has a calendar, which is made before the page that names it.
    """

    def __init__(
        self,
        records: RecordSource,
        service: Records,
        history: ArchiveHistory | None,
        options: SiteOptions,
        facts: SiteFacts | None = None,
        thumbnails: Thumbnails | None = None,
        captured: CapturedPages | None = None,
        visibility: Visibility | None = None,
        library: Library | None = None,
        removals: Mapping[str, Sequence[tuple[str, int]]] | None = None,
    ) -> None:
        self.options = options
        self.removals = removals or {}
        self.visibility = visibility
        self.has_calendar = False
        self.captured = CapturedPages() if captured is None or options.public else captured
        self.facts = SiteFacts(records) if facts is None else facts
        self.t = translator(options.language)
        self.library = library
        self.parts = Parts(options.language, service.timezone, () if library is None else library.blogs)
        self.dates = self.parts.dates
        self.changes = ChangeWriter(service, options.language, self.dates)
        base = f"https://{records.blog_id}/"
        patterns = [AddressPattern(text, "entry_url") for text in options.entry_addresses]
        users = [one_line(service.user(raw).name) for _, raw in records.scan(Kind.USER)]
        self.owners = sorted(filter(None, users))
        assets = [raw for _, raw in records.scan(Kind.ASSETS)]
        if library is not None:  # if two records have the same address, the one with a file counts
            assets.sort(key=lambda raw: raw.get("sha256") is not None)
        self.catalogue = Catalogue(records, service, self.facts, patterns, base, history, self.captured, library)
        self.pictures = StoredPictures(assets, Thumbnails() if thumbnails is None else thumbnails, options.assets)
        self._assets, self._base = AssetMap(assets, base), base
        self._words: dict[str, str] = {}
        self.bodies = self._bodies(self._assets.local_path)
        self._bodies_of = {} if library is None else self._bodies_of_blogs(library)
        self.searched: dict[str, Searched] = {}
        self.tags, authors = self.catalogue.by_tag(), self.catalogue.by_author()
        self.authors = authors if len(authors) > 1 else {}
        self.blogs = {} if library is None else self.catalogue.posts.grouped(lambda post: post.blogs)
        lists = {
            "blogs": self.blogs,
            "pages": self.catalogue.pages(),
            "tags": self.tags,
            "authors": self.authors,
            "history": library is None and not options.public,
        }
        self._renderer = PageRenderer(
            options, records.blog_id, self.parts, {name for name, any_ in lists.items() if any_}
        )

    def tag_page(self, tag: str) -> str:
        """Return the path of the page that shows a tag's entries.

        In a blog with thousands of tags, a tag with a single entry has no page. Its entry's page is returned instead.
        """
        posts = self.tags[tag]
        return posts[0].page if len(posts) == 1 and len(self.tags) > MAX_TAG_PAGES else _hashed_page("tag", tag)

    @cached_property
    def entries_said(self) -> list[str]:
        """The number of entries, and how many of them are gone from the service or private, as sentences."""
        posts = self.catalogue.dated
        marks = Counter(
            mark for post in posts for mark in (post.gone_in is not None and "gone", post.private and "private") if mark
        )
        said = [self.t("Entries: {n}", n=len(posts))]
        if marks["gone"]:
            said.append(self.t("{n} of them deleted at the service", n=marks["gone"]))
        if marks["private"]:
            said.append(self.t("{n} of them private", n=marks["private"]))
        return said

    def say(self, text: str) -> str:
        """Return a message in the site's language."""
        return translated(text, self.options.language)

    def file(
        self, path: str, template: str, parts: Sequence[bytes | str], context: Callable[[], dict[str, Any]]
    ) -> ViewFile:
        """Return a page whose context is only made when one of the parts of its fingerprint has changed."""
        return ViewFile(
            path,
            fingerprint(template, self.options.title, *parts),
            lambda: self._renderer.render(template, path, **context()),
        )

    def bodies_of(self, record_id: str) -> BodyWriter:
        """Return the body writer for an entry or a comment: that of its blog."""
        return self.bodies if self.library is None else self._bodies_of[self.library.blog_of(record_id).key]

    def _bodies(self, local_path: Callable[[str], str | None], base: str = "") -> BodyWriter:
        page_of = self.catalogue.page_of
        return BodyWriter(
            local_path,
            base or self._base,
            self.options.language,
            prefix=self.options.assets,
            page_of=(lambda address: page_of(absolute(address, base) or "")) if base else page_of,
            picture=self.pictures.drawn,
        )

    def _bodies_of_blogs(self, library: Library) -> dict[str, BodyWriter]:
        """Return a writer for each blog: its own files come before those of other blogs at the same address."""
        stored: dict[str, list[Raw]] = {blog.key: [] for blog in library.blogs}
        for asset_id, raw in library.scan(Kind.ASSETS):
            stored[library.blog_of(asset_id).key].append(raw)

        def local(own: AssetMap) -> Callable[[str], str | None]:
            return lambda address: own.local_path(address) or self._assets.local_path(absolute(address, own.base) or "")

        return {
            blog.key: self._bodies(local(AssetMap(stored[blog.key], blog.base)), blog.base) for blog in library.blogs
        }

    def stored_picture(self, address: str) -> StoredPicture | None:
        """Return the stored picture at an address in an entry; ``None`` if the archive lacks it."""
        path = self._assets.local_path(address)
        return None if path is None else self.pictures.by_path.get(path)

    def bodies_at(self, history: ArchiveHistory, version: int) -> BodyWriter:
        """Return the renderer for bodies with the pictures in a version, some of which were replaced later."""

        def local_path(address: str) -> str | None:
            found = self._assets.find(address)
            return None if found is None else history.file_at(found.url, version) or found.path

        return self._bodies(local_path) if history.replaced else self.bodies

    def past_frame(self) -> ViewFile:
        """Return the script that draws the frame around pages from the past."""
        made = self._renderer.frame_script()
        return ViewFile("data/frame.js", fingerprint("frame", made), lambda: made)

    def written(
        self,
        post: PostSummary,
        parts: Sequence[bytes | str],
        sources: Callable[[], list[str]],
        write: Callable[[Shell, MadeBodies | None], str],
    ) -> ViewFile:
        """Return an entry's page, written without a template if one of the parts has changed.

        Args:
            post: the entry.
            parts: the parts of the page's fingerprint.
            sources: returns the bodies. Another process can make them, which is half of the work.
            write: returns the page. It gets these bodies if they are made, in the same order.
        """
        root = root_of(post.page)

        def render(made: MadeBodies | None = None) -> bytes:
            shell = self._renderer.shell(root, "pages" if post.is_page else "years")
            return visible(write(shell, made))[0].encode()

        def sent() -> tuple[str, str, list[str], Answers]:
            bodies, texts = self.bodies_of(post.id), sources()
            return bodies.base, root, texts, answers_for(bodies, texts)

        def finish(result: tuple[MadeBodies, list[str]]) -> bytes:
            made, unknown = result
            return render(made if has_nothing_at(self.bodies_of(post.id), unknown) else None)

        remote = RemotePage(Shared(self.options.language, self.options.assets), html_and_texts, sent, finish)
        return ViewFile(post.page, fingerprint("entry.html", self.options.title, *parts), render, remote)

    def keep_searched(self, entry_id: str, texts: Searched) -> None:
        """Keep the texts of an entry whose page was just made, for the chunk of the search that follows soon."""
        self.searched[entry_id] = texts
        if len(self.searched) > _MAX_SEARCHED:
            del self.searched[next(iter(self.searched))]

    def ratio(self, picture: StoredPicture) -> float:
        """Return the width-to-height ratio of a shown picture in a row."""
        return bounded_ratio(self.pictures.drawn(picture.path).size)

    def words_of(self, picture: StoredPicture) -> str:
        """Return an uploaded picture's description by a person; empty if it has none."""
        for file_id in picture.files:
            if file_id not in self._words:
                raw = self.catalogue.records.load(Kind.FILES, file_id)
                file = None if raw is None else self.catalogue.service.upload(raw)
                told = () if file is None else (file.alt, file.title, file.description)
                found = (picture_words(one_line(text or ""), picture.url) for text in told)
                self._words[file_id] = next(filter(None, found), "")
            if self._words[file_id]:
                return self._words[file_id]
        return ""

    def linked_picture(self, picture: StoredPicture, name: str, root: str, *, described: bool) -> str:
        """Return a picture as HTML, as a link to itself if browsers can open it safely.

        Args:
            picture: the picture.
            name: its alternative text.
            root: the way to the site's folder.
            described: whether a person wrote its alternative text.
        """
        drawn = self.pictures.drawn(picture.path)
        sides = ' width="{}" height="{}"'.format(*drawn.size) if drawn.size else ""
        mark = "" if described else ' class="unnamed"'
        shown = f'<img src="{escaped(root + drawn.source)}" alt="{escaped(name)}" loading="lazy"{sides}{mark}>'
        if openable(picture.path):
            shown = f'<a href="{escaped(f"{root}{self.options.assets}{picture.path}")}" data-zoom>{shown}</a>'
        return shown

    def shots(self, pictures: Iterable[StoredPicture], root: str) -> str:
        """Return pictures in a row, as the items of a list; ``root`` is the way to the site's folder."""
        parts = []
        for number, picture in enumerate(pictures, 1):
            words = self.words_of(picture)
            name = words or self.t("Picture {n}", n=number)
            shown = self.linked_picture(picture, name, root, described=bool(words))
            parts.append(f'<li style="--r:{self.ratio(picture)}" data-item>{shown}</li>\n')
        return "".join(parts)

    def badges_then(self, entry: Post) -> Markup:
        """Return the badge for who could read an earlier state of an entry."""
        facts = self.catalogue.shown(entry)
        name = facts.access if entry.audience is not None else ""
        return Markup(self.parts.audience(private=facts.private, name=name))  # noqa: S704  escaped there

    def year_name(self, year: str) -> str:
        """Return the name of a year or of :data:`~exporter.export.comment_index.UNDATED`."""
        return self.t("Entries without a date") if year == UNDATED else self.dates.year(year)

    def shown(self, comment: Comment, page: str) -> ShownComment:
        """Return a comment as a page shows it."""
        name = one_line(comment.name)
        text = self.bodies_of(comment.id).html(comment.text, root_of(page))
        html = self.parts.comment(
            comment, text, own=bool(name) and name in self.owners, marks=self._blogs_of_comment(comment)
        )
        return ShownComment(
            f"comment-{anchor_name(comment.id)}", html, name[:_MAX_NAME_CHARACTERS] or self.t("(no name)")
        )

    def other_texts(self, post: PostSummary) -> list[OtherText]:
        """Return the texts of a moved entry that differ from the shown one, with their blogs."""
        if self.library is None or len(post.blogs) < 2:
            return []
        shown, *others = (
            OtherText(copy.blog, copy.post, plain_text(f"{copy.post.body}\n{copy.post.more}", quiet=True))
            for copy in self.library.copies(post.id)
        )
        return [each for each in others if each.text.split() != shown.text.split()]

    def _blogs_of_comment(self, comment: Comment) -> str:
        """Return the marks of the blogs that have a comment on a moved post; nothing if they all do."""
        post = None if self.library is None else self.catalogue.by_id.get(comment.post_id)
        if self.library is None or post is None:
            return ""
        numbers = [blog.number for blog in self.library.blogs_of_comment(comment.id)]
        return "" if len(numbers) == len(post.blogs) else self.parts.blogs(numbers)


def listed(posts: Iterable[PostSummary]) -> bytes:
    """Return one fingerprint for the facts that lists show of these entries."""
    return changing(post.listed for post in posts)


def changing(identities: Iterable[bytes]) -> bytes:
    """Return one fingerprint for several of equal length."""
    digest = sha256()
    for each in identities:
        digest.update(each)
    return digest.digest()


def category_page(path: tuple[str, ...]) -> str:
    """Return the path of a category's page. The names lead from its outermost parent to itself.

    Names may hold any character but control characters, so the path has a hash.
    """
    return _hashed_page("category", "\0".join(path))


def author_page(name: str) -> str:
    """Return the path of the page that shows a writer's entries."""
    return _hashed_page("author", name)


def blog_page(key: str) -> str:
    """Return the path of the page that shows the entries of one blog in a library."""
    return _hashed_page("blog", key)


def _hashed_page(folder: str, name: str) -> str:
    return f"{folder}/{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}.html"


def year_page(year: str) -> str:
    """Return the path of a year's page."""
    return f"year/{year}.html"


def state_page(entry_id: str, version: int) -> str:
    """Return the path of the page that shows an entry as a version holds it."""
    return f"history/entry-{safe_name(entry_id)}-v{version}.html"


def version_page(number: int) -> str:
    """Return the path of a version's page."""
    return f"history/version-{number}.html"


def entry_anchor(entry_id: str) -> str:
    """Return the anchor of an entry on the page of a version that changed it."""
    return f"entry-{safe_name(entry_id)}"


def entry_history_page(entry_id: str) -> str:
    """Return the path for the history page of an entry whose history is on several version pages."""
    return f"history/entry-{safe_name(entry_id)}.html"


def whole_history_version(history: ArchiveHistory, entry_id: str, at: int | None = None) -> int | None:
    """Return the version whose page shows an entry's whole history, up to some version or until today.

    There is one if the entry changed only once, and the page of that version shows all its changes. Most entries change
    once. Separate history pages for them would take half as much space as the pages of their states.
    """
    version = history.only_change(entry_id, at)
    return version if version and len(history.changed_in(Kind.ENTRIES, version)) <= MAX_CHANGES else None


def life_link(history: ArchiveHistory, entry_id: str) -> str:
    """Return the address of the changes of an entry."""
    version = whole_history_version(history, entry_id)
    return entry_history_page(entry_id) if version is None else f"{version_page(version)}#{entry_anchor(entry_id)}"
