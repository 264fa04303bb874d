"""Several lists of a WordPress that are read one after another as one list. Pure.

WordPress keeps posts, pages and custom types in separate lists with one number space, and the names of categories in
another. A cursor names a list and a page, such as ``posts 3``, and ``posts 3 20`` if pages have fewer records than
usual. The facts about a page travel in its ``next``, as JSON, because a run that is resumed has only these facts of the
pages that an earlier process read.

A list ends when all records that it counts were read, or at an empty page or one after the last. Plugins and proxies
remove the counts, or make pages shorter than requested, so neither a short page nor the stated last one ends it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

from exporter.lossless_json import NotJson, dumps, loads
from exporter.message import message
from exporter.service.interface import Call, Cursor, Page, PageFacts

PAGE_RECORDS: Final = 100
"""The most records that WordPress sends on a page."""
MAX_PAGES: Final = 20_000
"""Two million records; a list that claims more is not believed."""
MAX_UNSTATED_PAGES: Final = 2_000
"""Pages to read of a list that states no total: 200,000 records."""
MIN_LIMIT_PAGES: Final = 500
"""Pages to read if a list states fewer, since a plugin may always state one."""
SPARE_PAGES: Final = 100
"""Pages that a list may have beyond twice the number that it stated first, since posts are written meanwhile."""
MAX_LISTS: Final = 200
_BARREN_PAGES: Final = 3
"""Pages in a row with records, none of them new, that end a list."""
_MAX_DOUBTS: Final = 5


def told(
    *,
    total: int | None = None,
    pages: int | None = None,
    end: bool = False,
    size: int | None = None,
    count: int | None = None,
    lesson: Any = None,
) -> str:
    """Return the facts about a page as the text for :attr:`Page.next`.

    Args:
        total: the number of records, from ``X-WP-Total``.
        pages: the number of pages, from ``X-WP-TotalPages``.
        end: whether the page is beyond the end of its list.
        size: the number of records to request on a page, if the blog refused to send so many.
        count: the number of records on a page of a list without records for the archive.
        lesson: JSON for ``learn``, from a page of a list without records for the archive.
    """
    facts = {"total": total, "pages": pages, "end": end, "size": size, "count": count, "lesson": lesson}
    return dumps({name: value for name, value in facts.items() if value is not None and value is not False}).decode()


class ListsInTurn:
    """Reads lists in turn; a list begins when all pages of the one before were accepted.

    Args:
        name: the name for messages.
        lists: their names, in order.
        helpers: those among them whose pages have no records for the archive. A blog may have closed one, every day.
            After any other failure of one, nothing more is read, because all records would seem to have changed.
        call: returns the request for a page of a list, by its number and the number of records on a page.
        learn: is called with each helper's ``lesson``; returns the names of further lists.
        strict: returns whether each record that a list counts must also be shown.
        resize: is called with the number of records on a page if it is lower than usual.
    """

    def __init__(
        self,
        name: str,
        lists: Sequence[str],
        helpers: AbstractSet[str],
        call: Callable[[str, int, int], Call[Page]],
        learn: Callable[[str, Any], Sequence[str]],
        strict: Callable[[str], bool],
        resize: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._name = name
        self._lists = deque(lists)
        self._known = set(lists)
        self._helpers = helpers
        self._call = call
        self._learn = learn
        self._strict = strict
        self._resize = resize
        self.problems: list[str] = []
        self.provable = True
        self._doubts: list[str] = []
        self._begin()

    def _begin(self, size: int = PAGE_RECORDS) -> None:
        self._size = size
        self._next, self._asked, self._barren, self._read, self._first = 1, 0, 0, 0, 0
        self._pages: int | None = None
        self._total: int | None = None
        self._limit = MAX_UNSTATED_PAGES
        self._failed = False

    @property
    def finished(self) -> bool:
        """Whether no further page is needed."""
        return not self._lists

    @property
    def complete(self) -> bool:
        """Whether all lists were read."""
        return self.finished and not self.problems

    @property
    def doubts(self) -> list[str]:
        """Contradictions between the pages of a list."""
        return self._doubts[:_MAX_DOUBTS]

    def wanted(self, window: int) -> list[Cursor]:
        """Return the pages of the current list to request now."""
        found: list[Cursor] = []
        last = max(self._pages or 1, self._next)
        while self._lists and self._asked < min(last, self._next + max(0, window)):
            self._asked += 1
            size = "" if self._size == PAGE_RECORDS else f" {self._size}"
            found.append(f"{self._lists[0]} {self._asked}{size}")
        return found

    def call(self, cursor: Cursor) -> Call[Page]:
        """Return the request for a page."""
        return self._call(*_place(cursor))

    def accept(self, facts: PageFacts) -> None:
        """Take in the facts about the next page in order."""
        name, page, size = _place(facts.cursor)
        if not self._expects(name, page, size):
            return
        known = _facts(facts.next)
        smaller = _count(known.get("size"))
        if smaller and smaller < size:
            self._begin(smaller)
            if name not in self._helpers:
                self._resize(smaller)
            return
        if name in self._helpers:
            lists = self._learn(name, known.get("lesson"))
            self._lists.extend(each for each in lists[:MAX_LISTS] if each not in self._known)
            self._known.update(lists)
        total, pages = _count(known.get("total")), _count(known.get("pages"))
        if known.get("end") is True:
            if self._pages is not None and page <= self._pages:
                self._doubt(name, page, message("is missing, although earlier pages say that it exists"))
            self._end(name)
            return
        self._note_totals(name, page, total, pages)
        helper = name in self._helpers
        count = _count(known.get("count")) or 0 if helper else facts.count
        self._read += count if helper else facts.new
        self._note_size(name, page, count)
        self._barren = self._barren + 1 if facts.count and not facts.new and not helper else 0
        if self._barren >= _BARREN_PAGES:
            problem = message("{n:,} pages in a row hold nothing new; run again", n=_BARREN_PAGES)
            self._problem(name, page, problem)
            self._end(name)
        elif self._is_last(name, page, count):
            self._end(name)
        elif page >= self._limit:
            self._problem(name, page, message("is not the last one, although the list stated fewer; it is cut here"))
            self._end(name)
        else:
            self._next = page + 1

    def accept_failure(self, cursor: Cursor, reason: str, *, missing: bool) -> None:
        """Note that the next page in order could not be read; ``missing`` if the blog has no such page."""
        name, page, size = _place(cursor)
        if not self._expects(name, page, size):
            return
        if missing and (name in self._helpers or (self._pages is not None and page > self._pages)):
            self._end(name)
            return
        self._failed = True
        self._problem(name, page, message("could not be read: {reason}; run again", reason=reason))
        if name in self._helpers:
            self._lists.clear()
        elif page >= (self._pages or 1):
            self._end(name)
        else:
            self._next = page + 1

    def _expects(self, name: str, page: int, size: int) -> bool:
        return bool(self._lists) and name == self._lists[0] and page >= self._next and size == self._size

    def _is_last(self, name: str, page: int, count: int) -> bool:
        """Return whether a page is the last one: all records were read, or it is empty."""
        if self._total is not None and (
            self._read == self._total or (self._read > self._total and name in self._helpers)
        ):
            return True
        return page >= (self._pages or 1) and (not count or (self._failed and self._pages is not None))

    def _note_totals(self, name: str, page: int, total: int | None, pages: int | None) -> None:
        if total is not None and self._total is not None and total != self._total:
            self._doubt(
                name,
                page,
                message("says there are {new:,} records; an earlier page says {total:,}", new=total, total=self._total),
            )
        if pages is None and total is not None:
            pages = -(-total // self._size)
        if pages is not None and self._pages is None:
            # A plugin may put one record on each page, and leave the number of pages unchanged.
            self._limit = min(MAX_PAGES, max(MIN_LIMIT_PAGES, 2 * max(pages, total or 0) + SPARE_PAGES))
        self._total = self._total if total is None else total
        self._pages = self._pages if pages is None else pages

    def _note_size(self, name: str, page: int, count: int) -> None:
        """Note the size of the first page. If it is short and a second one follows, the blog sends no more."""
        if page == 1:
            self._first = count
        elif page == 2 and count and 0 < self._first <= self._size // 2 and name not in self._helpers:
            self._resize(self._first)

    def _end(self, name: str) -> None:
        """End a list. Compare the records that were read with the number that it states."""
        self.provable &= self._total is not None or name in self._helpers
        uncertain = self._total is None or self._failed or name in self._helpers
        withheld = 0 if uncertain else (self._total or 0) - self._read
        if withheld < 0:
            more = message("holds {n:,} records, and {expected:,} are expected", n=self._read, expected=self._total)
            self._doubts.append(message("{list}: {problem}", list=self._title(name), problem=more))
        elif withheld and self._strict(name):
            text = message(
                "{n:,} of {total:,} records are not shown to this user; sign in as an administrator",
                n=withheld,
                total=self._total,
            )
            self.problems.append(message("{list}: {problem}", list=self._title(name), problem=text))
        self._lists.popleft()
        self._begin()

    def _title(self, name: str) -> str:
        return f"{self._name} ({name})"

    def _sentence(self, name: str, page: int, sentence: str) -> str:
        return message("{list}, page {page}: {problem}", list=self._title(name), page=page, problem=sentence)

    def _problem(self, name: str, page: int, sentence: str) -> None:
        self.problems.append(self._sentence(name, page, sentence))

    def _doubt(self, name: str, page: int, sentence: str) -> None:
        self._doubts.append(self._sentence(name, page, sentence))


def _place(cursor: Cursor) -> tuple[str, int, int]:
    """Return the list of a cursor, its page, and the number of records on a page."""
    name, page, *size = str(cursor).split(" ")
    return name, int(page), int(size[0]) if size else PAGE_RECORDS


def _facts(text: Cursor | None) -> dict[str, Any]:
    try:
        value = loads(text.encode("utf-8", "surrogatepass")) if isinstance(text, str) else None
    except NotJson:
        return {}
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None
