"""The walk over the file list, which has no paging object but says how many files there are. Pure."""

from __future__ import annotations

from exporter.api.walk import PageFacts, Pages


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
