"""What is compared: posts as the archive expects them, and as a new home shows them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

from exporter.compare.picture_look import PictureLook


class Aspect(StrEnum):
    """What of a post is compared, by the names that reports and options have for it."""

    TITLE = "title"
    TEXT = "text"
    DATE = "date"
    STATUS = "status"
    SLUG = "slug"
    CATEGORY = "category"
    PICTURES = "pictures"
    LINKS = "links"
    COMMENTS = "comments"
    HELD_BACK = "held_back"
    """Drafts, private posts and held comments."""
    EXTRA = "extra"
    """Posts that the archive does not have."""


class Fault(StrEnum):
    """A kind of difference, as ``compare.json`` names it."""

    MISSING = "missing"
    """The post is not in the new home."""
    DUPLICATE = "duplicate"
    TITLE = "title"
    TEXT = "text"
    DATE = "date"
    STATUS = "status"
    SLUG = "slug"
    CATEGORY = "category"
    PICTURE_MISSING = "picture_missing"
    """A picture is not shown, or its address answers no picture."""
    PICTURE_CHANGED = "picture_changed"
    PICTURE_ON_OLD_HOST = "picture_on_old_host"
    PLAYER_MISSING = "player_missing"
    """It shows fewer videos, sounds and other embedded players."""
    LINE_BREAKS = "line_breaks"
    """Lines run together that were apart."""
    LINK_ON_OLD_HOST = "link_on_old_host"
    LINK_ASTRAY = "link_astray"
    """A link to another of the blog's posts does not lead there."""
    COMMENT_MISSING = "comment_missing"
    COMMENT_HELD = "comment_held"
    """It is there, and not shown."""
    COMMENT_CHANGED = "comment_changed"
    COMMENT_DUPLICATE = "comment_duplicate"
    COMMENT_SHOWN = "comment_shown"
    """It is hidden in the archive, and shown in the new home."""


class Difference(NamedTuple):
    """One difference, with what it was and what it is, as far as words can tell."""

    change: Fault
    before: str = ""
    after: str = ""


class ShownAs(StrEnum):
    """How a post is shown in the new home; ``PUBLISH``, ``DRAFT`` and ``PRIVATE`` as in exports."""

    PUBLISH = "publish"
    DRAFT = "draft"
    PRIVATE = "private"
    PASSWORD = "password"  # noqa: S105 - the word, not a secret
    """Listed, with its text behind a password."""


class When(NamedTuple):
    """When a post or comment is said to be written, in the new home.

    Attributes:
        shown: as the home shows it, without an offset; only a day where that is all it shows.
        instant: the moment in time, where the home tells.
    """

    shown: datetime | date
    instant: datetime | None = None


def day_of(when: When) -> date:
    """Return the day that a moment is shown with."""
    return when.shown.date() if isinstance(when.shown, datetime) else when.shown


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that an archived post shows, and that the archive holds.

    Attributes:
        address: where it was.
        sha256: of its bytes.
        width: in pixels; ``None`` where its header does not tell, like ``height``.
        name: the file name that exports give it, in lower case.
        source: its path inside the archive; empty if that is not known.
    """

    address: str
    sha256: str
    width: int | None
    height: int | None
    name: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class OldComment:
    """A comment of the archive, its writer's name, its title and its text as letters.

    ``days`` are those that it may be dated: its own, and the one that exports give it where it has no time. ``asked``
    is whether it was to be moved, be it to be held back.
    """

    name: str
    title: str
    text: str
    days: frozenset[date]
    visible: bool
    asked: bool

    @property
    def letters(self) -> str:
        """Its text as importers get it: the title is its first line."""
        return self.title + self.text


@dataclass(frozen=True, slots=True)
class OldPost:
    """An entry as it should have arrived.

    Attributes:
        id: in the archive.
        title: on one line.
        when: its date, with the blog's offset; ``None`` where the archive knows none.
        status: what it is to be.
        asked: whether it was to be moved; what was not is only looked for where it must not be shown.
        slugs: the names that exports give it in addresses, that of WordPress' file first.
        category: empty for none.
        texts: its body and its continuation as letters (:mod:`exporter.compare.texts`), in pieces between which
            exports write words of their own.
        pictures: those it shows, each once and in their order.
        comments: in their order.
        letters: all of its text as letters.
        unknown_pictures: how many pictures it shows that the archive does not have.
        players: the addresses of the videos, sounds and other players that it embeds, as they are written.
        starts: for each of ``texts``, where its lines begin, see :class:`~exporter.compare.texts.Lettered`.
        own_links: the ids of the posts that it links to.
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


@dataclass(frozen=True, slots=True)
class NewComment:
    """A comment of a new home; ``held`` means that it is not shown."""

    name: str
    letters: str
    when: When | None
    held: bool = False


@dataclass(frozen=True, slots=True)
class NewPost:
    """A post as a new home shows it.

    Attributes:
        key: names it: an id, an address or a path.
        titles: what may be its title; a page has its heading and its window's title.
        slug: its name in its address; empty where that cannot be told.
        when: ``None`` where the home does not say.
        status: how it is shown.
        names: its categories and tags.
        letters: its text as letters.
        whole: whether ``letters`` are those of the post and no more; those of a page may hold other things.
        pictures: the absolute addresses of the pictures it shows, in their order.
        links: the absolute addresses it leads to.
        comments: ``None`` where they are not told one by one.
        page: the letters of all of a page, where comments are looked for by their letters.
        article: whether it is a post for certain; a page may be a list or a text about the blog.
        players: how many videos, sounds and other players it embeds; ``None`` if that is not told.
        starts: where the lines of ``letters`` begin; ``None`` where that is not told.
        addresses: those that lead to it.
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


class PictureFacts(NamedTuple):
    """What an address of a picture answers: what its bytes are, or why there are none.

    Attributes:
        sha256: of its bytes; ``None`` where there are none, or where it was not asked.
        width: in pixels; ``None`` where its header does not tell, like ``height``.
        gone: why there is no picture, for certain; empty where there is one, or where it is not known.
        unknown: why it could not be looked at.
        look: what it looks like; ``None`` if it was not decoded, as its bytes are those of the archive.
    """

    sha256: str | None = None
    width: int | None = None
    height: int | None = None
    gone: str = ""
    unknown: str = ""
    look: PictureLook | None = None


@dataclass(frozen=True, slots=True)
class Unchecked:
    """Something that was not compared.

    Attributes:
        aspect: what.
        count: how many posts, comments, pictures or other things of that kind; 0 where that cannot be told.
        why: a sentence's end for people.
        asked: whether it was to be compared, so that the answer is not whole without it.
    """

    aspect: Aspect
    count: int
    why: str
    asked: bool = True


@dataclass(frozen=True, slots=True)
class HomeState:
    """All that was read of a new home.

    Attributes:
        kind: the kind of home, for people.
        posts: all that could be read.
        unchecked: what it does not show, or what of it could not be read.
        withheld: why drafts and private posts could not be read; empty where they could.
        partial: why there may be posts that were not found; empty where all were.
        host: its own, which does not die with the old blog, be it the same; empty where it has none.
        words: whether texts are letters, digits and symbols only, see :func:`~exporter.compare.texts.only_words`.
        categories: all that it has, if it shows each to everybody; else ``None``.
    """

    kind: str
    posts: Sequence[NewPost]
    unchecked: Sequence[Unchecked] = ()
    withheld: str = ""
    partial: str = ""
    host: str = ""
    words: bool = False
    categories: Sequence[str] | None = None


class Home(Protocol):
    """A new home that can be read: one file for each kind, see :mod:`exporter.compare.wordpress`."""

    async def read(self) -> HomeState:
        """Read all posts.

        Raises:
            NotAuthorised, ServiceError: the home failed as a whole.
            UsageError: there is nothing of the kind.
        """

    async def pictures(
        self, addresses: Sequence[str], held: Container[str] = frozenset()
    ) -> Mapping[str, PictureFacts]:
        """Look at pictures, each once; one that fails is an answer here."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be compared.

    Attributes:
        aspects: all but those that were left out by choice.
        fetch: whether pictures are looked at, and not their addresses alone.
        old_hosts: the hosts that die with the old blog, in lower case.
        old_look: returns what a picture of the archive looks like; ``None`` compares sizes alone.
    """

    aspects: frozenset[Aspect] = field(default_factory=lambda: frozenset(Aspect))
    fetch: bool = True
    old_hosts: frozenset[str] = frozenset()
    old_look: Callable[[Picture], PictureLook] | None = None
