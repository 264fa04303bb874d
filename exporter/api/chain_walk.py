"""The walk over the entry list and the comment list, which have a paging object. Pure."""

from __future__ import annotations

from exporter.api.walk import BARREN_PAGES, PageFacts, Pages


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
