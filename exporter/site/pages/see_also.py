"""What stands below an entry: the entries that mention it, and those that are like it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from exporter.site.catalogue import PostSummary
from exporter.site.pages.site import Site
from exporter.site.parts import CONTENT_LANGUAGE
from exporter.site.templating import root_of

_MOST_MENTIONS = 30


def see_also_parts(site: Site, post: PostSummary) -> str:
    """Return what changes whenever that would be another; edits of texts do not, as a rule."""
    if post.id not in site.catalogue.mentions and post.id not in site.catalogue.alike:
        return ""
    mentions, alike = _mentions(site, post), _alike(site, post)
    shown = [(each.page, each.title, str(each.date), each[5:7], each.gone_in) for each in [*mentions, *alike]]
    return repr((len(site.catalogue.mentions.get(post.id, ())), len(mentions), shown))


def see_also(site: Site, post: PostSummary) -> str:
    """Return both lists as HTML; empty where there is nothing."""
    mentions = _mentions(site, post)
    left = len(site.catalogue.mentions.get(post.id, ())) - len(mentions)
    more = f"<p>{site.parts.t('and {n} more', n=left)}</p>\n" if left else ""
    root = root_of(post.page)
    return (
        _section(site, "mentions", site.parts.t("Entries that mention this one"), mentions, root, more)
        + _section(site, "alike", site.parts.t("Entries like this one"), _alike(site, post), root)
    )  # fmt: skip


def _mentions(site: Site, post: PostSummary) -> Sequence[PostSummary]:
    return site.catalogue.mentions.get(post.id, [])[:_MOST_MENTIONS]


def _alike(site: Site, post: PostSummary) -> Sequence[PostSummary]:
    """Return the entries like it that it does not stand beside anyway: not those that mention it."""
    named = {each.id for each in _mentions(site, post)}
    return [
        site.catalogue.by_id[each]
        for each in site.catalogue.alike.get(post.id, ())
        if each not in named and each in site.catalogue.by_id
    ]


def _section(site: Site, name: str, title: str, posts: Iterable[PostSummary], root: str, more: str = "") -> str:
    lines = "".join(_line(site, post, root) for post in posts)
    if not lines:
        return ""
    return (
        f'<section class="beside" id="{name}">\n<h2>{title}</h2>\n<ul class="lines">\n{lines}</ul>\n{more}</section>\n'
    )


def _line(site: Site, post: PostSummary, root: str) -> str:
    day = f'<time datetime="{post.date:%Y-%m-%d}">{site.dates.day(post.date)}</time>' if post.date else ""
    return (
        f'<li class="line" data-item>{day}<a href="{root}{post.page}" lang="{CONTENT_LANGUAGE}">'
        f"{site.parts.title(post)}</a>{site.parts.badges(post)}</li>\n"
    )
