"""The walk over the file list, which has no paging object but says how many files there are. Pure."""

from __future__ import annotations

from exporter.api.walk import PageFacts, Pages


class FileWalk(Pages):
    """The walk over the file list (API 2.6), which has no chain: pages until ``summary.filenum`` files were seen."""

    def __init__(self, name: str, setting: str, max_pages: int, page_size: int) -> None:
        super().__init__(name, setting, max_pages)
        self._limit = page_size
        self._filenum: int | None = None
        self._distinct = 0

    def accept(self, facts: PageFacts) -> None:
        """Take in the next page in order."""
        if not self._expects(facts.page):
            return
        self._note_size(facts)
        self._distinct += facts.new
        repeated = self._repeats(facts)
        if self._filenum is not None and self._distinct >= self._filenum:
            self._stop()
        elif repeated or (facts.page_no is not None and facts.page_no != facts.page):
            self._end_ignored(facts)
        elif facts.new == 0:
            self._end_short(facts.page)
        elif self._filenum is None and facts.count < self._limit:
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
