"""The paginator of lists whose pages name the address of the next one. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from exporter.message import Message, message
from exporter.service.interface import Call, Cursor, Page, PageFacts

MAX_PAGES: Final = 5_000
MAX_BARREN_PAGES: Final = 50
"""Pages in a row without a new record, which end a list that leads on and on."""
MAX_CURSOR_CHARACTERS: Final = 4000


@dataclass
class LinkedPages:
    """Reads several lists one after the other, page by page.

    A cursor is a text of addresses with spaces between them: the page to read, and the first pages of the lists after
    it. The empty cursor is the document that names the lists.

    Attributes:
        name: the list's name in messages.
        request: returns the request for a page.
        limit: the number of records on a page that may be cut if it names no next one; 0 for none.
        max_pages: the most pages to request.
    """

    name: str
    request: Callable[[str], Call[Page]]
    limit: int = 0
    max_pages: int = MAX_PAGES
    finished: bool = False
    problems: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    provable: bool = False
    _next: str | None = ""
    _seen: set[str] = field(default_factory=set)
    _number: int = 0
    _barren: int = 0
    _digest: str = ""

    @property
    def complete(self) -> bool:
        """Whether the whole list was read without a problem."""
        return self.finished and not self.problems

    def wanted(self, _window: int) -> list[Cursor]:
        """Return the next page; only the page before names it."""
        if self._next is None:
            return []
        cursor, self._next = self._next, None
        self._seen.add(cursor)
        return [cursor]

    def call(self, cursor: Cursor) -> Call[Page]:
        """Return the request for a page."""
        return self.request(str(cursor))

    def accept(self, facts: PageFacts) -> None:
        """Take in the facts about a page, and go on to the next one."""
        self._number += 1
        following = None if facts.next is None else str(facts.next)
        listed = bool(facts.cursor)
        # Fewer addresses are left if the next page belongs to another list.
        ends = following is None or len(following.split(" ")) < len(str(facts.cursor).split(" "))
        repeated = listed and facts.count > 0 and facts.digest == self._digest
        self._digest = facts.digest
        self._barren = 0 if facts.new or not listed else self._barren + 1
        if listed and ends and self.limit and facts.count >= self.limit:
            self._problem(
                message(
                    "holds {count:,} records, as many as one answer may, and names no next page; older ones may be "
                    "missing. Use an export file of the blog, or its pages",
                    count=facts.count,
                )
            )
        if following is None:
            self.finished = True
        elif repeated:
            self._stop(message("holds the same records as the page before; the list is cut here, run again"))
        elif following in self._seen:
            self._stop(message("names a next page that was already read; the list is cut here, run again"))
        elif len(following) > MAX_CURSOR_CHARACTERS:
            self._stop(message("names a next page whose address is too long; the list is cut here"))
        elif self._barren >= MAX_BARREN_PAGES:
            self._stop(
                message("is the last of {n:,} pages that brought nothing new; the list is cut here", n=self._barren)
            )
        elif self._number >= self.max_pages:
            self._stop(message("is not the last page, and no more pages are read"))
        else:
            self._next = following

    def accept_failure(self, cursor: Cursor, reason: str, *, missing: bool) -> None:
        """Note that a page could not be read; the lists after it are read nevertheless."""
        del missing  # a page that its predecessor names exists
        self._number += 1
        self._problem(message("could not be read: {reason}; run again", reason=reason))
        _, _, others = str(cursor).partition(" ")
        if others and others not in self._seen:
            self._next = others
        else:
            self.finished = True

    def _problem(self, text: Message) -> None:
        self.problems.append(message("{list}, page {page}: {problem}", list=self.name, page=self._number, problem=text))

    def _stop(self, text: Message) -> None:
        self._problem(text)
        self.finished = True
