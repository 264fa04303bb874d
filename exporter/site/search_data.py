"""Data for the site's scripts, as scripts: nothing else loads where a page was opened from a folder. Pure."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache, partial
from hashlib import sha256
from itertools import islice
from typing import Any, Final, NamedTuple

from exporter import lossless_json
from exporter.export.interface import ViewFile
from exporter.model.kinds import Kind
from exporter.search.query import fold
from exporter.site.catalogue import ORPHANS_PAGE, PostSummary, fingerprint, safe_name, shown
from exporter.site.pages.page import Site
from exporter.text import visible

_ESCAPES = (
    (b"<", b"\\u003c"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)


def script(kind: str, name: str, value: Any) -> bytes:
    """Return a classic script that hands ``value`` to the site's own: ``blogData("kind", "name", value)``.

    ``<`` is escaped, so that no text can end a script or open a comment, and so are the line ends JSON allows and old
    scripts do not.
    """
    text = lossless_json.dumps(value)
    for found, escaped in _ESCAPES:
        text = text.replace(found, escaped)
    return b'blogData("%b","%b",%b);\n' % (kind.encode("ascii"), name.encode("ascii"), text)


_LAST_WITH_CASE: Final = 0x1FFFF
"""No letter beyond the first two planes of Unicode has a case."""


@cache
def case_table() -> dict[str, str]:
    """Return what each lower-cased character still folds to, where that is another."""
    found = {}
    for code in range(_LAST_WITH_CASE + 1):
        char = chr(code)
        if not 0xD800 <= code <= 0xDFFF and char.casefold() != char:
            found.update({each: each.casefold() for each in char.lower() if each.casefold() != each})
    return found


SMALL_BLOG: Final = 2_000
"""Up to so many entries there are no shards: looking through all texts is quick enough."""
END: Final = "\ue001"
"""Stands after each text, so that its last character begins a pair too."""
BEYOND: Final = "\ue000"
"""Stands for every character that takes two places in a script's strings."""
CHUNKS_IN_SHARD: Final = 30
LETTERS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"

SEVERAL: Final = "_"
"""Stands before five letters that are 30 bits; a letter alone is the number of the only chunk."""
LATIN: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
LATIN_PAIRS: Final = 0xE100
"""Where the characters for two Latin letters begin."""

_MEAN_CHUNK: Final = 24
_LARGEST_CHUNK: Final = 96
_MEAN_SHARD: Final = 20
_CODEC: Final = f"utf-16-{sys.byteorder[0]}e"
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
_LATIN_THREE = re.compile("(?=([0-9a-z]{3}))")
_PRIVATE, _GONE = 1, 2
_PIECE: Final = 100_000


class Chunk(NamedTuple):
    """Some entries that follow one another by date, under the id of the first."""

    name: str
    posts: list[PostSummary]


class SearchData:
    """The files of the search, for one site; keeps the pairs of one shard at a time."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._pairs: dict[str, set[int]] = {}
        self._chunks = list(_chunks(site.catalogue.posts))

    def files(self, pages: Iterator[ViewFile]) -> Iterator[ViewFile]:
        """Yield each chunk, after the chunks of a shard the shard, and at last the index of both.

        The ``pages`` of the entries, in the order of the catalogue, are yielded each before the chunk its entry is in,
        so that what both need is read once.
        """
        shards: list[tuple[int, int, str]] = []
        at = 0
        sharded = len(self._site.catalogue.posts) >= SMALL_BLOG
        for group in _grouped(self._chunks):
            self._pairs.clear()
            for chunk in group:
                yield from islice(pages, len(chunk.posts))
                yield self._chunk(chunk)
            if sharded:
                name = group[0].name
                parts = [_identity(chunk) for chunk in group]
                yield ViewFile(
                    f"data/pairs-{name}.js", fingerprint("pairs", *parts),
                    partial(self._pairs_script, name, group),
                )  # fmt: skip
                shards.append((at, at + len(group), name))
            at += len(group)
        yield from self._orphans()
        index = {
            "chunks": [[chunk.name, len(chunk.posts)] for chunk in self._chunks],
            "shards": shards,
            "orphans": bool(self._site.catalogue.orphans),
        }
        yield ViewFile("data/search.js", fingerprint("index", repr(index)), lambda: script("index", "", index))

    def _chunk(self, chunk: Chunk) -> ViewFile:
        def render() -> bytes:
            entries = [self._entry(post) for post in chunk.posts]
            self._pairs[chunk.name] = pairs_of(entries)
            return script("texts", chunk.name, entries)

        return ViewFile(f"data/texts-{chunk.name}.js", fingerprint("texts", _identity(chunk)), render)

    def _entry(self, post: PostSummary) -> list[Any]:
        body, more_title, more = self._site.catalogue.texts(post)
        plain = self._site.bodies.text
        texts = [plain(body), shown(more_title), plain(more)]
        return [
            post.page,
            "" if post.date is None else post.date.date().isoformat(),
            post.title,
            post.category,
            post.private * _PRIVATE + (post.gone_in is not None) * _GONE,
            visible("\n".join(text for text in texts if text))[0],
            self._comments(post.comments),
        ]

    def _comments(self, cm_ids: tuple[str, ...] | list[str]) -> list[list[str]]:
        return [
            [
                shown(each.id),
                shown(each.name),
                visible("\n".join(filter(None, (each.title, self._site.bodies.text(each.text)))))[0],
            ]
            for each in self._site.catalogue.comments(cm_ids)
        ]

    def _pairs_script(self, name: str, group: list[Chunk]) -> bytes:
        return script("pairs", name, self._shard(group))

    def _shard(self, group: list[Chunk]) -> str:
        bits: defaultdict[int, int] = defaultdict(int)
        for at, chunk in enumerate(group):
            found = self._pairs.pop(chunk.name, None)
            if found is None:
                found = pairs_of([self._entry(post) for post in chunk.posts])
            bit = 1 << at
            for pair in found:
                bits[pair] |= bit
        return encoded({pair_text(number): mask for number, mask in bits.items()})

    def _orphans(self) -> Iterator[ViewFile]:
        """Yield the comments without an entry, as one nameless entry each."""
        catalogue = self._site.catalogue
        if catalogue.orphans:
            yield ViewFile(
                "data/texts-orphans.js",
                fingerprint("orphans", catalogue.identities(Kind.COMMENTS, catalogue.orphans)),
                lambda: script("texts", "orphans", [
                    [ORPHANS_PAGE, "", "", "", 0, "", [each]] for each in self._comments(catalogue.orphans)
                ]),
            )  # fmt: skip


def encoded(bits: dict[str, int]) -> str:
    """Return a shard's text: a line for each first character, in it each second character and where the two are."""
    lines: defaultdict[str, list[str]] = defaultdict(list)
    for pair, mask in bits.items():
        if mask & (mask - 1):
            letters = SEVERAL + "".join(LETTERS[mask >> shift & 63] for shift in (24, 18, 12, 6, 0))
        else:
            letters = LETTERS[mask.bit_length() - 1]
        lines[pair[0]].append(pair[1] + letters)
    return "\n" + "".join(f"{first}{''.join(sorted(found))}\n" for first, found in sorted(lines.items()))


def pairs_of(entries: list[list[Any]]) -> set[int]:
    """Return the pairs in entries as numbers, which takes half the time of as many strings; see :func:`pair_text`."""
    texts = [
        each
        for _, _, title, _, _, text, comments in entries
        for each in (title, text, *(part for comment in comments for part in comment[1:]))
    ]
    # The mark between two texts is neither a space nor a part of a character, so they fold as each alone would.
    key = _ASTRAL.sub(BEYOND, fold(END.join(texts) + END))
    threes: set[str] = set()
    # Piece by piece, since each three takes fifty bytes until the set has it.
    for at in range(0, len(key), _PIECE):
        threes.update(_LATIN_THREE.findall(key, at, at + _PIECE + 2))
    latin = "".join(map(_latin, threes)).encode(_CODEC)
    units = memoryview(key.encode(_CODEC))
    shifted = units[2:]
    found = set(units[: len(units) // 4 * 4].cast("I"))
    found.update(shifted[: len(shifted) // 4 * 4].cast("I"))
    found.update(memoryview(latin).cast("I"))
    return found


def pair_text(number: int) -> str:
    """Return the two characters a number from :func:`pairs_of` stands for."""
    return number.to_bytes(4, sys.byteorder).decode(_CODEC)


def _latin(three: str) -> str:
    """Return three Latin letters as a pair."""
    return chr(LATIN_PAIRS + LATIN.index(three[0]) * len(LATIN) + LATIN.index(three[1])) + three[2]


def _identity(chunk: Chunk) -> bytes:
    return fingerprint(*(post.identity + post.listed for post in chunk.posts))


def _chunks(posts: list[PostSummary]) -> Iterator[Chunk]:
    chunk: list[PostSummary] = []
    for post in posts:
        if chunk and (len(chunk) >= _LARGEST_CHUNK or _hash(post.id) % _MEAN_CHUNK == 0):
            yield Chunk(safe_name(chunk[0].id), chunk)
            chunk = []
        chunk.append(post)
    if chunk:
        yield Chunk(safe_name(chunk[0].id), chunk)


def _grouped(chunks: list[Chunk]) -> Iterator[list[Chunk]]:
    group: list[Chunk] = []
    for chunk in chunks:
        if group and (len(group) >= CHUNKS_IN_SHARD or _hash(f"shard {chunk.name}") % _MEAN_SHARD == 0):
            yield group
            group = []
        group.append(chunk)
    if group:
        yield group


def _hash(text: str) -> int:
    return int.from_bytes(sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")
