"""What walks over a list have in common: what they are told, how they are asked, and their bounds. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

BARREN_PAGES = 3
"""So many pages in a row without a new id end a list that goes on past what it promised."""


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What a walk needs to know of a page that was read; numbers the service sent, or ``None`` where it sent none.

    Attributes:
        page: the page asked for.
        page_no: the page the answer says it is.
        next_no: the page said to follow.
        all_page: the number of pages said to exist.
        count: items on the page.
        new: items whose id was not seen before in this walk.
        digest: over the page's ids and digests, to recognise a repeated page.
        limit: the page size said to hold (file list).
        filenum: the number of files said to exist (file list).
        totalsize: the size of all files in bytes, as said (file list).
        new_bytes: the size of the files not seen before, as their records say; ``None`` where one says none.
    """

    page: int
    page_no: int | None
    next_no: int | None
    all_page: int | None
    count: int
    new: int
    digest: bytes | str
    limit: int | None = None
    filenum: int | None = None
    totalsize: int | None = None
    new_bytes: int | None = None


class Walk(Protocol):
    """The face of both kinds of walk."""

    @property
    def finished(self) -> bool:
        """Whether no further page is needed."""

    @property
    def complete(self) -> bool:
        """Whether the walk finished and saw the whole list."""

    @property
    def problems(self) -> list[str]:
        """Sentences naming the list, the page and what to do."""

    def wanted(self, window: int) -> list[int]:
        """Return the pages to ask for now, in order, none of them twice; ``window`` is how far to read ahead."""

    def accept(self, facts: PageFacts) -> None:
        """Take in the next page in order."""

    def accept_failure(self, page: int, reason: str, *, missing: bool) -> None:
        """Take in that the next page in order could not be read; ``missing`` when the service says it has no such."""


class Pages:
    """What both walks share: the order of pages, the bound on them, and the problems met."""

    def __init__(self, name: str, setting: str, max_pages: int) -> None:
        self._name = name
        self._setting = setting
        self._max_pages = max_pages
        self._next = 1
        self._asked = 0
        self._end: int | None = None
        self._digest: bytes | str | None = None
        self._barren = 0
        self.finished = False
        self.problems: list[str] = []

    @property
    def complete(self) -> bool:
        """Whether the walk finished without a problem."""
        return self.finished and not self.problems

    def wanted(self, window: int) -> list[int]:
        """Return the pages to ask for now: the next one, and those ahead that are known to exist."""
        if self.finished:
            return []
        last = max(self._next, min(self._next + max(0, window), self._end or 0, self._max_pages))
        first = max(self._next, self._asked + 1)
        self._asked = max(self._asked, last)
        return list(range(first, last + 1))

    def _expects(self, page: int) -> bool:
        if self.finished or page < self._next:
            return False
        if page > self._next:
            self._problem(self._next, "was left out; run again")
        return True

    def _repeats(self, facts: PageFacts) -> bool:
        repeated = facts.page > 1 and facts.digest == self._digest
        self._digest = facts.digest
        return repeated

    def _go_on(self, page: int) -> None:
        if page > self._max_pages:
            self._stop(f"{self._name}: goes on after page {self._max_pages}; raise max_pages if it really is that long")
        else:
            self._next = page

    def _is_barren(self, new: int) -> bool:
        self._barren = 0 if new else self._barren + 1
        return self._barren >= BARREN_PAGES

    def _problem(self, page: int, sentence: str) -> None:
        self.problems.append(f"{self._name}, page {page}: {sentence}")

    def _stop(self, problem: str | None = None) -> None:
        self.finished = True
        if problem is not None:
            self.problems.append(problem)

    def _stop_at(self, page: int, sentence: str) -> None:
        self._problem(page, sentence)
        self.finished = True
