"""Paginators for lists with numbered pages, from 1. Pure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from exporter.message import message
from exporter.service.declarations import BLOG_V1
from exporter.service.interface import Call, Cursor, Page, PageFacts

_MAX_DOUBTS = 5
"""Doubts to report. One is enough to make a list incomplete."""
MAX_UNSTATED_PAGES: Final = 1_000
"""Pages to read of a list that never says how many it has."""
MIN_LIMIT_PAGES: Final = 500
"""Pages to read if a list states fewer, since a service may always say that it has one."""
_USUAL_MAX_PAGES: Final[int] = BLOG_V1.default_of("max_pages")
"""An owner who sets more knows that the lists are that long."""
SPARE_PAGES: Final = 100
"""Pages that a list may have beyond twice the number that it stated first, since posts are written during a sweep."""
BARREN_PAGES = 3
"""Pages in a row without a new id that end a list that goes beyond its stated end."""


@dataclass
class _NumberedPages(ABC):
    """The order and the limit of pages, and the problems found.

    Attributes:
        name: the list's name in messages.
        setting: the setting to correct if the list ignores its page parameter.
        request: returns the request for a page.
        max_pages: the last page to request.
        page_size: the maximum number of items on a page; 0 if unknown.
    """

    name: str
    setting: str
    request: Callable[[int], Call[Page]]
    max_pages: int
    page_size: int = 0
    finished: bool = False
    problems: list[str] = field(default_factory=list)
    _next: int = 1
    _asked: int = 0
    _end: int | None = None
    _digest: str = ""
    _barren: int = 0
    _counts: dict[int, int] = field(default_factory=dict)
    _doubts: list[str] = field(default_factory=list)

    @property
    def _ignored(self) -> str:
        return message("its page parameter: set {setting} to the right name", setting=self.setting)

    @property
    def provable(self) -> bool:
        """Whether the list can be proven complete: by its last page, which each page names."""
        return True

    @property
    def doubts(self) -> list[str]:
        """The contradictions between pages. One is a page that is shorter than another but not the last."""
        if len(self._counts) < 2:
            return self._doubts[:_MAX_DOUBTS]
        last, most = max(self._counts), max(self._counts.values())
        short = next((page for page, count in self._counts.items() if count < most and page != last), None)
        if short is None:
            return self._doubts[:_MAX_DOUBTS]
        fewer = message("holds {count:,} items, and another page holds {most:,}", count=self._counts[short], most=most)
        return [*self._doubts, self._sentence(short, fewer)][:_MAX_DOUBTS]

    @property
    def complete(self) -> bool:
        """Whether the whole list was read without a problem."""
        return self.finished and not self.problems

    def call(self, cursor: Cursor) -> Call[Page]:
        """Return the request for a page."""
        return self.request(int(cursor))

    def wanted(self, window: int) -> list[Cursor]:
        """Return the pages to request now: the next one, and the following ones that are known to exist."""
        if self.finished:
            return []
        last = max(self._next, min(self._next + max(0, window), self._end or 0, self.max_pages))
        first = max(self._next, self._asked + 1)
        self._asked = max(self._asked, last)
        return list(range(first, last + 1))

    def accept(self, facts: PageFacts) -> None:
        """Take in the facts about the next page in order."""
        page = int(facts.cursor)
        if self._expects(page):
            repeated = page > 1 and facts.digest == self._digest
            self._digest = facts.digest
            if facts.count:
                self._counts[page] = facts.count
            self._learn(page, facts, repeated=repeated)

    def accept_failure(self, cursor: Cursor, reason: str, *, missing: bool) -> None:
        """Note that the next page in order could not be read."""
        page = int(cursor)
        if self._expects(page) and not (missing and self._ends_before(page)):
            self._problem(page, message("could not be read: {reason}; run again", reason=reason))
            end = self._end or 0
            hopeless = page > self._believed_end() and self._is_barren(0)
            if page >= end or hopeless:
                self.finished = True
            else:
                self._continue_at(page + 1)

    @abstractmethod
    def _learn(self, page: int, facts: PageFacts, *, repeated: bool) -> None:
        """Continue or end the list after a page; ``repeated`` if the page before had the same items."""

    @abstractmethod
    def _ends_before(self, page: int) -> bool:
        """End the list if a page that the service reports as missing may be beyond its end; return whether it may."""

    @abstractmethod
    def _stated_pages(self) -> int | None:
        """Return the number of pages that the list stated first; ``None`` if it states none."""

    @abstractmethod
    def _believed_end(self) -> int:
        """Return the last page whose failure leaves no doubt about the number of pages."""

    def _expects(self, page: int) -> bool:
        if self.finished or page < self._next:
            return False
        if page > self._next:
            self._problem(self._next, message("was left out; run again"))
        return True

    def _continue_at(self, page: int) -> None:
        stated = self._stated_pages()
        limit = MAX_UNSTATED_PAGES if stated is None else max(2 * stated + SPARE_PAGES, MIN_LIMIT_PAGES)
        if self.max_pages <= _USUAL_MAX_PAGES and page > limit:
            self._stop_at(page - 1, _cut(stated))
        elif page > self.max_pages:
            more = message(
                "goes on after page {max_pages}; raise max_pages if it really is that long", max_pages=self.max_pages
            )
            self.problems.append(message("{list}: {problem}", list=self.name, problem=more))
            self.finished = True
        else:
            self._next = page

    def _is_barren(self, new: int) -> bool:
        self._barren = 0 if new else self._barren + 1
        return self._barren >= BARREN_PAGES

    def _sentence(self, page: int, sentence: str) -> str:
        return message("{list}, page {page}: {problem}", list=self.name, page=page, problem=sentence)

    def _problem(self, page: int, sentence: str) -> None:
        self.problems.append(self._sentence(page, sentence))

    def _doubt(self, page: int, sentence: str) -> None:
        self._doubts.append(self._sentence(page, sentence))

    def _stop_at(self, page: int, sentence: str) -> None:
        self._problem(page, sentence)
        self.finished = True


def _cut(stated: int | None) -> str:
    if stated is None:
        return message(
            "is not the last one, and no page says how many there are; the list is cut here. If it really is "
            "that long, set max_pages above {usual:,}",
            usual=_USUAL_MAX_PAGES,
        )
    return message(
        "is not the last one, although the list said it has {stated:,} pages; the list is cut here. If it really is "
        "that long, set max_pages above {usual:,}",
        stated=stated,
        usual=_USUAL_MAX_PAGES,
    )


@dataclass
class ChainedPages(_NumberedPages):
    """A list whose pages name the next page. It is read ahead up to the stated number of pages.

    ``page_size`` only matters for a list without a paging object.
    """

    _first_end: int | None = None
    _chain_ended: bool = False
    _tries: bool = False

    def _learn(self, page: int, facts: PageFacts, *, repeated: bool) -> None:
        self._note_end(page, facts)
        end = self._end
        past_end = end is not None and page > end
        if facts.echo is not None and facts.echo != page:
            self._end_by_echo(page, facts.echo)
        elif repeated:
            if past_end:
                self._doubt_promise(page)
                self.finished = True
            else:
                self._stop_at(
                    page,
                    message(
                        "holds the same items as the page before, so the list ignores {ignored}", ignored=self._ignored
                    ),
                )
        elif facts.count == 0:
            self._end_by_emptiness(page, facts)
        elif page > self._believed_end() and self._is_barren(facts.new):
            self._stop_at(
                page,
                message(
                    "{barren_pages} pages in a row brought nothing new; the list is cut here, run again",
                    barren_pages=BARREN_PAGES,
                ),
            )
        elif end is None and _has_no_paging(facts):
            self._try_next(page, facts)
        else:
            self._follow(page, facts)

    def _try_next(self, page: int, facts: PageFacts) -> None:
        """Go on after a page that does not say whether another one follows, unless it is short."""
        if facts.count < self.page_size:
            self.finished = True
        else:
            self._tries = True
            self._continue_at(page + 1)

    def _end_by_echo(self, page: int, echo: Cursor) -> None:
        """End the list at a response that states another page number."""
        if self._end is not None and (page > self._end or self._end <= 1):
            if echo != 0:
                self._doubt(page, message("says it is page {echo} of {end}", echo=echo, end=self._end))
            self.finished = True
        else:
            self._stop_at(
                page,
                message(
                    "the answer says it is page {echo}, so the list ignores {ignored}", echo=echo, ignored=self._ignored
                ),
            )

    def _ends_before(self, page: int) -> bool:
        if self._tries and self._end is None:
            self.finished = True
        elif self._chain_ended or (self._end is not None and page > self._end):
            self._doubt_promise(page)
            self.finished = True
        return self.finished

    def _doubt_promise(self, page: int) -> None:
        """Note that a page is missing, although the chain or the number of pages includes it."""
        self._doubt(page, message("is missing or empty, although earlier pages say that it exists"))

    def _stated_pages(self) -> int | None:
        return self._first_end if self._first_end is not None else self._end

    def _believed_end(self) -> int:
        return self._first_end or 0

    def _note_end(self, page: int, facts: PageFacts) -> None:
        pages = facts.pages
        if pages is None and self._end is None and _has_no_paging(facts) and facts.count >= max(1, self.page_size):
            self._doubt(
                page, message("has no paging object, so there may be further pages; check the service's answer")
            )
            return
        if pages is None:
            self._doubt(page, message("does not say how many pages the list has"))
            return
        if self._end is not None and pages < self._end:
            self._doubt(
                page,
                message("says the list has {pages:,} pages; an earlier page says {end:,}", pages=pages, end=self._end),
            )
        if pages < 0:
            self._problem(page, message("says the list has {pages:,} pages; run again", pages=pages))
            return
        self._end = pages
        if self._first_end is None and pages <= self.max_pages:
            self._first_end = pages

    def _end_by_emptiness(self, page: int, facts: PageFacts) -> None:
        end = self._end
        if end is not None and page < end and not self._chain_ended:
            self._problem(page, message("is empty although the list has {end} pages; run again", end=end))
            if self._is_barren(0) or page >= self._believed_end():
                self.finished = True
            else:
                self._continue_at(page + 1)
        elif page == 1 and facts.next is not None:
            self._stop_at(1, message("is empty although page {next} is said to follow; run again", next=facts.next))
        else:
            if page > 1 and not (self._tries and end is None):
                self._doubt_promise(page)
            self.finished = True

    def _follow(self, page: int, facts: PageFacts) -> None:
        end = self._end
        if end is not None and page > end >= 0:
            self._doubt(page, message("holds items, although the list has {end} pages", end=end))
        if self._chain_ended and facts.new:
            self._problem(
                page, message("holds items although an earlier page said no page follows; they are kept, run again")
            )
            self._chain_ended = False
        if facts.next is None:
            self._chain_ended = True
            if end is None or page >= end:
                self.finished = True
            else:
                self._continue_at(page + 1)
            return
        following = int(facts.next)
        if following <= page:
            self._stop_at(
                page,
                message(
                    "says page {following} follows, which goes back; the list is cut here, run again",
                    following=following,
                ),
            )
        elif following == page + 1:
            self._chain_ended = False
            self._continue_at(following)
        else:
            self._problem(
                page, message("says page {following} follows, which skips pages; run again", following=following)
            )
            self._continue_at(page + 1 if end is not None and page < end else following)


def _has_no_paging(facts: PageFacts) -> bool:
    return facts.echo is None and facts.next is None and facts.pages is None


@dataclass
class CountedPages(_NumberedPages):
    """A list with a total number of records instead of a chain. Pages are read until that number is reached.

    If the records then have less than the stated total size, the list may continue.
    """

    _total: int | None = None
    _distinct: int = 0
    _size: int | None = 0
    _first_end: int | None = None

    def _learn(self, page: int, facts: PageFacts, *, repeated: bool) -> None:
        self._note_total(page, facts)
        self._distinct += facts.new
        lacks_size = self._lacks_size(facts)
        counted = self._total is not None and self._distinct >= self._total
        if counted and self._distinct != self._total and not self._reaches_size(facts):
            counted = False  # the number is wrong, so there may be more
        if counted and not lacks_size:
            self.finished = True
        elif repeated or (facts.echo is not None and facts.echo != page):
            if self._end is None or page <= self._end:
                self._problem(
                    page,
                    message("is the same page again, so the list seems to ignore {ignored}", ignored=self._ignored),
                )
            self._end_short(page)
        elif facts.new == 0:
            self._end_short(page)
        elif (self._total is None or self._distinct >= self._total) and facts.count < self.page_size:
            self.finished = True
        else:
            self._continue_at(page + 1)

    def _ends_before(self, page: int) -> bool:
        if page > max(1, self._end or 0):
            self._end_short(page)
        return self.finished

    def _stated_pages(self) -> int | None:
        return self._first_end

    def _believed_end(self) -> int:
        # Any page may fail while the list claims no more pages than are believed.
        end = self._end or 0
        return end if end <= self.max_pages else 0

    def _note_total(self, page: int, facts: PageFacts) -> None:
        if facts.new:
            self._barren = 0
        if facts.page_size is not None and facts.page_size > 0:
            self.page_size = facts.page_size
        if facts.total is None:
            self._doubt(page, message("does not say how many files there are"))
        elif self._total is not None and facts.total != self._total:
            self._doubt(
                page,
                message(
                    "says there are {new_total:,} files; an earlier page says {total:,}",
                    new_total=facts.total,
                    total=self._total,
                ),
            )
        if facts.total is not None and facts.total >= 0:
            self._total = facts.total
            self._end = -(-facts.total // self.page_size)
            self._first_end = self._end if self._first_end is None else self._first_end

    def _lacks_size(self, facts: PageFacts) -> bool:
        """Add the sizes of a page and compare. The sum is unknown if one record states no size."""
        if self._size is None or facts.new_size is None:
            self._size = None
            return False
        self._size += facts.new_size
        return facts.total_size is not None and self._size < facts.total_size

    def _reaches_size(self, facts: PageFacts) -> bool:
        return facts.total_size is not None and self._size is not None and self._size >= facts.total_size

    def _end_short(self, page: int) -> None:
        if self._total is not None and self._distinct < self._total:
            self._problem(
                page,
                message(
                    "the list ends after {distinct:,} of {total:,} files; run again",
                    distinct=self._distinct,
                    total=self._total,
                ),
            )
        self.finished = True
