"""What walks over a list have in common: what they are told, how they are asked, and their bounds. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from exporter.model.assumptions import Assumptions

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


class ChainWalk(Pages):
    """The walk over a list with a paging object (API 2.4): the chain of ``next_no``, read ahead up to ``all_page``.

    ``page_size`` is the most items a page holds, or ``None`` when unknown; it only matters to a list without a paging
    object. ``setting`` names what to correct when the list ignores its page parameter.
    """

    def __init__(self, name: str, setting: str, max_pages: int, page_size: int | None = None) -> None:
        super().__init__(name, setting, max_pages)
        self._page_size = page_size
        self._first_end: int | None = None
        self._chain_ended = False

    def accept(self, facts: PageFacts) -> None:
        """Take in the next page in order."""
        if not self._expects(facts.page):
            return
        self._note_end(facts)
        repeated = self._repeats(facts)
        page, end = facts.page, self._end
        past_end = end is not None and page > end
        if facts.page_no is not None and facts.page_no != page:
            self._end_by_echo(facts, past_end)
        elif repeated:
            self._end_by_repeat(facts, past_end)
        elif facts.count == 0:
            self._end_by_emptiness(facts)
        elif facts.page_no is None and facts.next_no is None and facts.all_page is None and end is None:
            self._end_without_paging(facts)
        elif page > (self._first_end or 0) and self._is_barren(facts.new):
            self._stop_at(page, f"{BARREN_PAGES} pages in a row brought nothing new; the list is cut here, run again")
        else:
            self._follow(facts)

    def accept_failure(self, page: int, reason: str, *, missing: bool) -> None:
        """Take in that the next page in order could not be read."""
        if not self._expects(page):
            return
        end = self._end
        if missing and (self._chain_ended or (end is not None and page > end)):
            self._stop()
            return
        self._problem(page, f"could not be read: {reason}; run again")
        hopeless = page > (self._first_end or 0) and self._is_barren(0)
        if end is None or page >= end or hopeless:
            self._stop()
        else:
            self._go_on(page + 1)

    def _note_end(self, facts: PageFacts) -> None:
        if facts.all_page is None:
            return
        if facts.all_page < 0:
            self._problem(facts.page, f"says the list has {facts.all_page} pages; run again")
            return
        self._end = facts.all_page
        if self._first_end is None and facts.all_page <= self._max_pages:
            self._first_end = facts.all_page

    def _end_by_echo(self, facts: PageFacts, past_end: bool) -> None:
        if past_end or (self._end is not None and self._end <= 1):
            self._stop()
        else:
            self._stop_at(
                facts.page,
                f"the answer says it is page {facts.page_no}, so the list ignores its page parameter: "
                f"set {self._setting} to the right name",
            )

    def _end_by_repeat(self, facts: PageFacts, past_end: bool) -> None:
        if past_end:
            self._stop()
        else:
            self._stop_at(
                facts.page,
                f"holds the same items as the page before, so the list ignores its page parameter: "
                f"set {self._setting} to the right name",
            )

    def _end_by_emptiness(self, facts: PageFacts) -> None:
        if self._end is not None and facts.page < self._end and not self._chain_ended:
            self._stop_at(facts.page, f"is empty although the list has {self._end} pages; run again")
        elif facts.page == 1 and facts.next_no is not None:
            self._stop_at(1, f"is empty although page {facts.next_no} is said to follow; run again")
        else:
            self._stop()

    def _end_without_paging(self, facts: PageFacts) -> None:
        evidently_all = facts.page == 1 and self._page_size is not None and facts.count < self._page_size
        if evidently_all:
            self._stop()
        else:
            self._stop_at(facts.page, "has no paging object, so there may be further pages; check the service's answer")

    def _follow(self, facts: PageFacts) -> None:
        page, following = facts.page, facts.next_no
        end = self._end
        if self._chain_ended and facts.new:
            self._problem(page, "holds items although an earlier page said no page follows; they are kept, run again")
            self._chain_ended = False
        if following is None:
            self._chain_ended = True
            if end is None or page >= end:
                self._stop()
            else:
                self._go_on(page + 1)
        elif following <= page:
            self._stop_at(page, f"says page {following} follows, which goes back; the list is cut here, run again")
        elif following == page + 1:
            self._chain_ended = False
            self._go_on(following)
        else:
            self._problem(page, f"says page {following} follows, which skips pages; run again")
            self._go_on(page + 1 if end is not None and page < end else following)


class FileWalk(Pages):
    """The walk over the file list (API 2.6), which has no chain: pages until all that the summary counts were seen.

    Where ``filenum`` files were seen but their sizes do not reach ``totalsize``, there may be more of them.
    """

    def __init__(self, name: str, setting: str, max_pages: int, page_size: int) -> None:
        super().__init__(name, setting, max_pages)
        self._limit = page_size
        self._filenum: int | None = None
        self._distinct = 0
        self._bytes: int | None = 0

    def accept(self, facts: PageFacts) -> None:
        """Take in the next page in order."""
        if not self._expects(facts.page):
            return
        self._note_size(facts)
        self._distinct += facts.new
        repeated = self._repeats(facts)
        lacks_bytes = self._lacks_bytes(facts)
        counted = self._filenum is not None and self._distinct >= self._filenum
        if counted and not lacks_bytes:
            self._stop()
        elif repeated or (facts.page_no is not None and facts.page_no != facts.page):
            self._end_ignored(facts)
        elif facts.new == 0:
            self._end_short(facts.page)
        elif (self._filenum is None or counted) and facts.count < self._limit:
            self._stop()
        else:
            self._go_on(facts.page + 1)

    def accept_failure(self, page: int, reason: str, *, missing: bool) -> None:
        """Take in that the next page in order could not be read."""
        if not self._expects(page):
            return
        expected = self._end or 0
        if missing and page > max(1, expected):
            self._end_short(page)
            return
        self._problem(page, f"could not be read: {reason}; run again")
        hopeless = expected > self._max_pages and self._is_barren(0)
        if page >= expected or hopeless:
            self._stop()
        else:
            self._go_on(page + 1)

    def _note_size(self, facts: PageFacts) -> None:
        if facts.new:
            self._barren = 0
        if facts.limit is not None and facts.limit > 0:
            self._limit = facts.limit
        if facts.filenum is not None and facts.filenum >= 0:
            self._filenum = facts.filenum
            self._end = -(-facts.filenum // self._limit)

    def _lacks_bytes(self, facts: PageFacts) -> bool:
        """Add up the sizes; one that no record says makes the sum worth nothing."""
        if self._bytes is None or facts.new_bytes is None:
            self._bytes = None
            return False
        self._bytes += facts.new_bytes
        return facts.totalsize is not None and self._bytes < facts.totalsize

    def _end_ignored(self, facts: PageFacts) -> None:
        past_end = self._end is not None and facts.page > self._end
        if not past_end:
            self._problem(
                facts.page,
                "is the same page again, so the list seems to ignore its page parameter: "
                f"set {self._setting} to the right name",
            )
        self._end_short(facts.page)

    def _end_short(self, page: int) -> None:
        if self._filenum is not None and self._distinct < self._filenum:
            self._problem(page, f"the list ends after {self._distinct} of {self._filenum} files; run again")
        self._stop()


def entry_walk(assume: Assumptions) -> ChainWalk:
    """Return a walk over the entry list, whose page size is unknown (API section 8)."""
    return ChainWalk("entry list", "entry_list_page_param", assume.max_pages)


def comment_walk(assume: Assumptions) -> ChainWalk:
    """Return a walk over the comment list."""
    return ChainWalk("comment list", "comment_list_page_param", assume.max_pages, assume.comment_page_size)


def file_walk(assume: Assumptions) -> FileWalk:
    """Return a walk over the file list."""
    return FileWalk("file list", "file_list_page_param", assume.max_pages, assume.file_page_size)
