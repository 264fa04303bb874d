"""Facts by which two records are the same entry, comment or file, from any source and under any id. Pure.

Two uses have opposite risks. A join gives each record one partner, and a wrong pair mixes two entries: its facts are
few, and each one is certain. A forgotten record must not come back through another source or a newer file, so it is
found again by any of several signs: its address, its title and time, and its text without spaces, marks and width.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable, Iterator
from datetime import datetime, time, timedelta
from hashlib import sha256
from typing import Final
from urllib.parse import unquote, urlsplit
from zlib import crc32

from exporter.html.text import plain_text
from exporter.model.records import Comment, Post, Upload

Facts = Iterator[tuple[str, ...]]
"""Keys of which each one identifies a record, the most certain first."""

_PICTURE: Final = re.compile(r"<img\b[^>]*>", re.IGNORECASE)
_TELLING: Final = 12
"""Letters from which on a comment's text and writer tell it from others; a shorter one needs its time."""
_UNMISTAKABLE: Final = 40
"""Letters from which on a text alone tells its record from others."""
_PIECES: Final = 4
_SHOWN: Final = 24
"""Letters of a line's beginning from which on nobody guesses it, and no other page has it by chance."""
_ANY, _NONE = "any time", "no time"


def entry_facts(post: Post) -> Facts:
    """Yield what identifies an entry: its permalink, then its minute and title, then its day and title."""
    if post.permalink:
        yield ("link", address_key(post.permalink))
    title = text_key(post.title)
    if post.date is not None and title:
        yield ("minute", _minute(post.date), title)
        yield ("day", _day(post.date), title)


def comment_facts(comment: Comment, post_id: str) -> Facts:
    """Yield what identifies a comment: its entry, writer and text."""
    text = sha256(text_key(plain_text(comment.text)).encode("utf-8", "replace")).hexdigest()
    yield (post_id, text_key(comment.name), text)


def file_facts(upload: Upload) -> Facts:
    """Yield what identifies a file: its address."""
    if upload.url:
        yield (address_key(upload.url),)


def entry_signs(post: Post, *, sought: bool) -> set[str]:
    """Return the signs of an entry as hashes.

    Args:
        post: the entry as one service has it.
        sought: whether it is compared with earlier signs. Two entries are alike if a sought sign of the one is among
            the other signs of the other.
    """
    title, words = text_key(post.title), text_words(f"{post.body} {post.more}")
    found: list[tuple[str, ...]] = [("link", address_key(post.permalink))] if post.permalink else []
    if title and post.date is not None:
        has_time = post.date.time() != time()
        for when in _moments(post.date, sought=sought, has_time=has_time) - {_ANY, _NONE}:
            # Several entries on one day may have one title, such as "Untitled"; a minute is one entry's.
            parts = {""} if "T" in when else _parts(words) | ({""} if not (sought and words) else set())
            found += [("title", title, when, part) for part in parts]
    if words and post.date is not None and post.date.time() != time():
        # An owner may have changed the title, and some of the words.
        found += [
            ("minute", each, part)
            for each in _moments(post.date, sought=sought, has_time=True)
            if "T" in each
            for part in _parts(words)
        ]
    if words and (title or len(words) >= _TELLING):
        found.append(("text", title, words))
    if len(words) >= _UNMISTAKABLE:
        found.append(("text", words))
    return {_hashed(each) for each in found}


def comment_signs(comment: Comment, *, sought: bool) -> set[str]:
    """Return the signs of a comment as hashes; ``sought`` as in :func:`entry_signs`."""
    name, words = text_key(comment.name), text_words(comment.text) or text_key(comment.text)
    if not words:
        return set()
    found: list[tuple[str, ...]] = [("text", words)] if len(words) >= _UNMISTAKABLE else []
    if len(words) >= _TELLING:
        found.append(("comment", name, words))
    else:
        moments = _moments(comment.date, sought=sought, has_time=comment.has_time)
        found += [("comment", name, words, when) for when in moments]
    return {_hashed(each) for each in found}


def shown_signs(parts: Iterable[str], common: Container[str] = ()) -> set[str]:
    """Return signs by which a page that shows a text is known, from the text's lines; see :func:`beginnings`.

    ``common`` are the beginnings of lines that other texts have.
    """
    found = dict.fromkeys(each for each in map(beginning, parts) if each and each not in common)
    return {beginning_sign(each) for each in list(found)[:_PIECES]}


def beginning(line: str) -> str:
    """Return the letters by which a page with a line is known; empty if the line has fewer."""
    words = letters(line)
    return words[:_SHOWN] if len(words) >= _SHOWN else ""


def beginnings(words: str) -> Iterator[str]:
    """Yield each piece of a page's letters that may begin a line of a forgotten text."""
    return (words[at : at + _SHOWN] for at in range(len(words) - _SHOWN + 1))


def beginning_sign(piece: str) -> str:
    """Return the sign of one of the :func:`beginnings`."""
    return _hashed(("shown", piece))


def short_comment_signs(name: str, words: str) -> set[str]:
    """Return the signs of a comment of a few letters, if its entry and its time are unknown."""
    if len(words) >= _TELLING:
        return {_hashed(("comment", name, words))}
    return {_hashed(("comment", name, words, when)) for when in (_ANY, _NONE)}


def address_sign(address: str) -> str:
    """Return the sign of an entry or a file by its address.

    Raises:
        ValueError: it is no address.
    """
    return _hashed(("link", address_key(address)))


def content_sign(digest: str) -> str:
    """Return the sign of a file by the SHA-256 of its content."""
    return _hashed(("content", digest))


def _moments(date: datetime | None, *, sought: bool, has_time: bool) -> set[str]:
    """Return a time in the precisions in which sources write it down.

    Signs are a minute early and late too, because one second of difference may be another minute.
    """
    if date is None:
        return {_NONE, _ANY} if sought else {_NONE}
    day = _day(date)
    if not has_time:
        return {day, f"in {day}", _NONE} if sought else {day, _ANY}
    if sought:
        return {_minute(date), day, _NONE}
    return {*(_minute(date + timedelta(minutes=each)) for each in (-1, 0, 1)), f"in {day}", _ANY}


def _parts(words: str) -> set[str]:
    """Return pieces of a text that it shares with its summary and with most of its edited forms, hardly with others."""
    pieces = {words[at : at + _TELLING] for at in range(max(1, len(words) - _TELLING + 1))}
    return {words[:_TELLING], *sorted(pieces, key=lambda piece: crc32(piece.encode("utf-8", "replace")))[:_PIECES]}


def _hashed(sign: tuple[str, ...]) -> str:
    return sha256("\0".join(sign).encode("utf-8", "backslashreplace")).hexdigest()


def _minute(date: datetime) -> str:
    return date.replace(second=0, microsecond=0, tzinfo=None).isoformat()


def _day(date: datetime) -> str:
    return date.date().isoformat()


def text_words(text: str) -> str:
    """Return the letters and digits of a text. Services write its marks, spaces and alternative texts differently."""
    return letters(plain_text(_PICTURE.sub("", text)))


def letters(text: str) -> str:
    """Return the letters and digits of a text without markup."""
    return "".join(char for char in text_key(text) if char.isalnum())


def text_key(text: str) -> str:
    """Return a text without differences of width, case and spaces."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def address_key(address: str) -> str:
    """Return an address without the parts in which two spellings differ: the scheme, ``www.`` and a last slash."""
    parts = urlsplit(address.strip())
    host = parts.netloc.lower().removeprefix("www.")
    return f"{host}{unquote(parts.path).rstrip('/')}?{parts.query}"
