"""docs/glossary.md: no sentence for people, and no page for bloggers, has a word that the glossary replaces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.translation.catalogue import read, sentences, texts

ROOT = Path(__file__).parents[2]
NAMES = re.compile(r"\{[^}]*\}|`[^`]*`|https?://\S+|\S*[/_]\S*|--[\w-]+|\]\([^)]*\)|\b\w+\.\w+")
"""Fields, addresses, paths, options and files."""
OF_PEOPLE = re.compile("投稿者|予約投稿")
"""Words of which one of the other words is a part: an author, and a scheduled entry."""

OTHER_SERVICES = re.compile(
    r"WordPress|Blogger|Ghost|Atom の|starter|eleventy|your site|site keeps|Permalinks|パーマリンク", re.IGNORECASE
)
"""Whoever has these words in a sentence speaks of another service's or generator's posts."""
EXCEPTIONS = {
    "a page as a post, or a post as a page": "the kinds that WordPress keeps apart",
    "post or page": "the same",
    "only private posts have them, so none was made": "addresses that WordPress gives to private posts",
    "posts": "what a move makes in WordPress", "addresses of posts": "the same", "posts and comments": "the same",
    "{n:,} post": "the same", "post": "a kind that WordPress keeps apart from pages",
    "write posts": "a capability of a WordPress account", "edit published posts": "the same", "edit private posts": "the same",
    "Drafts and private entries also, as drafts and private posts": "what they become in WordPress",
    "{n:,} post of this blog is already in the new home and was not moved by this program: number {numbers}. Nothing was sent, "
    "as it would be there twice. ": "posts of the WordPress that receives the blog",
    "Posts, pages, comments, categories, tags and pictures go there by its API. ": "what a move makes in WordPress",
    "Show the record ID of KIND (entry, item, comment, file, user, asset) from the archive in DIR.": "names of kinds to type",
}  # fmt: skip
"""The beginnings of other sentences with such a word, each with its reason."""
SHORT = 60
"""Exceptions up to this number of characters are whole sentences."""
PAGES_OF_PROGRAMMERS = {
    "architecture", "catalogue", "json", "library", "scale", "format", "contributing", "security", "changelog", "cli", "nights", "screens",
}  # fmt: skip
"""Pages with the words of the code, and pages made from the program's sentences, which another test reads."""
PAGES_OF_OTHER_SERVICES = {"compare", "export", "importers", "move", "signing-in", "targets"}
"""Pages about what WordPress and other homes make of entries."""


def others() -> list[str]:
    """Return the words that the glossary replaces, in both languages."""
    rows = [line for line in (ROOT / "docs/glossary.md").read_text("utf-8").splitlines() if line.startswith("| ")]
    return [word.strip() for row in rows[1:] for word in row.strip("|").split("|")[3].split(",") if word.strip() != "-"]


def found_in(text: str) -> list[str]:
    """Return the replaced words in a text."""
    plain = OF_PEOPLE.sub(" ", NAMES.sub(" ", text))
    return [word for word in others() if re.search(rf"\b{word}s?\b" if word.isascii() else word, plain, re.IGNORECASE)]


def is_excepted(sentence: str) -> bool:
    """Return whether a sentence is an exception, or begins as a long one."""
    return sentence in EXCEPTIONS or any(len(each) > SHORT and sentence.startswith(each) for each in EXCEPTIONS)


def said() -> Iterator[tuple[str, str]]:
    """Yield every sentence of the program with each of its texts in both languages."""
    for each in sentences():
        yield from ((each.text, text) for text in (each.text, each.many or ""))
    for one in read("ja"):
        yield from ((texts(one.id)[0], text) for text in texts(one.string) if one.id)


def test_the_glossary_replaces_words() -> None:
    assert {"post", "投稿", "asset", "アセット"} <= set(others())
    assert found_in("A post and an asset") == ["post", "asset"]
    assert found_in("{posts} in assets/ab with --assets, 予約投稿") == []


def test_sentences_have_the_words_of_the_glossary() -> None:
    wrong = {
        (sentence, text): words
        for sentence, text in said()
        if not OTHER_SERVICES.search(sentence + text) and not is_excepted(sentence)
        if (words := found_in(text))
    }
    assert wrong == {}


def test_each_exception_is_needed() -> None:
    known = [each.text for each in sentences() if found_in(each.text + " " + (each.many or ""))]
    assert [
        each
        for each in EXCEPTIONS
        if not any(text == each or (len(each) > SHORT and text.startswith(each)) for text in known)
    ] == []


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in [*sorted(ROOT.glob("README*.md")), *sorted((ROOT / "docs").glob("*.md"))]
        if path.name.split(".")[0] not in {*PAGES_OF_PROGRAMMERS, *PAGES_OF_OTHER_SERVICES, "glossary"}
    ],
    ids=lambda path: str(path.name),
)
def test_pages_have_the_words_of_the_glossary(path: Path) -> None:
    text = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    lines = enumerate(text.splitlines(), 1)
    assert [(n, line) for n, line in lines if not OTHER_SERVICES.search(line) and found_in(line)] == []
