"""The archive's posts in the form in which a new home must show them. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final
from urllib.parse import unquote

from exporter.compare.marks import marks_in_words, read_marks
from exporter.compare.posts import Linked, Marked, MarkKey, OldComment, OldPost, Picture, ShownAs, StatedParts
from exporter.compare.texts import body_letters, body_pieces, letters, only_words, word_letters
from exporter.export.comment_order import threaded
from exporter.export.importer_rules import commenter, nicename
from exporter.export.media import Media, PostPicture, new_address
from exporter.export.names import UniqueNames, address_name, file_name, slug, wordpress_name
from exporter.export.post_html import comment_html
from exporter.export.posts import ExportPost, PostComment, Posts
from exporter.export.report import Report
from exporter.html.embedded import Use, embedded
from exporter.html.links import APP_SCHEMES, absolute, host_of, safe_url
from exporter.html.ready import ready
from exporter.html.service_habits import quieten
from exporter.html.text import collapse
from exporter.html.tree import Element, TooComplex, parse, tag_set
from exporter.model.records import Audience, CommentStatus, PostKind
from exporter.move.plan import is_wide
from exporter.move.terms import paths_of, tags_of

_TITLE_BYTES: Final = 150
_MAY_PLAY: Final = re.compile(r"<(?:iframe|video|audio|object|embed)\b", re.IGNORECASE)
_PLAYERS: Final = tag_set("iframe video audio object embed")
_DAY: Final = len("2016-03-19-")


def old_posts(posts: Posts, *, asked: bool, hidden_comments: bool = False) -> Iterator[OldPost]:
    """Yield the posts of one side. ``asked`` says whether the user asked to move them."""
    media = Media(posts)
    spellings = UniqueNames(wordpress_name), UniqueNames()
    for post in posts:
        entry = post.record
        pictures, unknown = _pictures(post, media)
        parents = {each.comment.comment.id: each.parent for each in threaded(post.comments)}
        stated, lost = _stated(post, media, drafts=posts.options.declared.all_as_draft)
        bodies = tuple(filter(None, (entry.body, entry.more)))
        taken_apart = [(body, body_pieces(body)) for body in bodies]
        pieces = [piece for _, found in taken_apart for piece in found.texts]
        yield OldPost(
            id=post.id,
            title=post.title,
            when=None if entry.date is None else post.when,
            status=ShownAs(post.status),
            asked=asked,
            slugs=tuple(
                dict.fromkeys(_slugs(posts, post, [names.fit(address_name(entry), post.id) for names in spellings]))
            ),
            category=post.category,
            texts=tuple(piece.letters for piece in pieces),
            pictures=pictures,
            comments=tuple(_comment(each, hidden_comments, parents) for each in post.comments),
            letters=letters("".join(map(body_letters, bodies))),  # one dash may end one part and begin the other
            unknown_pictures=unknown + lost,
            players=tuple(players("".join(bodies)) or ()),
            starts=tuple(piece.starts for piece in pieces),
            own_links=tuple(_own_links(bodies, media)),
            stated=stated,
            marked=_marked([(body, found.tree) for body, found in taken_apart], media, posts.report.old_hosts),
        )


_AUDIENCES: Final = {
    Audience.PUBLIC: ShownAs.PUBLISH,
    Audience.PRIVATE: ShownAs.PRIVATE,
    Audience.DRAFT: ShownAs.DRAFT,
    Audience.SCHEDULED: ShownAs.SCHEDULED,
    Audience.MEMBERS: ShownAs.PRIVATE,
    Audience.PASSWORD: ShownAs.PRIVATE,
}


def _stated(post: ExportPost, media: Media, *, drafts: bool) -> tuple[StatedParts | None, bool]:
    """Return the parts that only some services state, and whether the archive lacks the featured picture."""
    entry = post.record
    if not is_wide(entry):
        return None, False
    found = media.find(entry.featured) if entry.featured else None
    featured = None if found is None else _picture(found)
    status = None if entry.audience is None or drafts else _AUDIENCES[entry.audience]
    return (
        StatedParts(
            # An export turns a public entry into a draft if the entry has no date or a later one.
            audience=ShownAs(post.status) if status is ShownAs.PUBLISH else status,
            categories=paths_of(post),
            tags=tags_of(post),
            author=collapse(entry.author),
            page=entry.kind is PostKind.PAGE,
            excerpt=body_letters(entry.excerpt),
            featured=featured,
            permalink=entry.permalink if post.public else "",
        ),
        bool(entry.featured) and featured is None,
    )


def in_words(old: OldPost) -> OldPost:
    """Return a post with its texts reduced to words, for homes of Markdown."""
    comments = (
        replace(each, name=only_words(each.name), title=only_words(each.title), text=only_words(each.text))
        for each in old.comments
    )
    texts = tuple(filter(None, map(only_words, old.texts)))
    if old.stated is not None:
        old = replace(old, stated=replace(old.stated, excerpt=only_words(old.stated.excerpt)))
    if old.marked is not None:
        old = replace(old, marked=marks_in_words(old.marked))
    return replace(
        old, texts=texts, starts=(None,) * len(texts), letters=only_words(old.letters), comments=tuple(comments)
    )


def shown_pictures(html: str) -> Iterator[str]:
    """Yield the unchanged addresses of pictures in HTML, in order.

    A picture's other sizes (``srcset``) are ignored, because a home may make or omit them.
    """
    return (found.text for found in embedded(ready(html).replace("srcset", "data-sizes")) if found.use is Use.SHOWN)


def players(html: str) -> list[str] | None:
    """Return the unchanged addresses of players in HTML, such as videos and sounds.

    The address of a player without one is empty. ``None`` if the HTML is too complex to parse.
    """
    if not _MAY_PLAY.search(html):
        return []
    try:
        players = (each for each in parse(ready(html)).elements() if each.tag in _PLAYERS)
        return [each.attributes.get("src") or each.attributes.get("data", "") for each in players]
    except TooComplex:
        return None


def _own_links(bodies: Iterable[str], media: Media) -> Iterator[str]:
    """Yield the ids of the posts that a post links to with a visible link."""
    for body in bodies:
        if any(found.use is Use.LINKED and media.own_post(found.text) for found in embedded(body)):
            with suppress(TooComplex):
                for link in parse(body).walk():
                    if isinstance(link, Element) and link.tag == "a" and (link.text().strip() or link.children):
                        entry_id = media.own_post(link.attributes.get("href", ""))
                        if entry_id is not None:
                            yield entry_id


def _marked(trees: Sequence[tuple[str, Element | None]], media: Media, old_hosts: Container[str]) -> Marked | None:
    """Return the marks and links of a post's texts that every home can have; see :class:`OldPost`."""
    passages: defaultdict[MarkKey, tuple[str, ...]] = defaultdict(tuple)
    links: list[Linked] = []
    for html, tree in trees:
        if tree is None:
            return None
        quieten(tree, html)
        found = read_marks(tree)
        for key, texts in found.passages.items():
            passages[key] += texts
        links += (link for each in found.links for link in _link_to_keep(each, media, old_hosts))
    return Marked(passages, tuple(links))


def _link_to_keep(link: Linked, media: Media, old_hosts: Container[str]) -> Iterator[Linked]:
    """Yield a link with the address that it must keep, unless it leads to a post."""
    if link.address.startswith("#"):
        yield link._replace(address="#")
    elif media.own_post(link.address) is None and (address := safe_url(link.address)) is not None:
        scheme, _, rest = address.partition(":")
        if scheme.lower() in APP_SCHEMES:
            yield link._replace(address=f"{scheme.lower()}:{rest}")
            return
        web = absolute(link.address, "")
        is_kept = web is not None and host_of(web) not in old_hosts and media.find(link.address) is None
        yield link._replace(address=web if web is not None and is_kept else "")


def _pictures(post: ExportPost, media: Media) -> tuple[tuple[Picture, ...], int]:
    found: dict[str, Picture] = {}
    unknown: set[str] = set()
    for body in (post.record.body, post.record.more):
        for address in shown_pictures(body):
            held = media.find(address)
            picture = None if held is None else _picture(held)
            if picture is None:
                unknown.add(address)
            else:
                found[picture.address] = picture
    return tuple(found.values()), len(unknown)


def _picture(held: PostPicture) -> Picture | None:
    asset = held.asset
    if asset.sha256 is None:
        return None
    return Picture(asset.url, asset.sha256, asset.width, asset.height, held.name.lower(), held.source or "")


def _slugs(posts: Posts, post: ExportPost, imported: list[str]) -> Iterator[str]:
    """Yield the names in addresses that exports give an entry, in the form of :func:`slug_of`."""
    entry = post.record
    yield from map(slug_of, imported)
    if name := address_name(entry):
        yield slug_of(nicename(name))
        yield slug_of(name)
    yield slug_of(slug(post.title, _TITLE_BYTES) or f"entry-{post.id}")
    file = file_name(entry.date, post.title, post.id).removesuffix(".md")
    yield slug_of(file)
    if entry.date is not None:
        yield slug_of(file[_DAY:])
    address = new_address(posts, post.id)
    if address is not None:
        yield slug_of(address)


def slug_of(address: str) -> str:
    """Return the last meaningful part of an address or path in lower case and without its extension."""
    parts = [part for part in unquote(address.partition("?")[0].partition("#")[0]).split("/") if part]
    last = parts[-1] if parts else ""
    if last in {"index.html", "index.htm", "index.md"} and len(parts) > 1:
        last = parts[-2]
    for ending in (".html", ".htm", ".md", ".markdown"):
        last = last.removesuffix(ending)
    return last.lower()


def _comment(found: PostComment, hidden_comments: bool, parents: Mapping[str, str]) -> OldComment:
    comment = found.comment
    is_stated = comment.status is not None
    days = {found.when.date()} | (set() if comment.date is None else {comment.date.date()})
    return OldComment(
        name=word_letters(comment.name),
        title=letters(collapse(comment.title)),
        text=body_letters(comment_html(replace(comment, title=""))),
        days=frozenset(days) if comment.date is not None else frozenset(),
        visible=found.visible,
        asked=found.visible or hidden_comments,
        id=comment.id if is_stated else "",
        parent=parents.get(comment.id, ""),
        moment=found.when if is_stated and comment.has_time and comment.date is not None else None,
        kind=comment.kind,
        spam=comment.status is CommentStatus.SPAM if is_stated else None,
        url=commenter(comment, Report())[1] if is_stated else None,
    )
