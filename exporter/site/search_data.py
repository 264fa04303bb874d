"""The search page and its data: the texts of some entries in each chunk, and for large blogs an index of pairs.

A page opened from a folder can load scripts only, so all data are scripts. In a large blog the page asks the shards
which chunks contain every pair of neighbouring characters in a word, and loads only these. Pure.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from hashlib import sha256
from itertools import islice
from operator import add
from typing import Any, Final, NamedTuple, TypeVar
from unicodedata import unidata_version

from exporter import lossless_json
from exporter.export.interface import ViewFile
from exporter.model.kinds import Kind
from exporter.model.labels import joined_path
from exporter.search.folding import fold
from exporter.site.catalogue import fingerprint, orphans_page, safe_name
from exporter.site.folds import folds_script
from exporter.site.pages.site import Site
from exporter.site.post_list import PostList, PostSummary
from exporter.site.searched import Searched, searched_comment, searched_text
from exporter.site.templating import data_script

SMALL_BLOG: Final = 2_000
"""Up to this number of entries the site has no shards: searching all texts is fast enough."""
END: Final = "\ue001"
"""Comes after each text, so that its last character also begins a pair."""
BEYOND: Final = "\ue000"
"""Stands for every character that takes two places in a script's strings."""
CHUNKS_IN_SHARD: Final = 30
LETTERS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"

SEVERAL: Final = "_"
"""Comes before five letters that are 30 bits; a letter alone is the number of the only chunk."""
LATIN: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
LATIN_PAIRS: Final = 0xE100
"""The first character that stands for a pair of Latin letters."""
HIRAGANA: Final = 0x3041
KATAKANA: Final = 0x30A1
KANA_LETTERS: Final = 95
"""The number of letters in either kind, in the same order."""
KANA_PAIRS: Final = 0xE700
"""The first character that stands for two kana of one kind; the third character names the kind."""
KANA_CODES: Final = 0x1000
"""The number of codes: two pairs may share one, which can only load a chunk too many."""

_MEAN_CHUNK_POSTS: Final = 24
_MAX_CHUNK_POSTS: Final = 96
_MEAN_SHARD_CHUNKS: Final = 20
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
_LATIN_RUN = re.compile("[0-9a-z]{3,}")
_KANA_RUN = re.compile("[\u3041-\u309f]{3,}|[\u30a1-\u30ff]{3,}")
_PAIR = re.compile(f"(.)({SEVERAL}.{{5}}|.)")
_PRIVATE, _GONE = 1, 2

T = TypeVar("T")


class _Chunk(NamedTuple):
    """Some entries that follow one another by date, under the id of the first."""

    name: str
    posts: PostList


def search_files(site: Site, pages: Iterator[ViewFile]) -> Iterator[ViewFile]:
    """Yield the search page, each chunk, each shard after its chunks, and finally the index of both.

    The ``pages`` come in the catalogue's order, each before the chunk with its entry, so that shared inputs are read
    once.
    """
    yield ViewFile("data/folds.js", fingerprint(unidata_version), folds_script)
    facets = _facets(site)
    yield site.file("search.html", "search.html", ["search", *facets], lambda: {
        "title": site.t("Search"), "current": "search", "facets": facets,
    })  # fmt: skip
    data = _SearchData(site)
    chunks = list(_chunks(site.catalogue.posts))
    sharded = len(site.catalogue.posts) >= SMALL_BLOG
    shards: list[tuple[int, int, str]] = []
    at = 0
    for group in _runs(chunks, lambda chunk: f"shard {chunk.name}", _MEAN_SHARD_CHUNKS, CHUNKS_IN_SHARD):
        pairs: dict[str, set[str]] = {}
        for chunk in group:
            yield from islice(pages, len(chunk.posts))
            yield data.chunk(chunk, pairs if sharded else None)
        if sharded:
            yield data.shard(group, pairs)
            shards.append((at, at + len(group), group[0].name))
        at += len(group)
    yield from data.orphans()
    index = {
        "chunks": [[chunk.name, len(chunk.posts)] for chunk in chunks],
        "shards": shards,
        "orphans": bool(site.catalogue.orphans),
    }
    yield ViewFile("data/search.js", fingerprint("index", repr(index)), lambda: data_script("index", "", index))


def _chunks(posts: PostList) -> Iterator[_Chunk]:
    start = 0
    for run in _runs(posts, lambda post: post.id, _MEAN_CHUNK_POSTS, _MAX_CHUNK_POSTS):
        yield _Chunk(safe_name(run[0].id), posts[start : start + len(run)])
        start += len(run)


def _facets(site: Site) -> dict[str, str]:
    """Return the search choices that only some blogs need: their names and labels, in the page's order."""
    wanted = {"blog": site.blogs, "tag": site.tags, "author": site.authors, "kind": site.catalogue.pages()}
    labels = {
        "blog": site.t("Blogs"), "tag": site.t("Tags"), "author": site.t("Authors"), "kind": site.t("Kind"),
    }  # fmt: skip
    return {name: labels[name] for name, any_ in wanted.items() if any_}


class _SearchData:
    def __init__(self, site: Site) -> None:
        self._site = site

    def chunk(self, chunk: _Chunk, pairs: dict[str, set[str]] | None) -> ViewFile:
        """Return the texts of a chunk; its pairs are put into ``pairs``, for its shard, when it is rendered."""

        def render() -> bytes:
            entries = [self._entry(post) for post in chunk.posts]
            if pairs is not None:
                pairs[chunk.name] = pairs_of(entries)
            return data_script("texts", chunk.name, entries)

        return ViewFile(f"data/texts-{chunk.name}.js", fingerprint("texts", _identity(chunk)), render)

    def shard(self, group: list[_Chunk], pairs: dict[str, set[str]]) -> ViewFile:
        """Return the chunks that contain each pair; for unchanged chunks the existing shard has the answer."""

        def render() -> bytes:
            content, same = facts.shard_was(path, parts)
            try:
                bits = _decoded(content, same) if same else {}
            except ValueError:  # of an archive that somebody else made up
                bits, same = {}, 0
            for at, chunk in enumerate(group):
                if not same & 1 << at:
                    found = pairs.pop(chunk.name, None) or pairs_of([self._entry(post) for post in chunk.posts])
                    for pair in found:
                        bits[pair] = bits.get(pair, 0) | 1 << at
            made = data_script("pairs", name, encoded(bits))
            facts.note_shard(path, parts, made)
            return made

        facts = self._site.facts
        name = group[0].name
        path = f"data/pairs-{name}.js"
        parts = [_identity(chunk) for chunk in group]
        facts.shard_is(path)
        return ViewFile(path, fingerprint("pairs", *parts), render)

    def orphans(self) -> Iterator[ViewFile]:
        """Yield the comments without an entry, as one nameless entry each."""
        catalogue = self._site.catalogue
        if not catalogue.orphans:
            return

        def render() -> bytes:
            comments = self._comments(catalogue.orphans)
            rows = [[orphans_page(at), "", "", "", 0, "", [each]] for at, each in enumerate(comments)]
            return data_script("texts", "orphans", rows)

        identity = fingerprint("orphans", catalogue.identities(Kind.COMMENTS, catalogue.orphans))
        yield ViewFile("data/texts-orphans.js", identity, render)

    def _entry(self, post: PostSummary) -> list[Any]:
        found = self._site.searched.pop(post.id, None)
        text, comments = self._searched(post) if found is None else found
        row = [
            post.page,
            "" if post.date is None else post.date.date().isoformat(),
            post.title,
            post.category,
            post.private * _PRIVATE + (post.gone_in is not None) * _GONE,
            text,
            comments,
        ]
        if post.labels is not None:
            names = list(map(joined_path, post.category_paths))
            labels: list[Any] = [names, list(post.labels.tags), post.labels.author, post.labels.kind, post.access]
            row.append([*labels, list(post.blogs)] if post.blogs else labels)
        return row

    def _searched(self, post: PostSummary) -> Searched:
        catalogue = self._site.catalogue
        text = searched_text(catalogue.entry(post), others=self._site.other_texts(post))
        return Searched(text, self._comments(catalogue.comment_ids(post)))

    def _comments(self, comment_ids: Iterable[str]) -> list[list[str]]:
        return list(map(searched_comment, self._site.catalogue.comments(comment_ids)))


def encoded(bits: dict[str, int]) -> str:
    """Return a shard's text: a line for each first character, with each second character and its chunks."""
    lines: defaultdict[str, list[str]] = defaultdict(list)
    for pair, mask in bits.items():
        if mask & (mask - 1):
            letters = SEVERAL + "".join(LETTERS[mask >> shift & 63] for shift in (24, 18, 12, 6, 0))
        else:
            letters = LETTERS[mask.bit_length() - 1]
        lines[pair[0]].append(pair[1] + letters)
    return "\n" + "".join(f"{first}{''.join(sorted(found))}\n" for first, found in sorted(lines.items()))


def _decoded(content: bytes, wanted: int) -> dict[str, int]:
    """Return the pairs for some chunks from a shard's script, with a bit for each chunk; see :func:`encoded`.

    Raises:
        ValueError: it is no such script.
    """
    found = {}
    for line in str(lossless_json.loads(content.removesuffix(b");\n").split(b",", 2)[-1])).split("\n"):
        for second, letters in _PAIR.findall(line, 1):
            mask = _mask(letters) & wanted
            if mask:
                found[line[0] + second] = mask
    return found


@lru_cache(maxsize=4096)
def _mask(letters: str) -> int:
    if len(letters) == 1:
        return 1 << LETTERS.index(letters)
    mask = 0
    for letter in letters.removeprefix(SEVERAL):
        mask = mask << 6 | LETTERS.index(letter)
    return mask


def pairs_of(entries: list[list[Any]]) -> set[str]:
    """Return all pairs of neighbouring characters in entries, and all threes of Latin letters and kana as pairs."""
    texts = [
        each
        for _, _, title, _, _, text, comments, *labels in entries
        for each in (title, text, *(part for comment in comments for part in comment[1:]), *map(_label_text, labels))
    ]
    # The mark between two texts is neither a space nor part of another character, so texts fold as they would
    # separately.
    key = _ASTRAL.sub(BEYOND, fold(END.join(texts) + END))
    found = set(map(add, key, key[1:]))
    found.update(map(_latin, _threes(_LATIN_RUN, key)))
    found.update(map(_kana, _threes(_KANA_RUN, key)))
    return found


def _label_text(labels: list[Any]) -> str:
    """Return an entry's labels as searchable text: its categories, tags and writer."""
    categories, tags, author, *_ = labels
    return "\n".join([*categories, *tags, author])


def _threes(letters: re.Pattern[str], key: str) -> set[str]:
    """Return all sequences of three letters in the runs of letters in a text."""
    runs = {run[0] for run in letters.finditer(key)}
    return {run[at : at + 3] for run in runs for at in range(len(run) - 2)}


def _latin(three: str) -> str:
    """Return three Latin letters as a pair."""
    return chr(LATIN_PAIRS + LATIN.index(three[0]) * len(LATIN) + LATIN.index(three[1])) + three[2]


def _kana(three: str) -> str:
    """Return three kana of a kind as a pair."""
    start = HIRAGANA if three[0] < chr(KATAKANA) else KATAKANA
    return chr(KANA_PAIRS + ((ord(three[0]) - start) * KANA_LETTERS + ord(three[1]) - start) % KANA_CODES) + three[2]


def _identity(chunk: _Chunk) -> bytes:
    return fingerprint(*(post.identity + post.listed for post in chunk.posts))


def _runs(items: Iterable[T], name: Callable[[T], str], mean: int, most: int) -> Iterator[list[T]]:
    """Split items into runs of about ``mean``, at most ``most``; a name's hash decides whether a run begins."""
    run: list[T] = []
    for item in items:
        digest = sha256(name(item).encode("utf-8", "surrogatepass")).digest()
        if run and (len(run) >= most or int.from_bytes(digest[:8], "big") % mean == 0):
            yield run
            run = []
        run.append(item)
    if run:
        yield run
