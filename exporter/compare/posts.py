"""The posts to compare: as the archive expects them, and as a new home shows them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Final, NamedTuple, Protocol, Self

from exporter.message import Message, message
from exporter.model.records import CommentKind


class _Worded(StrEnum):
    """Names for options and reports, each with its words for people."""

    words: Message

    def __new__(cls, name: str, words: Message) -> Self:
        made = str.__new__(cls, name)
        made._value_ = name
        made.words = words
        return made


class Aspect(_Worded):
    """The parts of a post that are compared, by their names in reports and options."""

    TITLE = "title", message("title")
    TEXT = "text", message("text")
    DATE = "date", message("date")
    STATUS = "status", message("status")
    SLUG = "slug", message("slug")
    CATEGORY = "category", message("category")
    TAGS = "tags", message("tags")
    AUTHOR = "author", message("author")
    KIND = "kind", message("post or page")
    EXCERPT = "excerpt", message("excerpt")
    FEATURED = "featured_picture", message("featured picture")
    ADDRESS = "old_address", message("old address")
    PICTURES = "pictures", message("pictures")
    LINKS = "links", message("links")
    FORMATTING = "formatting", message("formatting")
    COMMENTS = "comments", message("comments")
    HELD_BACK = "held_back", message("held back")
    """Drafts, private posts and held comments."""
    EXTRA = "extra", message("extra")
    """Posts that the archive does not have."""


class Fault(_Worded):
    """A kind of difference, as ``compare.json`` names it."""

    MISSING = "missing", message("not in the new home")
    """The post is not in the new home."""
    DUPLICATE = "duplicate", message("duplicated")
    TITLE = "title", message("different title")
    TEXT = "text", message("different text")
    DATE = "date", message("different date")
    STATUS = "status", message("different visibility")
    SLUG = "slug", message("different slug")
    CATEGORY = "category", message("different category")
    TAGS = "tags", message("different tags")
    AUTHOR = "author", message("different author")
    KIND = "kind", message("a page as a post, or a post as a page")
    EXCERPT = "excerpt", message("different excerpt")
    FEATURED = "featured_picture", message("different featured picture")
    ADDRESS = "old_address", message("old address does not lead to the entry")
    PICTURE_MISSING = "picture_missing", message("pictures missing")
    """The post does not show a picture, or its address has none."""
    PICTURE_CHANGED = "picture_changed", message("different pictures")
    PICTURE_ON_OLD_HOST = "picture_on_old_host", message("pictures still on the old host")
    PLAYER_MISSING = "player_missing", message("videos or sounds missing")
    """It shows fewer videos, sounds and other embedded players."""
    LINE_BREAKS = "line_breaks", message("line breaks lost")
    """Two lines became one."""
    LINK_ON_OLD_HOST = "link_on_old_host", message("links to the old host")
    LINK_ASTRAY = "link_astray", message("links to own entries that lead elsewhere")
    """A link to another of the blog's posts does not lead there."""
    LINK_ELSEWHERE = "link_elsewhere", message("links that lead elsewhere or nowhere")
    """A link to another site or to a file does not lead there, or its words are no link."""
    BOLD = "bold", message("bold passages that are plain")
    ITALIC = "italic", message("italic passages that are plain")
    STRUCK = "struck", message("struck passages that are plain")
    UNDERLINED = "underlined", message("underlined passages that are plain")
    HIGHLIGHTED = "highlighted", message("highlighted passages that are plain")
    RAISED = "raised", message("raised passages that are plain")
    LOWERED = "lowered", message("lowered passages that are plain")
    CODE = "code", message("code that is plain")
    QUOTE = "quote", message("quotations that are plain")
    HEADING = "heading", message("headings that are plain or of another level")
    LIST = "list", message("list items that are plain, of another kind or of another depth")
    TABLE = "table", message("table cells that are plain")
    RUBY = "ruby", message("readings (ruby) that are plain")
    STYLED = "styled", message("coloured or resized passages that are plain")
    COMMENT_MISSING = "comment_missing", message("comments missing")
    COMMENT_HELD = "comment_held", message("comments held back")
    """The comment exists and is not shown."""
    COMMENT_CHANGED = "comment_changed", message("comments changed")
    COMMENT_DUPLICATE = "comment_duplicate", message("duplicate comments")
    COMMENT_SHOWN = "comment_shown", message("hidden comments shown")
    """The comment is hidden in the archive and shown in the new home."""
    COMMENT_PARENT = "comment_parent", message("comments that answer another one")
    """The comment answers another comment than in the archive, or none."""


class Difference(NamedTuple):
    """One difference, with its values before and after."""

    change: Fault
    before: str = ""
    after: str = ""


MarkKey = tuple[Fault, str]
"""A kind of mark, and what else must be equal, such as the level of a heading."""


class Linked(NamedTuple):
    """A link: its address, its words as letters, and whether it shows a picture."""

    address: str
    words: str
    picture: bool


class Marked(NamedTuple):
    """The marks and links of a text.

    Attributes:
        passages: the letters of each marked passage, by the kind of mark.
        links: the visible links.
        frames: the decoded addresses of frames.
    """

    passages: Mapping[MarkKey, tuple[str, ...]]
    links: tuple[Linked, ...] = ()
    frames: tuple[str, ...] = ()


_UNMARKED: Final = Marked({})


class ShownAs(StrEnum):
    """The visibility of a post in the new home; ``PUBLISH``, ``DRAFT`` and ``PRIVATE`` as in exports."""

    PUBLISH = "publish"
    DRAFT = "draft"
    PRIVATE = "private"
    PASSWORD = "password"  # noqa: S105 - the word, not a secret
    """Listed, with its text behind a password."""
    SCHEDULED = "scheduled"
    """Public from its date on."""


class When(NamedTuple):
    """The date of a post or comment in the new home.

    Attributes:
        shown: as the home shows it, without an offset; a day if it shows no time.
        instant: the moment in time; ``None`` if the home does not say.
    """

    shown: datetime | date
    instant: datetime | None = None


def day_of(when: When) -> date:
    """Return the shown day."""
    return when.shown.date() if isinstance(when.shown, datetime) else when.shown


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that an archived post shows and that the archive has.

    Attributes:
        address: its old address.
        sha256: of its bytes.
        width: in pixels; ``None`` if unknown, like ``height``.
        name: its file name in exports, in lower case.
        source: its path inside the archive; empty if unknown.
    """

    address: str
    sha256: str
    width: int | None
    height: int | None
    name: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class OldComment:
    """An archived comment, with the writer's name, the title and the text as letters.

    Attributes:
        days: its possible dates: its own, and the one that exports give a comment without a time.
        asked: whether the user asked to move it, even as a hidden comment.
        id: its id, by which others name it as their ``parent``.
        parent: the id of the comment that it answers; empty if it answers the entry.
        moment: when it was written, if its service states the time and more than a flag; else ``None``.
        kind: a comment, or a notice of another site.
        spam: whether its service calls it spam; ``None`` if it states no status.
        url: the address of its writer; ``None`` if its service states no status.
    """

    name: str
    title: str
    text: str
    days: frozenset[date]
    visible: bool
    asked: bool
    id: str = ""
    parent: str = ""
    moment: datetime | None = None
    kind: CommentKind = CommentKind.COMMENT
    spam: bool | None = None
    url: str | None = None

    @property
    def letters(self) -> str:
        """The text in the form of exports, whose first line is the title."""
        return self.title + self.text


@dataclass(frozen=True, slots=True)
class StatedParts:
    """The parts of an entry that only some services state.

    Attributes:
        audience: who may see it; ``None`` if every entry becomes a draft.
        categories: its categories, each after the names of those above it.
        tags: its tags.
        author: the name of its author.
        page: whether it is a page.
        excerpt: its excerpt as letters.
        featured: its featured picture, if the archive has it.
        permalink: the address that it had.
    """

    audience: ShownAs | None = None
    categories: tuple[tuple[str, ...], ...] = ()
    tags: tuple[str, ...] = ()
    author: str = ""
    page: bool = False
    excerpt: str = ""
    featured: Picture | None = None
    permalink: str = ""


@dataclass(frozen=True, slots=True)
class OldPost:
    """An entry in the form in which the new home must show it.

    Attributes:
        id: in the archive.
        title: on one line.
        when: its date, with the blog's offset; ``None`` if unknown.
        status: who may see it.
        asked: whether the user asked to move it. Other entries are only searched, because they must not be visible.
        slugs: its names in addresses of exports, that of the WordPress file first.
        category: empty for none.
        texts: its body and its continuation as letters (:mod:`exporter.compare.texts`), in pieces between which
            exports insert words.
        pictures: the pictures it shows, each once, in their order.
        comments: in their order.
        letters: the whole text as letters.
        unknown_pictures: the number of its pictures that the archive does not have.
        players: the unchanged addresses of the videos, sounds and other players that it embeds.
        starts: for each of ``texts``, the beginnings of its lines, see :class:`~exporter.compare.texts.Lettered`.
        own_links: the ids of the posts that it links to.
        stated: the parts that only some services state; ``None`` for other services.
        marked: its marks and its links, except those to its own posts. The address of a link that does not have to keep
            its address is empty, and that of a link inside the text is ``#``. ``None`` if it is too complex.
        given_name: the name in its address that a move reported, in the form of ``slugs``; empty without one.
    """

    id: str
    title: str
    when: datetime | None
    status: ShownAs
    asked: bool
    slugs: tuple[str, ...]
    category: str
    texts: tuple[str, ...]
    pictures: tuple[Picture, ...]
    comments: tuple[OldComment, ...]
    letters: str
    unknown_pictures: int = 0
    players: tuple[str, ...] = ()
    starts: tuple[frozenset[int] | None, ...] = ()
    own_links: tuple[str, ...] = ()
    stated: StatedParts | None = None
    marked: Marked | None = _UNMARKED
    given_name: str = ""


@dataclass(frozen=True, slots=True)
class NewComment:
    """A comment of a new home.

    Attributes:
        held: whether it is hidden.
        id: its number there; empty if the home does not say, like all that follows.
        parent: the number of the comment that it answers; empty for none, ``None`` if the home does not say.
        kind: the home's word for its kind.
        spam: whether it is held as spam.
        url: the address of its writer.
    """

    name: str
    letters: str
    when: When | None
    held: bool = False
    id: str = ""
    parent: str | None = None
    kind: str = ""
    spam: bool = False
    url: str = ""


@dataclass(frozen=True, slots=True)
class NewPost:
    """A post of a new home.

    Attributes:
        key: identifies it: an id, an address or a path.
        titles: its possible titles; a page has a heading and a window title.
        slug: its name in addresses; empty if unknown.
        when: its date; ``None`` if the home does not say.
        status: its visibility.
        names: its categories and tags.
        letters: its text as letters.
        whole: whether ``letters`` are exactly those of the post; those of a page may include other text.
        pictures: the absolute addresses of its pictures, in order.
        links: the absolute addresses it links to.
        comments: ``None`` if the home does not separate them.
        page: the whole page as letters, to search for comments.
        article: whether it certainly is a post; a page may be a list or a text about the blog.
        players: the number of videos, sounds and other players it embeds; ``None`` if unknown.
        starts: the beginnings of the lines in ``letters``; ``None`` if unknown.
        addresses: the addresses that lead to it.
        categories: its categories, each after the names of those above it; ``None`` if the home does not say, like all
            that follows.
        tags: its tags.
        author: the name of its author.
        is_page: whether it is a page.
        excerpt: its excerpt as letters.
        featured: the address of its featured picture; empty for none.
        aliases: addresses that redirect to it.
        marked: its marks and links, the latter with absolute addresses or ``#``; ``None`` if they could not be read.
    """

    key: str
    titles: tuple[str, ...]
    slug: str
    when: When | None
    status: ShownAs
    names: tuple[str, ...] | None
    letters: str
    whole: bool
    pictures: tuple[str, ...]
    links: tuple[str, ...]
    comments: tuple[NewComment, ...] | None = ()
    page: str = ""
    article: bool = True
    players: int | None = None
    starts: frozenset[int] | None = None
    addresses: tuple[str, ...] = ()
    categories: tuple[tuple[str, ...], ...] | None = None
    tags: tuple[str, ...] | None = None
    author: str | None = None
    is_page: bool | None = None
    excerpt: str | None = None
    featured: str | None = None
    aliases: tuple[str, ...] = ()
    marked: Marked | None = _UNMARKED


class PictureLook(NamedTuple):
    """The look of a picture.

    Attributes:
        light: the luminance of each cell, row by row; empty if it is not known.
        broken: why the picture does not decode; empty if it does, or if nothing tells.
        unknown: why the look is not known; empty if it is.
    """

    light: bytes = b""
    broken: str = ""
    unknown: str = ""


class PictureFacts(NamedTuple):
    """The facts of a picture in the new home, or the reason why it could not be read.

    Attributes:
        sha256: of its bytes; ``None`` if it was not read.
        width: in pixels; ``None`` if unknown, like ``height``.
        gone: why the address certainly has no picture; empty if it has one, or if that is unknown.
        unknown: why it could not be read; empty if it was.
        look: its look; ``None`` if it was not decoded because its bytes equal those in the archive.
    """

    sha256: str | None = None
    width: int | None = None
    height: int | None = None
    gone: str = ""
    unknown: str = ""
    look: PictureLook | None = None


@dataclass(frozen=True, slots=True)
class Unchecked:
    """A part that was not compared.

    Attributes:
        aspect: the part.
        count: the number of posts, comments or pictures without it; 0 if unknown.
        why: the reason, as the end of a sentence.
        asked: whether the user wanted it compared, so that the comparison is incomplete.
    """

    aspect: Aspect
    count: int
    why: str
    asked: bool = True


@dataclass(frozen=True, slots=True)
class Announced:
    """A difference that an export or move reported before, or that the kind of home always has.

    Attributes:
        aspect: the part.
        count: the number of posts with it.
        why: the reason, as the end of a sentence.
    """

    aspect: Aspect
    count: int
    why: str


@dataclass(frozen=True, slots=True)
class HomeState:
    """The content of a new home.

    Attributes:
        kind: the kind of home, for people.
        posts: all posts that could be read.
        unchecked: the parts that the home does not show or that could not be read.
        withheld: why drafts and private posts could not be read; empty if they could.
        partial: why some posts may not have been found; empty if all were.
        host: its own host, which never counts as an old host; empty for a folder.
        words: whether texts have letters, digits and symbols only, see :func:`~exporter.compare.texts.only_words`.
        categories: all its categories and tags if everybody can see them; else ``None``.
        authors: the names of all its users; ``None`` if it does not say.
        exact: whether it tells private posts, drafts and scheduled posts apart.
        strips_frames: whether it removes frames and scripts from the posts of the user who moves them.
    """

    kind: str
    posts: Sequence[NewPost]
    unchecked: Sequence[Unchecked] = ()
    withheld: str = ""
    partial: str = ""
    host: str = ""
    words: bool = False
    categories: Sequence[str] | None = None
    authors: Sequence[str] | None = None
    exact: bool = False
    strips_frames: bool = False


class Home(Protocol):
    """Reads a kind of new home, such as :mod:`exporter.compare.wordpress`."""

    async def read(self) -> HomeState:
        """Read all posts.

        Raises:
            NotAuthorised, ServiceError: the home failed as a whole.
            UsageError: it is no such home.
        """

    async def pictures(
        self, addresses: Sequence[str], held: Container[str] = frozenset()
    ) -> Mapping[str, PictureFacts]:
        """Return the facts of pictures; a failed request is a result here."""

    async def follow(self, addresses: Sequence[str]) -> Mapping[str, str]:
        """Return the targets of the old blog's addresses if their paths are requested from this home.

        The target is empty if the home has nothing there. An address without a known target is left out.
        """


@dataclass(frozen=True, slots=True)
class Scope:
    """The parts to compare.

    Attributes:
        aspects: the parts of a post.
        fetch: whether to read pictures; otherwise only their addresses are compared.
        old_hosts: the hosts that disappear with the old blog, in lower case.
        old_look: returns the look of an archived picture; with ``None`` only sizes are compared.
    """

    aspects: frozenset[Aspect] = field(default_factory=lambda: frozenset(Aspect))
    fetch: bool = True
    old_hosts: frozenset[str] = frozenset()
    old_look: Callable[[Picture], PictureLook] | None = None
