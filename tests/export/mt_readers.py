"""Two readers of Movable Type's import format, written from its public rules: a strict one, and a careless old one."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime

KEYS = {"AUTHOR", "TITLE", "BASENAME", "STATUS", "ALLOW COMMENTS", "ALLOW PINGS", "CONVERT BREAKS", "DATE", "CATEGORY"}
SECTIONS = {"BODY", "EXTENDED BODY", "COMMENT"}
COMMENT_KEYS = {"AUTHOR", "URL", "DATE"}
CHUNK = 8191


@dataclass
class Comment:
    author: str = ""
    url: str = ""
    date: str = ""
    text: str = ""
    kind: str = "comment"


@dataclass
class Entry:
    fields: dict[str, str] = field(default_factory=dict)
    categories: list[str] = field(default_factory=list)
    body: str = ""
    extended: str = ""
    excerpt: str = ""
    comments: list[Comment] = field(default_factory=list)


def moment(text: str) -> datetime:
    assert re.fullmatch(r"[0-9]{2}/[0-9]{2}/[0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} (AM|PM)", text), text
    return datetime.strptime(text, "%m/%d/%Y %I:%M:%S %p")  # noqa: DTZ007


def read_strictly(data: bytes) -> list[Entry]:
    """Read a file; fail if it breaks a rule."""
    assert not data.startswith(b"\xef\xbb\xbf")
    assert b"\r" not in data
    assert data == b"" or data.endswith(b"--------\n")
    entries = []
    for block in data.decode("utf-8").split("\n--------\n")[:-1]:
        head, *sections = block.removesuffix("\n-----").split("\n-----\n")
        entry = Entry()
        for line in head.split("\n"):
            key, colon, value = line.partition(":")
            assert colon, line
            assert key in KEYS, line
            if key == "CATEGORY":
                entry.categories.append(value.strip())
            else:
                assert key not in entry.fields
                entry.fields[key] = value.strip()
        assert entry.fields["STATUS"] in {"Publish", "Draft"}
        assert entry.fields["CONVERT BREAKS"] == "0"
        moment(entry.fields["DATE"])
        for section in sections:
            name, _, text = section.partition("\n")
            assert name.removesuffix(":") in SECTIONS, name
            if name == "BODY:":
                entry.body = text
            elif name == "EXTENDED BODY:":
                entry.extended = text
            else:
                entry.comments.append(_comment(text))
        entries.append(entry)
    return entries


def _comment(text: str) -> Comment:
    comment = Comment()
    lines = text.split("\n")
    while lines and (found := re.match(r"(AUTHOR|URL|DATE): ?(.*)", lines[0])):
        setattr(comment, found[1].lower(), found[2])
        lines.pop(0)
    moment(comment.date)
    comment.text = "\n".join(lines)
    return comment


def read_carelessly(data: bytes) -> list[Entry]:
    """Read as the old importer does: in chunks, every line trimmed, keys looked for everywhere, blank lines dropped."""
    entries: list[Entry] = []
    entry, comment, context = Entry(), Comment(), ""
    for whole in data.split(b"\n"):
        for start in range(0, max(len(whole), 1), CHUNK):
            line = whole[start : start + CHUNK].strip(b" \t\n\r\0\x0b").decode("utf-8", "replace")
            key, colon, value = line.partition(":")
            if line == "-----":
                if context in {"comment", "ping"}:
                    comment.kind = "comment" if context == "comment" else "pingback"
                    entry.comments.append(comment)
                    comment = Comment()
                context = ""
            elif line == "--------":
                entries.append(entry)
                entry, context = Entry(), ""
            elif line in {"BODY:", "EXTENDED BODY:", "EXCERPT:", "KEYWORDS:", "COMMENT:", "PING:"}:
                context = line[:-1].lower()
            elif colon and key in {"AUTHOR", "DATE", "URL"} and context in {"comment", "ping"}:
                setattr(comment, key.lower(), value.strip())
            elif colon and key in {"TITLE", "BLOG NAME"} and context == "ping":
                comment.author = comment.author or value.strip()
            elif colon and key in {"CATEGORY", "PRIMARY CATEGORY"}:
                entry.categories.append(value.strip())
            elif colon and key in KEYS | {"URL", "EMAIL", "IP", "BLOG NAME", "TAGS"}:
                entry.fields[key] = value.strip()
            elif line and context:
                if context == "body":
                    entry.body += line + "\n"
                elif context == "extended body":
                    entry.extended += line + "\n"
                elif context == "excerpt":
                    entry.excerpt += line + "\n"
                elif context in {"comment", "ping"}:
                    comment.text += line + "\n"
    return _kept(entries)


def _kept(entries: list[Entry]) -> list[Entry]:
    """Drop the duplicates that the importer drops: posts of one title and date, comments of one author and date."""
    kept: list[Entry] = []
    posts: set[tuple[str, str]] = set()
    comments: set[tuple[str, str]] = set()
    for entry in entries:
        known = (entry.fields["TITLE"].casefold(), entry.fields["DATE"])
        if known in posts:
            continue
        posts |= {known, ("", entry.fields["DATE"])}
        new = {(each.author, each.date): each for each in reversed(entry.comments)}
        entry.comments = [each for known, each in reversed(new.items()) if known not in comments]
        comments |= set(new)
        kept.append(entry)
    return kept
