"""An Atom entry as a neutral post or upload: RFC 4287, RFC 5023, and what Hatena and livedoor add to them. Pure.

A record keeps the entry's XML exactly as sent: ``{"id", "collection", "xml", "xmlns"}``. ``xmlns`` has the namespaces
that the elements around it declare. ``audience`` is added if the blog is not public, so that its entries stay private
wherever the archive is read. Nothing here raises for any JSON object.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from html import escape
from typing import Any, Final

from exporter.message import message
from exporter.model.records import Audience, Category, Post, PostKind, Problem, Raw, Upload
from exporter.service.atompub.xml_documents import parsed_part
from exporter.xml.tree import NotXml, XmlDocument, XmlElement

ATOM: Final = "{http://www.w3.org/2005/Atom}"
APP: Final = "{http://www.w3.org/2007/app}"
_HATENA: Final = "{http://www.hatena.ne.jp/info/xmlns#}"
_HATENA_ID: Final = "tag:blog.hatena.ne.jp,"
_HATENA_BLOG: Final = "{http://www.hatena.ne.jp/info/xmlns#hatenablog}"
_LIVEDOOR: Final = ("{http://blogcms.jp/-/spec/atompub/1.0/}", "{http://blogcms.jp/-/atom}")
_VOCABULARIES: Final = frozenset({"{}", ATOM, APP, _HATENA, _HATENA_BLOG, *_LIVEDOOR})
_CONTROL: Final = f"{APP}control"
_HTML_TYPES: Final = frozenset({"html", "text/html"})
_MARKDOWN_TYPES: Final = frozenset({"text/x-markdown", "text/markdown"})
_VALUE_CHARACTERS: Final = 60
_MAX_MARKDOWN_CHARACTERS: Final = 100_000
"""Hostile Markdown of this length takes 5 seconds."""
_SPACES: Final = re.compile(r"[\s\x00-\x1f]+")


@dataclass(frozen=True, slots=True)
class EntryReading:
    """How entries are read.

    Attributes:
        timezone: the time zone of the blog's dates.
        pages: the name of the collection whose entries are pages.
        date: the element with an entry's date, ``published`` or ``updated``; ``auto`` takes ``updated`` for Hatena,
            where ``published`` is the time of the first saving.
        audience: the readers of all entries that are no drafts.
    """

    timezone: tzinfo
    pages: str = "page"
    date: str = "auto"
    audience: Audience = Audience.PUBLIC


def record(
    record_id: str, collection: str, document: XmlDocument, entry: XmlElement, reading: EntryReading
) -> dict[str, Any]:
    """Return a record for an entry in a document."""
    stated = {} if reading.audience is Audience.PUBLIC else {"audience": str(reading.audience)}
    source, namespaces = document.source(entry), dict(entry.namespaces)
    return {"id": record_id, "collection": collection, **stated, "xml": source, "xmlns": namespaces}


def link(entry: XmlElement, relation: str) -> str:
    """Return the address in the first link with a relation, as sent; empty without one. HTML is preferred."""
    found = [each for each in entry.all(f"{ATOM}link") if (each.attributes.get("rel") or "alternate") == relation]
    found.sort(key=lambda each: each.attributes.get("type", "text/html") != "text/html")
    return found[0].attributes.get("href", "").strip() if found else ""


def entry_of(raw: Raw) -> XmlDocument | None:
    """Return a record's entry, or ``None`` if it is not XML."""
    source, namespaces = raw.get("xml"), raw.get("xmlns")
    known = namespaces if isinstance(namespaces, Mapping) else {}
    if not isinstance(source, str):
        return None
    try:
        return parsed_part(source, {str(prefix): str(uri) for prefix, uri in known.items()})
    except NotXml:
        return None


def foreign_elements(raw: Raw) -> int:
    """Return how many elements of a record's entry are of vocabularies that this module does not read."""
    document = entry_of(raw)
    return 0 if document is None else sum(f"{{{each.namespace}}}" not in _VOCABULARIES for each in document.root)


def title_of(raw: Raw) -> str:
    """Return the title in a record or a list item."""
    stated = raw.get("title")
    if isinstance(stated, str):
        return stated
    document = entry_of(raw)
    return "" if document is None else _title(document.root)


def list_item(raw: Raw, reading: EntryReading) -> dict[str, Any]:
    """Return an entry's part for the entry list, with a hash of the whole."""
    post = read_post(raw, reading, with_body=False)
    return {
        "id": raw.get("id"),
        "collection": raw.get("collection"),
        "title": post.title,
        "date": _iso(post.date),
        "updated": _iso(post.updated),
        "status": None if post.audience is None else str(post.audience),
        "permalink": post.permalink,
        "categories": [category.name for category in post.categories],
        "xml_sha256": hashlib.sha256(str(raw.get("xml", "")).encode("utf-8", "surrogatepass")).hexdigest(),
    }


def listed(item: Raw, reading: EntryReading) -> Post:
    """Read a list item as an entry without a text."""
    status, categories = item.get("status"), item.get("categories")
    names = [name for name in categories if isinstance(name, str)] if isinstance(categories, list) else []
    return Post(
        id=_text(item.get("id")),
        title=_text(item.get("title")),
        date=_date(_text(item.get("date")), reading.timezone),
        updated=_date(_text(item.get("updated")), reading.timezone),
        category=names[0] if names else "",
        categories=tuple(map(Category, names)),
        permalink=_text(item.get("permalink")),
        kind=_kind(item, reading),
        audience=Audience(status) if isinstance(status, str) and status in set(Audience) else None,
        item=item,
    )


def read_post(raw: Raw, reading: EntryReading, item: Raw | None = None, *, with_body: bool = True) -> Post:
    """Read a record as a post; without its body it takes less memory."""
    document = entry_of(raw)
    if document is None:
        problem = Problem("xml", _text(raw.get("xml"))[:_VALUE_CHARACTERS], message("it is not an Atom entry"))
        return Post(id=_text(raw.get("id")), raw=raw, item=item, problems=(problem,))
    entry, problems = document.root, list[Problem]()
    published = _stated(entry, "published", reading.timezone, problems)
    updated = _stated(entry, "updated", reading.timezone, problems)
    edited = _stated(entry, "edited", reading.timezone, problems, APP)
    formatted = entry.first(f"{_HATENA}formatted-content") is not None
    of_hatena = formatted or entry.text_of(f"{ATOM}id").startswith(_HATENA_ID)
    if reading.date == "updated" or (reading.date == "auto" and of_hatena):
        date, changed = updated or published, edited or updated
    else:
        date, changed = published or updated, edited or updated
    body, more = _bodies(document, problems) if with_body else ("", "")
    categories = _categories(entry)
    return Post(
        id=_text(raw.get("id")),
        title=_title(entry),
        slug=entry.text_of(f"{_HATENA_BLOG}custom-url"),
        body=body,
        more=more,
        date=date,
        updated=changed,
        category=categories[0].name if categories else "",
        categories=categories,
        author=entry.text_of(f"{ATOM}author", f"{ATOM}name"),
        permalink=link(entry, "alternate"),
        # Hatena makes the summary itself, of the first 140 characters.
        excerpt="" if of_hatena else entry.text_of(f"{ATOM}summary"),
        kind=_kind(raw, reading),
        audience=_audience(entry, date, changed, _readers(raw, reading), problems),
        raw=raw,
        item=item,
        problems=tuple(problems),
    )


def read_upload(raw: Raw) -> Upload:
    """Read a media link entry (RFC 5023, section 9.6) as an uploaded file."""
    document = entry_of(raw)
    entry = None if document is None else document.root
    content = None if entry is None else entry.first(f"{ATOM}content")
    address = "" if content is None else content.attributes.get("src", "").strip()
    name = address.partition("?")[0].rpartition("/")[2]
    return Upload(
        id=_text(raw.get("id")), name=name, title=None if entry is None else _title(entry), description=None,
        bytes=None, width=None, height=None, modified=None,
        extension=name.rpartition(".")[2] if "." in name else "", raw=raw, url=address,
    )  # fmt: skip


def _kind(raw: Raw, reading: EntryReading) -> PostKind:
    return PostKind.PAGE if raw.get("collection") == reading.pages else PostKind.POST


def _readers(raw: Raw, reading: EntryReading) -> Audience | None:
    """Return the readers of a blog, as its record or the settings state them."""
    stated = raw.get("audience")
    if stated is None:
        return reading.audience
    return Audience(stated) if isinstance(stated, str) and stated in set(Audience) else None


def _audience(
    entry: XmlElement,
    date: datetime | None,
    changed: datetime | None,
    readers: Audience | None,
    problems: list[Problem],
) -> Audience | None:
    """Return who may see an entry. Without a statement it is no draft (RFC 5023, section 13.1.1).

    A draft whose date is after its last change is scheduled. Hatena also states it.
    """
    if not entry.name.startswith(ATOM):
        return None
    control = entry.first(_CONTROL)
    draft = "no" if control is None else control.text_of(f"{APP}draft").lower() or "no"
    if draft == "no":
        return readers
    if draft != "yes":
        problems.append(Problem("app:draft", draft[:_VALUE_CHARACTERS], message("it is neither yes nor no")))
        return None
    stated = entry.text_of(_CONTROL, f"{_HATENA_BLOG}scheduled").lower() == "yes"
    later = date is not None and changed is not None and date > changed
    return Audience.SCHEDULED if stated or later else Audience.DRAFT


def _bodies(document: XmlDocument, problems: list[Problem]) -> tuple[str, str]:
    """Return the body and its continuation as HTML.

    livedoor's old interface states both in ``blogcms:source``; its private part, which only the writer sees, stays in
    the record.
    """
    entry = document.root
    for space in _LIVEDOOR:
        source = entry.first(f"{space}source")
        if source is not None:
            return source.text_of(f"{space}body"), source.text_of(f"{space}more")
    formatted = entry.first(f"{_HATENA}formatted-content")
    if formatted is not None and formatted.text.strip():
        return _markup(document, formatted), ""
    content = entry.first(f"{ATOM}content")
    if content is None:
        return "", ""
    kind = content.attributes.get("type", "text").partition(";")[0].strip().lower()
    if kind in _HTML_TYPES or kind == "xhtml":
        return _markup(document, content), ""
    text = content.text
    if kind in _MARKDOWN_TYPES and len(text) <= _MAX_MARKDOWN_CHARACTERS:
        from exporter.html.markup import from_markdown  # noqa: PLC0415 - only for an entry without HTML

        return from_markdown(text, tables=True), ""
    if not text.strip():
        return "", ""
    if kind not in {"text", "text/plain"}:
        shown = message("its notation is not converted, so the text is shown unchanged")
        problems.append(Problem("content", kind[:_VALUE_CHARACTERS], shown))
    return f"<pre>{escape(text)}</pre>", ""


def _markup(document: XmlDocument, holder: XmlElement) -> str:
    """Return HTML that an element holds escaped, or as elements."""
    return document.inside(holder) if next(iter(holder), None) is not None else holder.text


def _title(entry: XmlElement) -> str:
    title = entry.first(f"{ATOM}title")
    if title is None:
        return ""
    text = title.text
    if title.attributes.get("type", "").lower() in _HTML_TYPES:
        from exporter.html.text import plain_text  # noqa: PLC0415 - titles are seldom HTML

        text = plain_text(text)
    return _SPACES.sub(" ", text).strip()


def _categories(entry: XmlElement) -> tuple[Category, ...]:
    found: dict[str, Category] = {}
    for each in entry.all(f"{ATOM}category"):
        term, label = each.attributes.get("term", "").strip(), each.attributes.get("label", "").strip()
        name = label or term
        if name:
            found.setdefault(name, Category(name, slug=term if label and term != label else ""))
    return tuple(found.values())


def _stated(
    entry: XmlElement, name: str, timezone: tzinfo, problems: list[Problem], space: str = ATOM
) -> datetime | None:
    text = entry.text_of(f"{space}{name}")
    found = _date(text, timezone)
    if text and found is None:
        problems.append(Problem(name, text[:_VALUE_CHARACTERS], message("it is not a date")))
    return found


def _date(text: str, timezone: tzinfo) -> datetime | None:
    """Read a date in the blog's time zone; one without an offset is a time of the blog (RFC 3339)."""
    try:
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=timezone) if found.tzinfo is None else found.astimezone(timezone)
    except (ValueError, OverflowError):
        return None


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str) else ""
