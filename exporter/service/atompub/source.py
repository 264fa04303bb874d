"""The Atom Publishing Protocol (RFC 5023) as blog services offer it: Hatena Blog and livedoor Blog. Pure.

The service document names the collections; their feeds hold whole entries and name their next page. RFC 5023 states
neither totals nor comments. Each fact that the public documents leave open is a setting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import tzinfo
from typing import Any, Final, NamedTuple, Self
from urllib.parse import parse_qsl, quote, urljoin, urlsplit

from exporter.errors import BadBody, BodyTooLarge, HtmlBody, UsageError
from exporter.message import message, said
from exporter.model.exchange import Request, Response
from exporter.model.kinds import Kind
from exporter.model.records import Audience, Comment, Post, Raw, Upload, User
from exporter.service.answers import message_text, refusal, require_success
from exporter.service.atompub.entry import (
    APP,
    ATOM,
    EntryReading,
    foreign_elements,
    link,
    list_item,
    listed,
    read_post,
    read_upload,
    record,
    title_of,
)
from exporter.service.atompub.linked_pages import LinkedPages
from exporter.service.atompub.xml_documents import decoded, parsed
from exporter.service.declarations import ATOMPUB
from exporter.service.discovery import Exploration, HomePage
from exporter.service.interface import (
    Call,
    Capabilities,
    EntryAnswer,
    Page,
    Paginator,
    Refused,
    Validators,
    Values,
    WrongRecord,
)
from exporter.service.stated import StatedService
from exporter.setting_types import zone
from exporter.text import printable
from exporter.xml.tree import NotXml, TooLargeXml, XmlDocument, XmlElement

_SERVICE: Final = "atompub/service"
_NOT_MODIFIED: Final = 304
_GONE: Final = frozenset({404, 410})
_ADVICE: Final = message(
    "check --user, your ID at the service, and the token, which is the API key of the blog and not your password"
)

_ACCEPT: Final = {"Accept": "application/atom+xml, application/atomsvc+xml, application/xml;q=0.9, text/xml;q=0.9"}
_LISTS: Final[Mapping[Kind, str]] = {
    Kind.ENTRY_LIST: message("entry list"),
    Kind.COMMENTS: message("comment list"),
    Kind.FILES: message("file list"),
}
_PATH_MARKS: Final = "/%:@!$&'()*+,;=~?-._"
_COMMENTS: Final = frozenset({"comment", "comments"})


class AtomPubOptions(NamedTuple):
    """The settings for reading answers: each is a fact that differs between services, or an assumption.

    Attributes:
        atompub_root: the service document's path, if the base URL has no path.
        atompub_owner: the owner in that path; by default the user.
        atompub_name: the blog's name in that path; by default the first label of its ID.
        atompub_collection: the posts' collection; ids of its members are without its name.
        atompub_pages: the pages' collection.
        atompub_skip: collections that are not read.
        atompub_text: ``lists`` if feeds hold whole entries, ``entries`` if each must be requested.
        atompub_list_limit: the number of entries of a feed that may be cut if it names no next page.
        atompub_date: see :class:`~exporter.service.atompub.entry.EntryReading`.
        atompub_audience: the readers of all entries that are no drafts; no document states them.
    """

    atompub_root: str = ATOMPUB.default_of("atompub_root")
    atompub_owner: str | None = ATOMPUB.default_of("atompub_owner")
    atompub_name: str | None = ATOMPUB.default_of("atompub_name")
    atompub_collection: str = ATOMPUB.default_of("atompub_collection")
    atompub_pages: str = ATOMPUB.default_of("atompub_pages")
    atompub_skip: tuple[str, ...] = ATOMPUB.default_of("atompub_skip")
    atompub_text: str = ATOMPUB.default_of("atompub_text")
    atompub_list_limit: int = ATOMPUB.default_of("atompub_list_limit")
    atompub_date: str = ATOMPUB.default_of("atompub_date")
    atompub_audience: str = ATOMPUB.default_of("atompub_audience")
    timezone: tzinfo = zone(ATOMPUB.defaults["timezone"])


DEFAULT: Final = AtomPubOptions()


class AtomPub(StatedService):
    """A service with AtomPub; its settings say where the service document is and which collections to read."""

    capabilities = Capabilities(totals=False, user=False, entries_in_lists=True)
    name = ATOMPUB.name
    kept_fields = ("id", "collection")
    post_fields = ("id", "collection")

    def extras(self, _kind: Kind, raw: Raw) -> int:
        """Return the number of elements of other vocabularies than Atom, AtomPub and Hatena's."""
        return foreign_elements(raw)

    def __init__(self, options: AtomPubOptions = DEFAULT, base_url: str = "", user: str = "") -> None:
        self._options = options
        self._base = urlsplit(base_url)
        self._user = user
        self.timezone = options.timezone
        self._reading = EntryReading(
            options.timezone, options.atompub_pages, options.atompub_date, Audience(options.atompub_audience)
        )
        if options.atompub_text == "entries":
            self.capabilities = replace(self.capabilities, entries_in_lists=False)

    @classmethod
    def of(cls, settings: Values) -> Self:
        """Return the service with the user's settings."""
        options = AtomPubOptions(**{name: settings.get(name) for name in AtomPubOptions._fields})
        return cls(options, settings.get("base_url") or "", settings.get("user") or "")

    @classmethod
    def explore(cls, home: HomePage) -> Exploration | None:
        """Return an exploration that finds the service document of a blog."""
        from exporter.service.atompub.discovery import explore  # noqa: PLC0415 - most runs explore nothing

        return explore(home)

    @property
    def options(self) -> Mapping[str, Any]:
        """The options that change the reading of responses, as JSON."""
        stated = self._options._asdict()
        return {**stated, "atompub_skip": list(self._options.atompub_skip), "timezone": str(self._options.timezone)}

    def request_base(self, base_url: str) -> str:
        """Return the origin: the documents state paths from there, and the base URL is the service document's."""
        parts = urlsplit(base_url)
        return f"{parts.scheme}://{parts.netloc}" if parts.netloc else base_url

    def pages(self, kind: Kind, blog_id: str, _entry_ids: Sequence[str]) -> Paginator:
        """Return a paginator that reads the service document and then the collections of a kind.

        Raises:
            UsageError: the owner of the blog is unknown.
        """
        root = self._root(blog_id)

        def call(cursor: str) -> Call[Page]:
            if not cursor:
                return self._service(kind, root)
            target, _, others = cursor.partition(" ")
            return self._feed(root, target, others)

        return LinkedPages(_LISTS[kind], call, self._options.atompub_list_limit)

    def entry_call(self, blog_id: str, entry_id: str, validators: Validators | None = None) -> Call[EntryAnswer]:
        """Return the request for an entry's own document, conditional if there are validators."""
        root = self._root(blog_id)
        collection, target = self._member(root, entry_id)
        conditions = validators.headers if validators is not None else {}
        request = self._request("atompub/entry", target, conditions)

        def parse(response: Response) -> EntryAnswer:
            if conditions and response.status == _NOT_MODIFIED:
                return EntryAnswer(None, validators or Validators())
            if response.status in _GONE:
                raise Refused(request.operation, {"id": entry_id}, response.status, message("it has no such entry"))
            document = _document(request, response, f"{ATOM}entry")
            data = record(entry_id, collection, document, document.root, self._reading)
            stated = self._id(root, document.root)
            if stated not in {None, entry_id}:
                raise WrongRecord(
                    request.operation,
                    {"id": entry_id},
                    response.status,
                    message("the answer is the entry {other}", other=printable(stated, 100)),
                )
            return EntryAnswer(data, Validators.of(response))

        return Call(request, parse)

    def user_call(self) -> Call[dict[str, Any]]:
        """Return the request for the service document; no user is asked for, since AtomPub names none."""
        request = self._request(_SERVICE, self._root(""))
        return Call(request, lambda response: {"id": _document(request, response, f"{APP}service").root.name})

    def listed_part(self, raw: Raw) -> dict[str, Any]:
        """Return the part of an entry that the entry list keeps."""
        return list_item(raw, self._reading)

    def amount(self, _kind: Kind, _raw: Raw) -> int | None:
        """Return nothing: no document counts comments or bytes."""
        return None

    def title(self, _kind: Kind, raw: Raw) -> str:
        """Return a record's title."""
        return title_of(raw)

    def post(self, raw: Raw | None, item: Raw | None = None) -> Post:
        """Read an entry, or only its list item."""
        return read_post(raw, self._reading, item) if raw is not None else listed(item or {}, self._reading)

    def comment(self, raw: Raw) -> Comment:
        """Read the object as a comment that is not shown; no collection of comments is read."""
        return Comment(
            id=self.key(Kind.COMMENTS, raw) or "", post_id="", date=None, has_time=False, name="", title="", text="",
            url="", deleted=None, facts={}, reply=None, raw=raw,
        )  # fmt: skip

    def post_id(self, _raw: Raw) -> str:
        """Return nothing: there are no comments."""
        return ""

    def upload(self, raw: Raw) -> Upload:
        """Read a media link entry."""
        return read_upload(raw)

    def user(self, raw: Raw) -> User:
        """Return an unnamed user."""
        return User("", "", raw)

    def _root(self, blog_id: str) -> str:
        """Return the service document's path, without a slash at its end."""
        own = self._base.path.rstrip("/")
        if own:
            return own
        options = self._options
        owner = options.atompub_owner or self._user
        if "{owner}" in options.atompub_root and not owner:
            raise UsageError(
                message(
                    "The owner of the blog is unknown: name your ID at the service with --user, or atompub_owner. To "
                    "read the public pages only, name the blog's address with https://."
                )
            )
        name = options.atompub_name or blog_id.rpartition("/")[2].partition(".")[0]
        parts = {key: quote(value, safe="") for key, value in (("owner", owner), ("blog_id", blog_id), ("name", name))}
        return options.atompub_root.format(**parts).rstrip("/")

    def _request(self, operation: str, target: str, headers: Mapping[str, str] | None = None) -> Request:
        """Return the request for a path with a query, which is sent with the same names and values."""
        path, _, query = _encoded(target).partition("?")
        params = {quote(name, safe=""): value for name, value in parse_qsl(query, keep_blank_values=True)}
        return Request(operation, path or "/", params, {**_ACCEPT, **(headers or {})})

    def _service(self, kind: Kind, root: str) -> Call[Page]:
        request = self._request(_SERVICE, root)

        def parse(response: Response) -> Page:
            document = _document(request, response, f"{APP}service")
            targets = [self._target(request, response, address) for address in self._collections(kind, document.root)]
            if kind is Kind.ENTRY_LIST and not targets:
                raise refusal(request, response, message("the service document names no collection of entries"))
            return Page([], next=" ".join(targets) or None)

        return Call(request, parse)

    def _collections(self, kind: Kind, service: XmlElement) -> Iterator[str]:
        """Yield the addresses for a kind's collections (RFC 5023, section 8.3.3).

        A collection without ``accept`` takes entries. No collection of comments is read, since no public document
        shows one.
        """
        found: dict[str, None] = {}
        for workspace in service.all(f"{APP}workspace"):
            for collection in workspace.all(f"{APP}collection"):
                address = collection.attributes.get("href", "").strip()
                accepts = [each.text.strip().lower() for each in collection.all(f"{APP}accept")]
                name = urlsplit(address).path.rstrip("/").rpartition("/")[2]
                if name in self._options.atompub_skip or name in _COMMENTS:
                    continue
                takes_files = bool(accepts) and not any("atom+xml" in each for each in accepts)
                wanted = Kind.FILES if takes_files else Kind.ENTRY_LIST
                if wanted is kind:
                    found[address] = None
        yield from found

    def _feed(self, root: str, target: str, others: str) -> Call[Page]:
        request = self._request("atompub/feed", target)
        name = self._collection(root, target)

        def parse(response: Response) -> Page:
            document = _document(request, response, f"{ATOM}feed")
            items: list[dict[str, Any]] = []
            for entry in document.root.all(f"{ATOM}entry"):
                known = self._id(root, entry)
                items.append(record(known or entry.text_of(f"{ATOM}id"), name, document, entry, self._reading))
            following = link(document.root, "next")
            cursor = [self._target(request, response, following)] if following else []
            return Page(items, next=" ".join([*cursor, *filter(None, [others])]) or None)

        return Call(request, parse)

    def _target(self, request: Request, response: Response, address: str) -> str:
        """Return the path and query of an address in a document.

        Raises:
            ApiError: it is no address, or that of another host.
        """
        try:
            parts = urlsplit(urljoin(request.path, address))
            host, known = parts.hostname, self._base.hostname
        except ValueError:
            raise refusal(request, response, message("the answer names something that is no address")) from None
        if host and known and host != known:
            raise refusal(
                request,
                response,
                message(
                    "the answer leads to another host, {host}, which is not asked: if the service moved there, make "
                    "that the base URL",
                    host=printable(host, 100),
                ),
            )
        stated = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
        if len(set(stated)) != len(stated):
            raise refusal(request, response, message("the answer leads to an address that has a parameter twice"))
        return _encoded(f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/")

    def _collection(self, root: str, target: str) -> str:
        """Return the name of the collection at a path."""
        path = target.partition("?")[0].rstrip("/")
        return path.removeprefix(f"{root}/") if path.startswith(f"{root}/") else path

    def _id(self, root: str, entry: XmlElement) -> str | None:
        """Return an entry's id: its address for editing below the service document; ``None`` without one.

        A post has the part after its collection as its id, a page has ``page-`` and this part.
        """
        address = link(entry, "edit")
        try:
            parts = urlsplit(address)
        except ValueError:
            return None
        if not parts.path:
            return None
        whole = f"{parts.path}?{parts.query}" if parts.query else parts.path
        inner = whole.removeprefix(f"{root}/") if whole.startswith(f"{root}/") else whole
        collection, _, member = inner.partition("/")
        plain = bool(member) and "/" not in member and "?" not in member
        if plain and collection == self._options.atompub_collection and not self._is_page(member):
            return member
        return f"{collection}-{member}" if plain and collection == self._options.atompub_pages else inner

    def _is_page(self, entry_id: str) -> bool:
        return entry_id.startswith(f"{self._options.atompub_pages}-")

    def _member(self, root: str, entry_id: str) -> tuple[str, str]:
        """Return an entry's collection and path, the opposite of :meth:`_id`."""
        options = self._options
        if self._is_page(entry_id):
            member = entry_id.removeprefix(f"{options.atompub_pages}-")
            return options.atompub_pages, f"{root}/{options.atompub_pages}/{member}"
        if "/" not in entry_id and "?" not in entry_id:
            return options.atompub_collection, f"{root}/{options.atompub_collection}/{entry_id}"
        path = entry_id if entry_id.startswith("/") else f"{root}/{entry_id}"
        return self._collection(root, path).rpartition("/")[0], path


def _encoded(target: str) -> str:
    """Return a path and query in ASCII. Encoded characters are not encoded again."""
    return quote(target, safe=_PATH_MARKS, errors="backslashreplace")


def _document(request: Request, response: Response, root: str) -> XmlDocument:
    """Return the XML document in a response, whose root element has this name.

    Raises:
        NotAuthorised: status 401 or 403.
        BadBody: empty, HTML, or not XML.
        BodyTooLarge: XML that would take too much memory.
        ApiError: any other status than 200, or another document.
    """
    require_success(request, response, lambda _: None, response.advice or _ADVICE)
    operation, kind = request.operation, response.headers.get("content-type", "")
    if not response.body.strip():
        raise BadBody("{operation} answered 200 with an empty body", operation=operation)
    try:
        document = parsed(decoded(response.body, kind), response.objects)
    except TooLargeXml as error:
        raise BodyTooLarge(
            "{operation} sent too much: {error}, which is refused", operation=operation, error=said(error)
        ) from None
    except NotXml as error:
        begin = response.body[:2000].lower()
        if "html" in kind.lower() or b"<html" in begin or b"<!doctype html" in begin:
            raise HtmlBody(
                "{operation} answered with a page of HTML: is the base URL right?", operation=operation
            ) from None
        raise BadBody(
            "{operation} answered with a body that is not XML ({reason})",
            operation=operation,
            reason=message_text(said(error)),
        ) from None
    if document.root.name != root:
        if document.root.name.rpartition("}")[2] == "html":
            raise HtmlBody("{operation} answered with a page of HTML: is the base URL right?", operation=operation)
        name = printable(document.root.name, 100)
        raise refusal(request, response, message("the answer is not the expected document but {name}", name=name))
    return document
