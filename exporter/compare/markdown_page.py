"""A Markdown file with front matter as a post, as site generators and this program's exports write it. Pure.

Markdown is not made into HTML here: its text is compared by letters, digits and symbols, which its marks neither add
nor hide (:func:`~exporter.compare.texts.only_words`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Final

import yaml

from exporter.compare.archived import slug_of
from exporter.compare.pages import read_date
from exporter.compare.posts import NewPost, ShownAs, When
from exporter.compare.texts import body_letters, letters, only_words
from exporter.html.links import absolute
from exporter.message import message

_FENCED: Final = re.compile(r"\A\ufeff?(---|\+\+\+)[ \t]*\r?\n(.*?)^\1[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_LINES: Final = re.compile(r"\A\ufeff?(?:[A-Za-z_]+: .*(?:\r?\n|\Z))+")
_LONGEST: Final = 64 * 1024
_PLACE: Final = r"\(\s*(?:<([^<>\n]*)>|((?:[^\s()\\]|\\.|\([^\s()]*\))*))(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*\)"
_IMAGE: Final = re.compile(rf"(?<!\\)!\[((?:[^\[\]\\]|\\.)*)\]{_PLACE}")
_LINK: Final = re.compile(rf"(?<!\\)\[((?:[^\[\]\\]|\\.)*)\]{_PLACE}")
_ADDRESS: Final = re.compile(r"<(https?://[^\s<>]+)>")
_HTML_ADDRESS: Final = re.compile(
    r"<(img|a|video|t[dh]|table)\b[^<>]*?\s(?:src|href|poster|background)=\"([^\"]*)\"", re.IGNORECASE
)
_NUMBER: Final = re.compile(r"^[ \t>]*[0-9]{1,9}[.)](?=[ \t])", re.MULTILINE)
"""The number of an item of a list, which is no text of its own."""
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_SIGNS: Final = re.compile(
    r"\{(?:attach|filename|static)\}|\{% (?:end)?raw %\}|\{\{ \"([^\"\n]*)\"(?: \| relative_url)? \}\}"
)
"""What exports write for Pelican and Jekyll around addresses and texts."""
_DATES: Final = ("date", "pubdate", "published", "published_at", "created")


class NoPost(ValueError):
    """The file has no front matter, or none that can be read."""


class _Loader(yaml.SafeLoader):
    """Reads YAML without aliases, which could make a small text mean a huge one."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise NoPost(message("its front matter has aliases"))
        return super().compose_node(parent, index)


def read_markdown(text: str, path: str, address: str) -> NewPost:
    """Return a Markdown file as a post.

    Args:
        text: the file.
        path: where it is in its folder.
        address: the same as an absolute address, which relative ones start from.

    Raises:
        NoPost: it has no front matter.
    """
    head, body = front_matter(text)
    facts = {str(name).lower(): value for name, value in head.items()}
    body = _SIGNS.sub(lambda found: found[1] or "", body)
    body = _ESCAPE.sub(lambda found: "&lt;" if found[1] == "<" else found[0], body)
    shown = [found[2] or found[3] or "" for found in _IMAGE.finditer(body)]
    body = _IMAGE.sub(lambda found: found[1], body)
    linked = [found[2] or found[3] or "" for found in _LINK.finditer(body)]
    body = _LINK.sub(lambda found: found[1], body)
    linked += _ADDRESS.findall(body)
    for found in _HTML_ADDRESS.finditer(body):
        (linked if found[1].lower() == "a" else shown).append(found[2])
    words = only_words(_letters(body))
    names = [*_texts(facts.get("categories")), *_texts(facts.get("category")), *_texts(facts.get("tags"))]
    return NewPost(
        key=path,
        titles=tuple(_texts(facts.get("title"))),
        slug=slug_of(next(iter([*_texts(facts.get("slug")), *_texts(facts.get("permalink"))]), path)),
        when=next(filter(None, (_when(facts.get(name)) for name in _DATES)), None),
        status=_status(facts),
        names=tuple(names),
        letters=words,
        whole=False,
        pictures=tuple(filter(None, (absolute(each, address) for each in shown))),
        links=tuple(filter(None, (absolute(each, address) for each in linked))),
        comments=None,
        page=words,
        addresses=(address,),
    )


def front_matter(text: str) -> tuple[Mapping[Any, Any], str]:
    """Return a file's front matter, in YAML, TOML or as lines of metadata, and what follows it.

    Raises:
        NoPost: there is none that can be read.
    """
    found = _FENCED.match(text)
    if found is None:
        lines = _LINES.match(text[:_LONGEST])
        if lines is None:
            raise NoPost(message("it has no front matter"))
        return dict(line.split(": ", 1) for line in lines[0].splitlines()), text[lines.end() :]
    if len(found[2]) > _LONGEST:
        raise NoPost(message("its front matter is too long"))
    try:
        head = tomllib.loads(found[2]) if found[1] == "+++" else yaml.load(found[2], _Loader)  # noqa: S506
    except (yaml.YAMLError, tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        raise NoPost(message("its front matter cannot be read: {error}", error=error)) from None
    if not isinstance(head, Mapping):
        raise NoPost(message("its front matter holds no fields"))
    return head, text[found.end() :]


def _letters(body: str) -> str:
    """Return the letters of what a reader sees of Markdown, its marks among them."""
    plain = _ADDRESS.sub(lambda found: found[1], _NUMBER.sub("", body))
    return letters(_ESCAPE.sub(lambda found: found[1], body_letters(plain)))


def _status(facts: Mapping[str, Any]) -> ShownAs:
    if facts.get("draft") in {True, "true"} or facts.get("status") == "draft" or facts.get("published") is False:
        return ShownAs.DRAFT
    return ShownAs.PRIVATE if facts.get("status") == "hidden" else ShownAs.PUBLISH


def _texts(value: Any) -> list[str]:
    """Return a field that holds a text, or several."""
    if isinstance(value, list):
        return [str(each) for each in value if isinstance(each, str | int | float)]
    return [str(value)] if isinstance(value, str | int | float) and not isinstance(value, bool) else []


def _when(value: Any) -> When | None:
    if isinstance(value, datetime):
        return When(value.replace(tzinfo=None), None if value.tzinfo is None else value)
    if isinstance(value, date):
        return When(value)
    return read_date(value) if isinstance(value, str) else None
