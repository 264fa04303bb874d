"""A second blog service, as unlike the first as the interface allows. Pure.

Its lists have opaque tokens and no totals, a list item is the whole entry, and each entry has its own list of comments.
It states which records are public, so no user must declare it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, Self

from exporter.model.exchange import Request, Response
from exporter.model.kinds import Kind
from exporter.model.publication import Cause, Declared, Hidden, PostStatus, Verdict
from exporter.model.records import Comment, Post, Raw, Upload, User
from exporter.service.answers import read_object, refusal
from exporter.service.interface import (
    BlogService,
    Call,
    Capabilities,
    Cursor,
    EntryAnswer,
    Page,
    PageFacts,
    Paginator,
    Validators,
    Values,
)

_KEYS = {Kind.ENTRIES: "nid", Kind.ENTRY_LIST: "nid", Kind.COMMENTS: "rid", Kind.FILES: "mid"}
_MOST_PAGES = 1000


class TokenPages:
    """Follows the tokens of the lists one by one; a cursor is a list's path and a token."""

    def __init__(self, name: str, paths: Sequence[str], call: Callable[[str, str], Call[Page]]) -> None:
        self._name = name
        self._call = call
        self._waiting = deque(f"{path} " for path in paths)
        self._pending = 0
        self._seen = set(self._waiting)
        self.problems: list[str] = []
        self.doubts: list[str] = []
        self.provable = False

    @property
    def finished(self) -> bool:
        """Return whether all pages were read."""
        return not self._waiting and not self._pending

    @property
    def complete(self) -> bool:
        """Return whether all pages were read without a problem."""
        return self.finished and not self.problems

    def wanted(self, window: int) -> list[Cursor]:
        """Return the pages to request now."""
        found: list[Cursor] = []
        while self._waiting and self._pending <= max(0, window):
            found.append(self._waiting.popleft())
            self._pending += 1
        return found

    def call(self, cursor: Cursor) -> Call[Page]:
        """Return the request for a page."""
        path, _, token = str(cursor).partition(" ")
        return self._call(path, token)

    def accept(self, facts: PageFacts) -> None:
        """Follow the token of a page."""
        self._pending -= 1
        if facts.next is None:
            return
        following = f"{str(facts.cursor).partition(' ')[0]} {facts.next}"
        if following in self._seen or len(self._seen) >= _MOST_PAGES:
            self.problems.append(f"{self._name}: a page leads back to {facts.next!r:.40}; run again")
            return
        self._seen.add(following)
        self._waiting.append(following)

    def accept_failure(self, cursor: Cursor, reason: str, *, missing: bool) -> None:
        """Note that a page could not be read."""
        self._pending -= 1
        self.problems.append(f"{self._name}, {cursor}: could not be read: {reason}; run again ({missing})")


class TinyService(BlogService):
    """Notes with replies."""

    name = "tiny"
    key_fields: ClassVar = _KEYS
    capabilities = Capabilities(
        totals=False, validators=False, full_text_in_lists=True, comments_per_entry=True, user=False
    )
    timezone = UTC
    post_flags = ("shown",)
    comment_flags = ("shown",)
    access_flag = "shown"
    period_flag = ""
    deleted_flag = ""
    usual_access = "yes"
    bodies: ClassVar = {Kind.ENTRIES: ("html",), Kind.COMMENTS: ("says",)}
    kept_fields = ("nid",)
    post_fields = ("nid", "headline", "written")
    upload_fields = ("mid", "file", "size")
    likely_in_addresses = ("mid", "file")
    unlikely_in_addresses = frozenset({"size"})
    extension_field = ""

    def __init__(self, token_param: str = "after") -> None:
        self._token_param = token_param

    @classmethod
    def of(cls, settings: Values) -> Self:
        """Return the service with the user's settings."""
        return cls(settings.get("token_param"))

    @property
    def options(self) -> Mapping[str, Any]:
        """The options that change the reading of responses."""
        return {"token_param": self._token_param}

    def pages(self, kind: Kind, _blog_id: str, entry_ids: Sequence[str]) -> Paginator:
        """Return a paginator for a list."""
        if kind is Kind.COMMENTS:
            return TokenPages("replies", [f"/notes/{nid}/replies" for nid in entry_ids], self._page)
        path = {Kind.ENTRY_LIST: "/notes", Kind.FILES: "/media"}[kind]
        return TokenPages(path[1:], [path], self._page)

    def _page(self, path: str, token: str) -> Call[Page]:
        member = path.rpartition("/")[2]
        request = Request(member, path, {self._token_param: token} if token else {}, {})

        def parse(response: Response) -> Page:
            answer = read_object(request, response, lambda value: value)
            items, more = answer.get(member), answer.get("more")
            if not isinstance(items, list):
                raise refusal(request, response, f"the answer has no list of {member}")
            return Page(items, next=more if isinstance(more, str) else None)

        return Call(request, parse)

    def entry_call(self, blog_id: str, entry_id: str, validators: Validators | None = None) -> Call[EntryAnswer]:
        """Fail: an entry is complete in the list."""
        raise AssertionError(f"{entry_id} of {blog_id} was requested separately, with {validators}")

    def user_call(self) -> Call[dict[str, Any]]:
        """Fail: the service names no user."""
        raise AssertionError("the user was requested")

    def amount(self, kind: Kind, raw: Raw) -> int | None:
        """Return the size of a file."""
        size = raw.get("size")
        return size if kind is Kind.FILES and type(size) is int else None

    def key(self, kind: Kind, raw: Any) -> str | None:
        """Return the id of a raw object."""
        found = raw.get(_KEYS.get(kind)) if isinstance(raw, dict) else None
        return found if isinstance(found, str) and found else None

    def title(self, kind: Kind, raw: Raw) -> str:
        """Return the title of a record."""
        return _text(raw, {Kind.COMMENTS: "by", Kind.FILES: "file"}.get(kind, "headline"))

    def post(self, raw: Raw | None, item: Raw | None = None) -> Post:
        """Read a note."""
        found = raw if raw is not None else item or {}
        return Post(
            id=_text(found, "nid"), blog_id="", title=_text(found, "headline"), slug="", body=_text(found, "html"),
            more_title="", more="", template="", date=_date(found, "written"), updated=None, period_date=None,
            listed_on=None, category=None, category_id="", private=False, access=_text(found, "shown"),
            comments_open=True, pings_open=False, facts={}, raw=found if raw is not None else {}, item=item,
        )  # fmt: skip

    def comment(self, raw: Raw) -> Comment:
        """Read a reply."""
        return Comment(
            id=_text(raw, "rid"), post_id=self.post_id(raw), date=_date(raw, "written"), has_time=True,
            name=_text(raw, "by"), title="", text=_text(raw, "says"), url="", deleted=False, facts={}, reply=None,
            raw=raw,
        )  # fmt: skip

    def post_id(self, raw: Raw) -> str:
        """Return the id of the note that a reply belongs to."""
        return _text(raw, "note")

    def category_id(self, raw: Raw) -> str | None:
        """Return nothing: there are no categories."""
        return None

    def upload(self, raw: Raw) -> Upload:
        """Read an uploaded file."""
        name = _text(raw, "file")
        return Upload(
            id=_text(raw, "mid"), name=name, title=None, description=None, bytes=self.amount(Kind.FILES, raw),
            width=None, height=None, modified=None, extension=name.rpartition(".")[2], raw=raw,
        )  # fmt: skip

    def user(self, raw: Raw) -> User:
        """Return an unnamed user."""
        return User("", "", raw)

    def publication(self, post: Post, declared: Declared, as_of: datetime | None = None) -> Verdict:
        """Return the status of a note."""
        if declared.all_as_draft:
            return Verdict(PostStatus.DRAFT, Cause(Hidden.ALL_DRAFTS))
        if as_of is not None and (post.date is None or post.date > as_of):
            return Verdict(PostStatus.DRAFT, Cause(Hidden.LATER))
        if post.access != "yes":
            return Verdict(PostStatus.DRAFT, Cause(Hidden.FLAG, "shown", post.access))
        return Verdict(PostStatus.PUBLISH)

    def is_visible(self, comment: Comment, _declared: Declared) -> bool:
        """Return whether a reply is public."""
        return bool(comment.id and comment.post_id)

    def why_hidden(self, comment: Comment) -> Cause:
        """Return why a reply is not public."""
        return Cause(Hidden.COMMENT, "rid", comment.id)


def _text(raw: Raw, name: str) -> str:
    value = raw.get(name)
    return str(value) if isinstance(value, str) else ""


def _date(raw: Raw, name: str) -> datetime | None:
    try:
        return datetime.fromisoformat(_text(raw, name)).replace(tzinfo=UTC)
    except ValueError:
        return None
