"""The public facts about imports at each service; targets are added here. Pure.

A target is a name over a format, with the limits of its import. Each fact names its source, and whether it is
confirmed: its makers state it, or it was tried in the program itself. What no fact tells is not confirmed.
docs/targets.md shows all of it, and a test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from exporter.message import message


class Matter(StrEnum):
    """The subjects of facts about an import."""

    FORMAT = "format"
    FILES = "files"
    ENCODING = "encoding"
    TITLES = "titles"
    COMMENTS = "comments"
    PICTURES = "pictures"
    DRAFTS = "drafts"
    CATEGORIES = "categories"
    TAGS = "tags"
    SLUGS = "slugs"


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact about one matter.

    Attributes:
        matter: of what.
        says: the fact, in a few words.
        source: a page's address or a test's path.
        kept: whether the new home keeps this part of entries; ``None`` if the fact is about something else.
        confirmed: whether the target's makers say so, or it was tried in the program; others may be wrong.
    """

    matter: Matter
    says: str
    source: str
    kept: bool | None = None
    confirmed: bool = True


@dataclass(frozen=True, slots=True)
class Target:
    """A service or program that takes a blog.

    Attributes:
        name: its name on the command line.
        title: its own name.
        forms: the formats it takes; its name stands for the first.
        facts: the known facts about it.
        max_entries: the most entries in a file; 0 if no limit is known.
        max_bytes: the most bytes in a file; 0 if no limit is known.
        title_characters: the most characters of a title; 0 if no limit is known.
        blocks: whether it knows WordPress' blocks.
    """

    name: str
    title: str
    forms: tuple[str, ...]
    facts: tuple[Fact, ...] = ()
    max_entries: int = 0
    max_bytes: int = 0
    title_characters: int = 0
    blocks: bool = False

    @property
    def form(self) -> str:
        """The format that its name stands for."""
        return self.forms[0]

    def keeps(self, matter: Matter) -> bool | None:
        """Return whether the new home keeps a part of entries; ``None`` if that is not confirmed."""
        return next((fact.kept for fact in self.facts if fact.matter is matter and fact.confirmed), None)


_TRIED: Final = "importers.md"
_WORDPRESS: Final = "https://ja.wordpress.org/plugins/wordpress-importer/"
_HATENA: Final = "https://help.hatenablog.com/entry/import-mt"
_NOTE: Final = "https://www.help-note.com/hc/ja/articles/16143759138329"
"""Its help's page on imports, as others quote it."""

_AMEBA: Final = "https://huggingface.co/datasets/ai-shift/ameba_faq_search"
_GOOGLE: Final = "https://github.com/prayagverma/google-blog-converters-appengine/blob"
_BLOGGER: Final = f"{_GOOGLE}/56ba270b6c0c37a066f6ca164333bc129d4fa58e/BloggerExportTemplate.md"
_BLOGGER_CODE: Final = f"{_GOOGLE}/176ba90ee437cc2ebf68717a74acafeaf6fda305/trunk/src/wordpress2blogger/wp2b.py"
_MT_FORMAT: Final = "http://www.movabletype.jp/documentation/appendices/import-export-format.html"
_MT_IMPORT: Final = "https://www.movabletype.jp/documentation/mt5/tools/import.html"
_MT_FTP: Final = "http://sixapart.jp/movabletype/manual/import/import_ftp.html"

TARGETS: Final[dict[str, Target]] = {
    target.name: target
    for target in (
        Target(
            "wordpress",
            "WordPress",
            ("wxr", "movabletype"),
            (
                Fact(Matter.FORMAT, "its importer plugin takes WXR", _WORDPRESS, kept=True),
                Fact(
                    Matter.FORMAT,
                    "another plugin takes Movable Type's format",
                    "https://github.com/WordPress/data-liberation/pull/96",
                    confirmed=False,
                ),
                Fact(Matter.FILES, "no own limit; large files can exceed those of the host's PHP", _WORDPRESS),
                Fact(Matter.ENCODING, "UTF-8", _TRIED, kept=True),
                Fact(Matter.TITLES, "are HTML to it, and written so that it shows the text", _TRIED, kept=True),
                Fact(Matter.COMMENTS, "with dates, threads, kind and approval", _TRIED, kept=True),
                Fact(Matter.PICTURES, "fetched during the import from the addresses written", _TRIED, kept=True),
                Fact(Matter.DRAFTS, "drafts and private posts keep their status", _TRIED, kept=True),
                Fact(Matter.CATEGORIES, "made where they are missing, below their parents", _TRIED, kept=True),
                Fact(Matter.TAGS, "made where they are missing", _TRIED, kept=True),
                Fact(Matter.SLUGS, "taken as written", _TRIED, kept=True),
            ),
            blocks=True,
        ),
        Target(
            "hatena",
            message("Hatena Blog"),
            ("movabletype", "wxr"),
            (
                Fact(Matter.FORMAT, "takes Movable Type's format and WXR", _HATENA, kept=True),
                Fact(
                    Matter.FILES,
                    "below 100 MB and 5,000 entries at once, or the import stops half way",
                    _HATENA,
                ),
                Fact(Matter.PICTURES, "those that entries show can be moved along", _HATENA, kept=True),
            ),
            max_entries=4_999,
            max_bytes=99_000_000,
        ),
        Target(
            "note",
            "note",
            ("wxr", "movabletype"),
            (
                Fact(Matter.FORMAT, message("takes WXR and Movable Type's format"), _NOTE, kept=True, confirmed=False),
                Fact(Matter.FILES, "at most 1,000 entries and 20 MB at once", _NOTE, confirmed=False),
                Fact(Matter.COMMENTS, "titles, bodies and pictures are taken", _NOTE, kept=False, confirmed=False),
                Fact(
                    Matter.PICTURES,
                    "JPEG, PNG and GIF are fetched, where their address is of https",
                    _NOTE,
                    kept=True,
                    confirmed=False,
                ),
                Fact(
                    Matter.DRAFTS,
                    "every import is a draft; publish it by hand",
                    _NOTE,
                    kept=True,
                    confirmed=False,
                ),
                Fact(Matter.CATEGORIES, "no hashtags are taken", _NOTE, kept=False, confirmed=False),
            ),
            max_entries=1_000,
            max_bytes=19_900_000,
        ),
        Target("livedoor", message("livedoor Blog"), ("movabletype",)),
        Target(
            "ameba",
            message("Ameba Blog"),
            ("movabletype",),
            (
                Fact(
                    Matter.TITLES,
                    "its help is asked what becomes of titles of 49 characters and more",
                    _AMEBA,
                    confirmed=False,
                ),
            ),
            title_characters=48,
        ),
        Target("fc2", message("FC2 Blog"), ("movabletype",)),
        Target("seesaa", message("Seesaa Blog"), ("movabletype",)),
        Target(
            "movable-type",
            "Movable Type",
            ("movabletype",),
            (
                Fact(Matter.FORMAT, "its own", _MT_FORMAT, kept=True),
                Fact(Matter.FILES, "a file may also be put into its folder import", _MT_FTP),
                Fact(
                    Matter.TITLES,
                    "its templates print titles as HTML, unless they say encode_html",
                    "https://zenn.dev/srkkr/articles/fd9ef54e0f5eef",
                    kept=True,
                    confirmed=False,
                ),
                Fact(Matter.COMMENTS, "the format has a place for them", _MT_FORMAT, kept=True),
                Fact(Matter.PICTURES, "the format holds texts only, and their addresses", _MT_IMPORT, kept=False),
                Fact(Matter.DRAFTS, "by STATUS", _MT_FORMAT, kept=True),
                Fact(Matter.CATEGORIES, "by PRIMARY CATEGORY and CATEGORY", _MT_FORMAT, kept=True),
                Fact(Matter.TAGS, "by TAGS", _MT_FORMAT, kept=True),
                Fact(Matter.SLUGS, "by BASENAME", _MT_FORMAT, kept=True),
            ),
        ),
        Target(
            "blogger",
            "Blogger",
            ("blogger-atom",),
            (
                Fact(
                    Matter.FORMAT,
                    message(
                        "Google described this file for its import; since 2025 its backups have another form, "
                        "and what that form marks is marked too"
                    ),
                    "https://gist.github.com/peterbmarks/b3beeeeb22ae0d7282cd0dc895e00d1f",
                    kept=True,
                    confirmed=False,
                ),
                Fact(Matter.COMMENTS, "with date, author and post; none without a text", _BLOGGER_CODE, kept=True),
                Fact(Matter.PICTURES, "the file holds texts only, and their addresses", _BLOGGER, kept=False),
                Fact(
                    Matter.DRAFTS,
                    "by app:draft; whether the import's tick that publishes all posts spares drafts is unknown",
                    _BLOGGER_CODE,
                    kept=True,
                    confirmed=False,
                ),
                Fact(Matter.CATEGORIES, "become labels, which allow none of & < > @ !", _BLOGGER_CODE, kept=True),
                Fact(Matter.TAGS, "become labels, as categories do", _BLOGGER_CODE, kept=True),
                Fact(
                    Matter.CATEGORIES,
                    "the labels of a post have 200 characters together",
                    "http://blogging.nitecruzr.net/2007/10/new-blogger-limits-labels.html",
                    confirmed=False,
                ),
            ),
        ),
    )
}
"""Every target by its name."""
