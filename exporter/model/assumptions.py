"""What the API document does not say, as named constants; every one can be overridden in the settings.

Section numbers are those of the service's API document. Nothing outside this module may assume anything more.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta, timezone, tzinfo

from exporter.settings import Settings

SUCCESS_RESULT = "ok"
"""Section 2.8: values of ``result`` other than this one are not shown; all of them count as failure."""

ENTRY_LIST_PAGE_PARAM = "page"
"""Section 4.2: the paging parameter of the entry list is not shown; the two other lists call theirs ``page``."""

COMMENT_LIST_PAGE_PARAM = "page"
"""Section 4.3. What happens without it is not shown, so it is always sent, from 1."""

FILE_LIST_PAGE_PARAM = "page"
"""Section 4.4."""

COMMENT_PAGE_SIZE = 20
"""Section 8. Only used to know whether a page is short when the paging object is missing."""

FILE_PAGE_SIZE = 20
"""Sections 4.4 and 8: at most 20; a page's own ``limit`` takes precedence."""

MAX_PAGES = 100_000
"""Section 8: no limit is shown. A list that claims more pages is not believed."""

AUTH_HEADER = "Authorization"
AUTH_SCHEME = "Bearer"
"""Section 5: how a caller authenticates is not shown; public clients send a bearer token."""

TIMEZONE: tzinfo = timezone(timedelta(hours=9), "JST")
"""Sections 2.2 to 2.5: dates carry no offset; the service is Japanese and shows Japan time."""

FLAG_TRUE = "t"
FLAG_FALSE = "f"
"""Section 3."""

TEXT_FORMAT_HTML = "2"
"""Section 2.8: the codes of ``text_format`` are not shown; a public client posts HTML bodies with this one."""


@dataclass(frozen=True, slots=True)
class Assumptions:
    """One consistent set of the above; the defaults are the constants."""

    success_result: str = SUCCESS_RESULT
    entry_list_page_param: str = ENTRY_LIST_PAGE_PARAM
    comment_list_page_param: str = COMMENT_LIST_PAGE_PARAM
    file_list_page_param: str = FILE_LIST_PAGE_PARAM
    comment_page_size: int = COMMENT_PAGE_SIZE
    file_page_size: int = FILE_PAGE_SIZE
    max_pages: int = MAX_PAGES
    auth_header: str = AUTH_HEADER
    auth_scheme: str = AUTH_SCHEME
    timezone: tzinfo = TIMEZONE


DEFAULT = Assumptions()


def assumptions_of(settings: Settings) -> Assumptions:
    """Return the assumptions with what the settings of the same names say."""
    return Assumptions(**{name: getattr(settings, name) for name in Assumptions.__slots__})
