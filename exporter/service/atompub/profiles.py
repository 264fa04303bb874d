"""The known facts about blog services with AtomPub. Pure.

Hatena: the page "Hatena Blog AtomPub" of the Hatena Developer Center. livedoor: its help page "AtomPub API".
"""

from __future__ import annotations

from typing import Final

from exporter.message import message
from exporter.service.interface import BLOG_HOSTS, FactBasis, KnownFact, Profile

NAME: Final = "atompub"
_HATENA_PAGE: Final = message("Hatena's public page for developers")
_LIVEDOOR_PAGE: Final = message("livedoor Blog's help page about AtomPub")
_BLOGS: Final = message("addresses of public blogs")
_NO_LIMIT: Final = message("no limit is documented, so this value is low")


def _hatena(value: str) -> KnownFact:
    return KnownFact(value, FactBasis.DOCUMENTED, _HATENA_PAGE)


def _livedoor(value: str) -> KnownFact:
    return KnownFact(value, FactBasis.DOCUMENTED, _LIVEDOOR_PAGE)


def _observed(value: str, source: str = _BLOGS) -> KnownFact:
    return KnownFact(value, FactBasis.OBSERVED, source)


def _chosen(value: str) -> KnownFact:
    return KnownFact(value, FactBasis.CHOSEN, _NO_LIMIT)


HATENA: Final = Profile(
    "hatena",
    message("Hatena Blog (はてなブログ)"),
    {
        BLOG_HOSTS: _observed(
            "*.hatenablog.com, *.hatenablog.jp, *.hateblo.jp, *.hatenadiary.com, *.hatenadiary.jp, *.hatenadiary.org"
        ),
        "base_url": _hatena("https://blog.hatena.ne.jp"),
        "atompub_root": _hatena("/{owner}/{blog_id}/atom"),
        "atompub_collection": _hatena("entry"),
        "atompub_pages": _hatena("page"),
        "auth": _hatena("basic"),
        "timezone": _observed("Asia/Tokyo", message("the dates of public answers")),
        "concurrency": _chosen("2"),
        "rate": _chosen("2"),
    },
    (
        message("the limit for requests"),
        message("whether ETag and Last-Modified are sent"),
        message("whether a blog is public or for members only: no entry states it"),
        message("the order of drafts in the list"),
    ),
    service=NAME,
)

LIVEDOOR: Final = Profile(
    "livedoor",
    message("livedoor Blog (ライブドアブログ)"),
    {
        BLOG_HOSTS: _observed("*.livedoor.blog, blog.livedoor.jp"),
        "base_url": _livedoor("https://livedoor.blogcms.jp"),
        "atompub_root": _livedoor("/atompub/{name}"),
        "atompub_collection": _livedoor("article"),
        "atompub_skip": _livedoor("image"),
        "atompub_list_limit": _livedoor("20"),
        "auth": _livedoor("basic"),
        "timezone": _observed("Asia/Tokyo", message("answers that public programs received")),
        "concurrency": _chosen("2"),
        "rate": _chosen("2"),
    },
    (
        message("whether more than the 20 newest entries can be listed"),
        message("whether the second half of an entry (続きを読む) is in its text"),
        message("the limit for requests"),
    ),
    service=NAME,
)
