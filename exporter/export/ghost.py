"""A ZIP for Ghost's importer with its JSON and the pictures; comments are in a separate file. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from exporter.export.csv_table import rough_text
from exporter.export.entry_page import t
from exporter.export.formats import Format
from exporter.export.importer_rules import Numbers
from exporter.export.interface import Comments, Content, Copy, ExportFile, Packed
from exporter.export.jsonl import comment_lines, featured_address
from exporter.export.media import Copies, Media
from exporter.export.names import plain_name
from exporter.export.parts import EVERYTHING, Part
from exporter.export.post_html import as_html, cleaned, comments_html, escaped, report_bodies
from exporter.export.posts import ExportPost, Posts
from exporter.export.reasons import Reason
from exporter.export.report import Report
from exporter.html.text import collapse
from exporter.message import message
from exporter.model.records import Audience

TITLE_CHARACTERS: Final = 255
_TAG_CHARACTERS: Final = 191
_USER_CHARACTERS: Final = 191
_EXCERPT_CHARACTERS: Final = 300
_ALT_CHARACTERS: Final = 191
_FIRST_WRITER: Final = 2
"""The number 1 is the owner of a new Ghost."""
_WIDE: Final = str.maketrans({"#": "＃", ",": "，"})
_SCRIPT_MARK: Final = re.compile(r"<(?=/|!--|script)", re.IGNORECASE)
"""What ends a script, or changes where it ends."""
_IMAGES: Final = "content/images"
_HOME: Final = "__GHOST_URL__/"
_ADDRESS: Final = f"{_HOME}{_IMAGES}/"
_FOLDERS: Final = {
    **dict.fromkeys(("mp4", "webm", "ogv", "mp3", "wav", "ogg", "m4a"), "content/media"),
    **dict.fromkeys(("pdf", "pptx", "txt", "xlsx", "xml"), "content/files"),
}
"""Ghost's importer takes these endings from other folders only (core/shared/config/overrides.json)."""
_ELSEWHERE: Final = re.compile(rf"{re.escape(_ADDRESS)}([A-Za-z0-9_-]+\.({'|'.join(_FOLDERS)}))\b")
_TAKEN: Final = frozenset({"amp", "ghost", "rss"})
"""Names of posts that Ghost changes by itself (``slugs`` in core/shared/config/overrides.json)."""
_VERSION: Final = "5.0.0"


def export(posts: Posts) -> Iterator[ExportFile]:
    """Yield the ZIP, and the comments as JSON lines, because Ghost imports comments only as text in posts."""
    label = posts.options.label

    def place(entry_id: str) -> str:
        return f"{_HOME}{posts.name(entry_id)}/"

    home = place if posts.options.new_url is None else None
    yield Packed(f"ghost-{label}.zip", _members(posts, Media(posts, home)))
    if posts.options.comments is Comments.BODY:
        yield Content(f"comments-{label}.jsonl", comment_lines(posts))


def _members(posts: Posts, media: Media) -> Iterator[Content | Copy]:
    yield Content("ghost.json", _document(posts, media))
    if not posts.options.media_base_url:
        for copy in Copies(posts.report, _IMAGES).of_posts(posts, media):
            folder = _FOLDERS.get(copy.path.rpartition(".")[2], _IMAGES)
            yield replace(copy, path=copy.path.replace(_IMAGES, folder, 1))


def _document(posts: Posts, media: Media) -> Iterator[bytes]:
    numbers = Numbers(posts.ids())
    names = dict.fromkeys([*posts.categories(), *posts.tags()])
    tags = {name: number for number, name in enumerate(names, 1)}
    writers = {name: number for number, name in enumerate(filter(None, posts.authors()), _FIRST_WRITER)}
    meta = {"exported_on": int(posts.newest().timestamp() * 1000), "version": _VERSION}
    yield b'{"db": [{"meta": ' + _json(meta) + b', "data": {"posts": ['
    end = b"\n"
    for post in posts:
        yield end + _json(_post(post, numbers.of(post.id), posts, media))
        end = b",\n"
        posts.wrote(post)
    rows = [{"id": number, "name": _tag(name, posts.report), "slug": f"tag-{number}"} for name, number in tags.items()]
    yield b'\n], "tags": ' + _json(rows) + b', "posts_tags": ['
    end = b"\n"
    for post in posts:
        for place, name in enumerate(post.terms):
            yield end + _json({"post_id": numbers.of(post.id), "tag_id": tags[name], "sort_order": place})
            end = b",\n"
    if writers:
        yield b'\n], "users": ' + _json([_writer(name, number) for name, number in writers.items()])
        yield b', "posts_authors": ['
        end = b"\n"
        for post in posts:
            if post.author:
                yield end + _json({"post_id": numbers.of(post.id), "author_id": writers[post.author], "sort_order": 0})
                end = b",\n"
    yield b"\n]}}]}\n"


def _writer(name: str, number: int) -> dict[str, Any]:
    """Return a writer as a user of Ghost, which wants a mail address: one that cannot exist."""
    shown = name[:_USER_CHARACTERS]
    return {"id": number, "name": shown, "slug": f"author-{number}", "email": f"author-{number}@author.invalid"}


def _post(post: ExportPost, number: int, posts: Posts, media: Media) -> dict[str, Any]:
    report = posts.report
    if len(post.title) > TITLE_CHARACTERS:
        report.changed("entries", Reason.TITLE_CUT.at(TITLE_CHARACTERS), post.id)
    if not post.title:
        report.changed("entries", Reason.TITLE_MADE, post.id)
    media.account(post)
    report_bodies(post, report, bodies=False)
    clean = cleaned(_html(post, media, None if posts.options.media_base_url else _ADDRESS))
    report.changed("entries", Reason.NOT_IN_IMPORTS, post.id, clean.characters)
    updated = post.record.updated or post.when
    excerpt = collapse(rough_text(post.record.excerpt))
    if len(excerpt) > _EXCERPT_CHARACTERS:
        report.changed("entries", Reason.EXCERPT_CUT.at(_EXCERPT_CHARACTERS), post.id)
    stated: dict[str, Any] = {"custom_excerpt": excerpt[:_EXCERPT_CHARACTERS]} if excerpt else {}
    if post.record.featured:
        stated |= _featured(post, media, held=not posts.options.media_base_url)
    return {
        "id": number,
        "title": (post.title or t("(untitled)"))[:TITLE_CHARACTERS],
        "slug": posts.name(post.id),
        "lexical": json.dumps(_card(clean.text), ensure_ascii=False),
        "type": str(post.record.kind),
        "status": "published" if post.public else "draft",
        "visibility": "members" if post.record.audience is Audience.MEMBERS else "public",
        "created_at": _date(post.when),
        "updated_at": _date(updated),
        "published_at": _date(post.when) if post.public else None,
        **stated,
    }


def _featured(post: ExportPost, media: Media, *, held: bool) -> dict[str, Any]:
    """Return the fields for a post's featured picture; ``held`` if the ZIP has the pictures."""
    found = media.featured(post)
    if found is None:
        return {"feature_image": featured_address(post, media)}
    alt = (found.info.alt or found.info.title or "") if found.info is not None else ""
    address = f"{_ADDRESS}{found.name}" if held else media.new_address(found)
    return {"feature_image": address, **({"feature_image_alt": alt[:_ALT_CHARACTERS]} if alt else {})}


def _tag(name: str, report: Report) -> str:
    """Return a category's name for Ghost: it refuses a comma at the beginning, and ``#`` would hide the tag.

    Ghost puts the names of tags unescaped into a script of each page (JSON-LD), which ``</script>`` would end.
    """
    wide = _SCRIPT_MARK.sub("＜", name[:1].translate(_WIDE) + name[1:])
    if wide != name:
        report.changed("categories", Reason.TAG_WIDENED, name)
    if len(wide) > _TAG_CHARACTERS:
        report.changed("categories", Reason.TAG_CUT.at(_TAG_CHARACTERS), name)
    return wide[:_TAG_CHARACTERS]


def _html(post: ExportPost, media: Media, way: str | None) -> str:
    lead = collapse(post.record.more_title)
    body, more = (
        _ELSEWHERE.sub(lambda found: f"{_HOME}{_FOLDERS[found[2]]}/{found[1]}", media.rewritten(as_html(text), way))
        for text in (post.record.body, post.record.more)
    )
    parts = [
        # Ghost's themes lay out text outside of elements word by word.
        f"<div>\n{body}\n</div>" if body else "",
        f"<h2>{escaped(lead)}</h2>" if lead else "",
        f"<div>\n{more}\n</div>" if more else "",
        comments_html(post),
    ]
    return "\n".join(part for part in parts if part)


def _card(html: str) -> dict[str, Any]:
    """Return a document with one card that holds HTML unchanged."""
    card = {"type": "html", "version": 1, "html": html}
    return {"root": {"children": [card], "direction": None, "format": "", "indent": 0, "type": "root", "version": 1}}


def _name(name: str) -> str:
    plain = plain_name(name)
    return "" if plain in _TAKEN else plain


def _date(when: datetime) -> str:
    return f"{when.astimezone(UTC):%Y-%m-%dT%H:%M:%S.000Z}"


def _json(value: Any) -> bytes:
    return cleaned(json.dumps(value, ensure_ascii=False)).text.encode()


FORMAT: Final = Format(
    message("Ghost: a ZIP with its JSON and the pictures"),
    export,
    drafts=True,
    shows=Comments.BODY,
    names=_name,
    holds=EVERYTHING - {Part.PARENTS, Part.ADDRESS, Part.SCHEDULED, Part.PASSWORD, Part.EMAIL},
)
