"""Several lists of a WordPress that are read one after another as one list. Pure.

WordPress keeps posts, pages and custom types in separate lists with one number space, and the names of categories in
another. A cursor names a list and a page, such as ``posts 3``. The facts about a page travel in its ``next``,
as JSON, because a run that is resumed has only these facts of the pages that an earlier process read.
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
MAX_LISTS: Final = 200
_BARREN_PAGES: Final = 3
"""Pages in a row with records, none of them new, that end a list."""
_MAX_DOUBTS: Final = 5


def told(
    *,
    total: int | None = None,
    pages: int | None = None,
    end: bool = False,
    lesson: Any = None,
) -> str:
    """Return the facts about a page as the text for :attr:`Page.next`.

    Args:
        total: the number of records, from ``X-WP-Total``.
        pages: the number of pages, from ``X-WP-TotalPages``.
        end: whether the page is beyond the end of its list.
        lesson: JSON for ``learn``, from a page of a list without records for the archive.
    """
    facts = {"total": total, "pages": pages, "end": end, "lesson": lesson}
    return dumps({name: value for name, value in facts.items() if value is not None and value is not False}).decode()


class ListsInTurn:
    """Reads lists in turn; a list begins when all pages of the one before were accepted.

    Args:
        name: the name for messages.
        lists: their names, in order.
        helpers: those among them whose pages have no records for the archive. A blog may have closed one, every day.
            After any other failure of one, nothing more is read, because all records would seem to have changed.
        call: returns the request for a page of a list.
        learn: is called with each helper's ``lesson``; returns the names of further lists.
        strict: returns whether each record that a list counts must also be shown.
    """

    def __init__(
        self,
        name: str,
        lists: Sequence[str],
        helpers: AbstractSet[str],
        call: Callable[[str, int], Call[Page]],
        learn: Callable[[str, Any], Sequence[str]],
        strict: Callable[[str], bool],
    ) -> None:
        self._name = name
        self._lists = deque(lists)
        self._known = set(lists)
        self._helpers = helpers
        self._call = call
        self._learn = learn
        self._strict = strict
        self.problems: list[str] = []
        self._doubts: list[str] = []
        self._begin()

    def _begin(self) -> None:
        self._next, self._asked, self._barren, self._withheld = 1, 0, 0, 0
        self._pages: int | None = None
        self._total: int | None = None
        self._stated = False

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
            found.append(f"{self._lists[0]} {self._asked}")
        return found

    def call(self, cursor: Cursor) -> Call[Page]:
        """Return the request for a page."""
        name, _, page = str(cursor).rpartition(" ")
        return self._call(name, int(page))

    def accept(self, facts: PageFacts) -> None:
        """Take in the facts about the next page in order."""
        name, page = self._at(facts.cursor)
        if not self._lists or name != self._lists[0] or page < self._next:
            return
        known = _facts(facts.next)
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
        if name not in self._helpers:
            self._note_rows(name, page, facts.count)
        self._barren = self._barren + 1 if facts.count and not facts.new and name not in self._helpers else 0
        if self._barren >= _BARREN_PAGES:
            problem = message("{n:,} pages in a row hold nothing new; run again", n=_BARREN_PAGES)
            self._problem(name, page, problem)
            self._end(name)
        elif self._is_last(page, facts.count):
            self._end(name)
        elif page >= MAX_PAGES:
            self._problem(name, page, message("is not the last one, and no list is believed to be that long"))
            self._end(name)
        else:
            self._next = page + 1

    def accept_failure(self, cursor: Cursor, reason: str, *, missing: bool) -> None:
        """Note that the next page in order could not be read; ``missing`` if the blog has no such page."""
        name, page = self._at(cursor)
        if not self._lists or name != self._lists[0] or page < self._next:
            return
        if name in self._helpers and missing:
            self._end(name)
            return
        self._problem(name, page, message("could not be read: {reason}; run again", reason=reason))
        if name in self._helpers:
            self._lists.clear()
        elif page >= (self._pages or 1):
            self._end(name)
        else:
            self._next = page + 1

    def _at(self, cursor: Cursor) -> tuple[str, int]:
        name, _, page = str(cursor).rpartition(" ")
        return name, int(page)

    def _is_last(self, page: int, count: int) -> bool:
        if self._pages is not None:
            return page >= self._pages
        return count < PAGE_RECORDS

    def _note_totals(self, name: str, page: int, total: int | None, pages: int | None) -> None:
        if pages is None or total is None:
            if name not in self._helpers:
                self._doubt(
                    name, page, message("does not say how many records the list has (X-WP-Total); a proxy removes it")
                )
        elif self._stated and total != self._total:
            self._doubt(
                name,
                page,
                message("says there are {new:,} records; an earlier page says {total:,}", new=total, total=self._total),
            )
        if total is not None:
            self._stated, self._total = True, total
        if pages is not None:
            self._pages = pages

    def _note_rows(self, name: str, page: int, count: int) -> None:
        """Count the records that WordPress counts on a page and does not show."""
        if self._total is None:
            return
        expected = max(0, min(PAGE_RECORDS, self._total - PAGE_RECORDS * (page - 1)))
        if count > expected:
            self._doubt(
                name, page, message("holds {n:,} records, and {expected:,} are expected", n=count, expected=expected)
            )
        self._withheld += max(0, expected - count)

    def _end(self, name: str) -> None:
        if self._withheld and self._strict(name):
            text = message(
                "{n:,} of {total:,} records are not shown to this user; sign in as an administrator",
                n=self._withheld,
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


def _facts(text: Cursor | None) -> dict[str, Any]:
    try:
        value = loads(text.encode("utf-8", "surrogatepass")) if isinstance(text, str) else None
    except NotJson:
        return {}
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None
