"""What all blogs of a fleet together may ask of each host: the strictest that any of them says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from exporter.errors import UsageError
from exporter.fleet.ledger import DueBlog
from exporter.http.address_guard import check_base_url, origin_of
from exporter.http.engine import DOWNLOAD_TIMEOUTS
from exporter.permits.budget import HostLimits
from exporter.permits.meeting_place import Terms
from exporter.settings import Settings

_NO_PICTURES: Final = "none"


def terms_of(blogs: Iterable[DueBlog], settings_of: Callable[[DueBlog], Settings]) -> Terms:
    """Return what the owner of the permits is to keep.

    Blogs of one domain with the same settings of their own are asked for once. One whose settings are wrong has no
    service, and says so when its turn comes.
    """
    hosts: dict[str, HostLimits] = {}
    longest = 0.0
    seen: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
    for blog in blogs:
        alike = (blog.blog_id.partition(".")[2], tuple(sorted(blog.settings.items())))
        if alike in seen:
            continue
        seen.add(alike)
        try:
            settings = settings_of(blog)
            origin = origin_of(check_base_url(settings.base_url or ""))
        except UsageError:
            continue
        limits = hosts.get(origin, HostLimits(settings.concurrency, settings.rate))
        rates = [rate for rate in (limits.rate, settings.rate) if rate is not None]
        hosts[origin] = HostLimits(min(limits.concurrency, settings.concurrency), min(rates, default=None))
        longest = max(longest, settings.total_timeout.total_seconds())
        if settings.assets != _NO_PICTURES:
            longest = max(longest, DOWNLOAD_TIMEOUTS.total)
    return Terms(hosts, longest=longest) if longest else Terms(hosts)
