"""A vault of Obsidian: a note for each post, its links as the vault's own, and a daily note for each day. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import groupby
from typing import Final
from urllib.parse import quote, unquote

from exporter.export.interface import Content, ExportFile
from exporter.export.posts import ExportPost, Posts
from exporter.export.site_generators import PageWriter, SitePage, old_paths, page_header, page_name, shown_title
from exporter.model.publication import PostStatus

_ATTACHMENTS: Final = "attachments"
_DAILY: Final = "daily"
_NOTES: Final = "posts-of-this-vault/"
"""Begins the address of a note until it becomes a link of the vault; no body has such addresses."""
_SETTINGS: Final = {
    "app": {"attachmentFolderPath": _ATTACHMENTS, "useMarkdownLinks": False},
    "daily-notes": {"folder": _DAILY},
}
_TEXT: Final = r"\[((?:\\.|[^\[\]\\\n])*)\]"
_NOTE_LINK: Final = re.compile(rf"(?<!!){_TEXT}\({_NOTES}([^)\s#]+)(?:#[^)\s]*)?\)")
_NOTE_ADDRESS: Final = re.compile(rf'{_NOTES}([^)\s#"]+)')
# A picture that is a link itself stays Markdown, which the vault's own links cannot say.
_FILE_LINK: Final = re.compile(rf"(?<!\[)(?<!\[!)(!?){_TEXT}\({_ATTACHMENTS}/([\w.-]+)\)")
_OWN_SIGNS: Final = re.compile(r"(?ms)^(`{3,}|~{3,}).*?^\1|(`+)[^`].*?\2|(\[\[|%%)")
"""Code, which stays, and what a text may hold that means a link or a hidden part to Obsidian alone."""
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_NO_TAG: Final = re.compile(r"[^\w/-]+")


def vault(posts: Posts) -> Iterator[ExportFile]:
    """Yield the vault's settings, its notes with their attachments, and the daily notes."""
    for name, values in _SETTINGS.items():
        yield Content(f".obsidian/{name}.json", [f"{json.dumps(values, indent=2)}\n".encode()])

    def page(post: ExportPost, category: str, body: str) -> SitePage:
        public = post.status is PostStatus.PUBLISH
        head = page_header(
            {
                "title": shown_title(post),
                "aliases": [shown_title(post)],
                "date": post.when,
                "updated": post.record.updated,
                "day": f"[[{_day(post)}]]",
                "tags": [_tag(category)] if post.category else [],
                "publish": None if public else False,
                "entry_id": post.id,
                "old_paths": list(old_paths(post, posts.options)) or None,
            }
        )
        return SitePage(f"{'posts' if public else 'drafts'}/{page_name(post)}.md", f"{head}\n{body}", _ATTACHMENTS)

    writer = PageWriter(
        posts,
        f"{_ATTACHMENTS}/",
        home=lambda post: _NOTES + quote(page_name(post)),
        finish=_linked,
        footnotes=True,
        prefix=lambda _: "",
    )
    yield from writer.pages(page)
    for day, those in groupby(posts.by_date(), _day):
        lines = (f"- {_wiki(page_name(post), shown_title(post))}\n" for post in those)
        yield Content(f"{_DAILY}/{day}.md", ["".join(lines).encode()])


def _linked(text: str, pictures: list[str]) -> str:
    """Return Markdown whose links to notes and attachments are as Obsidian writes its own."""
    held = set(pictures)

    def to_note(found: re.Match[str]) -> str:
        return _wiki(unquote(found[2]), found[1], in_table=_in_table(found))

    def to_file(found: re.Match[str]) -> str:
        if found[3] not in held:
            return found[0]
        return found[1] + _wiki(found[3], found[2], in_table=_in_table(found))

    text = _OWN_SIGNS.sub(lambda found: "".join(f"\\{sign}" for sign in found[3]) if found[3] else found[0], text)
    # Tables in tables and the like stay HTML, which has no links of the vault.
    return _NOTE_ADDRESS.sub(r"\1.md", _NOTE_LINK.sub(to_note, _FILE_LINK.sub(to_file, text)))


def _wiki(name: str, shown: str, *, in_table: bool = False) -> str:
    """Return a link of the vault; its text is left out where it is none that such a link can have."""
    plain = _ESCAPE.sub(r"\1", shown).strip()
    # Digits alone would be the width of a picture.
    if not plain or plain.isdecimal() or re.search(r"[\[\]|\n]", plain):
        return f"[[{name}]]"
    return f"[[{name}{chr(92) if in_table else ''}|{plain}]]"


def _in_table(found: re.Match[str]) -> bool:
    return found.string.startswith("|", found.string.rfind("\n", 0, found.start()) + 1)


def _day(post: ExportPost) -> str:
    return post.when.date().isoformat()


def _tag(category: str) -> str:
    """Return a category's name as a tag: without spaces and signs, and not of digits alone."""
    name = _NO_TAG.sub("-", category).strip("-/")
    return f"_{name}" if not name or name.isdecimal() else name
