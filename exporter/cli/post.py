"""An entry or a comment of an archive as readable text on a terminal."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from exporter.cli.output import counted
from exporter.export.threads import threads
from exporter.html.text import collapse, text_of
from exporter.message import message
from exporter.model.kinds import Kind
from exporter.model.labels import marks_of, name_of, path_name
from exporter.text import printable
from exporter.translation import translated

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from exporter.archive.archive import Archive
    from exporter.archive.history import RecordVersion
    from exporter.cli.output import Output
    from exporter.model.records import Comment, Post
    from exporter.service.interface import Records

_TITLE_CHARACTERS = 500
_INDENT = "  "


def post_with_comments(
    archive: Archive, service: Records, stored: RecordVersion, version: int
) -> tuple[Post, list[Comment]]:
    """Return an entry with its list item and the comments on it in a version."""
    item = archive.record(Kind.ENTRY_LIST, stored.record_id, version)
    with contextlib.closing(archive.state(version, [Kind.COMMENTS])) as state:
        comments = [
            service.comment(raw) for _, raw in state.scan(Kind.COMMENTS) if service.post_id(raw) == stored.record_id
        ]
    return service.post(stored.data(), None if item is None else item.data()), comments


def print_post(out: Output, archive: Archive, service: Records, stored: RecordVersion, version: int) -> None:
    """Print an entry as a post: title, date, who may see it, category, text and comments."""
    post, comments = post_with_comments(archive, service, stored, version)
    out.answer(printable(collapse(post.title), _TITLE_CHARACTERS) or message("(no title)"))
    out.answer(" · ".join(_facts(post, stored, service)))
    for body in (post.body, f"{post.more_title}\n{post.more}" if post.more_title else post.more):
        if body.strip():
            out.answer("")
            _print_text(out, text_of(body), "")
    if comments:
        out.answer("")
        out.answer(counted(len(comments), "comment"))
    for comment, level, _ in threads(comments):
        out.answer("")
        _print_comment(out, comment, service, _INDENT * (min(level, 5) + 1))


def print_comment(out: Output, archive: Archive, service: Records, stored: RecordVersion, version: int) -> None:
    """Print a comment, with the entry that it is on."""
    raw = stored.data()
    entry_id = service.post_id(raw)
    entry = archive.record(Kind.ENTRIES, entry_id, version)
    title = "" if entry is None else collapse(service.post(entry.data()).title)
    on: str = message("Comment on entry {id}", id=printable(entry_id, 40))
    out.answer(f"{translated(on)}  {printable(title, _TITLE_CHARACTERS)}".rstrip())
    _print_comment(out, service.comment(raw), service, "")


def _facts(post: Post, stored: RecordVersion, service: Records) -> Iterator[str]:
    """Yield the facts in the line below the title."""
    if post.date is not None:
        yield _time(post.date)
    if post.audience is not None:
        yield translated(name_of(post.audience))
    elif post.private:
        yield translated(message("Private"))
    access = service.flags(stored.data()).get(service.access_flag) if service.access_flag else None
    if post.audience is None and access is not None:
        yield printable(f"{service.access_flag} {access}", 60)
    yield from (printable(path_name(category), 100) for category in post.every_category if category.name.strip())
    yield from (f"#{printable(collapse(tag), 40)}" for tag in post.tags)
    if post.author:
        yield printable(collapse(post.author), 100)
    number = {"id": printable(stored.record_id, 40), "version": stored.version}
    yield translated(message("entry {id}, from version {version}", **number))


def _print_comment(out: Output, comment: Comment, service: Records, space: str) -> None:
    facts = [printable(collapse(comment.name), 100) or translated(message("(no name)"))]
    if comment.date is not None:
        facts.append(_time(comment.date) if comment.has_time else f"{comment.date:%Y-%m-%d}")
    facts += map(translated, marks_of(comment))
    if comment.status is None and comment.deleted:
        facts.append(f"{service.deleted_flag} t")
    out.answer(space + " · ".join(facts))
    _print_text(out, "\n".join(filter(None, [comment.title, text_of(comment.text)])), space)


def _print_text(out: Output, text: str, space: str) -> None:
    for row in text.strip().splitlines():
        out.answer(f"{space}{printable(row, len(row) + 1)}".rstrip())


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"
