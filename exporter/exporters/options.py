"""What an export is asked to be. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum

from exporter.model.assumptions import DEFAULT, Assumptions
from exporter.model.publication import Declared
from exporter.render.addresses import AddressPattern


class Side(StrEnum):
    """Which entries one export holds; no file ever holds those of two sides."""

    PUBLIC = "public"
    REST = "private"
    """Everything else: private entries, and drafts where they are on no side of their own."""
    DRAFTS = "drafts"
    """Where every entry is to be a draft, those that are not private; there is nothing public then."""


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """The options of one export.

    Attributes:
        declared: what the owner said about the flags.
        side: which entries.
        as_of: when the version was read, also the export's own date; nothing is taken from the clock.
        since: the first day, by the entry's date.
        until: the last day.
        category: the name of the only category.
        hidden_comments: also write comments that are not visible, where the target can hold them back.
        body: ``markdown`` or ``html``, where a format has the choice.
        media_base_url: where the pictures will be found, with a slash at the end.
        media_folder: whether the pictures are written into the export.
        max_entries: the most entries in a file; 0 for no limit.
        max_bytes: the most bytes in a file; 0 for no limit.
        old_urls: how the addresses of the old blog's entries are made.
        new_url: how those of the new home are made.
        title: what a book is called; empty for the blog's id.
        language: the language of a book (BCP 47).
        by_year: whether each year becomes a book of its own.
        vertical: whether a book's lines run from top to bottom.
        comments: whether a book holds the comments.
        assume: the assumptions records are read with.
    """

    declared: Declared = field(default_factory=Declared)
    side: Side = Side.PUBLIC
    as_of: datetime | None = None
    since: date | None = None
    until: date | None = None
    category: str | None = None
    hidden_comments: bool = False
    body: str = "markdown"
    media_base_url: str = ""
    media_folder: bool = False
    max_entries: int = 0
    max_bytes: int = 0
    old_urls: tuple[AddressPattern, ...] = ()
    new_url: AddressPattern | None = None
    title: str = ""
    language: str = "ja"
    by_year: bool = False
    vertical: bool = False
    comments: bool = True
    assume: Assumptions = DEFAULT

    @property
    def label(self) -> str:
        """What file names say of the side, so that nobody publishes the wrong file."""
        if self.side is Side.REST:
            return "NOT-PUBLIC"
        return f"{self.side}-with-hidden-comments" if self.hidden_comments else str(self.side)
