"""The archive's posts in the form in which a new home must show them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Final
from urllib.parse import unquote

from exporter.compare.posts import OldComment, OldPost, Picture, ShownAs
from exporter.compare.texts import body_letters, body_pieces, letters, only_words, word_letters
from exporter.export.importer_rules import nicename
from exporter.export.media import Media, new_address
from exporter.export.names import UniqueNames, file_name, slug, wordpress_name
from exporter.export.post_html import comment_html
from exporter.export.posts import ExportPost, PostComment, Posts
from exporter.html.embedded import Use, embedded
from exporter.html.text import collapse
from exporter.html.tree import Element, TooComplex, parse, tag_set

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
        bodies = tuple(filter(None, (entry.body, entry.more)))
        pieces = [piece for body in bodies for piece in body_pieces(body)]
        yield OldPost(
            id=post.id,
            title=post.title,
            when=None if entry.date is None else post.when,
            status=ShownAs(post.status),
            asked=asked,
            slugs=tuple(dict.fromkeys(_slugs(posts, post, [names.fit(entry.slug, post.id) for names in spellings]))),
            category=post.category,
            texts=tuple(piece.letters for piece in pieces),
            pictures=pictures,
            comments=tuple(_comment(each, hidden_comments) for each in post.comments),
            letters=letters("".join(map(body_letters, bodies))),  # one dash may end one part and begin the other
            unknown_pictures=unknown,
            players=tuple(players("".join(bodies)) or ()),
            starts=tuple(piece.starts for piece in pieces),
            own_links=tuple(_own_links(bodies, media)),
        )


def in_words(old: OldPost) -> OldPost:
    """Return a post with its texts reduced to words, for homes of Markdown."""
    comments = (
        replace(each, name=only_words(each.name), title=only_words(each.title), text=only_words(each.text))
        for each in old.comments
    )
    texts = tuple(filter(None, map(only_words, old.texts)))
    return replace(
        old, texts=texts, starts=(None,) * len(texts), letters=only_words(old.letters), comments=tuple(comments)
    )


def shown_pictures(html: str) -> Iterator[str]:
    """Yield the unchanged addresses of pictures in HTML, in order.

    Other sizes of a picture (``srcset``) are ignored, because a home may make or omit them.
    """
    return (found.text for found in embedded(html.replace("srcset", "data-sizes")) if found.use is Use.SHOWN)


def players(html: str) -> list[str] | None:
    """Return the unchanged addresses of players in HTML, such as videos and sounds.

    The address of a player without one is empty. ``None`` if the HTML is too complex to parse.
    """
    if not _MAY_PLAY.search(html):
        return []
    try:
        players = (each for each in parse(html).elements() if each.tag in _PLAYERS)
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


def _pictures(post: ExportPost, media: Media) -> tuple[tuple[Picture, ...], int]:
    found: dict[str, Picture] = {}
    unknown: set[str] = set()
    for body in (post.record.body, post.record.more):
        for address in shown_pictures(body):
            picture = media.find(address)
            asset = None if picture is None else picture.asset
            if picture is None or asset is None or asset.sha256 is None:
                unknown.add(address)
            else:
                found[asset.url] = Picture(
                    asset.url, asset.sha256, asset.width, asset.height, picture.name.lower(), picture.source or ""
                )
    return tuple(found.values()), len(unknown)


def _slugs(posts: Posts, post: ExportPost, imported: list[str]) -> Iterator[str]:
    """Yield the names in addresses that exports give an entry, in the form of :func:`slug_of`."""
    entry = post.record
    yield from map(slug_of, imported)
    if entry.slug:
        yield slug_of(nicename(entry.slug))
        yield slug_of(entry.slug)
    yield slug_of(slug(post.title, _TITLE_BYTES) or f"entry-{post.id}")
    file = file_name(entry.date, post.title, post.id).removesuffix(".md")
    yield slug_of(file)
    if entry.date is not None:
        yield slug_of(file[_DAY:])
    address = new_address(posts, post.id)
    if address is not None:
        yield slug_of(address)


def slug_of(address: str) -> str:
    """Return the last meaningful part of an address or path, in lower case and without its extension."""
    parts = [part for part in unquote(address.partition("?")[0].partition("#")[0]).split("/") if part]
    last = parts[-1] if parts else ""
    if last in {"index.html", "index.htm", "index.md"} and len(parts) > 1:
        last = parts[-2]
    for ending in (".html", ".htm", ".md", ".markdown"):
        last = last.removesuffix(ending)
    return last.lower()


def _comment(found: PostComment, hidden_comments: bool) -> OldComment:
    comment = found.comment
    days = {found.when.date()} | (set() if comment.date is None else {comment.date.date()})
    return OldComment(
        name=word_letters(comment.name),
        title=letters(collapse(comment.title)),
        text=body_letters(comment_html(replace(comment, title=""))),
        days=frozenset(days) if comment.date is not None else frozenset(),
        visible=found.visible,
        asked=found.visible or hidden_comments,
    )
