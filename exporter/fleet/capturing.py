"""Captures the public pages of blogs in this process, each by the same call as ``capture``, all with one engine.

A service often gives each blog a separate host, ``NAME.blog.example.jp``, on the same machines. So the pages of all its
blogs, and its API, count as one host: they share its limits and its pauses.
"""

from __future__ import annotations

from typing import Final

from exporter.fleet.ledger import DueBlog
from exporter.fleet.saving import BlogSaver, Result
from exporter.http.address_guard import check_base_url, origin_of
from exporter.library.blog_addresses import home_of
from exporter.library.capture import capture
from exporter.service.declarations import PUBLIC_SITE
from exporter.service.public_site.page_rules import rules_for_host
from exporter.settings import Settings

_KNOWN: Final = "service:"


def budget_of_pages(blog: DueBlog, settings: Settings) -> str:
    """Return the name that the blogs of a service share: its API's origin, the service's name, or the blog's host.

    Raises:
        UsageError: the base URL is invalid.
    """
    if settings.service != PUBLIC_SITE.name and settings.base_url:
        return origin_of(check_base_url(settings.base_url))
    address = settings.home_url or settings.base_url
    origin = origin_of(check_base_url(address)) if address else f"https://{blog.blog_id.partition('/')[0]}"
    rules = rules_for_host(origin.partition("://")[2].partition(":")[0])
    return origin if rules is None else f"{_KNOWN}{rules.name}"


class BlogCapturer(BlogSaver):
    """Implements :class:`~exporter.fleet.fleet_run.Backups` with captures."""

    async def _run(self, blog: DueBlog) -> Result:
        """Capture the pages of a blog, or fail."""
        settings = self._begin(blog, budget_of_pages)
        place = self._place(blog, self._anew("capture", blog, settings))
        blog_id = self._first_id(blog)
        home = home_of(place, blog_id, settings)
        self.engine.share(origin_of(check_base_url(home)), budget_of_pages(blog, settings))
        made = capture(place, blog_id, settings, self.engine, trusts_home=False, clock=self.clock)
        self._statistics[blog.number] = lambda: made.run.statistics
        async with made:
            with self._stoppable(blog, made):
                async for _ in made:
                    pass
        outcome = made.outcome
        return Result(outcome.exit_code, outcome.error, outcome.capture, outcome.gap)
