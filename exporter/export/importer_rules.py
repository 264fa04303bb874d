"""What importers of whole blogs refuse, cut or drop: long texts, active parts, names, dates and numbers twice. Pure.

The lengths are those of WordPress' tables (``wp_posts``, ``wp_terms``, ``wp_comments``). WordPress refuses a row with
one value that is too long, so a long author name would lose the whole comment.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from html import escape, unescape
from sys import maxsize
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from exporter.export.interface import Content, Copy
from exporter.export.media import Copies, Media, PostPicture
from exporter.export.names import CHANGED_BY_WORDPRESS, NAME_BYTES
from exporter.export.post_html import as_html, cleaned, comment_html, report_bodies
from exporter.export.post_names import held_name
from exporter.export.posts import ExportPost, Posts
from exporter.export.reasons import Reason
from exporter.export.report import Report
from exporter.export.targets import Matter, Target
from exporter.html.links import commenter_link
from exporter.html.ready import ready
from exporter.html.text import collapse
from exporter.html.tree import too_complex, too_large
from exporter.html.wordpress import Kept, block, blocks, field_html, kept, more_block, more_mark
from exporter.model.publication import Cause, PostStatus
from exporter.model.records import Category, Comment
from exporter.text import visible

CATEGORY_CHARACTERS: Final = 200
TEXT_BYTES: Final = 65_535
"""Titles of entries, texts of comments."""

_AUTHOR_BYTES: Final = 245
"""What WordPress itself allows for the 255 bytes of the column."""

_URL_CHARACTERS: Final = 200
_EMAIL_CHARACTERS: Final = 100
_EMAIL: Final = re.compile(r"[^\s@<>\"(),:;]+@[^\s@<>\"(),:;]+")
_ACTIVE: Final = re.compile(r"<(?:script|iframe|object|embed|form)\b", re.IGNORECASE)


ToHtml = Callable[[str], str]
"""Writes a text as HTML."""


class ImportFile:
    """The shared part of the writers for such importers.

    Attributes:
        copies: the pictures taken until now, if requested.
        html: writes titles and names as HTML for the target.
    """

    def __init__(self, posts: Posts, html: ToHtml = escape) -> None:
        self.posts = posts
        self.options = posts.options
        self.report = posts.report
        self.media = Media(posts)
        self.dates = UniqueDates()
        self.html = html
        self.copies: list[Copy] = []
        self._copies = Copies(posts.report)

    def begin(self, post: ExportPost, pictures: Reason | None = None) -> datetime:
        """Report the known changes and refusals by importers for a post, and return its date, made unique.

        Args:
            post: the post.
            pictures: why the bytes of pictures are not in the file; see :meth:`~exporter.export.media.Media.account`.
        """
        when = self.dates.fit(post.title, post.when)
        self.report.changed("entries", Reason.DATE_MOVED, post.id, int((when - post.when).total_seconds()))
        self.media.account(post, pictures)
        report_bodies(post, self.report, bodies=False)
        if not post.title:
            self.report.limit(Reason.NO_TITLE, post.id)
        if size(stored_name(post.title)) > TEXT_BYTES:
            self.report.limit(Reason.TITLE_LONG.at(TEXT_BYTES), post.id)
        if any(_ACTIVE.search(ready(text)) for text in (post.record.body, post.record.more)):
            self.report.limit(Reason.ACTIVE, post.id)
        if self.options.target is not None:
            self._mind(post, self.options.target)
        return when

    def body(self, html: str, post: ExportPost) -> str:
        """Return a part of a post's body with the addresses of the new home."""
        made = styled(self.media.rewritten(as_html(html)), self.options.body_style)
        self.report.changed("entries", Reason.COMMANDS_DEFUSED, post.id, made.commands)
        return made.text

    def clean(self, what: str, post: ExportPost, text: str) -> str:
        """Return the title or body of a post without characters that XML cannot hold."""
        made = cleaned(text)
        self.report.changed("entries", Cause(Reason.NOT_IN_XML_OF, what), post.id, made.characters)
        return made.text

    def _mind(self, post: ExportPost, target: Target) -> None:
        """Report the parts that the target does not keep or is not confirmed to keep."""
        if 0 < target.title_characters < len(post.title):
            self.report.limit(Reason.TITLE_OVER.at(target.title_characters), post.id)
        moved = self.options.media_base_url or self.options.media_folder
        has = {
            Matter.COMMENTS: bool(post.comments),
            Matter.PICTURES: not moved and any(each.source is not None for each in self.media.pictures(post)),
            Matter.DRAFTS: post.status is PostStatus.DRAFT,
            Matter.CATEGORIES: bool(post.category),
            Matter.TAGS: bool(post.tags),
            Matter.SLUGS: bool(post.record.slug),
        }
        for matter in filter(has.get, has):
            kept = target.keeps(matter)
            if not kept:
                why = Reason.NOT_SURE if kept is None else Reason.NOT_KEPT
                self.report.limit(Cause(why, matter, target.title), post.id)

    def take(self, pictures: list[PostPicture]) -> None:
        """Add pictures to the copies, if requested."""
        if self.options.media_folder:
            self.copies += self._copies.of(pictures)


def styled(html: str, style: str) -> Kept:
    """Return a part of a body in the form for WordPress and the number of commands that were neutralised.

    Args:
        html: with the addresses of the new home.
        style: as :attr:`~exporter.export.interface.ExportOptions.body_style` has it.
    """
    if style == "plain" or not html.strip():
        return Kept(html, 0)
    if style == "blocks" and not too_large(html) and not too_complex(html):
        return Kept("\n\n".join(blocks(html)), 0)
    made = kept(html)
    return Kept(block("html", made.text), made.commands)


def joined(body: str, more: str, lead: str, style: str) -> str:
    """Return both parts of a post's body in the form of :func:`styled` with the link between them.

    Args:
        body: the first part.
        more: the other one.
        lead: the link text on one line.
        style: see :func:`styled`.
    """
    label = field_html(cleaned(lead).text)
    return f"{body}\n{more_mark(label) if style == 'plain' else more_block(label)}\n{more}"


def comment_text(comment: Comment, html: ToHtml = field_html) -> str:
    """Return a comment as :func:`~exporter.export.post_html.comment_html`, whose title WordPress shows unchanged."""
    title, text = collapse(comment.title), comment_html(replace(comment, title=""))
    return f"<b>{stored_name(title, html)}</b><br>\n{text}" if title else text


def commenter(comment: Comment, report: Report, html: ToHtml = field_html) -> tuple[str, str]:
    """Return a commenter's name in HTML and address; the name is cut or the address omitted if WordPress refuses it."""
    author, url = collapse(comment.name), commenter_link(comment.url) or ""
    name = _cut(author, html, _AUTHOR_BYTES, size)
    if name != stored_name(author, html):
        report.changed("comments", Reason.NAME_CUT.at(_AUTHOR_BYTES), comment.id)
    if len(url) > _URL_CHARACTERS:
        url = ""
        report.changed("comments", Reason.ADDRESS_CUT.at(_URL_CHARACTERS), comment.id)
    return name, url


def commenter_email(comment: Comment, report: Report) -> str:
    """Return a commenter's mail address, or an empty text if it is none or WordPress would refuse the comment."""
    email = cleaned(comment.email.strip()).text
    if len(email) > _EMAIL_CHARACTERS:
        report.changed("comments", Reason.EMAIL_CUT.at(_EMAIL_CHARACTERS), comment.id)
        return ""
    return email if _EMAIL.fullmatch(email) else ""


def stored_name(name: str, html: ToHtml = field_html) -> str:
    """Return a title or a name as WordPress stores it in HTML.

    WordPress strips anything like a tag or a percent-encoded byte from the names of categories and commenters, and
    refuses an empty one.
    """
    return html(_clean(name))


def term_name(name: str, html: ToHtml = field_html) -> str:
    """Return the name of a category or tag as WordPress stores it in HTML, cut between characters to its column."""
    return _cut(name, html, CATEGORY_CHARACTERS, len)


def is_term_cut(name: str) -> bool:
    """Return whether :func:`term_name` cuts a name."""
    return len(name) > CATEGORY_CHARACTERS or len(stored_name(name)) > CATEGORY_CHARACTERS


def _cut(name: str, html: ToHtml, most: int, length: Callable[[str], int]) -> str:
    """Return the HTML of the longest beginning of a name whose length is at most ``most``."""
    clean = _clean(name)[: most + 1]  # no character is shorter as HTML
    if length(html(clean)) > most:
        end = bisect_left(range(len(clean)), most + 1, key=lambda end: length(html(clean[:end])))
        clean = clean[: end - 1]
    return html(clean)


def _clean(name: str) -> str:
    """Return a name without characters that XML cannot hold, like :func:`~exporter.export.post_names.held_name`."""
    return cleaned(held_name(name)).text


_MARKUP: Final = re.compile(r"<(?=[a-zA-Z/!?])|&(?=(#?[0-9a-zA-Z]{1,32};?))")


def markup_escaped(text: str) -> str:
    """Return text as HTML in which only ``<`` and ``&`` before what HTML would read as markup are escaped.

    It reads the same as text and as HTML unless it has something like a tag or a character reference, as few titles do.
    """
    return _MARKUP.sub(_escaped_mark, text)


def _escaped_mark(found: re.Match[str]) -> str:
    if found[0] == "<":
        return "&lt;"
    return "&amp;" if unescape(f"&{found[1]}") != f"&{found[1]}" else "&"


def size(text: str) -> int:
    """Return the number of bytes of a text."""
    return len(text.encode("utf-8", "replace"))


_KATAKANA: Final = {code: code - 0x60 for code in range(0x30A1, 0x30F7)}
_SMALL: Final = str.maketrans("ぁぃぅぇぉっゃゅょゎゕゖ", "あいうえおつやゆよわかけ")
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,14}")


class UniqueDates:
    """Moves a post by seconds until no post before it has its title and its date.

    WordPress drops a post whose title and date it knows, comparing titles as its database does: without regard to case,
    accents, width or kind of kana. A post without a title, or with 0 for one, is dropped when any post has its date.
    """

    def __init__(self) -> None:
        self._taken: set[tuple[str, int]] = set()

    def fit(self, title: str, when: datetime) -> datetime:
        """Return the date to write."""
        key = "" if title == "0" else _folded(title)
        second = int(when.timestamp())
        while (key, second) in self._taken:
            second += 1
        self._taken |= {(key, second), ("", second)}
        return when + timedelta(seconds=second - int(when.timestamp()))


def _folded(title: str) -> str:
    plain = unicodedata.normalize("NFKD", title).casefold().translate(_KATAKANA).translate(_SMALL)
    return "".join(char for char in plain if char.isalnum()) or plain.strip()


_NUMBER_BYTES: Final = 12
"""Space for a hyphen and the number that makes a name unique."""

_NAMING: Final = re.compile(r"[a-z0-9%]")
"""WordPress keeps these in a nicename, and drops a category whose nicename contains none of them, such as ``...``."""


def nicenames(names: Iterable[str]) -> dict[str, str]:
    """Return unique names of categories or tags for addresses: WordPress merges two with the same nicename."""
    return {path[-1]: name for path, name in category_nicenames(map(Category, names)).items()}


def category_nicenames(categories: Iterable[Category]) -> dict[tuple[str, ...], str]:
    """Return unique names for addresses by the names of the parents and the category; a free own one is kept."""
    found: dict[tuple[str, ...], str] = {}
    taken: set[str] = set()
    numbers: Counter[str] = Counter()
    for category in categories:
        base = next((name for name in (unquote(category.slug), category.name) if _NAMING.search(nicename(name))), "")
        base = base or "category"
        wanted = name = nicename(base)
        while wanted in taken:
            numbers[name] += 1
            wanted = f"{nicename(base, NAME_BYTES - _NUMBER_BYTES)}-{numbers[name] + 1}"
        taken.add(wanted)
        found[*category.parents, category.name] = wanted
    return found


def nicename(category: str, most: int = NAME_BYTES) -> str:
    """Return a category's name for addresses: percent-encoded as WordPress does, with a limited number of bytes.

    A hyphen replaces what WordPress would drop. With names that it changes, it would find the category of another name.
    """
    name = ""
    for char in visible(unicodedata.normalize("NFC", category.lower()))[0]:
        piece = "-" if CHANGED_BY_WORDPRESS.search(char) else quote(char).lower()
        if piece == "-" and name[-1:] in {"", "-"}:
            continue
        if len(name) + len(piece) > most:
            break
        name += piece
    return name.rstrip("-")


class Numbers:
    """Integers for records: a numeric id is kept, others get numbers above the largest.

    Attributes:
        beyond: a round number above all of them, from which more can be counted.
    """

    def __init__(self, ids: Iterable[str]) -> None:
        largest = 0
        self._others: dict[str, int] = {}
        for record_id in ids:
            if _NUMBER.fullmatch(record_id):
                largest = max(largest, int(record_id))
            else:
                self._others[record_id] = 0
        for number, record_id in enumerate(self._others, largest + 1):
            self._others[record_id] = number
        self.beyond = int(10 ** len(str(largest + len(self._others))))

    def of(self, record_id: str) -> int:
        """Return a record's number."""
        return self._others.get(record_id) or int(record_id)


class EntryData(NamedTuple):
    """An entry as a file holds it."""

    entry_id: str
    data: bytes


class Frame(NamedTuple):
    """The text before and after the entries in each file."""

    head: bytes = b""
    tail: bytes = b""


def split(posts: Posts, name: str, ending: str, frame: Frame, entries: Iterator[EntryData]) -> Iterator[Content]:
    """Yield one file, or numbered files if a limit is set; an entry above the limit gets a separate file."""
    name = f"{name}-{posts.options.label}"
    is_limited = posts.options.max_entries or posts.options.max_bytes
    most, most_bytes = (limit or maxsize for limit in (posts.options.max_entries, posts.options.max_bytes))
    following = next(entries, None)

    def part() -> Iterator[bytes]:
        nonlocal following
        size, count = len(frame.head) + len(frame.tail), 0
        yield frame.head
        while (entry := following) is not None:
            size += len(entry.data)
            if count and (count >= most or size > most_bytes):
                break
            count += 1
            if size > most_bytes:
                posts.report.limit(Reason.FILE_LARGE, entry.entry_id)
            following = next(entries, None)
            yield entry.data
        yield frame.tail

    number = 1
    while number == 1 or following is not None:
        yield Content(f"{name}-{number:03d}{ending}" if is_limited else f"{name}{ending}", part())
        number += 1
