"""The comments of an entry: answers below what they answer, and the owner's own marked."""

from __future__ import annotations

from collections import defaultdict

from exporter.site.catalogue import PostSummary
from exporter.site.pages.site import ShownComment, Site
from exporter.site.threads import Reply, replies


def comment_list(site: Site, post: PostSummary) -> str:
    """Return the comments of an entry as HTML; empty where it has none."""
    ids = site.catalogue.comment_ids(post)
    if not ids:
        return ""
    comments = site.catalogue.comments(ids)
    shown = [site.shown(each, post.page) for each in comments]
    below: defaultdict[int | None, list[int]] = defaultdict(list)
    placed = replies(comments)
    for at, reply in enumerate(placed):
        below[reply.under].append(at)

    def rows(under: int | None) -> str:
        return "".join(f"{_row(site, shown, placed[at], at)}{answers(at)}</li>\n" for at in below[under])

    def answers(at: int) -> str:
        return f'\n<ol class="replies">\n{rows(at)}</ol>\n' if at in below else ""

    heading = site.parts.t("Comments: {n}", n=len(comments))
    return f'<section class="comments" id="comments">\n<h2>{heading}</h2>\n<ol>\n{rows(None)}</ol>\n</section>\n'


def _row(site: Site, shown: list[ShownComment], reply: Reply, at: int) -> str:
    to = ""
    if reply.answers is not None:
        answered = shown[reply.answers]
        label = site.parts.t("↩ to {name}", name=answered.name)
        to = f'<p class="to"><a href="#{answered.anchor}">{label}</a></p>'
    return f'<li id="{shown[at].anchor}" class="comment" data-item>{to}{shown[at].html}'
